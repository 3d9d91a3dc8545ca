"""Words and counts that functions of non-detects take."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from tobitgp.errors import SpecError

PERMUTATIONS = 9999


def read_choice(value: str, name: str, allowed: Iterable[str]) -> str:
    """One of the words that an argument takes."""
    words = tuple(allowed)
    if not isinstance(value, str) or value not in words:
        raise SpecError(f"{name}={value!r}: one of {', '.join(map(repr, words))} is needed.")
    return value


def read_count(value: int, name: str, least: int = 1) -> int:
    """How many values, permutations or resamples there are."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise SpecError(f"{name}={value!r}: a whole number of at least {least} is needed.")
    return int(value)


def read_resamples(bootstrap: int) -> int:
    """A number of resamples of which tails can be told."""
    return read_count(bootstrap, "bootstrap", 200)
