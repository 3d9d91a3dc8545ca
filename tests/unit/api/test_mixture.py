"""Mixtures from formulas: what they are fitted to, what is refused, what a user is warned of."""

import numpy as np
import pandas as pd
import pytest

import tobitgp as tg
from tobitgp.errors import BoundaryWarning, ConvergenceWarning, DataError, FormulaError, SpecError
from tobitgp.mixture import Dirichlet, DirichletProcess, fit_mixture

INF = np.inf


@pytest.fixture
def y(rng):
    return np.concatenate([rng.normal(-3.0, 1.0, 60), rng.normal(3.0, 1.0, 60)])


@pytest.fixture
def counts(rng):
    return np.concatenate([rng.poisson(2.0, 60), rng.poisson(12.0, 40)]).astype(float)


def same(res, fit):
    assert res.parts.fit.names == fit.names
    np.testing.assert_allclose(res.params, fit.values, rtol=1e-12)
    np.testing.assert_allclose(res.elbo, fit.elbo, rtol=1e-12)


def ends(y, low=-INF, high=INF):
    return np.where(y <= low, -INF, np.minimum(y, high)), np.where(y >= high, INF, np.maximum(y, low))


@pytest.mark.slow
def test_a_formula_is_the_fit_on_arrays(y):
    res = tg.fit("y ~ mixture(2) | censor(-4, 4)", {"y": np.clip(y, -4, 4)})
    same(res, fit_mixture(*ends(y, -4, 4), k=2))
    assert (res.method, res.evidence_kind, res.n_components) == ("vbcm", "elbo", 2)
    assert res.nobs == len(y)
    assert res.counts.to_dict() == {
        "exact": int(((y > -4) & (y < 4)).sum()),
        "left": int((y <= -4).sum()),
        "right": int((y >= 4).sum()),
        "interval": 0,
        "dropped": 0,
    }


@pytest.mark.slow_cases("svbcm")
@pytest.mark.parametrize("method", ["vbcm", "svbcm", "em"])
def test_methods_by_name_and_value(method, y):
    value = {"vbcm": tg.VBCM, "svbcm": tg.SVBCM, "em": tg.EMCM}[method]
    settings = {"n_init": 2, "max_iter": 300, "tol": 1e-7}
    by_value = tg.fit("y ~ mixture(2)", {"y": y}, method=value(**settings), rng=3)
    assert by_value.method == method
    assert by_value.parts.fit.method == value(**settings)
    by_name = tg.fit("y ~ mixture(2)", {"y": y}, method=method, rng=3)
    assert by_name.parts.fit.method == value()


@pytest.mark.slow
def test_a_range_is_chosen_from_by_the_evidence(y):
    res = tg.fit("y ~ mixture(range(1, 5)) | censor(upper=4)", {"y": y.clip(max=4)})
    single = {k: tg.fit(f"y ~ mixture({k}) | censor(upper=4)", {"y": y.clip(max=4)}) for k in range(1, 5)}
    assert res.n_components == 2
    assert list(res.params) == list(single[2].params)
    values = pd.Series({k: one.log_evidence for k, one in single.items()}).sort_values(ascending=False)
    table = res.selection
    assert list(table.index) == list(values.index)
    np.testing.assert_allclose(table["value"], values)
    weight = np.exp(values - values.max())
    np.testing.assert_allclose(table["weight"], weight / weight.sum())
    np.testing.assert_allclose(single[3].log_evidence, single[3].elbo + np.log(6.0))
    with pytest.raises(SpecError, match="Only one number of components"):
        _ = single[2].selection


@pytest.mark.slow
def test_maximum_likelihood_chooses_by_bic(y):
    res = tg.fit("y ~ mixture(range(1, 4))", {"y": y}, method="em")
    single = [tg.fit(f"y ~ mixture({k})", {"y": y}, method="em") for k in (1, 2, 3)]
    assert res.n_components == 1 + int(np.argmin([one.bic for one in single])) == 2
    assert set(res.selection["kind"]) == {"bic"}
    np.testing.assert_allclose(res.bic, 5 * np.log(len(y)) - 2 * res.llf)
    np.testing.assert_allclose(res.aic, 10 - 2 * res.llf)
    assert np.isnan([res.elbo, res.log_evidence]).all()


