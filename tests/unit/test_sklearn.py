import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import tobitgp as tg
from tobitgp.errors import DataError, SpecError

Regressor = tg.sklearn.CensoredGPRegressor


@parametrize_with_checks([Regressor()])
@pytest.mark.slow_cases(
    "CensoredGPRegressor()-check_regressors_train",
    "CensoredGPRegressor()-check_regressors_train(readonly_memmap=True)",
    "CensoredGPRegressor()-check_regressors_train(readonly_memmap=True,X_dtype=float32)",
    "CensoredGPRegressor()-check_regressor_data_not_an_array",
)
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(4)
    X = rng.uniform(-3.0, 3.0, (60, 2))
    y = np.sin(X[:, 0]) + 0.3 * X[:, 1] + 0.1 * rng.standard_normal(60)
    return X, np.maximum(y, -0.3)


def test_it_is_the_fit_of_the_formula(rows):
    X, y = rows
    model = Regressor(kernel="matern52", method="laplace").fit(X, y, lower=-0.3)
    data = {"y": y, "a": X[:, 0], "b": X[:, 1]}
    res = tg.fit("y ~ gp(a, b, kernel='matern52') | censor(-0.3)", data, method="laplace")
    assert model.results_.counts["left"] == (y <= -0.3).sum() > 5
    assert model.results_.log_evidence == pytest.approx(res.log_evidence, rel=1e-10)
    new = {"a": X[:9, 0], "b": X[:9, 1]}
    np.testing.assert_allclose(model.predict(X[:9]), res.predict(new, "uncensored"), rtol=1e-10)


def test_standard_deviations_are_those_of_new_responses(rows):
    X, y = rows
    model = Regressor().fit(X, y, lower=-0.3)
    mean, sd = model.predict(X, return_std=True)
    _, V = model.predict(X, return_cov=True)
    np.testing.assert_allclose(np.sqrt(np.diag(V)), sd, rtol=1e-9)
    draws = model.sample_y(X, n_samples=20_000, random_state=1)
    np.testing.assert_allclose(draws.mean(axis=1), mean, atol=5 * sd.max() / 20_000**0.5)
    np.testing.assert_allclose(draws.std(axis=1), sd, rtol=0.05)
    pair = np.cov(draws[:2])[0, 1]
    assert pair == pytest.approx(V[0, 1], abs=5 * sd.max() ** 2 / 20_000**0.5)


def test_a_score_with_limits_is_the_mean_log_density(rows):
    X, y = rows
    model = Regressor(method=tg.EP(inducing=None)).fit(X, y, lower=-0.3)
    cells = {"x0": X[:, 0], "x1": X[:, 1]}
    at = model.results_.predict(cells, "prob", below=-0.3).to_numpy()
    censored = y <= -0.3
    value = model.score(X[censored], y[censored], lower=-0.3)
    assert value == pytest.approx(np.log(at[censored]).mean(), rel=1e-8)
    density = model.score(X[~censored], y[~censored], lower=-0.3)
    mean, sd = model.predict(X[~censored], return_std=True)
    assert density == pytest.approx(norm.logpdf(y[~censored], mean, sd).mean(), abs=0.05)
    weights = np.r_[np.ones(10), np.zeros(50)]
    first = model.score(X[:10], y[:10], lower=-0.3)
    assert model.score(X, y, lower=-0.3, sample_weight=weights) == pytest.approx(first)


def test_without_limits_a_score_is_r_squared(rows):
    X, y = rows
    model = Regressor().fit(X, y)
    residual = y - model.predict(X)
    assert model.score(X, y) == pytest.approx(1.0 - residual @ residual / ((y - y.mean()) @ (y - y.mean())))


def test_limits_for_each_row_on_both_sides(rows):
    X, y = rows
    upper = np.where(np.arange(60) < 30, 0.5, np.inf)
    model = Regressor(method="ep").fit(X, np.minimum(y, upper), lower=-0.3, upper=upper)
    assert model.results_.counts["right"] == (np.minimum(y, upper) >= upper).sum()


def test_pipelines_and_searches(rows):
    X, y = rows
    pipe = make_pipeline(StandardScaler(), Regressor(method="laplace"))
    assert cross_val_score(pipe, X, y, cv=3).min() > 0.5
    import sklearn

    with sklearn.config_context(enable_metadata_routing=True):
        model = Regressor(method="laplace").set_fit_request(lower=True).set_score_request(lower=True)
        search = GridSearchCV(model, {"kernel": ["rbf", "linear"]}, cv=3).fit(X, y, lower=np.full(60, -0.3))
    assert search.best_params_ == {"kernel": "rbf"}
    assert search.best_estimator_.results_.counts["left"] > 5


def test_names_of_columns_are_kept_and_minded(rows):
    X, y = rows
    frame = pd.DataFrame(X, columns=["~ odd | name", "b"])
    model = Regressor(method="laplace").fit(frame, y)
    assert list(model.feature_names_in_) == list(frame)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame.rename(columns={"b": "c"}))


@pytest.mark.parametrize("limit", [np.nan, "a", np.zeros(3), np.full(60, np.nan)])
def test_limits_that_cannot_be_used(rows, limit):
    X, y = rows
    with pytest.raises(DataError, match="lower= must be a number, or one per row"):
        Regressor().fit(X, y, lower=limit)


def test_what_is_refused(rows):
    X, y = rows
    with pytest.raises(SpecError, match="mle"):
        Regressor(method="mle").fit(X, y)
    with pytest.raises(NotFittedError):
        Regressor().predict(X)
    model = clone(Regressor(method="laplace")).fit(X, y)
    with pytest.raises(SpecError, match="cannot be combined"):
        model.predict(X, return_std=True, return_cov=True)


def test_random_state_is_that_of_scikit_learn(rows):
    X, y = rows
    fits = [Regressor(method="laplace", random_state=s).fit(X, y).predict(X) for s in (0, np.random.RandomState(0))]
    np.testing.assert_array_equal(*fits)
