"""A process over a measured input: published bound, exact evidence and inputs, fits of known inputs, and the truth."""

import numpy as np
import pandas as pd
import pytest
from scipy.integrate import quad
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import minimize
from scipy.special import logsumexp
from scipy.stats import norm

import tobitgp as tg
from tobitgp.latent.collapsed_bound import JITTER, ResponseEnds, ResponseScales, posterior_weights
from tobitgp.latent.latent_rows import LatentProcesses
from tobitgp.latent.latent_search import LatentState, elbo
from tobitgp.latent.psi_statistics import InducingInputs, InputPrior, NormalInputs
from tobitgp.latent.uncertain_inputs import InputRows
from tobitgp.latent.uncertain_search import search

LENGTH, SD, SIGMA, LEVEL = 0.8, 1.1, 0.3, 0.2
SCALES = ResponseScales(np.array([LEVEL]), np.array([SD]), np.array([SIGMA]))


def kernel(x, z):
    return np.exp(-0.5 * np.square((np.asarray(x)[..., :, None] - z) / LENGTH))


def truth(x):
    return np.sin(1.5 * x) + 0.3 * x


def simulated(seed, n=60, low=0.0):
    """A curve at true inputs, which were measured with errors of two sizes; a limit below."""
    rng = np.random.default_rng(seed)
    true, sx = rng.uniform(0, 6, n), rng.choice([0.2, 0.6], n)
    y = np.maximum(truth(true) + 0.2 * rng.normal(size=n), low)
    return pd.DataFrame({"x": true + sx * rng.normal(size=n), "sx": sx, "y": y, "true": true})


def test_without_censoring_it_is_the_bound_of_titsias_and_lawrence():
    """Their Eq. 14 and 15 with priors N(x, s^2) of the inputs, dense, from statistics by quadrature."""
    rng = np.random.default_rng(4)
    n, z = 9, np.linspace(-2, 2, 5)
    measured, s = rng.normal(size=n), rng.uniform(0.1, 0.7, n)
    mean, var = measured + 0.3 * s * rng.normal(size=n), s**2 * rng.uniform(0.2, 1.2, n)
    y = rng.normal(size=n)
    nodes, weight = np.polynomial.hermite_e.hermegauss(60)
    k = kernel(mean[:, None] + np.sqrt(var)[:, None] * nodes, z)
    psi1 = np.einsum("s,nsm->nm", weight / weight.sum(), k)
    psi2 = np.einsum("s,nsm,nsk->mk", weight / weight.sum(), k, k)
    Ka, beta, r = SD**2 * (kernel(z, z) + JITTER * np.eye(5)), SIGMA**-2.0, y - LEVEL
    P1, P2 = SD**2 * psi1, SD**4 * psi2
    inner = cho_factor(beta * P2 + Ka)
    W = beta * np.eye(n) - beta**2 * P1 @ cho_solve(inner, P1.T)
    logs = n * np.log(beta) + np.linalg.slogdet(Ka)[1] - np.linalg.slogdet(beta * P2 + Ka)[1]
    published = 0.5 * (logs - n * np.log(2 * np.pi) - r @ W @ r)
    published += -0.5 * beta * n * SD**2 + 0.5 * beta * np.trace(np.linalg.solve(Ka, P2))
    published -= 0.5 * ((var + (mean - measured) ** 2) / s**2 - 1 - np.log(var / s**2)).sum()
    inputs = NormalInputs(((mean - measured) / s)[:, None], (var / s**2)[:, None])
    prior = InputPrior(measured[:, None], s[:, None])
    state = LatentState(inputs, InducingInputs(z[:, None], np.array([LENGTH])), SCALES, prior)
    assert elbo(state, ResponseEnds(y[:, None], y[:, None])) == pytest.approx(published, rel=1e-8)