@pytest.mark.slow
def test_a_dirichlet_process_keeps_its_evidence(y):
    res = tg.fit("y ~ mixture('dp', max_components=6)", {"y": y})
    same(res, fit_mixture(y, y, k=6, weights=DirichletProcess()))
    assert (res.n_components, res.n_effective) == (6, 2)
    assert res.log_evidence == res.elbo


def test_one_component_is_maximum_likelihood_regression(y):
    data = {"y": y.clip(max=2.0)}
    mixture = tg.fit("y ~ mixture(1) | censor(upper=2)", data, method=tg.EMCM(tol=1e-13))
    tobit = tg.fit("y ~ 1 | censor(upper=2)", data)
    np.testing.assert_allclose(mixture.params[["mean[1]", "sd[1]"]], tobit.params, rtol=1e-5)
    np.testing.assert_allclose(mixture.bse[["mean[1]", "sd[1]"]], tobit.bse, rtol=1e-3)
    np.testing.assert_allclose([mixture.llf, mixture.aic, mixture.bic], [tobit.llf, tobit.aic, tobit.bic], rtol=1e-8)
    np.testing.assert_allclose(
        mixture.predict({"z": [0]}, "observed"), tobit.predict(pd.DataFrame(index=[0]), "observed"), rtol=1e-5
    )


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:At the bound of what is searched:tobitgp.errors.BoundaryWarning")
def test_baselines_leave_censored_rows_out_or_take_limits(y):
    data = {"y": y.clip(max=2.0)}
    drop = tg.fit("y ~ mixture(2) | censor(upper=2)", data, censored="drop")
    same(drop, fit_mixture(y[y < 2], y[y < 2], k=2))
    ignore = tg.fit("y ~ mixture(2) | censor(upper=2)", data, censored="ignore", method="em")
    same_values = fit_mixture(y.clip(max=2.0), y.clip(max=2.0), k=2, method=tg.EMCM())
    np.testing.assert_allclose(ignore.params, same_values.values)
    for res in (drop, ignore):
        assert res.counts["right"] == (y >= 2).sum()
    assert "censored rows were" in str(drop.summary())
    with pytest.warns(BoundaryWarning, match=r"At the bound .*: sd\[2\]"):
        assert "censored rows were" in str(ignore.summary())


@pytest.mark.slow
def test_weights_are_copies_and_missing_rows_drop(y, rng):
    weight = rng.integers(0, 3, len(y)).astype(float)
    data = pd.DataFrame({"y": y.clip(max=3.0), "w": weight})
    data.loc[5, "y"] = np.nan
    with pytest.warns(UserWarning, match="dropped"):
        res = tg.fit("y ~ mixture(2) | censor(upper=3)", data, weights="w")
    copies = data.loc[data.index.repeat(weight.astype(int))].dropna()
    again = tg.fit("y ~ mixture(2) | censor(upper=3)", copies)
    np.testing.assert_allclose(res.params, again.params, rtol=1e-5)
    np.testing.assert_allclose(res.elbo, again.elbo, rtol=1e-8)
    np.testing.assert_allclose(res.bse, again.bse, rtol=1e-3)
    assert res.nobs == len(copies)
    with pytest.raises(DataError, match="missing"):
        tg.fit("y ~ mixture(2)", data, missing="raise")


