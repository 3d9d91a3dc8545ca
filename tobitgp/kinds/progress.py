"""A progress line for long fits."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tobitgp.errors import SpecError
from tobitgp.inference.search_settings import OnStep, Step

_QUIET = 1.0
_EVERY = 0.1
_EVALUATIONS = "{stage}: {evaluations} evaluations, {passes} passes over {rows:,} rows, log density {value:.3f}"


@contextmanager
def progress_bar(
    progress: bool | Callable[[str, int, float], None], words: str = _EVALUATIONS
) -> Iterator[OnStep | None]:
    """Give what a fit should call after each evaluation."""
    if progress is False or progress is None:
        yield None
    elif callable(progress):
        yield lambda step: progress(*step[:3])
    elif progress is not True:
        raise SpecError(f"progress={progress!r}: progress must be True, False or a callable.")
    else:
        line = _Line(words)
        try:
            yield line.show
        finally:
            line.clear()


class _Line:
    def __init__(self, words: str) -> None:
        self.words = words
        self.began = self.last = self.seen = self.stage_began = time.monotonic()
        self.stage = ""
        self.width = 0

    def show(self, step: Step) -> None:
        """Write the line again, a few times a second."""
        now = time.monotonic()
        if step.stage != self.stage:
            self.stage, self.stage_began = step.stage, self.seen
        self.seen = now
        if now - self.began < _QUIET or now - self.last < _EVERY:
            return
        self.last = now
        text = f"{self.words.format(**step._asdict())}, {now - self.began:.0f} s"
        if step.left:
            text += f", about {step.left * (now - self.stage_began) / step.evaluations:.0f} s left"
        sys.stderr.write("\r" + text.ljust(self.width))
        sys.stderr.flush()
        self.width = len(text)

    def clear(self) -> None:
        """Leave an empty line behind."""
        if self.width:
            sys.stderr.write("\r" + " " * self.width + "\r")
            sys.stderr.flush()
