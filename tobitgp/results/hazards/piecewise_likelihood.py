"""The likelihood of a piecewise baseline: fits again, tests, and the influence of rows; (PH1) of the theory pages."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.data.absorbed import as_dense
from tobitgp.diagnostics.training_draws import training_rows
from tobitgp.errors import DataError, SpecError, TobitGPError, UnavailableError
from tobitgp.kinds.likelihood import uncentred
from tobitgp.kinds.regression import RegressionParts
from tobitgp.regression.deviance_residuals import dfbeta, pseudo_r2
from tobitgp.results.comparable import check_same_rows, subject_of
from tobitgp.results.fit import Fit
from tobitgp.results.hazards.cells import alike_rows, at_risk, events_of_rows, exposures, sum_alike
from tobitgp.results.hazards.hazard_parts import HazardParts
from tobitgp.results.hypotheses import WaldResults, chi_squared, spans
from tobitgp.results.likelihood import bootstrap as resampling
from tobitgp.results.likelihood.bootstrap import BootstrapResults
from tobitgp.results.likelihood.regression_results import RegressionResults
from tobitgp.results.rows import ask
from tobitgp.typing import Array, BoolArray, IntArray


def cells_at_maximum(parts: HazardParts, question: str) -> RegressionParts:
    """The maximum of a fit that has one."""
    if not parts.cells.estimated:
        raise UnavailableError(
            f"{question} is not available for a baseline or terms with priors, which have a posterior instead "
            f"of a maximum. Fit linear terms with tg.PH('piecewise') and method='mle'."
        )
    training_rows(parts, question)
    return parts.cells


def _numbered(parts: HazardParts) -> tuple[IntArray, IntArray]:
    """The row of cells (n,) that each row belongs to, and the number (A, K) of each cell, -1 where no one was."""
    assert parts.covariates is not None
    alike, risk = alike_rows(parts.covariates), at_risk(parts.rows.response)
    there = sum_alike(exposures(risk.entry, risk.exit, parts.cuts) * risk.weight[:, None], alike) > 0.0
    number = np.full(there.shape, -1)
    number[there] = np.arange(there.sum())
    return alike, number


def reweighted_cells(parts: HazardParts, weight: Array) -> RegressionParts:
    """The cells of the rows with other weights (n,), those that no one is in left out."""
    cells = cells_at_maximum(parts, "A fit with other weights")
    alike, number = _numbered(parts)
    of_rows = events_of_rows(at_risk(parts.rows.response), parts.cuts)
    events, exposed = (sum_alike(each * weight[:, None], alike)[number >= 0] for each in of_rows)
    kept, own = exposed > 0.0, cells.rows
    share = np.where(events > 0.0, events, 1.0)
    time = np.where(kept, exposed / share, 1.0)
    response = replace(own.response, lower=time, upper=np.where(events > 0.0, time, np.inf), weight=share)
    every = replace(cells, training=replace(own, response=response))
    return every.reweighted(np.where(kept, share, 0.0))


def fit_again(cells: RegressionParts, fixed: Mapping[str, float]) -> RegressionParts:
    """The fit of cells with more coefficients of the log hazard fixed."""
    try:
        return cells.again({name: -value for name, value in fixed.items()})
    except DataError as error:  # of levels or bands that no drawn row is in
        raise SpecError(str(error)) from error


def scores_of_rows(parts: HazardParts, *, written: bool = False) -> Array:
    """Derivatives (n, p) of the log likelihood of each row in the coefficients of the log hazard as they are fitted.

    Or as they are ``written``, of columns that are not centred.
    """
    cells = cells_at_maximum(parts, "influence()")
    alike, number = _numbered(parts)
    design = cells.rows.design
    H = as_dense(design.H if written else cells.designs(design)[0])
    hazard = np.exp(-cells.predictors(design)[0])
    event, exposure = events_of_rows(at_risk(parts.rows.response), parts.cuts)
    own = number[alike]
    left = np.where(own >= 0, event - hazard[own] * exposure, 0.0)
    out = np.zeros((len(own), H.shape[1]))
    for k in range(own.shape[1]):
        out += left[:, [k]] * H[own[:, k]]
    return out


class CellRefit(resampling.Refit):
    """Fits to the cells of rows that were drawn again."""

    def again(self, weight: Array) -> tuple[Any, BoolArray] | None:
        """Results, and no column that is not determined."""
        parts: Any = self.results.parts
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                cells = fit_again(reweighted_cells(parts, weight), {})
        except TobitGPError:
            return None
        return (type(self.results)(replace(parts, cells=cells)), np.zeros(0, bool)) if cells.maximum.converged else None

    def parameters(self, found: Any) -> Array:
        """Log hazard ratios and log hazards of bands."""
        return np.array(found.params, dtype=np.float64)


# -- questions --------------------------------------------------------------------------------------------------------


def llnull(results: Fit) -> float:
    """Maximised log likelihood of the baseline alone, in nats: (PH2) of the theory pages.

    Raises
    ------
    UnavailableError, SpecError
        For a posterior, and if the fit holds no training rows.
    """
    parts = results.parts
    cells = cells_at_maximum(parts, "llnull")
    return float(fit_again(cells, {name: 0.0 for name in cells.columns if parts.written.is_own(name)}).llf)


def prsquared(results: Fit) -> float:
    """McFadden's pseudo R2, ``1 - llf / llnull``, a dimensionless number; NaN where a likelihood is positive.

    References
    ----------
    McFadden (1974), Conditional logit analysis of qualitative choice behavior, in *Frontiers in Econometrics*.
    """
    return pseudo_r2(results.llf, llnull(results), results._n_units).mcfadden


def profile_interval(results: Fit, name: str, alpha: float = 0.05) -> tuple[float, float]:
    """See :meth:`tobitgp.RegressionResults.profile_interval`; ends are on the scale of the log hazard."""
    cells = RegressionResults(cells_at_maximum(results.parts, "profile_interval()"))
    lower, upper = cells.profile_interval(name, alpha)
    return -upper, -lower


def lr_test(results: Fit, other: Any) -> WaldResults:
    """See :meth:`tobitgp.RegressionResults.lr_test`; both fits have the same bands of time and strata."""
    larger, smaller = results.parts, getattr(other, "parts", None)
    if smaller is None or not isinstance(other, type(results)):
        raise SpecError(
            f"lr_test() requires a fit of the same baseline by maximum likelihood, not {type(other).__name__}."
        )
    free = [int(cells_at_maximum(parts, "lr_test()").maximum.free.sum()) for parts in (larger, smaller)]
    check_same_rows({"this model": subject_of(results), "the other": subject_of(other)})
    one, two = (parts.rows.design for parts in (larger, smaller))
    why = "" if free[0] > free[1] else "it has as many free parameters, or more"
    if larger.written.stratum != smaller.written.stratum or not np.array_equal(larger.cuts, smaller.cuts):
        why = "its baseline has other bands or strata"
    elif not spans(one.H, one.offset, two.H, two.offset):
        why = "its linear terms are not nested in these"
    if why:
        raise SpecError(f"The other model is not nested in this one: {why}. tg.compare(by='aic') ranks any two.")
    return chi_squared(max(2.0 * (results.llf - other.llf), 0.0), free[0] - free[1])


def bootstrap(
    results: Fit, n: int = 999, groups: Any = None, statistic: Any = None, *, rng: Any = None
) -> BootstrapResults:
    """See :meth:`tobitgp.RegressionResults.bootstrap`; bands of time stay the same, start-stop rows need ``groups``."""
    cells_at_maximum(results.parts, "bootstrap()")
    if results._of_subjects and groups is None:
        raise SpecError("bootstrap() must draw all rows of a subject together. Give groups=, the subject of each row.")
    return resampling.resampled(CellRefit(results, statistic), n, groups, rng)


def influence(results: Fit, *, scaled: bool = False) -> pd.DataFrame:
    """See :meth:`tobitgp.RegressionResults.influence`; changes are on the scale of the log hazard."""
    parts = results.parts
    cells = cells_at_maximum(parts, "influence()")
    if not cells.maximum.converged:
        raise SpecError(
            "The fit has not converged, so that the influence of its rows has no meaning. Follow its warning first."
        )
    p, asked = parts.n_linear, ask(parts)
    V = np.asarray(cells.maximum.inverse_information)[:p, :p]
    change = uncentred(cells, dfbeta(scores_of_rows(parts), V, parts.rows.response.weight).T).T
    if scaled:
        se = results.bse.to_numpy(np.float64)
        change = np.divide(change, se, out=np.zeros_like(change), where=se > 0.0)
    return pd.DataFrame(asked.spread(change), index=asked.index, columns=list(cells.columns))
