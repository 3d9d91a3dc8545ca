"""Small censored problems on the standardised scale, and their posteriors at fixed parameters."""

from dataclasses import dataclass, replace

import numpy as np

from tobitgp.data.arrays import Instrument, KindRows, Problem, Units, Window
from tobitgp.inference import METHODS, VIUpdates
from tobitgp.inference.evidence import moments_of, sites_of
from tobitgp.inference.fixed_point import find_posterior
from tobitgp.inference.partitioned import cut
from tobitgp.inference.vi import BOUNDS
from tobitgp.likelihoods import FAMILIES
from tobitgp.priors.kernel_block import KernelBlock
from tobitgp.priors.kernels import KERNELS, Covariance, KernelFactor
from tobitgp.priors.prior import DenseBlock
from tobitgp.priors.structure import Grouping, Inputs

GAUSSIAN = FAMILIES["gaussian"].likelihood
CENSORING = ("none", "left", "right", "two-sided", "interval", "mixed", "all")
RADIAL = [name for name, kernel in KERNELS.items() if kernel.scaled and not kernel.shape]
# Methods and bounds, by name, whose hyper-parameters may be chosen by their own evidence.
VARIANTS = {name: method() for name, method in METHODS.items()}
VARIANTS |= {f"vi {name}": VIUpdates(bound=name) for name, row in BOUNDS.items() if row.maximised and name != "exact"}
TIGHT = 1e-10  # site changes, for comparisons finer than the default 1e-7 allows


def tight(name, tol=TIGHT):
    """A method that iterates almost to rounding error."""
    return replace(VARIANTS[name], tol=tol, max_iterations=1000)


def make_rows(lower, upper, weight=None, window=None):
    """Rows of one kind from their ends, (n,) each; ``window``: numbers between which all were seen."""
    lower, upper = np.asarray(lower, float), np.asarray(upper, float)
    weight = np.ones_like(lower) if weight is None else np.asarray(weight, float)
    left, right = np.isneginf(lower), np.isposinf(upper)
    sign = np.where(left, -1.0, np.where(right, 1.0, 0.0))
    kind = "exact" if (lower == upper).all() else "one-sided" if (left | right).all() else "interval"
    if window is not None:
        ends = [np.full_like(lower, end) for end in window]
        window = Window(*ends, ends[1] - ends[0])
    return KindRows(kind, lower, upper, np.where(left, upper, lower), sign, weight, upper - lower, window)


def make_problem(X, lower, upper, weight=None, H=None, code=None, window=None):
    """Problem from inputs (n, d) or a tuple of them, already standardised; ``window``: of all rows alike."""
    X = X if isinstance(X, tuple) else (X,)
    lower, upper = np.asarray(lower, float), np.asarray(upper, float)
    weight = np.ones_like(lower) if weight is None else np.asarray(weight, float)
    H = np.zeros((len(lower), 0)) if H is None else H
    kind = np.where(lower == upper, 0, np.where(np.isinf(lower) | np.isinf(upper), 1, 2))
    order = np.argsort(kind, kind="stable")
    groups = [order[kind[order] == k] for k in range(3)]
    rows = tuple(make_rows(lower[g], upper[g], weight[g], window) for g in groups if len(g))
    none = tuple(np.zeros(x.shape[1]) for x in X)
    units = Units(0.0, 1.0, False, none, tuple(1.0 + z for z in none), 0.0)
    code = (None,) * len(X) if code is None else code
    code = tuple(None if c is None else np.asarray(c)[order] for c in code)
    return Problem(rows, order, H[order], tuple(x[order] for x in X), code, units)


def with_instrument(problem, lower, upper):
    """The problem with the same limits beside every row."""
    rows = tuple(
        replace(r, instrument=Instrument(np.full(len(r), float(lower)), np.full(len(r), float(upper)), 1.0))
        for r in problem.rows
    )
    return replace(problem, rows=rows)


