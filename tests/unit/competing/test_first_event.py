"""The first event of any cause: closed forms of constant hazards, quadrature, draws and fits again."""

import warnings

import matplotlib
import numpy as np
import pandas as pd
import pytest
from scipy.integrate import cumulative_simpson
from scipy.optimize import minimize
from scipy.stats import norm

import tobitgp as tg
from tobitgp.diagnostics.elpd import waic_by_draws
from tobitgp.distributions.averaged import Averaged
from tobitgp.distributions.event_times import First, JoinedDraws
from tobitgp.distributions.gumbel import Gumbel
from tobitgp.distributions.location_scale import LocationScale
from tobitgp.errors import ApproximationWarning, SpecError
from tobitgp.results.competing import first_times

matplotlib.use("Agg")
NEW = pd.DataFrame({"x": [-1.0, 0.0, 1.5]})


def simulated(n=120, seed=1, shape=1.0, cured=(0.0, 0.0)):
    """Times of two causes, of which shares never come, censored at random."""
    rng = np.random.default_rng(seed)
    x, arm = rng.normal(size=n), rng.choice(["A", "B"], n)
    times = rng.weibull(shape, (n, 2)) * np.exp(np.column_stack([0.3 * x, 0.5 - 0.4 * x + 0.3 * (arm == "B")]))
    times[rng.random((n, 2)) < np.array(cured)] = np.inf
    end = rng.uniform(0.5, 5.0, n)
    first = times.min(axis=1)
    return pd.DataFrame(
        {"t": np.minimum(first, end), "k": np.where(first < end, times.argmin(axis=1) + 1, 0), "x": x, "arm": arm}
    )


@pytest.fixture(scope="module")
def data():
    return simulated()


@pytest.fixture(scope="module")
def constant(data):
    return tg.fit("Surv(t, k) ~ x", data, family="exponential")


def rates(res, x):
    """Constant hazards of the causes, (2, n)."""
    return np.stack([np.exp(-res[k].params["Intercept"] - res[k].params["x"] * np.asarray(x)) for k in (1, 2)])


@pytest.mark.filterwarnings("ignore::tobitgp.errors.ApproximationWarning")
def test_restricted_means_have_the_jumps_of_strata_that_begin_late():
    seen = simulated(90)
    seen["start"] = np.where(seen["arm"] == "B", 0.4, 0.0)
    seen = seen[seen["t"] > seen["start"]]
    how = {"family": tg.PH(bands=8), "method": tg.EP(hyper="maximize")}
    res = tg.fit("Surv(start, t, k) ~ x + strata(arm)", seen, **how)
    new, steps = pd.DataFrame({"x": [0.5, 0.5], "arm": ["A", "B"]}), np.linspace(0.0, 2.0, 8001)
    for after in (None, np.full(2, 0.1), np.array([0.05, 0.2])):
        curve = res.predict_survival_function(new, np.maximum(steps, 1e-12), conditional_after=after).to_numpy()
        area = 0.5 * (curve[1:] + curve[:-1]).sum(axis=0) * steps[1]
        found = res.predict_restricted_mean(new, t=2.0, conditional_after=after)
        np.testing.assert_allclose(found, area, rtol=1e-6)


def test_residuals_of_constant_hazards_have_closed_forms(data, constant):
    H, event = rates(constant, data["x"]) * data["t"].to_numpy(), data["k"].to_numpy()
    for cause, hazard, seen in ((None, H.sum(axis=0), event > 0), (1, H[0], event == 1), (2, H[1], event == 2)):
        found = {kind: constant.residuals(kind, cause=cause) for kind in ("cox_snell", "martingale")}
        np.testing.assert_allclose(found["cox_snell"], hazard, rtol=1e-12)
        np.testing.assert_allclose(found["martingale"], seen - hazard, rtol=1e-12, atol=1e-14)
    left, seen = (event > 0) - H.sum(axis=0), event > 0
    deviance = np.sign(left) * np.sqrt(-2.0 * (left + np.where(seen, np.log(H.sum(axis=0)), 0.0)))
    np.testing.assert_allclose(constant.residuals("deviance"), deviance, rtol=1e-9)
    quantile = constant.residuals("quantile")
    np.testing.assert_allclose(quantile[seen], norm.ppf(-np.expm1(-H.sum(axis=0)))[seen], rtol=1e-9)
    assert (quantile[~seen] > norm.ppf(-np.expm1(-H.sum(axis=0)))[~seen]).all()


