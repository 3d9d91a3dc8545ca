"""Where random numbers come from."""

from __future__ import annotations

import numpy as np

from tobitgp.errors import SpecError
from tobitgp.typing import Array


def generator(rng: int | np.random.Generator | None) -> np.random.Generator:
    """A Generator as it is, or one of a seed; None is seed 0, so that nothing is random unless asked for.

    Raises
    ------
    SpecError
        For anything else.

    Examples
    --------
    >>> print(generator(None).integers(100), generator(0).integers(100))
    85 85
    """
    if isinstance(rng, np.random.Generator):
        return rng
    if rng is not None and (isinstance(rng, bool) or not isinstance(rng, (int, np.integer)) or rng < 0):
        raise SpecError(f"rng={rng!r}: None, a whole number of at least 0, or a numpy Generator is needed.")
    return np.random.default_rng(0 if rng is None else int(rng))


def random_points(rng: int | np.random.Generator | None, n: int) -> Array:
    """Uniform numbers (n,) for randomised residuals.

    Of a seed they are no numbers that ``default_rng(seed)`` draws: with these a user may have made the very data, and
    residuals would follow a column.

    Examples
    --------
    >>> bool((random_points(0, 9) == np.random.default_rng(0).uniform(size=9)).any())
    False
    """
    stream = rng if isinstance(rng, np.random.Generator) else generator(rng).spawn(1)[0]
    return stream.uniform(size=n)
