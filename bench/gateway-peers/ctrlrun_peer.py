"""CTRLRun's gateway, by a policy that lets the tool run: each call is judged and leaves a receipt."""

import os
import pathlib
import sys

POLICY = """\
schema: ctrlrun.policy/v2
actions:
  mcp.bench.echo: {decision: allow}
"""

port, url = sys.argv[1:]
pathlib.Path("ctrlrun.yaml").write_text(POLICY)
gateway = str(pathlib.Path(sys.executable).with_name("ctrlrun"))
options = ["--upstream", url, "--alias", "bench", "--principal", "bench", "--listen", f"127.0.0.1:{port}"]
os.execv(gateway, [gateway, "gateway", *options])
