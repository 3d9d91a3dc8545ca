"""Features that stay while parameters move: the evidence is that of features made anew."""

from dataclasses import replace

import numpy as np
import pytest
from support.blocks import CODES, NONE, OTHER, WEIGHT, effects, wavy
from support.problems import GAUSSIAN, dense, gp, make_problem, product, simulate, tight

from tobitgp.distributions.gumbel import Gumbel
from tobitgp.distributions.symmetric_noise import StudentNoise
from tobitgp.inference import frozen, partitioned
from tobitgp.inference.fixed_point import FeatureModel, settle
from tobitgp.inference.frozen import Frozen
from tobitgp.inference.partitioned import cut
from tobitgp.likelihoods.noise import NoiseLikelihood

pytestmark = pytest.mark.diagonal

METHODS = ("ep", "vi", "laplace")
MOVE = 0.3  # of every parameter, from where features were made


def one():
    problem = wavy("mixed", weight=WEIGHT)
    return problem, [gp(problem, "rbf")], [0.1, -0.5]


def columns():
    problem = wavy("two-sided", H=np.column_stack([np.ones(12), np.cos(np.arange(12))]))
    return problem, [dense(problem), gp(problem, "matern32")], [0.1, -0.5]


def two():
    x, z = simulate("none", 12, seed=1).X, simulate("none", 12, d=2, seed=5).X
    problem = wavy("mixed", inputs=(x, z))
    return problem, [gp(problem, "rbf"), gp(problem, "matern52", t=1, ard=True)], [0.1, -0.5, -0.4, 0.2, 0.5]


def grouped():
    """A common curve, a curve for each group and a level of it, columns, and a second grouping."""
    X, H = simulate("none", 12, seed=1).X, np.column_stack([np.ones(12), np.cos(np.arange(12))])
    data, codes = simulate("mixed", n=12, seed=1, noise=0.4), (None, CODES, CODES, OTHER)
    problem = make_problem((X, X, NONE, NONE), data.lower, data.upper, WEIGHT, H, codes)
    levels = [gp(problem, product(), Z=NONE[:1], t=2), gp(problem, product(), Z=NONE[:1], t=3, name="h")]
    blocks = [dense(problem), gp(problem, "rbf"), gp(problem, "matern32", t=1), *levels]
    return problem, blocks, [0.1, -0.5, -0.3, 0.2, -0.7, -0.4]


def only_groups():
    data = simulate("two-sided", n=12, seed=1, noise=0.4)
    problem = make_problem(data.X, data.lower, data.upper, code=(CODES,))
    return problem, [gp(problem, "rbf")], [0.1, -0.5]


def no_limits():
    problem = wavy("none")
    return problem, [gp(problem, "rbf")], [0.1, -0.5]


def all_limits():
    data = simulate("none", n=12, seed=1, noise=0.4)
    problem = make_problem(data.X, np.full(12, -np.inf), data.upper)
    return problem, [gp(problem, "rbf")], [0.1, -0.5]


def noise_of_their_own():
    problem, blocks, prior = one()
    spread, ends = np.exp(0.5 * np.cos(np.arange(problem.n))), np.cumsum([0, *map(len, problem.rows)])
    rows = tuple(replace(r, spread=spread[a:b]) for r, a, b in zip(problem.rows, ends, ends[1:], strict=False))
    return replace(problem, rows=rows), blocks, prior


def truncated():
    data = simulate("two-sided", n=12, seed=1, noise=0.4)
    problem = make_problem(data.X, data.lower, data.upper, window=(data.lower.min(initial=0.0) - 3.0, np.inf))
    return problem, [gp(problem, "rbf")], [0.1, -0.5]


PROBLEMS = (one, columns, two, grouped, only_groups, effects, no_limits, all_limits, noise_of_their_own, truncated)


def both(problem, blocks, theta, method, likelihood=GAUSSIAN, moved=MOVE):
    """Settled with features that stay, made elsewhere, and with those made there."""
    theta, data = np.asarray(theta), cut(problem, [block.inputs for block in blocks])
    kept, rows = Frozen.of(data, blocks, theta - moved, method, likelihood)
    models = FeatureModel(rows, blocks, likelihood, kept), FeatureModel(data, blocks, likelihood)
    return [settle(m, d, theta, method, slopes=True) for m, d in zip(models, (rows, data), strict=True)]


def assert_equal(got, want, near=1e-6):
    assert got.converged
    np.testing.assert_allclose(got.evidence, want.evidence, rtol=near, atol=near)
    np.testing.assert_allclose(got.gradient, want.gradient, rtol=near, atol=10.0 * near)
    for a, b in zip(got.data.partitions.items, want.data.partitions.items, strict=True):
        np.testing.assert_allclose(a.sites.lambda1, b.sites.lambda1, rtol=near, atol=10.0 * near)
        np.testing.assert_allclose(a.sites.lambda2, b.sites.lambda2, rtol=near, atol=10.0 * near)


@pytest.mark.parametrize("make", PROBLEMS)
@pytest.mark.parametrize("name", METHODS)
def test_where_nothing_is_left_out(name, make):
    problem, blocks, prior = make()
    assert_equal(*both(problem, blocks, [*prior, np.log(0.4)], tight(name)))


NOISES = {
    "student": (NoiseLikelihood(StudentNoise(4.0)), []),
    "student, df free": (NoiseLikelihood(StudentNoise(), free_shape=True), [np.log(4.0)]),
    "gumbel": (NoiseLikelihood(Gumbel()), []),
}


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("name", METHODS)
def test_other_noise(name, noise):
    problem, blocks, prior = columns()
    likelihood, more = NOISES[noise]
    assert_equal(*both(problem, blocks, [*prior, *more, np.log(0.4)], tight(name), likelihood))


@pytest.mark.slow
@pytest.mark.parametrize("name", METHODS)
def test_rows_in_parts_without_room_for_features(name, monkeypatch):
    problem, blocks, prior = grouped()
    monkeypatch.setattr(partitioned, "PART_ROWS", 5)
    monkeypatch.setattr(frozen, "SOUGHT_BYTES", 0)
    assert_equal(*both(problem, blocks, [*prior, np.log(0.4)], tight(name)))


@pytest.mark.parametrize("name", METHODS)
def test_gradient_of_few_features(name):
    """Where features leave something, the gradient is that of the evidence with the features that stay."""
    problem = wavy("mixed", weight=WEIGHT)
    blocks, method = [gp(problem, "matern12", Z=np.linspace(-1.5, 1.4, 5)[:, None])], tight(name)
    theta, data = np.array([0.1, -0.5, np.log(0.4)]), cut(problem, [blocks[0].inputs])
    kept, rows = Frozen.of(data, blocks, theta - MOVE, method, GAUSSIAN)
    model, h = FeatureModel(rows, blocks, GAUSSIAN, kept), 1e-5

    def value(at):
        return settle(model, rows, at, method).evidence

    slopes = [(value(theta + h * e) - value(theta - h * e)) / (2.0 * h) for e in np.eye(3)]
    np.testing.assert_allclose(settle(model, rows, theta, method, slopes=True).gradient, slopes, rtol=1e-6, atol=1e-6)
