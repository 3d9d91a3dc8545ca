"""Blocks of every structure, and small problems with every kind of row for them."""

import numpy as np

from support.problems import CENSORING, dense, gp, make_problem, product, simulate
from support.structures import in_structure
from tobitgp.priors.group_effects import EffectsBlock
from tobitgp.priors.level_curves import LevelCurves, with_level
from tobitgp.priors.markov import Markov
from tobitgp.priors.structure import Grouping, Inputs

WEIGHT = np.linspace(1.0, 3.0, 12)  # EP's cavity need not exist for less than one copy


def wavy(censoring, d=1, weight=None, H=None, inputs=None):
    data = simulate(censoring, n=12, d=d, seed=1, noise=0.4)
    return make_problem(inputs or data.X, data.lower, data.upper, weight, H)


def one(kernel, censoring="two-sided", weight=None):
    problem = wavy(censoring, weight=weight)
    return problem, [gp(problem, kernel)], [0.1, -0.5]


def sparse(kernel):
    problem = wavy("two-sided")
    return problem, [gp(problem, kernel, Z=np.linspace(-1.5, 1.4, 5)[:, None])], [0.1, -0.2]


def sparse_mixed_weighted(kernel):
    problem = wavy("mixed", weight=WEIGHT)
    return problem, [gp(problem, kernel, Z=np.linspace(-1.5, 1.4, 5)[:, None])], [0.1, -0.2]


def with_columns(kernel):
    H = np.column_stack([np.ones(12), np.cos(np.arange(12))])
    problem = wavy("two-sided", H=H)
    return problem, [dense(problem), gp(problem, kernel)], [0.1, -0.5]


def two_processes(kernel):
    first, second = simulate("none", 12, seed=1).X, simulate("none", 12, d=2, seed=5).X
    problem = wavy("two-sided", inputs=(first, second))
    blocks = [gp(problem, kernel), gp(problem, "matern32", Z=second[:6], t=1)]
    return problem, blocks, [0.1, -0.5, -0.4, 0.2, 0.5]


def planar(kernel, ard):
    problem = wavy("two-sided", d=2)
    return problem, [gp(problem, kernel, ard=ard)], [0.1, -0.1, 0.4][: 3 if ard else 2]


CODES = np.array([0, 1, 2, 1, 0, 3, 2, 2, 1, 0, 3, 1])
OTHER = np.array([1, 1, 0, 0, 1, 0, 2, 1, 0, 0, 2, 1])
NONE = np.empty((12, 0))


def grouped(kernel):
    """A common curve, a curve for each group, a group's own level, columns, and a second grouping."""
    X, H = simulate("none", 12, seed=1).X, np.column_stack([np.ones(12), np.cos(np.arange(12))])
    data = simulate("mixed", n=12, seed=1, noise=0.4)
    codes = (None, CODES, CODES, OTHER)
    problem = make_problem((X, X, NONE, NONE), data.lower, data.upper, WEIGHT, H, codes)
    constant = product()
    blocks = [
        dense(problem),
        gp(problem, kernel, Z=X[::3]),
        gp(problem, kernel, Z=X[::4], t=1),
        gp(problem, constant, Z=NONE[:1], t=2),
        gp(problem, constant, Z=NONE[:1], t=3, name="h"),
    ]
    return problem, blocks, [0.1, -0.5, -0.3, 0.2, -0.7, -0.4]


def only_groups(kernel):
    data = simulate("two-sided", n=12, seed=1, noise=0.4)
    problem = make_problem(data.X, data.lower, data.upper, code=(CODES,))
    return problem, [gp(problem, kernel)], [0.1, -0.5]


def effects(kernel=None):
    """Correlated coefficients that differ between groups, others of a second grouping; beside a process, if any."""
    data, Z = simulate("mixed", n=12, seed=1, noise=0.4), np.random.default_rng(2).standard_normal((12, 5))
    inputs = [*([] if kernel is None else [data.X]), Z[:, :3], Z[:, 3:]]
    codes = [*([] if kernel is None else [None]), CODES, OTHER]
    problem = make_problem(tuple(inputs), data.lower, data.upper, WEIGHT, None, tuple(codes))
    first, second = problem.X[-2:]
    blocks = [] if kernel is None else [gp(problem, kernel)]
    blocks.append(EffectsBlock(Inputs(first, problem.code[-2]), Grouping("g", 4), 6))
    blocks.append(EffectsBlock(Inputs(second, problem.code[-1]), Grouping("h", 3), 2))
    theta = [-0.2, 0.3, -0.6, 0.5, -0.4, 0.7, -0.1, -0.9]
    return problem, blocks, theta if kernel is None else [0.1, -0.5, *theta]