# -- counts ----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*beyond the", "ignore:Component 2 holds")
def test_spellings_of_limits_of_counts(counts):
    six = np.minimum(counts, 6.0)
    reached = counts >= 6
    at_least = fit_mixture(np.where(reached, 5.0, counts), np.where(reached, INF, counts), family="poisson", k=2)
    exceeded = fit_mixture(np.where(reached, 6.0, counts), np.where(reached, INF, counts), family="poisson", k=2)
    data = pd.DataFrame({"y": six, "seen": (~reached).astype(int)})
    data["status"] = np.where(reached, "right", "none")
    data["text"] = [">6" if late else f"{value:g}" for value, late in zip(six, reached, strict=True)]
    same(tg.fit("y ~ mixture(2) | censor(upper=6)", data, family="poisson"), at_least)
    same(tg.fit("y ~ mixture(2) | censor(upper=5.5)", data, family="poisson"), at_least)
    for formula in ("Surv(y, seen)~mixture(2)", "y ~ mixture(2) | censor(status=status)", "text ~ mixture(2)"):
        same(tg.fit(formula, data, family="poisson"), exceeded)
    same(tg.fit("y ~ mixture(2) | censor(event=seen)", data, family="poisson"), exceeded)


def test_low_limits_of_counts(counts):
    low = counts <= 2
    at_most = fit_mixture(np.where(low, -INF, counts), np.maximum(counts, 2.0), family="poisson", k=2)
    below = fit_mixture(np.where(low, -INF, counts), np.where(low, 1.0, counts), family="poisson", k=2)
    data = pd.DataFrame({"y": np.maximum(counts, 2.0)})
    data["text"] = ["<2" if early else f"{value:g}" for value, early in zip(counts, low, strict=True)]
    same(tg.fit("y ~ mixture(2) | censor(2)", data, family="poisson"), at_most)
    same(tg.fit("text ~ mixture(2)", data, family="poisson"), below)


def test_counts_taken_at_their_limits(counts):
    data = {"y": np.minimum(counts, 6.0)}
    res = tg.fit("y ~ mixture(2) | censor(upper=6)", data, family="poisson", censored="ignore")
    same(res, fit_mixture(data["y"], data["y"], family="poisson", k=2))


# -- priors ----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_priors_are_in_the_units_of_the_user(y):
    prior = {"mean": 1.0, "tau": 0.5, "a": 2.0, "b": 3.0}
    res = tg.fit("y ~ mixture(2)", {"y": y}, priors={**prior, "concentration": 0.3})
    same(res, fit_mixture(y, y, k=2, prior=prior, weights=Dirichlet(0.3)))
    assert "mean 1, tau 0.5, a 2, b 3; concentration of the weights 0.3" in " ".join(str(res.summary()).split())
    known = tg.fit("y ~ mixture('dp', max_components=4)", {"y": y}, priors={"concentration": 0.7})
    same(known, fit_mixture(y, y, k=4, weights=DirichletProcess(concentration=0.7)))


@pytest.mark.parametrize(
    ("priors", "words"),
    [
        ({}, "mean, tau, a, b, concentration"),
        ({"rate": 1.0}, "'mean', 'tau', 'a', 'b', 'concentration'"),
        ({"mean": 0.0}, "lacks 'tau', 'a', 'b'"),
        ({"concentration": tg.LogNormal(1.0, 1.0)}, "must be a number"),
        ({"concentration": -1.0}, "positive number"),
        ({"mean": 0.0, "tau": -1.0, "a": 1.0, "b": 1.0}, "positive number"),
        (3.0, "dict"),
    ],
)
def test_priors_that_make_no_sense(priors, words, y):
    with pytest.raises(SpecError, match=words):
        tg.fit("y ~ mixture(2)", {"y": y}, priors=priors)


