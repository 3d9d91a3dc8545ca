"""The experiments of Kohjima, Matsubayashi and Toda (2019), section 6: data, fits and scores.

Rows are ends (lower, upper], equal where the value was seen. Priors are the paper's, in the units of the data.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

import tobitgp as tg
from tobitgp.mixture import EMCM, SVBCM, VBCM, MixtureFit, Predictive, fit_mixture
from tobitgp.mixture.arranged_rows import arrange, read_rows
from tobitgp.mixture.array_fit import read_prior, resolve_mixture_family
from tobitgp.mixture.coordinate_ascent import Stop, chunks_of, climb, evaluate
from tobitgp.mixture.evidence_bound import Bayes
from tobitgp.mixture.family import ComponentDistribution
from tobitgp.mixture.gaussian import NormalComponents
from tobitgp.mixture.mixture_priors import Dirichlet
from tobitgp.mixture.rates import PoissonDistribution
from tobitgp.mixture.starts import choose_units, starts
from tobitgp.mixture.stochastic_steps import step_along
from tobitgp.mixture.weibull import WeibullDistribution
from tobitgp.numerics.sampling import generator

Ends = tuple[np.ndarray, np.ndarray]
METHODS = ("EM", "VB", "EMCM", "VBCM")
STARTS, BOUND_STARTS, FOLDS, TEST_ROWS = 5, 6, 5, 10_000
GAUSSIAN_PRIOR = {"mean": 0.0, "tau": 1e-3, "a": 1.0, "b": 1.0}


@dataclass(frozen=True)
class Truth:
    """Two components of equal weight, censored at two limits.

    Attributes
    ----------
    name : str
        As in the paper.
    family : str
        Of the components.
    distribution : ComponentDistribution
        The components.
    limits : (float, float)
        Values of at most the first are left-censored, those above the second right-censored.
    prior : dict
    """

    name: str
    family: str
    distribution: ComponentDistribution
    limits: tuple[float, float]
    prior: dict[str, float]

    def draw(self, n: int, rng: np.random.Generator) -> Ends:
        """Draw the ends of n rows."""
        return censor(Predictive(np.full(2, 0.5), self.distribution).rvs(n, rng), *self.limits)

    def training_rows(self, n: int, seed: int) -> Ends:
        """Return the training set of a seed."""
        return self.draw(n, np.random.default_rng([seed, n]))

    def test_rows(self, seed: int) -> Ends:
        """Return the test set that all training sets of a seed share."""
        return self.draw(TEST_ROWS, np.random.default_rng([seed, 0]))

    def log_density(self, rows: Ends) -> np.ndarray:
        """Return log density or mass of rows under the truth."""
        return np.asarray(Predictive(np.full(2, 0.5), self.distribution).log_mass(*rows))


TRUTHS = (
    Truth("gmm", "gaussian", NormalComponents(np.array([-3.0, 3.0]), np.ones(2)), (-4.0, 4.0), GAUSSIAN_PRIOR),
    Truth(
        "emm",
        "exponential",
        WeibullDistribution(1 / np.array([0.3, 3.0]), np.ones(2)),
        (-np.inf, 4.0),
        {"a": 2.0, "b": 1.0},
    ),
    Truth("pmm", "poisson", PoissonDistribution(np.array([1.0, 5.0])), (-np.inf, 6.0), {"a": 1.0, "b": 1.0}),
)
SURVIVAL = {"rossi": ("rossi", "week"), "ncctg": ("lung", "time")}


@dataclass(frozen=True)
class Scores:
    """Mean log-likelihood of the test rows: one value a method and set, and of the truth where it is known.

    Attributes
    ----------
    methods : dict of str to (sets,) array
    truth : (sets,) array or None
    """

    methods: dict[str, np.ndarray]
    truth: np.ndarray | None = None

    def difference(self, one: str, other: str) -> np.ndarray:
        """Paired differences, (sets,)."""
        return self.methods[one] - self.methods[other]


def censor(y: np.ndarray, low: float, high: float) -> Ends:
    """Return the ends of values that are exact in (low, high]."""
    lower = np.where(y <= low, -np.inf, np.minimum(y, high))
    upper = np.where(y > high, np.inf, np.maximum(y, low))
    return lower, upper


def take(rows: Ends, at: np.ndarray) -> Ends:
    """Return some of the rows."""
    return rows[0][at], rows[1][at]


def survival(name: str) -> Ends:
    """Return the standardised times of a data set, including those of censored rows."""
    data, column = SURVIVAL[name]
    frame = tg.datasets.load(data)
    time, event = frame[column].to_numpy(float), frame["event"].to_numpy() == 1
    z = (time - time.mean()) / time.std()
    return z, np.where(event, z, np.inf)


def folds(rows: Ends, share: float, seed: int = 0) -> Iterator[tuple[Ends, Ends]]:
    """Training and test rows of five folds; a share of the training rows, the same ones for the same seed."""
    order = np.random.default_rng(seed).permutation(len(rows[0]))
    for i in range(FOLDS):
        test = order[i::FOLDS]
        train = np.setdiff1d(order, test)
        train = np.random.default_rng(FOLDS * seed + i + 1).permutation(train)[: round(share * len(train))]
        yield take(rows, train), take(rows, test)


def fitted(method: str, train: Ends, family: str, k: int, prior: dict[str, float], rng: int = 0) -> MixtureFit:
    """Fit by one of the paper's methods. EM and VB use only exact rows."""
    if method in ("EM", "VB"):
        train = take(train, np.flatnonzero(train[0] == train[1]))
    bayes = method.startswith("VB")
    return fit_mixture(
        *train,
        family=family,
        k=min(k, len(train[0])),
        method=VBCM(n_init=STARTS) if bayes else EMCM(n_init=STARTS),
        prior=prior if bayes else None,
        rng=rng,
    )


