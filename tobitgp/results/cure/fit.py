"""From the rows of a formula to a fitted cure model."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from tobitgp.data.absorbed import as_dense
from tobitgp.data.arrays import CensoredResponse
from tobitgp.data.outcome import outcome
from tobitgp.data.prepare import TrainingData
from tobitgp.errors import BoundaryWarning, ConvergenceWarning, DataError, SpecError, user_level
from tobitgp.formula.spec import ModelSpec
from tobitgp.inference.parameters import check_names, read_mapping
from tobitgp.likelihoods import Family
from tobitgp.regression.clusters import Clusters
from tobitgp.regression.cure import cure_problem
from tobitgp.regression.cure_search import NEAR, CureEnd, maximise_cure
from tobitgp.results.cure.parts import CureParts
from tobitgp.results.cure.results import CureResults
from tobitgp.results.regression.fit import check_covariance, known_shape, of_maximum, read_fixed, read_number, warn_of
from tobitgp.results.regression.parts import SIGMA
from tobitgp.typing import Array

_LATE, _FEW = 0.9, 5


def fit_cure(
    spec: ModelSpec,
    training: TrainingData,
    family: Family,
    covariates: pd.DataFrame,
    columns: Sequence[str],
    *,
    fixed: Mapping[str, float] | None = None,
    cov_type: str = "nonrobust",
    groups: Clusters | None = None,
    sampling: bool = False,
    max_iter: int = 200,
) -> CureResults:
    """Fit a cure model by maximum likelihood."""
    check_covariance(cov_type)
    _check_rows(training.response)
    family, fixed = known_shape(family, fixed)
    design, scale = training.design, training.design.scale
    assert scale is not None
    seen = outcome(training.response, log_time=True, labels=training.labels)
    problem = cure_problem(
        seen,
        (as_dense(design.H), scale.W, np.ones((len(seen), 1))),
        (design.offset, scale.offset, np.zeros(len(seen))),
        family.distribution,
        _known(fixed, design.columns, scale.columns, family),
        free_shape=family.estimate_shape,
    )
    maximum, ends = maximise_cure(problem, scores=cov_type != "nonrobust", max_iter=max_iter)
    warn_of(maximum)
    _warn_others(ends, seen.log_jacobian)
    _warn_follow_up(training.response)
    return CureResults(
        CureParts(
            **of_maximum(spec, training, family, covariates, columns, maximum, seen, cov_type, groups, sampling),
            ends=np.array([end._replace(log_likelihood=end.log_likelihood + seen.log_jacobian) for end in ends]),
            last=float(training.response.lower.max()),
        )
    )


def _check_rows(seen: CensoredResponse) -> None:
    """Refuse rows that cure models are not fitted to."""
    exact = seen.lower == seen.upper
    if (~exact & ~np.isposinf(seen.upper)).any() or np.isfinite(seen.exit).any():
        raise SpecError(
            "cure= takes rows that are exact or right-censored, with late entry or without, not left-censored, "
            "interval-censored or right-truncated ones."
        )
    if exact.all():
        raise SpecError("cure= needs censored rows: without any there is nobody who may be cured.")
    if not (exact & (seen.weight > 0.0)).any():
        raise DataError("No event was seen, and a cure model has nothing to learn times from.")


def _known(
    fixed: Mapping[str, float] | None, columns: Sequence[str], cured: Sequence[str], family: Family
) -> list[Array]:
    """Known coefficients of location and logit, and log sigma, NaN where they are estimated."""
    given = read_mapping("fixed", fixed) or {}
    check_names("fixed", given, [*columns, *cured, SIGMA])
    of_cured = {name: read_number(name, given.pop(name)) for name in cured if name in given}
    coefficients, log_sigma = read_fixed(given, columns, (), family)
    return [coefficients, np.array([of_cured.get(name, np.nan) for name in cured]), log_sigma]


def _warn_others(ends: Sequence[CureEnd], jacobian: float) -> None:
    """Say that another maximum is nearly as high."""
    maxima = sorted((end for end in ends if end.converged), key=lambda end: -end.log_likelihood)
    others = [end for end in maxima if 1e-3 < maxima[0].log_likelihood - end.log_likelihood < NEAR]
    if others:
        listed = " and ".join(f"{end.cured:.3g} (log likelihood {end.log_likelihood + jacobian:.2f})" for end in others)
        warnings.warn(
            f"The likelihood has several maxima: beside that with a mean cured fraction of {maxima[0].cured:.3g} (log "
            f"likelihood {maxima[0].log_likelihood + jacobian:.2f}) one of {listed}; fit_history lists them. These "
            "rows do not tell them apart.",
            ConvergenceWarning,
            stacklevel=user_level(),
        )


def _warn_follow_up(seen: CensoredResponse) -> None:
    """Say that the follow-up is too short to tell cured rows from late events."""
    exact = (seen.lower == seen.upper) & (seen.weight > 0.0)
    last, end = float(seen.lower[exact].max()), float(seen.lower.max())
    tail = float(seen.weight[~exact & (seen.lower >= last)].sum())
    why = []
    if last > _LATE * end:
        why.append(f"the last event, at {last:.6g}, lies after 90% of the longest follow-up, {end:.6g}")
    if tail < _FEW:
        why.append(f"{tail:g} {'row was' if tail == 1.0 else 'rows were'} followed beyond it")
    if why:
        warnings.warn(
            f"The cured fraction rests on the tail of the family: {' and '.join(why)}. Longer follow-up would tell "
            "cured rows from late events; compare families.",
            BoundaryWarning,
            stacklevel=user_level(),
        )
