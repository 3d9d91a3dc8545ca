"""Evidence gradients in the locations of inducing inputs, against fourth-order differences."""

from dataclasses import replace

import numpy as np
import pytest
from support.differences import gradient
from support.distributions import DISTRIBUTIONS
from support.problems import GAUSSIAN, VARIANTS, dense, gp, make_problem, product, simulate, solve, tight

from tobitgp.inference.evidence import evidence_gradient
from tobitgp.likelihoods.noise import NoiseLikelihood
from tobitgp.priors.kernels import KERNELS

pytestmark = pytest.mark.diagonal

STEP = 2e-3
NEAR = 2e-6  # seen: 7e-7 (matern12, which has kinks at the rows); 1e-8 for the others
SIGMA = np.log(0.4)
PLACES = np.linspace(-1.52, 1.43, 5)[:, None]
CODES = np.array([0, 1, 2, 1, 0, 3, 2, 2, 1, 0, 3, 1])
WEIGHT = np.linspace(1.0, 3.0, 12)
SHAPES = {"alpha": 0.3, "arc": 0.2, "period": 1.4}


def log_parameters(*kernels):
    """Logarithms of the parameters of one-input kernels, in order, after a log sd."""
    out = [0.1]
    for name in kernels:
        out += [-0.3] * KERNELS[name].scaled + [SHAPES[role] for role in KERNELS[name].shape]
    return np.array(out)


def moving(block):
    """With its inducing inputs among its parameters."""
    return replace(block, moves=True)


def data_with(d=1, code=None, H=None):
    data = simulate("mixed", n=12, d=d, seed=1, noise=0.4)
    return make_problem(data.X, data.lower, data.upper, WEIGHT, H, code=None if code is None else (code,))


def check(problem, blocks, own, name, likelihood=GAUSSIAN):
    """``own``: each block's parameters, without the inducing inputs."""
    parts = [np.append(t, b.Z) if getattr(b, "moves", False) else t for b, t in zip(blocks, own, strict=True)]
    method, theta = tight(name), np.concatenate([*parts, [SIGMA]])
    centre = solve(problem, blocks, theta, method, None, likelihood)
    got = evidence_gradient(centre, method)
    want = gradient(lambda t: solve(problem, blocks, t, method, centre.sites, likelihood).evidence, theta, STEP)
    np.testing.assert_allclose(got, want, rtol=NEAR, atol=NEAR)
    return got


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("name", VARIANTS)
def test_gradient(name, kernel):
    problem, Z = data_with(), PLACES[:1] if kernel == "linear" else PLACES
    block = moving(gp(problem, product((kernel, 1)), Z=Z))
    got = check(problem, [block], [log_parameters(kernel)], name)
    assert len(got) == block.n_parameters + 1
    # A slope needs one inducing input, wherever it is.
    assert (np.abs(got[-1 - Z.size : -1]).max() < 1e-9) == (kernel == "linear")


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("name", ["ep", "vi", "laplace"])
def test_gradient_of_products(name, kernel):
    problem = data_with(d=2)
    Z = np.random.default_rng(3).uniform(-1.4, 1.4, (4, 2))
    other = "rbf" if kernel == "linear" else "linear"
    block = moving(gp(problem, product((other, 1), (kernel, 1)), Z=Z))
    check(problem, [block], [log_parameters(other, kernel)], name)


@pytest.mark.parametrize("ard", [True, False])
@pytest.mark.parametrize("name", VARIANTS)
def test_gradient_in_two_dimensions(name, ard):
    problem = data_with(d=2)
    Z = np.random.default_rng(3).uniform(-1.4, 1.4, (4, 2))
    theta = np.array([0.1, -0.1, 0.4][: 3 if ard else 2])
    check(problem, [moving(gp(problem, "matern52", Z=Z, ard=ard))], [theta], name)


@pytest.mark.parametrize("name", VARIANTS)
def test_gradient_with_groups_and_columns(name):
    """A curve for each group, all with the same inducing inputs, beside linear columns."""
    problem = data_with(code=CODES, H=np.column_stack([np.ones(12), np.cos(np.arange(12))]))
    blocks = [dense(problem), moving(gp(problem, "matern52", Z=PLACES[:3]))]
    check(problem, blocks, [np.empty(0), np.array([0.1, -0.5])], name)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ep", "vi", "laplace"])
def test_gradient_under_other_noise(name):
    problem = data_with()
    block = moving(gp(problem, "rbf", Z=PLACES))
    check(problem, [block], [np.array([0.1, -0.3])], name, NoiseLikelihood(DISTRIBUTIONS["logistic"]))


@pytest.mark.parametrize("name", ["ep", "vi"])
def test_inputs_left_out_are_not_felt(name):
    """Of two inducing inputs in one place the evidence feels one, and the slope of the others is as without it."""
    problem, theta = data_with(), np.array([0.1, -0.3])
    twice = moving(gp(problem, "matern52", Z=np.concatenate([PLACES, PLACES[2:3]])))
    once, method = moving(gp(problem, "matern52", Z=PLACES)), tight(name)
    slopes = []
    for block in (once, twice):
        posterior = solve(problem, [block], np.concatenate([theta, block.Z.ravel(), [SIGMA]]), method)
        slopes.append(evidence_gradient(posterior, method)[2:-1])
    pair = slopes[1][[2, 5]]
    assert (pair == 0.0).sum() == 1
    np.testing.assert_allclose(np.append(slopes[1][[0, 1, 3, 4]], pair.sum()), slopes[0][[0, 1, 3, 4, 2]], atol=1e-7)