def correlated_curves(kernel):
    """Of four groups, beside columns."""
    data, H = simulate("mixed", n=12, seed=1, noise=0.4), np.column_stack([np.ones(12), np.cos(np.arange(12))])
    problem = make_problem(data.X, data.lower, data.upper, WEIGHT, H, (CODES,))
    inputs = with_level(problem.X[0], problem.code[0])
    term = LevelCurves(inputs, product(), kernel=product((kernel, 1)), levels=4)
    theta = [0.1, -0.3, 0.2, -0.1, 0.4, -0.5, 0.3, 0.2, -0.6, 0.1, -0.5]
    return problem, [dense(problem), term.induced(problem.X[0][::2])], theta


def times(kernel, other, theta):
    problem = wavy("mixed", d=2)
    return problem, [gp(problem, product((other, 1), (kernel, 1)), Z=problem.X[0][::2])], theta


STRUCTURES = {
    "grouped": grouped,
    "only groups": only_groups,
    "random effects": effects,
    "correlated curves": correlated_curves,
    "times rq": lambda kernel: times(kernel, "rq", [0.1, 0.3, -0.2, -0.5]),
    "times periodic": lambda kernel: times(kernel, "periodic", [0.1, 0.3, 1.2, -0.5]),
    "times linear": lambda kernel: times(kernel, "linear", [0.1, -0.5]),
    "one": one,
    "left": lambda kernel: one(kernel, "left"),
    "uncensored": lambda kernel: one(kernel, "none"),
    "interval": lambda kernel: one(kernel, "interval"),
    "mixed": lambda kernel: one(kernel, "mixed"),
    "all censored": lambda kernel: one(kernel, "all"),
    "weighted": lambda kernel: one(kernel, "mixed", WEIGHT),
    "sparse": sparse,
    "sparse, mixed, weighted": sparse_mixed_weighted,
    "linear columns": with_columns,
    "two processes": two_processes,
    "ard": lambda kernel: planar(kernel, ard=True),
    "isotropic": lambda kernel: planar(kernel, ard=False),
}


def series(censoring="mixed", n=40, code=None, columns=2, inputs=(), weight=True):
    """A longer series in an order of its own with ties, with columns and other inputs beside it."""
    data, rng = simulate(censoring, n, seed=3, noise=0.4), np.random.default_rng(3)
    X, order = data.X.copy(), rng.permutation(n)
    X[5], X[21:24] = X[4], X[20]
    H = np.column_stack([np.ones(n), rng.standard_normal((n, columns - 1))]) if columns else None
    codes = (code, *(None for _ in inputs))
    more = tuple(rng.uniform(-1.7, 1.7, (n, 1)) for _ in inputs)
    weights = np.linspace(1.0, 2.5, n) if weight else None
    return make_problem((X[order], *more), data.lower[order], data.upper[order], weights, H, codes)


def chain(kernels, prior, **words):
    """A sum of processes as a chain; None stands for a random intercept."""

    def build(kernel):
        problem = series(**words)
        names = tuple(kernel if name == "kernel" else name for name in kernels)
        blocks = [dense(problem)] if problem.H.size else []
        return problem, [*blocks, *in_structure(problem, Markov, names)], prior

    return build


def chain_beside_processes(kernel):
    """With columns that the core makes and such that it does not."""
    problem = series(inputs=(1, 2))
    beside = [gp(problem, "rbf", problem.X[1][::4], t=1), gp(problem, product(("periodic", 1)), problem.X[2][::4], t=2)]
    blocks = [dense(problem), *in_structure(problem, Markov, (kernel,)), *beside]
    return problem, blocks, [0.1, -0.5, -0.4, 0.2, -0.6, 0.3, 0.7]


GROUPS = np.random.default_rng(4).integers(0, 5, 40)
CHAINS = {
    **{censoring: chain(["kernel"], [0.1, -0.5], censoring=censoring) for censoring in CENSORING},
    "no columns": chain(["kernel"], [0.1, -0.5], columns=0, weight=False),
    "many columns": chain(["kernel"], [0.1, -0.5], columns=12),
    "sum": chain(["kernel", "matern12"], [0.1, -0.2, -0.4, -1.0]),
    "groups": chain(["kernel"], [0.1, -0.5], code=GROUPS),
    "groups and their levels": chain(["kernel", None], [0.1, -0.5, -0.3], code=GROUPS),
    "beside processes": chain_beside_processes,
}
