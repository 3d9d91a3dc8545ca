"""Compute the tables of this reproduction: ``python vignettes/kohjima-vbcm/run.py`` writes them beside this file.

``run.py synthetic bounds`` computes some of them, ``--sets`` with other numbers of data sets, ``--out`` elsewhere.
All of them take about ten minutes on one core.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from experiments import SURVIVAL, TRUTHS, Scores, bounds, fitted, mean_and_error, survival_scores, synthetic_scores
from scipy.special import gammaln

from tobitgp.mixture import SVBCM, VBCM, MixtureFit, fit_mixture

Row = Mapping[str, object]
NUMBERS = (2, 5)
SIZES = {25: 1.0, 50: 1.0, 100: 0.5, 200: 0.25, 400: 0.25}  # with the share of the sets: large ones scatter less
SHARES = (0.2, 0.4, 0.6, 0.8, 1.0)
PAIRS = (("VBCM", "EMCM"), ("VBCM", "VB"), ("EMCM", "EM"), ("VB", "EM"))
BATCHES, STEPS = (10, 20), (10, 20, 50, 100, 200, 500, 1000, 2000)
GMM, RUNS = TRUTHS[0], 4


def synthetic(sets: int) -> Iterator[Row]:
    """Figure 6 (a) to (c): test log-likelihoods by number of training rows."""
    for truth in TRUTHS:
        for k in NUMBERS:
            for n, share in SIZES.items():
                some = max(2, round(share * sets))
                cell = {"data": truth.name, "k": k, "n": n, "sets": some}
                yield from _quantities(cell, synthetic_scores(truth, n, k, some))


def survival(sets: int) -> Iterator[Row]:
    """Figure 6 (d) and (e): two survival data sets in five folds, by share of the training rows."""
    for name in SURVIVAL:
        for k in NUMBERS:
            for share in SHARES:
                cell = {"data": name, "k": k, "share": share, "sets": 5}
                yield from _quantities(cell, survival_scores(name, share, k))


def evidence(sets: int) -> Iterator[Row]:
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
            cell = {"data": truth.name, "n": 100, "k": i + 1, "elbo": f"{mean:.3f}", "se": f"{error:.3f}"}
            yield cell | peaks | {"sets": sets}


def convergence(sets: int) -> Iterator[Row]:
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
                "passes": f"{np.median(near):.0f}",
                "passes, 90%": f"{np.quantile(near, 0.9):.0f}",
                "left after 20": f"{np.median(left):.3f}",
                "left, largest": f"{np.max(left):.3f}",
                "runs": len(runs),
            }


def stochastic(sets: int) -> Iterator[Row]:
    """Figure 5 (b): how far the stochastic algorithm is below the batch one from the same start."""
    for k in NUMBERS:
        for seed in range(sets // RUNS):
            goal = _single(k, seed, VBCM(n_init=1), 0).elbo
            for size in BATCHES:
                for steps in STEPS:
                    method = SVBCM(batch_size=size, n_steps=steps, statistics="sampled", polish=False)
                    below = goal - _single(k, seed, method, 0).elbo
                    yield {"k": k, "set": seed, "batch": size, "steps": steps, "below": f"{below:.3f}"}


def components(sets: int) -> Iterator[Row]:
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
                        "mean": f"{mean:.3f}",
                        "se": f"{error:.3f}",
                        "sets": sets,
                    }


TABLES: dict[str, Callable[[int], Iterator[Row]]] = {
    table.__name__: table for table in (components, convergence, stochastic, evidence, survival, synthetic)
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the tables asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*", help=f"of {', '.join(TABLES)}; all by default")
    parser.add_argument("--sets", type=int, default=40, help="most synthetic data sets a cell; 40 by default")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent, help="folder; this one by default")
    options = parser.parse_args(arguments)
    unknown = sorted({*options.tables} - {*TABLES})
    if unknown:
        parser.error(f"{', '.join(unknown)}: choose of {', '.join(TABLES)}.")
    for name in options.tables or TABLES:
        rows = list(TABLES[name](options.sets))
        with (options.out / f"{name}.csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
        print(f"{name}.csv: {len(rows)} rows", flush=True)


def _quantities(cell: Row, found: Scores) -> Iterator[Row]:
    """Mean log-likelihoods, and paired differences with the number of sets where they are positive."""
    truth = {} if found.truth is None else {"truth": found.truth}
    for name, values in (found.methods | truth).items():
        mean, error = mean_and_error(values)
        yield {**cell, "quantity": name, "mean": f"{mean:.5f}", "se": f"{error:.5f}", "ahead": ""}
    for one, other in PAIRS:
        values = found.difference(one, other)
        mean, error = mean_and_error(values)
        ahead = int((values > 0).sum())
        yield {**cell, "quantity": f"{one} - {other}", "mean": f"{mean:.5f}", "se": f"{error:.5f}", "ahead": ahead}


def _single(k: int, seed: int, method: VBCM | SVBCM, run: int) -> MixtureFit:
    """One run on the 100 gmm rows of a seed."""
    return fit_mixture(*GMM.training_rows(100, seed), k=k, method=method, prior=GMM.prior, rng=1000 * run + seed)


if __name__ == "__main__":
    main()
