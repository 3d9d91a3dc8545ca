"""The compiled core beside the pure package, which it must equal."""

from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from support.blocks import CHAINS, CODES, STRUCTURES, WEIGHT, wavy
from support.problems import GAUSSIAN, RADIAL, dense, gp, make_problem, product, simulate, tight

import tobitgp as tg
from tobitgp.compiled import library
from tobitgp.data.arrays import Window
from tobitgp.distributions.gengamma import GenGammaNoise
from tobitgp.distributions.gumbel import Gumbel
from tobitgp.distributions.symmetric_noise import Logistic, StudentNoise
from tobitgp.errors import NumericalError
from tobitgp.inference import compiled, compiled_rows, partitioned
from tobitgp.inference.compiled_rows import CompiledMoments, find_noise
from tobitgp.inference.fixed_point import FeatureModel, settle
from tobitgp.inference.partitioned import cut
from tobitgp.likelihoods.families import GaussianNoise
from tobitgp.likelihoods.noise import NoiseLikelihood
from tobitgp.likelihoods.two_latents import noise_slopes, tilted_pair
from tobitgp.priors.kernel_block import greedy_inducing
from tobitgp.priors.structure import Inputs
from tobitgp.priors.vecchia import Vecchia

pytestmark = [
    pytest.mark.skipif(library.load() is None, reason="the core is not compiled, or turned off"),
    pytest.mark.diagonal,
]

METHODS = ("ep", "vi", "laplace")
MATERNS = ("matern12", "matern32", "matern52")
NEAR = 1e-8


@contextmanager
def without_core():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(library, "load", lambda: None)
        yield


def both(problem, blocks, theta, method, start=None, likelihood=GAUSSIAN):
    """Settled by the core and without it."""
    data, theta = cut(problem, [block.inputs for block in blocks], start), np.asarray(theta, float)
    model = FeatureModel(data, blocks, likelihood)
    assert model.plan is not None
    assert find_noise(method, likelihood) is not None
    got = settle(model, data, theta, method, slopes=True)
    with without_core():
        return got, settle(FeatureModel(data, blocks, likelihood), data, theta, method, slopes=True)


def assert_equal(got, want):
    assert got.converged
    assert want.converged
    np.testing.assert_allclose(got.evidence, want.evidence, rtol=NEAR, atol=NEAR)
    np.testing.assert_allclose(got.gradient, want.gradient, rtol=NEAR, atol=NEAR)
    for a, b in zip(got.data.partitions.items, want.data.partitions.items, strict=True):
        np.testing.assert_allclose(a.sites.lambda1, b.sites.lambda1, rtol=NEAR, atol=NEAR)
        np.testing.assert_allclose(a.sites.lambda2, b.sites.lambda2, rtol=NEAR, atol=NEAR)
    assert_equal_marginals(got, want, tuple(got.data.inputs(t) for t in range(len(got.posterior.blocks))))


def assert_equal_marginals(got, want, inputs):
    found = got.posterior.marginals(inputs)
    with without_core():
        expected = want.posterior.marginals(inputs)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=NEAR, atol=NEAR)


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("kernel", RADIAL)
@pytest.mark.parametrize("name", METHODS)
def test_structures(name, kernel, structure):
    problem, blocks, prior = STRUCTURES[structure](kernel)
    assert_equal(*both(problem, blocks, [*prior, np.log(0.4)], tight(name)))


def many(n=700, seed=3):
    """More rows than the core works on at once, every kind among them, in groups and with weights."""
    data = simulate("mixed", n=n, seed=seed, noise=0.4)
    rng = np.random.default_rng(seed)
    H = np.column_stack([np.ones(n), rng.normal(size=(n, 2))])
    none = np.empty((n, 0))
    codes = (None, rng.integers(0, 9, n), rng.integers(0, 9, n))
    return make_problem((data.X, data.X, none), data.lower, data.upper, rng.uniform(1, 4, n), H, codes)


