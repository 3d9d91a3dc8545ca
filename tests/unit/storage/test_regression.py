"""A loaded regression answers as the one that was saved."""

import io
import warnings
import zipfile

import numpy as np
import pandas as pd
import pytest
from support.stored import LINEAR, again, assert_same, quiet_fit

import tobitgp as tg
from tobitgp.errors import SpecError
from tobitgp.likelihoods import FAMILIES
from tobitgp.storage.classes import fit_codec
from tobitgp.storage.codec import Surroundings
from tobitgp.storage.loading import results_of

TABLES = ("params", "bse", "tvalues", "pvalues", "counts")
NUMBERS = ("nobs", "df_model", "df_resid", "llf", "llnull", "aic", "bic", "prsquared")


def check(res, loaded, new, *, limits=True):
    assert type(loaded) is tg.RegressionResults
    assert str(loaded.summary()) == str(res.summary())
    assert repr(loaded) == repr(res)
    for name in TABLES:
        assert_same(getattr(res, name), getattr(loaded, name))
    for name in NUMBERS:
        assert np.array_equal(getattr(res, name), getattr(loaded, name), equal_nan=True), name
    assert_same(res.conf_int(0.1), loaded.conf_int(0.1))
    assert_same(res.cov_params(), loaded.cov_params())
    assert loaded.parts.family == res.parts.family
    assert loaded.model.spec == res.model.spec
    for what in ["latent", "median", "uncensored", "terms"] + ["observed"] * limits:
        assert_same(res.predict(new, what, interval=0.9, se=True), loaded.predict(new, what, interval=0.9, se=True))
    assert_same(res.predict(new, "quantile", q=[0.1, 0.5]), loaded.predict(new, "quantile", q=[0.1, 0.5]))
    assert_same(res.predict(new, "prob", below=1.0), loaded.predict(new, "prob", below=1.0))
    assert_same(tuple(res.posterior(new)), tuple(loaded.posterior(new)))
    assert_same(res.sample(new, 7, rng=3), loaded.sample(new, 7, rng=3))
    assert_same(res.get_prediction(new).summary_frame(), loaded.get_prediction(new).summary_frame())


@pytest.mark.filterwarnings("ignore:.*no finite ends:tobitgp.errors.ApproximationWarning")  # of a shape at its bound
@pytest.mark.parametrize("family", [*FAMILIES, tg.Student(df=3)], ids=str)
def test_families(rich, tmp_path, family):
    res = quiet_fit("y ~ z + g | censor(low, 1.6)", rich, method="mle", family=family)
    loaded = again(res, tmp_path)
    check(res, loaded, rich.iloc[::4])
    hypotheses = "z = 0, g[T.b] = g[T.c]"
    assert_same(res.t_test(hypotheses).summary_frame(), loaded.t_test(hypotheses).summary_frame())
    assert_same(res.wald_test(hypotheses).summary_frame(), loaded.wald_test(hypotheses).summary_frame())


@pytest.mark.parametrize("linear", LINEAR)
def test_linear_parts(rich, tmp_path, linear):
    res = quiet_fit(f"y ~ {linear} | censor(low, 1.6)", rich, method="mle")
    loaded = again(res, tmp_path)
    check(res, loaded, rich.iloc[[3, 10, 4, 22]])
    if "day" not in linear and linear != "1":
        assert_same(res.marginal_effects(at="mean"), loaded.marginal_effects(at="mean"))


@pytest.mark.parametrize(
    "sigma",
    [
        "~ z",
        "~ 0 + g",
        "~ C(k)",
        "~ bs(t, df=3) + offset(log(x))",
        "~ z + . - day - cut - text - seen - y - low - o - v - u",
        "~ `a b` * u",
    ],
)
def test_noise_scales(rich, tmp_path, sigma):
    res = quiet_fit("y ~ z + x | censor(low, 1.6)", rich, method=tg.MLE(max_iter=30), sigma=sigma)
    check(res, again(res, tmp_path), rich.iloc[::5])


def test_a_dot_beside_a_noise_scale(rich, tmp_path):
    """Columns of the scale alone do not become columns that the dot of the mean stands for."""
    data = rich[["y", "z", "x", "t"]]
    res = quiet_fit("y ~ . - t", data, method="mle", sigma="~ t")
    loaded = again(res, tmp_path)
    check(res, loaded, data.head(), limits=False)
    assert loaded.model.exog_names == ["Intercept", "z", "x"]


@pytest.mark.parametrize("cov_type", ["HC0", "HC1", "cluster"])
def test_robust_errors(rich, tmp_path, cov_type):
    kwds = {"groups": "k"} if cov_type == "cluster" else None
    res = quiet_fit("y ~ z | censor(low, 1.6)", rich, method="mle", cov_type=cov_type, cov_kwds=kwds)
    loaded = again(res, tmp_path)
    check(res, loaded, rich.head())
    assert loaded.cov_type == cov_type


