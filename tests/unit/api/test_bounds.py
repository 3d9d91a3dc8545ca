"""``bound=`` as users write it: parameters, answers, warnings and refusals."""

import numpy as np
import pandas as pd
import pytest
from support.methods import having, with_settings
from support.stored import again

import tobitgp as tg
from tobitgp.errors import ApproximationWarning, SpecError

FORMULA = "y ~ gp(x) | censor(-0.4, 0.6)"
PLAIN = {"method": tg.VI(hyper="maximize", n_starts=1)}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(4)
    x = np.linspace(0.0, 3.0, 40)
    return pd.DataFrame({"x": x, "y": np.clip(np.sin(2.0 * x) + 0.2 * rng.standard_normal(40), -0.4, 0.6)})


@pytest.fixture(scope="module")
def local(data):
    return tg.fit(FORMULA, data, **with_settings(PLAIN, bound="local"))


def test_side_noises_are_parameters(local):
    assert list(local.params.index[-3:]) == ["sigma_lower", "sigma_upper", "sigma"]
    assert (local.params[-3:] > 0).all()
    assert (local.bse[-3:] > 0).all()
    assert local.evidence_kind == "local"
    assert local.converged
    assert "sigma_lower" in str(local.summary())
    assert "Parabolas" in str(local.summary())


@pytest.mark.filterwarnings("ignore:No row is censored")
@pytest.mark.parametrize(
    ("censor", "names"),
    [
        ("censor(-0.4)", ["sigma_lower"]),
        ("censor(upper=0.6)", ["sigma_upper"]),
        ("censor(-9, 9)", []),
    ],
)
def test_only_sides_that_occur_have_noise(data, censor, names):
    res = tg.fit(f"y ~ gp(x) | {censor}", data, **with_settings(PLAIN, bound="local"))
    assert [name for name in res.params.index if name.startswith("sigma_")] == names
    assert res.evidence_kind == ("local" if names else "exact")


@pytest.mark.slow
def test_side_noises_take_every_option(data):
    fixed = {"sigma_lower": 0.0, "sigma_upper": 0.2}
    res = tg.fit(FORMULA, data, fixed=fixed, **with_settings(PLAIN, bound="local"))
    assert res.params["sigma_lower"] == 0.0
    assert res.params["sigma_upper"] == pytest.approx(0.2)
    assert (res.bse[["sigma_lower", "sigma_upper"]] == 0.0).all()
    assert "(fixed)" in str(res.summary())
    priors = {"sigma_lower": tg.LogNormal(0.01, 0.05)}
    strong = tg.fit(FORMULA, data, priors=priors, start={"sigma_lower": 0.02}, **with_settings(PLAIN, bound="local"))
    assert strong.params["sigma_lower"] == pytest.approx(0.01, rel=0.2)


@pytest.mark.slow
def test_without_side_noises_it_is_a_bound(data):
    none = {"sigma_lower": 0, "sigma_upper": 0}
    res = tg.fit(FORMULA, data, fixed=none, **with_settings(PLAIN, bound="local"))
    known = {k: v for k, v in res.hyperparameters.items() if k not in none}
    exact = tg.fit(FORMULA, data, fixed=known, **PLAIN)
    assert res.log_evidence < res.elbo < exact.log_evidence < tg.compare_bounds(exact).loc["exact", "value"] + 1e-3


def test_its_mean_is_laplaces(data, local):
    table = tg.compare_bounds(tg.fit(FORMULA, data, method=tg.Laplace(hyper="maximize", n_starts=1)))
    assert table.loc["vi local", "mean_rmse"] == pytest.approx(table.loc["laplace", "mean_rmse"], abs=1e-6)
    assert table.loc["vi local", "sd_ratio"] < table.loc["laplace", "sd_ratio"]


def test_a_value_says_the_same(data, local):
    res = tg.fit(FORMULA, data, **with_settings(PLAIN, bound="local"))
    assert res.log_evidence == local.log_evidence