@pytest.mark.parametrize("name", METHODS)
def test_many_rows_with_noise_of_their_own(name):
    problem = many()
    spread = np.exp(0.5 * np.cos(np.arange(problem.n)))
    ends = np.cumsum([0, *map(len, problem.rows)])
    rows = tuple(replace(r, spread=spread[a:b]) for r, a, b in zip(problem.rows, ends, ends[1:], strict=False))
    problem = replace(problem, rows=rows)
    Z = np.linspace(-1.6, 1.6, 14)[:, None]
    blocks = [dense(problem), gp(problem, "matern52", Z), gp(problem, "rbf", Z[::5], t=1)]
    assert_equal(*both(problem, blocks, [0.1, -0.5, -1.0, 0.2, -1.0], tight(name)))
    constant = gp(problem, product(), Z=np.empty((1, 0)), t=2)
    assert_equal(*both(problem, [*blocks[:2], constant], [0.1, -0.5, -1.0, -1.0], tight(name)))


@pytest.mark.parametrize("name", METHODS)
def test_features_that_are_not_kept(name, monkeypatch):
    monkeypatch.setattr(compiled, "MOST_BYTES", 0)
    problem = many()
    Z = np.linspace(-1.6, 1.6, 9)[:, None]
    periodic = gp(problem, product(("periodic", 1)), Z[::2], t=1)
    blocks = [dense(problem), gp(problem, "matern32", Z), periodic]
    assert_equal(*both(problem, blocks, [0.1, -0.5, -1.0, 0.1, 0.8, -1.0], tight(name)))


def many_terms(n=45, terms=4):
    """Rows with fewer places than the columns of their processes, whose inputs differ, and the parameters of these."""
    data, rng = simulate("mixed", n=n, noise=0.4), np.random.default_rng(2)
    inputs = tuple(rng.normal(size=(n, 1)) for _ in range(terms))
    problem = make_problem(inputs, data.lower, data.upper, rng.uniform(1, 4, n), np.column_stack([np.ones(n), data.X]))
    blocks = [gp(problem, RADIAL[t % len(RADIAL)], problem.X[t], t=t) for t in range(terms)]
    return problem, [dense(problem), *blocks], np.ravel([[-0.2 * t, -1.0 + 0.3 * t] for t in range(terms)])


@pytest.mark.parametrize("slopes", [False, True])
@pytest.mark.parametrize("name", METHODS)
def test_more_columns_than_rows(name, slopes, monkeypatch):
    """Iterations of many columns have no more than there are rows, but for the slopes of Laplace's method."""
    made, kind = [], library.Evaluation
    monkeypatch.setattr(library, "Evaluation", lambda *given, **named: made.append(kind(*given, **named)) or made[-1])
    problem, blocks, theta = many_terms()
    data, theta, method = cut(problem, [b.inputs for b in blocks]), np.append(theta, -1.0), tight(name)
    got = settle(FeatureModel(data, blocks, GAUSSIAN), data, theta, method, slopes=slopes)
    joined = name != "laplace" or not slopes
    assert made[0].p > problem.n
    assert made[0].rank == (problem.n if joined else made[0].p)
    with without_core():
        want = settle(FeatureModel(data, blocks, GAUSSIAN), data, theta, method, slopes=True)
    assert_equal(got if slopes else replace(got, gradient=want.gradient), want)


def test_more_columns_than_rows_of_any_kernel_and_noise():
    """Columns that the core is given, and a shape that is free."""
    problem, blocks, theta = many_terms()
    blocks[2] = gp(problem, product(("periodic", 1)), problem.X[1], t=1)
    theta = np.insert(theta, 4, 0.8)
    likelihood = NoiseLikelihood(StudentNoise(), free_shape=True)
    got, want = both(problem, blocks, [*theta, np.log(4.0), -1.0], tight("vi"), likelihood=likelihood)
    assert got.row_features > 100
    assert_equal(got, want)


