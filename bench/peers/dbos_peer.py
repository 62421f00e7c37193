"""DBOS: a workflow waits with `recv`, `send` approves, and a step runs the effect. PostgreSQL keeps all of it."""

import os
import sys
import time

from dbos import DBOS, SetWorkflowID

import closed_loop

TOPIC = "approval"

# Longer than any run.
PATIENCE = 86_400

effects = closed_loop.Effects()


@DBOS.step()
def act(key):
    return effects.run(key)


@DBOS.workflow()
def ask(key, request):
    decision = DBOS.recv(TOPIC, timeout_seconds=PATIENCE)
    return act(key) if decision == "approve" else "denied"


def main():
    options = closed_loop.arguments()
    DBOS(
        config={
            "name": "banksman-bench",
            "system_database_url": options.database.replace("postgresql://", "postgresql+psycopg://"),
            "log_level": "ERROR",
            "sys_db_pool_size": 20,
            # Every waiting workflow keeps a thread.
            "max_executor_threads": options.clients + 64,
            "run_admin_server": False,
        }
    )
    DBOS.launch()
    handles = {}

    def create(key):
        # Returns when the workflow and its input are stored.
        with SetWorkflowID(key):
            handles[key] = DBOS.start_workflow(ask, key, closed_loop.REQUEST)

    def approve(key):
        DBOS.send(key, "approve", TOPIC)

    def resume(key):
        approve(key)
        if handles[key].get_result() != "ok":
            raise RuntimeError(f"{key} did not run")

    def settle(key):
        handles[key].get_result()
        time.sleep(0.5)

    closed_loop.measure(options, effects, create, resume)
    closed_loop.approve_together(effects, create, approve, settle)


if __name__ == "__main__":
    main()
    sys.stdout.flush()
    # Threads that still listen outlive main.
    os._exit(0)
