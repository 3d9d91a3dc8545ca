"""A progress line for long fits."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tobitgp.errors import SpecError

OnStep = Callable[[str, int, float], None]
_QUIET = 1.0
_EVERY = 0.1
_EVALUATIONS = "{stage}: {count} evaluations, log density {value:.3f}"


@contextmanager
def progress_bar(progress: bool | OnStep, words: str = _EVALUATIONS) -> Iterator[OnStep | None]:
    """Give what a fit should call after each evaluation.

    Parameters
    ----------
    progress : bool or callable
        True writes one line to stderr once a fit lasts a second, and clears it at the end; a callable is used as it
        is.
    words : str
        What the line says, with ``{stage}``, ``{count}`` and ``{value}``.

    Examples
    --------
    >>> with progress_bar(False) as on_step:
    ...     print(on_step)
    None
    """
    if progress is False or progress is None:
        yield None
    elif callable(progress):
        yield progress
    elif progress is not True:
        raise SpecError(f"progress={progress!r}: True, False, or a callable is needed.")
    else:
        line = _Line(words)
        try:
            yield line.show
        finally:
            line.clear()


class _Line:
    def __init__(self, words: str) -> None:
        self.words = words
        self.began = self.last = time.monotonic()
        self.width = 0

    def show(self, stage: str, count: int, value: float) -> None:
        """Write the line again, a few times a second."""
        now = time.monotonic()
        if now - self.began < _QUIET or now - self.last < _EVERY:
            return
        self.last = now
        text = f"{self.words.format(stage=stage, count=count, value=value)}, {now - self.began:.0f} s"
        sys.stderr.write("\r" + text.ljust(self.width))
        sys.stderr.flush()
        self.width = len(text)

    def clear(self) -> None:
        """Leave an empty line behind."""
        if self.width:
            sys.stderr.write("\r" + " " * self.width + "\r")
            sys.stderr.flush()