@pytest.mark.parametrize("name", ["ep", "vi"])
def test_more_columns_than_exact_rows(name):
    """The evidence and its slopes are those of a normal density."""
    n, terms, rng = 40, 6, np.random.default_rng(5)
    X, y, H = tuple(rng.normal(size=(terms, n, 1))), rng.normal(size=n), rng.normal(size=(n, 1))
    problem = make_problem(X, y, y, np.ones(n), H)
    blocks = [dense(problem), *(gp(problem, "rbf", X[t], t=t) for t in range(terms))]
    theta = np.append(np.ravel([[-0.2 * t, -2.3 + 0.2 * t] for t in range(terms)]), -0.7)
    data = cut(problem, [b.inputs for b in blocks])
    found = settle(FeatureModel(data, blocks, GAUSSIAN), data, theta, tight(name), slopes=True)
    assert found.row_features > 100

    def log_density(theta):
        K = blocks[0].X @ blocks[0].X.T + np.exp(2.0 * theta[-1]) * np.eye(n)
        for x, (log_sd, log_scale) in zip(X, theta[:-1].reshape(-1, 2), strict=True):
            K += np.exp(2.0 * log_sd - 0.5 * ((x - x.T) / np.exp(log_scale)) ** 2)
        return multivariate_normal(cov=K).logpdf(y)

    steps = 1e-5 * np.eye(len(theta))
    slopes = [(log_density(theta + h) - log_density(theta - h)) / 2e-5 for h in steps]
    assert found.evidence == pytest.approx(log_density(theta), abs=1e-6)
    np.testing.assert_allclose(found.gradient, slopes, atol=1e-5)


def test_marginals_of_new_rows_and_new_groups(rng):
    problem = many()
    Z = np.linspace(-1.6, 1.6, 9)[:, None]
    blocks = [dense(problem), gp(problem, "matern52", Z), gp(problem, "rbf", Z[::3], t=1)]
    found = both(problem, blocks, [0.1, -0.5, -1.0, 0.2, -1.0], tight("ep"))[0].posterior
    X, code = rng.uniform(-3.0, 3.0, (300, 1)), rng.integers(-1, 9, 300)
    inputs = [Inputs(rng.normal(size=(300, 3))), Inputs(X), Inputs(X, code)]
    got = found.marginals(inputs)
    with without_core():
        want = found.marginals(inputs)
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(a, b, rtol=NEAR, atol=1e-12)


NOISES = {
    "logistic": (NoiseLikelihood(Logistic()), []),
    "gumbel": (NoiseLikelihood(Gumbel()), []),
    "student": (NoiseLikelihood(StudentNoise(4.0)), []),
    "student, df free": (NoiseLikelihood(StudentNoise(), free_shape=True), [np.log(2.5)]),
    "gengamma": (NoiseLikelihood(GenGammaNoise(-1.4)), []),
    "gengamma, nearly normal": (NoiseLikelihood(GenGammaNoise(0.002)), []),
    "gengamma, Q free": (NoiseLikelihood(GenGammaNoise(), free_shape=True), [0.7]),
}


@pytest.mark.quick_cases("ep-logistic--3.0", "laplace-student-0.1")
@pytest.mark.parametrize("sd", [-3.0, -1.0, 0.1, 1.5])
@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("name", METHODS)
def test_other_noise(name, noise, sd):
    """Rules from six nodes to panels, as the prior widens; every kind of row."""
    if name == "vi" and "gengamma" in noise and sd > 1.0:
        pytest.skip("expectations of its short tail are by quadrature, which does not reach so far")
    likelihood, shape = NOISES[noise]
    for structure in ("mixed", "grouped"):
        problem, blocks, prior = STRUCTURES[structure]("matern52")
        theta = [sd, *prior[1:], *shape, np.log(0.4)]
        assert_equal(*both(problem, blocks, theta, tight(name), None, likelihood))


def truncated(problem, gap=0.3):
    """The problem, with a window around every other row of each kind, on the sides on which its value has a limit."""
    rows, order = [], []
    for of_kind, start in zip(problem.rows, np.cumsum([0, *map(len, problem.rows)]), strict=False):
        for windowed in (False, True):
            at = np.arange(int(windowed), len(of_kind), 2)
            some = of_kind[at]
            if windowed:
                entry, exit = some.lower - gap, some.upper + 2.0 * gap
                some = replace(some, window=Window(entry, exit, exit - entry))
            rows.append(some)
            order.append(start + at)
    order = np.concatenate(order)
    X, code = (tuple(None if x is None else x[order] for x in each) for each in (problem.X, problem.code))
    return replace(problem, rows=tuple(rows), order=problem.order[order], H=problem.H[order], X=X, code=code)


