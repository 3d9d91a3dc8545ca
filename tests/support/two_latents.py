"""Small problems in which rows are informative about f and about log sigma."""

import numpy as np

from tobitgp.data.arrays import KindRows
from tobitgp.inference.pair_rules import RULES
from tobitgp.inference.pair_sites import PairRows, iterate
from tobitgp.inference.partitioned import RowPartition
from tobitgp.likelihoods.families import GaussianNoise
from tobitgp.priors.group_effects import EffectsBlock
from tobitgp.priors.kernel_block import KernelBlock
from tobitgp.priors.kernels import KERNELS, Covariance, KernelFactor
from tobitgp.priors.prior import DenseFeatures
from tobitgp.priors.structure import Grouping, Inputs

X = np.array([0.0, 0.2, 0.4, 0.6, 0.8, 1.0])
Y = np.array([-0.5, 0.1, 0.7, 1.0, 0.3, -0.5])
ORDER = np.array([1, 2, 4, 0, 5, 3])  # exact rows, then those below -0.5, then that above 1
LEVEL = -0.9
INF = np.inf


def kinds(weight=(1.0,) * 6):
    y, c, none = Y[ORDER], np.asarray(weight)[ORDER], np.zeros(3)
    exact = KindRows("exact", y[:3], y[:3], y[:3], none, c[:3], none)
    lower, upper = np.array([-INF, -INF, 1.0]), np.array([-0.5, -0.5, INF])
    return exact, KindRows("one-sided", lower, upper, y[3:], np.array([-1.0, -1.0, 1.0]), c[3:], np.full(3, INF))


def root(sd, scale):
    K = sd**2 * np.exp(-0.5 * np.subtract.outer(X, X) ** 2 / scale**2)
    return np.linalg.cholesky(K + 1e-12 * np.eye(6))[ORDER]


def dense_rows(rows=None, **how):
    part = RowPartition(kinds() if rows is None else rows, (Inputs(root(1.5, 0.3)), Inputs(root(0.6, 0.5))))
    blocks = DenseFeatures(6), DenseFeatures(6)
    return PairRows.of(part, blocks, frozenset({1}), windows=True, slopes=False, **how)


def settle(data, floor=False, likelihood=None, sigma=None, rule="ep"):
    likelihood, sigma = likelihood or GaussianNoise(), np.exp(LEVEL) if sigma is None else sigma
    near = iterate(data, data.start, RULES["ep"], likelihood, sigma, tol=1e-2, most=100, floor=True)
    return iterate(data, near.sites, RULES[rule], likelihood, sigma, tol=1e-10, most=300, floor=floor)


N = 30
RNG = np.random.default_rng(7)
PLACES = np.sort(RNG.uniform(-1.5, 1.5, N))[:, None]
CODE = RNG.integers(0, 4, N)
NOISY = np.sin(2.0 * PLACES[:, 0]) + np.exp(-1.0 + 0.5 * PLACES[:, 0]) * RNG.normal(size=N)
RBF = Covariance((KernelFactor(KERNELS["rbf"], slice(0, 1), True),))
THETA = np.log([1.2, 0.7, 0.4, 0.5, 0.9, 0.3])  # of the curve, groups, curve of log sigma, groups of log sigma


def grouped_rows(theta, sought=True, M=5):
    """A curve and groups in both; features few enough that they leave something."""
    order = np.argsort(PLACES[:, 0] < -0.5, kind="stable")
    n, y, none = int((PLACES[:, 0] >= -0.5).sum()), NOISY[order], np.zeros(N)
    exact = KindRows("exact", y[:n], y[:n], y[:n], none[:n], np.ones(n), none[:n])
    below = KindRows(
        "one-sided", np.full(N - n, -INF), y[n:], y[n:], -np.ones(N - n), np.ones(N - n), np.full(N - n, INF)
    )
    at, code = Inputs(PLACES[order]), CODE[order]
    one, groups = Inputs(np.ones((N, 1)), code), Grouping("g", 4)
    Z = np.linspace(-1.5, 1.5, M)[:, None]
    blocks = [KernelBlock(at, RBF, Z, None), EffectsBlock(one, groups, 1)] * 2
    fixed = [block.at(own) for block, own in zip(blocks, np.split(theta, [2, 3, 5]), strict=True)]
    part = RowPartition((exact, below), (at, one, at, one))
    return PairRows.of(part, tuple(fixed), frozenset({2, 3}), windows=True, slopes=sought)