def test_times_of_constant_hazards_have_closed_forms(constant):
    total, times = rates(constant, NEW["x"]).sum(axis=0), np.array([0.3, 1.0, 4.0])
    close = {"rtol": 1e-9}
    np.testing.assert_allclose(constant.predict_survival_function(NEW, times), np.exp(-np.outer(times, total)), **close)
    np.testing.assert_allclose(constant.predict_cumulative_hazard(NEW, times), np.outer(times, total), **close)
    np.testing.assert_allclose(constant.predict_hazard(NEW, times), np.tile(total, (3, 1)), **close)
    np.testing.assert_allclose(constant.predict_median(NEW), np.log(2.0) / total, **close)
    np.testing.assert_allclose(constant.predict(NEW, "quantile", q=0.9), np.log(10.0) / total, **close)
    later = constant.predict_median(NEW, conditional_after=2.0)
    np.testing.assert_allclose(later, np.log(2.0) / total, **close)
    np.testing.assert_allclose(constant.predict(NEW, "prob", below=1.0), -np.expm1(-total), **close)
    np.testing.assert_allclose(constant.predict_expectation(NEW), 1.0 / total, **close)
    area = -np.expm1(-total) / total
    np.testing.assert_allclose(constant.predict_restricted_mean(NEW, 1.0), area, rtol=1e-8)
    np.testing.assert_allclose(constant.predict_restricted_mean(NEW, 1.0, conditional_after=1.0), area, rtol=1e-8)


def test_bands_of_the_first_event_are_those_of_draws(constant):
    rng, normal = np.random.default_rng(3), []
    for k in (1, 2):
        normal.append(rng.multivariate_normal(constant[k].params[:2], constant[k].cov_params().iloc[:2, :2], 100_000))
    X = np.column_stack([np.ones(3), NEW["x"]])
    total = sum(np.exp(-X @ draws.T) for draws in normal)
    for found, each in (
        (constant.predict_survival_function(NEW, [1.0], interval=0.9), np.exp(-total)),
        (constant.predict_hazard(NEW, [1.0], interval=0.9), total),
        (constant.predict_percentile(NEW, p=0.5, interval=0.9), np.log(2.0) / total),
        (constant.predict_restricted_mean(NEW, 1.5, interval=0.9), -np.expm1(-1.5 * total) / total),
    ):
        table = found.T.unstack()[1.0] if 1.0 in found.index and len(found) == 1 else found
        ends = np.quantile(each, [0.5, 0.05, 0.95], axis=1).T
        gap = np.abs(table[["median", "lower", "upper"]].to_numpy() - ends)
        assert (gap < 0.12 * each.std(axis=1)[:, None]).all()
    se = constant.predict(NEW, "median", se=True)["se"]
    np.testing.assert_allclose(se, (np.log(2.0) / total).std(axis=1), rtol=0.08)


@pytest.mark.parametrize("family", ["lognormal", tg.PH("spline", df=2), tg.PH("piecewise", bands=3)])
def test_medians_and_areas_are_those_of_the_product_of_survivals(data, family):
    res = tg.fit("Surv(t, k) ~ x", data, family=family)
    median, last = res.predict_median(NEW, interval=0.9), 1.5
    S = res.predict_survival_function(NEW, np.sort(median["estimate"]))
    assert S.to_numpy()[np.arange(3), np.argsort(median["estimate"])] == pytest.approx(0.5, abs=1e-9)
    assert ((median["lower"] < median["estimate"]) & (median["estimate"] < median["upper"])).all()
    grid = np.linspace(0.0, last, 2001)
    area = np.trapezoid(res.predict_survival_function(NEW, grid), grid, axis=0)
    np.testing.assert_allclose(res.predict_restricted_mean(NEW, last), area, rtol=2e-6)


