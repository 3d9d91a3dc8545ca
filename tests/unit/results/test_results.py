"""The object a fit returns."""

import numpy as np
import pandas as pd
import pytest
from support.methods import with_settings
from support.processes import printed_by

import tobitgp as tg
from tobitgp.errors import SpecError, UnavailableError
from tobitgp.results.why_not import INSTEAD, KINDS, WHY_NOT


def test_statsmodels_vocabulary(averaged, mixed):
    res = averaged
    assert list(res.params.index) == ["Intercept", "z", "g[T.b]", "sd(gp(x))", "lengthscale(gp(x))", "sigma"]
    for series in (res.params, res.bse, res.tvalues, res.pvalues):
        assert isinstance(series, pd.Series)
        assert list(series.index) == list(res.params.index)
    assert list(res.conf_int().columns) == [0, 1]
    assert res.nobs == len(mixed)
    assert 3 < res.df_model < 30
    assert np.isclose(res.df_resid, res.nobs - res.df_model)
    assert np.isnan([res.llf, res.aic, res.bic]).all()
    assert res.method == "ep"
    assert res.converged is True
    assert res.formula.strip() == "y ~ z + g + gp(x) | censor(low, 1.4)"
    assert res.model.endog_names == "y"
    assert res.model.exog_names == ["Intercept", "z", "g[T.b]"]
    assert res.model.data.param_names == list(res.params.index)
    assert list(res.model.data.frame.columns) == ["z", "g", "x"]
    assert str(res.model.spec)
    assert list(res.summary_frame().columns) == ["coef", "std err", "z", "P>|z|", "lower", "upper"]


def test_counts_and_repr(averaged, mixed):
    left = int((mixed["y"] <= mixed["low"]).sum())
    right = int((mixed["y"] >= 1.4).sum())
    assert averaged.counts.to_dict() == {
        "exact": 60 - left - right,
        "left": left,
        "right": right,
        "interval": 0,
        "dropped": 0,
    }
    text = repr(averaged)
    for words in (
        averaged.formula.strip(),
        f"{left} left-censored",
        f"{right} right-censored",
        "converged",
        "0 dropped",
    ):
        assert words in text


def test_evidence(averaged, maximised, mixed):
    assert averaged.evidence_kind == "ep"
    assert averaged.elbo < averaged.log_evidence + 1e-3
    assert np.isfinite(averaged.log_evidence_integrated)
    assert np.isnan(maximised.log_evidence_integrated)
    for method, kind in (("laplace", "laplace"), ("vi", "elbo")):
        res = tg.fit("y ~ z | censor(low)", mixed, method=method, fixed={"sigma": 0.5})
        assert res.evidence_kind == kind
    assert tg.fit("y ~ z", mixed, fixed={"sigma": 0.5}, method="ep").evidence_kind == "exact"


def test_fit_history(averaged):
    history = averaged.fit_history
    assert list(history.columns) == ["stage", "evaluations", "passes", "log_posterior"]
    assert len(history) > 1


@pytest.mark.filterwarnings("ignore:The inducing inputs are too few")
@pytest.mark.parametrize(
    "terms",
    ["z + gp(x)", "0 + gp(x)", "re(g) + gp(x, z, by=g) + gp(log(x + 2))", "gp(x, z, ard=True) + gp(x):gp(z)"],
)
def test_inducing_inputs_are_those_of_the_fit(mixed, terms, tmp_path):
    """Given back, at the hyper-parameters found, they lead to the same evidence; saved, they stay."""
    formula, how = f"y ~ {terms} | censor(low, 1.4)", {"method": tg.EP(hyper="maximize")}
    res = tg.fit(formula, mixed, **with_settings(how, inducing=4))
    found = res.inducing_inputs
    assert list(found) == [name for name in (term.name for term in res.parts.spec.gps) if not name.startswith("re(")]
    for name, Z in found.items():
        assert 1 <= len(Z) <= 4
        if "log" not in name:  # greedy ones are rows
            assert all(np.isclose(mixed[Z.columns], row).all(axis=1).any() for row in Z.to_numpy())
    again = tg.fit(formula, mixed, fixed=res.hyperparameters, **with_settings(how, inducing=found))
    assert again.log_evidence == pytest.approx(res.log_evidence, abs=1e-6)
    res.save(tmp_path / "fit.tgp")
    for name, Z in tg.load(tmp_path / "fit.tgp").inducing_inputs.items():
        pd.testing.assert_frame_equal(Z, found[name])


@pytest.mark.filterwarnings("ignore:The inducing inputs are too few")
def test_inducing_inputs_are_read_by_their_names(mixed):
    data = mixed.rename(columns={"x": "a b"})
    formula, how = "y ~ gp(`a b`, z) | censor(low, 1.4)", {"method": tg.EP(hyper="maximize")}
    res = tg.fit(formula, data, **with_settings(how, inducing=4))
    ((name, Z),) = res.inducing_inputs.items()
    how |= {"fixed": res.hyperparameters}
    for given in (Z, Z[["z", "a b"]], Z.to_numpy()):
        assert tg.fit(formula, data, **with_settings(how, inducing={name: given})).log_evidence == pytest.approx(
            res.log_evidence
        )
    with pytest.raises(SpecError, match=r"has the columns 'a b', 'q'; its inputs are a b, z"):
        tg.fit(formula, data, **with_settings(how, inducing={name: Z.rename(columns={"z": "q"})}))


def test_frequency_weights_count(mixed):
    res = tg.fit("y ~ z", mixed.assign(c=2.0), weights="c", fixed={"sigma": 0.5}, method="ep")
    assert res.nobs == 120