@pytest.fixture(scope="module")
def few():
    """Six rows, one below its limit: prior of inputs, what was seen, draws of inputs and their log weights."""
    rng = np.random.default_rng(7)
    n = 6
    true, s = np.linspace(-1.5, 1.5, n), np.array([0.2, 0.5, 0.5, 0.3, 0.5, 0.2])
    x, y = true + s * rng.normal(size=n), LEVEL + SD * np.sin(2 * true) + SIGMA * rng.normal(size=n)
    S, wide = 200_000, 1.2
    X = x + s * wide * rng.normal(size=(S, n))
    log_w = (norm.logpdf(X, x, s) - norm.logpdf(X, x, wide * s)).sum(axis=1)
    K = SD**2 * np.exp(-0.5 * np.square((X[:, :, None] - X[:, None]) / LENGTH)) + SIGMA**2 * np.eye(n)
    c, r = K[:, 1:, 0], y[1:] - LEVEL
    solved = np.linalg.solve(K[:, 1:, 1:], np.stack([np.broadcast_to(r, c.shape), c], axis=-1))
    log_w -= 0.5 * (solved[:, :, 0] @ r + np.linalg.slogdet(K[:, 1:, 1:])[1] + (n - 1) * np.log(2 * np.pi))
    m, v = LEVEL + (c * solved[:, :, 0]).sum(axis=1), K[:, 0, 0] - (c * solved[:, :, 1]).sum(axis=1)
    log_w += norm.logcdf((y[0] - m) / np.sqrt(v))  # the first is below its limit
    ends = ResponseEnds(np.concatenate([[-np.inf], y[1:]])[:, None], y[:, None])
    return InputPrior(x[:, None], s[:, None]), ends, X, log_w


def best(few):
    """The bound at its maximum over q(X), with the parameters of the rows."""
    prior, ends, _, _ = few
    n, inducing = len(prior.mean), InducingInputs(np.linspace(-2.5, 2.5, 8)[:, None], np.array([LENGTH]))

    def at(q):
        return LatentState(NormalInputs(q[:n, None], np.exp(q[n:, None])), inducing, SCALES, prior)

    found = minimize(lambda q: -elbo(at(q), ends), np.concatenate([np.zeros(n), np.full(n, -1.0)]), method="L-BFGS-B")
    fixed = elbo(LatentState(NormalInputs(np.zeros((n, 1)), np.ones((n, 1))), inducing, SCALES, prior), ends)
    return at(found.x), -found.fun, fixed


@pytest.mark.slow
def test_it_is_below_the_exact_evidence(few):
    """Also with q(X) held at what was measured, which is the lower of the two."""
    _, bound, fixed = best(few)
    log_w = few[3]
    weights = np.exp(log_w - log_w.max())
    exact, error = log_w.max() + np.log(weights.mean()), weights.std() / weights.mean() / np.sqrt(len(weights))
    assert error < 0.01
    assert fixed < bound - 1.0
    assert exact - 3.0 < bound < exact - 5 * error  # half a nat for each row


@pytest.mark.slow
def test_inputs_have_the_moments_of_the_exact_posterior(few):
    state, _, _ = best(few)
    prior, ends, X, log_w = few
    w = np.exp(log_w - logsumexp(log_w))
    mean = w @ X
    sd = np.sqrt(w @ np.square(X - mean))
    start = LatentProcesses(state.inducing, SCALES, posterior_weights(state.psi, ends, SCALES))
    processes = start.refined(prior.placed(state.inputs), ends)
    points = InputRows(processes, prior).located(ends)
    found = (points.weights * points.x[:, :, 0]).sum(axis=1)
    spread = np.sqrt((points.weights * np.square(points.x[:, :, 0] - found[:, None])).sum(axis=1))
    s = prior.sd[:, 0]
    assert np.abs((found - mean) / s).max() < 0.12
    assert np.abs((mean - prior.mean[:, 0]) / s).max() > 0.5  # the responses say something
    np.testing.assert_allclose(spread, sd, rtol=0.3)
    narrower = np.sqrt(state.prior.placed(state.inputs).var[:, 0])
    assert (narrower < spread * 1.02).all()  # q(x) is narrower than the weighted points


def test_the_search_ends_where_the_bound_is_level():
    data = simulated(1, 12)
    ends = ResponseEnds(data[["y"]].to_numpy(), data[["y"]].to_numpy())
    prior = InputPrior(data[["x"]].to_numpy() - 3.0, data[["sx"]].to_numpy())
    state = search(ends, prior, 5, n_starts=1, max_iter=3000, tol=1e-13)[0].state
    x = state.packed()
    steps = 1e-4 * np.eye(len(x))
    slopes = [(elbo(state.at(x + step), ends) - elbo(state.at(x - step), ends)) / 2e-4 for step in steps]
    assert np.abs(slopes).max() < 2e-3