def test_a_sum_of_draws_of_parts_is_in_their_order():
    rng = np.random.default_rng(1)
    location, order, times = rng.normal(size=(3, 7)), rng.permutation(7), rng.uniform(0.1, 3.0, (3, 7))
    parts = [LocationScale(Gumbel(), each, np.full((1, 1), 0.7), log=True) for each in np.split(location, [3], axis=1)]
    found, whole = (
        JoinedDraws(tuple(parts), order),
        LocationScale(Gumbel(), location[:, order], np.full((1, 1), 0.7), True),
    )
    for of in ("logsf", "logcdf", "logpdf", "log_hazard"):
        for at in (times, times[:, :1]):
            np.testing.assert_allclose(getattr(found, of)(at), getattr(whole, of)(at), rtol=1e-12)
    wanted = whole.survived(np.log(np.full((3, 7), 0.3)))
    np.testing.assert_allclose(found.survived(np.log(np.full((3, 7), 0.3))), wanted, rtol=1e-10)
    twice = First((found, whole))
    np.testing.assert_allclose(twice.logsf(times), 2.0 * whole.logsf(times), rtol=1e-12)
    parts = [np.exp(twice.log_cause_density(k, times)) for k in (0, 1)]
    np.testing.assert_allclose(np.exp(twice.logpdf(times)), sum(parts), rtol=1e-12)


def test_leave_one_out_is_a_sum_over_causes_and_that_of_fits_again():
    data = simulated(40, seed=4)
    res = tg.fit("Surv(t, k) ~ 1", data, family="exponential")
    found = res.loo(draws=4000, rng=2)
    stream = np.random.default_rng(2)
    each = [res[k].loo(draws=4000, rng=stream).pointwise["elpd"] for k in (1, 2)]
    np.testing.assert_allclose(found.pointwise["elpd"], sum(each), rtol=1e-12)
    z, exact = norm.ppf((np.arange(2000) + 0.5) / 2000.0), np.zeros(len(data))
    for i, row in data.iterrows():
        less = tg.fit("Surv(t, k) ~ 1", data.drop(index=i), family="exponential")
        for k in (1, 2):
            log_rate = -(less[k].params["Intercept"] + less[k].bse["Intercept"] * z)
            exact[i] += np.log(np.mean(np.exp((row["k"] == k) * log_rate - np.exp(log_rate) * row["t"])))
    # The normal distribution of the estimates is not quite the posterior that is left without a row.
    np.testing.assert_allclose(found.pointwise["elpd"], exact, atol=0.03)
    assert found.elpd == pytest.approx(exact.sum(), abs=0.2)
    assert res.llf > found.elpd


def test_waic_of_causes_is_that_of_draws_of_all(constant):
    with pytest.warns(ApproximationWarning, match=r"\(108\). 2: The posterior variance"):
        found = constant.waic(draws=4000, rng=1)
    joint = waic_by_draws(constant._draws(4000, 3, "waic()"), constant.parts)
    np.testing.assert_allclose(found.pointwise["elpd"], joint.pointwise["elpd"], atol=0.05)
    assert found.p == pytest.approx(joint.p, rel=0.1)
    draws = constant.log_likelihood_draws(50, rng=4)
    stream = np.random.default_rng(4)
    each = [constant[k].log_likelihood_draws(50, rng=stream) for k in (1, 2)]
    pd.testing.assert_frame_equal(draws, each[0] + each[1])
    k_hat = constant.k_hat(500, rng=1)
    assert k_hat.k == max(constant[1].k_hat(500, rng=np.random.default_rng(1)).k, k_hat.k)
    assert k_hat.good


