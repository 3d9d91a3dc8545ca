"""Curves of levels that are correlated, against the Gaussian process that they are."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import multivariate_normal
from support.methods import having

import tobitgp as tg

TERM = "gp(x, by=g)"
SIGMA = np.array([[1.0, 0.84, 0.2], [0.84, 1.44, -0.1], [0.2, -0.1, 0.5]])
SD = np.sqrt(SIGMA.diagonal())
R = SIGMA / np.outer(SD, SD)
GIVEN = {f"sd({TERM})[{level}]": sd for level, sd in zip("abc", SD, strict=True)}
GIVEN |= {f"cor({TERM})[a, b]": R[0, 1], f"cor({TERM})[a, c]": R[0, 2], f"cor({TERM})[b, c]": R[1, 2]}
GIVEN |= {f"lengthscale({TERM})": 0.2, "sigma": 0.3}
FORMULA = "y ~ 0 + gp(x, by=g, cor=True)"
CENSORED = "seen ~ 0 + gp(x, by=g, cor=True) | censor(l)"


def kernel(left, right):
    code = {level: i for i, level in enumerate("abc")}
    g, h = ([code[level] for level in frame["g"]] for frame in (left, right))
    distance = np.subtract.outer(left["x"].to_numpy(), right["x"].to_numpy()) / 0.2
    return SIGMA[np.ix_(g, h)] * np.exp(-0.5 * distance**2)


@pytest.fixture(scope="module")
def df():
    rng = np.random.default_rng(2)
    data = pd.DataFrame({"x": rng.uniform(0.0, 1.0, 70), "g": rng.choice(list("abc"), 70)})
    f = np.linalg.cholesky(kernel(data, data) + 1e-9 * np.eye(70)) @ rng.normal(size=70)
    data["y"] = f + 0.3 * rng.normal(size=70)
    data["l"] = np.quantile(data["y"], 0.3)
    return data.assign(seen=data["y"].clip(lower=data["l"]))


@pytest.fixture(scope="module")
def fit(df):
    return tg.fit(FORMULA, df, fixed=GIVEN, method=tg.EP(inducing=None))


NEW = pd.DataFrame({"x": [0.1, 0.5, 1.4, 1.42], "g": ["a", "c", "b", "a"]})


def test_evidence_and_predictions_are_those_of_the_process(df, fit):
    K, k = kernel(df, df) + 0.09 * np.eye(70), kernel(NEW, df)
    exact = multivariate_normal.logpdf(df["y"], np.zeros(70), K)
    assert fit.log_evidence == pytest.approx(exact, abs=1e-6)
    mean, covariance = fit.posterior(NEW)
    np.testing.assert_allclose(mean, k @ np.linalg.solve(K, df["y"]), atol=1e-5)
    np.testing.assert_allclose(covariance, kernel(NEW, NEW) - k @ np.linalg.solve(K, k.T), atol=1e-5)
    table = fit.predict(NEW, what="latent", se=True)
    np.testing.assert_allclose(table["se"], np.sqrt(np.diag(covariance)), rtol=1e-6)


@pytest.mark.parametrize("method", ["ep", "vi", "laplace"])
def test_gradients_are_those_of_differences(df, method):
    model, h = tg.Model(CENSORED, df), 1e-5

    def value(name, step):
        return model.evidence(
            GIVEN | {name: GIVEN[name] + step}, method=having(method, inducing=None), gradient=False
        ).value

    found = model.evidence(GIVEN, method=having(method, inducing=None)).gradient
    for name in GIVEN:
        assert found[name] == pytest.approx((value(name, h) - value(name, -h)) / (2 * h), abs=2e-6)


def test_without_correlations_these_are_curves_of_their_own(df):
    equal = dict.fromkeys([name for name in GIVEN if name.startswith("sd")], 1.1)
    none = dict.fromkeys([name for name in GIVEN if name.startswith("cor")], 0.0)
    rest = {name: GIVEN[name] for name in (f"lengthscale({TERM})", "sigma")}
    one = tg.fit(CENSORED, df, fixed=equal | none | rest)
    two = tg.fit("seen ~ 0 + gp(x, by=g) | censor(l)", df, fixed={f"sd({TERM})": 1.1} | rest)
    assert one.log_evidence == pytest.approx(two.log_evidence, abs=0.02)
    np.testing.assert_allclose(one.predict(df), two.predict(df), atol=2e-3)


@pytest.mark.slow
def test_estimates_find_the_correlation_of_simulated_curves():
    rng = np.random.default_rng(4)
    data = pd.DataFrame({"x": rng.uniform(0.0, 6.0, 600), "g": rng.choice(list("abc"), 600)})
    f = np.linalg.cholesky(kernel(data, data) + 1e-9 * np.eye(600)) @ rng.normal(size=600)
    y = f + 0.3 * rng.normal(size=600)
    data["seen"], data["l"] = np.maximum(y, np.quantile(y, 0.2)), np.quantile(y, 0.2)
    res = tg.fit(CENSORED, data, method=tg.EP(hyper="maximize"))
    truth = pd.Series(GIVEN)
    ends = res.conf_int(0.001).loc[truth.index]
    assert ((ends[0] < truth) & (truth < ends[1])).all()
    assert "3 correlated levels" in " ".join(str(res.summary()).split())


@pytest.mark.slow
def test_what_is_done_with_any_fit(df, tmp_path):
    res = tg.fit("seen ~ g + gp(x, by=g, cor=True) | censor(l)", df, method=tg.EP(hyper="maximize"))
    res.save(tmp_path / "fit")
    pd.testing.assert_series_equal(tg.load(tmp_path / "fit").predict(NEW), res.predict(NEW))
    terms = res.predict(NEW, what="terms")
    assert TERM in terms.columns.get_level_values(0)
    assert np.isfinite(res.predict(NEW, exclude=TERM)).all()
    assert tg.compare_bounds(tg.fit(CENSORED, df.head(20), fixed=GIVEN)).attrs["reference"] == "exact"
    with pytest.raises(tg.errors.UnseenLevelError):
        res.predict(NEW.assign(g="d"))
    parts = pytest.importorskip("dask.dataframe").from_pandas(df, npartitions=3)
    again = tg.fit(CENSORED, parts, fixed=GIVEN)
    assert again.log_evidence == pytest.approx(tg.fit(CENSORED, df, fixed=GIVEN).log_evidence, abs=1e-8)


@pytest.mark.parametrize(
    ("term", "error", "words"),
    [
        ("gp(x, cor=True)", tg.errors.FormulaError, "requires by="),
        ("gp(x, by=g, cor=True):gp(y2)", tg.errors.FormulaError, "is not supported in a product"),
        ("gp(x, by=g, cor=2)", tg.errors.FormulaError, "True or False"),
        ('gp(x, kernel="matern32", by=g, cor=True, approximation="markov")', tg.errors.FormulaError, "leave approx"),
        ("gp(x, by=many, cor=True)", tg.errors.DataError, "has 13 levels"),
    ],
)
def test_what_cannot_be_is_refused(df, term, error, words):
    data = df.assign(many=[f"m{i % 13}" for i in range(70)])
    with pytest.raises(error, match=words):
        tg.fit(f"y ~ {term}", data)


def test_their_inducing_inputs_are_not_moved(df):
    with pytest.raises(tg.errors.SpecError, match="does not move"):
        tg.fit(FORMULA, df, method=tg.VI(inducing=tg.Inducing(5)))
