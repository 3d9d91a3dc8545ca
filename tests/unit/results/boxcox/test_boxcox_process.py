"""Processes after a power transformation: against fits of the transformed response, other families, simulation."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import boxcox, norm
from support.methods import having

import tobitgp as tg
from tobitgp.errors import BoundaryWarning, SpecError
from tobitgp.kinds.power_process import highest

ROWS = {"x": [0.5, 2.0, 4.5]}


def simulate(n=80, power=0.5, seed=3, level=2.0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(0.0, 6.0, n)
    z = level + 1.5 * np.sin(x) + rng.standard_normal(n)
    return pd.DataFrame({"x": x, "y": np.maximum(0.0, 1.0 + power * z) ** (1.0 / power)})


@pytest.fixture(scope="module")
def data():
    frame = simulate(level=4.0)
    return frame.assign(y=frame.y.clip(upper=20.0), limit=20.0)


@pytest.fixture(scope="module")
def res(data):
    return tg.fit("y ~ gp(x) | censor(upper=limit)", data, family="boxcox")


@pytest.fixture(scope="module")
def rain():
    return simulate(level=-0.5)


@pytest.fixture(scope="module")
def wet(rain):
    return tg.fit("y ~ gp(x) | censor(0)", rain, family="boxcox")


def test_evidence_is_that_of_the_transformed_response(data):
    """With the Jacobian of the rows that are exact; so is the posterior."""
    given = tg.fit("y ~ gp(x) | censor(upper=limit)", data, family=tg.BoxCox(0.4))
    plain = data.assign(z=boxcox(data.y, 0.4), end=boxcox(20.0, 0.4))
    other = tg.fit("z ~ gp(x) | censor(upper=end)", plain)
    jacobian = -0.6 * np.log(data.y[data.y < 20.0]).sum()
    assert given.log_evidence == pytest.approx(other.log_evidence + jacobian, abs=1e-8)
    assert given.log_evidence_integrated == pytest.approx(other.log_evidence_integrated + jacobian, abs=1e-8)
    latent = given.predict(ROWS, "latent", interval=0.9)
    np.testing.assert_allclose(latent, other.predict(ROWS, "latent", interval=0.9), rtol=2e-3, atol=2e-3)
    median = other.predict(ROWS, "median")
    np.testing.assert_allclose(given.predict(ROWS), (1.0 + 0.4 * median) ** 2.5, rtol=1e-7)
    moved = other.loo().elpd_loo + jacobian
    assert given.loo().elpd_loo == pytest.approx(moved, abs=1e-8)


@pytest.mark.parametrize(("power", "family"), [(0.0, "lognormal"), (1.0, "gaussian")])
def test_other_families(data, power, family):
    formula = "y ~ gp(x) | censor(upper=limit)"
    given, other = (tg.fit(formula, data, family=each) for each in (tg.BoxCox(power), family))
    assert given.log_evidence == pytest.approx(other.log_evidence, abs=1e-8)
    assert given.log_evidence_integrated == pytest.approx(other.log_evidence_integrated, abs=1e-8)
    found, wanted = (fit.predict(ROWS, "median", interval=0.9) for fit in (given, other))
    np.testing.assert_allclose(found, wanted, rtol=5e-3)
    found, wanted = (fit.predict(ROWS, "prob", above=5.0, interval=0.9) for fit in (given, other))
    np.testing.assert_allclose(found, wanted, atol=5e-3)
    shown = ROWS | {"limit": [20.0, 20.0, 20.0]}
    known = 0.03 if power else 5e-3  # a normal response may be negative
    np.testing.assert_allclose(given.predict(shown, "observed"), other.predict(shown, "observed"), rtol=known)
    assert given.loo().elpd_loo == pytest.approx(other.loo().elpd_loo, abs=1e-7)


def test_a_process_has_its_line(data):
    """As a column with the prior of the slope, in units of the transformed response."""
    rising, method = (
        data.assign(y=data.y * np.exp(0.3 * data.x), x=data.x - data.x.mean()),
        {"method": tg.EP(hyper="maximize")},
    )
    res = tg.fit("y ~ gp(x)", rising, family=tg.BoxCox(0.4), **method)
    prior = res.priors.loc["slope(gp(x))"]
    z = boxcox(rising.y, 0.4)
    assert prior["spread"] == pytest.approx(z.std(ddof=0) / rising.x.std(ddof=0), rel=1e-6)
    other = tg.fit("z ~ x + gp(x)", rising.assign(z=z), priors={"x": tg.Normal(0.0, prior["spread"])}, **method)
    assert res.log_evidence == pytest.approx(other.log_evidence - 0.6 * np.log(rising.y).sum(), abs=1e-5)
    row = next(line for line in str(res.summary()).splitlines() if line.startswith("slope(gp(x))")).split()
    assert [float(row[1]), float(row[2])] == pytest.approx([other.params["x"], other.bse["x"]], rel=2e-3)
    assert "sd(gp(x)) " in str(res.summary())


@pytest.mark.slow
def test_powers_are_averaged(data, res):
    history = res.fit_history
    assert len(history) == 7
    assert history.weight.sum() == pytest.approx(1.0)
    best = tg.fit("y ~ gp(x) | censor(upper=limit)", data, family="boxcox", method=tg.EP(hyper="maximize"))
    assert best.power == pytest.approx(res.power)
    assert len(best.fit_history) == 1
    for power in (best.power - 0.1, best.power + 0.1):
        other = tg.fit("y ~ gp(x) | censor(upper=limit)", data, family=tg.BoxCox(power), method=tg.EP(hyper="maximize"))
        assert other.log_evidence < best.log_evidence
    low, high = res.power_interval(0.95)[["lower", "upper"]]
    assert low < 0.5 < high
    each = [tg.fit("y ~ gp(x) | censor(upper=limit)", data, family=tg.BoxCox(p)) for p in history.power]
    wanted = sum(w * fit.predict(ROWS, "prob", above=5.0) for w, fit in zip(history.weight, each, strict=True))
    np.testing.assert_allclose(res.predict(ROWS, "prob", above=5.0), wanted, rtol=1e-6)
    # the evidence is about that of a normal density in the power, of a uniform prior on 6 of its units
    rough = best.log_evidence + np.log(res.power_interval()["se"] * np.sqrt(2.0 * np.pi) / 6.0)
    best_integrated = max(fit.log_evidence_integrated for fit in each)
    assert res.log_evidence_integrated == pytest.approx(rough + best_integrated - best.log_evidence, abs=0.1)


@pytest.mark.slow
def test_unit_of_the_response(data, res):
    moved = tg.fit("y ~ gp(x) | censor(upper=limit)", data.assign(y=1e3 * data.y, limit=2e4), family="boxcox")
    exact = (data.y < 20.0).sum()
    assert moved.power == pytest.approx(res.power, abs=2e-3)
    assert moved.log_evidence + exact * np.log(1e3) == pytest.approx(res.log_evidence, abs=1e-3)
    np.testing.assert_allclose(moved.predict(ROWS) / 1e3, res.predict(ROWS), rtol=2e-3)


@pytest.mark.slow
def test_zeros(rain, wet):
    assert wet.counts["left"] == (rain.y == 0.0).sum() > 3
    assert wet.power > 0.0
    found = wet.predict(ROWS, "prob", above=0, interval=0.9)
    truth = norm.cdf(2.0 - 0.5 + 1.5 * np.sin(ROWS["x"]))
    assert ((found.lower - 0.05 <= truth) & (truth <= found.upper + 0.05)).all()
    draws = wet.sample(ROWS, 4000, rng=1).to_numpy()
    np.testing.assert_allclose(wet.predict(ROWS, "uncensored"), draws.mean(axis=1), rtol=0.1)
    np.testing.assert_allclose(wet.predict(ROWS, "prob", above=0), (draws > 0.0).mean(axis=1), atol=0.03)
    assert wet.mass_beyond() == pytest.approx((rain.y == 0.0).mean(), abs=0.05)
    assert (wet.predict(rain, "conditional")[rain.y == 0.0] < 1e-300).all()


@pytest.mark.slow
def test_intervals_are_quantiles_of_the_posterior(data, res):
    """Of a median, by draws of f under each power."""
    from tobitgp.results.rows import ask

    nodes = res._posterior(ask(res.parts, ROWS), bands=True)
    rng = np.random.default_rng(1)
    j = rng.choice(len(nodes.weight), 40_000, p=nodes.weight)
    f = nodes.mean[j] + nodes.sd[j] * rng.standard_normal((len(j), 3))
    draws = np.maximum(0.0, 1.0 + nodes.power[j, None] * f) ** (1.0 / nodes.power[j, None])
    found = res.predict(ROWS, interval=0.9)
    np.testing.assert_allclose(found[["lower", "upper"]].T, np.quantile(draws, [0.05, 0.95], axis=0), rtol=0.01)
    np.testing.assert_allclose(found.se, draws.std(axis=0), rtol=0.02)
    curve = res.predict_survival_function(ROWS, [5.0], interval=0.9)
    end = (5.0 ** nodes.power[j] - 1.0) / nodes.power[j]
    below = norm.sf(end[:, None] - f, scale=nodes.sigma[j])
    np.testing.assert_allclose(curve.xs("lower", axis=1, level=1).loc[5.0], np.quantile(below, 0.05, axis=0), atol=0.01)


@pytest.mark.slow
def test_other_questions(rain, wet):
    assert np.isfinite(wet.residuals("quantile", rng=1)).all()
    assert wet.score(rain, "log_likelihood") > -5.0
    assert (wet.predict_restricted_mean(ROWS, 5.0) <= 5.0).all()
    np.testing.assert_allclose(wet.predict_median(ROWS), wet.predict(ROWS), rtol=1e-12)
    assert "power" in str(wet.summary())
    assert wet.hyperparameters["power"] == wet.power
    assert "calibration" in wet.check().table.index
    imputed = wet.predict(None, "conditional", interval=0.9)
    seen = rain.y.to_numpy() > 0.0
    np.testing.assert_allclose(imputed["estimate"][seen], rain.y[seen], rtol=1e-12)
    assert (imputed["upper"][~seen] < 1e-300).all()
    draws = wet.sample(None, draws=50, what="conditional", rng=1)
    np.testing.assert_allclose(draws[seen].to_numpy(), np.repeat(rain.y.to_numpy()[seen][:, None], 50, axis=1))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:waic. the estimate")
def test_draws_of_several_powers(data, res):
    """Averages over draws of powers and f are predictions; the likelihood of draws is that of left-out rows."""
    shown = ROWS | {"limit": [20.0, 20.0, 20.0]}
    draws = res.sample(shown, draws=20_000, rng=1).to_numpy()
    np.testing.assert_allclose((draws > 5.0).mean(axis=1), res.predict(ROWS, "prob", above=5.0), atol=0.01)
    observed = res.sample(shown, draws=20_000, what="observed", rng=2).to_numpy()
    np.testing.assert_allclose(observed.mean(axis=1), res.predict(shown, "observed"), rtol=0.02)
    by_sites, by_draws = res.loo(), res.loo("psis", rng=3)
    assert by_draws.elpd == pytest.approx(by_sites.elpd, abs=0.3)
    assert res.waic(rng=3).elpd == pytest.approx(by_sites.elpd, abs=0.5)
    made = res._draws(500, 1, "draws")
    assert made.names[-1] == "power"
    power = made.parameters()[:, -1]
    assert set(power) <= set(res.fit_history.power)
    history = res.fit_history
    assert power.mean() == pytest.approx(history.weight @ history.power, abs=0.03)


@pytest.mark.slow
@pytest.mark.parametrize("what", ["median", "uncensored", "observed", "prob"])
def test_effects_over_several_powers_are_differences_of_predictions(data, res, what):
    more = {"above": 5.0} if what == "prob" else {}
    h = 1e-4
    sides = [res.predict(data.assign(x=data.x + side), what, **more) for side in (h, -h)]
    found = res.marginal_effects(what, **more).loc[("x", "dy/dx")]
    assert found["dydx"] == pytest.approx(((sides[0] - sides[1]) / (2.0 * h)).mean(), rel=1e-4)
    assert 0.0 < found["se"] < 1.0


@pytest.mark.slow
def test_comparisons(data):
    frame = data[data.y < 20.0]
    found = tg.select({"family": ["gaussian", "boxcox"]}, frame, formula="y ~ gp(x)", method=tg.EP(hyper="maximize"))
    assert found.table.index[0] == "family=boxcox"
    fits = {
        name: tg.fit("y ~ gp(x)", frame, family=name, method=tg.EP(hyper="maximize")) for name in ("gaussian", "boxcox")
    }
    assert tg.compare(fits, by="loo").index[0] == "boxcox"


@pytest.mark.slow
def test_regression_with_priors(data):
    ep, ml = (tg.fit("y ~ x | censor(upper=limit)", data, family="boxcox", method=m) for m in ("ep", "mle"))
    assert ep.power == pytest.approx(ml.power, abs=0.1)
    np.testing.assert_allclose(ep.predict(ROWS), ml.predict(ROWS), rtol=0.1)
    for method in ("vi", "laplace"):
        other = tg.fit("y ~ x | censor(upper=limit)", data, family="boxcox", method=having(method, hyper="maximize"))
        assert other.power == pytest.approx(ep.power, abs=0.05)


def test_start_and_evidence_are_refused(data):
    with pytest.raises(SpecError, match="start="):
        tg.fit("y ~ gp(x)", data, family="boxcox", start=tg.fit("y ~ gp(x)", data, method=tg.EP(hyper="maximize")))


def test_search_for_the_highest_evidence():
    top, sides = highest(lambda x: -0.5 * ((x - 0.7) / (0.1 if x < 0.7 else 0.3)) ** 2, -3.0, 3.0)
    assert top == pytest.approx(0.7, abs=0.01)
    np.testing.assert_allclose(sides, [0.1, 0.3], rtol=0.05)
    assert highest(lambda x: -((x + 2.2) ** 2), -3.0, 3.0)[0] == pytest.approx(-2.2, abs=0.01)
    with pytest.warns(BoundaryWarning, match="end of the range"):
        highest(lambda x: x, -3.0, 3.0)


@pytest.mark.slow
@pytest.mark.parametrize("hyper", ["maximize", "integrate"])
def test_standardised_curves_are_averages_of_predictions(hyper):
    rng = np.random.default_rng(7)
    x, z, arm = rng.uniform(0, 6, 60), rng.normal(size=60), rng.choice(["A", "B"], 60)
    y = 0.5 + 0.5 * np.sin(x) + 0.4 * z + 0.5 * (arm == "B") + 0.4 * rng.normal(size=60)
    data = pd.DataFrame({"x": x, "z": z, "arm": arm, "y": (1.0 + 0.25 * np.maximum(y, -2.0)) ** 2})
    res = tg.fit("y ~ z + arm + gp(x)", data, family=tg.BoxCox(power=0.5), method=tg.EP(hyper=hyper))
    arms = [data.assign(arm=level) for level in ("A", "B")]
    for what, question in (("survival", {"what": "prob", "above": 1.5}), ("mean", {"what": "uncensored"})):
        times = [1.5] if what == "survival" else None
        found = res.standardise("arm", what, times, rng=1)
        right = [res.predict(rows, **question).mean() for rows in arms]
        np.testing.assert_allclose(found["estimate"], right, atol=4 * found["se"].max() / np.sqrt(4000))
        less = tg.contrast(res, {"arm": "A"}, {"arm": "B"}, what, times, rng=1)
        np.testing.assert_allclose(less["estimate"], right[0] - right[1], atol=4 * less["se"].max() / np.sqrt(4000))


@pytest.mark.slow
def test_check_is_that_of_the_transformed_response():
    rng = np.random.default_rng(1)
    x = rng.uniform(0, 6, 60)
    data = pd.DataFrame({"x": x, "y": (3.0 + np.sin(x) + 0.3 * rng.normal(size=60)) ** 2})
    res = tg.fit("y ~ gp(x)", data, family=tg.BoxCox(power=0.5), method=tg.EP(hyper="maximize"))
    root = tg.fit("2 * (sqrt(y) - 1) ~ gp(x)", data, method=tg.EP(hyper="maximize"))
    ours, theirs = res.check().table, root.check().table
    assert list(ours.index) == list(theirs.index)
    assert ours["verdict"].tolist() == theirs["verdict"].tolist()


def test_bands_of_restricted_means():
    """Against the mean of draws of each row, cut off; they pass through log odds between 0 and the end."""
    rng = np.random.default_rng(4)
    x = rng.uniform(0, 3, 30)
    y = (2.0 + np.sin(2 * x) + 0.3 * rng.normal(size=30)) ** 2
    data = pd.DataFrame({"x": x, "y": np.maximum(y, 2.0)})
    res = tg.fit("y ~ gp(x) | censor(2)", data, family=tg.BoxCox(0.5), method=tg.EP(hyper="maximize"))
    found = res.predict_restricted_mean(data, 5.0, interval=0.9)
    assert ((found["lower"] < found["median"]) & (found["median"] < found["upper"])).all()
    draws = res.sample(data, draws=20_000, what="uncensored", rng=1).clip(0.0, 5.0).mean(axis=1)
    np.testing.assert_allclose(found["mean"], draws, atol=0.02)