@pytest.mark.parametrize("family", ["weibull", tg.PH("spline", df=2), tg.PH("piecewise", bands=3)])
def test_standardised_risks_are_averages_of_predictions(data, family):
    res, times = tg.fit("Surv(t, k) ~ x + arm", data, family=family), [0.4, 1.2]
    asked = {"draws": 300, "interval": 0.9}
    F = {k: res.standardise("arm", "risk", times, cause=k, **asked)["estimate"] for k in (1, 2)}
    survival = res.standardise("arm", "survival", times, **asked)["estimate"]
    area = res.standardise("arm", "rmst", 1.2, **asked)["estimate"]
    median = res.standardise("arm", "median", **asked)["estimate"]
    for arm in "AB":
        rows = data.assign(arm=arm)
        each = res.predict_cumulative_incidence(rows, times)
        for k in (1, 2):
            np.testing.assert_allclose(F[k].loc[arm], each[k].mean(axis=1), rtol=1e-8)
        S = res.predict_survival_function(rows, [*times, median[arm]]).mean(axis=1)
        np.testing.assert_allclose([*survival.loc[arm], 0.5], S, rtol=1e-8)
        assert area[arm] == pytest.approx(res.predict_restricted_mean(rows, 1.2).mean(), rel=1e-7)
    np.testing.assert_allclose(sum(F.values()) + survival, 1.0, rtol=1e-8)
    after = res.standardise("arm", "risk", 0.8, cause=1, conditional_after=0.4, **asked)["estimate"]
    for arm in "AB":
        each = res.predict_cumulative_incidence(data.assign(arm=arm), [0.8], cause=1, conditional_after=0.4)
        assert after[arm] == pytest.approx(each.to_numpy().mean(), rel=1e-8)


def test_effects_are_differences_of_predictions(data):
    res = tg.fit({1: "Surv(t, k) ~ x", 2: "Surv(t, k) ~ x + arm"}, data, family="weibull")
    found = res.marginal_effects("risk", times=1.0, cause=2)
    assert list(found.index) == [("x", "dy/dx"), ("arm", "B - A")]
    high, low = (res.predict_cumulative_incidence(data.assign(x=data["x"] + h), [1.0], cause=2) for h in (1e-4, -1e-4))
    slope = ((high - low) / 2e-4).to_numpy().mean()
    assert found.loc[("x", "dy/dx"), "dydx"] == pytest.approx(slope, rel=1e-5)
    contrast = tg.contrast(res, {"arm": "B"}, {"arm": "A"}, "risk", 1.0, cause=2).iloc[0]
    assert found.loc[("arm", "B - A"), ["dydx", "se"]].tolist() == pytest.approx([contrast["estimate"], contrast["se"]])
    mean = res.marginal_effects("survival", "mean", times=1.0, variables="x")
    row = data[["x", "arm"]].assign(x=data["x"].mean(), arm=data["arm"].mode()[0]).iloc[[0]]
    high, low = (res.predict_survival_function(row.assign(x=row["x"] + h), [1.0]).iloc[0, 0] for h in (1e-4, -1e-4))
    assert mean["dydx"].item() == pytest.approx((high - low) / 2e-4, rel=1e-5)
    with pytest.raises(SpecError, match="Use what='risk', the cumulative incidence"):
        res.marginal_effects("survival", times=1.0, cause=1)


