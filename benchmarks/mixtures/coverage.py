"""Coverage of 95% intervals by linear response for normal components, under the default prior."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from benchmarks.mixtures.tables import Ends, Row
from tobitgp.mixture import VBCM, fit_mixture, intervals, linear_response, posterior_covariance

LARGE = 200_000


@dataclass(frozen=True)
class Case:
    """Components of sd 1 and equal weight, at equal distances.

    Attributes
    ----------
    k : int
    n : int
    censored : float
        Share of the rows, in expectation.
    limits : {"fixed", "random"}
        A limit on the right (one component) or on both sides (two); or one on the right for each row, a value of the
        same distribution moved so far that the share is right.
    distance : float
        Between two components.
    """

    k: int
    n: int
    censored: float
    limits: str = "fixed"
    distance: float = 6.0

    @property
    def means(self) -> np.ndarray:
        """True means, (K,)."""
        return self.distance * (np.arange(self.k) - 0.5 * (self.k - 1))

    @property
    def truth(self) -> np.ndarray:
        """True weights, means and sds, (3 K,)."""
        return np.concatenate([np.full(self.k, 1.0 / self.k), self.means, np.ones(self.k)])

    def values(self, rng: np.random.Generator, n: int) -> np.ndarray:
        """Values before censoring, (n,)."""
        return rng.normal(self.means[rng.integers(0, self.k, n)], 1.0)

    def reach(self) -> float:
        """The position of a fixed limit, or the shift of random ones."""
        rng = np.random.default_rng(0)
        y = self.values(rng, LARGE)
        if self.limits == "random":
            return float(np.quantile(y - self.values(rng, LARGE), 1.0 - self.censored))
        return float(np.quantile(y if self.k == 1 else np.abs(y), 1.0 - self.censored))

    def draw(self, seed: int) -> Ends:
        """Ends of a data set."""
        rng, reach = np.random.default_rng([seed, self.n]), _reach(self)
        y = self.values(rng, self.n)
        if self.limits == "random":
            limit = self.values(rng, self.n) + reach
            return np.minimum(y, limit), np.where(y > limit, np.inf, y)
        low = -np.inf if self.k == 1 else -reach
        return np.where(y <= low, -np.inf, np.minimum(y, reach)), np.where(y > reach, np.inf, np.maximum(y, low))


@lru_cache
def _reach(case: Case) -> float:
    return case.reach()


def hits(case: Case, sets: int, level: float = 0.95) -> np.ndarray:
    """Which intervals held weights, means and sds, by linear response and by the posterior alone, (2, sets, 3 K)."""
    out = np.empty((2, sets, 3 * case.k))
    for seed in range(sets):
        rows = case.draw(seed)
        fit = fit_mixture(*rows, k=case.k, method=VBCM(n_init=3), rng=seed)
        for i, V in enumerate((linear_response(fit, *rows), posterior_covariance(fit))):
            low, high = intervals(fit, V, level).T
            out[i, seed] = (low <= case.truth) & (case.truth <= high)
    return out


def shares(case: Case, sets: int) -> np.ndarray:
    """Coverage of weights, means and sds, averaged over components, by both ways, (2, 3)."""
    return np.asarray(hits(case, sets).reshape(2, sets, 3, case.k).mean(axis=(1, 3)))


CASES = (
    Case(1, 60, 0.5),
    Case(1, 60, 0.75),
    Case(1, 60, 0.5, "random"),
    Case(1, 60, 0.75, "random"),
    Case(1, 200, 0.5),
    Case(1, 200, 0.75),
    Case(2, 200, 0.5),
    Case(2, 200, 0.5, "random"),
    Case(2, 200, 0.5, distance=4.0),
    Case(2, 200, 0.75),
    Case(2, 1000, 0.75),
    Case(2, 400, 0.75, "random"),
)


def coverage_table(sets: int) -> list[Row]:
    """Coverage by linear response and, in brackets, by the posterior alone."""
    rows: list[Row] = []
    for case in CASES:
        row: dict[str, object] = {
            "K": case.k,
            "N": case.n,
            "censored": f"{case.censored:.0%}",
            "limits": case.limits,
            "distance": f"{case.distance:g}" if case.k > 1 else "",
        }
        for name, share, alone in zip(("weight", "mean", "sd"), *shares(case, sets), strict=True):
            row[name] = "" if case.k == 1 and name == "weight" else f"{share:.3f} ({alone:.3f})"
        rows.append(row)
    return rows
