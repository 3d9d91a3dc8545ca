"""What a fit with a parametric baseline was made from and what it found: linear predictor and baseline of rows."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from tobitgp.data.absorbed import as_dense
from tobitgp.data.arrays import Design
from tobitgp.data.design import DesignState
from tobitgp.data.linear import INTERCEPT, linear_terms
from tobitgp.distributions.baselines import GompertzBaseline, SplineBaseline, WeibullBaseline
from tobitgp.distributions.transformed import Transformed
from tobitgp.errors import SpecError
from tobitgp.formula.hazards import HazardFormula, read_hazards
from tobitgp.results.distributional.parts import DistributionalParts
from tobitgp.typing import Array, BoolArray, IntArray

THETA = "theta"
_ROUNDING = 1e-9
_FURTHEST = 4.0  # standard errors of theta above its estimate, beyond which no draw of its logarithm is taken

# Families of log times whose noise is that of transformed times, by link.
LINKS = {"hazard": "weibull", "odds": "loglogistic", "probit": "lognormal"}


@dataclass(frozen=True, slots=True)
class ParametricParts(DistributionalParts):
    """A fit with a parametric baseline; ``maximum.gamma`` are its parameters, those of all strata of each."""

    baseline: SplineBaseline | WeibullBaseline | GompertzBaseline = field(default_factory=WeibullBaseline)
    formula: str = ""  # as written
    frailty: str | None = None  # column of the groups that share one, the logarithm of whose variance stands last
    groups: tuple[str | int | float, ...] = ()  # G
    of_subjects: bool = False  # whether rows are parts of the time of subjects
    frailties: Array | None = None  # (G, 2), shape and rate of their gamma distributions given what was seen

    @property
    def link(self) -> str:
        """``hazard``, ``odds`` or ``probit``."""
        return next(link for link, name in LINKS.items() if name == self.family.name)

    @property
    def written(self) -> HazardFormula:
        """The formula that was read."""
        return read_hazards(self.formula)

    @property
    def scale_names(self) -> list[str]:
        """Parameters of the baseline, of each stratum."""
        own = baseline_names(self.state, self.baseline.names, self.written.stratum)
        return own if self.frailty is None else [*own, THETA]

    @property
    def positive(self) -> BoolArray:
        """Which of them are reported as exponentials, (m L,)."""
        names = self.scale_names
        return np.array([name == THETA or self.baseline.positive for name in names])

    @property
    def n_baseline(self) -> int:
        """Number of parameters of the baseline, of all strata."""
        return len(self.maximum.gamma) - (self.frailty is not None)

    @property
    def level_columns(self) -> IntArray:
        """Places of the linear columns of the intercept, or of the strata."""
        return level_columns(self.state, self.written.stratum)

    def designs(self, design: Design) -> list[Array]:
        """Columns (n, k_j) of the linear predictor and of each parameter of the baseline."""
        H = as_dense(design.H)
        levels = H[:, self.level_columns]
        if not levels.any(axis=1).all():
            raise SpecError("exclude= cannot leave out the strata, each of which has a baseline of its own.")
        shared = [np.ones((len(H), 1))] * (self.frailty is not None)
        return [H, *[levels] * self.baseline.size, *shared]

    def predictors(self, design: Design) -> tuple[Array, ...]:
        """The linear predictor and the parameters of the baseline of rows, (n,) each."""
        H, *rest = self.designs(design)
        ends = np.cumsum([each.shape[1] for each in rest])[:-1]
        own = (each @ block for each, block in zip(rest, np.split(self.maximum.gamma, ends), strict=True))
        return (H @ self.maximum.coefficients + design.offset, *own)

    def units(self, x: tuple[Array, ...]) -> tuple[Array, ...]:
        """Sizes of steps of the parameters: those that change s at the last exit by about 1."""
        if isinstance(self.baseline, SplineBaseline):
            ends = np.array([self.baseline.knots[0], self.baseline.knots[-1]])
            sizes = [max(float(np.ptp(value)), 1e-8) for value in self.baseline.basis(ends)[0]]
        else:
            sizes = [1.0 if self.baseline.positive else self.last]
        one = np.ones_like(x[0])
        return (one, *(one / size for size in sizes), one)[: len(x)]

    def at(self, x: tuple[Array, ...]) -> Transformed:
        """Distributions of times at values of the parameters."""
        m = self.baseline.size
        return Transformed(self.family.distribution, self.baseline, x[0], x[1 : m + 1], x[m + 1 :])

    def possible(self, change: Array) -> BoolArray:
        """Which draws (S,) have a baseline that rises, where the parameters move by ``change`` (k, S).

        The logarithm of a variance of 0 or nearly is hardly known; its draws end where the variance itself would.
        """
        likely = np.ones(change.shape[1], dtype=np.bool_)
        if self.frailty is not None:
            likely = change[-1] <= np.log1p(_FURTHEST * np.sqrt(np.asarray(self.covariance)[-1, -1]))
        if not isinstance(self.baseline, SplineBaseline):
            return likely
        gamma = (self.maximum.gamma[:, None] + change[-len(self.maximum.gamma) :])[: self.n_baseline]
        _, slope = self.baseline.lowest(list(gamma.reshape(self.baseline.size, -1, change.shape[1])))
        return np.asarray(likely & (slope >= -_ROUNDING * slope.max(axis=0)).all(axis=(0, 1)))


def level_columns(state: DesignState, stratum: str | None) -> IntArray:
    """Places of the linear columns of the intercept, or of the strata."""
    name = INTERCEPT if stratum is None else f"C({stratum})"
    return np.array(next(columns for term, columns in linear_terms(state.linear) if term == name), dtype=np.intp)


def baseline_names(state: DesignState, names: tuple[str, ...], stratum: str | None) -> list[str]:
    """Parameters of a baseline, of each stratum."""
    if stratum is None:
        return list(names)
    columns = [state.linear.columns[i] for i in level_columns(state, stratum)]
    return [name + column[len(f"C({stratum})") :] for name in names for column in columns]