@pytest.mark.slow
def test_errors_of_standardised_risks_are_those_of_draws(data):
    """By the delta method, of drawn parameters of a process and of a piecewise baseline alike."""
    for family, options in (("weibull", {}), (tg.PH("piecewise", bands=3), {"draws": 2000})):
        res = tg.fit("Surv(t, k) ~ x + arm", data, family=family)
        rows = pd.concat([data.assign(arm=arm) for arm in "AB"], ignore_index=True)
        times = res._time_rows(rows, (), bands=True).times
        drawn = res._first(rows, times, 600, 1.2, np.random.default_rng(8)).take(np.s_[:, None])
        u = np.linspace(0.0, 1.2, 241)
        H = np.stack([-cause.logsf(u[:, None]) for cause in drawn.causes])
        alive = np.exp(-H.sum(axis=0))
        steps = 0.5 * (alive[:, 1:] + alive[:, :-1]) * np.diff(H[1], axis=1)
        each = steps.sum(axis=1).reshape(2, len(data), -1).mean(axis=1)
        found = res.standardise("arm", "risk", 1.2, cause=2, **options)
        np.testing.assert_allclose(found["se"], each.std(axis=1), rtol=0.1)
        gap = tg.contrast(res, {"arm": "A"}, {"arm": "B"}, "risk", 1.2, cause=2, **options)
        assert gap["se"].iloc[0] == pytest.approx((each[0] - each[1]).std(), rel=0.1)
        area = alive.sum(axis=1) - 0.5 * (alive[:, 0] + alive[:, -1])
        area = (area * (u[1] - u[0])).reshape(2, len(data), -1).mean(axis=1)
        np.testing.assert_allclose(res.standardise("arm", "rmst", 1.2, **options)["se"], area.std(axis=1), rtol=0.1)


def test_causes_can_be_cure_models():
    data = simulated(400, seed=2, shape=1.4, cured=(0.3, 0.5))
    res = tg.fit("Surv(t, k) ~ x", data, family="weibull", cure={1: "~ x", 2: "~ 1"})
    t, x, k = (data[name].to_numpy() for name in ("t", "x", "k"))

    def minus_llf(p):
        total = 0.0
        for j, (b0, b1, log_s, logit) in enumerate(
            ((p[0], p[1], p[2], p[3] + p[4] * x), (p[5], p[6], p[7], p[8])), start=1
        ):
            pi, z = 1.0 / (1.0 + np.exp(-logit)), (np.log(t) - b0 - b1 * x) / np.exp(log_s)
            S, f = pi + (1.0 - pi) * np.exp(-np.exp(z)), (1.0 - pi) * np.exp(z - np.exp(z)) / (np.exp(log_s) * t)
            total += np.log(np.where(k == j, f, S)).sum()
        return -total

    start = [0.0, 0.3, -0.3, -0.8, 0.0, 0.5, -0.4, -0.3, 0.0]
    best = minimize(minus_llf, start, method="BFGS", options={"gtol": 1e-6})
    assert res.llf == pytest.approx(-best.fun, abs=1e-7)
    coefficients = res.params.drop([(1, "sigma"), (2, "sigma")])
    np.testing.assert_allclose(coefficients, best.x[[0, 1, 3, 4, 5, 6, 8]], atol=2e-4)
    late = 1e6
    F = res.predict_cumulative_incidence(NEW, [late])
    cured = [res[j].predict(NEW, "cured").to_numpy() for j in (1, 2)]
    alive = res.predict_survival_function(NEW, [late]).to_numpy()[0]
    np.testing.assert_allclose(alive, cured[0] * cured[1], rtol=1e-6)
    np.testing.assert_allclose(F.to_numpy()[0].reshape(2, 3).sum(axis=0), 1.0 - alive, rtol=1e-6)
    assert (F.to_numpy().reshape(2, 3).sum(axis=0) < 0.95).all()
    assert np.isinf(res.predict_percentile(NEW, p=0.01)).all()
    median = res.predict_median(NEW)
    for i, time in median.items():
        assert res.predict_survival_function(NEW.loc[[i]], [time]).iloc[0, 0] == pytest.approx(0.5, abs=1e-9)
    assert tg.fit("Surv(t, k) ~ x", data, family="weibull", cure={1: None, 2: "~ 1"})[1].params.index[-1] == "sigma"
    with pytest.raises(SpecError, match="cure= by cause has 3, which is not a cause"):
        tg.fit("Surv(t, k) ~ x", data, family="weibull", cure={1: None, 2: "~ 1", 3: "~ 1"})


