"""Processor seconds, wall seconds and peak memory of calls in separate processes."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Any, NamedTuple

from benchmarks.processes import ROOT, run
from benchmarks.worker import peak_mb

LONG = 3.0  # processor seconds, from which a first call counts
REPEATS = 5
LIMIT = 600.0


class Clock(NamedTuple):
    """Seconds of the processors and of the wall."""

    cpu: float
    wall: float


@dataclass(frozen=True)
class Measured:
    """The cost of a case; ``times`` is the ratio of its processor seconds to those of another."""

    clock: Clock | None
    peak: float = float("nan")
    accuracy: str = ""
    times: float | None = None


def clock(call: Callable[[], object]) -> Clock:
    """Return the median of calls after a first one, or the first call if it is long."""
    first = _once(call)
    if first.cpu > LONG:
        return first
    found = [_once(call) for _ in range(REPEATS)]
    return Clock(*(statistics.median(part) for part in zip(*found, strict=True)))


def _once(call: Callable[[], object]) -> Clock:
    busy, began = time.process_time(), time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        call()
    return Clock(time.process_time() - busy, time.perf_counter() - began)


def apart(function: Callable[..., Any], *arguments: Any) -> tuple[Any, float]:
    """Call a function in a new process, and return its value and the peak memory of the process."""
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        return pool.submit(_weighed, function, arguments).result()


def _weighed(function: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[Any, float]:
    return function(*arguments), peak_mb()


def of_problem(problem: str, peer: str = "tobitgp (ep)") -> Measured:
    """Medians over the seeds of a problem, with the RMSE of f."""
    outcome = run(peer, problem, [sys.executable], LIMIT)
    if not outcome.found:
        return Measured(None, accuracy=outcome.error or f"over {LIMIT:.0f} s")
    cpu, wall, rmse = (statistics.median(seed[key] for seed in outcome.found) for key in ("cpu", "seconds", "rmse"))
    return Measured(Clock(cpu, wall), outcome.found[0]["peak"], f"RMSE {rmse:.4f}")


def relative(function: Callable[..., tuple[Clock, Clock, str]], *arguments: Any) -> Measured:
    """Call a function that returns its clock, the clock of the comparison and the accuracy."""
    (own, other, accuracy), peak = apart(function, *arguments)
    return Measured(own, peak, accuracy, own.cpu / other.cpu)


def of_code(before: str, code: str, repeats: int = 5) -> Measured:
    """Return medians of a piece of code in new processes; ``before`` runs first and is not counted."""
    begin = "import time; busy, began = time.process_time(), time.perf_counter()"
    end = "from benchmarks.worker import peak_mb"
    report = "print(time.process_time() - busy, time.perf_counter() - began"
    whole = f"{before}\n{begin}\n{code}\n{report}, end=' ')\n{end}\nprint(peak_mb())"
    command = [sys.executable, "-c", whole]
    runs = [subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True) for _ in range(repeats)]
    cpu, wall, peak = map(statistics.median, zip(*(map(float, each.stdout.split()) for each in runs), strict=True))
    return Measured(Clock(cpu, wall), peak)
