"""Test log-likelihoods and bounds of the paper's experiments, by VBCM, EMCM, and both with censored rows dropped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.mixtures.problems import GAUSSIAN_PRIOR, TRUTHS, Ends, Truth, folds, survival, take
from benchmarks.mixtures.tables import Row, shown
from tobitgp.mixture import EMCM, VBCM, fit_mixture

METHODS = ("EM", "VB", "EMCM", "VBCM")
STARTS, BOUND_STARTS = 5, 6
TEST_ROWS = 10_000


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


def score(method: str, train: Ends, test: Ends, family: str, k: int, prior: dict[str, float], rng: int = 0) -> float:
    """Mean test log-likelihood of a fit; EM and VB see exact rows only."""
    if method in ("EM", "VB"):
        train = take(train, np.flatnonzero(train[0] == train[1]))
    k = min(k, len(train[0]))
    bayes = method.startswith("VB")
    fit = fit_mixture(
        *train,
        family=family,
        k=k,
        method=VBCM(n_init=STARTS) if bayes else EMCM(n_init=STARTS),
        prior=prior if bayes else None,
        rng=rng,
    )
    return float(fit.predictive().log_mass(*test).mean())


def synthetic_scores(truth: Truth, n: int, k: int, sets: int, methods: Sequence[str] = METHODS) -> Scores:
    """Training sets of n rows, each with a test set of its own."""
    found: dict[str, list[float]] = {method: [] for method in methods}
    best = []
    for seed in range(sets):
        train, test = truth.draw(n, np.random.default_rng([seed, n])), test_rows(truth, seed)
        for method in methods:
            found[method].append(score(method, train, test, truth.family, k, truth.prior, seed))
        best.append(truth.log_density(test).mean())
    return Scores({method: np.array(values) for method, values in found.items()}, np.array(best))


def test_rows(truth: Truth, seed: int) -> Ends:
    """The test set that goes with all training sets of a seed."""
    return truth.draw(TEST_ROWS, np.random.default_rng([seed, 0]))


def survival_scores(name: str, share: float, k: int, methods: Sequence[str] = METHODS) -> Scores:
    """Five folds of a survival data set, trained on a share of their rows."""
    pairs = list(folds(survival(name), share))
    found = {
        method: np.array([score(method, train, test, "gaussian", k, GAUSSIAN_PRIOR) for train, test in pairs])
        for method in methods
    }
    return Scores(found)


def bounds(truth: Truth, sets: int, largest: int = 6, n: int = 100) -> np.ndarray:
    """Evidence lower bounds of 1, ..., ``largest`` components, (sets, largest)."""
    out = np.empty((sets, largest))
    for seed in range(sets):
        rows = truth.draw(n, np.random.default_rng([seed, n]))
        for k in range(1, largest + 1):
            method = VBCM(n_init=BOUND_STARTS)
            fit = fit_mixture(*rows, family=truth.family, k=k, method=method, prior=truth.prior, rng=seed)
            out[seed, k - 1] = fit.elbo
    return out


def synthetic_table(truth: Truth, k: int, sets: int, sizes: Sequence[int] = (25, 50, 100, 200, 400)) -> list[Row]:
    """A row for each number of training rows."""
    rows: list[Row] = []
    for n in sizes:
        found = synthetic_scores(truth, n, k, sets)
        assert found.truth is not None
        rows.append({"N": n} | _columns(found) | {"truth": shown(found.truth)} | _ahead(found, sets))
    return rows


def survival_table(name: str, k: int, shares: Sequence[float] = (0.2, 0.4, 0.6, 0.8, 1.0)) -> list[Row]:
    """A row for each share of the training rows."""
    rows: list[Row] = []
    for share in shares:
        found = survival_scores(name, share, k)
        own = {
            "VBCM - EMCM": shown(found.difference("VBCM", "EMCM")),
            "VBCM - VB": shown(found.difference("VBCM", "VB")),
        }
        rows.append({"training rows": f"{share:.0%}"} | _columns(found) | own)
    return rows


def bound_table(sets: int) -> list[Row]:
    """Mean bounds over the sets, and in how many of them two components have the highest."""
    rows: list[Row] = []
    for truth in TRUTHS:
        found = bounds(truth, sets)
        peaks = int((found.argmax(axis=1) == 1).sum())
        means = {f"K = {k}": f"{mean:.2f}" for k, mean in enumerate(found.mean(axis=0), start=1)}
        rows.append({"data": truth.name} | means | {"highest at K = 2": f"{peaks} of {sets}"})
    return rows


def _columns(found: Scores) -> dict[str, str]:
    return {method: shown(values) for method, values in found.methods.items()}


def _ahead(found: Scores, sets: int) -> dict[str, str]:
    paired = found.difference("VBCM", "EMCM")
    return {"VBCM - EMCM": shown(paired), "VBCM ahead": f"{int((paired > 0).sum())} of {sets}"}
