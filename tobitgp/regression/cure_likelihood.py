r"""The likelihood of mixture cure models, on arrays.

A share :math:`\pi = \operatorname{expit}(z'\gamma)` never has the event; the log times of the others have location
:math:`x'\beta` and scale sigma: (CUR1) and (CUR2) of the theory pages.

References
----------
Farewell (1982), The use of mixture models for the analysis of survival data with long-term survivors, *Biometrics* 38,
1041-1046. Maller and Zhou (1996), *Survival Analysis with Long-Term Survivors*, Wiley.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tobitgp.data.outcome import Outcome
from tobitgp.distributions.formulas import CuredTimes, location_scale_times
from tobitgp.distributions.standard_noise import Distribution
from tobitgp.numerics.jets import Jet
from tobitgp.regression.predictors import Predictors, orthonormal
from tobitgp.typing import Array, IntArray


@dataclass(frozen=True, slots=True)
class CureProblem(Predictors):
    """Rows, exact or right-censored, and designs of location, logit of the cured fraction, log sigma and the shape."""

    distribution: Distribution
    free_shape: bool

    @property
    def sizes(self) -> tuple[int, int]:
        """Number of coefficients of the location and of the logit."""
        return self.written[0].shape[1], self.written[1].shape[1]

    def times(self, rows: IntArray, at: Sequence[Jet]) -> CuredTimes:
        """Of a location, the logit, a log scale and, where it is estimated, a shape."""
        eta, logit, *rest = at
        return CuredTimes(location_scale_times(self.distribution, eta, *rest), logit)


def cure_problem(
    seen: Outcome,
    designs: Sequence[Array],
    offsets: Sequence[Array],
    distribution: Distribution,
    known: Sequence[Array],
    *,
    free_shape: bool,
) -> CureProblem:
    """Make columns orthonormal, and offsets of known parameters: NaN where they are estimated.

    Designs, offsets and ``known`` parameters are those of location, logit and log sigma.
    """
    shape = [(np.ones((len(seen), 1)), np.zeros(len(seen)), np.full(1, np.nan))] if free_shape else []
    parts = zip(*(*zip(designs, offsets, known, strict=True), *shape), strict=True)
    return CureProblem(**orthonormal(seen, *parts), distribution=distribution, free_shape=free_shape)
