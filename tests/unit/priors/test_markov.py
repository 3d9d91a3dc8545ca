"""Markov processes against dense covariances."""

import numpy as np
import pytest
from support.differences import gradient
from support.oracles import covariance

from tobitgp.errors import NumericalError
from tobitgp.priors.kernels import KERNELS, Covariance, KernelFactor
from tobitgp.priors.markov import MATERN, Markov, is_markov, matern
from tobitgp.priors.structure import Inputs

pytestmark = pytest.mark.diagonal

MATERNS = ["matern12", "matern32", "matern52"]
LEVEL = None  # a random intercept of each series
CASES = {
    **{name: ([name], None) for name in MATERNS},
    "matern12 + matern52": (["matern12", "matern52"], None),
    "matern12 + matern32, 4 groups": (["matern12", "matern32"], 4),
    "matern32 and levels of 5 groups": (["matern32", LEVEL], 5),
    "matern52 and levels of 40 groups": (["matern52", LEVEL], 40),
    "more states than the compiled core takes": (["matern52"] * 5, 4),
}


def term(name, column=0):
    return Covariance(() if name is LEVEL else (KernelFactor(KERNELS[name], slice(column, column + 1)),))


def some_theta(names, rng):
    return [0.3 * rng.standard_normal(1 if name is LEVEL else 2) for name in names]


def dense(names, theta, a, b, terms=None):
    """Covariance (n, m) of the sum of some terms, or all, at inputs a and b."""
    K = np.zeros((len(a.X), len(b.X)))
    for t, (name, own) in enumerate(zip(names, theta, strict=True)):
        if terms is None or t in terms:
            K += np.exp(2.0 * own[0]) if name is LEVEL else covariance(name, a.X, b.X, own)
    return K if a.code is None else K * (a.code[:, None] == b.code)


def split(theta, names):
    return np.split(theta, np.cumsum([1 if name is LEVEL else 2 for name in names])[:-1])


class Case:
    """A structure on knots in any order, its dense posterior, and columns."""

    def __init__(self, names, groups, rng, n=120, gaps=None, noise=0.3, k=3):
        gaps = rng.exponential(0.05, n) if gaps is None else gaps
        X = rng.permutation(np.cumsum(gaps))[:, None]
        self.names, self.theta = names, some_theta(names, rng)
        self.inputs = Inputs(X, None if groups is None else rng.integers(0, groups, n))
        self.structure = Markov(self.inputs, tuple(map(term, names)))
        self.lambda2 = rng.uniform(0.2, 1.0, n) / noise**2 * (rng.random(n) < 0.8)
        self.U, self.signs = rng.standard_normal((n, k)), np.resize([1.0, -1.0, 1.0], k)
        self.K = dense(names, self.theta, self.inputs, self.inputs)
        root = np.sqrt(self.lambda2)
        self.B = np.eye(n) + root[:, None] * self.K * root
        self.R = root[:, None] * np.linalg.inv(self.B) * root
        self.V = self.K - self.K @ self.R @ self.K
        self.x = self.U - self.R @ (self.K @ self.U)

    @property
    def conditioned(self):
        return self.structure.at(self.theta).condition(self.lambda2)

    def slopes(self, x, signs):
        """Of ``1/2 sum signs x'Kx - 1/2 tr(R0 K)`` with x and R0 held."""

        def value(theta):
            K = dense(self.names, split(theta, self.names), self.inputs, self.inputs)
            return 0.5 * np.einsum("nj,nm,mj,j->", x, K, x, signs) - 0.5 * np.einsum("nm,nm->", self.R, K)

        return gradient(value, np.concatenate(self.theta), 1e-3)


@pytest.fixture(params=CASES)
def case(request, rng):
    return Case(*CASES[request.param], rng)


def test_log_det_variance_and_values(case):
    found = case.conditioned
    assert found.log_det == pytest.approx(np.linalg.slogdet(case.B)[1], abs=1e-11)
    np.testing.assert_allclose(found.variance, case.V.diagonal(), rtol=1e-10)
    np.testing.assert_allclose(found.solve(case.U), case.V @ case.U, rtol=0, atol=1e-10 * np.abs(case.V).max())


def test_gradient(case):
    found = case.conditioned
    np.testing.assert_allclose(found.gradient(case.U, case.signs), case.slopes(case.x, case.signs), rtol=1e-7)
    none = np.zeros((len(case.U), 0)), np.zeros(0)
    np.testing.assert_allclose(found.gradient(*none), case.slopes(*none), rtol=1e-7)