@pytest.mark.parametrize(
    ("formula", "options"),
    [
        ("Surv(y, seen) ~ g + t", {"family": "weibull"}),
        ("interval(low, y) ~ z", {}),
        ("text ~ z", {}),
        ("y ~ z | censor(event=seen)", {"weights": "w"}),
        ("y ~ z | truncate(0.1)", {}),
        ("y ~ 0 + z | censor(low, 1.6)", {"fixed": {"sigma": 0.5}}),
    ],
)
def test_censoring_and_truncation(rich, tmp_path, formula, options):
    res = quiet_fit(formula, rich, method="mle", **options)
    check(res, again(res, tmp_path), rich.iloc[::5], limits=False)


def test_own_functions_in_both_formulas(rich, tmp_path):
    given = {"half": lambda x: x / 2, "twice": lambda x: 2 * x, "spare": lambda x: x}
    res = quiet_fit("y ~ half(z) | censor(low)", rich, method="mle", sigma="~ twice(z)", functions=given)
    check(res, again(res, tmp_path, given), rich.head())
    with pytest.raises(SpecError, match=r"functions=\{'twice': twice\}"):
        tg.load(tmp_path / "a.tgp", {"half": given["half"]})


def test_a_fit_that_has_not_converged(rich, tmp_path):
    data = rich.assign(y=np.where(rich["u"], 0.0, rich["y"]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        res = tg.fit("y ~ z + u | censor(0)", data, method="mle")
    loaded = again(res, tmp_path)
    assert not loaded.converged
    assert str(loaded.summary()) == str(res.summary())
    assert_same(res.predict(data.head()), loaded.predict(data.head()))


def test_what_needs_rows_says_so(stored_regression, tmp_path):
    res = stored_regression[0]
    loaded = again(res, tmp_path)
    for ask in (
        loaded.predict,
        lambda: loaded.predict(what="conditional"),
        loaded.residuals,
        loaded.influence,
        loaded.posterior,
        loaded.sample,
        lambda: loaded.get_prediction().summary_frame(),
        loaded.marginal_effects,
        loaded.plot,
        loaded.plot_terms,
        loaded.plot_residuals,
        lambda: loaded.lr_test(res),
        lambda: res.lr_test(loaded),
    ):
        with pytest.raises(SpecError, match="holds no training rows"):
            ask()
    assert loaded.model.data.frame is None
    assert_same(res.marginal_effects("observed", "mean"), loaded.marginal_effects("observed", "mean"))


def test_comparisons_by_aic(stored_regression, rich, tmp_path):
    loaded = again(stored_regression[0], tmp_path)
    other = quiet_fit("y ~ z | censor(low, 1.6)", rich, method="mle")
    assert_same(
        tg.compare({"a": loaded, "b": other}, by="aic"), tg.compare({"a": stored_regression[0], "b": other}, by="aic")
    )
    ignored = quiet_fit("y ~ z | censor(low, 1.6)", rich, method="mle", censored="ignore")
    with pytest.raises(SpecError, match="censored='model'"):
        tg.compare({"a": loaded, "b": again(ignored, tmp_path)}, by="aic")


def test_the_file_holds_no_rows(stored_regression, rich):
    with zipfile.ZipFile(io.BytesIO(stored_regression[1])) as archive:
        shapes = [np.load(archive.open(name)).shape for name in archive.namelist()[1:]]
    assert shapes
    assert not any(len(rich) in shape for shape in shapes)


def test_robust_scores_are_left_out(rich, tmp_path):
    res = quiet_fit("y ~ z | censor(low, 1.6)", rich, method="mle", cov_type="HC0")
    assert res.parts.maximum.scores is not None
    assert again(res, tmp_path).parts.maximum.scores is None


def test_new_rows_in_a_dict(stored_regression, rich, tmp_path):
    loaded = again(stored_regression[0], tmp_path)
    new = {name: rich[name].tolist() for name in ("z", "g", "t", "k")}
    pd.testing.assert_series_equal(loaded.predict(new), stored_regression[0].predict(new), check_exact=True)


def test_a_cure_model_is_read_by_the_class_name_of_earlier_files():
    data = tg.datasets.simulate_cure(n=200, rng=1)
    res = tg.fit("Surv(time, event) ~ treated", data, family=tg.PH("weibull"), cure="~ treated")
    arrays = []
    document = fit_codec().encode(res.parts.without_rows(), arrays, Surroundings())
    assert document["$class"] == "DistributionalParts"
    found = results_of(fit_codec().decode(document | {"$class": "CuredParts"}, arrays, set(), Surroundings()))
    assert type(found) is type(res) is tg.CureResults
    new = {"treated": [0, 1]}
    pd.testing.assert_series_equal(found.predict_cured(new), res.predict_cured(new))
    survival = [each.predict_survival_function(new, [1.0], uncured=True) for each in (found, res)]
    pd.testing.assert_frame_equal(*survival)
