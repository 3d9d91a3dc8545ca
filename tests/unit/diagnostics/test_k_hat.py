"""Whether a Gaussian posterior is the exact one: where it is, where it is not, and against exact weights."""

import numpy as np
import pytest
from support.methods import having

import tobitgp as tg
from tobitgp.diagnostics.k_hat import KHat
from tobitgp.numerics.sampling import smooth

pytestmark = pytest.mark.diagonal

CURVE = "y ~ gp(x) | censor(lower)"


@pytest.fixture(scope="module")
def data():
    found = tg.datasets.simulate_groot_lucas()
    found["y"] = found["y"].clip(lower=found["lower"])
    found["c"] = 1 + np.arange(30) % 3
    return found


@pytest.mark.parametrize("method", ["ep", "laplace", "vi"])
@pytest.mark.parametrize("formula", ["y ~ gp(x)", "y ~ x"])
def test_without_censoring_the_posterior_is_exact(data, method, formula):
    found = tg.fit(formula, data, method=having(method, hyper="maximize")).k_hat()
    assert found.k == -np.inf
    assert found.good
    assert "is the exact posterior" in repr(found)


def test_weights_are_those_of_the_joint_density(data):
    """Log prior plus log likelihood less log q of draws, written out with dense matrices."""
    from scipy.special import log_ndtr
    from scipy.stats import multivariate_normal

    fixed = {"sigma": 1.5}
    priors = {"Intercept": tg.Normal(0.0, 5.0), "x": tg.Normal(0.0, 5.0)}
    res = tg.fit("y ~ x | censor(lower)", data, method="laplace", fixed=fixed, priors=priors)
    found = res.k_hat(40_000)
    rng = np.random.default_rng(1)
    mean, V = res.params[["Intercept", "x"]].to_numpy(), res.cov_params().iloc[:2, :2].to_numpy()
    beta = rng.multivariate_normal(mean, V, size=40_000)
    f = beta[:, :1] + beta[:, 1:] * data["x"].to_numpy()
    y, left = data["y"].to_numpy(), (data["y"] <= data["lower"]).to_numpy()
    z = (y - f) / 1.5
    log_p = np.where(left, log_ndtr(z), -0.5 * z * z).sum(axis=1)
    log_ratio = log_p - 0.5 * np.square(beta / 5.0).sum(axis=1) - multivariate_normal(mean, V).logpdf(beta)
    assert found.k == pytest.approx(smooth(log_ratio[None]).k[0], abs=0.08)


def test_expectation_propagation_passes_where_a_loose_bound_does_not(data):
    fixed = {"sd(gp(x))": 8.0, "lengthscale(gp(x))": 0.15, "sigma": 0.3}
    assert tg.fit(CURVE, data, method="ep", fixed=fixed).k_hat(2000, rng=0).good
    local = tg.fit(CURVE, data, method=tg.VI(bound="local"), fixed={**fixed, "sigma_lower": 0.0})
    assert not local.k_hat(2000, rng=0).good


def test_what_features_leave_of_f_is_allowed_for(data):
    """Few inducing inputs and a rough curve: the posterior of the features is still exact, whatever is left over."""
    with pytest.warns(tg.errors.ApproximationWarning, match="inducing"):
        res = tg.fit("y ~ gp(x, kernel='matern32')", data, method=tg.EP(hyper="maximize", inducing=8))
    assert res.parts.fitted.nats_left > 1.0
    assert res.k_hat().k == -np.inf


@pytest.mark.slow
def test_other_noise_is_judged(data):
    for family in ("student", "logistic"):
        found = tg.fit(CURVE, data, family=family, method=tg.EP(hyper="maximize")).k_hat()
        assert -1.0 < found.k < 1.0


def test_a_regression_of_many_rows_has_a_normal_distribution(lung):
    few = tg.fit("durable ~ age + quant | censor(0)", tg.datasets.load("tobin")).k_hat(rng=0)
    many = tg.fit("Surv(time, event) ~ age", lung, family="weibull").k_hat()
    assert not few.good
    assert many.good
    assert "differs from the exact likelihood" in few.words
    assert "compare_bounds" not in few.words  # which takes no regression
    assert "Use profile_interval()" in few.words
    known = tg.fit("y ~ z", {"y": [1.0, 2.0, 2.5, 4.0], "z": [0.0, 1.0, 2.0, 3.0]}, fixed={"sigma": 1.0})
    assert known.k_hat().k == -np.inf


def test_frequency_weights_count(data):
    again = data.loc[data.index.repeat(data["c"])].reset_index(drop=True)
    fixed = {"sd(gp(x))": 8.0, "lengthscale(gp(x))": 0.15, "sigma": 0.5}
    prior = {"Intercept": tg.Normal(0.0, 3.0)}
    one = tg.fit(CURVE, data, weights="c", fixed=fixed, priors=prior, method=tg.EP(inducing=None)).k_hat(1000)
    two = tg.fit(CURVE, again, fixed=fixed, priors=prior, method=tg.EP(inducing=None)).k_hat(1000)
    assert one.k == pytest.approx(two.k, abs=1e-4)


def test_it_is_a_number_with_words():
    assert [KHat(k, 1000, 0.1).good for k in (0.2, 0.6, 0.69, 1.2)] == [True, True, False, False]
    assert [KHat(k, 1000, 0.7).good for k in (0.69, 0.95, 1.2)] == [True, True, False]
    assert "close" not in KHat(0.8, 1000, 0.97).words
    assert len({KHat(k, 4000, 0.7).words for k in (-np.inf, 0.2, 0.6, 1.2)}) == 4
    assert float(KHat(0.25, 100, 0.7)) == 0.25


@pytest.mark.slow
def test_nearly_equal_weights_are_good_whatever_their_tail(rng):
    """Of thousands of rows the posterior is Gaussian, and the tail of weights of sd 0.05 says nothing."""
    n = 1500
    x = rng.uniform(0, 3, n)
    data = {"x": x, "y": np.maximum(np.sin(2 * x) + rng.normal(0, 0.3, n), -0.3), "lower": np.full(n, -0.3)}
    found = tg.fit(CURVE, data, method=tg.EP(hyper="maximize")).k_hat()
    assert found.efficiency > 0.99
    assert found.good
    assert KHat(1.1, 1000, 0.995).good


@pytest.mark.parametrize("seed", range(4))
def test_parameters_that_are_given_are_not_drawn(seed):
    """The covariance of the others is singular but for rounding, in which nothing is drawn either."""
    rng = np.random.default_rng(seed)
    z, x = rng.normal(size=140), rng.uniform(-2.0, 3.0, 140)
    rows = {"z": z, "x": x, "y": 1.0 + 0.7 * z - 0.3 * x + 0.6 * rng.normal(size=140)}
    assert tg.fit("y ~ z + x", rows, fixed={"sigma": 0.6, "z": 0.7}).k_hat(1000, rng=1).k == -np.inf
