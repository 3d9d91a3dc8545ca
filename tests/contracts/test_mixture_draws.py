"""Draws of a mixture's parameters say of a new value what its predictions say, in every family."""

import numpy as np
import pytest
from support.mixtures import NAMES

import tobitgp as tg
from tobitgp.kinds.mixture import training_ends
from tobitgp.mixture import EMCM, VBCM, fit_mixture, linear_response
from tobitgp.results.mixture.mixture_draws import draw_components, draw_parameters, draw_rows, predictives_at

pytestmark = pytest.mark.diagonal

GROUP = {
    "gaussian": lambda rng, n: rng.normal(5.0, 2.0, n),
    "lognormal": lambda rng, n: np.exp(rng.normal(1.0, 0.8, n)),
    "exponential": lambda rng, n: rng.exponential(5.0, n),
    "poisson": lambda rng, n: rng.poisson(7.0, n).astype(float),
    "weibull": lambda rng, n: 10.0 * rng.weibull(1.5, n),
}
FAR = {"gaussian": 40.0, "poisson": 60.0}


def rows(name, groups, censored, seed=0):
    """100 rows of one group, or of two that lie far apart."""
    rng = np.random.default_rng(seed)
    y = GROUP[name](rng, 100)
    if groups == 2:
        y[50:] = y[50:] + FAR[name] if name in FAR else y[50:] * 500.0
    limit = np.floor(np.quantile(y, 1.0 - censored))
    return (np.minimum(y, limit), np.where(y > limit, np.inf, y)) if censored else (y, y)


@pytest.mark.quick_cases("vbcm-0.0-1-gaussian")
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("censored", [0.0, 0.4])
@pytest.mark.parametrize("method", [VBCM(n_init=4), EMCM(n_init=4)], ids=["vbcm", "em"])
def test_the_mean_over_draws_is_the_predictive_distribution(name, groups, censored, method):
    """Between the quantiles that draws are tilted to, ill-determined components leave 0.012; untilted draws 0.18."""
    ends = rows(name, groups, censored)
    fit = fit_mixture(*ends, family=name, k=2, method=method, rng=0)
    V = linear_response(fit, *ends)
    if not np.isfinite(V).all():
        pytest.skip("components alike by maximum likelihood, whose parameters have no distribution")
    predictive = fit.predictive()
    x = np.unique(predictive.ppf(np.array([0.02, 0.2, 0.4, 0.6, 0.8, 0.97])))
    drawn = predictives_at(fit, *draw_parameters(fit, V, 4000, np.random.default_rng(1)))
    np.testing.assert_allclose(np.mean([one.sf(x) for one in drawn], axis=0), predictive.sf(x), atol=0.015)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in NAMES if name != "lognormal"])  # whose predictive mean is infinite
@pytest.mark.parametrize("seed", range(3))
def test_means_of_sampled_values_are_predictive_means(name, seed):
    """Of one group fitted with two components, whose spare component holds rows; 20,000 values."""
    ends = rows(name, 1, 0.0, seed)
    fit = fit_mixture(*ends, family=name, k=2, rng=0)
    if fit.counts.min() < 2.0:
        pytest.skip("the spare component has its prior, whose draws have no mean")
    y = draw_rows(fit, linear_response(fit, *ends), 5, 4000, np.random.default_rng(1))
    mean, error = float(fit.predictive().mean()), y.std() / np.sqrt(4000)
    assert abs(y.mean() - mean) < 4.0 * error + 0.005 * mean


def test_draws_of_components_far_apart_keep_the_errors_of_linear_response():
    ends = rows("exponential", 2, 0.0)
    fit = fit_mixture(*ends, family="exponential", k=2, rng=0)
    V = linear_response(fit, *ends)
    w, theta = draw_parameters(fit, V, 20_000, np.random.default_rng(1))
    rates = np.exp(theta[:, 0]) / fit.units.scale
    np.testing.assert_allclose(np.column_stack([w, rates]).std(axis=0), np.sqrt(V.diagonal()), rtol=0.05)


@pytest.mark.slow
def test_a_few_draws_are_drawn_as_many_are():
    """Each time the same share of draws below the median of many."""
    ends = rows("weibull", 1, 0.4)
    fit = fit_mixture(*ends, family="weibull", k=2, rng=0)
    V = linear_response(fit, *ends)
    many = draw_parameters(fit, V, 8000, np.random.default_rng(0))[0][:, 0]
    few = np.concatenate([draw_parameters(fit, V, 20, np.random.default_rng(seed))[0][:, 0] for seed in range(1, 60)])
    assert abs(np.mean(few < np.median(many)) - 0.5) < 0.06


@pytest.mark.quick_cases("gaussian")
@pytest.mark.parametrize("family", ["gamma", "gaussian", "poisson"])
def test_rows_under_many_draws_are_evaluated_together(family, monkeypatch):
    y = np.random.default_rng(2).poisson(np.repeat([2.0, 9.0], 20)) + (family == "gamma") * 0.5
    res = tg.fit("y ~ mixture(2) | censor(upper=9)", {"y": np.minimum(y, 9.0)}, family=family)
    drawn = draw_components(res.parts, 300, 1, question="loo()")
    lower, upper, _ = training_ends(res.parts)
    made, distribution = [], type(res.parts.fit.model.family).distribution
    want = [one.log_mass(lower, upper) for one in predictives_at(res.parts.fit, drawn.weights, drawn.theta)]
    monkeypatch.setattr(
        type(res.parts.fit.model.family), "distribution", lambda *args: made.append(1) or distribution(*args)
    )
    ((rows, found),) = drawn.log_likelihoods()
    np.testing.assert_allclose(found, np.column_stack(want)[rows], atol=1e-8)
    assert len(made) <= 3