# -- refusals --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"method": tg.VI(bound="local")}, r"method=tg.VI\(bound='local'\) does not fit mixtures"),
        ({"method": tg.EP(inducing=np.zeros((2, 1)))}, "inducing="),
        ({"fixed": {"sd[1]": 1.0}}, "fixed="),
        ({"start": {"sd[1]": 1.0}}, "start="),
        ({"sigma": "~ x"}, "sigma="),
        ({"cov_type": "HC0"}, "cov_type="),
        ({"cov_kwds": {"groups": "g"}}, "cov_kwds="),
        ({"method": "ep"}, "'vbcm', 'svbcm', 'em'"),
        ({"method": "mle"}, "'vbcm', 'svbcm', 'em'"),
        ({"method": tg.EP()}, "does not fit mixtures"),
        ({"method": "em", "priors": {"concentration": 1.0}}, "maximum likelihood"),
        ({"rng": "seed"}, "rng="),
        ({"family": "student"}, "'gaussian', 'lognormal', 'exponential', 'poisson', 'weibull'"),
        ({"family": tg.Student(4)}, "not supported for mixtures"),
        ({"censored": "keep"}, "censored="),
    ],
)
def test_options_that_make_no_sense_are_named(options, words, y):
    with pytest.raises(SpecError, match=words):
        tg.fit("y ~ mixture(2)", {"y": y, "x": y, "g": y}, **options)


def test_options_that_say_nothing_pass(y):
    res = tg.fit(
        "y ~ mixture(2)",
        {"y": y},
        start={},
        fixed={},
        cov_type="nonrobust",
    )
    assert res.converged


def test_families_of_components_need_a_mixture(y):
    with pytest.raises(SpecError, match=r"mixture\(1\)"):
        tg.fit("y ~ 1", {"y": np.abs(np.round(y))}, family="poisson")


@pytest.mark.parametrize(
    ("formula", "family", "bad", "words"),
    [
        ("y ~ mixture(2)", "exponential", -1.0, "Times must be at least 0: row r2 holds -1"),
        ("y ~ mixture(2)", "lognormal", 0.0, "Times must be positive: row r2 holds 0"),
        ("y ~ mixture(2)", "weibull", -1.0, "Times must be positive: row r2 holds -1"),
        ("y ~ mixture(2)", "poisson", 2.5, "Counts are whole numbers of at least 0: row r2 holds 2.5"),
        ("y ~ mixture(2)", "poisson", -1.0, "Counts are whole numbers of at least 0: row r2 holds -1"),
        ("interval(lo, hi) ~ mixture(2)", "exponential", -1.0, "left-censored at or below 0: row r2 holds -1"),
        ("interval(lo, hi) ~ mixture(2)", "weibull", 0.0, "left-censored at or below 0: row r2 holds 0"),
        ("interval(lo, hi) ~ mixture(2)", "poisson", -1.0, "count cannot lie below 0: row r2 holds -1"),
        ("Surv(y, seen) ~ mixture(2)", "exponential", -1.0, "time column 'y' is negative"),
    ],
)
def test_impossible_rows_are_named(formula, family, bad, words):
    values = np.array([1.0, 2.0, bad, 4.0, 5.0])
    data = pd.DataFrame({"y": values, "seen": 1, "hi": values}, index=[f"r{i}" for i in range(5)])
    data["lo"] = np.where(values == bad, -INF, values)
    with pytest.raises(DataError, match=words):
        tg.fit(formula, data, family=family)


def test_left_limits_at_zero_are_refused():
    with pytest.raises(DataError, match="left-censored at or below 0: row 0 holds 0"):
        tg.fit("y ~ mixture(1) | censor(0)", {"y": [0.0, 1.0, 2.0, 3.0]}, family="lognormal")


def test_more_components_than_rows_are_refused():
    data = {"y": [1.0, 2.0, 4.0]}
    with pytest.raises(SpecError, match=r"mixture\(4\): more components than informative rows \(3\)"):
        tg.fit("y ~ mixture(4)", data)
    with pytest.raises(SpecError, match="up to 4 components, but there are only 3 rows"):
        tg.fit("y ~ mixture(range(1, 5))", data)
    with pytest.raises(FormulaError, match="whole number of at least 1"):
        tg.fit("y ~ mixture(0)", data)


# -- warnings --------------------------------------------------------------------------------------------------------


def test_all_rows_censored_warns():
    with pytest.warns(BoundaryWarning, match="Every row is censored"):
        res = tg.fit("y ~ mixture(1) | censor(1)", {"y": [1.0, 1.0, 1.0, 1.0]})
    assert np.isfinite(res.params).all()
    assert "Every row is censored" in str(res.summary())