@pytest.mark.quick_cases("ep-normal", "laplace-gumbel", "vi-normal")
@pytest.mark.parametrize("noise", ["normal", *NOISES])
@pytest.mark.parametrize("name", METHODS)
def test_truncated_rows(name, noise):
    likelihood, shape = NOISES.get(noise, (GAUSSIAN, []))
    if name == "vi" and noise == "gumbel":
        pytest.skip("expectations of its short tail need the parts of Python")
    problem, _, prior = STRUCTURES["mixed"]("matern52")
    problem = truncated(problem)
    blocks = [dense(problem), gp(problem, "matern52", problem.X[0][::3])]
    for sd in (-1.0, 0.5):
        theta = [sd, *prior[1:], *shape, np.log(0.4)]
        assert_equal(*both(problem, blocks, theta, tight(name), None, likelihood))


@pytest.mark.quick_cases("ep-normal", "laplace-gumbel")
@pytest.mark.parametrize("noise", ["normal", *NOISES])
@pytest.mark.parametrize("name", METHODS)
def test_rows_in_parts(name, noise, monkeypatch):
    """Such rows are iterated on in Python, and visited by the core."""
    likelihood, shape = NOISES.get(noise, (GAUSSIAN, []))
    problem, blocks, prior = STRUCTURES["sparse, mixed, weighted"]("matern32")
    theta = np.array([*prior, *shape, np.log(0.4)])
    monkeypatch.setattr(partitioned, "PART_ROWS", 5)
    data = cut(problem, [block.inputs for block in blocks])
    assert FeatureModel(data, blocks, likelihood).plan is None
    visits, visit = [], compiled_rows.Visitor.find_steps

    def count(*args):
        visits.append(1)
        return visit(*args)

    monkeypatch.setattr(compiled_rows.Visitor, "find_steps", count)
    got = settle(FeatureModel(data, blocks, likelihood), data, theta, tight(name), slopes=True)
    assert visits
    monkeypatch.setattr(library, "load", lambda: None)
    want = settle(FeatureModel(data, blocks, likelihood), data, theta, tight(name), slopes=True)
    assert got.iterations == want.iterations
    np.testing.assert_allclose(got.evidence, want.evidence, rtol=NEAR, atol=NEAR)
    np.testing.assert_allclose(got.gradient, want.gradient, rtol=NEAR, atol=NEAR)


@pytest.mark.parametrize("structure", CHAINS)
@pytest.mark.parametrize("kernel", MATERNS)
@pytest.mark.parametrize("name", METHODS)
def test_chains(name, kernel, structure, rng):
    problem, blocks, prior = CHAINS[structure](kernel)
    got, want = both(problem, blocks, [*prior, np.log(0.4)], tight(name))
    assert_equal(got, want)
    new = []
    for at in (block.inputs for block in blocks):
        X, code = rng.uniform(-2.0, 2.0, (50, at.X.shape[1])), rng.integers(-1, 6, 50)
        new.append(Inputs(X, None if at.code is None else code))
    assert_equal_marginals(got, want, new)


def test_sizes_are_those_of_the_core():
    header = Path(library.__file__).with_name("core.h").read_text()
    assert f"MOST_STATES = {library.MOST_STATES}, COLUMNS_AT_ONCE = {library.COLUMNS_AT_ONCE} " in header


@pytest.mark.parametrize("sd", [-1.0, 0.1, 1.5])
@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("name", METHODS)
def test_chains_under_other_noise(name, noise, sd):
    likelihood, shape = NOISES[noise]
    problem, blocks, prior = CHAINS["mixed"]("matern32")
    assert_equal(*both(problem, blocks, [sd, *prior[1:], *shape, np.log(0.4)], tight(name), None, likelihood))


@pytest.mark.parametrize("name", METHODS)
def test_chains_of_rows_in_several_parts(name, monkeypatch):
    """As of those in one, and warm starts from sites in several parts."""
    theta = np.array([0.1, -0.5, np.log(0.4)])
    problem, blocks, _ = CHAINS["mixed"]("matern52")
    alone = both(problem, blocks, theta, tight(name))[0]
    monkeypatch.setattr(partitioned, "PART_ROWS", 12)
    problem, blocks, _ = CHAINS["mixed"]("matern52")  # whose knots are in the order of the parts
    got, want = both(problem, blocks, theta, tight(name))
    assert len(got.data.partitions) > 1
    assert_equal(got, want)
    np.testing.assert_allclose(got.gradient, alone.gradient, rtol=NEAR, atol=NEAR)
    again = settle(FeatureModel(got.data, blocks, GAUSSIAN), got.data, theta, tight(name))
    assert again.iterations <= 2
    np.testing.assert_allclose(again.evidence, got.evidence, rtol=NEAR)


