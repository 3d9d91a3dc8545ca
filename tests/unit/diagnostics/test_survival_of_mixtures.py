"""Mixtures beside the curves of Kaplan and Meier and of Turnbull: self-consistency, size and power."""

import warnings

import numpy as np
import pandas as pd
import pytest
from support.methods import having

import tobitgp as tg
from tobitgp.diagnostics.remedies import remedies
from tobitgp.diagnostics.survival_test import _away, _nonparametric, survival_test

KINDS = ("right", "interval")


class Steps:
    """The nonparametric distribution of some rows."""

    def __init__(self, lower, upper):
        self.rows = lower, upper, np.ones(len(lower))

    def sf(self, times):
        return np.array([0.0 if np.isposinf(t) else _nonparametric(t, *self.rows) for t in times])


def ends(t, rng, kind):
    """What is known of times censored at random, or seen at visits."""
    middle, n = np.median(t), len(t)
    if kind == "right":
        c = rng.exponential(2.5 * middle, n)
        return pd.DataFrame({"lower": np.minimum(t, c), "upper": np.where(t > c, np.inf, t)})
    visits = rng.exponential(middle, (n, 3)).cumsum(axis=1)
    visits = np.column_stack([np.zeros(n), visits, np.full(n, np.inf)])
    at = np.arange(n), (visits < t[:, None]).sum(axis=1)
    return pd.DataFrame({"lower": visits[at[0], at[1] - 1], "upper": visits[at]})


def humps(rng, n):
    return np.exp(np.where(rng.random(n) < 0.5, rng.normal(0.0, 0.5, n), rng.normal(2.5, 0.5, n)))


def survival_of(data, family, k, method="em"):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        res = tg.fit(f"interval(lower, upper) ~ mixture({k})", data, family=family, method=having(method, n_init=2))
    return survival_test(res, remedies(res))


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_nonparametric_curves_are_self_consistent(kind, rng):
    data = ends(humps(rng, 60), rng, kind)
    lower, upper = data["lower"].to_numpy(), data["upper"].to_numpy()
    events = np.unique(upper[np.isfinite(upper)])
    sums = _away(Steps(lower, upper), events, lower, upper).sum(axis=0)
    np.testing.assert_allclose(sums, 0.0, atol=1e-3)
    assert (
        np.abs(_away(Steps(lower, np.where(upper < np.inf, lower, upper)), events, lower, upper).sum(axis=0)).max() < 60
    )


@pytest.mark.parametrize("kind", KINDS)
def test_a_family_of_another_form_leaves_the_curve(kind):
    rng = np.random.default_rng(3)
    rows = 150 if kind == "right" else 600  # conservative beside intervals
    found = survival_of(ends(humps(rng, rows), rng, kind), "exponential", 1)
    assert found.p < 0.001
    assert ("Kaplan-Meier" if kind == "right" else "Turnbull") in found.wrong


@pytest.mark.slow
def test_check_names_the_time_and_both_curves(rng):
    data = ends(humps(rng, 200), rng, "right")
    res = tg.fit("interval(lower, upper) ~ mixture(1)", data, family="weibull", method="em")
    found = res.check().table.loc["survival"]
    assert found["verdict"] == "bad"
    assert "the mixture has" in found["words"]
    assert "mixture(range(1, 7))" in found["words"]


def test_what_the_prior_moved_is_said_to_be_the_priors():
    rng = np.random.default_rng(0)
    data = pd.DataFrame({"t": rng.exponential(1.0, 200)})
    prior = {"a": 60.0, "b": 130.0}
    res = tg.fit("t ~ mixture(1)", data, family="exponential", priors=prior)
    found = survival_test(res, remedies(res))
    assert found.p < 0.001
    assert "prior" in found.remedy
    em = tg.fit("t ~ mixture(1)", data, family="exponential", method="em")
    assert survival_test(em, remedies(em)).p > 0.02


@pytest.mark.slow
def test_values_that_are_no_times_have_no_such_test(rng):
    res = tg.fit("y ~ mixture(1)", {"y": rng.normal(size=50)})
    assert "survival" not in res.check().table.index


@pytest.mark.study
@pytest.mark.parametrize(
    ("method", "kind", "least", "most"),
    [
        ("em", "right", 0.01, 0.1),
        ("em", "interval", 0.0, 0.05),
        ("vbcm", "right", 0.01, 0.1),
        ("vbcm", "interval", 0.0, 0.05),
    ],
)
def test_right_models_are_flagged_at_the_level(method, kind, least, most):
    """Of 200 sets of 60 rows ten are expected, with a standard deviation of 3; intervals differ, see (CHK17)."""
    p = []
    for seed in range(200):
        rng = np.random.default_rng([seed, 7])
        p.append(survival_of(ends(humps(rng, 60), rng, kind), "lognormal", 2, method).p)
    assert least <= np.mean(np.array(p) < 0.05) <= most


@pytest.mark.parametrize("kind", KINDS)
def test_a_posterior_of_another_form_leaves_the_curve(kind):
    rng = np.random.default_rng(3)
    assert survival_of(ends(humps(rng, 300), rng, kind), "exponential", 1, "vbcm").p < 0.02


def test_fractional_weights_have_no_unit():
    rng = np.random.default_rng(8)
    data = ends(humps(rng, 80), rng, "right").assign(w=rng.uniform(0.5, 3.0, 80))
    found = []
    for unit in (1.0, 10.0):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of weights that are not whole numbers
            weighted = data.assign(w=unit * data["w"])
            res = tg.fit(
                "interval(lower, upper) ~ mixture(1)", weighted, family="exponential", method="em", weights="w"
            )
        found.append(survival_test(res, remedies(res)))
    np.testing.assert_allclose([found[1].value, found[1].p], [found[0].value, found[0].p], rtol=1e-3, atol=1e-6)