def from_codes(X, y, censored):
    """Problem from values and codes -1 (left), 0 (exact), 1 (right)."""
    y, censored = np.asarray(y, float), np.asarray(censored)
    return make_problem(X, np.where(censored == -1, -np.inf, y), np.where(censored == 1, np.inf, y))


@dataclass(frozen=True)
class Data:
    """Inputs, ends and weights in the order they were drawn."""

    X: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    weight: np.ndarray

    def problem(self, H=None):
        return make_problem(self.X, self.lower, self.upper, self.weight, H)

    def take(self, rows):
        return Data(self.X[rows], self.lower[rows], self.upper[rows], self.weight[rows])


def simulate(censoring, n=14, d=1, seed=0, noise=0.3):
    """A wave with noise, seen as ``censoring`` says."""
    rng = np.random.default_rng(seed)
    X = np.sort(rng.uniform(-1.7, 1.7, (n, d)), axis=0) if d == 1 else rng.uniform(-1.7, 1.7, (n, d))
    y = np.sin(2.0 * X[:, 0]) + X[:, 1:].sum(axis=1) * 0.5 + noise * rng.standard_normal(n)
    lower, upper = see(y, censoring)
    return Data(X, lower, upper, np.ones(n))


def see(y, censoring):
    """Ends of the rows' intervals, (n,) each."""
    low, high = np.quantile(y, [0.35, 0.7])
    start = 0.5 * np.floor(y / 0.5)
    below, above, every_other = y < low, y > high, np.arange(len(y)) % 2 == 0
    lower, upper = y.copy(), y.copy()
    if censoring in ("left", "two-sided", "mixed"):
        lower[below], upper[below] = -np.inf, low
    if censoring in ("right", "two-sided", "mixed"):
        lower[above], upper[above] = high, np.inf
    if censoring == "interval":
        lower[every_other], upper[every_other] = start[every_other], start[every_other] + 0.5
    if censoring == "mixed":
        inside = ~below & ~above & every_other
        lower[inside], upper[inside] = start[inside], start[inside] + 0.5
    if censoring == "all":
        lower, upper = np.where(y < 0.0, -np.inf, 0.0), np.where(y < 0.0, 0.0, np.inf)
    return lower, upper


def product(*factors):
    """Covariance from (kernel, number of inputs) pairs, with a third entry False for one length-scale."""
    made, start = [], 0
    for name, d, *ard in factors:
        made.append(KernelFactor(KERNELS[name], slice(start, start + d), *ard))
        start += d
    return Covariance(tuple(made))


def gp(problem, kernel="rbf", Z=None, ard=True, t=0, name="g"):
    """Kernel block on the problem's t-th inputs and groups; all inputs induce unless Z is given."""
    X, code = problem.X[t], problem.code[t]
    made = product((kernel, X.shape[1], ard)) if isinstance(kernel, str) else kernel
    grouping = None if code is None else Grouping(name, int(code.max()) + 1)
    return KernelBlock(Inputs(X, code), made, X if Z is None else Z, grouping)


def dense(problem):
    return DenseBlock(problem.H)


def solve(problem, blocks, theta, method, start=None, likelihood=GAUSSIAN):
    """Settle at log parameters ``theta``, with Gaussian noise where no other is named."""
    whole = cut(problem, [block.inputs for block in blocks], start)
    posterior = find_posterior(whole, blocks, np.asarray(theta, float), method, likelihood)
    return replace(posterior, sites=sites_of(posterior))


def marginals(posterior, problem):
    """Mean and sd of f at the training rows, in the data's order."""
    mean, var = np.empty(problem.n), np.empty(problem.n)
    mean[problem.order], var[problem.order] = moments_of(posterior)
    return mean, np.sqrt(var)


def predict(posterior, *inputs):
    """Mean and sd of f at new rows."""
    m, v_p, d = posterior.marginals([at if isinstance(at, Inputs) else Inputs(at) for at in inputs])
    return m, np.sqrt(v_p + d)
