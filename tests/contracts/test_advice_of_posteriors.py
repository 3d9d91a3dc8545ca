"""What check() proposes about the search, the posterior, single rows and components, followed as a user would."""

import ast
import re

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.stats import multivariate_normal, norm

import tobitgp as tg
from tobitgp.inference import search

MAXIMUM = tg.EP(hyper="maximize", n_starts=1)


def found(res, name):
    """A finding; None where the fit has nothing of it."""
    table = res.check().table
    return table.loc[name] if name in table.index else None


def is_gone(res, name):
    finding = found(res, name)
    return finding is None or finding["verdict"] == "good"


def proposed(finding, verdict="doubtful"):
    """The ``start=`` in the words of a finding that is doubtful."""
    assert finding["verdict"] == verdict
    return ast.literal_eval(re.search(r"start=(\{.*?\})", finding["words"])[1])


@pytest.mark.slow
def test_a_second_component():
    """A slow and a fast wave: with the start named, the fit finds the fast one and the true noise; so does 'rq'."""
    rng = np.random.default_rng(0)
    depth = rng.uniform(0, 10, 150)
    y = 5.0 * np.sin(0.5 * depth) + 0.4 * np.sin(12.0 * depth) + 0.1 * rng.normal(size=150)
    data = pd.DataFrame({"depth m": depth, "y": y})
    one = tg.fit("y ~ gp(`depth m`)", data, method=MAXIMUM)
    finding = found(one, "structure")
    assert "a second time with name='second'" in finding["words"]
    assert one.params["sigma"] > 0.25
    second, start = "y ~ gp(`depth m`) + gp(`depth m`, name='second')", proposed(finding)
    for formula, options in ((second, {"start": start}), ("y ~ gp(`depth m`, kernel='rq')", {})):
        more = tg.fit(formula, data, method=MAXIMUM, **options)
        assert is_gone(more, "structure")
        assert more.log_evidence > one.log_evidence + 20.0
        assert more.params["sigma"] == pytest.approx(0.1, rel=0.2)


@pytest.mark.slow
def test_a_curve_that_follows_the_noise():
    """Sigma held at a quarter of the truth; without that the curve is smooth, and sigma the truth."""
    rng = np.random.default_rng(3)
    x = rng.uniform(0, 10, 120)
    data = pd.DataFrame({"x": x, "y": np.sin(0.6 * x) + 0.8 * rng.normal(size=120)})
    held = tg.fit("y ~ gp(x)", data, method=MAXIMUM, fixed={"sigma": 0.2})
    finding = found(held, "structure")
    assert finding["verdict"] == "doubtful"
    assert "Estimate sigma: leave it out of fixed=" in finding["words"]
    free = tg.fit("y ~ gp(x)", data, method=MAXIMUM)
    assert is_gone(free, "structure")
    assert free.params["sigma"] == pytest.approx(0.8, rel=0.15)


@pytest.mark.slow
def test_other_length_scales(monkeypatch):
    """Of a search that is switched off: from the start named, it ends at the wave and the true noise."""
    rng = np.random.default_rng(1)
    x = (24.0 * np.sort(rng.choice(365, 20, replace=False))[:, None] + np.arange(24)).ravel()
    data = {"x": x, "y": np.sin(2.0 * np.pi * x / 24.0) + 0.3 * rng.normal(size=len(x))}
    monkeypatch.setattr(search.Search, "_screen", lambda self, maximum: maximum)
    monkeypatch.setattr(search, "log_scales", lambda *given: [])
    missed = tg.fit("y ~ gp(x)", data, method=MAXIMUM)
    finding = found(missed, "structure")
    assert "keep the fit with the higher log_evidence" in finding["words"]
    again = tg.fit("y ~ gp(x)", data, method=MAXIMUM, start=proposed(finding))
    assert again.log_evidence > missed.log_evidence + 100.0
    assert again.params["sigma"] == pytest.approx(0.3, rel=0.1)
    assert is_gone(again, "structure")


