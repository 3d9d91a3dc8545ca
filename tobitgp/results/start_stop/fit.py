"""From start-stop rows to a fitted regression of log time whose covariates change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from tobitgp.data.arrays import CensoredResponse
from tobitgp.data.prepare import TrainingData
from tobitgp.errors import DataError, SpecError
from tobitgp.formula.spec import ModelSpec
from tobitgp.likelihoods import Family
from tobitgp.regression.clusters import Clusters
from tobitgp.regression.start_stop import StartStopProblem, maximise_start_stop
from tobitgp.results.hazards.cells import AtRisk
from tobitgp.results.paths import check_order
from tobitgp.results.regression.fit import check_covariance, known_shape, of_maximum, read_fixed, warn_of
from tobitgp.results.start_stop.parts import StartStopParts, histories_of, problem_of
from tobitgp.results.start_stop.results import StartStopResults
from tobitgp.typing import IntArray


def fit_start_stop(
    spec: ModelSpec,
    training: TrainingData,
    family: Family,
    covariates: pd.DataFrame,
    columns: Sequence[str],
    *,
    id: str,
    subject: npt.NDArray[Any],
    fixed: Mapping[str, float] | None = None,
    cov_type: str = "nonrobust",
    groups: Clusters | None = None,
    sampling: bool = False,
    max_iter: int = 200,
) -> StartStopResults:
    """Fit by maximum likelihood.

    Shapes: subject (n,).
    """
    check_covariance(cov_type)
    response, design = training.response, training.design
    _check_rows(response, subject, training.labels)
    family, fixed = known_shape(family, fixed)
    code = pd.factorize(subject)[0]
    histories = histories_of(code, response)
    problem = problem_of(response, histories, design, family, read_fixed(fixed, design.columns, (), family))
    maximum = maximise_start_stop(problem, scores=cov_type != "nonrobust", max_iter=max_iter)
    warn_of(maximum)
    read, clusters = (spec, training, family, covariates, columns), _of_subjects(groups, code, len(problem.seen))
    return StartStopResults(
        StartStopParts(
            **of_maximum(*read, maximum, problem.seen, cov_type, clusters, sampling),
            llnull=_null(problem, max_iter) if "Intercept" in design.columns else float("nan"),
            id=id,
            subjects=len(problem.seen),
            subject_weight=float(problem.seen.weight.sum()),
            code=code,
        )
    )


def _null(problem: StartStopProblem, max_iter: int) -> float:
    """Log likelihood of the times with an intercept only, NaN where it has no maximum."""
    one, known = np.ones((len(problem.H), 1)), (np.full(1, np.nan), problem.known[1])
    rows = problem.seen, problem.histories, one, problem.offset
    null = StartStopProblem.of(*rows, problem.distribution, known, free_shape=problem.free_shape)
    found = maximise_start_stop(null, scores=False, max_iter=max_iter)
    return found.log_likelihood + problem.seen.log_jacobian if found.converged else float("nan")


def _check_rows(response: CensoredResponse, subject: npt.NDArray[Any], labels: npt.NDArray[Any]) -> None:
    """Refuse rows that are not those of subjects from time 0 on."""
    event = response.lower == response.upper
    if (~event & ~np.isposinf(response.upper)).any() or np.isfinite(response.exit).any():
        raise SpecError(
            "id= takes rows that are right-censored or end in an event, not left- or interval-censored or "
            "right-truncated ones, with family='ph' neither."
        )
    if not event.any():
        raise DataError("No event was seen, and there is nothing to learn times from.")
    entry = np.maximum(response.entry, 0.0)
    short = response.lower <= entry
    if short.any():
        listed = ", ".join(map(str, labels[short][:5]))
        raise DataError(f"Rows {listed} end at time 0, or not after their start; the stop comes after the start.")
    check_order(subject, AtRisk(entry, response.lower, event, response.weight), labels, from_zero=True)


def _of_subjects(groups: Clusters | None, code: IntArray, m: int) -> Clusters | None:
    """Clusters of m subjects from those of their rows."""
    if groups is None:
        return None
    out = np.zeros((m, groups.code.shape[1]), dtype=groups.code.dtype)
    out[code] = groups.code
    if (out[code] != groups.code).any():
        raise DataError("cov_kwds= has rows of one subject in several clusters; a cluster holds whole subjects.")
    return replace(groups, code=out)
