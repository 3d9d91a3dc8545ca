"""A model fits no worse than one that is a case of it: fits by maximum likelihood to rows of every kind.

A new kind is one more row of ``PAIRS``.
"""

import warnings
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tobitgp as tg

pytestmark = pytest.mark.slow
CLOSE = 1e-6  # nats
WEIBULL, GOMPERTZ, GAMMA = tg.PH("weibull"), tg.PH("gompertz"), {"family": tg.PH("weibull", frailty="gamma")}
TERMS = "x + z"


def spline(df, link="hazard"):
    return {"family": tg.PH("spline", df=df, link=link)}


@dataclass(frozen=True)
class Pair:
    """A model, and one that is a case of it; each the terms and options of a fit."""

    small: dict[str, Any]
    large: dict[str, Any]
    small_terms: str = TERMS
    terms: str = TERMS
    only: tuple[str, ...] = field(default=())  # kinds of rows that the models take, all without


LEFT = {
    "right": "Surv(stop, seen)",
    "left": "interval(low, high)",
    "intervals": "interval(low, high)",
    "other units": "interval(low, high)",
    "mixed, late": "interval(low, high) | truncate(entry)",
    "intervals, late": "interval(low, high) | truncate(entry)",
    "late": "Surv(entry, stop, seen)",
    "late, weighted": "Surv(entry, stop, seen)",
    "late, calendar years": "Surv(entry, stop, seen)",
    "start-stop": "Surv(entry, stop, seen)",
}
ONE_SIDED = ("right", "late", "late, weighted", "late, calendar years")
FROM_START = ("right",)


PAIRS = {
    "exponential < weibull": Pair({"family": "exponential"}, {"family": "weibull"}),
    "weibull < gengamma": Pair({"family": "weibull"}, {"family": "gengamma"}),
    "lognormal < gengamma": Pair({"family": "lognormal"}, {"family": "gengamma"}),
    "exponential < ph weibull": Pair({"family": "exponential"}, {"family": WEIBULL}),
    "exponential < ph gompertz": Pair({"family": "exponential"}, {"family": GOMPERTZ}),
    "ph weibull < weibull": Pair({"family": WEIBULL}, {"family": "weibull"}),
    "weibull < ph weibull": Pair({"family": "weibull"}, {"family": WEIBULL}),
    "ph weibull < spline 1": Pair({"family": WEIBULL}, spline(1)),
    "ph weibull < spline 3": Pair({"family": WEIBULL}, spline(3)),
    "spline 1 < spline 2": Pair(spline(1), spline(2)),
    "spline 2 < spline 4": Pair(spline(2), spline(4)),
    "loglogistic < odds spline 2": Pair({"family": "loglogistic"}, spline(2, "odds")),
    "odds spline 2 < 4": Pair(spline(2, "odds"), spline(4, "odds")),
    "lognormal < probit spline 2": Pair({"family": "lognormal"}, spline(2, "probit")),
    "probit spline 2 < 4": Pair(spline(2, "probit"), spline(4, "probit")),
    **{
        f"without columns < with, {name}": Pair(options, options, small_terms="1")
        for name, options in {
            "weibull": {"family": "weibull"},
            "loglogistic": {"family": "loglogistic"},
            "gengamma": {"family": "gengamma"},
            "gompertz": {"family": GOMPERTZ},
            "spline": spline(3),
            "odds spline": spline(3, "odds"),
            "probit spline": spline(3, "probit"),
        }.items()
    },
    **{
        f"factor < strata, {name}": Pair(options, options, small_terms="x + C(g)", terms="x + strata(g)")
        for name, options in {
            "weibull": {"family": WEIBULL},
            "gompertz": {"family": GOMPERTZ},
            "spline": spline(2),
        }.items()
    },
    "one sigma < sigma by a column": Pair({"family": "weibull"}, {"family": "weibull", "sigma": "~ x"}),
    "no cure < cure": Pair({"family": "weibull"}, {"family": "weibull", "cure": "~ 1"}, only=ONE_SIDED),
    "cure < cure by a column": Pair(
        {"family": "weibull", "cure": "~ 1"}, {"family": "weibull", "cure": "~ x"}, only=ONE_SIDED
    ),
    "no frailty < frailty": Pair({"family": WEIBULL}, GAMMA, terms="x + z + (1 | k)", only=FROM_START),
}


def rows(kind, seed, n=80):
    rng = np.random.default_rng(seed)
    x, z, g = rng.normal(size=n), rng.integers(0, 2, n), rng.integers(0, 3, n)
    entry = rng.uniform(0.0, 4.0, n) * ("late" in kind)
    shape, rate = 1.4 + 0.2 * g, 0.05 * np.exp(0.5 * x - 0.4 * z)
    time = (entry**shape + rng.exponential(size=n) / rate) ** (1.0 / shape)
    stop = np.minimum(time, entry + rng.uniform(1.0, 9.0, n))
    seen, width, exact = time <= stop, rng.uniform(0.5, 3.0, n), rng.random(n) < 0.4 * ("mixed" in kind)
    low = np.where(seen & ~exact, np.maximum(stop - width, entry), stop)
    high = np.where(seen, np.where(exact, stop, stop + width * rng.uniform(size=n)), np.inf)
    if kind == "left":
        low, high = np.where(x > 0.0, 0.0, low), np.where((x > 0.0) & ~seen, stop, high)
    data = pd.DataFrame({"entry": entry, "stop": stop, "low": low, "high": high})
    if kind == "start-stop":
        cut = 0.4 * stop
        data = pd.concat([data.assign(stop=cut), data.assign(entry=cut)])
        x, z, g, seen = (np.tile(each, 2) for each in (x, z, g, seen))
        seen[:n], x[n:] = False, x[n:] + 0.5
    data = data * (365.25e3 if kind == "other units" else 1.0) + 2000.0 * ("calendar" in kind)
    count, k = rng.integers(1, 4, len(data)), rng.integers(0, 20, n)
    own = {
        "x": x,
        "z": z,
        "g": g,
        "seen": seen * 1,
        "w": count,
        "k": np.resize(k, len(data)),
        "id": np.resize(np.arange(n), len(data)),
    }
    return data.reset_index(drop=True).assign(**own)


@cache
def log_likelihood(kind, terms, **options):
    """Of one model, which may stand in several pairs."""
    own = {"weights": "w"} if "weighted" in kind else {"id": "id"} if kind == "start-stop" else {}
    left, _, window = LEFT[kind].partition(" | ")
    formula = f"{left} ~ {terms}" + f" | {window}" * bool(window)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return tg.fit(formula, rows(kind, 1), method="mle", **own, **options).llf


def takes(pair, kind):
    """Whether both models take rows of a kind; start-stop rows are those of hazards that add up."""
    families = [options["family"] for options in (pair.small, pair.large)]
    if kind == "start-stop":
        return all(
            isinstance(family, tg.PH) and family.link == "hazard" and family.frailty is None for family in families
        )
    return not pair.only or kind in pair.only


# By kinds of rows, so that one process of several has all fits to the same rows.
CASES = [(name, kind) for kind in LEFT for name, pair in PAIRS.items() if takes(pair, kind)]


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_a_model_fits_no_worse_than_a_case_of_it(name, kind):
    pair = PAIRS[name]
    small = log_likelihood(kind, pair.small_terms, **pair.small)
    assert log_likelihood(kind, pair.terms, **pair.large) >= small - CLOSE