@pytest.mark.slow
def test_another_maximum():
    """A fit from there stays there, and a prior on the length-scale leaves one of the two."""
    rng = np.random.default_rng(0)
    km = np.sort(rng.uniform(0, 6, 14))
    data, method = (
        pd.DataFrame({"km": km, "lead": np.sin(1.5 * km) + 0.7 * rng.normal(size=14)}),
        tg.EP(hyper="maximize"),
    )
    res = tg.fit("lead ~ gp(km)", data, method=method)
    start, name = proposed(found(res, "starts")), "lengthscale(gp(km))"
    there = tg.fit("lead ~ gp(km)", data, method=method, start=start)
    assert there.params[name] == pytest.approx(start[name], rel=0.1)
    assert there.params[name] > 2.0 * res.params[name]
    for median in (start[name], res.params[name]):
        one = tg.fit("lead ~ gp(km)", data, method=method, priors={name: tg.LogNormal(median, 0.2)})
        assert is_gone(one, "starts")
        assert one.params[name] == pytest.approx(median, rel=0.2)


def test_a_posterior_by_expectation_propagation():
    """Its evidence is closer to the density of the exact rows times the probability of the censored ones given them."""
    rng = np.random.default_rng(5)
    x = rng.uniform(0, 3, 20)
    data = pd.DataFrame({"x": x, "lo": np.maximum(np.sin(5.0 * x) + 0.1 * rng.normal(size=20), 0.3)})
    formula = "lo ~ 0 + gp(x, line=False) | censor(0.3)"
    options = {"fixed": {"sd(gp(x))": 1.0, "lengthscale(gp(x))": 0.3, "sigma": 0.1}}
    laplace = tg.fit(formula, data, method="laplace", **options)
    finding = found(laplace, "posterior")
    assert finding["verdict"] == "doubtful"
    assert "Fit again with method='ep'" in finding["words"]
    ep = tg.fit(formula, data, method="ep", **options)
    assert is_gone(ep, "posterior")
    y, K = data["lo"].to_numpy(), np.exp(-np.square(x[:, None] - x) / 0.18) + 0.01 * np.eye(20)
    low = y <= 0.3
    seen, A = K[np.ix_(~low, ~low)], np.linalg.solve(K[np.ix_(~low, ~low)], K[np.ix_(~low, low)]).T
    rest = K[np.ix_(low, low)] - A @ K[np.ix_(~low, low)]
    box = multivariate_normal.cdf(np.full(low.sum(), 0.3), A @ y[~low], rest, rng=np.random.default_rng(0))
    exact = multivariate_normal.logpdf(y[~low], np.zeros((~low).sum()), seen) + np.log(box)
    assert abs(ep.log_evidence - exact) < 0.3 < 0.6 < abs(laplace.log_evidence - exact)


def test_profile_intervals():
    """At their ends a likelihood maximised here is lower by half the quantile of chi-squared; not at those of Wald."""
    rng = np.random.default_rng(2)
    dose = rng.normal(size=8)
    data = pd.DataFrame({"dose mg": dose, "y": np.maximum(1.5 * dose - 1.0 + rng.normal(size=8), 0.0)})
    res = tg.fit("y ~ `dose mg` | censor(0)", data)
    finding = found(res, "posterior")
    assert finding["verdict"] == "doubtful"
    assert "Use profile_interval() for intervals" in finding["words"]

    def drop(slope):
        def minus(p):
            location, sigma = p[0] + slope * dose, np.exp(p[1])
            logs = np.where(data["y"] > 0, norm.logpdf(data["y"], location, sigma), norm.logcdf(-location / sigma))
            return -logs.sum()

        return res.llf + minimize(minus, [-1.0, 0.0], method="BFGS").fun

    wald = res.conf_int().loc["dose mg"]
    assert [drop(end) for end in res.profile_interval("dose mg")] == pytest.approx([1.9207, 1.9207], abs=1e-3)
    assert max(abs(drop(end) - 1.9207) for end in wald) > 0.5


