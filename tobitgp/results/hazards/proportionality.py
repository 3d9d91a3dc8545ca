"""The Cox partial likelihood of a fit: tests of proportional hazards, (PH4), and skewed coefficients."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np
import pandas as pd
from scipy.special import chdtrc, chdtri

from tobitgp.data.absorbed import as_dense
from tobitgp.data.arrays import Design
from tobitgp.data.linear_columns import linear_terms
from tobitgp.diagnostics.residual_tests import RawTest
from tobitgp.errors import SpecError
from tobitgp.formula.hazard_formula import HazardFormula
from tobitgp.numerics.nonparametric import kaplan_meier
from tobitgp.regression.clusters import Clusters, middle
from tobitgp.results.fit import Fit
from tobitgp.results.hazards.cells import AtRisk, at_risk
from tobitgp.results.hazards.partial_likelihood import maximise, risk_sets_of, score_residuals
from tobitgp.results.views import Source
from tobitgp.typing import Array, IntArray


def proportionality_table(
    parts: Source,
    written: HazardFormula,
    design: Design,
    risk: AtRisk,
    location: Array,
    *,
    terms: bool = True,
    clusters: Clusters | None = None,
) -> pd.DataFrame:
    """Tests of the terms, or columns, of a linear part; ``location`` (n,) is minus the log hazard without the baseline.

    The other parts of the log hazard are held at the values of the fit. Sampling weights require a sandwich over rows
    or clusters.
    """
    columns = tested_columns(parts, written)
    if not columns:
        raise SpecError("This model has no linear column whose coefficient could change over time.")
    X = as_dense(design.H)[:, columns]
    X = X - X.mean(axis=0)
    X = X / np.where((sd := X.std(axis=0)) > 0.0, sd, 1.0)
    if parts.rows.sampling and clusters is None:
        clusters = Clusters.of(np.arange(len(X)))
    sandwich = clusters if parts.rows.sampling else None
    U, V = _score_at_maximum(X, risk, -location, strata_of(parts, written, len(X)), sandwich)
    names = {parts.state.linear.columns[i]: (i,) for i in columns}
    tested = {
        name: [columns.index(i) for i in of] for name, of in (_own_terms(parts, columns) if terms else names).items()
    }
    tested["GLOBAL"] = list(range(len(columns)))
    chi2 = np.array([U[of] @ np.linalg.pinv(V[np.ix_(of, of)], hermitian=True) @ U[of] for of in tested.values()])
    chi2 = np.maximum(chi2, 0.0)  # below it by rounding where no one at risk differs from the others
    df = np.array([len(of) for of in tested.values()])
    return pd.DataFrame({"chisq": chi2, "df": df, "p": chdtrc(df, chi2)}, index=list(tested))


def tested_columns(parts: Source, written: HazardFormula) -> list[int]:
    """Places of the columns whose coefficients are taken to be the same at all times."""
    stratum = "" if written.stratum is None else written.stratum.strip("`")
    names = enumerate(parts.state.linear.columns)
    return [i for i, name in names if written.is_own(name) and name.split("[")[0] != stratum]


def strata_of(parts: Source, written: HazardFormula, n: int) -> IntArray:
    """A number (n,) for the stratum of each row."""
    if written.stratum is None:
        return np.zeros(n, dtype=np.intp)
    assert parts.covariates is not None
    return np.asarray(parts.covariates[written.stratum.strip("`")].factorize()[0], dtype=np.intp)


def _own_terms(parts: Source, columns: list[int]) -> dict[str, tuple[int, ...]]:
    """Tested columns of each linear term."""
    found = {name: tuple(i for i in of if i in columns) for name, of in linear_terms(parts.state.linear)}
    return {name: of for name, of in found.items() if of}


def _score_at_maximum(
    X: Array, risk: AtRisk, log_hazard: Array, stratum: IntArray, clusters: Clusters | None
) -> tuple[Array, Array]:
    """Scores (p,) of X g(t) and their covariance, where Cox's partial likelihood has its maximum in the coefficients.

    ``g`` is of all strata together, as in cox.zph. With clusters weights are those of a sample, and the covariance is
    that of the sums of residuals within clusters, (PH11).
    """
    times, survival = kaplan_meier(risk.exit, risk.event, risk.weight, risk.entry)
    before = 1.0 - np.concatenate([[1.0], survival[:-1]])
    g = before[np.searchsorted(times, risk.exit)]
    g = g - np.average(g[risk.event], weights=risk.weight[risk.event])
    strata = risk_sets_of(risk, stratum, sampling=clusters is not None)
    found = maximise(X, strata, log_hazard, g)
    slope = np.linalg.pinv(found.of_x, hermitian=True) @ found.of_both
    U, p = found.U - slope.T @ found.U_x, X.shape[1]
    if clusters is None:
        return U, found.of_g - slope.T @ found.of_both
    own, at = np.zeros_like(X), log_hazard + X @ found.change
    for here, sets in strata:
        of_x, of_g = score_residuals(X[here], sets, at[here], g[here])
        own[here] = of_g - of_x @ slope
    return U, middle(clusters, own, risk.weight, float(len(X)), np.eye(p), np.zeros(p, dtype=np.bool_))


def proportionality_findings(
    parts: Source, written: HazardFormula, table: pd.DataFrame, *, has_tv: bool
) -> Iterator[RawTest]:
    """The global test as a diagnostic, with the term that it would be about and a formula that helps."""
    worst = str(table.drop(index="GLOBAL")["p"].idxmin())
    chi2, df, p = table.to_numpy(dtype=float)[-1].tolist()
    words = f"chi2({df:.0f}) = {chi2:.1f}"
    good, wrong = f"the coefficients do not change over time, {words}", f"coefficients change over time, {words}"
    remedy = f"The evidence is strongest for {worst}: {_remedy(parts, written, worst, has_tv)}."
    yield RawTest("proportional hazards", chi2, p, True, good, wrong, remedy)


def _remedy(parts: Source, written: HazardFormula, term: str, has_tv: bool) -> str:
    """Remedies: formulas to use instead of a term."""
    column = term.removeprefix("C(").removesuffix(")") if term.startswith("C(") else term
    is_column = column.strip("`") in parts.state.input_names
    is_factor = is_column and term not in parts.state.linear.columns
    vary = "" if has_tv else ' with family="ph"'
    if not is_column:
        changing = f"add it to the data as a column, and let its effect change over time by tv(column){vary}"
        return f"{changing}, or give each level of a factor in it a baseline by strata()"
    if is_factor and written.stratum is not None:
        return f"combine {column} and {written.stratum} in one column, and give each level of it a baseline by strata()"
    if is_factor:
        return f"give each level a baseline by strata({column})"
    return f"let its effect change over time by tv({column}){vary}"


_AWAY = 0.15  # errors between the mean of a posterior and the maximum of the partial likelihood
_SKEWED = 1.2  # between the distances of the limits from it
_WIDENINGS, _CLOSE = 5, 1e-6  # of the search of a limit, in errors


def skewed_coefficients(results: Fit) -> dict[str, Array]:
    """Coefficients whose posterior mean is not at the maximum of the Cox partial likelihood, because of skewness.

    By name, the maximum and the 95% profile limits, either of which may be infinite. Processes and random effects are
    held at the values of the fit.
    """
    parts = results.parts
    columns = tested_columns(parts, parts.written)
    if parts.training is None or parts.estimated or parts.written.varying or not columns:
        return {}
    X, risk = as_dense(parts.training.design.H)[:, columns], at_risk(parts.training.response)
    sets, log_hazard = risk_sets_of(risk, strata_of(parts, parts.written, len(X))), -results._location()
    names = [parts.state.linear.columns[i] for i in columns]
    if not set(names) <= set(results.params.index):  # means of cells, which the fit has as differences
        return {}
    mean, error = results.params[names].to_numpy(), results.bse[names].to_numpy()
    at, out = maximise(X - X.mean(axis=0), sets, log_hazard), {}
    for j in np.flatnonzero((error > 0.0) & (np.abs(at.change) > _AWAY * error)):
        others = np.delete(X, j, axis=1)
        others = others - others.mean(axis=0)

        def lost(change: float, j: int = int(j), others: Array = others) -> float:
            moved = maximise(others, sets, log_hazard + X[:, j] * change)
            return 2.0 * (at.value - moved.value) - float(chdtri(1, 0.05))

        lower, upper = (_limit(lost, float(at.change[j]), side * float(error[j])) for side in (-1.0, 1.0))
        top = next((end for end in (lower, upper) if np.isinf(end)), at.change[j])  # flat as far as it was followed
        below, above = (abs(end - at.change[j]) for end in (lower, upper))
        if max(below, above) > _SKEWED * min(below, above):
            out[names[j]] = mean[j] + np.array([top, lower, upper])
    return out


def _limit(lost: Callable[[float], float], start: float, step: float) -> float:
    """Where what is lost rises above 0, infinite where it does not."""
    inside = start
    for k in range(_WIDENINGS):
        outside = start + step * 2.0**k
        if lost(outside) > 0.0:
            break
        inside = outside
    else:
        return float(np.copysign(np.inf, step))
    from scipy.optimize import brentq

    return float(brentq(lost, inside, outside, xtol=_CLOSE * abs(step)))


def skewed_note(few: Mapping[str, Array]) -> list[str]:
    """Likelihood estimates of coefficients whose posterior is skewed."""
    if not few:
        return []
    ratios = {name: np.exp(values) for name, values in few.items()}
    listed = "; ".join(f"{name} {top:.3g} ({lower:.3g}, {upper:.3g})" for name, (top, lower, upper) in ratios.items())
    return [
        "If few events are informative about a coefficient, its posterior is skewed and its mean is not at the "
        "maximum of the likelihood. Hazard ratio at the maximum of the Cox partial likelihood, with 95% profile "
        f"limits: {listed}."
    ]
