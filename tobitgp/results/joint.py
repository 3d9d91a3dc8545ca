"""The joint distribution of rows, and how they are drawn from it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from tobitgp.distributions.location_scale import LocationScale
from tobitgp.results.rows import Asked
from tobitgp.typing import Array

DRAWN = ("uncensored", "latent", "observed", "conditional")


class Posterior(NamedTuple):
    """Mean and covariance of f in rows together: (PRE1) and (PRE2) of the theory pages, or (REG8).

    Attributes
    ----------
    mean : Series, (n,)
        In the units of the response, on the log scale for log-time families.
    covariance : DataFrame, (n, n)
        Its square. Both are labelled by rows.
    """

    mean: pd.Series[float]
    covariance: pd.DataFrame


Within = tuple[Array, Array] | None  # ends (n,) of what values are inside


class JointPosterior:
    """Joint posterior of f in n rows, in the user's units: on the log scale for log-time families."""

    __slots__ = ()

    def moments(self, asked: Asked) -> tuple[Array, Array]:
        """Mean (n,) and covariance (n, n) of f."""
        raise NotImplementedError

    def draw(
        self,
        asked: Asked,
        draws: int,
        *,
        noise: bool,
        rng: np.random.Generator,
        known: Within = None,
        window: Within = None,
    ) -> Array:
        """Draws (n, draws) of f, or of the response, where it is ``known`` to lie, or inside a window, if given."""
        raise NotImplementedError

    def distributions(
        self, asked: Asked, draws: int, cells: int, rng: np.random.Generator, random: Sequence[str] = ()
    ) -> Iterator[LocationScale]:
        """Draws of the distributions of the response in all rows together, (n, s) at a time, of some cells at most."""
        raise NotImplementedError

    @property
    def of_training_rows(self) -> bool:
        """Whether only rows that the fit has seen can be drawn as what they are known to be."""
        raise NotImplementedError