def test_bootstrap_profiles_and_influence_are_those_of_the_causes(data):
    res = tg.fit("Surv(t, k) ~ x", data, family="weibull")
    rng = np.random.default_rng(3)
    weight = rng.multinomial(len(data), np.full(len(data), 1.0 / len(data))).astype(float)
    again = tg.fit("Surv(t, k) ~ x", data.assign(w=weight)[weight > 0.0], family="weibull", weights="w")
    np.testing.assert_allclose(res._refits(None)(weight), again.params, rtol=1e-6)
    incidence = res._refits(lambda one: one.predict_cumulative_incidence(NEW, [1.0], cause=1).to_numpy()[0])(weight)
    np.testing.assert_allclose(
        incidence, again.predict_cumulative_incidence(NEW, [1.0], cause=1).to_numpy()[0], rtol=1e-6
    )
    drawn = res.bootstrap(60, rng=1)
    assert list(drawn.estimate.index) == list(res.params.index)
    np.testing.assert_allclose(drawn.bse, res.bse, rtol=0.5)
    influence = res.influence()
    for k in (1, 2):
        pd.testing.assert_frame_equal(influence[k], res[k].influence(), check_names=False)
        assert res.profile_interval("x", cause=k) == res[k].profile_interval("x")
    ends = res.conf_int(method="profile")
    np.testing.assert_allclose(res.profile_interval("x"), ends.xs("x", level=1), rtol=1e-12)
    with pytest.raises(SpecError, match="'z' is not a parameter"):
        res.profile_interval("z")


def test_first_events_are_drawn_scored_and_compared(data, constant):
    drawn = constant.sample(NEW, 4000, rng=1)
    total = rates(constant, NEW["x"]).sum(axis=0)
    np.testing.assert_allclose((drawn > 1.0).mean(axis=1), np.exp(-total), atol=0.05)
    smaller = tg.fit("Surv(t, k) ~ 1", data, family="exponential")
    ranked = tg.compare({"x": constant, "none": smaller}, by="loo")
    assert ranked.loc["x", "value"] == pytest.approx(constant.loo().elpd, abs=1e-9)
    order = constant.score(data, scoring_method="concordance_index")
    assert order == pytest.approx(constant.concordance_index_, abs=1e-12)
    assert constant.score(data, 1, "concordance_index") == constant[1].score(data, "concordance_index")
    half = tg.fit("Surv(t, k) ~ x", data[::2], family="exponential")
    intervals = half.conformalise(data[1::2])
    rest = data[1::2]
    below = np.sort(np.where(rest["k"] > 0, -np.expm1(-rates(half, rest["x"]).sum(axis=0) * rest["t"]), np.nan))
    events = below[np.isfinite(below)]
    np.testing.assert_allclose(np.intersect1d(intervals.below.round(9), events.round(9)), events.round(9))


def test_causes_of_any_kind_answer_about_the_first_event():
    data = simulated(100, seed=6)
    family = {1: "weibull", 2: tg.PH(bands=4)}
    formulas = {1: "Surv(t, k) ~ gp(x)", 2: "Surv(t, k) ~ x + arm"}
    res = tg.fit(formulas, data, family=family, method=tg.EP(hyper="maximize"))
    r = res.residuals("martingale")
    np.testing.assert_allclose(r, sum(res.residuals("martingale", cause=k) for k in (1, 2)), atol=1e-9)
    assert res.loo(draws=200, rng=1).kind == "ep, psis"
    assert np.isfinite(res.standardise("arm", "risk", [1.0], cause=1, draws=50).to_numpy()).all()
    for draw in (res.plot, res.plot_residuals, res.plot_survival, res.plot_forest, res.plot_cox_snell):
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Times up to", ApproximationWarning)  # hazards beyond the last event
            draw()
    matplotlib.pyplot.close("all")
    assert list(res.hyperparameters)
    assert res.check(rng=1).table.shape[0] > 3


