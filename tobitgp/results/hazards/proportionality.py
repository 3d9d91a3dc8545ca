"""Whether hazards are proportional: the score test of products of columns with a function of time; (PH4)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
from scipy.special import chdtrc

from tobitgp.data.absorbed import as_dense
from tobitgp.data.arrays import Design
from tobitgp.data.linear_columns import linear_terms
from tobitgp.diagnostics.residual_tests import RawTest
from tobitgp.errors import SpecError
from tobitgp.formula.hazard_formula import HazardFormula
from tobitgp.numerics.nonparametric import kaplan_meier
from tobitgp.results.hazards.cells import AtRisk
from tobitgp.results.hazards.partial import maximise, risk_sets_of
from tobitgp.results.views import Source
from tobitgp.typing import Array, IntArray


def proportionality_table(
    parts: Source, written: HazardFormula, design: Design, risk: AtRisk, location: Array, *, terms: bool = True
) -> pd.DataFrame:
    """Tests of the terms, or columns, of a linear part; ``location`` (n,) is minus the log hazard but for the baseline.

    The other parts of the log hazard are held at the fit's.
    """
    columns = tested_columns(parts, written)
    if not columns:
        raise SpecError("This model has no linear column whose coefficient could change over time.")
    X = as_dense(design.H)[:, columns]
    X = X - X.mean(axis=0)
    X = X / np.where((sd := X.std(axis=0)) > 0.0, sd, 1.0)
    U, V = _score_at_maximum(X, risk, -location, strata_of(parts, written, len(X)))
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


def _score_at_maximum(X: Array, risk: AtRisk, log_hazard: Array, stratum: IntArray) -> tuple[Array, Array]:
    """Scores (p,) of X g(t) and their covariance, where Cox's partial likelihood has its maximum in the coefficients.

    ``g`` is of all strata together, as in cox.zph.
    """
    times, survival = kaplan_meier(risk.exit, risk.event, risk.weight, risk.entry)
    before = 1.0 - np.concatenate([[1.0], survival[:-1]])
    g = before[np.searchsorted(times, risk.exit)]
    g = g - np.average(g[risk.event], weights=risk.weight[risk.event])
    found = maximise(X, risk_sets_of(risk, stratum), log_hazard, g)
    slope = np.linalg.pinv(found.of_x, hermitian=True) @ found.of_both
    return found.U - slope.T @ found.U_x, found.of_g - slope.T @ found.of_both


def proportionality_findings(
    parts: Source, written: HazardFormula, table: pd.DataFrame, *, has_tv: bool
) -> Iterator[RawTest]:
    """The global test as a diagnostic, with the term that it would be about and a formula that helps."""
    worst = str(table.drop(index="GLOBAL")["p"].idxmin())
    chi2, df, p = table.to_numpy(dtype=float)[-1].tolist()
    words = f"chi2({df:.0f}) = {chi2:.1f}"
    good, wrong = f"coefficients do not change over time, {words}", f"coefficients change over time, {words}"
    remedy = f"Most of all that of {worst}: {_remedy(parts, written, worst, has_tv)}."
    yield RawTest("proportional hazards", chi2, p, True, good, wrong, remedy)


def _remedy(parts: Source, written: HazardFormula, term: str, has_tv: bool) -> str:
    """What the formula may hold in the place of a term."""
    column = term.removeprefix("C(").removesuffix(")") if term.startswith("C(") else term
    is_column = column.strip("`") in parts.state.input_names
    is_factor = is_column and term not in parts.state.linear.columns
    vary = "" if has_tv else ' with family="ph"'
    if not is_column:
        changing = f"make a column of it and let it change, tv(column){vary}"
        return f"{changing}, or give each level of a column in it a baseline, strata()"
    if is_factor and written.stratum is not None:
        return f"join {column} and {written.stratum} to one column, and give each of its levels a baseline, strata()"
    return f"give each level a baseline, strata({column})" if is_factor else f"let it change, tv({column}){vary}"