@pytest.mark.parametrize("which", ["all", "first", "last"])
def test_other_places_and_knots(case, which, rng):
    terms = {"all": None, "first": [0], "last": [len(case.names) - 1]}[which]
    X, code = case.inputs
    x = np.concatenate([rng.uniform(X.min() - 1.0, X.max() + 1.0, 30), X[:5, 0]])[:, None]
    new = Inputs(x, None if code is None else np.concatenate([rng.integers(-1, 3, 30), code[:5]]))
    K = dense(case.names, case.theta, new, case.inputs, terms)
    prior = dense(case.names, case.theta, Inputs(x), Inputs(x), terms).diagonal()
    found, variance = case.conditioned.smooth(case.U).at(new, terms)
    np.testing.assert_allclose(found, K @ case.x, rtol=0, atol=1e-11)
    np.testing.assert_allclose(variance, prior - np.einsum("nm,mk,nk->n", K, case.R, K), rtol=0, atol=1e-12)
    if code is not None:
        np.testing.assert_array_equal(found[new.code < 0], 0.0)


@pytest.mark.parametrize("name", MATERNS)
@pytest.mark.parametrize("n", [1, 2, 3, 64, 65])
def test_few_knots(name, n, rng):
    case = Case([name], None, rng, n)
    found = case.conditioned
    assert found.log_det == pytest.approx(np.linalg.slogdet(case.B)[1], abs=1e-11)
    np.testing.assert_allclose(found.variance, case.V.diagonal(), rtol=1e-10)
    np.testing.assert_allclose(found.gradient(case.U, case.signs), case.slopes(case.x, case.signs), 1e-7, 1e-9)


@pytest.mark.parametrize("name", MATERNS)
def test_near_ties_and_a_wide_gap(name, rng):
    gaps = np.where(rng.random(120) < 0.5, 1e-9, rng.exponential(0.05, 120))
    gaps[60] = 1e4
    case = Case([name], None, rng, gaps=gaps)
    found = case.conditioned
    # Differences of all pairs of inputs near 1e4, unlike those of neighbours, are rounded to 1e-12.
    assert found.log_det == pytest.approx(np.linalg.slogdet(case.B)[1], abs=1e-9)
    np.testing.assert_allclose(found.variance, case.V.diagonal(), rtol=1e-9)
    np.testing.assert_allclose(found.solve(case.U), case.V @ case.U, rtol=0, atol=1e-10 * np.abs(case.V).max())
    np.testing.assert_allclose(found.gradient(case.U, case.signs), case.slopes(case.x, case.signs), rtol=1e-7)


@pytest.mark.parametrize("scale", [1e-9, 1e-6, 1e-3, 1e3, 1e8, "all"])
@pytest.mark.parametrize("name", MATERNS)
def test_gaps_of_any_length(name, scale, rng):
    gaps = 10.0 ** rng.uniform(-9.0, 3.0, 120) if scale == "all" else rng.exponential(scale, 120)
    case = Case([name], None, rng, gaps=gaps, k=20)
    found = case.conditioned
    assert found.log_det == pytest.approx(np.linalg.slogdet(case.B)[1], abs=1e-9)
    np.testing.assert_allclose(found.variance, case.V.diagonal(), rtol=1e-9)
    # The dense V is a difference of matrices as large as the prior's.
    np.testing.assert_allclose(found.solve(case.U), case.V @ case.U, rtol=0, atol=1e-10 * case.K.max())
    want = case.slopes(case.x, case.signs)
    np.testing.assert_allclose(found.gradient(case.U, case.signs), want, rtol=1e-7, atol=1e-8 * np.abs(want).max())


def exact_cholesky(B):
    """In the longest numbers there are, which LAPACK has not."""
    L = B.copy()
    for j in range(len(B)):
        L[j:, j] -= L[j:, :j] @ L[j, :j]
        L[j:, j] /= np.sqrt(L[j, j])
        L[j, j + 1 :] = 0.0
    return L


