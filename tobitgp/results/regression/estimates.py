"""Distributions of the response at the estimates of a regression, their covariance, and what rows do to them.

Distributions of the response in rows at the estimates of a regression, and the covariance that goes with them.

Influence of the training rows of a regression on its estimates.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from tobitgp.data.arrays import CensoredResponse, Design
from tobitgp.data.outcome import outcome
from tobitgp.diagnostics.draws import log_jacobian
from tobitgp.distributions.intervals import log_mass
from tobitgp.distributions.location_scale import LocationScale
from tobitgp.errors import SpecError
from tobitgp.posterior.estimates import Estimates
from tobitgp.posterior.questions import Question
from tobitgp.regression import maximise
from tobitgp.regression.influence import dfbeta, dfbetas
from tobitgp.results.regression.parts import RegressionParts, known_scale, model_arguments
from tobitgp.results.rows import Scored, ask, response_of_rows
from tobitgp.results.terms import OFFSET, model_terms
from tobitgp.typing import Array, Frame

_DF_STEP = 10.0  # of log df, in steps of the others: tails of Student's t have fewer digits


def scale_design(parts: RegressionParts, design: Design) -> Array:
    """Design (n, q) of log sigma."""
    return np.ones((len(design.H), 1)) if design.scale is None else design.scale.W


def predictors(parts: RegressionParts, design: Design) -> tuple[Array, Array]:
    """Locations and log scales of the rows of a design, (n,) each."""
    tau = scale_design(parts, design) @ parts.maximum.gamma + design.log_noise
    return (design.H - parts.centre) @ parts.maximum.coefficients + design.offset, tau


def distributions_at(parts: RegressionParts, x: tuple[Array, ...]) -> LocationScale:
    """Distributions of the response at locations, log scales and, where it is estimated, log df."""
    noise = parts.law
    if len(x) > 2:
        noise = noise.with_shape(float(np.exp(x[2].flat[0])) if x[2].size else noise.shape)
    return LocationScale(noise, x[0], np.exp(x[1]), parts.family.log_time)


def rows_at(parts: RegressionParts, design: Design) -> LocationScale:
    """Distributions of the response in the rows of a design, at the estimates."""
    return distributions_at(parts, predictors(parts, design))


def estimates_of(parts: RegressionParts, design: Design, *, bands: bool = True) -> Estimates:
    """Those of the rows of a design and, for ``bands``, their covariance."""
    eta, tau = predictors(parts, design)
    x: tuple[Array, ...] = (eta, tau)
    unit: tuple[Array, ...] = (np.exp(tau), np.ones_like(tau))
    if parts.family.estimate_df:
        x, unit = (*x, np.full_like(tau, np.log(parts.law.shape))), (*unit, np.full_like(tau, _DF_STEP))
    V = N = np.empty((len(eta), 0, 0))
    if bands:
        H, W = design.H - parts.centre, scale_design(parts, design)
        V, N = (row_covariance(H, W, each, len(x)) for each in (parts.covariance, parts.unidentified))
    return Estimates(lambda at: distributions_at(parts, at), x, unit, V, N)


def row_covariance(H: Array, W: Array, V: Array, r: int) -> Array:
    """Covariance (n, r, r) of location, log scale and log df in rows, of that of all parameters."""
    p, q = H.shape[1], W.shape[1]
    out = np.empty((len(H), r, r))
    sides = ((H, slice(0, p)), (W, slice(p, p + q)), (np.ones((len(H), 1)), slice(p + q, p + q + 1)))[:r]
    for a, (left, rows) in enumerate(sides):
        for b, (right, columns) in enumerate(sides):
            out[:, a, b] = np.einsum("ij,ij->i", left @ V[rows, columns], right)
    return out


def term_estimates(parts: RegressionParts, design: Design) -> dict[str, Estimates]:
    """Every term of the location in the rows of a design."""
    out = {}
    for term in model_terms(parts):
        H = np.zeros_like(design.H)
        H[:, list(term.columns)] = design.H[:, list(term.columns)]
        value = design.offset if term.name == OFFSET else H @ parts.coefficients
        one, T = np.ones_like(value), H @ parts.uncentring
        V, N = (row_covariance(T, one[:, None], each, 1) for each in (parts.covariance, parts.unidentified))
        out[term.name] = Estimates(lambda x: LocationScale(parts.law, x[0], one), (value,), (one,), V, N)  # noqa: B023
    return out


def conditional_table(parts: RegressionParts, new: Frame | None, level: float | None, *, se: bool) -> pd.DataFrame:
    """Responses where they were seen, their means given what was seen elsewhere; intervals lie within what was seen."""
    asked, response = response_of_rows(parts, new, ask(parts, new))
    seen = outcome(response, log_time=parts.family.log_time, labels=asked.labels.to_numpy())
    posterior = estimates_of(parts, asked.design, bands=se or level is not None)
    bounds = posterior.new.response(seen.lower), posterior.new.response(seen.upper)
    ends = seen.lower, seen.upper
    question = Question(lambda y, lower, upper: y.conditional_mean(lower, upper), at=ends, bounds=bounds)
    return asked.table(posterior.statistics(question, level, se=se))


def influence_table(parts: RegressionParts, *, scaled: bool) -> pd.DataFrame:
    """Approximate changes of the estimates by each row; see ``RegressionResults.influence``."""
    asked, maximum = ask(parts), parts.maximum
    design, p = asked.design, len(parts.columns)
    again = maximise(
        outcome(parts.rows.response, log_time=parts.family.log_time),
        design.H,
        fixed_coefficients=np.where(maximum.free[:p], np.nan, parts.coefficients),
        fixed_gamma=known_scale(parts),
        scores=True,
        **model_arguments(design, parts.family),
    )
    if again.scores is None or not again.converged:
        raise SpecError("The fit has not converged, so that the influence of rows on it has no meaning.")
    change: Any = dfbeta(again.scores, again.inverse_information, parts.rows.response.weight)
    if scaled:
        change = dfbetas(change, again.inverse_information)
    names = [f"log({name})" if name in ("sigma", "df") else name for name in parts.names]
    return pd.DataFrame(asked.spread(change), index=asked.index, columns=names)


def estimate_likelihoods(parts: RegressionParts, rows: Scored) -> Array:
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
    return values + log_jacobian(known, log_time=rows.log)
