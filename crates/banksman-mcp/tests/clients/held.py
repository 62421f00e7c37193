"""The Python SDK's own client: makes a call that is held, gives up waiting, and fetches the result."""

import asyncio
import os

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client


async def main() -> None:
    headers = {"Authorization": f"Bearer {os.environ['TOKEN']}"}
    async with httpx2.AsyncClient(headers=headers, timeout=30) as http:
        transport = streamable_http_client(os.environ["URL"], http_client=http)
        async with Client(transport, read_timeout_seconds=3) as client:
            names = [tool.name for tool in (await client.list_tools()).tools]
            assert "banksman_wait" in names, names
            result = await client.call_tool("send", {"to": "ada"})
            while result.is_error:
                text = result.content[0].text
                assert text.startswith(("PENDING", "RUNNING")), text
                held = text.split("(")[1].split(")")[0]
                result = await client.call_tool("banksman_wait", {"id": held, "wait_s": 1})
            print(result.content[0].text)


asyncio.run(main())