@pytest.mark.slow
def test_draws(data):
    few, same, many = (
        tg.fit(FORMULA, data, method=tg.VI(bound="monte_carlo", draws=draws, hyper="maximize", n_starts=1))
        for draws in (20, None, 400)
    )
    assert few.log_evidence == same.log_evidence
    exact = tg.fit(FORMULA, data, **PLAIN)
    assert 0 < abs(many.log_evidence - exact.log_evidence) < 0.2
    assert few.evidence_kind == "monte_carlo"
    assert few.elbo <= exact.log_evidence + 1e-6


@pytest.mark.slow
def test_karlova_warns_and_takes_hyper_parameters_from_the_exact_bound(data):
    with pytest.warns(ApproximationWarning, match="is not a bound"):
        res = tg.fit(FORMULA, data, **with_settings(PLAIN, bound="karlova"))
    exact = tg.fit(FORMULA, data, **PLAIN)
    assert res.hyperparameters == pytest.approx(exact.hyperparameters)
    assert res.elbo < exact.log_evidence
    assert res.log_evidence > tg.compare_bounds(exact).loc["exact", "value"]
    with pytest.warns(ApproximationWarning, match="is not a bound"):
        averaged = tg.fit(FORMULA, data, method=tg.VI(bound="karlova", hyper="integrate", n_starts=1))
    assert len(averaged.parts.fitted.points) > 10
    assert np.isnan(averaged.log_evidence_integrated)
    assert averaged.log_evidence == pytest.approx(res.log_evidence, abs=1e-5)
    assert "is not a bound" in str(averaged.summary())


@pytest.mark.parametrize("bound", ["local", "monte_carlo", "karlova"])
@pytest.mark.filterwarnings("ignore::tobitgp.errors.ApproximationWarning")
def test_they_answer_and_are_stored(data, bound, tmp_path):
    res = tg.fit(FORMULA, data, **with_settings(PLAIN, bound=bound))
    loaded = again(res, tmp_path)
    new = data.head(3)
    pd.testing.assert_series_equal(loaded.predict(new), res.predict(new))
    assert loaded.evidence_kind == bound
    assert np.isfinite(res.predict(new, interval=0.9).to_numpy()).all()
    assert np.abs(res.predict() - np.sin(2.0 * data["x"])).mean() < 0.4


@pytest.mark.slow_cases("local")
@pytest.mark.parametrize("bound", ["local", "monte_carlo", "karlova"])
@pytest.mark.filterwarnings("ignore::tobitgp.errors.ApproximationWarning")
def test_log_times(data, bound):
    times = data.assign(y=np.exp(data["y"]))
    here = tg.fit(
        "y ~ gp(x) | censor(exp(-0.4), exp(0.6))", times, family="lognormal", **with_settings(PLAIN, bound=bound)
    )
    there = tg.fit(FORMULA, data, **with_settings(PLAIN, bound=bound))
    exact = data["y"].between(-0.4, 0.6, inclusive="neither")
    assert here.log_evidence == pytest.approx(there.log_evidence - data["y"][exact].sum(), abs=1e-5)


@pytest.mark.parametrize("bound", ["local", "monte_carlo", "karlova"])
@pytest.mark.parametrize("family", ["student", "weibull", tg.Student(df=4)], ids=str)
def test_other_noise_is_refused(data, bound, family):
    with pytest.raises(SpecError, match="'gaussian' or 'lognormal'"):
        tg.fit("y + 2 ~ gp(x) | censor(1.6, 2.6)", data, family=family, method=tg.VI(bound=bound))


@pytest.mark.slow
def test_interval_and_truncated_rows_have_a_local_bound(data):
    wide = data.assign(lo=data["y"] - 0.3, hi=data["y"] + 0.3)
    res = tg.fit("interval(lo, hi) ~ gp(x)", wide, **with_settings(PLAIN, bound="local"))
    assert "sigma_lower" not in res.params.index
    assert res.converged
    assert tg.compare_bounds(res).loc["vi local", "diff"] < 0.0
    cut = tg.fit("y ~ gp(x) | censor(upper=0.6) | truncate(-1)", data, **with_settings(PLAIN, bound="local"))
    assert cut.converged
    assert "sigma_upper" not in cut.params.index