# Limits far out on either side, and intervals from narrow to wide, near and far.
FAR = np.array([-40.0, -9.0, -3.0, 0.0, 2.0, 8.0, 35.0])


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("width", [1e-9, 1e-3, 0.5, 3.0, 60.0, np.inf])
def test_rows_far_from_what_is_expected(name, width):
    lower = np.concatenate([np.linspace(-1.0, 1.0, 5), FAR])
    upper = np.concatenate([lower[:5], FAR + width])
    X = np.linspace(-1.7, 1.7, 12)[:, None]
    problem = make_problem(X, lower, upper, H=np.ones((12, 1)))
    for sd in (0.0, 3.0):
        blocks = [dense(problem), gp(problem, "matern32", X[::3])]
        assert_equal(*both(problem, blocks, [sd, -0.3, np.log(0.5)], tight(name)))


@pytest.mark.parametrize("name", METHODS)
def test_nothing_but_columns_or_groups(name):
    problem = wavy("mixed", weight=WEIGHT, H=np.column_stack([np.ones(12), np.cos(np.arange(12))]))
    assert_equal(*both(problem, [dense(problem)], [np.log(0.4)], tight(name)))
    data = simulate("mixed", n=12, seed=1)
    alone = make_problem(np.empty((12, 0)), data.lower, data.upper, code=(CODES,))
    blocks = [gp(alone, product(), Z=np.empty((1, 0)))]
    assert_equal(*both(alone, blocks, [-0.3, np.log(0.4)], tight(name)))


@pytest.mark.parametrize("name", METHODS)
def test_warm_starts_end_where_cold_ones_do(name):
    problem, blocks, prior = STRUCTURES["sparse, mixed, weighted"]("rbf")
    cold = both(problem, blocks, [*prior, np.log(0.4)], tight(name))[0]
    sites = cold.data.partitions.items[0].sites
    there = np.array([*prior, np.log(0.4)]) + 0.3
    warm, pure = both(problem, blocks, there, tight(name), sites)
    assert_equal(warm, pure)
    np.testing.assert_allclose(warm.evidence, both(problem, blocks, there, tight(name))[0].evidence, rtol=NEAR)


@pytest.mark.parametrize("kernel", RADIAL)
@pytest.mark.parametrize("d", [1, 3])
def test_the_same_inducing_inputs_are_chosen(kernel, d):
    rng = np.random.default_rng(d)
    X, weight = rng.uniform(-1.7, 1.7, (600, d)), rng.uniform(0.5, 2.0, 600)
    theta = np.array([0.2, *np.linspace(-0.6, 0.1, d)])
    for nats, cap in ((0.01, 80), (0.01, 5), (1e9, 80), (0.0, 40)):
        got = greedy_inducing(X, product((kernel, d)), theta, weight, nats=nats, cap=cap)
        with without_core():
            want = greedy_inducing(X, product((kernel, d)), theta, weight, nats=nats, cap=cap)
        np.testing.assert_array_equal(got[0], want[0])
        np.testing.assert_allclose(got[1], want[1], rtol=NEAR, atol=NEAR)


def test_breakdowns_are_told():
    problem, blocks, _ = STRUCTURES["one"]("rbf")
    with pytest.raises(NumericalError, match="not positive definite"):
        both(problem, blocks, [400.0, -0.5, np.log(0.4)], tight("ep"))