@pytest.mark.parametrize("limit", [-9.0, 0.0])
def test_errors_of_zero_give_the_fit_of_known_inputs(limit):
    data = simulated(2, 30, limit)
    censored = f" | censor({limit})" if limit > -9.0 else ""
    res = tg.fit(f"y ~ gp(x, se=0){censored}", data, method=tg.VI(bound="local", inducing=10, n_starts=1))
    z = res.parts.x_centre + res.parts.x_scale * res.parts.processes.inducing.z
    known = dict(res.params) | {"sigma_lower": 0.0} if limit > -9.0 else dict(res.params)
    formula, grid = f"y ~ gp(x, line=False){censored}", {"x": np.linspace(0, 6, 7)}
    local = tg.fit(formula, data, method=tg.VI(bound="local", inducing=z), fixed=known)
    assert res.log_evidence == pytest.approx(local.log_evidence, abs=2e-3)
    exact = tg.fit(formula, data, method=tg.VI(inducing=z), fixed=dict(res.params))
    found, expected = (one.predict(grid, "latent", se=True) for one in (res, exact))
    np.testing.assert_allclose(found["estimate"], expected["estimate"], atol=5e-3)
    np.testing.assert_allclose(found["se"], expected["se"], rtol=0.02)


@pytest.mark.slow
def test_rows_at_uncertain_inputs_are_averages_over_them():
    """Density and moments, against quadrature over the input."""
    res = tg.fit("y ~ gp(x, se=sx) | censor(0)", simulated(3, 40), method=tg.VI(bound="local", n_starts=1))
    row = {"x": [2.4], "sx": [0.5]}

    def curve(x, what, **more):
        return res.predict({"x": [x]}, what, **more)

    def over(number):
        return quad(lambda x: norm.pdf(x, 2.4, 0.5) * number(x), -0.1, 4.9, epsabs=1e-7)[0]

    mean = over(lambda x: curve(x, "latent")[0])
    assert res.predict(row, "latent")[0] == pytest.approx(mean, abs=1e-4)
    second = over(lambda x: curve(x, "latent", se=True)["se"][0] ** 2 + (curve(x, "latent")[0] - mean) ** 2)
    assert res.predict(row, "latent", se=True)["se"][0] == pytest.approx(np.sqrt(second), rel=1e-3)
    below = over(lambda x: curve(x, "prob", below=0.7)[0])
    assert res.predict(row, "prob", below=0.7)[0] == pytest.approx(below, abs=1e-4)
    drawn = res.sample({"x": [2.4] * 2, "sx": [0.5] * 2}, 20_000, what="latent", rng=1).to_numpy()
    assert drawn.mean() == pytest.approx(mean, abs=0.02)
    together = res.posterior({"x": [2.4] * 2, "sx": [0.5] * 2}).covariance.to_numpy()
    np.testing.assert_allclose(np.cov(drawn), together, atol=0.02)


@pytest.mark.slow
def test_the_curve_is_nearer_to_the_truth_than_one_that_ignores_errors():
    grid = np.linspace(0.3, 5.7, 40)
    measured, ignored, inputs = [], [], []
    for seed in range(4):
        data = simulated(seed, 80)
        res = tg.fit("y ~ gp(x, se=sx) | censor(0)", data)
        plain = tg.fit("y ~ gp(x, line=False) | censor(0)", data, method=tg.VI(bound="local", hyper="maximize"))
        measured.append(res.predict({"x": grid}, "latent") - truth(grid))
        ignored.append(plain.predict({"x": grid}, "latent") - truth(grid))
        inputs.append((res.true_inputs()["estimate"] - data["true"]) / (data["x"] - data["true"]).std())
    rms = [np.sqrt(np.mean(np.square(np.concatenate(errors)))) for errors in (measured, ignored, inputs)]
    assert rms[0] < 0.75 * rms[1]
    assert rms[2] < 0.9  # of the errors of the measured inputs