@pytest.mark.slow
def test_a_component_beyond_the_data_warns():
    rossi = tg.datasets.load("rossi")
    with pytest.warns(BoundaryWarning, match=r"component 2, .* lies beyond the data"):
        res = tg.fit("week ~ mixture(2) | censor(event=event)", rossi)
    assert "lies beyond the data" in " ".join(str(res.summary()).split())


@pytest.mark.parametrize("formula", ["interval(lo, hi) ~ mixture(2)", "hi ~ mixture(2) | censor(0.15)"])
def test_a_component_below_all_limits_of_times_is_not_called_beyond_the_data(rng, formula):
    """Times that are positive and below a limit are bracketed: how far down is all that is not known."""
    y = np.concatenate([rng.exponential(0.1, 200), rng.exponential(20.0, 100)])
    low = int((y <= 0.15).sum())
    data = {"lo": np.where(y > 0.15, y, 0.0), "hi": np.maximum(y, 0.15)}
    with pytest.warns(BoundaryWarning) as caught:
        tg.fit(formula, data, family="exponential")
    (text,) = (str(one.message) for one in caught)
    assert "component 1, " in text
    assert f"lies between 0 and 0.15, the least of all values and limits: of {low} rows no more is known" in text
    assert "beyond the data" not in text


@pytest.mark.parametrize(("method", "words"), [("vbcm", "the prior determines"), ("em", "data determines")])
def test_one_row_warns(method, words):
    with pytest.warns(BoundaryWarning, match=f"There is one row, 3: .*{words}"):
        tg.fit("y ~ mixture(1)", {"y": [3.0]}, method=method)


@pytest.mark.filterwarnings("ignore:The rows do not determine:tobitgp.errors.BoundaryWarning")
def test_maximum_likelihood_blames_no_prior():
    with pytest.warns(BoundaryWarning, match="limits alone"):
        res = tg.fit("y ~ mixture(1) | censor(event=d)", {"y": [1.0, 2.0], "d": [0, 0]}, family="weibull", method="em")
    with pytest.warns(BoundaryWarning, match="do not determine"):
        assert "prior" not in str(res.summary())


def test_one_value_in_all_rows_warns():
    with pytest.warns(BoundaryWarning, match="All rows have the same value, 3"):
        res = tg.fit("y ~ mixture(2)", {"y": np.full(8, 3.0)})
    assert np.isfinite(res.params).all()
    assert np.isfinite(res.predict(interval=0.9)).all(axis=None)


@pytest.mark.filterwarnings("ignore:The rows do not determine:tobitgp.errors.BoundaryWarning")
def test_an_ascent_cut_short_warns(y):
    with pytest.warns(
        ConvergenceWarning, match=r"after 2 passes, at most 2 in an ascent. Try method=tg.VBCM\(max_iter=8\)"
    ):
        res = tg.fit("y ~ mixture(3) | censor(upper=3)", {"y": y.clip(max=3)}, method=tg.VBCM(max_iter=2))
    assert not res.converged
    assert "NOT converged" in repr(res)
    with pytest.warns(BoundaryWarning, match="do not determine"):
        assert "NOT CONVERGED" in str(res.summary())


@pytest.mark.slow
def test_progress_reports_each_number(y):
    seen = []
    res = tg.fit("y ~ mixture(range(1, 4))", {"y": y}, progress=lambda *step: seen.append(step))
    assert [stage for stage, _, _ in seen] == ["1 component", "2 components", "3 components"]
    assert seen[1][2] == res.elbo


@pytest.mark.slow
def test_the_same_seed_gives_the_same_fit(y):
    twice = [tg.fit("y ~ mixture(3)", {"y": y}, method="svbcm", rng=5).params for _ in range(2)]
    np.testing.assert_array_equal(*twice)
    model = tg.Model("y ~ mixture(2)", {"y": y})
    assert model.exog_names == []
    np.testing.assert_array_equal(model.fit().params, tg.fit("y ~ mixture(2)", {"y": y}).params)
