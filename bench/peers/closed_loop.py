"""What every Python peer is measured by: clients that run one approval cycle after the other.

A cycle is what Banksman's own benchmark runs: propose a tool call until it durably waits, approve it, run its effect
once, and have the result recorded.
"""

import argparse
import collections
import itertools
import json
import threading
import time

# About 300 bytes, as in Banksman's own benchmark.
REQUEST = {"tool": "send_wire_transfer", "args": {"to": "ACME Corp", "amount": 1200.5, "memo": "x" * 220}}

# How many people approve the same action at the same time.
APPROVALS = 8


class Effects:
    """Counts how often each effect ran. What runs twice is the fault that this looks for."""

    def __init__(self):
        self._counts = collections.Counter()
        self._lock = threading.Lock()

    def run(self, key):
        with self._lock:
            self._counts[key] += 1
        return "ok"

    def of(self, key):
        return self._counts[key]

    def expect_once(self, keys):
        wrong = {key: self._counts[key] for key in keys if self._counts[key] != 1}
        if wrong:
            raise SystemExit(f"effects that did not run once: {wrong}")


def arguments():
    """What xtask tells every peer."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--clients", type=int, required=True)
    parser.add_argument("--cycles", type=int, required=True)
    parser.add_argument("--database", required=True, help="a file for SQLite, or postgresql://...")
    parser.add_argument("--tuned", action="store_true", help="the fastest setting that is still durable")
    return parser.parse_args()


def in_threads(clients, work):
    """Runs `work(number)` in that many threads at once; fails if one of them does."""
    failures = []
    start = threading.Barrier(clients)

    def guarded(number):
        try:
            start.wait()
            work(number)
        except BaseException as error:  # Whatever it is, the run is not worth reporting.
            failures.append(error)

    threads = [threading.Thread(target=guarded, args=(number,)) for number in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def measure(options, effects, create, resume):
    """Runs all cycles. `create(key)` returns when the action durably waits, `resume(key)` when all is recorded."""
    for number in range(3):
        create(f"warm-{number}")
        resume(f"warm-{number}")
    numbers = itertools.count()
    keys = [f"cycle-{number}" for number in range(options.cycles)]
    creating, resuming = [], []

    def client(_):
        while (number := next(numbers)) < options.cycles:
            begin = time.perf_counter()
            create(keys[number])
            waiting = time.perf_counter()
            resume(keys[number])
            creating.append(waiting - begin)
            resuming.append(time.perf_counter() - waiting)

    begin = time.perf_counter()
    in_threads(options.clients, client)
    elapsed = time.perf_counter() - begin
    effects.expect_once(keys)
    print(
        json.dumps(
            {
                "cycles_per_s": options.cycles / elapsed,
                "create_p50_ms": percentile(creating, 0.5),
                "create_p99_ms": percentile(creating, 0.99),
                "resume_p50_ms": percentile(resuming, 0.5),
                "resume_p99_ms": percentile(resuming, 0.99),
            }
        )
    )


def approve_together(effects, create, approve, settle):
    """Several people approve one action at the same time: how many hear that it worked, and how often does it run?"""
    create("contested")
    refused = []

    def person(_):
        try:
            approve("contested")
        except Exception as error:
            refused.append(type(error).__name__)

    in_threads(APPROVALS, person)
    settle("contested")
    print(
        json.dumps(
            {
                "approvals": APPROVALS,
                "accepted": APPROVALS - len(refused),
                "refused": len(refused),
                "effects": effects.of("contested"),
            }
        )
    )


def percentile(samples, share):
    ordered = sorted(samples)
    return round(ordered[min(len(ordered) - 1, int(len(ordered) * share))] * 1e3, 3)
