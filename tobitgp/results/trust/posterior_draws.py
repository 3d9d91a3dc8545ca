"""What draws from a posterior say of the training rows: protocol of the three kinds of results."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tobitgp.data.facts import NO_ROWS
from tobitgp.data.outcome import Outcome
from tobitgp.data.prepare import TrainingData
from tobitgp.engines import row_chunks
from tobitgp.errors import SpecError
from tobitgp.numerics.draws import generator
from tobitgp.results.views import Source
from tobitgp.typing import Array

CHUNK = 512
_DIGITS = 50
_MOST = 2**31  # numbers in a table


class Draws:
    """S draws from a posterior, and the n training rows that are used, in the order of the data.

    All questions are of the same draws.
    """

    __slots__ = ()

    @property
    def size(self) -> int:
        """S."""
        raise NotImplementedError

    @property
    def names(self) -> list[str]:
        """Of the parameters."""
        raise NotImplementedError

    def parameters(self) -> Array:
        """Parameters as users read them, (S, k)."""
        raise NotImplementedError

    def log_likelihoods(self) -> Iterator[tuple[slice, Array]]:
        """Chunks of rows, and the log likelihood of one copy of each, (rows, S), of the response as written."""
        raise NotImplementedError

    def responses(self) -> Iterator[tuple[slice, Array]]:
        """Chunks of rows, and a new response for each draw, (rows, S), not clipped."""
        raise NotImplementedError


def training_rows(parts: Source, question: str) -> TrainingData:
    """The training rows."""
    if parts.training is None:
        raise SpecError(
            f"{NO_ROWS}, and {question} computes with them: ask it where the fit was made from a DataFrame."
        )
    return parts.training


def read_draws(draws: Any, least: int = 1, *, rows: int = 1) -> int:
    """A number of draws."""
    if isinstance(draws, bool) or not isinstance(draws, (int, np.integer)) or draws < least:
        raise SpecError(f"draws={draws!r}: a whole number of at least {least} is needed.")
    if int(draws) * max(rows, 1) > _MOST:
        held = f"at most {_MOST // max(rows, 1)} of {rows} rows can be held"
        raise SpecError(f"draws={draws}: {held}; ask for fewer draws, or for fewer rows at a time.")
    return int(draws)


def chunks(n: int) -> list[slice]:
    """Rows done together."""
    return row_chunks(0, n, CHUNK)


def streams(n: int, rng: int | np.random.Generator | None) -> tuple[np.random.Generator, tuple[int, ...]]:
    """A generator for what all rows share, and a seed for each chunk of n rows."""
    stream = generator(rng)
    return stream, tuple(stream.integers(2**63, size=len(chunks(n))).tolist())


def on_grid(log_likelihood: Array) -> Array:
    """Log likelihoods rounded to about 1e-15, so that importance weights that differ do so in floating-point numbers.

    Fits of the weights' tail divide by such differences, arviz's too.
    """
    return np.ldexp(np.round(np.ldexp(log_likelihood, _DIGITS)), -_DIGITS)


def log_jacobian(known: Outcome, *, log_time: bool) -> Array:
    """What the log likelihood of each row needs to be that of the response as written, (n,)."""
    return np.where(known.exact & log_time, -np.where(known.exact, known.lower, 0.0), 0.0)