@pytest.mark.parametrize(
    ("noise", "log_det", "variance"), [(1e-2, 5e-12, 9e-12), (1e-3, 4e-11, 6e-10), (1e-4, 2e-9, 7e-8)]
)
@pytest.mark.parametrize("name", MATERNS)
def test_small_noise_loses_few_digits(name, noise, log_det, variance, rng):
    case = Case([name], None, rng, noise=noise)
    K = KERNELS[name].value(case.inputs.X.astype(np.longdouble), case.inputs.X.astype(np.longdouble), np.empty(0))
    root = np.sqrt(case.lambda2.astype(np.longdouble))
    L = exact_cholesky(np.eye(len(K)) + root[:, None] * K * root)
    T = root[:, None] * K
    for i in range(len(K)):
        T[i] = (T[i] - L[i, :i] @ T[:i]) / L[i, i]
    found = case.structure.at([np.zeros(2)]).condition(case.lambda2)
    assert found.log_det == pytest.approx(float(2.0 * np.log(L.diagonal()).sum()), abs=log_det)
    np.testing.assert_allclose(found.variance, (K - T.T @ T).diagonal().astype(float), rtol=variance)


@pytest.mark.parametrize("p", range(3))
def test_noise_of_transitions_keeps_its_relative_precision(p):
    """Against quadrature of (MKV2), which has no cancellation."""
    u = np.array([1e-9, 1e-4, 0.02, 0.7, 3.0])
    t, weight = np.polynomial.legendre.leggauss(40)
    t, weight = 0.5 * (t + 1.0), 0.5 * weight
    _, C = matern(p, u)
    for i, gap in enumerate(u):
        s = gap * t
        g = MATERN[p].g @ s ** np.arange(p + 1)[:, None] * np.exp(-s)
        np.testing.assert_allclose(C[..., i], MATERN[p].q * gap * (g * weight) @ g.T, rtol=1e-12, atol=1e-300)


def test_no_sites_leave_the_prior(rng):
    case = Case(["matern52"], None, rng)
    found = case.structure.at([np.array([0.4, 0.1])]).condition(np.zeros(120))
    assert found.log_det == 0.0
    np.testing.assert_allclose(found.variance, np.exp(0.8), rtol=1e-14)


def test_further_knots_follow_the_own(case, rng):
    new = Inputs(rng.uniform(-1.0, 7.0, (20, 1)), None if case.inputs.code is None else rng.integers(0, 6, 20))
    extended = case.structure.extended(new)
    np.testing.assert_array_equal(extended.inputs.X, np.concatenate([case.inputs.X, new.X]))
    found = extended.at(case.theta).condition(np.append(case.lambda2, np.zeros(20)))
    U = np.concatenate([case.U, np.zeros((20, 3))])
    values, variance = case.conditioned.smooth(case.U).at(new)
    np.testing.assert_allclose(found.solve(U)[120:], values, rtol=0, atol=1e-11)
    np.testing.assert_allclose(found.variance[120:], variance, rtol=1e-10)
    np.testing.assert_allclose(found.variance[:120], case.conditioned.variance, rtol=1e-10)


@pytest.mark.parametrize("names", [["matern12"], ["matern32"], ["matern52"], ["matern32", LEVEL]], ids=str)
def test_draws_have_the_prior_covariance(names, rng):
    case, draws = Case(names, 2, rng, n=12), 20000
    f = case.structure.at(case.theta).draw(draws, rng)
    error = np.sqrt((case.K**2 + np.outer(case.K.diagonal(), case.K.diagonal())) / draws)
    assert f.shape == (12, draws)
    assert (np.abs(f @ f.T / draws - case.K) < 4.5 * error).all()


def test_precisions_that_outweigh_the_prior_are_refused(rng):
    case = Case(["matern32"], None, rng)
    at = case.structure.at(case.theta)
    mild = np.full(120, -0.5 / np.linalg.eigvalsh(case.K)[-1])
    V = np.linalg.solve(np.eye(120) + case.K * mild, case.K)
    np.testing.assert_allclose(at.condition(mild).variance, V.diagonal(), rtol=1e-9)
    with pytest.raises(NumericalError, match="outweigh the prior"):
        at.condition(3.0 * mild)


def test_which_terms_have_a_state():
    assert is_markov([term("matern12"), term("matern52"), term(LEVEL)])
    assert not is_markov([term(LEVEL)])
    assert not is_markov([term("matern12"), term("rbf")])
    assert not is_markov([Covariance((KernelFactor(KERNELS["matern12"], slice(0, 2)),))])
    assert not is_markov([Covariance(term("matern12").factors + term("matern32", 1).factors)])
