"""An agent on LangGraph that asks Banksman before it acts, and goes on when it is called back.

Run as: langgraph_agent.py FOLDER AGENT_TOKEN KEY PORT. Prints the port that it listens on. Each line on its standard input,
`{"thread": "t", "amount": 5}`, begins a run; the action that it proposes is a line on its standard output. Where Banksman is
stands in FOLDER/url. `POST /resume` is what Banksman calls. What it does to the world is a line in FOLDER/effects.
If FOLDER/answer-badly exists, it does its work, removes that file, and answers 500: Banksman has to call again.
"""

import base64
import hashlib
import hmac
import json
import os
import sqlite3
import sys
import threading
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TypedDict

os.environ["LANGSMITH_TRACING"] = "false"

from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt

FOLDER, TOKEN, KEY, PORT = sys.argv[1:5]


class State(TypedDict, total=False):
    amount: int
    answer: dict
    result: str


def call(path, body):
    with open(f"{FOLDER}/url") as place:
        url = place.read().strip()
    request = urllib.request.Request(
        url + path,
        json.dumps(body).encode(),
        {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def ask(state):
    return {"answer": interrupt({"amount": state["amount"]})}


def act(state):
    decision = state["answer"]["resume"]["decisions"][0]
    if decision["type"] not in ("approve", "edit"):
        return {"result": decision["message"]}
    action = state["answer"]["action"]
    status, claim = call(f"/v1/actions/{action['id']}/claim", {"digest": action["digest"]})
    if status != 200:
        return {"result": claim["code"]}
    with open(f"{FOLDER}/effects", "a") as effects:
        effects.write(json.dumps(claim["args"]) + "\n")
    call(f"/v1/actions/{action['id']}/outcome", {"status": "succeeded"})
    return {"result": "done"}


builder = StateGraph(State)
builder.add_node("ask", ask)
builder.add_node("act", act)
builder.add_edge(START, "ask")
builder.add_edge("ask", "act")
builder.add_edge("act", END)
saver = SqliteSaver(sqlite3.connect(f"{FOLDER}/graph.db", check_same_thread=False))
graph = builder.compile(checkpointer=saver)
one_at_a_time = threading.Lock()


def start(port, body):
    thread = body["thread"]
    config = {"configurable": {"thread_id": thread}}
    graph.invoke({"amount": body["amount"]}, config)
    proposal = {
        "tool": "refund",
        "args": {"amount": body["amount"]},
        "thread": thread,
        "checkpoint": {"thread_id": thread},
        "resume": {"url": f"http://127.0.0.1:{port}/resume"},
    }
    return call("/v1/actions", proposal)[1]


def signed(headers, body):
    parts = [headers["webhook-id"].encode(), headers["webhook-timestamp"].encode(), body]
    mac = hmac.new(base64.b64decode(KEY.removeprefix("whsec_")), b".".join(parts), hashlib.sha256)
    return hmac.compare_digest("v1," + base64.b64encode(mac.digest()).decode(), headers["webhook-signature"])


def resume(body):
    config = {"configurable": {"thread_id": body["checkpoint"]["thread_id"]}}
    # Called twice for one decision: the graph no longer waits, and nothing is done.
    if not graph.get_state(config).interrupts:
        return "already resumed"
    return graph.invoke(Command(resume=body), config)["result"]


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        with one_at_a_time:
            status, answer = self.answer(body)
        self.send_response(status)
        self.end_headers()
        self.wfile.write(json.dumps(answer).encode())

    def answer(self, body):
        with open(f"{FOLDER}/calls", "a") as calls:
            calls.write(self.headers["webhook-id"] + "\n")
        if not signed(self.headers, body):
            return 401, "not signed by Banksman"
        result = resume(json.loads(body))
        if os.path.exists(f"{FOLDER}/answer-badly"):
            os.remove(f"{FOLDER}/answer-badly")
            return 500, result
        return 200, result

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", int(PORT)), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(server.server_port, flush=True)
for line in sys.stdin:
    with one_at_a_time:
        proposed = start(server.server_port, json.loads(line))
    print(json.dumps(proposed), flush=True)
