"""``python -m benchmarks.worker PEER PROBLEM FIRST``: fit a problem by a peer, a line of JSON for each seed from FIRST.

A process of its own, so that its peak memory is its own and a peer may live in another interpreter.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from benchmarks.aims.draws import AIMED
from benchmarks.axes import GROWTH
from benchmarks.peers import PEERS
from benchmarks.problems import PROBLEMS
from benchmarks.scores import scores

WARM_UP_ROWS = 2000  # more than any basis has functions


def main(peer: str, problem: str, first: str = "0") -> None:
    """Fit every seed, the first rows of the first one ahead for imports and caches."""
    fit = next(p.fit for p in PEERS if p.name == peer and problem in p.problems.split())
    chosen = next(p for p in [*PROBLEMS, *GROWTH, *AIMED] if p.name == problem)
    try:
        for seed in range(int(first), int(first) + chosen.seeds):
            draw = chosen.draw(seed)
            _forget_peak()
            if seed == int(first):
                fit(draw.head(WARM_UP_ROWS))
            began, busy = time.perf_counter(), time.process_time()
            answer = fit(draw)
            seconds = answer.seconds or time.perf_counter() - began
            cpu = time.process_time() - busy if answer.cpu is None else answer.cpu
            found = {"seconds": seconds, "cpu": cpu, "peak": answer.peak_mb or peak_mb()}
            print(json.dumps(found | scores(answer.mean, answer.sd, answer.weight, draw.truth)), flush=True)
    except ModuleNotFoundError as error:
        print(json.dumps({"missing": error.name}))


def _forget_peak() -> None:
    """Count peak memory from here on: the draw of R5 takes more than its fits."""
    references = Path("/proc/self/clear_refs")
    if references.exists():
        references.write_text("5")


def peak_mb() -> float:
    """Peak resident memory of this process; NaN where the system has no /proc.

    ``getrusage`` would count what the parent held when it started this process.
    """
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.exists() else []
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM")), float("nan"))


if __name__ == "__main__":
    main(*sys.argv[1:])
