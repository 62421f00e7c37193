"""LangGraph: `interrupt` holds the graph, `Command(resume=...)` lets it go on, a checkpointer keeps it meanwhile.

As its documentation shows it, a node asks and the next one acts. Tuned, one node does both and checkpoints are written
when the graph stops, which is still before it is known to wait.
"""

import os
import sqlite3
import sys
import time
from typing import TypedDict

os.environ["LANGSMITH_TRACING"] = "false"

from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt
from psycopg.rows import dict_row
from psycopg_pool import ConnectionPool

import closed_loop

# More connections than this make it slower.
POOL = 20


class State(TypedDict, total=False):
    key: str
    request: dict
    decision: str
    result: str


def graph(effects, checkpointer, tuned):
    def ask(state):
        return {"decision": interrupt({"key": state["key"], **state["request"]})}

    def act(state):
        return {"result": effects.run(state["key"])}

    def ask_and_act(state):
        decision = interrupt({"key": state["key"], **state["request"]})
        return {"decision": decision, "result": effects.run(state["key"])}

    builder = StateGraph(State)
    nodes = [("ask_and_act", ask_and_act)] if tuned else [("ask", ask), ("act", act)]
    previous = START
    for name, node in nodes:
        builder.add_node(name, node)
        builder.add_edge(previous, name)
        previous = name
    builder.add_edge(previous, END)
    return builder.compile(checkpointer=checkpointer)


def checkpointer(database, clients):
    if database.startswith("postgresql://"):
        settings = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}
        size = min(clients, POOL)
        saver = PostgresSaver(ConnectionPool(database, min_size=size, max_size=size, kwargs=settings, open=True))
    else:
        saver = SqliteSaver(sqlite3.connect(database, check_same_thread=False, timeout=60))
    saver.setup()
    return saver


def main():
    options = closed_loop.arguments()
    effects = closed_loop.Effects()
    compiled = graph(effects, checkpointer(options.database, options.clients), options.tuned)
    # "async" is the default: a checkpoint is written while the next step runs, and all of them before invoke returns.
    durability = "exit" if options.tuned else "async"

    def invoke(value, key):
        return compiled.invoke(value, {"configurable": {"thread_id": key}}, durability=durability)

    def create(key):
        if "__interrupt__" not in invoke({"key": key, "request": closed_loop.REQUEST}, key):
            raise RuntimeError(f"{key} does not wait")

    def resume(key):
        if invoke(Command(resume="approve"), key).get("result") != "ok":
            raise RuntimeError(f"{key} did not run")

    closed_loop.measure(options, effects, create, resume)
    closed_loop.approve_together(effects, create, resume, settle=lambda _: time.sleep(0.5))


if __name__ == "__main__":
    main()
    sys.stdout.flush()
    # The threads of the pool outlive main.
    os._exit(0)
