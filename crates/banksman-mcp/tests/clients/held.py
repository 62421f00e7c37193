"""The Python SDK's own client: makes a call that is held for longer than it waits, and ends with the result.

With PATIENCE_S it is told to wait for so long; without, it waits as it comes.
"""

import asyncio
import os

from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client


async def main() -> None:
    patience = os.environ.get("PATIENCE_S")
    given = {"read_timeout_seconds": float(patience)} if patience else {}
    wait = {"wait_s": 1} if patience else {}
    # What `streamable_http_client` makes for itself, with a credential: 300 seconds of silence are its end.
    async with create_mcp_http_client(headers={"Authorization": f"Bearer {os.environ['TOKEN']}"}) as http:
        transport = streamable_http_client(os.environ["URL"], http_client=http)
        async with Client(transport, **given) as client:
            names = [tool.name for tool in (await client.list_tools()).tools]
            assert "banksman_wait" in names, names
            result = await client.call_tool("send", {"to": os.environ["TO"]})
            while result.is_error:
                text = result.content[0].text
                assert text.startswith(("PENDING", "RUNNING")), text
                held = text.split("(")[1].split(")")[0]
                result = await client.call_tool("banksman_wait", {"id": held} | wait)
            print(result.content[0].text)


asyncio.run(main())