@pytest.mark.slow
def test_rows_that_cannot_be_left_out():
    """A posterior by EP, whose sum over rows is that of cross-validation row by row, which is proposed too."""
    rng = np.random.default_rng(5)
    data = pd.DataFrame(rng.normal(size=(16, 6)), columns=[*(f"c {i}" for i in range(5)), "y"])
    formula = "y ~ " + " + ".join(f"`c {i}`" for i in range(5))
    finding = found(tg.fit(formula, data), "leave-one-out")
    assert finding["verdict"] == "doubtful"
    assert "Use tg.cross_validate()" in finding["words"]
    posterior = tg.fit(formula, data, method="ep")
    assert is_gone(posterior, "leave-one-out")
    scores = tg.cross_validate(formula, data, folds=16, metrics="log_likelihood", method="ep")["log_likelihood"]
    assert posterior.loo().elpd == pytest.approx(scores.sum(), abs=1.0)


@pytest.mark.filterwarnings("ignore")
def test_fewer_components():
    """Values of one lognormal distribution: its mean of logs and their sd are as simulated, and no row is alone."""
    rng = np.random.default_rng(0)
    data = pd.DataFrame({"conc ug": np.maximum(rng.lognormal(0.0, 1.0, 40), 1.5)})
    three = tg.fit("`conc ug` ~ mixture(3) | censor(1.5)", data, family="lognormal", method="vbcm")
    finding = found(three, "components")
    assert finding["verdict"] == "doubtful"
    (fewer,) = re.findall(r"Fit fewer components, (mixture\(\d\))", finding["words"])
    res = tg.fit(f"`conc ug` ~ {fewer} | censor(1.5)", data, family="lognormal", method="vbcm")
    assert is_gone(res, "components")
    assert res.log_evidence > three.log_evidence


def test_a_row_that_is_an_outlier():
    """Its label can be dropped as the words say, and the slope is that of the others."""
    rng = np.random.default_rng(4)
    x = rng.normal(size=40)
    data = pd.DataFrame({"x": x, "y": 2.0 * x + 0.3 * rng.normal(size=40)}, index=[f"well {i}" for i in range(40)])
    data.loc["well 7", ["x", "y"]] = 2.5, -4.0
    res = tg.fit("y ~ x", data)
    finding = found(res, "influence")
    assert finding["verdict"] == "bad"
    (code,) = re.findall(r"data\.drop\(.*?\)", finding["words"])
    without = tg.fit("y ~ x", eval(code, {"data": data}))
    assert is_gone(without, "influence")
    assert abs(without.params["x"] - 2.0) < 0.1 < 0.4 < abs(res.params["x"] - 2.0)


@pytest.mark.parametrize(
    ("formula", "options"),
    [
        ("y ~ x | censor(0)", {}),
        ("Surv(t, e) ~ x", {"family": "weibull"}),
        ("Surv(t, e) ~ x", {"family": tg.PH("piecewise", bands=2)}),
        ("Surv(t, e) ~ x", {"family": tg.PH("weibull")}),
    ],
)
def test_a_search_that_did_not_converge(formula, options):
    """More iterations, as check() and the notes of summary() say."""
    rng = np.random.default_rng(6)
    x, y = rng.normal(size=50), rng.normal(size=50)
    data = pd.DataFrame({"x": x, "y": np.maximum(x + y, 0.0), "t": np.exp(x + y), "e": rng.random(50) < 0.7})
    with pytest.warns(tg.errors.ConvergenceWarning, match="Raise max_iter"):
        res = tg.fit(formula, data, method=tg.MLE(max_iter=1), **options)
    finding = found(res, "convergence")
    assert finding["verdict"] == "bad"
    (code,) = re.findall(r"method=(tg\.MLE\(.*?\))", finding["words"])
    assert f"method={code}" in " ".join(str(res.summary()).split())
    assert is_gone(tg.fit(formula, data, method=eval(code, {"tg": tg}), **options), "convergence")
