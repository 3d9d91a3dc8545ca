"""Compute the long tables of this page: `python vignettes/kohjima-vbcm/run.py [table ...]`.

The tables are `components`, `convergence`, `stochastic`, `steps`, `evidence`, `survival`, `folds` and `synthetic`; each
is written to the CSV file of its name beside this script, and without a name all are: about ten minutes of one core.
All seeds are fixed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
from experiments import (
    SURVIVAL,
    TRUTHS,
    Scores,
    bounds,
    fitted,
    mean_and_error,
    stochastic_path,
    survival_scores,
    synthetic_scores,
)
from scipy.special import gammaln

from tobitgp.mixture import VBCM, MixtureFit, fit_mixture

sys.path.insert(0, str(Path(__file__).parents[1]))

from papers import write  # in the folder above

Row = Mapping[str, object]
SETS = 40  # most synthetic data sets a cell
NUMBERS = (2, 5)
SIZES = {25: 1.0, 50: 1.0, 100: 0.5, 200: 0.25, 400: 0.25}  # with the share of the sets: large ones scatter less
SHARES = (0.2, 0.4, 0.6, 0.8, 1.0)
SEEDS = range(6)  # of folds
PAIRS = (("VBCM", "EMCM"), ("VBCM", "VB"), ("EMCM", "EM"), ("VB", "EM"))
BATCHES, STEPS, MORE_STEPS = (10, 20), (10, 20, 50, 100, 200, 500, 1000, 2000), (500, 1000, 2000, 4000, 8000, 16000)
GMM, RUNS = TRUTHS[0], 4


def synthetic(sets: int = SETS) -> Iterator[Row]:
    """Figure 6 (a) to (c): test log-likelihoods by number of training rows."""
    for truth in TRUTHS:
        for k in NUMBERS:
            for n, share in SIZES.items():
                some = max(2, round(share * sets))
                cell = {"data": truth.name, "k": k, "n": n, "sets": some}
                yield from _quantities(cell, synthetic_scores(truth, n, k, some))


def survival() -> Iterator[Row]:
    """Figure 6 (d) and (e): two survival data sets in five folds, by share of the training rows."""
    for name in SURVIVAL:
        for k in NUMBERS:
            for share in SHARES:
                cell = {"data": name, "k": k, "share": share, "sets": 5}
                yield from _quantities(cell, survival_scores(name, share, k))


def evidence(sets: int = SETS) -> Iterator[Row]:
    """Figure 5 (c): the bound of 100 rows by number of components, and in how many sets each has the highest.

    ``highest + log K!``: the same where every order of the components is counted.
    """
    for truth in TRUTHS:
        found = bounds(truth, sets)
        any_order = found + gammaln(np.arange(found.shape[1]) + 2.0)
        for i, values in enumerate(found.T):
            mean, error = mean_and_error(values)
            peaks = {
                "highest": int((found.argmax(axis=1) == i).sum()),
                "highest + log K!": int((any_order.argmax(axis=1) == i).sum()),
            }
            cell = {"data": truth.name, "n": 100, "k": i + 1, "elbo": mean, "se": error}
            yield cell | peaks | {"sets": sets}


def convergence(sets: int = SETS) -> Iterator[Row]:
    """Figure 5 (a): passes of single runs on 100 rows, plain as in the paper and over-relaxed as tobitgp makes them."""
    for k in NUMBERS:
        for relax in (False, True):
            method = VBCM(n_init=1, relax=relax, max_iter=5000)
            runs = [(seed, run) for seed in range(sets // RUNS) for run in range(RUNS)]
            traces = [_single(k, seed, method, run).trace for seed, run in runs]
            near = [int(np.argmax(trace > trace[-1] - 0.1)) for trace in traces]
            left = [trace[-1] - trace[min(20, len(trace) - 1)] for trace in traces]
            yield {
                "k": k,
                "steps": "over-relaxed" if relax else "plain",
                "passes": round(np.median(near)),
                "passes, 90%": round(np.quantile(near, 0.9)),
                "left after 20": np.median(left),
                "left, largest": np.max(left),
                "runs": len(runs),
            }


def stochastic(sets: int = SETS) -> Iterator[Row]:
    """Figure 5 (b): how far the stochastic algorithm is below the batch one from the same start."""
    for k in NUMBERS:
        for size in BATCHES:
            for evenly in (True, False):
                for seed in range(sets):
                    yield from _path(k, seed, size, evenly, STEPS)


def steps(sets: int = 10) -> Iterator[Row]:
    """Figure 5 (b) with five components, batches of 20 drawn at random, and many more steps."""
    for seed in range(sets):
        yield from _path(5, seed, 20, False, MORE_STEPS)


def folds() -> Iterator[Row]:
    """Figure 6 (e) with five components, the folds dealt in other ways too."""
    for seed in SEEDS:
        for share in SHARES:
            found = survival_scores("ncctg", share, 5, ("VB", "EMCM", "VBCM"), seed)
            for one, other in PAIRS[:2]:
                mean, error = mean_and_error(found.difference(one, other))
                yield {"seed": seed, "share": share, "quantity": f"{one} - {other}", "mean": mean, "se": error}


def components(sets: int = SETS) -> Iterator[Row]:
    """Figure 7: where the components lie, with and without censored rows."""
    for n in (100, 400):
        for method in ("VB", "VBCM"):
            fits = [fitted(method, GMM.training_rows(n, s), "gaussian", 2, GMM.prior, s) for s in range(sets)]
            for name in ("mean", "sd"):
                values = np.array([fit.parameters[name] for fit in fits])
                for i, truth in enumerate([-3, 3] if name == "mean" else [1, 1]):
                    mean, error = mean_and_error(values[:, i])
                    yield {
                        "n": n,
                        "method": method,
                        "parameter": f"{name}[{i + 1}]",
                        "truth": truth,
                        "mean": mean,
                        "se": error,
                        "sets": sets,
                    }


def _quantities(cell: Row, found: Scores) -> Iterator[Row]:
    """Mean log-likelihoods, and paired differences with the number of sets where they are positive."""
    truth = {} if found.truth is None else {"truth": found.truth}
    for name, values in (found.methods | truth).items():
        mean, error = mean_and_error(values)
        yield {**cell, "quantity": name, "mean": mean, "se": error, "ahead": ""}
    for one, other in PAIRS:
        values = found.difference(one, other)
        mean, error = mean_and_error(values)
        ahead = int((values > 0).sum())
        yield {**cell, "quantity": f"{one} - {other}", "mean": mean, "se": error, "ahead": ahead}


def _path(k: int, seed: int, size: int, evenly: bool, marks: tuple[int, ...]) -> Iterator[Row]:
    """Run the stochastic algorithm on the 100 gmm rows of a seed."""
    below, passes = stochastic_path(GMM.training_rows(100, seed), k, GMM.prior, size, evenly, marks, seed)
    cell = {"k": k, "set": seed, "batch": size, "drawn": "evenly" if evenly else "at random"}
    for step, value in zip(marks, below, strict=True):
        yield {**cell, "steps": step, "below": value, "passes of the batch run": passes}


def _single(k: int, seed: int, method: VBCM, run: int) -> MixtureFit:
    """Fit the 100 gmm rows of a seed."""
    return fit_mixture(*GMM.training_rows(100, seed), k=k, method=method, prior=GMM.prior, rng=1000 * run + seed)


TABLES = {
    table.__name__: table
    for table in (components, convergence, stochastic, steps, evidence, survival, folds, synthetic)
}

if __name__ == "__main__":
    write(TABLES, __file__, __doc__)
