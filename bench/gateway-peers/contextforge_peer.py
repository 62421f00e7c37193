"""ContextForge's gateway on SQLite, with the server behind it registered over its own API.

It limits calls to 100 a minute and refuses servers on loopback unless told otherwise, so it is told. Its MCP endpoint is
open: no token is checked, which favours it.
"""

import asyncio
import os
import secrets
import sys

port, url = sys.argv[1:]
ADMIN = "admin@example.com"

# Read when the gateway is imported.
os.environ.update(
    JWT_SECRET_KEY=secrets.token_urlsafe(48),
    AUTH_ENCRYPTION_SECRET=secrets.token_urlsafe(48),
    PLATFORM_ADMIN_EMAIL=ADMIN,
    PLATFORM_ADMIN_PASSWORD=secrets.token_urlsafe(24) + "aA1!",
    DATABASE_URL="sqlite:///./gateway.db",
    MCP_REQUIRE_AUTH="false",
    RATE_LIMITING_ENABLED="false",
    SSRF_ALLOW_LOCALHOST="true",
    LOG_LEVEL="ERROR",
)

import httpx  # noqa: E402
import uvicorn  # noqa: E402
from mcpgateway.main import app  # noqa: E402
from mcpgateway.utils.create_jwt_token import create_jwt_token  # noqa: E402


async def register():
    """The server's `echo` is then called `bench-echo`."""
    server = {"name": "bench", "url": url, "transport": "STREAMABLEHTTP", "visibility": "public"}
    headers = {"authorization": f"Bearer {await create_jwt_token({'sub': ADMIN})}"}
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=30) as client:
        (await client.post("/gateways", json=server, headers=headers)).raise_for_status()


async def main(config):
    gateway = uvicorn.Server(config)
    serving = asyncio.create_task(gateway.serve())
    while not (gateway.started or serving.done()):
        await asyncio.sleep(0.1)
    await register()
    await serving


config = uvicorn.Config(app, host="127.0.0.1", port=int(port), log_level="error")
# The event loop that its own command would take.
with asyncio.Runner(loop_factory=config.get_loop_factory()) as runner:
    runner.run(main(config))
