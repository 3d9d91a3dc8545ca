"""Run a fit of a problem, with all its seeds, in a process with a time limit."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Outcome:
    """Figures of each seed that ended; what was missing, or the error's last line, or whether time ran out."""

    found: list[dict[str, float]] = field(default_factory=list)
    missing: str = ""
    error: str = ""
    late: bool = False


def run(peer: str, problem: str, interpreters: Sequence[str], limit: float, first: int = 0) -> Outcome:
    """The outcome in the first interpreter that has the peer, killed after ``limit`` seconds."""
    outcome = Outcome()
    for python in interpreters:
        outcome = _run([python, "-m", "benchmarks.worker", peer, problem, str(first)], limit)
        if not outcome.missing:
            break
    return outcome


def _run(command: list[str], limit: float) -> Outcome:
    environment = os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3"}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    # A session of its own, so that the limit ends Rscript with the worker that started it.
    with subprocess.Popen(command, cwd=ROOT, env=environment, start_new_session=True, **pipes) as process:
        late = False
        try:
            out, err = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            late = True
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
        if late:
            out, err = process.communicate()
    lines = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
    missing = next((line["missing"] for line in lines if "missing" in line), "")
    failed = process.returncode != 0 and not late
    error = (err.strip().splitlines() or ["killed"])[-1] if failed else ""
    return Outcome([line for line in lines if "seconds" in line], missing, error, late)