def test_draws_of_causes_are_named_as_the_parameters(constant):
    draws = constant._draws(2000, 5, "to_arviz()")
    assert draws.names == list(constant.parts.names)
    table = draws.parameters()
    for cause in constant.causes:
        own = [draws.names.index(f"{name}[{cause}]") for name in constant[cause].params.index]
        np.testing.assert_allclose(
            table[:, own].mean(axis=0),
            constant[cause].params,
            atol=5.0 * table[:, own].std(axis=0).max() / 2000**0.5,
            rtol=0.02,
        )


def test_incidence_under_splines_needs_few_nodes(monkeypatch):
    """Hazards bend at the knots, where panels end: panels that are halved once are enough, and right."""
    res, widths, make = tg.fit("Surv(t, k) ~ x", simulated(), family=tg.PH("spline", df=3)), [], first_times.make_rule
    monkeypatch.setattr(first_times, "make_rule", lambda *args: widths.append(args[-1]) or make(*args))
    found = res.predict_cumulative_incidence(NEW[:1], [0.4, 2.0])
    assert set(widths) == {1.0, 0.5}
    t = np.exp(np.linspace(np.log(1e-7), np.log(2.0), 40_001))
    hazard, gone = (
        np.stack([getattr(res[k], f"predict_{of}")(NEW[:1], times=t).to_numpy().ravel() for k in (1, 2)])
        for of in ("hazard", "cumulative_hazard")
    )
    want = cumulative_simpson(hazard * np.exp(-gone.sum(axis=0)) * t, x=np.log(t), initial=0.0)
    for time in (0.4, 2.0):
        risk = [np.interp(time, t, early + later) for early, later in zip(gone[:, 0], want, strict=True)]
        assert found.loc[time].to_numpy() == pytest.approx(risk, abs=1e-7)


def test_the_mean_of_averaged_times():
    """Each cause is an average over draws, as those of proportional hazards: by a long quadrature of the survival."""
    rng = np.random.default_rng(8)
    rates = np.exp(rng.normal(-0.5, 0.3, size=(2, 3, 40)))
    each = [
        Averaged(LocationScale(Gumbel(), -np.log(rate), np.ones((1, 1)), True), np.full(40, 1.0 / 40)) for rate in rates
    ]
    first = First(tuple(each))
    t = np.concatenate([[0.0], np.geomspace(1e-6, 400.0, 200_001)])
    alive = [np.prod([np.exp(-t[:, None] * rate[i]).mean(axis=1) for rate in rates], axis=0) for i in range(3)]
    np.testing.assert_allclose(first.mean(), np.trapezoid(alive, t, axis=1), rtol=1e-6)


def briefly(n, end=0.2):
    """The same, followed for so short a time that less than half have an event."""
    return simulated(n).assign(k=lambda d: d["k"] * (d["t"] < end), t=lambda d: np.minimum(d["t"], end))


def test_times_after_the_last_exit_are_said_to_be():
    res = tg.fit("Surv(t, k) ~ x", briefly(150), family=tg.PH(bands=8), method=tg.EP(hyper="maximize"))
    for ask in (
        lambda: res.predict_cumulative_incidence(NEW, [0.3]),
        lambda: res.predict_cumulative_incidence(NEW, [0.15], conditional_after=0.1),
        lambda: res.predict(NEW, what="quantile", q=0.5),
        lambda: res.standardise({"x": [0.0]}, "median"),
    ):
        with pytest.warns(ApproximationWarning, match="after the last exit, 0.2:"):
            ask()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        res.predict_cumulative_incidence(NEW, [0.2])
        res.predict(NEW, what="quantile", q=0.01)


def test_bands_of_medians_end_where_piecewise_hazards_do():
    res = tg.fit("Surv(t, k) ~ x", briefly(200), family=tg.PH("piecewise", bands=2), method="mle")
    with pytest.warns(ApproximationWarning, match="infinite: survival does not reach the requested probability"):
        band = res.predict_median(NEW, interval=0.9)
    assert np.isposinf(band.to_numpy()).all()
