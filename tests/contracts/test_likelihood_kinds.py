"""Every kind of fit by maximum likelihood: fits again, scores, influence, profiles and averages belong together."""

import warnings
from functools import cache

import numpy as np
import pandas as pd
import pytest
from support.kinds import KINDS, N, kind, rows

import tobitgp as tg
from tobitgp.errors import ApproximationWarning, SpecError
from tobitgp.kinds.likelihood import LikelihoodParts
from tobitgp.results.likelihood.kinds import RESULTS, results_of

pytestmark = pytest.mark.quick_cases("regression", "weibull", "cured", "box-cox")
BY_LIKELIHOOD = {
    name: KINDS[name]
    for name in (
        "regression", "weights", "noise scale", "lognormal", "weibull", "entry", "cured", "box-cox", "spline",
        "student", "strata", "frailty",
    )
} | {
    "shape": kind("low ~ z | censor(limit)", family="student"),
    "generalised gamma": kind("pos ~ z | censor(least)", family="gengamma"),
    "given": kind("pos ~ z + g | censor(least)", family="weibull", fixed={"z": 0.3, "sigma": 0.5}),
    "given power": kind("pos ~ z + g", family=tg.BoxCox(power=0.4)),
    "gompertz": kind("Surv(entry, time, event) ~ z", family=tg.PH("gompertz")),
    "odds": kind("Surv(time, event) ~ z", family=tg.PH("spline", df=2, link="odds")),
    "weibull shape": kind("Surv(time, event) ~ z + g", family="weibull", formulas={"shape": "~ x"}),
    "gompertz shape": kind("Surv(entry, time, event) ~ z", family=tg.PH("gompertz"), formulas={"shape": "~ b"}),
    "gengamma shape": kind("pos ~ z | censor(least)", family="gengamma", formulas={"Q": "~ b"}),
    "cured baseline": kind("Surv(until, dead) ~ z", family=tg.PH("weibull"), cure="~ 1"),
    "path": kind("Surv(entry, time, event) ~ z + k", family="weibull", id="who"),
}  # fmt: skip
DEPENDENT = {"frailty"}
every = pytest.mark.parametrize("name", BY_LIKELIHOOD)
independent = pytest.mark.parametrize("name", [name for name in BY_LIKELIHOOD if name not in DEPENDENT])


def table(name):
    """Rows; of a path two for a subject, one after the other."""
    data = rows()[:N]
    if name != "path":
        return data
    second = data.assign(entry=data["time"], time=data["time"] + data["until"], event=data["dead"])
    return pd.concat([data.assign(entry=0.0, event=0), second.assign(z=-second["z"])], ignore_index=True)


