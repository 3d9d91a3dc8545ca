"""Fits with an absorbed factor answer as those whose design is an array, which other tests hold to R."""

import numpy as np
import pandas as pd
import pytest

import tobitgp as tg
from tobitgp.data import linear_columns
from tobitgp.errors import ApproximationWarning, BoundaryWarning, ConvergenceWarning, SpecError
from tobitgp.numerics.bordered import Factored

pytestmark = pytest.mark.diagonal


@pytest.fixture
def data(rng):
    n = 240
    g, k = rng.integers(12, size=n), rng.integers(3, size=n)
    x, z = rng.normal(size=(2, n))
    y = 1.0 + 0.5 * x + rng.normal(size=12)[g] + 0.3 * k + np.exp(0.3 * z) * rng.normal(size=n)
    data = pd.DataFrame({"y": np.maximum(y, -0.5), "x": x, "z": z, "g": [f"g{i:02d}" for i in g], "k": k})
    data["t"], data["w"], data["c"] = np.exp(data.y / 2.0), rng.integers(1, 4, size=n), rng.integers(30, size=n)
    data.loc[data.g == "g00", "y"] = np.linspace(0.0, 1.0, (data.g == "g00").sum())
    return data


def both(monkeypatch, formula, data, **options):
    """With the factor absorbed, and as an array."""
    fits = []
    for most in (4, 10_000):
        monkeypatch.setattr(linear_columns, "MOST_DENSE", most)
        fits.append(tg.fit(formula, data, **options))
        fits[-1].predict(data.head(1))
    assert isinstance(fits[0].parts.maximum.inverse_information, Factored)
    assert not isinstance(fits[1].parts.maximum.inverse_information, Factored)
    return fits


def alike(a, b, data, monkeypatch):
    """Estimates, covariances and predictions are equal."""
    assert a.converged
    assert a.llf == pytest.approx(b.llf, rel=1e-12)
    assert a.llnull == pytest.approx(b.llnull, rel=1e-12, nan_ok=True)
    assert (a.aic, a.df_model) == (pytest.approx(b.aic, rel=1e-12), b.df_model)
    scale = np.sqrt(np.diag(b.cov_params()))
    unit = np.where(scale > 0.0, scale, 1.0)
    np.testing.assert_allclose(a.params / unit, b.params / unit, rtol=1e-8, atol=1e-7)
    np.testing.assert_allclose(a.cov_params() / np.outer(unit, unit), b.cov_params() / np.outer(unit, unit), atol=1e-7)
    np.testing.assert_allclose(a.bse, b.bse, rtol=1e-7)
    np.testing.assert_allclose(a.pvalues, b.pvalues, rtol=1e-5, atol=1e-12)
    np.testing.assert_allclose(a.conf_int(), b.conf_int(), rtol=1e-6, atol=1e-8)
    few = data.iloc[:20]
    pairs = [
        (fit.predict(few, se=True), fit.predict(few, what="terms"), fit.posterior(few).covariance) for fit in (a, b)
    ]
    for one, other in zip(*pairs, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-8)


MODELS = {
    "censored": ("y ~ x + C(g) | censor(-0.5)", {}),
    "two factors and a slope": ("y ~ C(g) + C(k)*x | censor(-0.5)", {}),
    "without an intercept": ("y ~ 0 + C(g) + x | censor(-0.5)", {}),
    "weights": ("y ~ x + C(g) | censor(-0.5)", {"weights": "w"}),
    "interaction": ("y ~ x + C(k):g | censor(-0.5)", {}),
    "weibull": ("t ~ x + C(g) | censor(0.7788007830714049)", {"family": "weibull"}),
    "student": ("y ~ x + C(g) | censor(-0.5)", {"family": tg.Student(df=4.0)}),
    "scale": ("y ~ x + C(g) | censor(-0.5)", {"sigma": "~ z"}),
    "fixed": ("y ~ x + C(g) | censor(-0.5)", {"fixed": {"C(g)[T.g03]": 0.5, "x": 0.4}}),
    "HC0": ("y ~ x + C(g) | censor(-0.5)", {"cov_type": "HC0"}),
    "HC1": ("y ~ x + C(g) | censor(-0.5)", {"cov_type": "HC1", "weights": "w"}),
    "cluster": ("y ~ x + C(g) | censor(-0.5)", {"cov_type": "cluster", "cov_kwds": {"groups": "c"}}),
}


@pytest.mark.parametrize("model", MODELS)
def test_answers_are_those_of_an_array(model, data, monkeypatch):
    formula, options = MODELS[model]
    a, b = both(monkeypatch, formula, data, **options)
    alike(a, b, data, monkeypatch)


def test_truncated_rows(data, monkeypatch):
    seen = data[data.y > -0.5]
    alike(*both(monkeypatch, "y ~ x + C(g) | truncate(-0.5, inf)", seen), seen, monkeypatch)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:df grew")
