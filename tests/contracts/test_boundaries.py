"""A model at the boundary of its parameters is the model without them: the same likelihood, estimates and answers.

A new boundary is one more row of ``PAIRS``.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from support.answers import EXACT, SETTLED
from support.kinds import EM, rows

import tobitgp as tg

MAXIMUM = {"method": tg.EP(hyper="maximize", n_starts=1)}
PIECES = {"family": tg.PH("piecewise", bands=2), "method": "mle"}
SMOOTH = {"family": tg.PH(bands=3), **MAXIMUM}
FIXED, SMOOTH_TERM = {"sigma": 0.5}, {"sd(gp(x))": 1e-9, "lengthscale(gp(x))": 2.0}


def same(res):
    return res


def first_cause(res):
    return res[1]


@dataclass(frozen=True)
class Pair:
    """A model at its boundary, and the one that it is there; each a formula and options."""

    formula: str
    options: dict[str, Any]
    plain: str
    plain_options: dict[str, Any]
    part: Callable[[Any], Any] = same  # of the first
    close: float = EXACT  # nats; of a maximum that lies at infinity what is left on the way
    shared: tuple[str, ...] = field(default=("z",))


def one_component(family, left="pos", limit="least"):
    return Pair(
        f"{left} ~ mixture(1) | censor({limit})",
        {"family": family, **EM},
        f"{left} ~ 1 | censor({limit})",
        {"family": family},
        shared=(),
    )


def nobody_cured(family):
    formula, plain = "Surv(early, all_seen) ~ z", {"family": family}
    return Pair(formula, {**plain, "cure": "~ 1"}, formula, plain, close=1e-4)


def one_of_causes(**options):
    return Pair("Surv(time, cause) ~ z", options, "Surv(time, first) ~ z", options, part=first_cause)


def no_width(left, plain, **options):
    return Pair(f"{left} ~ z", options, f"{plain} ~ z", options)


def at_entry(**options):
    """Hazards whose form stays at another origin of time."""
    formula = "Surv({}entry, {}time, event) ~ z + g"
    return Pair(formula.format("later_", "later_"), options, formula.format("", ""), options, shared=("z", "g[T.b]"))


PAIRS = {
    **{f"one component, {family}": one_component(family) for family in ("weibull", "lognormal", "exponential")},
    "one component, gaussian": one_component("gaussian", "low", "limit"),
    **{f"nobody cured, {family}": nobody_cured(family) for family in ("weibull", "lognormal")},
    "one of causes, weibull": one_of_causes(family=tg.PH("weibull")),
    "one of causes, pieces": one_of_causes(**PIECES),
    "one of causes, smooth": one_of_causes(**SMOOTH),
    "no width": no_width("interval(low, low)", "low"),
    "no width, times": no_width("interval(pos, pos)", "pos", family="weibull"),
    "no width, hazard": no_width("interval(pos, pos)", "Surv(pos, every)", family=tg.PH("spline", df=2)),
    "no frailty": Pair(
        "Surv(time, event) ~ z + (1 | few)",
        {"family": tg.PH("weibull", frailty="gamma")},
        "Surv(time, event) ~ z",
        {"family": tg.PH("weibull")},
        close=1e-5,
    ),
    "cannot be groups": Pair(
        "low ~ z + (1 | k) | censor(limit)",
        {"fixed": {"sd(re(k))": 1e-9, **FIXED}, **MAXIMUM},
        "low ~ z | censor(limit)",
        {"fixed": FIXED, **MAXIMUM},
    ),
    "no curve": Pair(
        "low ~ z + gp(x, line=False) | censor(limit)",
        {"fixed": {**SMOOTH_TERM, **FIXED}, **MAXIMUM},
        "low ~ z | censor(limit)",
        {"fixed": FIXED, **MAXIMUM},
    ),
    "origin of time, gompertz": at_entry(family=tg.PH("gompertz")),
    "origin of time, pieces": at_entry(**PIECES),
}


def data():
    table = rows()
    late = table["time"].max() + 1.0
    table = table.assign(
        entry=(0.3 * table["time"]).round(2) + 0.01,
        every=1,
        few=np.arange(len(table)) % 6,
        first=(table["cause"] == 1) * 1,
        all_seen=(np.arange(len(table)) > 2) * 1,  # the others were followed so shortly that they say nothing of a cure
    )
    table["early"] = np.where(table["all_seen"] == 1, table["pos"], 0.01)
    return table.assign(later_entry=table["entry"] + late, later_time=table["time"] + late)


def answer(formula, options, table, part=same):
    with warnings.catch_warnings():
        for told in (tg.errors.BoundaryWarning, tg.errors.ConvergenceWarning):
            warnings.simplefilter("ignore", told)
        res = part(tg.fit(formula, table, **options))
        return res, res.params, res.bse, res.predict_percentile(table[:4], p=0.9).to_numpy()


def criterion(res):
    """The log-likelihood at the maximum, or the log evidence of a posterior."""
    known = [getattr(res, what, None) for what in ("llf", "log_evidence")]
    (value,) = (each for each in known if each is not None and np.isfinite(each))
    return value


@pytest.mark.quick_cases(
    "one component, weibull", "nobody cured, weibull", "no width", "no width, times", "no frailty", "cannot be groups"
)
@pytest.mark.parametrize("name", PAIRS)
def test_a_model_at_its_boundary_is_the_one_without(name):
    pair, table = PAIRS[name], data()
    at_bound, params, errors, times = answer(pair.formula, pair.options, table, pair.part)
    plain, known_params, known_errors, known_times = answer(pair.plain, pair.plain_options, table)
    assert criterion(at_bound) == pytest.approx(criterion(plain), abs=pair.close)
    for column in pair.shared:
        assert params[column] == pytest.approx(known_params[column], abs=pair.close * 10.0)
        assert errors[column] == pytest.approx(known_errors[column], rel=pair.close * 100.0)
    if "origin" not in name:
        np.testing.assert_allclose(times, known_times, rtol=pair.close * 10.0)


def test_responses_that_share_nothing_are_fitted_as_alone():
    table = data()
    several = tg.fit("mvbind(low, other) ~ z + g", table, method=tg.EP(hyper="maximize"))
    for name in ("low", "other"):
        alone = tg.fit(f"{name} ~ z + g", table, method=tg.EP(hyper="maximize"))
        columns = ["Intercept", "z", "g[T.b]", "g[T.c]"]
        found, expected = (several.params[[f"{c}[{name}]" for c in columns]], alone.params[columns])
        assert (np.abs(found.to_numpy() - expected.to_numpy()) / alone.bse[columns].to_numpy()).max() < SETTLED
