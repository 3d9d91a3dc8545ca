"""Tests between fitted regressions; (REG10) of the theory pages."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import chdtrc

from tobitgp.data.training_summary import NO_ROWS
from tobitgp.errors import SpecError
from tobitgp.results.comparable import check_same_rows, held_rows, subject_of
from tobitgp.results.contrasts import WaldResults
from tobitgp.results.regression.parts import TobitParts
from tobitgp.typing import Array

if TYPE_CHECKING:
    from tobitgp.results.regression.results import TobitResults

_SPANNED, _LOCAL = 1e-8, 1e-6


def likelihood_ratio(whole: TobitResults, part: TobitResults) -> WaldResults:
    """Twice the difference of the log likelihoods; see ``TobitResults.lr_test``."""
    if getattr(part, "evidence_kind", None) != "loglik":
        raise SpecError(f"lr_test() takes a fit of method='mle', not {type(part).__name__}.")
    if held_rows(whole.parts) is None or held_rows(part.parts) is None:
        remedy = "tg.compare(by='aic') needs none"
        raise SpecError(
            f"{NO_ROWS}, and lr_test() sees by the rows whether one model is a case of the other; {remedy}."
        )
    check_same_rows({"this model": subject_of(whole), "the other": subject_of(part)})
    df = int(whole.parts.maximum.free.sum() - part.parts.maximum.free.sum())
    why = _why_not_nested(whole.parts, part.parts)
    if why or df < 1:
        why = why or "it has as many free parameters, or more"
        raise SpecError(f"The other model is not nested in this one: {why}. tg.compare(by='aic') ranks any two.")
    gain = whole.llf - part.llf
    if not (np.isfinite(gain) and whole.converged and part.converged):
        raise SpecError("One of the fits has not converged, and its likelihood is no maximum.")
    if gain < -_LOCAL * max(1.0, abs(whole.llf)):
        raise SpecError("The other model has the higher likelihood, so the search for this one ended short of the top.")
    statistic = max(2.0 * gain, 0.0)
    return WaldResults(statistic, df, float(chdtrc(df, statistic)))


def _why_not_nested(whole: TobitParts, part: TobitParts) -> str:
    """What keeps one model from being a case of the other; empty where nothing does."""
    one, two = whole.law, part.law
    same_df = whole.family.estimate_df or one.shape_name is None or one == two
    if type(one) is not type(two) or whole.family.log_time != part.family.log_time or not same_df:
        return f"its family is {part.family.name}, or has other degrees of freedom"
    if not _spans(*_location(whole), *_location(part)):
        return "its linear terms are no case of these"
    if not _spans(*_scale(whole), *_scale(part)):
        return "its noise scale is no case of this one's"
    return ""


def _spans(H: Array, offset: Array, H_part: Array, offset_part: Array) -> bool:
    """Whether every ``H_part b + offset_part`` is an ``H c + offset``."""
    wanted = np.column_stack([H_part, offset_part - offset])
    size = np.maximum(np.abs(wanted).max(axis=0), 1e-300)
    wanted = wanted / size
    scale = np.maximum(np.abs(H).max(axis=0, initial=0.0), 1e-300)
    left = wanted - (H / scale) @ np.linalg.lstsq(H / scale, wanted, rcond=None)[0] if H.shape[1] else wanted
    return bool((np.abs(left).max(axis=0) <= _SPANNED).all())


def _location(parts: TobitParts) -> tuple[Array, Array]:
    """Free columns of the location, and its known part."""
    design, free = parts.rows.design, parts.maximum.free[: len(parts.columns)]
    return design.H[:, free], design.offset + design.H[:, ~free] @ parts.coefficients[~free]


def _scale(parts: TobitParts) -> tuple[Array, Array]:
    """Free columns of log sigma, and its known part."""
    p, gamma = len(parts.columns), parts.maximum.gamma
    scale, n = parts.rows.design.scale, len(parts.rows.design.H)
    W, offset = np.ones((n, 1)) if scale is None else scale.W, parts.rows.design.log_noise
    free = parts.maximum.free[p : p + len(gamma)]
    return W[:, free], offset + W[:, ~free] @ gamma[~free]