def test_degrees_of_freedom_that_run_off(data, monkeypatch):
    a, b = both(monkeypatch, "y ~ x + C(g) | censor(-0.5)", data, family="student")
    assert a.llf == pytest.approx(b.llf, rel=1e-12)
    np.testing.assert_allclose(a.bse, b.bse, rtol=1e-6)
    np.testing.assert_allclose(a.influence(), b.influence(), atol=1e-7)


@pytest.mark.slow
def test_hypotheses_effects_and_nested_models(data, monkeypatch):
    a, b = both(monkeypatch, "y ~ x + C(g) | censor(-0.5)", data)
    text = "x = 0, C(g)[T.g03] - C(g)[T.g04] = 0"
    assert a.wald_test(text).statistic == pytest.approx(b.wald_test(text).statistic, rel=1e-8)
    np.testing.assert_allclose(a.marginal_effects("observed"), b.marginal_effects("observed"), rtol=1e-6)
    np.testing.assert_allclose(a.marginal_effects(at="mean"), b.marginal_effects(at="mean"), rtol=1e-6)
    coarse = data.assign(h=data.g.str[:2] + (data.g > "g05").astype(str))
    smaller = tg.fit("y ~ C(h) | censor(-0.5)", coarse)
    assert a.lr_test(smaller).statistic == pytest.approx(b.lr_test(smaller).statistic, rel=1e-8)
    for fit in (a, b):
        with pytest.raises(SpecError, match="its linear terms are not nested in these"):
            fit.lr_test(tg.fit("y ~ z + C(h) | censor(-0.5)", coarse))


def test_draws_have_the_covariance_of_the_estimates(data, monkeypatch):
    a, _ = both(monkeypatch, "y ~ x + C(g) | censor(-0.5)", data)
    few = data.iloc[:6]
    drawn = a.sample(few, draws=40_000, what="latent", rng=1)
    want = a.posterior(few).covariance.to_numpy()
    sd = np.sqrt(np.diag(want))
    np.testing.assert_allclose(np.cov(drawn) / np.outer(sd, sd), want / np.outer(sd, sd), atol=0.03)


def test_a_level_whose_rows_are_all_censored_runs_off(data, monkeypatch):
    data.loc[data.g.isin(["g03", "g07"]), "y"] = -0.5
    with pytest.warns(ConvergenceWarning, match=r"'C\(g\)\[T.g03\]' and 'C\(g\)\[T.g07\]' separate the \d+ left-cens"):
        a, b = both(monkeypatch, "y ~ x + C(g) | censor(-0.5)", data)
    assert not a.converged
    assert a.parts.maximum.message == b.parts.maximum.message
    np.testing.assert_array_equal(a.bse.isna(), b.bse.isna())
    assert list(a.bse.index[a.bse.isna()]) == ["C(g)[T.g03]", "C(g)[T.g07]"]
    np.testing.assert_allclose(a.bse.dropna(), b.bse.dropna(), rtol=1e-6)
    with pytest.warns(ApproximationWarning, match="A standard error or an end of the interval is not finite in rows"):
        bands = [fit.predict(data, se=True)["se"] for fit in (a, b)]
    np.testing.assert_array_equal(bands[0].isna(), bands[1].isna())
    np.testing.assert_allclose(bands[0].dropna(), bands[1].dropna(), rtol=1e-6)
    with pytest.raises(SpecError, match="no standard error"):
        a.sample(data.head(2))


def test_a_level_of_one_row_has_no_robust_error(data, monkeypatch):
    one = pd.concat([data, data.head(1).assign(g="alone", y=5.0)])
    with pytest.warns(BoundaryWarning, match=r"depend on rows that the model fits exactly"):
        a, b = both(monkeypatch, "y ~ x + C(g) | censor(-0.5)", one, cov_type="HC0")
    np.testing.assert_array_equal(a.bse.isna(), b.bse.isna())
    assert a.bse.isna().any()


def test_a_saved_fit_answers_the_same(data, monkeypatch, tmp_path):
    a, _ = both(monkeypatch, "y ~ x + C(g) | censor(-0.5)", data)
    monkeypatch.setattr(linear_columns, "MOST_DENSE", 4)
    a.save(tmp_path / "fit.tgp")
    again = tg.load(tmp_path / "fit.tgp")
    pd.testing.assert_frame_equal(again.summary_frame(), a.summary_frame())
    pd.testing.assert_frame_equal(again.cov_params(), a.cov_params())
    pd.testing.assert_frame_equal(again.predict(data.head(9), se=True), a.predict(data.head(9), se=True))


def test_partitioned_rows(data, monkeypatch, tmp_path):
    monkeypatch.setattr(linear_columns, "MOST_DENSE", 4)
    for i, part in enumerate([data[:70], data[:0], data[70:]]):
        part.to_parquet(tmp_path / f"{i}.parquet")
    parts = tg.fit("y ~ x + C(g) | censor(-0.5)", str(tmp_path / "*.parquet"))
    whole = tg.fit("y ~ x + C(g) | censor(-0.5)", data)
    assert parts.llf == pytest.approx(whole.llf, rel=1e-12)
    np.testing.assert_allclose(parts.summary_frame(), whole.summary_frame(), rtol=1e-6, atol=1e-9)
