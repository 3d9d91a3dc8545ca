"""Regressions of log time whose covariates change: rows of a subject go on from where the last one ended."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import pandas as pd

from tobitgp.data.absorbed import as_dense
from tobitgp.data.arrays import CensoredResponse, Design
from tobitgp.data.outcome import outcome
from tobitgp.distributions.event_times import Continued
from tobitgp.errors import DataError, SpecError
from tobitgp.kinds.fit_arguments import CovarianceOptions, FormulaRows, known_shape, of_maximum, read_fixed, warn_of
from tobitgp.kinds.likelihood import LikelihoodParts, moved_rows
from tobitgp.likelihoods import Family
from tobitgp.regression.clusters import Clusters
from tobitgp.regression.start_stop_likelihood import Histories, StartStopProblem, maximise_start_stop
from tobitgp.results.hazards.cells import AtRisk
from tobitgp.results.paths import check_order
from tobitgp.typing import Array, IntArray


@dataclass(frozen=True, slots=True)
class StartStopParts(LikelihoodParts):
    """A fitted regression of start-stop rows."""

    of_subjects: ClassVar[bool] = True  # whether rows are parts of the time of subjects
    apart: ClassVar[str] = "only one of them takes rows as parts of a subject's time, by id="
    id: str = ""  # the column that names the subject of each row
    subjects: int = 0
    subject_weight: float = 0.0  # their frequency weights, summed
    code: IntArray | None = None  # (n,), subject of each training row

    def inconsistencies(self) -> Iterator[str]:
        """Inconsistent parts of a fit that was read from a file."""
        alone = self.state.scale is None and self.family.log_time and self.code is None
        if not alone or not self.id or not 0 < self.subjects <= self.facts.n or not self.subject_weight > 0.0:
            yield "its parts do not belong together"

    def again(self, fixed: Mapping[str, float], *, scores: bool = False) -> Self:
        assert self.code is not None
        how = {"fixed": self.given | dict(fixed), "errors": CovarianceOptions("HC0" if scores else "nonrobust")}
        start = self.maximum.parameters if scores and not fixed else None
        subjects = {"id": self.id, "code": pd.factorize(self.code)[0], "with_null": False, "start": start}
        return _fit(FormulaRows.of(self), **subjects, **how)  # type: ignore

    def reweighted(self, weight: Array) -> Self:
        assert self.code is not None
        return replace(LikelihoodParts.reweighted(self, weight), code=self.code[weight > 0.0])

    def without_rows(self) -> Self:
        maximum = replace(self.maximum, scores=None)
        return replace(self, facts=replace(self.facts), maximum=maximum, training=None, covariates=None, code=None)

    @property
    def subject(self) -> IntArray | None:
        """Subject of each training row, (n,)."""
        return self.code

    @property
    def histories(self) -> Histories:
        """Those of the training rows."""
        response = self.rows.response  # an error if there are none
        assert self.code is not None
        return histories_of(self.code, response)

    def given_past(self, histories: Histories, x: tuple[Array, ...]) -> Continued:
        """Distributions of times in rows, (n, ...), each given the past of its subject."""
        start = histories.start.reshape(-1, *[1] * (x[0].ndim - 1))
        return Continued(self.noise_at(x[2:]), x[0], np.exp(x[1]), histories.log_psi(x[0])[0], start)

    def last_rows(self) -> IntArray:
        return self.histories.last

    def windows(self, response: CensoredResponse) -> tuple[Array, Array]:
        free = np.full(len(response.lower), np.inf)
        return -free, free

    def in_training(self) -> Continued:
        return self.given_past(self.histories, self.predictors(self.rows.design))

    def drawn_in_training(self, rows: slice, change: Array) -> list[Any]:
        x, histories = moved_rows(self, self.rows.design, change), self.histories
        if not self.draw_by_draw:
            return [self.given_past(histories, x).take(rows)]
        draws = (tuple(each[:, [s]] for each in x) for s in range(change.shape[1]))
        return [self.given_past(histories, one).take(rows) for one in draws]


def histories_of(code: IntArray, response: CensoredResponse) -> Histories:
    """Rows of subjects in time."""
    return Histories.of(code, np.maximum(response.entry, 0.0), response.lower)


def problem_of(
    response: CensoredResponse, histories: Histories, design: Design, family: Family, known: tuple[Array, Array]
) -> StartStopProblem:
    """The likelihood of rows, with ``known`` coefficients and log sigma, NaN where they are estimated."""
    ends = response.rows(histories.last)
    seen = outcome(replace(ends, entry=np.full_like(ends.entry, -np.inf)), log_time=True)
    rows = seen, histories, as_dense(design.H), design.offset
    return StartStopProblem.of(*rows, family.distribution, known, free_shape=family.estimate_shape)


def fit_start_stop(
    rows: FormulaRows,
    *,
    id: str,
    subject: npt.NDArray[Any],
    fixed: Mapping[str, float] | None = None,
    errors: CovarianceOptions,
    max_iter: int,
) -> StartStopParts:
    """Fit by maximum likelihood; ``subject`` (n,) is that of each row."""
    _check_rows(rows.training.response, subject, rows.training.labels)
    return _fit(rows, id=id, code=pd.factorize(subject)[0], fixed=fixed, errors=errors, max_iter=max_iter)


def _fit(
    rows: FormulaRows,
    *,
    id: str,
    code: IntArray,
    fixed: Mapping[str, float] | None,
    errors: CovarianceOptions,
    max_iter: int = 200,
    with_null: bool = True,
    start: Array | None = None,
) -> StartStopParts:
    """Fit rows that were checked, by a search from ``start`` alone where one is given.

    Without ``with_null``, the model with an intercept only is fitted when it is requested.
    """
    response, design = rows.training.response, rows.training.design
    family, fixed = known_shape(rows.family, fixed, design.columns)
    histories = histories_of(code, response)
    problem = problem_of(response, histories, design, family, read_fixed(fixed, design.columns, (), family))
    maximum = maximise_start_stop(problem, scores=errors.robust, max_iter=max_iter, start=start)
    warn_of(maximum)
    llnull = float("nan") if with_null else None
    if with_null and "Intercept" in design.columns:
        llnull = _null(problem, max_iter)
    errors = replace(errors, groups=_of_subjects(errors.groups, code, len(problem.seen)))
    return StartStopParts(
        **of_maximum(rows._replace(family=family), maximum, problem.seen, errors),
        llnull=llnull,
        id=id,
        subjects=len(problem.seen),
        subject_weight=float(problem.seen.weight.sum()),
        code=code,
    )


def _null(problem: StartStopProblem, max_iter: int) -> float:
    """Log likelihood of the times with an intercept only, NaN where it has no maximum."""
    one, known = np.ones((len(problem.H), 1)), (np.full(1, np.nan), problem.known[1])
    rows = problem.seen, problem.histories, one, problem.offset
    null = StartStopProblem.of(*rows, problem.distribution, known, free_shape=problem.free_shape)
    found = maximise_start_stop(null, scores=False, max_iter=max_iter)
    return found.log_likelihood + problem.seen.log_jacobian if found.converged else float("nan")


def _check_rows(response: CensoredResponse, subject: npt.NDArray[Any], labels: npt.NDArray[Any]) -> None:
    """Raise an error for rows that are not those of subjects from time 0 on."""
    event = response.lower == response.upper
    if (~event & ~np.isposinf(response.upper)).any() or np.isfinite(response.exit).any():
        raise SpecError(
            "id= requires rows that are right-censored or end in an event. Left-censored, interval-censored and "
            "right-truncated rows are not supported, also not with family='ph'."
        )
    if not event.any():
        raise DataError("No event was observed, and times cannot be modelled without events.")
    entry = np.maximum(response.entry, 0.0)
    short = response.lower <= entry
    if short.any():
        listed = ", ".join(map(str, labels[short][:5]))
        raise DataError(f"Rows {listed} end at time 0, or not after their start. The stop must be after the start.")
    check_order(subject, AtRisk(entry, response.lower, event, response.weight), labels, from_zero=True)


def _of_subjects(groups: Clusters | None, code: IntArray, m: int) -> Clusters | None:
    """Clusters of m subjects from those of their rows."""
    if groups is None:
        return None
    out = np.zeros((m, groups.code.shape[1]), dtype=groups.code.dtype)
    out[code] = groups.code
    if (out[code] != groups.code).any():
        raise DataError(
            "cov_kwds= puts rows of one subject in several clusters. A cluster must contain whole subjects."
        )
    return replace(groups, code=out)