def test_changing_an_answer_changes_nothing(maximised):
    before = maximised.params.copy()
    answer = maximised.params
    answer.iloc[:] = 99.0
    maximised.hyperparameters["sigma"] = 99.0
    counts = maximised.counts
    counts["exact"] = 99
    pd.testing.assert_series_equal(maximised.params, before)
    assert maximised.hyperparameters["sigma"] != 99.0


def test_user_data_are_copied(mixed):
    data = mixed.copy()
    res = tg.fit("y ~ gp(x) | censor(low)", data, method=tg.EP(hyper="maximize"))
    data["x"] = 0.0
    assert res.model.data.frame["x"].nunique() > 1


def test_summary_col_beside_ols(averaged, mixed):
    import statsmodels.formula.api as smf
    from statsmodels.iolib.summary2 import summary_col

    ols = smf.ols("y ~ z + g", mixed).fit()
    text = str(summary_col([averaged, ols], include_r2=False))
    for words in ("lengthscale(gp(x))", "g[T.b]", "Left-censored", "N ", "60"):
        assert words in text
    alone = str(summary_col([averaged]))
    assert f"{averaged.params['sigma']:.4f}" in alone


def test_quoted_response():
    data = pd.DataFrame({"y 1": [0.0, 1.0, 2.0, 4.0], "x": [1.0, 2.0, 3.0, 5.0]})
    res = tg.fit("`y 1` ~ x", data, fixed={"sigma": 1.0}, method="ep")
    assert res.model.endog_names == "y 1"


def test_without_training_rows_it_predicts_and_does_not_plot(maximised, mixed):
    parts = maximised.parts
    bare = tg.GPResults(parts.spec, parts.training, parts.gp, parts.fitted)
    assert np.allclose(bare.predict(mixed), maximised.predict(mixed))
    with pytest.raises(SpecError, match="no training rows"):
        bare.plot()


@pytest.mark.slow
def test_import_stays_light():
    code = (
        "import sys, tobitgp.results.process.process_results, tobitgp.report.plots;"
        "print([m for m in ('statsmodels', 'matplotlib', 'scipy.stats', 'lifelines') if m in sys.modules])"
    )
    assert printed_by("-c", code).strip() == "[]"


@pytest.mark.slow
def test_what_other_kinds_of_fits_have_is_refused_in_words():
    """By one mechanism, which is an AttributeError too, so that programs can look for what there is."""
    lung = tg.datasets.load("lung")
    res = tg.fit("Surv(time, event) ~ gp(age)", lung, family="weibull", method=tg.EP(hyper="maximize"))
    with pytest.raises(
        UnavailableError,
        match=r"^res.profile_interval: not defined for a Gaussian process. .* maximised likelihood only. conf_int",
    ):
        res.profile_interval("age")
    with pytest.raises(UnavailableError, match=r"res.bootstrap: not defined for .*Use sample"):
        res.bootstrap()
    assert not hasattr(res, "lr_test")
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        res.nothing  # noqa: B018
    power = tg.fit("time ~ age", lung, family=tg.BoxCox(power=0.5), method=tg.EP(hyper="maximize"))
    with pytest.raises(SpecError, match="no ratio of hazards or times is the same in all rows"):
        power.hazard_ratios()
    with pytest.raises(UnavailableError, match=r"^res\.profile_interval: not defined for a Box-Cox process"):
        power.profile_interval("age")
    assert power.plot() is not None


@pytest.mark.slow
def test_what_only_other_kinds_have_is_refused_in_words(tobin):
    """Also of kinds that stand for several fits, and whatever has been imported."""
    one = tg.fit("durable ~ age | censor(0)", tobin)
    with pytest.raises(
        UnavailableError, match=r"^res.predict_cumulative_incidence: not defined for a regression .* only one cause"
    ):
        one.predict_cumulative_incidence(tobin, [1.0])
    two = tg.fit("mvbind(durable, quant) ~ age | censor(0, None)", tobin, rescor=True)
    with pytest.raises(UnavailableError, match=r"^res.bootstrap: not defined for several responses"):
        two.bootstrap()
    lung = tg.datasets.load("lung").assign(cause=lambda d: d["event"] * (1 + (d["age"] > 65)))
    causes = tg.fit("Surv(time, cause) ~ sex", lung, family="weibull")
    with pytest.raises(UnavailableError, match=r"Use that of a cause, e.g. res\[1\].plot_terms"):
        causes.plot_terms()
    with pytest.raises(
        UnavailableError, match=r"res.impute: not defined for competing risks. There is only one response"
    ):
        causes.impute()
    for res in (one, two, causes):
        assert not hasattr(res, "nothing")


def test_every_name_that_a_kind_lacks_is_in_the_table_of_reasons():
    kinds = [getattr(tg, name) for name in tg.__all__ if name.endswith("Results")]
    public = {name for kind in kinds for name in dir(kind) if not name.startswith("_")}
    lacking = {name for name in public if not all(hasattr(kind, name) for kind in kinds)}
    assert lacking <= set(WHY_NOT)
    assert {name for name in INSTEAD if name.isidentifier()} <= set(WHY_NOT)


def test_reasons_know_the_kinds():
    facts = {fact for reasons in WHY_NOT.values() for reason in reasons for fact in (*reason.when, *reason.unless)}
    cases = {"likelihood", "groups", "no rows", "no scale", "noise process", "noise-free", "time"}
    assert facts - set(KINDS) <= cases | {"changing effects", "no mean", "one sigma"}
