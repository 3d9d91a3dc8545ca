"""Whether hazards are proportional: the score test of products of columns with a function of time; (PH4)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
from scipy.special import chdtrc

from tobitgp.data.absorbed import as_dense
from tobitgp.data.arrays import Design
from tobitgp.diagnostics.residual_tests import RawTest
from tobitgp.engines import row_chunks
from tobitgp.errors import SpecError
from tobitgp.formula.hazards import HazardFormula
from tobitgp.numerics.nonparametric import kaplan_meier
from tobitgp.results.hazards.cells import AtRisk
from tobitgp.results.views import Source
from tobitgp.typing import Array

_AT_ONCE = 5_000_000


def proportionality_table(
    parts: Source, written: HazardFormula, design: Design, risk: AtRisk, location: Array
) -> pd.DataFrame:
    """Tests of the columns of a linear part; ``location`` (n,) is minus the log hazard but for the baseline."""
    columns, stratum = tested_columns(parts, written), np.zeros(len(location), dtype=np.intp)
    if not columns:
        raise SpecError("This model has no linear column whose coefficient could change over time.")
    if written.stratum is not None:
        assert parts.covariates is not None
        stratum = parts.covariates[written.stratum.strip("`")].factorize()[0]
    X = as_dense(design.H)[:, columns]
    k = len(columns)
    sums = [np.zeros(k), np.zeros(k), np.zeros((k, k)), np.zeros((k, k)), np.zeros((k, k))]
    for code in np.unique(stratum[risk.event & (risk.weight > 0.0)]):  # a stratum without events has no score
        here = stratum == code
        part = AtRisk(*(values[here] for values in risk))
        for total, value in zip(sums, _score(X[here], part, -location[here]), strict=True):
            total += value
    U, U_x, of_x, of_both, of_g = sums
    slope = np.linalg.pinv(of_x) @ of_both
    U, V = U - slope.T @ U_x, of_g - slope.T @ of_both
    chi2 = np.append(U**2 / np.diag(V), U @ np.linalg.pinv(V) @ U)
    df = np.append(np.ones(k), k)
    names = [parts.state.linear.columns[i] for i in columns]
    table = {"chisq": chi2, "df": df.astype(int), "p": chdtrc(df, chi2)}
    return pd.DataFrame(table, index=[*names, "GLOBAL"])


def tested_columns(parts: Source, written: HazardFormula) -> list[int]:
    """Places of the columns whose coefficients are taken to be the same at all times."""
    stratum = "" if written.stratum is None else written.stratum.strip("`")
    names = enumerate(parts.state.linear.columns)
    return [i for i, name in names if written.is_own(name) and name.split("[")[0] != stratum]


def _score(X: Array, risk: AtRisk, log_hazard: Array) -> tuple[Array, ...]:
    """Scores of X g(t) and of X, the information of X, of both, and of X g(t), summed over the event times."""
    times, survival = kaplan_meier(risk.exit, risk.event, risk.weight, risk.entry)
    p = X.shape[1]
    U, U_x = np.zeros(p), np.zeros(p)
    of_x, of_both, of_g = (np.zeros((p, p)) for _ in range(3))
    seen = np.isin(times, risk.exit[risk.event])
    g = 1.0 - np.concatenate([[1.0], survival[:-1]])[seen]
    times = times[seen]
    weight = risk.weight * np.exp(log_hazard - log_hazard.max())
    g = g - _mean_g(times, g, risk)
    for span in row_chunks(0, len(times), max(_AT_ONCE // len(X), 1)):
        t = times[span]
        there = ((risk.entry[None] < t[:, None]) & (t[:, None] <= risk.exit[None])) * weight
        total = there.sum(axis=1)
        mean = there @ X / total[:, None]
        second = np.einsum("mn,nj,nk->mjk", there, X, X, optimize=True) / total[:, None, None]
        now = ((risk.exit[None] == t[:, None]) & risk.event[None]) * risk.weight
        deaths = now.sum(axis=1)
        V = deaths[:, None, None] * (second - mean[:, :, None] * mean[:, None, :])
        away = now @ X - deaths[:, None] * mean
        U += g[span] @ away
        U_x += away.sum(axis=0)
        of_x += V.sum(axis=0)
        of_both += np.einsum("m,mjk->jk", g[span], V)
        of_g += np.einsum("m,mjk->jk", g[span] ** 2, V)
    return U, U_x, of_x, of_both, of_g


def _mean_g(times: Array, g: Array, risk: AtRisk) -> float:
    """Mean of g over the events."""
    at = np.searchsorted(times, risk.exit[risk.event])
    return float(np.average(g[at], weights=risk.weight[risk.event]))


def proportionality_findings(table: pd.DataFrame) -> Iterator[RawTest]:
    """The global test as a diagnostic, with the columns that it would be about."""
    worst = table.drop(index="GLOBAL")["p"].idxmin()
    chi2, df, p = table.to_numpy(dtype=float)[-1].tolist()
    words = f"chi2({df:.0f}) = {chi2:.1f}"
    good, wrong = f"coefficients do not change over time, {words}", f"coefficients change over time, {words}"
    remedy = f"most of all that of {worst}: let it change, tv({worst}), or give each level a baseline, strata()"
    yield RawTest("proportional hazards", chi2, p, True, good, wrong, remedy)
