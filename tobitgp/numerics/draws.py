"""Where random numbers come from."""

from __future__ import annotations

import numpy as np


def generator(rng: int | np.random.Generator | None) -> np.random.Generator:
    """A Generator as it is, or one of a seed; None is seed 0, so that nothing is random unless asked for.

    Examples
    --------
    >>> print(generator(None).integers(100), generator(0).integers(100))
    85 85
    """
    return np.random.default_rng(0 if rng is None else rng)
