"""Hazard ratios, random effects, tests of proportionality, and figures of proportional hazards."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from tobitgp.diagnostics.training_draws import training_rows
from tobitgp.errors import SpecError
from tobitgp.formula.hazard_formula import HazardFormula
from tobitgp.kinds.process_nodes import group_table
from tobitgp.results.counterfactuals import column_levels
from tobitgp.results.fit import Fit
from tobitgp.results.hazard_ratios import MIDDLE, order_value, ratio_table
from tobitgp.results.hazards.cells import at_risk
from tobitgp.results.hazards.proportionality import proportionality_table
from tobitgp.results.predict import check_level


def group_effects(results: Fit, term: str | None = None, *, interval: float | None = 0.95) -> pd.DataFrame:
    """See :meth:`tobitgp.GPResults.group_effects`; effects are on the scale of the log hazard, (RAN1)."""
    if results.parts.estimated:
        raise SpecError("This model has no random effects.")
    found = group_table(results.parts.cells, term, interval)
    flipped = found.assign(estimate=-found["estimate"])
    return flipped if interval is None else flipped.assign(lower=-found["upper"], upper=-found["lower"])


def proportionality(results: Fit, *, terms: bool = True) -> pd.DataFrame:
    """Test whether coefficients change over time, as in ``cox.zph`` of R's survival package.

    Each linear term (a factor as a whole) has a score test of the products of its columns with one minus the
    Kaplan-Meier estimate, at the maximum of the Cox partial likelihood with Efron's treatment of ties. Strata have
    separate risk sets. Processes and random effects are held at the values of this fit. With sampling weights
    (including weights that are not whole numbers), the covariance of the scores is a sandwich, (PH11).

    Parameters
    ----------
    terms : bool
        Whether a term is tested as a whole, or each of its columns alone.

    Returns
    -------
    DataFrame
        A row for each linear term, or column, and ``GLOBAL`` for all; columns ``chisq, df, p``, dimensionless numbers.

    Raises
    ------
    SpecError
        If the model has no linear column, or the fit holds no training rows.

    References
    ----------
    P. M. Grambsch and T. M. Therneau (1994), Proportional hazards tests and diagnostics based on weighted
    residuals, *Biometrika* 81, 515-526; D. Y. Lin and L. J. Wei (1989), The robust inference for the Cox proportional
    hazards model, *JASA* 84, 1074-1078; (PH4) and (PH11) of the theory pages.

    Examples
    --------
    >>> import tobitgp as tg
    >>> res = tg.fit("Surv(time, event) ~ age + sex", tg.datasets.load("lung"), family="ph")
    >>> bool((res.proportionality()["p"] > 0.05).all())
    True
    """
    training = training_rows(results._parts, "proportionality()")
    risk = at_risk(training.response)
    at = training.design, risk, results._location()
    return proportionality_table(results._parts, results._parts.written, *at, terms=terms)


def plot(results: Fit, *, interval: float | None = 0.95) -> Any:
    """Baseline hazard, coefficients that change over time, and processes as log hazard ratios.

    The baseline is that of a row with typical covariates, for each level of ``strata()``. Processes are compared with
    their value at the median of their columns; a process of two columns is a map, and one of more columns has a panel
    for each.

    Parameters
    ----------
    interval : float or None
        Probability of the bands.

    Returns
    -------
    matplotlib axes, or an array of them

    Raises
    ------
    SpecError
        If the fit holds no training rows, or for an interval outside (0, 1).

    Examples
    --------
    >>> import tobitgp as tg
    >>> res = tg.fit("Surv(time, event) ~ age + tv(sex)", tg.datasets.load("lung").head(60), family="ph")
    >>> [ax.get_title(loc="left") for ax in res.plot()]
    ['baseline hazard', 'coefficient of sex']
    """
    from tobitgp.report.hazard_summary import plot_hazards

    return plot_hazards(results, check_level(interval))


def ratios_of_cells(
    results: Fit, alpha: float = 0.05, terms: Any = None, at: Any = None, reference: Any = None
) -> pd.DataFrame:
    """Ratios of columns and processes that do not change over time, the scale being 1."""
    parts = results.parts
    terms = parts.own_terms if at is None and terms is None else terms
    known, changing = parts.state.input_names, parts.written.changing
    named = [*(at if at is not None else ()), *(reference or ())]
    for name in named:
        if name not in known:
            raise SpecError(
                f"{name!r} is not a column of this model, which has {', '.join(map(repr, known)) or 'none'}."
            )
    for name in (*named, *([terms] if isinstance(terms, str) else terms or ())):
        if name in changing:
            raise SpecError(f"The coefficient of {name} changes over time. Use hazard_ratios_over_time().")
    at, reference = without_strata(parts.written, terms, at, reference)
    usual: dict[str, Any] = {}
    for name in at if at is not None and parts.covariates is not None else ():
        if column_levels(parts, name) is None:
            usual[name] = order_value(results, name, MIDDLE)
    reference = usual | (reference or {})
    return ratio_table(results.cells, alpha, terms, at, reference or None)


def without_strata(written: HazardFormula, terms: Any, at: Any, reference: Any) -> tuple[Any, Any]:
    """``at`` and ``reference`` without the stratum, which must be the same: baselines of two differ in shape."""
    if written.stratum is None:
        return at, reference
    stratum, at = written.stratum.strip("`"), None if at is None else dict(at)
    named = {stratum, f"C({stratum})"} & set([terms] if isinstance(terms, str) else terms or ())
    reference = dict(reference or {})
    of_reference = reference.pop(stratum, None)
    of_rows = np.ravel([] if at is None else at.pop(stratum, []))
    if named or any(value != of_reference for value in of_rows):
        raise SpecError(
            f"The strata of {stratum!r} have different baselines, whose ratio changes over time. Compare "
            f"predict_hazard() of two rows, or give at= and reference= the same stratum to compare other columns."
        )
    return at, reference or None
