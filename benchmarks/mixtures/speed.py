"""A pass over a million rows, and whole fits, compared with scikit-learn's BayesianGaussianMixture in the same process.

scikit-learn knows no censoring, so it always gets the values before censoring. A pass is the difference of two fits of
different length, over the number of passes between them. CPU time stands beside wall time, which other programs on the
machine stretch.
"""

from __future__ import annotations

import os
import statistics
import time
import warnings
from collections.abc import Callable
from typing import TypeVar

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.mixtures.tables import Ends, Row
from tobitgp.mixture import MIXTURE_FAMILIES, Dirichlet, fit_mixture
from tobitgp.mixture.arranged_rows import arrange, read_rows
from tobitgp.mixture.array_fit import read_prior
from tobitgp.mixture.coordinate_ascent import Stop, chunks_of, climb
from tobitgp.mixture.evidence_bound import Bayes
from tobitgp.mixture.starts import choose_units, starts

K, CENTRES = 5, np.array([-6.0, -2.0, 0.0, 3.0, 7.0])
PASSES = 10
FAMILIES = ("exponential", "gamma", "inverse_gaussian", "weibull")
Clock = tuple[float, float]
Out = TypeVar("Out")


def draw(n: int, seed: int = 0) -> tuple[np.ndarray, Ends]:
    """Values of five components, and what is left of them behind random limits: a quarter is right-censored."""
    rng = np.random.default_rng(seed)
    y = rng.normal(CENTRES[rng.integers(0, K, n)], 1.0)
    limit = rng.normal(4.6, 4.0, n)
    return y, (np.minimum(y, limit), np.where(y > limit, np.inf, y))


def passes(n: int, repeats: int) -> list[Row]:
    """CPU and wall seconds of one pass: medians, and medians of ratios within a repeat."""
    y, censored = draw(n)
    jobs = {
        "scikit-learn, no censoring": lambda count: _their_passes(y, count),
        "tobitgp, no censoring": lambda count: _our_passes((y, y), count),
        f"tobitgp, {np.isinf(censored[1]).mean():.0%} right-censored, one limit per row": lambda count: _our_passes(
            censored, count
        ),
    }
    rows = []
    for threads in sorted({1, os.cpu_count() or 1}):
        with threadpool_limits(threads):
            for job in jobs.values():
                job(1)
            found = {name: [_one_pass(job) for _ in range(1)] for name, job in jobs.items()}
            for _ in range(repeats - 1):
                for name, job in jobs.items():
                    found[name].append(_one_pass(job))
        theirs = next(iter(found.values()))
        for name, clocks in found.items():
            rows.append({"BLAS threads": threads, "a pass over": name} | _summary(clocks, theirs))
    return rows


def fits(n: int, repeats: int) -> list[Row]:
    """Whole fits from the data on, and the mean log density they give new rows at their estimates."""
    from sklearn.mixture import BayesianGaussianMixture

    y, censored = draw(n)
    test, _ = draw(100_000, seed=1)

    def theirs(**settings: object) -> Callable[[], float]:
        def job() -> float:
            fit = BayesianGaussianMixture(
                n_components=K, weight_concentration_prior_type="dirichlet_distribution", random_state=0, **settings
            ).fit(y[:, None])
            sd = np.sqrt(fit.covariances_[:, 0, 0])
            z = (test[:, None] - fit.means_[:, 0]) / sd
            return float(np.log(np.exp(-0.5 * z * z) / sd @ fit.weights_ / np.sqrt(2 * np.pi)).mean())

        return job

    def ours(rows: Ends) -> Callable[[], float]:
        return lambda: float(fit_mixture(*rows, k=K).plug_in().logpdf(test).mean())

    jobs = {
        "scikit-learn, its defaults (100 passes at most)": theirs(),
        "scikit-learn, 500 passes at most": theirs(max_iter=500, tol=1e-5),
        "tobitgp, no censoring": ours((y, y)),
        f"tobitgp, {np.isinf(censored[1]).mean():.0%} right-censored": ours(censored),
    }
    rows = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = {name: [_timed(job) for _ in range(repeats)] for name, job in jobs.items()}
    first = [clock for clock, _ in next(iter(found.values()))]
    for name, runs in found.items():
        row = {"fit": name} | _summary([clock for clock, _ in runs], first)
        rows.append(row | {"log density of new rows": f"{runs[0][1]:.4f}"})
    return rows


def family_fits(n: int, seeds: int = 3) -> list[Row]:
    """CPU seconds of whole fits of positive values, 40% of them right-censored, and times those of exponential ones."""
    for name in FAMILIES:
        fit_mixture(*_positive(1000, 0), family=name, k=2)
    rows = []
    for k in (2, 3):
        found = {name: [_timed(_fit_of(_positive(n, seed), name, k))[0] for seed in range(seeds)] for name in FAMILIES}
        for name, clocks in found.items():
            ratios = [own[0] / first[0] for own, first in zip(clocks, found[FAMILIES[0]], strict=True)]
            rows.append(
                {"K": str(k), "family": name}
                | {f"CPU s, seed {seed}": f"{clock[0]:.2f}" for seed, clock in enumerate(clocks)}
                | {"times exponential": f"{statistics.median(ratios):.1f}"}
            )
    return rows


def _positive(n: int, seed: int) -> Ends:
    """Draw values of two gamma distributions, censored at random limits."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.5, rng.gamma(2.0, 1.0, n), rng.gamma(12.0, 1.0, n))
    limit = rng.uniform(1.0, 15.5, n)
    return np.minimum(y, limit), np.where(y > limit, np.inf, y)


def _fit_of(rows: Ends, family: str, k: int) -> Callable[[], float]:
    return lambda: fit_mixture(*rows, family=family, k=k).elbo


def _their_passes(y: np.ndarray, count: int) -> None:
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.mixture import BayesianGaussianMixture

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        BayesianGaussianMixture(
            n_components=K,
            weight_concentration_prior_type="dirichlet_distribution",
            reg_covar=0.0,
            tol=0.0,
            max_iter=count,
            init_params="random",
            random_state=0,
        ).fit(y[:, None])


def _our_passes(rows: Ends, count: int) -> None:
    family = MIXTURE_FAMILIES["gaussian"]
    raw = read_rows(family, *rows)
    units = choose_units(family, raw)
    working = arrange(family, raw, units)
    model = Bayes(family, read_prior(family, None, units, 1.0), Dirichlet(), K)
    start = starts(model, working, K, 1, np.random.default_rng(0))[0]
    climb(model, chunks_of(working, K), start, Stop(-1.0, count, relax=False))


def _one_pass(job: Callable[[int], None]) -> Clock:
    (cpu, wall), _ = _timed(lambda: job(1 + PASSES))
    (cpu0, wall0), _ = _timed(lambda: job(1))
    return (cpu - cpu0) / PASSES, (wall - wall0) / PASSES


def _timed(job: Callable[[], Out]) -> tuple[Clock, Out]:
    cpu, wall = time.process_time(), time.perf_counter()
    out = job()
    return (time.process_time() - cpu, time.perf_counter() - wall), out


def _summary(clocks: list[Clock], reference: list[Clock]) -> Row:
    cpu, wall = (statistics.median(clock[i] for clock in clocks) for i in (0, 1))
    ratios = [statistics.median(r[i] / c[i] for r, c in zip(reference, clocks, strict=True)) for i in (0, 1)]
    return {
        "CPU s": f"{cpu:.3f}",
        "wall s": f"{wall:.3f}",
        "times as fast, CPU": f"{ratios[0]:.1f}",
        "times as fast, wall": f"{ratios[1]:.1f}",
    }
