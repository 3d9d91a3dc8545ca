"""``python -m benchmarks.nondetects``: how often limits from samples with non-detects cover, as a small CSV file.

Log-normal and gamma samples under three detection limits, of which each row has one by chance. Coverage of prediction
limits is the probability, under the true distribution, of a new value below the limit.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from tobitgp.nondetects.limits import exact_complete
from tobitgp.nondetects.means import chebyshev, kaplan_meier_of, mean_limits, read_options
from tobitgp.nondetects.prediction_limits import exact_prediction, predictive, simulate
from tobitgp.nondetects.ros import MOST_CENSORED
from tobitgp.nondetects.sample import Sample
from tobitgp.nondetects.sample_likelihood import maximise

TRUTHS: dict[str, Any] = {f"lognormal, s = {s:g}": stats.lognorm(s) for s in (0.5, 1.0, 1.5)}
TRUTHS |= {f"gamma, shape {k:g}": stats.gamma(k) for k in (1.0, 2.0)}
SIZES, SHARES = (20, 50), (0.3, 0.6, 0.8)
LEVEL, SHARE, RESAMPLES = 0.95, 0.9, 400
KEYS = ["truth", "n", "censored"]


@dataclass(frozen=True)
class Case:
    """A distribution, a number of rows and the share of them that are expected to be non-detects."""

    truth: str
    n: int
    censored: float


def draw(case: Case, seed: int) -> Sample:
    """A sample under three limits about the quantile that makes the share."""
    rng, truth = np.random.default_rng([seed, 31]), TRUTHS[case.truth]
    reach = 0.75 * min(case.censored, 1.0 - case.censored)
    limit = truth.ppf(case.censored + reach * rng.integers(-1, 2, size=case.n))
    y = truth.rvs(size=case.n, random_state=rng)
    return Sample("y", np.where(y < limit, -np.inf, y), np.maximum(y, limit), np.arange(case.n))


def mean_rows(sample: Sample, seed: int, slow: bool) -> Iterator[tuple[str, float]]:
    """Upper limits of the mean."""
    found = kaplan_meier_of(sample)
    yield "km t", found.t_limit(LEVEL)
    yield "km chebyshev", found.mean + chebyshev(LEVEL) * found.se
    resampled = ["km"] + ["mle"] * slow + ["ros"] * bool(slow and sample.censored.mean() <= MOST_CENSORED)
    for of in resampled:
        options = read_options(of, "bca", "lognormal", "efron", RESAMPLES, seed)
        yield f"{of} bca", mean_limits(sample, options, (LEVEL,)).limits[0]


def limits(sample: Sample, truth: Any, seed: int, slow: bool) -> Iterator[tuple[str, str, float, float]]:
    """Every quantity and method: its limit, and the truth."""
    mean, high = float(truth.mean()), float(truth.ppf(SHARE))
    for name, limit in mean_rows(sample, seed, slow):
        yield "mean", name, limit, mean
    found = maximise(sample)
    offset = found.of_percentile(SHARE)
    yield "mean", "mle profile", found.profile_limit(found.family.mean, LEVEL), mean
    yield "mean", "mle cox", found.link_limit(found.family.mean, LEVEL), mean
    yield "mean", "mle delta", found.delta_limit(found.family.mean, LEVEL), mean
    yield "percentile 90", "profile", found.profile_limit(offset, LEVEL), high
    yield "percentile 90", "delta", found.link_limit(offset, LEVEL), high
    yield "percentile 90", "exact_complete", exact_complete(found, SHARE, LEVEL), high
    yield "new value", "predictive", predictive(found, simulate(sample, found, RESAMPLES, seed), LEVEL)[0], np.nan
    yield "new value", "exact_complete", exact_prediction(found, LEVEL), np.nan


def held(case: Case, seed: int, slow: bool) -> list[dict[str, Any]]:
    """Return whether each limit of one sample covers, and the ratio of the limit to the truth."""
    truth, sample = TRUTHS[case.truth], draw(case, seed)
    if len(np.unique(sample.detects)) < 3:
        return []
    out = []
    for quantity, method, limit, value in limits(sample, truth, seed, slow):
        new = quantity == "new value"
        covered = float(truth.cdf(limit)) if new else float(limit >= value)
        ratio = limit / (truth.ppf(LEVEL) if new else value)
        out.append({"quantity": quantity, "method": method, "covered": covered, "ratio": ratio})
    return [vars(case) | row for row in out]


def table(rows: list[dict[str, Any]]) -> pd.DataFrame:
    """Means over samples with their standard errors, and the median of the limit relative to the truth."""
    grouped = pd.DataFrame(rows).groupby([*KEYS, "quantity", "method"], sort=False)
    frame = grouped["covered"].agg(coverage="mean", se="sem", sets="size")
    return frame.assign(ratio=grouped["ratio"].median()).reset_index().round(4)


def main() -> None:
    """Run every case that is not in the table yet, and write the table after each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", type=int, default=500, help="samples of a case")
    parser.add_argument("--slow", type=int, default=200, help="samples of which ROS and MLE are resampled")
    parser.add_argument("--out", type=Path, default=Path("docs/trust/nondetects.csv"), help="delete it to begin anew")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    begun = time.perf_counter()
    found = pd.read_csv(options.out) if options.out.exists() else pd.DataFrame()
    done = set(found[KEYS].itertuples(index=False, name=None)) if len(found) else set()
    for case in (Case(truth, n, share) for n in SIZES for share in SHARES for truth in TRUTHS):
        if (case.truth, case.n, case.censored) in done:
            continue
        rows = [row for seed in range(options.sets) for row in held(case, seed, seed < options.slow)]
        found = pd.concat([found, table(rows)])
        found.to_csv(options.out, index=False)
    print(f"{len(found)} rows in {options.out}, {(time.perf_counter() - begun) / 60.0:.0f} minutes")


if __name__ == "__main__":
    main()
