"""How often `check()` finds a difference from the Kaplan-Meier or Turnbull curve, for right and wrong models."""

from __future__ import annotations

import warnings

import numpy as np

import tobitgp as tg
from benchmarks.mixtures.designs import DRAWS
from benchmarks.mixtures.tables import Ends, Row
from tobitgp.diagnostics.remedies import remedies
from tobitgp.diagnostics.survival_test import survival_test
from tobitgp.errors import BoundaryWarning, ConvergenceWarning

RIGHT = {
    "lognormal": ((0.0, 0.5), (2.5, 0.5)),
    "weibull": ((1.0, 1.5), (12.0, 3.0)),
    "exponential": ((1.0,), (1.0 / 12.0,)),
}
KINDS = ("right", "interval")
METHODS = {"em": tg.EMCM(n_init=2), "vbcm": tg.VBCM(n_init=2)}


def draw(family: str, n: int, kind: str, seed: int) -> Ends:
    """Ends of times of two equal groups, censored at random on the right, or known between visits."""
    rng = np.random.default_rng([seed, n])
    t = DRAWS[family](rng, *np.array(RIGHT[family])[rng.integers(0, 2, n)].T)
    middle = np.median(t)
    if kind == "right":
        limit = rng.exponential(2.5 * middle, n)
        return np.minimum(t, limit), np.where(t > limit, np.inf, t)
    visits = rng.exponential(middle, (n, 3)).cumsum(axis=1)
    visits = np.column_stack([np.zeros(n), visits, np.full(n, np.inf)])
    at, last = np.arange(n), (visits < t[:, None]).sum(axis=1)
    return visits[at, last - 1], visits[at, last]


def p_value(rows: Ends, family: str, k: int, method: str) -> float:
    """The survival check of k components fitted to rows."""
    data = dict(zip(("lower", "upper"), rows, strict=True))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BoundaryWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        res = tg.fit(f"interval(lower, upper) ~ mixture({k})", data, family=family, method=METHODS[method])
        found = survival_test(res, remedies(res))
    return 1.0 if found is None else found.p


def shares(truth: str, n: int, kind: str, fitted: tuple[str, int, str], sets: int) -> Row:
    """Shares of p-values below 0.05 and 0.2."""
    p = np.array([p_value(draw(truth, n, kind, seed), *fitted) for seed in range(sets)])
    return {"below 0.05": f"{np.mean(p < 0.05):.3f}", "below 0.2": f"{np.mean(p < 0.2):.2f}"}


def size_table(sets: int) -> list[Row]:
    """Two components of the right family, 60 rows."""
    return [
        {"family": family, "rows": kind, "method": method} | shares(family, 60, kind, (family, 2, method), sets)
        for family in RIGHT
        for kind in KINDS
        for method in METHODS
    ]


def power_table(sets: int) -> list[Row]:
    """Fit one exponential component to two log-normal groups."""
    return [
        {"n": n, "rows": kind, "method": method} | shares("lognormal", n, kind, ("exponential", 1, method), sets)
        for n in (60, 150, 300, 600)
        for kind in KINDS
        for method in METHODS
    ]
