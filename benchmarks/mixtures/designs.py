"""Simulated groups of every family, uncensored and right-censored, whose number and parameters are known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from benchmarks.mixtures.tables import Ends

LARGE = 200_000
DRAWS: dict[str, Callable[..., np.ndarray]] = {
    "gaussian": lambda rng, mean, sd: rng.normal(mean, sd),
    "lognormal": lambda rng, mean, sd: np.exp(rng.normal(mean, sd)),
    "exponential": lambda rng, rate: rng.exponential(1.0 / rate),
    "weibull": lambda rng, scale, shape: scale * rng.weibull(shape),
    "poisson": lambda rng, rate: rng.poisson(rate).astype(float),
}


@dataclass(frozen=True)
class Design:
    """Groups by a row of parameters each, in the order of their means.

    Attributes
    ----------
    family : str
    groups : tuple of tuples of float
        Parameters by the names of the family.
    n : int
        Rows.
    shares : tuple of float
        Expected shares of the groups; equal ones where it is empty.
    censored : float
        Share of the rows, in expectation, by limits on the right, one for each row, that do not depend on its group.
    rounded : float
        To multiples of which values are rounded; 0 for not at all.
    """

    family: str
    groups: tuple[tuple[float, ...], ...]
    n: int
    shares: tuple[float, ...] = ()
    censored: float = 0.0
    rounded: float = 0.0

    @property
    def k(self) -> int:
        """Number of groups."""
        return len(self.groups)

    @property
    def truth(self) -> np.ndarray:
        """Shares, then parameters as a fit has them."""
        return np.concatenate([self.shares or [1.0 / self.k] * self.k, *np.array(self.groups).T])

    def values(self, rng: np.random.Generator, n: int) -> np.ndarray:
        """Values before censoring, (n,)."""
        group = rng.choice(self.k, n, p=self.shares or None)
        return DRAWS[self.family](rng, *np.array(self.groups)[group].T)

    def draw(self, seed: int) -> Ends:
        """Ends of a data set; limits are values of the same distribution, moved so far that the share is right."""
        rng = np.random.default_rng([seed, self.n])
        y = self.values(rng, self.n)
        if self.rounded:
            y = np.round(y / self.rounded) * self.rounded
        if not self.censored:
            return y, y
        limit = _moved(self.family, self.values(rng, self.n), _reach(self))
        return np.minimum(y, limit), np.where(y > limit, np.inf, y)


def _moved(family: str, values: np.ndarray, by: float) -> np.ndarray:
    return values + by if family == "gaussian" else values + np.round(by) if family == "poisson" else values * by


@lru_cache
def _reach(design: Design) -> float:
    rng = np.random.default_rng(0)
    y, limit = design.values(rng, LARGE), design.values(rng, LARGE)
    beyond = y - limit if design.family in ("gaussian", "poisson") else y / limit
    return float(np.quantile(beyond, 1.0 - design.censored))


# Of well-separated groups the 95% intervals must cover.
SEPARATED = {
    "gaussian": ((0.0, 1.0), (12.0, 2.0)),
    "lognormal": ((0.0, 0.3), (4.0, 0.6)),
    "exponential": ((1000.0,), (1.0,)),
    "weibull": ((1.0, 1.5), (100.0, 4.0)),
    "poisson": ((4.0,), (60.0,)),
}
EARLY_FAILURES = ((200.0, 0.8), (5000.0, 4.0))

# Whose number of groups must be found.
NUMBERED: dict[str, Design] = {
    "one normal": Design("gaussian", ((5.0, 3.0),), 60),
    "one normal, 300 rows": Design("gaussian", ((5.0, 3.0),), 300),
    "one normal, rounded": Design("gaussian", ((5.0, 3.0),), 100, rounded=1.0),
    "one normal, 40% censored": Design("gaussian", ((5.0, 3.0),), 100, censored=0.4),
    "two, 4 sd apart": Design("gaussian", ((0.0, 1.0), (4.0, 1.0)), 120),
    "two, 6 sd apart, 5% in one": Design("gaussian", ((0.0, 1.0), (6.0, 1.0)), 200, (0.95, 0.05)),
    "two, 40 sd apart": Design("gaussian", ((0.0, 1.0), (40.0, 1.0)), 100),
    "peaks at 100 and 200": Design("gaussian", ((100.0, 0.5), (200.0, 0.5)), 100),
    "two, 8 sd apart, rounded": Design("gaussian", ((0.0, 1.0), (8.0, 1.0)), 120, rounded=0.5),
    "two, 8 sd apart, 40% censored": Design("gaussian", ((0.0, 1.0), (8.0, 1.0)), 160, censored=0.4),
    "narrow in wide": Design("gaussian", ((0.0, 10.0), (0.0, 0.3)), 200),
    "three lines": Design("gaussian", ((28.0, 0.01), (29.0, 0.01), (30.0, 0.01)), 180, (0.8, 0.12, 0.08)),
    "three, 30% censored": Design("gaussian", ((0.0, 1.0), (10.0, 1.0), (20.0, 1.0)), 180, censored=0.3),
    "five, 7 sd apart": Design("gaussian", tuple((7.0 * i, 1.0) for i in range(5)), 200),
    "one log-normal": Design("lognormal", ((1.0, 0.8),), 100),
    "two log-normal, 40% censored": Design("lognormal", ((0.0, 0.4), (4.0, 0.4)), 160, censored=0.4),
    "four standards": Design("lognormal", tuple((2.3 * i, 0.03) for i in range(4)), 160),
    "one exponential": Design("exponential", ((0.2,),), 100),
    "one exponential, 40% censored": Design("exponential", ((0.2,),), 100, censored=0.4),
    "two exponential": Design("exponential", ((50.0,), (1.0,)), 150),
    "two exponential, 40% censored": Design("exponential", ((200.0,), (1.0,)), 200, censored=0.4),
    "three exponential": Design("exponential", ((1e4,), (1e2,), (1.0,)), 240),
    "one Poisson": Design("poisson", ((7.0,),), 100),
    "one Poisson of large counts": Design("poisson", ((1000.0,),), 60),
    "two Poisson": Design("poisson", ((3.0,), (18.0,)), 120),
    "two Poisson, 40% censored": Design("poisson", ((3.0,), (25.0,)), 160, censored=0.4),
    "three Poisson": Design("poisson", ((1.0,), (15.0,), (60.0,)), 180),
    "one Weibull, 40% censored": Design("weibull", ((10.0, 2.0),), 100, censored=0.4),
    "early failures": Design("weibull", EARLY_FAILURES, 300, (0.2, 0.8)),
    "wear-out beside early failures": Design("weibull", ((2.0, 0.8), (500.0, 6.0)), 120),
}
