"""Blocks of every structure, and small problems with every kind of row for them."""

import numpy as np

from support.problems import dense, gp, make_problem, product, simulate

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


def times(kernel, other, theta):
    problem = wavy("mixed", d=2)
    return problem, [gp(problem, product((other, 1), (kernel, 1)), Z=problem.X[0][::2])], theta


STRUCTURES = {
    "grouped": grouped,
    "only groups": only_groups,
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