@pytest.mark.quick_cases("gumbel")
@pytest.mark.parametrize("noise", NOISES)
def test_rows_that_tell_of_log_sigma_too(noise):
    """Moments of both latents and slopes in the noise, of every kind of row, near the cavity and far from it."""
    likelihood, shape = NOISES[noise]
    problem, rng = many(15), np.random.default_rng(4)
    likelihood = likelihood.at(np.array([*shape, np.log(0.4)]))
    found = CompiledMoments.of(likelihood, tight("ep"))
    assert isinstance(found, CompiledMoments)
    for rows in problem.rows:
        n = len(rows)
        mean, root = rng.normal(size=(n, 2)), rng.normal(scale=0.5, size=(n, 2, 2))
        args = 0.4, rows, mean, root @ root.transpose(0, 2, 1) + 0.01 * np.eye(2), rng.uniform(0.0, 0.1, n)
        pairs = [*zip(tilted_pair(found, *args), tilted_pair(likelihood, *args), strict=True)]
        for got, want in [*pairs, (noise_slopes(found, *args), noise_slopes(likelihood, *args))]:
            np.testing.assert_allclose(got, want, rtol=NEAR, atol=NEAR)


@pytest.mark.quick_cases("gumbel")
@pytest.mark.parametrize("noise", [*NOISES, "normal"])
def test_means_over_both_latents(noise):
    """Means of the log likelihood and of its derivatives, and slopes in the noise, of every kind of row."""
    shape = () if noise == "normal" else NOISES[noise][1]
    likelihood = GaussianNoise() if noise == "normal" else NOISES[noise][0]
    problem, rng = many(15), np.random.default_rng(4)
    likelihood = likelihood.at(np.array([*shape, np.log(0.4)]))
    found = CompiledMoments.of(likelihood, tight("vi"))
    assert isinstance(found, CompiledMoments)
    for rows in problem.rows:
        mean, sd = rng.normal(size=len(rows)), rng.uniform(0.1, 1.0, len(rows))
        for question in ("expected", "tilted"):
            got, want = (getattr(each, question)(rows, mean, sd**2, 0.4) for each in (found, likelihood))
            for ours, theirs in zip(got, want, strict=True):
                np.testing.assert_allclose(ours, theirs, rtol=NEAR, atol=NEAR)
        assert len(found.expected(rows, mean, sd**2, 0.4, slopes=False).s0) == 1


@pytest.mark.slow
def test_a_fixed_point_of_both_latents_has_no_quadrature_of_the_pure_package(monkeypatch):
    g = np.arange(12) % 3
    data = {
        "y": np.array([0.3, 0.5, 2.0, 0.1, 1.1, 0.7, 0.2, 1.4, 5.0, 0.4, 0.9, 0.6]),
        "e": 1 + 0 * g,
        "g": [f"g{k}" for k in g],
    }
    method = tg.EP(hyper="maximize")
    start = {"sd(sigma: re(g))": 0.5, "sigma": 0.6}

    def fitted():
        return tg.fit("Surv(y, e) ~ 1", data, sigma="~ re(g)", family="weibull", method=method, fixed=start)

    with without_core():
        want = fitted()
    monkeypatch.setattr(NoiseLikelihood, "tilted", None)
    assert fitted().parts.fitted.evidence == pytest.approx(want.parts.fitted.evidence, abs=1e-7)


@pytest.mark.parametrize("kernel", ["matern12", "matern52"])
def test_neighbours(kernel, rng):
    """Vecchia's prior in groups, one of which has fewer knots than neighbours."""
    n = 400
    inputs = Inputs(rng.uniform(size=(n, 2)), np.where(np.arange(n) < 15, 1, 0))
    structure = Vecchia(inputs, product((kernel, 2)), 17, np.array([0.2, 0.3]))
    lambda2, U, signs = rng.uniform(-0.01, 9.0, n), rng.standard_normal((n, 3)), np.array([1.0, -1.0, 1.0])
    new = Inputs(rng.uniform(size=(7, 2)), np.arange(7) % 2)

    def found():
        at = structure.at([np.array([0.2, -1.6, -1.2])])
        given = at.condition(lambda2)
        smoothed = given.smooth(U).at(new)
        return at.D, given.log_det, given.variance, given.solve(U), given.gradient(U, signs), *smoothed

    got = found()
    with without_core():
        want = found()
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(a, b, rtol=NEAR, atol=NEAR)


def test_neighbours_without_a_posterior(rng):
    structure = Vecchia(Inputs(rng.uniform(size=(60, 2))), product(("matern32", 2)), 9, np.array([0.2, 0.3]))
    for wrong in (-9.0, np.nan):
        with pytest.raises(NumericalError, match="not positive definite"):
            structure.at([np.array([0.2, -1.6, -1.2])]).condition(np.full(60, wrong))
