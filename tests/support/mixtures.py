"""Random censored rows of each family of components, and fits without the way through fit_mixture."""

import numpy as np
import pytest

import tobitgp as tg
from tobitgp.mixture.arranged_rows import arrange, read_rows
from tobitgp.mixture.array_fit import MIXTURE_FAMILIES, read_prior
from tobitgp.mixture.coordinate_ascent import chunks_of, evaluate
from tobitgp.mixture.evidence_bound import Bayes, Points
from tobitgp.mixture.exponential_family import NaturalFamily
from tobitgp.mixture.mixture_priors import Dirichlet, DirichletProcess
from tobitgp.mixture.starts import choose_units, starts

RAYLEIGH = tg.ExponentialFamily(
    "rayleigh",
    statistic=lambda y: y**2,
    log_partition=lambda eta: -np.log(-2.0 * eta),
    natural=[(-np.inf, 0.0)],
    log_base=np.log,
    support=(0.0, np.inf),
    parameters={"scale": lambda eta: np.sqrt(-0.5 / eta)},
    units={"scale": 1},
)
# Families with functions of their own; those of test_exponential_families.py are made from theirs.
NAMES = tuple(name for name, family in MIXTURE_FAMILIES.items() if not isinstance(family, NaturalFamily))
# The others of which mixtures are identified: those of Bernoulli components are not.
READY = tuple(name for name in MIXTURE_FAMILIES if name not in (*NAMES, "bernoulli"))
EVERY = (*NAMES, *(pytest.param(name, marks=pytest.mark.slow) for name in READY))
COUNTS = tuple(name for name, family in MIXTURE_FAMILIES.items() if family.support == "counts")
# Priors that are given, those of Kohjima, Matsubayashi and Toda (2019) where they have the family.
NORMAL_GAMMA = {"mean": 0.0, "tau": 1e-3, "a": 1.0, "b": 1.0}
GIVEN = {
    "gaussian": NORMAL_GAMMA,
    "lognormal": NORMAL_GAMMA,
    "exponential": {"a": 1.0, "b": 1.0},
    "poisson": {"a": 1.0, "b": 1.0},
    "weibull": {"a": 1.0, "b": 1.0, "sd_log_shape": 1.0},
}
DRAWS = {
    "gaussian": lambda rng, n: rng.normal(rng.normal(0.0, 3.0, size=3)[rng.integers(0, 3, n)]),
    "lognormal": lambda rng, n: np.exp(rng.normal(rng.normal(0.0, 1.5, size=3)[rng.integers(0, 3, n)], 0.6)),
    "exponential": lambda rng, n: rng.exponential(np.exp(rng.normal(0.0, 1.5, size=3))[rng.integers(0, 3, n)]),
    "poisson": lambda rng, n: rng.poisson(np.exp(rng.normal(1.0, 1.2, size=3))[rng.integers(0, 3, n)]).astype(float),
    "weibull": lambda rng, n: np.exp(rng.normal(size=3))[rng.integers(0, 3, n)] * rng.weibull(1.7, n),
    "gamma": lambda rng, n: np.exp(rng.normal(0.0, 1.5, size=3))[rng.integers(0, 3, n)] * rng.gamma(3.0, size=n),
    "inverse_gaussian": lambda rng, n: (
        np.exp(rng.normal(0.0, 1.5, size=3))[rng.integers(0, 3, n)] * rng.wald(1.0, 2.0, n)
    ),
    "von_mises": lambda rng, n: np.angle(
        np.exp(1j * rng.vonmises(rng.uniform(-3.0, 3.0, size=3)[rng.integers(0, 3, n)], 4.0))
    ),
    "geometric": lambda rng, n: rng.geometric(rng.uniform(0.05, 0.9, size=3)[rng.integers(0, 3, n)]) - 1.0,
}


def censor(rng, name, y):
    """Exact, left-, right- and interval-censored rows about values y, each with limits of its own."""
    n, spread = len(y), y.std() + 0.1
    away, more = rng.exponential(spread, n), rng.exponential(spread, n)
    if name in COUNTS:
        away, more = np.ceil(away), np.ceil(more)
    elif MIXTURE_FAMILIES[name].support == "positive":
        away = np.minimum(away, 0.7 * y)
    kind = rng.integers(0, 4, n)
    lower = np.select([kind == 1, kind == 0], [-np.inf, y], y - away)
    upper = np.select([kind == 2, kind == 0], [np.inf, y], y + more)
    return lower, upper


def random_rows(rng, name, n=None):
    n = int(rng.integers(5, 121)) if n is None else n
    y = DRAWS[name](rng, n)
    if name == "gaussian":
        y = y * 10.0 ** rng.uniform(-3, 3) + 10.0 * rng.normal()
    return (*censor(rng, name, y), rng.integers(1, 4, n).astype(float) if rng.random() < 0.3 else np.ones(n))


def problem(name, lower, upper, weight=None, *, k=2, weights=None, prior=None, em=False, collapse=True):
    """Model and working rows, as fit_mixture makes them."""
    family = MIXTURE_FAMILIES[name]
    raw = read_rows(family, lower, upper, weight)
    units = choose_units(family, raw)
    working = arrange(family, raw, units, collapse=collapse)
    if em:
        return Points(family, k, 1e-3), working
    return Bayes(
        family,
        read_prior(family, prior, units, max(raw.upper[raw.upper < np.inf].mean(), 1.0)),
        weights,
        k,
    ), working


def largest_drop(name, sets, seed, *, em=False, sweeps=60):
    """Largest relative fall of the objective over plain sweeps from both kinds of starts."""
    rng, worst = np.random.default_rng(seed), 0.0
    for i in range(sets):
        lower, upper, weight = random_rows(rng, name)
        k = int(rng.integers(1, min(6, len(lower))))
        weights = DirichletProcess() if i % 3 == 2 else Dirichlet(10.0 ** rng.uniform(-1, 1))
        model, working = problem(name, lower, upper, weight, k=k, weights=weights, em=em)
        chunks = chunks_of(working, k)
        for state in starts(model, working, k, 5, rng)[::4]:
            value, sums = evaluate(model, chunks, state)
            for _ in range(sweeps):
                state = model.improve(state, sums, cautious=True)
                before, (value, sums) = value, evaluate(model, chunks, state)
                worst = max(worst, (before - value) / max(1.0, abs(before)))
                assert np.isfinite(value)
    return worst