@pytest.mark.parametrize(
    ("formula", "words"),
    [
        ("interval(lo, hi) ~ gp(x)", "truncated or interval-censored"),
        ("y ~ gp(x) | censor(event=event)", "unknown"),
        ("y ~ gp(x) | censor(-0.4) | truncate(-1)", "truncated or interval-censored"),
    ],
)
def test_karlova_refuses_rows_without_limits(data, formula, words):
    more = data.assign(lo=data["y"] - 0.3, hi=data["y"] + 0.3, event=np.arange(40) % 2)
    with pytest.raises(SpecError, match=words):
        tg.fit(formula, more, **with_settings(PLAIN, bound="karlova"))


ROW = tg.VI(bound="local", side_noise="row")


@pytest.mark.slow
def test_a_side_noise_for_each_row(data, local, tmp_path):
    named = data.set_axis([f"r{i}" for i in range(40)])
    res = tg.fit(FORMULA, named, method=having(ROW, hyper="maximize", n_starts=1))
    low, high = named.index[data["y"] == -0.4], named.index[data["y"] == 0.6]
    sides = [f"sigma_lower[{i}]" if i in low else f"sigma_upper[{i}]" for i in named.index if i in [*low, *high]]
    assert [name for name in res.params.index if name.startswith("sigma_")] == sides
    assert res.converged
    assert len(again(res, tmp_path).params) == len(res.params)
    # All of one side alike, as the shared ones are found: the same model.
    known = {name: local.params[name.partition("[")[0]] for name in sides}
    known |= {name: v for name, v in local.hyperparameters.items() if not name.startswith("sigma_")}
    alike = tg.fit(FORMULA, named, method=ROW, fixed=known)
    assert alike.log_evidence == pytest.approx(local.log_evidence, abs=1e-6)
    assert tg.compare_bounds(alike).loc["vi local", "value"] == pytest.approx(local.log_evidence, abs=1e-6)


@pytest.mark.slow
def test_rows_of_one_label_are_told_by_their_position(data):
    res = tg.fit(FORMULA, data.set_axis(np.zeros(40)), method=having(ROW, hyper="maximize", n_starts=1, max_iter=1))
    first = np.flatnonzero(data["y"] == -0.4)[0]
    assert f"sigma_lower[{first}]" in res.params.index


def test_too_many_rows_with_noise_of_their_own_are_refused():
    many = pd.DataFrame({"x": np.arange(310.0), "y": np.r_[np.zeros(305), np.ones(5)]})
    with pytest.raises(SpecError, match="305 censored rows"):
        tg.fit("y ~ gp(x) | censor(0)", many, method=ROW)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"bound": "quadratic"}, "'exact', 'local', 'monte_carlo', 'karlova'"),
        ({"bound": None}, "bound=None"),
        ({"draws": 20}, "requires bound='monte_carlo'"),
        ({"bound": "local", "draws": 20}, "requires bound='monte_carlo'"),
        ({"bound": "monte_carlo", "draws": 1}, "at least 2"),
        ({"bound": "local", "side_noise": "each"}, "'shared' or 'row'"),
        ({"side_noise": "row"}, "requires bound='local'"),
        ({"bound": "monte_carlo", "draws": 2.5}, "whole number"),
    ],
)
def test_settings_are_refused_by_name(settings, words):
    with pytest.raises(SpecError, match=words):
        tg.VI(**settings)


def test_side_noises_belong_to_their_bound(data):
    with pytest.raises(SpecError, match="sigma_lower"):
        tg.fit(FORMULA, data, method="ep", fixed={"sigma_lower": 0.1})
    with pytest.raises(SpecError, match="positive number"):
        tg.fit(FORMULA, data, method=tg.VI(bound="local"), fixed={"sigma_lower": -0.1})


def test_evidence_of_different_bounds_is_not_compared(data, local):
    with pytest.raises(SpecError, match="several"):
        tg.compare({"a": local, "b": tg.fit(FORMULA, data, **PLAIN)})
