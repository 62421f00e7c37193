#!/usr/bin/env python3
"""An agent that asks before it acts. Nothing but Python's standard library.

    export BANKSMAN_URL=http://127.0.0.1:7447 BANKSMAN_TOKEN=bkm_agent_...
    python3 examples/agent.py

It wants to refund an order, waits until someone has approved it, runs exactly what was approved, and says how it went.
"""

import json
import os
import time
import urllib.error
import urllib.request

URL = os.environ.get("BANKSMAN_URL", "http://127.0.0.1:7447")
TOKEN = os.environ["BANKSMAN_TOKEN"]


class NotAllowed(Exception):
    """Blocked, denied, expired or withdrawn. Its text is for the model: it has the reviewer's words, if there are any."""


def call(method, path, body=None, **headers):
    """The status and the document that the server answers with, whatever it is."""
    headers = {"Authorization": f"Bearer {TOKEN}", **{name.replace("_", "-"): value for name, value in headers.items()}}
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(URL + path, data, headers, method=method)
    while True:
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as refusal:
            document = json.load(refusal)
            if refusal.code not in (429, 503):
                return refusal.code, document
            # Too much waits already, or its database is away. Nothing was lost and nothing was let through.
            time.sleep(int(refusal.headers.get("Retry-After", "2")))


def supervised(tool, run, args, key):
    """Runs `run(**args)` once people and policy allow it; perhaps with arguments that a reviewer has changed.

    `key` names what you are about to do. Asking again with the same key, also after a crash, is asking once.
    """
    status, action = call("POST", "/v1/actions", {"tool": tool, "args": args}, Idempotency_Key=key, Prefer="wait=60")
    while status == 202 or action.get("status") == "pending":
        status, action = call("GET", f"/v1/actions/{action['id']}", Prefer="wait=60")
    if status != 200 or action["status"] != "authorised":
        said = (action.get("resolution") or action).get("message") or action.get("detail") or action.get("status")
        raise NotAllowed(f"{tool} was not allowed: {said}")

    # The one claim. Whoever comes second is refused, so two copies of this agent do not both run it.
    status, claim = call("POST", f"/v1/actions/{action['id']}/claim", {"digest": action["digest"]})
    if status != 200:
        raise NotAllowed(f"{tool} may not run: {claim['detail']}")
    try:
        # Its arguments, not ours. Pass claim["idempotency_key"] on to whatever can use one.
        result = run(**claim["args"])
    except Exception as error:
        call("POST", f"/v1/actions/{action['id']}/outcome", {"status": "failed", "error": str(error)})
        raise
    call("POST", f"/v1/actions/{action['id']}/outcome", {"status": "succeeded", "result": result})
    return result


def refund(order, amount):
    return f"refunded {amount} for order {order}"


if __name__ == "__main__":
    try:
        print(supervised("refund", refund, {"order": 4711, "amount": 20}, key="refund-4711"))
    except NotAllowed as answer:
        print(answer)
