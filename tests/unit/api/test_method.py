"""What ``method="auto"`` means, and which options go with it."""

import numpy as np
import pandas as pd
import pytest

import tobitgp as tg
from tobitgp.errors import SpecError
from tobitgp.likelihoods import FAMILIES

LINEAR, PROCESS = "y ~ x | censor(0)", "y ~ gp(x) | censor(0)"


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(8)
    x = rng.uniform(0, 2, 40)
    return pd.DataFrame(
        {"x": x, "y": np.maximum(0.3 + x + rng.normal(0, 0.5, 40), 0.0), "g": rng.choice(["a", "b"], 40)}
    )


def test_a_formula_without_processes_is_fitted_by_maximum_likelihood(data):
    res = tg.fit(LINEAR, data)
    assert (type(res), res.method, res.evidence_kind) == (tg.RegressionResults, "mle", "loglik")
    pd.testing.assert_series_equal(res.params, tg.fit(LINEAR, data, method="mle").params, check_exact=True)
    assert type(tg.Model(LINEAR, data).fit()) is tg.RegressionResults


@pytest.mark.parametrize("formula", [PROCESS, "y ~ x + re(g) | censor(0)", "y ~ x + (1 | g) | censor(0)"])
def test_processes_and_random_intercepts_have_posteriors(data, formula):
    res = tg.fit(formula, data, method=tg.EP(n_starts=1, hyper="maximize"))
    assert (type(res), res.method) == (tg.GPResults, "ep")


@pytest.mark.parametrize(
    "option",
    [
        {"method": tg.EP(hyper="maximize")},
        {"method": tg.EP(hyper="integrate")},
        {"priors": {"sigma": None}},
        {"priors": {}},
        {"start": {"sigma": 0.5}},
        {"method": tg.EP(inducing=None)},
    ],
    ids=str,
)
def test_options_of_a_posterior_ask_for_one(data, option):
    res = tg.fit(LINEAR, data, **option)
    assert (type(res), res.method) == (tg.GPResults, "ep")
    assert tg.fit(LINEAR, data, **{"method": "ep", **option}).log_evidence == res.log_evidence


@pytest.mark.filterwarnings("ignore:df grew beyond")
@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_has_a_linear_formula(data, family):
    res = tg.fit("y + 0.1 ~ x | censor(0.1)", data, family=family)
    assert type(res) is tg.RegressionResults
    assert res.parts.family.name == family


def test_what_only_maximum_likelihood_offers_needs_no_method(data):
    assert "log(sigma)[x]" in tg.fit(LINEAR, data, sigma="~ x").params
    assert tg.fit(LINEAR, data, cov_type="HC0").cov_type == "HC0"
    assert tg.fit(LINEAR, data, cov_type="cluster", cov_kwds={"groups": "x"}).cov_type == "cluster"
    seen = data[data["y"] > 0.0]
    assert tg.fit("y ~ x | truncate(0)", seen).converged


@pytest.mark.parametrize("option", [{"sigma": "~ 0 + x"}, {"cov_type": "HC0"}])
def test_posteriors_refuse_what_they_have_not(data, option):
    for choice in ({"method": "ep"}, {"method": tg.EP(hyper="maximize")}):
        with pytest.raises(SpecError, match="method='mle'"):
            tg.fit(LINEAR, data, **choice, **option)


def test_posteriors_model_the_scale(data):
    for choice in ({"method": "ep"}, {"method": tg.EP(hyper="maximize")}, {"method": "vi"}, {"method": "laplace"}):
        res = tg.fit(LINEAR, data, sigma="~ x", **choice)
        assert type(res) is tg.GPResults
        assert list(res.hyperparameters) == ["log(sigma)[x]", "sigma"]


@pytest.mark.parametrize("method", ["mle", tg.MLE(max_iter=50)], ids=str)
@pytest.mark.parametrize("option", [{"start": {"sigma": 1.0}}, {"priors": {"sigma": None}}], ids=str)
def test_nothing_that_was_named_is_ignored(data, option, method):
    with pytest.raises(SpecError, match=f"{next(iter(option))}= is not supported with"):
        tg.fit(LINEAR, data, method=method, **option)


def test_maximum_likelihood_has_no_priors_and_says_nothing_of_defaults(data):
    for options in (
        {"priors": {}},
        {"start": {}},
        {"rng": 7},
    ):
        assert tg.fit(LINEAR, data, method="mle", **options).converged
    assert tg.fit(LINEAR, data, start={}).method == "mle"


def test_progress_is_reported(data):
    seen = []
    res = tg.fit(LINEAR, data, progress=lambda *step: seen.append(step))
    assert seen == [("newton", res.fit_history["iterations"].iloc[0], res.llf)]
    with pytest.raises(SpecError, match="progress="):
        tg.fit(LINEAR, data, progress="yes")


def test_unknown_methods_are_refused(data):
    with pytest.raises(SpecError, match="'mle'"):
        tg.fit(LINEAR, data, method="bayes")
    for method in ("em", "vbcm", "svbcm", tg.VBCM(), tg.EMCM()):
        with pytest.raises(SpecError, match=r"mixture\(2\)"):
            tg.fit(LINEAR, data, method=method)


def test_a_formula_of_nothing_is_noise_around_zero(data):
    assert list(tg.fit("y ~ 0", data).params.index) == ["sigma"]
    with pytest.raises(SpecError, match="nothing to estimate"):
        tg.fit("y ~ 0", data, method="ep")
