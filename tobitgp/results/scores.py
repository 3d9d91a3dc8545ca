"""How well a fit predicts new rows: their log likelihood, and the order of their times."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tobitgp.data.outcome import outcome
from tobitgp.data.response import build_response
from tobitgp.data.shapes import CensoredResponse
from tobitgp.distributions.intervals import log_mass
from tobitgp.distributions.location_scale import LocationScale
from tobitgp.errors import SpecError
from tobitgp.posterior.seen import log_predictive
from tobitgp.results.conditional import predicted_rows, what_was_seen, with_response
from tobitgp.results.regression.estimates import rows_at
from tobitgp.results.regression.parts import TobitParts
from tobitgp.results.rows import Asked, ask
from tobitgp.results.views import Parts, Source
from tobitgp.typing import Array, BoolArray, Frame

SCORES = ("log_likelihood", "concordance_index")
NO_ORDER = "A mixture predicts the same for every row, so that there is no order to score."


class Scored(NamedTuple):
    """Rows of which something is known."""

    asked: Asked  # the m rows
    response: CensoredResponse  # of these


class Scores(NamedTuple):
    """What rows of which something is known score."""

    known: BoolArray  # (n_data,), which rows these are, m of them
    lower: Array  # (m,), what is known of the response
    upper: Array  # (m,), what is known of the response
    entry: Array  # (m,), from when on it could have been seen
    values: Array  # (m,), log likelihoods, or predicted medians


def check_score(scoring_method: Any) -> str:
    """Name of a score."""
    if not isinstance(scoring_method, str) or scoring_method not in SCORES:
        raise SpecError(
            f"scoring_method={scoring_method!r} is not offered; choose one of {', '.join(map(repr, SCORES))}."
        )
    return scoring_method


def read_scored(parts: Source, df: Frame) -> Scored:
    """Read what is known of new rows, their windows too."""
    table = what_was_seen(parts, df, "score()")
    asked = with_response(parts, df, ask(parts, df))
    if not asked.usable.any():
        raise SpecError("score() needs rows of which something is known, and these data have none.")
    table = table.take(asked.usable)
    return Scored(asked, build_response(parts.spec, table, np.ones(table.n)))


def process_likelihoods(parts: Parts, rows: Scored) -> Array:
    """Log predictive density of exact rows, log probability of what was seen of the others; (m,)."""
    seen = predicted_rows(parts, rows.response, rows.asked)
    values = np.logaddexp.reduce(log_predictive(seen), axis=0)
    return values - _log_jacobian(rows.response, log_time=seen.log)


def estimate_likelihoods(parts: TobitParts, rows: Scored) -> Array:
    """Log density of exact rows at the estimates, log probability of what was seen of the others; (m,)."""
    return row_likelihoods(rows_at(parts, rows.asked.design), rows.response)


def row_likelihoods(rows: LocationScale, response: CensoredResponse) -> Array:
    """Log likelihood of each row, within its window, in the units of the response; (n,)."""
    known = outcome(response, log_time=rows.log)
    low, high, first, last = (
        (end - rows.location) / rows.scale for end in (known.lower, known.upper, known.entry, known.exit)
    )
    exact = known.exact
    values = np.empty(len(low))
    values[exact] = rows.noise.logpdf(low[exact]) - np.log(rows.scale[exact])
    values[~exact] = log_mass(rows.noise, low[~exact], high[~exact])
    windowed = np.isfinite(known.entry) | np.isfinite(known.exit)
    values[windowed] -= log_mass(rows.noise, first[windowed], last[windowed])
    return values - _log_jacobian(response, log_time=rows.log)


def concordance(median: Array, lower: Array, upper: Array, weight: Array, entry: Array) -> float:
    """Share of the pairs of rows, followed at one time, whose order is known that predicted medians put in order."""
    from tobitgp.metrics import concordance_index

    return concordance_index(None, median, lower=lower, upper=upper, entry=entry, weights=weight)


def _log_jacobian(response: CensoredResponse, *, log_time: bool) -> Array:
    exact = response.lower == response.upper
    return np.log(np.where(exact, response.lower, 1.0)) if log_time else np.zeros(len(exact))
