"""What a fit predicted of its own rows, beside scipy's distributions at the estimates and beside curves."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kstest, norm, poisson

import tobitgp as tg
from tobitgp.diagnostics.calibration_figures import predicted_survival
from tobitgp.errors import SpecError


@pytest.fixture(scope="module")
def times():
    """Lognormal times of 60 rows, and two more around them."""
    rng = np.random.default_rng(2)
    x = rng.normal(size=60)
    t = np.exp(0.5 + 0.7 * x + 0.6 * rng.normal(size=60))
    return pd.DataFrame({"x": x, "t": t, "early": t * rng.uniform(0.3, 0.9, 60), "late": t * rng.uniform(1.1, 3.0, 60)})


def at(res, data, ends):
    """Log survival of lognormal times at the estimates."""
    a, b, sigma = (res.params[name] for name in ("Intercept", "x", "sigma"))
    with np.errstate(divide="ignore"):
        return norm.logsf((np.log(ends) - a - b * data["x"].to_numpy()) / sigma)


def test_rows_censored_on_every_side(times):
    kind = np.arange(60) % 4
    low = np.select([kind == 0, kind == 1], [times["t"], 0.0], times["early"])
    high = np.select([kind == 0, kind == 3], [times["t"], np.inf], times["late"])
    data = times.assign(low=low, high=high)
    for rows in (data, data.assign(low=data["low"].replace(0.0, -np.inf))):
        res = tg.fit("interval(low, high) ~ x", rows, family="lognormal", method="mle")
        found = predicted_survival(res)
        np.testing.assert_allclose(found.lower, at(res, data, low), rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(found.upper, at(res, data, high), rtol=1e-9, atol=1e-12)
        assert np.array_equal(found.lower == found.upper, kind == 0)
        assert (found.weight == 1.0).all()


def test_rows_that_entered_late(times):
    data = times.assign(event=np.arange(60) % 3 > 0, w=1.0 + np.arange(60) % 2)
    res = tg.fit("Surv(early, t, event) ~ x", data, family="lognormal", method="mle", weights="w")
    found = predicted_survival(res)
    given = at(res, data, data["t"].to_numpy()) - at(res, data, data["early"].to_numpy())
    np.testing.assert_allclose(found.lower, given, rtol=1e-7)
    np.testing.assert_allclose(found.upper, np.where(data["event"], given, -np.inf), rtol=1e-7)
    assert found.weight.tolist() == data["w"].tolist()


def test_rows_seen_in_a_window_only(times):
    high = np.where(np.arange(60) % 2, times["t"], 0.5 * (times["t"] + times["late"]))
    data = times.assign(high=high)
    res = tg.fit("interval(t, high) ~ x | truncate(early, late)", data, family="lognormal", method="mle")
    found = predicted_survival(res)
    S = {name: np.exp(at(res, data, data[name].to_numpy())) for name in ("t", "high", "early", "late")}
    for end, name in ((found.lower, "t"), (found.upper, "high")):
        want = (S[name] - S["late"]) / (S["early"] - S["late"])
        np.testing.assert_allclose(np.exp(end), want, rtol=1e-7, atol=1e-10)


@pytest.mark.slow
def test_counts_have_mass_at_what_was_seen():
    rng = np.random.default_rng(4)
    y = np.concatenate([rng.poisson(2.0, 60), rng.poisson(12.0, 60)]).astype(float)
    low, high = np.where(np.arange(120) % 5 == 0, y + 1.0, y), np.where(np.arange(120) % 5 == 0, np.inf, y)
    data = pd.DataFrame({"low": low, "high": high})
    res = tg.fit("interval(low, high) ~ mixture(2)", data, family="poisson", method="em", rng=1)
    weights, rates = (res.params[[f"{name}[{k}]" for k in (1, 2)]].to_numpy() for name in ("weight", "rate"))

    def survival(values):
        return poisson.sf(values[:, None], rates) @ weights

    found = predicted_survival(res)
    exact = low == high
    np.testing.assert_allclose(np.exp(found.lower), survival(np.where(exact, low - 1.0, low)), rtol=1e-8)
    np.testing.assert_allclose(np.exp(found.upper), survival(high), rtol=1e-8)
    assert (found.lower > found.upper).all()


def test_a_process_foretells_a_row_from_the_others(times):
    """As a fit without the row does, whose units are a little other ones."""
    data = times.assign(event=np.arange(60) % 3 > 0)
    fixed = {"sd(gp(x))": 0.5, "lengthscale(gp(x))": 0.3, "sigma": 0.4}
    res = tg.fit("Surv(t, event) ~ gp(x)", data, family="lognormal", fixed=fixed)
    found = np.exp(predicted_survival(res).lower)
    for i in (0, 17, 40, 59):
        others = tg.fit("Surv(t, event) ~ gp(x)", data.drop(data.index[i]), family="lognormal", fixed=fixed)
        row = data.iloc[[i]]
        want = others.predict_survival_function(times=row["t"].to_numpy(), df=row).to_numpy().item()
        assert found[i] == pytest.approx(want, abs=1e-3)


@pytest.mark.slow
def test_what_is_foretold_of_a_rough_process_is_uniform():
    """Of the truth; residuals with the row itself in the posterior are far too good."""
    rng = np.random.default_rng(6)
    x = np.sort(rng.uniform(size=2000))
    K = np.exp(-np.abs(x[:, None] - x) / 0.01)
    y = np.linalg.cholesky(K + 1e-9 * np.eye(2000)) @ rng.normal(size=2000) + rng.normal(0.0, 0.3, 2000)
    fixed = {"sd(gp(x))": 1.0, "lengthscale(gp(x))": 0.01, "sigma": 0.3}
    res = tg.fit("y ~ gp(x, kernel='matern12')", pd.DataFrame({"x": x, "y": y}), fixed=fixed)
    assert kstest(np.exp(predicted_survival(res).lower), "uniform").pvalue > 0.01
    assert kstest(norm.cdf(res.residuals("quantile")), "uniform").pvalue < 1e-6


def test_what_is_foretold_of_the_right_model_is_uniform():
    rng = np.random.default_rng(5)
    x = rng.normal(size=2000)
    data = pd.DataFrame({"x": x, "y": 1.0 + x + rng.normal(0.0, 0.5, 2000)})
    found = predicted_survival(tg.fit("y ~ x", data, method="mle"))
    assert kstest(np.exp(found.lower), "uniform").pvalue > 0.01
    wrong = predicted_survival(tg.fit("y ~ 1", data.assign(y=data["y"] ** 3), method="mle"))
    assert kstest(np.exp(wrong.lower), "uniform").pvalue < 1e-6


@pytest.fixture(scope="module")
def lung():
    return tg.datasets.load("lung")


FITS = {
    "process": ("Surv(time, event) ~ gp(age)", {"family": "lognormal", "method": tg.EP(hyper="maximize")}),
    "regression": ("Surv(time, event) ~ age", {"family": "weibull"}),
    "mixture": ("Surv(time, event) ~ mixture(2)", {"family": "weibull"}),
}
PICTURES = ("plot_calibration", "plot_cox_snell", "plot_predictive_check")


@pytest.mark.parametrize("kind", FITS)
def test_every_kind_of_results_is_drawn_on_axes_that_are_given(lung, kind):
    import matplotlib.pyplot as plt

    formula, options = FITS[kind]
    res = tg.fit(formula, lung, **options)
    for name in PICTURES:
        _, ax = plt.subplots()
        assert getattr(res, name)(ax) is ax
        assert ax.lines
    if kind == "mixture":
        with pytest.raises(SpecError, match="predicts the same for all"):
            res.plot_calibration(time=300)
    else:
        assert res.plot_calibration(time=300).get_xlabel().endswith("event by 300")


@pytest.mark.parametrize("kind", FITS)
def test_fits_without_rows_refuse(lung, kind, tmp_path):
    formula, options = FITS[kind]
    tg.fit(formula, lung, **options).save(tmp_path / "fit.tgp")
    loaded = tg.load(tmp_path / "fit.tgp")
    for name in (*PICTURES, "check"):
        with pytest.raises(SpecError, match="rows"):
            getattr(loaded, name)()


def test_what_a_picture_cannot_show_is_refused(lung, times):
    left = tg.fit("nh4 ~ time | censor(limit)", tg.datasets.load("nh4"), family="lognormal")
    with pytest.raises(SpecError, match="requires right-censored rows"):
        left.plot_calibration(time=0.01)
    late = tg.fit("t ~ x | truncate(early, inf)", times, family="lognormal")
    with pytest.raises(SpecError, match="requires landmark="):
        late.plot_calibration(time=1.0)
    right = tg.fit("Surv(time, event) ~ age", lung, family="gaussian")
    with pytest.raises(SpecError):
        right.plot_calibration(time=np.inf)


def test_replicates_do_not_depend_on_luck(lung):
    res = tg.fit("Surv(time, event) ~ age", lung, family="weibull")
    one, two, three = (
        res.plot_predictive_check(draws=3, rng=rng).lines[2].get_ydata()
        for rng in (None, None, np.random.default_rng(8))
    )
    assert np.array_equal(one, two)
    assert not np.array_equal(one, three)


@pytest.mark.slow
@pytest.mark.parametrize("right", ["x", "gp(x)"])
def test_replicates_of_truncated_rows_are_inside_their_windows(right):
    """Against the average of the rows' truncated normal distributions at the estimates."""
    rng = np.random.default_rng(3)
    x = rng.uniform(-1, 1, 900)
    y, entry = x + rng.normal(size=900), rng.uniform(-1, 0.5, 900)
    data = pd.DataFrame({"x": x, "y": y, "entry": entry})[y > entry]
    res = tg.fit(f"y ~ {right} | truncate(entry, inf)", data, method=tg.EP(hyper="maximize"))
    replicates = res.plot_predictive_check(draws=200, rng=1).lines[1:]
    grid, f = replicates[0].get_xdata(), res.predict(what="latent").to_numpy()[:, None]
    above = norm.sf(np.maximum(grid, data[["entry"]].to_numpy()), f, res.params["sigma"])
    want = 1.0 - np.mean(above / norm.sf(data[["entry"]].to_numpy(), f, res.params["sigma"]), axis=0)
    np.testing.assert_allclose(np.mean([line.get_ydata() for line in replicates], axis=0), want, atol=0.015)
    assert want[0] == 0.0


def test_truncated_rows_are_drawn_where_censoring_does_not_depend_on_the_window(times):
    cut = times[times["t"] > 0.8].assign(t=lambda d: d["t"].clip(upper=4.0))
    same = tg.fit("t ~ x | censor(-inf, 4) | truncate(0.8, inf)", cut, family="lognormal")
    assert min(line.get_xdata()[line.get_ydata() > 0].min() for line in same.plot_predictive_check().lines) > 0.79
    own = tg.fit("Surv(early, t, e) ~ x", times.assign(e=np.arange(60) % 3 > 0), family="lognormal")
    with pytest.raises(SpecError, match="a different window for each row"):
        own.plot_predictive_check()
    seen = tg.fit("Surv(early, t, e) ~ x", times.assign(e=1), family="lognormal")
    assert len(seen.plot_predictive_check(draws=3).lines) == 4