def synthetic_scores(truth: Truth, n: int, k: int, sets: int, methods: Sequence[str] = METHODS) -> Scores:
    """Score training sets of n rows, each with its test set. For emm, also with plug-in parameters as in the paper."""
    found: dict[str, list[float]] = {}
    best = []
    for seed in range(sets):
        train, test = truth.training_rows(n, seed), truth.test_rows(seed)
        for method in methods:
            fit = fitted(method, train, truth.family, k, truth.prior, seed)
            found.setdefault(method, []).append(_mean(fit.predictive(), test))
            if truth.name == "emm" and method.startswith("VB"):
                found.setdefault(f"{method} plug-in", []).append(_mean(fit.plug_in(), test))
        best.append(float(truth.log_density(test).mean()))
    return Scores({method: np.array(values) for method, values in found.items()}, np.array(best))


def survival_scores(name: str, share: float, k: int, methods: Sequence[str] = METHODS, seed: int = 0) -> Scores:
    """Five folds of a survival data set, trained on a share of their rows."""
    pairs = list(folds(survival(name), share, seed))

    def one(method: str) -> np.ndarray:
        fits = (fitted(method, train, "gaussian", k, GAUSSIAN_PRIOR) for train, _ in pairs)
        return np.array([_mean(fit.predictive(), test) for fit, (_, test) in zip(fits, pairs, strict=True)])

    return Scores({method: one(method) for method in methods})


def bounds(truth: Truth, sets: int, largest: int = 6, n: int = 100) -> np.ndarray:
    """Evidence lower bounds of 1, ..., ``largest`` components, (sets, largest)."""
    out = np.empty((sets, largest))
    method = VBCM(n_init=BOUND_STARTS)
    for seed in range(sets):
        rows = truth.training_rows(n, seed)
        for k in range(1, largest + 1):
            fit = fit_mixture(*rows, family=truth.family, k=k, method=method, prior=truth.prior, rng=seed)
            out[seed, k - 1] = fit.elbo
    return out


def stochastic_path(
    rows: Ends, k: int, prior: dict[str, float], size: int, evenly: bool, marks: Sequence[int], rng: int = 0
) -> tuple[list[float], int]:
    """Return how far the stochastic bound is below the batch bound from the same start, after some numbers of steps.

    Normal components; step lengths and sampled components as in the paper's algorithm 2. Batches are spread evenly over
    the sorted rows, as tobitgp's are, or drawn at random as in the paper. The second value is the number of plain
    passes that the batch algorithm takes to within .1 nat of its end.
    """
    family = resolve_mixture_family("gaussian")
    raw = read_rows(family, *rows)
    units = choose_units(family, raw)
    working = arrange(family, raw, units)
    model = Bayes(family, read_prior(family, prior, units, 1.0), Dirichlet(), k)
    draws = generator(rng)
    (state,) = starts(model, working, k, 1, draws)
    chunks = chunks_of(working, k)
    trace = climb(model, chunks, state, Stop(1e-6, passes=5000, relax=False)).trace
    settings = SVBCM(statistics="sampled")
    n = len(rows[0])
    order, below = np.lexsort((rows[1], rows[0])), []
    for t in range(max(marks)):
        at = ((np.arange(size) + draws.random(size)) / size * n).astype(int) if evenly else draws.permutation(n)[:size]
        batch = arrange(family, read_rows(family, *take(rows, order[at])), units)
        state = step_along(model, state, batch.parts, n / size, t + 1, settings, draws).state
        if t + 1 in marks:
            below.append(float(trace[-1] - evaluate(model, chunks, state)[0]))
    return below, int(np.argmax(trace > trace[-1] - 0.1))


def mean_and_error(values: np.ndarray) -> tuple[float, float]:
    """Mean of replicates and its standard error."""
    return float(np.mean(values)), float(np.std(values, ddof=1) / np.sqrt(len(values)))


def _mean(distribution: Predictive, test: Ends) -> float:
    return float(distribution.log_mass(*test).mean())
