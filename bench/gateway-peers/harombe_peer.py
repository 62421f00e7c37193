"""harombe's gateway as its own `create_gateway` makes it: each call goes into its audit log, its approval gate is off."""

import sys
import urllib.parse

import uvicorn
from harombe.security.gateway import create_gateway, register_tool_route

port, url = sys.argv[1:]
register_tool_route("echo", urllib.parse.urlsplit(url).netloc)
gateway = create_gateway(port=int(port), audit_db_path="audit.db")
uvicorn.run(gateway.app, host=gateway.host, port=gateway.port, log_level="error")
