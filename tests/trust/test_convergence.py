"""What is said of a fit that does not end as it should: once, in words, with a remedy; and the trace that it keeps."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest
from support.methods import having
from support.summary_texts import without_tests

import tobitgp as tg
from tobitgp.errors import ApproximationWarning, BoundaryWarning, ConvergenceWarning, NumericalError

pytestmark = pytest.mark.diagonal

CURVE, DEFAULT = "y ~ gp(x, line=False) | censor(l)", "y ~ gp(x) | censor(l)"
formulas = pytest.mark.parametrize("formula", [CURVE, DEFAULT])


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(5)
    x = rng.uniform(0, 3, 30)
    y = np.sin(2 * x) + 0.2 * rng.normal(size=30)
    return pd.DataFrame({"x": x, "y": np.maximum(y, -0.4), "l": -0.4})


def wave(seed, n=12):
    """Few values of a fast wave on a slope, which a slow curve with much noise explains too."""
    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(-6, 6, n))
    return pd.DataFrame({"x": x, "y": np.sin(2.5 * x) + 0.2 * x + 0.15 * rng.normal(size=n)})


def told(formula, data, **options):
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        res = tg.fit(formula, data, **options)
    return res, [str(w.message) for w in heard if issubclass(w.category, ConvergenceWarning)]


UNSETTLED = {
    "inner loop, vi": (CURVE, {"method": tg.VI(site_iterations=2)}, "site_iterations"),
    "inner loop, laplace": (CURVE, {"method": tg.Laplace(site_iterations=1)}, "site_iterations"),
    "inner loop, vi, a line": (DEFAULT, {"method": tg.VI(site_iterations=2)}, "site_iterations"),
    "inner loop, laplace, a line": (DEFAULT, {"method": tg.Laplace(site_iterations=1)}, "site_iterations"),
    "optimiser, regression": ("y ~ x | censor(l)", {"method": tg.MLE(max_iter=1)}, "max_iter"),
    "optimiser, vbcm": ("y ~ mixture(2) | censor(l)", {"method": tg.VBCM(max_iter=2, n_init=2)}, "max_iter"),
    "optimiser, em": ("y ~ mixture(2) | censor(l)", {"method": tg.EMCM(max_iter=2, n_init=2)}, "max_iter"),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", UNSETTLED)
def test_told_once_with_the_remedy(data, case):
    formula, options, remedy = UNSETTLED[case]
    res, heard = told(formula, data, **options)
    assert not res.converged
    assert len(heard) == 1, heard
    assert remedy in heard[0]
    assert len(res.fit_history) > 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of standard errors
        assert "CONVERGE" in str(res.summary()).upper()
        assert not res.check().ok


@pytest.mark.slow
@formulas
def test_ep_gives_way_and_says_so(data, formula):
    """To a bound, from the sites that it had."""
    res, heard = told(formula, data, method=tg.EP(site_iterations=2))
    assert res.method == "vi"
    assert len(heard) == 1
    assert "method='vi'" in heard[0]
    exact = tg.fit(formula, data, method="vi")
    np.testing.assert_allclose(res.log_evidence, exact.log_evidence, atol=0.01)


@formulas
@pytest.mark.parametrize("method", ["ep", "vi", "laplace"])
def test_the_trace_ends_at_the_maximum(data, method, formula):
    history = tg.fit(formula, data, method=having(method, hyper="maximize")).fit_history
    assert list(history.columns) == ["stage", "evaluations", "passes", "log_posterior"]
    screened = history["stage"].str.startswith("screening")
    assert history["stage"][~screened].iloc[-1].startswith("run")
    assert screened.iloc[-1]
    climbed = history["stage"] != "another maximum"
    assert (history["evaluations"][climbed] > 0).all()
    assert history["log_posterior"].iloc[-1] > history["log_posterior"].max() - 0.05


def weak(data):
    """Priors under which the waves have two maxima."""
    sd = {name: float(data[name].std(ddof=0)) for name in ("x", "y")}
    medians = {"sd(gp(x))": 1.5 * sd["y"], "lengthscale(gp(x))": 0.7 * sd["x"], "sigma": 0.1 * sd["y"]}
    return {name: tg.LogNormal(medians[name], s) for name, s in zip(medians, (0.8, 0.7, 1.0), strict=True)}


def test_starts_that_disagree_are_reported():
    data = wave(1)
    res = tg.fit("y ~ gp(x, line=False)", data, priors=weak(data))
    assert res.converged
    history = res.fit_history.set_index("stage")["log_posterior"]
    less = history["search"] - history["another maximum"]
    assert 0 < less < 2
    finding = res.check().table.loc["starts"]
    assert finding["verdict"] == "doubtful"
    assert "start={'sd(gp(x))': 2.16, 'lengthscale(gp(x))': 1.59, 'sigma': 0.151}" in finding["words"]
    # it is a maximum: a search from there stays
    start = {"sd(gp(x))": 2.16, "lengthscale(gp(x))": 1.59, "sigma": 0.151}
    there = tg.fit("y ~ gp(x, line=False)", data, start=start, priors=weak(data))
    assert there.params["lengthscale(gp(x))"] > 1.5 * res.params["lengthscale(gp(x))"]
    np.testing.assert_allclose(there.fit_history["log_posterior"].iloc[0], history["another maximum"], atol=0.05)


def test_starts_that_disagree_beside_a_line_are_reported(data):
    """A shorter curve under less noise, which is no maximum without the line."""
    res = tg.fit(DEFAULT, data, method=tg.EP(hyper="maximize"))
    finding = res.check().table.loc["starts"]
    assert finding["verdict"] == "doubtful"
    start = {"sd(gp(x))": 0.523, "lengthscale(gp(x))": 0.232, "sigma": 0.138}
    assert f"start={start}" in finding["words"]
    there = tg.fit(DEFAULT, data, method=tg.EP(hyper="maximize"), start=start)
    assert there.hyperparameters == pytest.approx(start, rel=0.01)
    highest = (fit.fit_history["log_posterior"].iloc[-1] for fit in (res, there))
    assert next(highest) - next(highest) == pytest.approx(finding["value"], abs=0.01)


def test_a_maximum_of_no_weight_stands_in_the_trace_alone():
    data = wave(3)
    res = tg.fit("y ~ gp(x, line=False)", data, priors=weak(data))
    history = res.fit_history.set_index("stage")["log_posterior"]
    assert history["search"] - history["another maximum"] > 2
    assert "another" not in [text.get_text() for text in res.plot_evidence().texts]


def test_starts_that_agree_are_silent(data):
    res = tg.fit(CURVE, data, method=tg.EP(n_starts=4))
    assert "another maximum" not in set(res.fit_history["stage"])
    assert "starts" not in res.check().table.index


@pytest.mark.parametrize("term", ["gp(x, line=False)", "gp(x)"])
@pytest.mark.parametrize("method", ["ep", "vi", "laplace"])
def test_data_without_noise_are_told_of_once(method, term):
    """In one warning, and in one note of the summary."""
    x = np.linspace(0, 6, 40)
    data = pd.DataFrame({"x": x, "y": np.maximum(np.sin(x), -0.5)})
    with pytest.warns(BoundaryWarning, match="sigma is 1e-04 of the response's sd: the data show no noise") as heard:
        res = tg.fit(f"y ~ {term} | censor(-0.5)", data, method=having(method, hyper="maximize"))
    assert len(heard) == 1
    assert sum("the data show no noise" in note for note in res.summary().notes) == 1
    quiet = tg.fit(f"y ~ {term} | censor(-0.5)", data, method=having(method, hyper="maximize"), fixed={"sigma": 1e-3})
    assert "the data show no noise" not in str(quiet.summary())


@pytest.mark.parametrize("inducing", [15, None])
def test_noise_that_rounding_drowns_is_told_with_the_remedy(inducing):
    """All inputs as inducing ones do not mend it, and nothing says they do."""
    x = np.linspace(0, 6, 40)
    data = pd.DataFrame({"x": x, "y": np.maximum(np.sin(x), -0.5)})
    formula, options = (
        "y ~ gp(x, kernel='matern12') | censor(-0.5)",
        {"method": tg.EP(hyper="maximize", inducing=inducing)},
    )
    with pytest.raises(NumericalError, match="sigma, whose square is lost to rounding") as error:
        tg.fit(formula, data, fixed={"sigma": 5e-9}, **options)
    enough = float(re.search(r"'sigma': ([\d.e-]+)\} or more", str(error.value)).group(1))
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        res = tg.fit(formula, data, fixed={"sigma": enough}, **options)
    assert np.isfinite(res.log_evidence)
    assert all("more inducing inputs" in str(w.message) for w in heard), [str(w.message) for w in heard]


@pytest.mark.slow
def test_noise_that_costs_digits_is_told_with_the_remedy(data, tmp_path):
    """Variational inference stops far below its maximum there, and looks settled; summaries say so for good."""
    formula, options = "y ~ gp(x, kernel='matern12', line=False) | censor(l)", {"method": tg.VI(inducing=None)}
    fixed = {"sd(gp(x))": 1.0, "lengthscale(gp(x))": 0.7}

    def drowned(sigma):
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            res = tg.fit(formula, data, fixed={**fixed, "sigma": sigma}, **options)
        words = " ".join(res.summary().as_text().split())
        res.save(tmp_path / "fit.tgp")
        assert without_tests(tg.load(tmp_path / "fit.tgp").summary()) == without_tests(res.summary())
        assert ("Digits were lost" in words) == any("Digits were lost" in str(w.message) for w in heard)
        return [str(w.message) for w in heard if "sigma, whose square is lost to rounding" in str(w.message)]

    (message,) = drowned(1e-7)
    assert drowned(float(re.search(r"'sigma': ([\d.e-]+)\} or more", message).group(1))) == []


@pytest.mark.parametrize("sigma", [1e-6, 2e-6, 3e-6, 1e-5])
def test_digits_lost_in_sums_over_many_rows_are_told_with_the_remedy(sigma):
    """An intercept and the levels of a random one are told apart by their priors, beside sums of 1e15."""
    rng = np.random.default_rng(1)
    x, g = rng.uniform(0, 1, 5000), (np.arange(5000) % 20).astype(str)
    noise, truth = rng.normal(size=5000), 1.0 / np.sqrt(20.0)

    def error_of_intercept(sigma):
        data, fixed = pd.DataFrame({"x": x, "g": g, "y": x + sigma * noise}), {"sigma": sigma, "sd(re(g))": 1.0}
        return tg.fit("y ~ x + re(g)", data, method="ep", fixed=fixed).bse["Intercept"]

    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            error, words = error_of_intercept(sigma), " ".join(str(w.message) for w in heard)
        except NumericalError as refused:
            error, words = np.nan, str(refused)
    if words or error != pytest.approx(truth, rel=0.05):
        enough = float(re.search(r"'sigma': ([\d.e-]+)\} or more", words).group(1))
        assert error_of_intercept(enough) == pytest.approx(truth, rel=0.05)


def test_remedies_lead_where_a_fit_is_possible():
    """Below the least noise that is safe all inputs are no remedy for few inducing ones."""
    x = np.linspace(0, 6, 40)
    data, fixed = pd.DataFrame({"x": x, "y": np.sin(x)}), {"sd(gp(x))": 0.42, "lengthscale(gp(x))": 4.2}
    for sigma, remedy in (
        (1e-3, "Use more inducing inputs, method=tg.EP(hyper='maximize', inducing=None)"),
        (5e-7, "or fix sigma at a larger value"),
    ):
        known = {**fixed, "sigma": sigma}  # where a search would turn with the digits that are lost
        with pytest.warns(ApproximationWarning, match=re.escape(remedy)):
            res = tg.fit("y ~ gp(x, kernel='matern12')", data, fixed=known, method=tg.EP(inducing=15, hyper="maximize"))
        assert remedy in " ".join(str(res.summary()).split())


@pytest.mark.slow
def test_a_tail_far_steeper_than_the_noise_is_no_breakdown():
    """Few rows under little noise: the mean likelihood of what is censored starts at minus 1e17."""
    x = [0.943, 0.511, 0.976, 0.0808, 0.607, 0.376, 0.802, 0.175, 0.872, 0.544, 0.902, 0.477]
    t = [3.07, 0.739, 2.13, 4.47, 0.881, 0.912, 2.0, 1.43, 2.59, 0.747, 3.7, 2.69]
    data = pd.DataFrame({"x": x, "t": t, "e": [1, 0, 1, 1, 1, 0, 1, 1, 0, 0, 1, 1]})
    priors = {"sd(gp(x))": tg.LogNormal(0.9, 0.8), "lengthscale(gp(x))": tg.LogNormal(0.2, 0.7)}
    options = {"family": "weibull", "method": tg.VI(hyper="maximize")}
    little = {**priors, "sigma": tg.LogNormal(0.06, 1.0)}
    res, heard = told("Surv(t, e) ~ gp(x, line=False)", data, priors=little, **options)
    assert res.converged
    assert heard == []
    assert res.params["sigma"] < 0.06


def without_noise(sigma):
    x = np.sort(np.random.default_rng(0).uniform(0, 1, 60))
    data, fixed = pd.DataFrame({"x": x, "y": np.sin(6 * x)}), {"sd(gp(x))": 1.2, "lengthscale(gp(x))": 0.36}
    options = {"family": "gumbel", "method": tg.VI(hyper="maximize"), "fixed": {**fixed, "sigma": sigma}}
    return told("y ~ gp(x, line=False) | censor(-0.5)", data, **options)


@pytest.mark.parametrize(("sigma", "evidence"), [(3e-5, 255.97829), (9e-5, 227.58706), (1.5e-4, 214.08438)])
def test_a_bound_that_rounding_keeps_from_its_tolerance_settles_all_the_same(sigma, evidence):
    """Its evidence is that of a fit with a tolerance of 1e-3."""
    res, heard = without_noise(sigma)
    assert res.converged
    assert heard == []
    assert res.log_evidence == pytest.approx(evidence, abs=1e-4)


@pytest.mark.slow
@pytest.mark.usefixtures("pure")
def test_a_bound_that_rounding_keeps_from_settling_is_given_up_soon(monkeypatch):
    """Without noise the residual goes round far above its tolerance; hundreds more would not settle it."""
    monkeypatch.setattr("tobitgp.inference.fixed_point.NEAR", 1e-9)
    res, heard = without_noise(3e-5)
    assert not res.converged
    assert "More would not help: use another method." in heard[0]
    assert res.fit_history["passes"].sum() < 500
