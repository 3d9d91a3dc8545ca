"""Where random numbers come from."""

from __future__ import annotations

import numpy as np

from tobitgp.errors import SpecError
from tobitgp.typing import Array

_OWN = 0x746F6269  # no child that a user spawns
_LEAST = 2.0**-54  # half of the least step between uniform numbers


def generator(rng: int | np.random.Generator | None) -> np.random.Generator:
    """A Generator as it is, ``default_rng`` of a seed, or for None always the same stream, which is no seed's.

    With the numbers of ``default_rng(0)`` a user may have made the very data, and draws that repeat them show patterns
    that no model has.
    """
    if isinstance(rng, np.random.Generator):
        return rng
    if rng is None:
        return np.random.default_rng(np.random.SeedSequence(0, spawn_key=(_OWN,)))
    if isinstance(rng, bool) or not isinstance(rng, (int, np.integer)) or rng < 0:
        raise SpecError(f"rng={rng!r}: None, a whole number of at least 0, or a numpy Generator is needed.")
    return np.random.default_rng(int(rng))


def random_points(rng: int | np.random.Generator | None, n: int) -> Array:
    """Uniform numbers (n,) for randomised residuals.

    Of a seed they are no numbers that ``default_rng(seed)`` draws: see `generator`, and users write the same seed in
    both places.
    """
    stream = rng if isinstance(rng, np.random.Generator) else generator(rng).spawn(1)[0]
    return stream.uniform(size=n)


def open_uniform(stream: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Uniform numbers strictly between 0 and 1, whose quantiles are finite under every law.

    Those of ``stream.random``, save 0, in whose place is :math:`2^{-54}`.
    """
    return np.maximum(stream.random(shape), _LEAST)