@cache
def fitted(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return BY_LIKELIHOOD[name].fit(table(name))


def again(parts, fixed=None, **how):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return parts.again(fixed or {}, **how)


@pytest.mark.slow
def test_every_kind_is_here():
    assert {type(fitted(name).parts) for name in BY_LIKELIHOOD} == set(RESULTS)
    assert all(issubclass(kind, LikelihoodParts) for kind in RESULTS)


@every
def test_a_fit_again_is_the_fit(name):
    res = fitted(name)
    found = results_of(again(res.parts))
    assert found.llf == pytest.approx(res.llf, abs=1e-7)
    error = np.fmax(np.nan_to_num(res.bse.to_numpy()), 1e-6)
    assert (np.abs(found.params - res.params) <= 2e-4 * error).all()
    np.testing.assert_allclose(found.bse, res.bse, rtol=1e-3)


@every
def test_every_parameter_may_be_given(name):
    """At its estimate nothing else moves: not the level of a spline where time 1 lies between its knots either."""
    res = fitted(name)
    for parameter, value in res.params.items():
        if parameter not in res.parts.given:
            found = again(res.parts, {parameter: value})
            assert found.llf == pytest.approx(res.llf, abs=1e-6), parameter
            held = found.given | {res.parts.shape_name: getattr(found.noise, "shape", np.nan)}
            assert held[parameter] == pytest.approx(value), parameter


@every
def test_scores_add_up_to_nothing(name):
    res = fitted(name)
    scores = again(res.parts, scores=True).maximum.scores
    scores = np.asarray(getattr(scores, "toarray", lambda: scores)())
    last = res.parts.last_rows()
    weight = res.parts.rows.response.weight
    weight = weight if last is None else weight[last]
    if name in DEPENDENT:  # those of groups, each at one of its rows
        weight = np.ones(len(scores))
    sums = weight @ scores
    assert (np.abs(sums) <= 1e-4 * np.fmax(np.sqrt(weight @ np.square(scores)), 1e-3)).all()


@independent
def test_influence_is_the_change_of_the_estimates(name):
    """Against fits with a row, or the rows of a subject, counted a little more often."""
    res, step = fitted(name), 1e-3
    table = res.influence()
    parts, code = res.parts, getattr(res.parts, "code", None)
    weight = parts.rows.response.weight
    free = parts.maximum.free
    for row in (0, 5):
        at = np.arange(len(weight)) == row if code is None else code == row
        moved = [again(parts.reweighted(weight * (1.0 + sign * step * at))) for sign in (1.0, -1.0)]
        change = (
            moved[0].reported(moved[0].maximum.parameters[None]) - moved[1].reported(moved[1].maximum.parameters[None])
        )[0]
        values = parts.reported(parts.maximum.parameters[None])[0]
        log = np.concatenate([np.zeros(len(parts.columns), dtype=bool), parts.positive])
        change = np.where(log, change / values, change) / (2.0 * step)
        found = table.dropna().iloc[row].to_numpy()
        size = np.sqrt(np.square(table.dropna().to_numpy()).mean(axis=0))
        np.testing.assert_allclose(
            found[free], change[free], atol=0.02 * size[free].max() + 0.02 * np.abs(change[free]).max()
        )


@independent
def test_scaled_influence_is_in_errors_by_the_information(name):
    res = fitted(name)
    own, free = results_of(again(res.parts)), res.parts.maximum.free
    error = np.concatenate([own._linear.errors(), own._rest.theta_sd])
    ratio = res.influence().dropna().abs().sum() / res.influence(scaled=True).dropna().abs().sum()
    np.testing.assert_allclose(ratio[free], error[free], rtol=1e-3)


@every
def test_profiles_fall_by_what_was_asked(name):
    res = fitted(name)
    z = next(column for column in res.params.index if column.startswith("z"))
    low, high = res.profile_interval(z)
    if not res.parts.maximum.free[list(res.params.index).index(z)]:
        assert low == high == res.params[z]
        return
    assert low < res.params[z] < high
    for end in (low, high):
        assert 2.0 * (res.llf - again(res.parts, {z: end}).llf) == pytest.approx(3.841459, rel=1e-3)


@independent
def test_a_draw_of_the_bootstrap_is_a_fit_with_its_weights(name):
    res, data = fitted(name), table(name)
    res_draws = res.bootstrap(3, rng=1).draws
    assert list(res_draws.columns) == list(res.params.index)
    weight = np.random.default_rng(4).integers(0, 3, N).astype(float)
    weight = weight[data["who"]] if name == "path" else weight
    counted = weight * res.parts.rows.response.weight
    found = again(res.parts.reweighted(counted))
    if name == "spline" or name == "odds":  # whose knots are those of the fit, not of the draw
        assert np.isfinite(found.llf)
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted = tg.fit(
            BY_LIKELIHOOD[name].formula,
            data.assign(count=counted)[counted > 0],
            **BY_LIKELIHOOD[name].options | {"weights": "count"},
        )
    assert found.llf == pytest.approx(wanted.llf, abs=1e-6)


@every
def test_effects_are_differences_of_predictions(name):
    res, data, h = fitted(name), table(name), 1e-4
    if (res.predict().abs() == np.inf).any():
        with pytest.warns(ApproximationWarning, match="not finite"):
            res.marginal_effects("median", variables="z")
        what, options = "prob", {"below": 1.5}
    else:
        what, options = "median", {}
    effect = res.marginal_effects(what, variables="z", at=data, **options)
    up, down = (res.predict(data.assign(z=data["z"] + side * h), what, **options) for side in (1.0, -1.0))
    wanted = np.average((up - down) / (2.0 * h), weights=res.parts.rows.response.weight)
    assert effect.iloc[0, 0] == pytest.approx(wanted, rel=1e-4)


@every
def test_averaged_medians_halve_averaged_survival(name):
    if name == "path":
        pytest.skip("rows are parts of subjects, over which nothing is averaged")
    res = fitted(name)
    medians = res.standardise({"z": [-0.5, 0.5]}, "median")
    for z, row in medians.iterrows():
        if not np.isfinite(row["estimate"]):
            continue
        made = res.predict(table(name).assign(z=z), "prob", above=float(row["estimate"]))
        assert np.average(made, weights=res.parts.rows.response.weight) == pytest.approx(0.5, abs=1e-6)


@every
def test_draws_of_rows_have_the_moments_of_predictions(name):
    res = fitted(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ApproximationWarning)  # some draws of powers are negative
        y = res.sample(draws=4000, rng=3).to_numpy()
    wanted = res.predict(None, "prob", above=1.0).to_numpy()
    assert np.abs((y > 1.0).mean(axis=1) - wanted).max() < 0.15  # draws vary the parameters too
    if "latent" in res._drawn:
        latent = res.sample(draws=4000, what="latent", rng=3)
        table = res.predict(None, "latent", se=True)
        np.testing.assert_allclose(latent.mean(axis=1), table["estimate"], atol=0.1 * table["se"].max() + 1e-9)


@every
def test_the_null_model_is_the_intercept_alone(name):
    res = fitted(name)
    if np.isnan(res.llnull):
        alone = again(res.parts, {column: 0.0 for column in res.parts.columns if column != "Intercept"})
        assert "Intercept" not in res.params.index or not alone.maximum.converged
        return
    assert res.llnull <= res.llf + 1e-6
    assert res.prsquared == pytest.approx(1.0 - res.llf / res.llnull) or res.llnull >= 0.0


@pytest.mark.parametrize("name", ["box-cox", "given power", "path"])
def test_fits_again_look_for_the_null_model_where_asked(name):
    found = again(fitted(name).parts)
    assert found.llnull is None
    assert found.null == pytest.approx(fitted(name).llnull, abs=1e-6)


@every
def test_a_loaded_fit_says_that_it_does_not_know_the_null_model(name, tmp_path):
    """Or knows it."""
    res = fitted(name)
    res.save(tmp_path / "fit.tgp")
    loaded = tg.load(tmp_path / "fit.tgp")
    if loaded.parts.llnull is None and "Intercept" in loaded.params.index:
        with pytest.raises(SpecError, match="intercept only requires them"):
            _ = loaded.prsquared
    else:
        assert loaded.llnull == pytest.approx(res.llnull, nan_ok=True)


@pytest.mark.slow
def test_profiles_of_splines_where_a_start_does_not_rise():
    """In these units no spline rises with gamma2 given and a constant hazard for the rest."""
    rng = np.random.default_rng(11)
    x = rng.normal(size=240)
    time, end = np.exp(0.5 + 0.4 * x + 0.5 * np.log(rng.exponential(size=240))), rng.exponential(5.0, 240)
    ends = []
    for unit in (1.0, 1e-3):
        data = {"time": unit * np.minimum(time, end), "event": (time <= end) * 1, "x": x}
        res = tg.fit("Surv(time, event) ~ x", data, family=tg.PH("spline", df=3))
        found = [again(res.parts, {"gamma2": res.params["gamma2"] + z * res.bse["gamma2"]}) for z in (-2, 0, 2)]
        assert all(each.maximum.converged for each in found)
        ends.append(res.profile_interval("gamma3"))
        res.profile_interval("gamma2")
    np.testing.assert_allclose(ends[0], ends[1], rtol=1e-5)
