import numpy as np
import pytest
from support.differences import derivative

from tobitgp.errors import SpecError
from tobitgp.mixture.mixture_priors import Dirichlet, DirichletProcess

PRIORS = [
    Dirichlet(0.3),
    Dirichlet(2.0),
    DirichletProcess(),
    DirichletProcess(2.0, 0.5),
    DirichletProcess(concentration=0.4),
]
COUNT = np.array([12.0, 3.5, 0.0, 7.25])


def gradient_of(prior, w):
    """Derivative of the bound in w."""
    return prior.information(w) @ (prior.target(w, COUNT) - w)


@pytest.mark.parametrize("prior", PRIORS)
def test_expectations_by_sampling(prior):
    w = prior.posterior(prior.start(4), COUNT)
    rng, draws = np.random.default_rng(0), 200_000
    if isinstance(prior, Dirichlet):
        pi = rng.dirichlet(w, size=draws)
    else:
        v = np.column_stack([rng.beta(w[:3], w[3:6], size=(draws, 3)), np.ones(draws)])
        pi = v * np.column_stack([np.ones(draws), np.cumprod(1.0 - v[:, :3], axis=1)])
    np.testing.assert_allclose(pi.mean(axis=0), prior.mean(w)[0], atol=5 * (pi.std(axis=0) / np.sqrt(draws)).max())
    log_pi = np.log(np.maximum(pi, 1e-300))
    assert (np.abs(log_pi.mean(axis=0) - prior.expected_log(w)) < 5 * log_pi.std(axis=0) / np.sqrt(draws)).all()


@pytest.mark.parametrize("prior", PRIORS)
def test_slopes_of_the_mean_and_gradient_of_the_bound(prior):
    w = prior.posterior(prior.start(4), COUNT) * 1.1

    def bound(x):
        return COUNT @ prior.expected_log(x) - prior.divergence(x)

    slopes, gradient = prior.mean(w)[1], gradient_of(prior, w)
    for j, e in enumerate(np.eye(len(w))):
        step = 1e-3 * w[j]
        np.testing.assert_allclose(
            slopes[:, j], derivative(lambda s, e=e: prior.mean(w + s * e)[0], 0.0, step), atol=1e-9
        )
        if not (isinstance(prior, DirichletProcess) and prior.concentration is not None and j == len(w) - 1):
            assert gradient[j] == pytest.approx(
                derivative(lambda s, e=e: bound(w + s * e), 0.0, step), rel=1e-6, abs=1e-8
            )


def test_prior_of_the_weights_has_no_divergence():
    assert Dirichlet(0.7).divergence(Dirichlet(0.7).start(5)) == pytest.approx(0.0, abs=1e-12)
    fixed = DirichletProcess(concentration=1.3)
    assert fixed.divergence(fixed.start(5)) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("prior", PRIORS)
def test_posterior_is_the_best_of_its_kind(prior):
    w = prior.start(4)
    for _ in range(500):
        w = prior.posterior(w, COUNT)
    np.testing.assert_allclose(gradient_of(prior, w), 0.0, atol=1e-9)


@pytest.mark.parametrize("bad", [0.0, -1.0, np.nan, np.inf])
def test_settings_are_checked(bad):
    with pytest.raises(SpecError, match="concentration"):
        Dirichlet(bad)
    with pytest.raises(SpecError, match="rate"):
        DirichletProcess(rate=bad)
