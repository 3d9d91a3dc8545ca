"""Whether hazards are proportional: the score test of products of columns with a function of time; (PH4)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import chdtrc

from tobitgp.data.absorbed import as_dense
from tobitgp.data.arrays import Design
from tobitgp.data.linear import linear_terms
from tobitgp.diagnostics.residual_tests import RawTest
from tobitgp.errors import SpecError
from tobitgp.formula.hazards import HazardFormula
from tobitgp.numerics.nonparametric import kaplan_meier
from tobitgp.results.hazards.cells import AtRisk
from tobitgp.results.views import Source
from tobitgp.typing import Array, IntArray

_STEPS, _LONGEST, _SMALL = 12, 2.0, 1e-8  # of Newton's method, and of its steps in log hazards
_TIES = 200  # events at one time that leave the risk set one after the other; more of them leave in groups


def proportionality_table(
    parts: Source, written: HazardFormula, design: Design, risk: AtRisk, location: Array, *, terms: bool = True
) -> pd.DataFrame:
    """Tests of the terms, or columns, of a linear part; ``location`` (n,) is minus the log hazard but for the baseline.

    The other parts of the log hazard are held at the fit's.
    """
    columns, stratum = tested_columns(parts, written), np.zeros(len(location), dtype=np.intp)
    if not columns:
        raise SpecError("This model has no linear column whose coefficient could change over time.")
    if written.stratum is not None:
        assert parts.covariates is not None
        stratum = parts.covariates[written.stratum.strip("`")].factorize()[0]
    X = as_dense(design.H)[:, columns]
    X = X - X.mean(axis=0)
    X = X / np.where((sd := X.std(axis=0)) > 0.0, sd, 1.0)
    U, V = _score_at_maximum(X, risk, -location, stratum)
    names = {parts.state.linear.columns[i]: (i,) for i in columns}
    tested = {
        name: [columns.index(i) for i in of] for name, of in (_own_terms(parts, columns) if terms else names).items()
    }
    tested["GLOBAL"] = list(range(len(columns)))
    chi2 = np.array([U[of] @ np.linalg.pinv(V[np.ix_(of, of)], hermitian=True) @ U[of] for of in tested.values()])
    df = np.array([len(of) for of in tested.values()])
    return pd.DataFrame({"chisq": chi2, "df": df, "p": chdtrc(df, chi2)}, index=list(tested))


def tested_columns(parts: Source, written: HazardFormula) -> list[int]:
    """Places of the columns whose coefficients are taken to be the same at all times."""
    stratum = "" if written.stratum is None else written.stratum.strip("`")
    names = enumerate(parts.state.linear.columns)
    return [i for i, name in names if written.is_own(name) and name.split("[")[0] != stratum]


def _own_terms(parts: Source, columns: list[int]) -> dict[str, tuple[int, ...]]:
    """Tested columns of each linear term."""
    found = {name: tuple(i for i in of if i in columns) for name, of in linear_terms(parts.state.linear)}
    return {name: of for name, of in found.items() if of}


def _score_at_maximum(X: Array, risk: AtRisk, log_hazard: Array, stratum: IntArray) -> tuple[Array, Array]:
    """Scores (p,) of X g(t) and their covariance, where Cox's partial likelihood has its maximum in the coefficients.

    From the fit's log hazards Newton's method finds it; ``g`` is of all strata together, as in cox.zph.
    """
    times, survival = kaplan_meier(risk.exit, risk.event, risk.weight, risk.entry)
    before = 1.0 - np.concatenate([[1.0], survival[:-1]])
    g = before[np.searchsorted(times, risk.exit)]
    g = g - np.average(g[risk.event], weights=risk.weight[risk.event])
    strata = [np.flatnonzero(stratum == code) for code in np.unique(stratum)]
    sets = [(here, RiskSets.of(risk.rows(here))) for here in strata if risk.event[here].any()]
    for _ in range(_STEPS):
        made = [_scores(X[here], each, log_hazard[here], g[here]) for here, each in sets]
        U, U_x, of_x, of_both, of_g = (np.sum(values, axis=0) for values in zip(*made, strict=True))
        inverse = np.linalg.pinv(of_x, hermitian=True)
        step = X @ (inverse @ U_x)
        furthest = float(np.abs(step).max())
        if furthest < _SMALL:
            break
        log_hazard = log_hazard + step * min(1.0, _LONGEST / furthest)
    slope = inverse @ of_both
    return U - slope.T @ U_x, of_g - slope.T @ of_both


@dataclass(frozen=True, slots=True)
class RiskSets:
    """Sums over rows at risk at m times of events; those at one time leave in turns, as Efron has them."""

    risk: AtRisk
    dead: IntArray  # rows with an event
    of_dead: IntArray  # the time of each, among the m
    by_exit: IntArray  # (n,), rows in the order of their exits
    exited: IntArray  # (m,), how many of these have left before each time
    by_entry: IntArray  # (n,)
    entered: IntArray  # (m,), how many have entered before each time
    time: IntArray  # (M,), the time of each turn
    share: Array  # (M,), of the events at that time that have left before
    mass: Array  # (M,), weight of the events of a turn

    @classmethod
    def of(cls, risk: AtRisk) -> RiskSets:
        """From rows at risk; a weight of w is w events."""
        dead = np.flatnonzero(risk.event & (risk.weight > 0.0))
        times, of_dead = np.unique(risk.exit[dead], return_inverse=True)
        weight = np.bincount(of_dead, risk.weight[dead])
        turns = np.clip(np.round(weight), 1, _TIES).astype(np.intp)
        time = np.repeat(np.arange(len(times)), turns)
        turn = np.arange(len(time)) - np.repeat(np.cumsum(turns) - turns, turns)
        by_exit, by_entry = np.argsort(risk.exit, kind="stable"), np.argsort(risk.entry, kind="stable")
        exited, entered = np.searchsorted(risk.exit[by_exit], times), np.searchsorted(risk.entry[by_entry], times)
        share, mass = turn / turns[time], (weight / turns)[time]
        return cls(risk, dead, of_dead, by_exit, exited, by_entry, entered, time, share, mass)

    def events(self, values: Array) -> Array:
        """Sums (m, ...) over the events at each time of values (n, ...)."""
        out = np.zeros((len(self.exited), *values.shape[1:]))
        np.add.at(out, self.of_dead, values[self.dead])
        return out

    def turns(self, values: Array) -> Array:
        """Sums (M, ...) of values (n, ...) over the rows that are at risk in each turn."""
        late = _from(values[self.by_exit], self.exited) - _from(values[self.by_entry], self.entered)
        share = self.share.reshape(-1, *[1] * (values.ndim - 1))
        return np.asarray(late[self.time] - share * self.events(values)[self.time])


def _from(values: Array, first: IntArray) -> Array:
    """Sums (m, ...) of values (n, ...) from some place on."""
    sums = np.concatenate([np.cumsum(values[::-1], axis=0)[::-1], np.zeros((1, *values.shape[1:]))])
    return np.asarray(sums[first])


def _scores(X: Array, sets: RiskSets, log_hazard: Array, g: Array) -> tuple[Array, ...]:
    """Scores of X g(t) and of X, the information of X, of both, and of X g(t)."""
    at = np.zeros(len(sets.exited))
    at[sets.of_dead] = g[sets.dead]
    at = at[sets.time]
    hazard = sets.risk.weight * np.exp(log_hazard - log_hazard.max())
    total = sets.turns(hazard)
    mean = sets.turns(hazard[:, None] * X) / total[:, None]
    seen = sets.risk.weight[sets.dead, None] * X[sets.dead]
    U = g[sets.dead] @ seen - (at * sets.mass) @ mean
    of = np.empty((3, X.shape[1], X.shape[1]))
    for j, x in enumerate(X.T):
        second = sets.turns((hazard * x)[:, None] * X) / total[:, None]
        V = sets.mass[:, None] * (second - mean[:, [j]] * mean)
        of[:, j] = np.stack([np.ones_like(at), at, at**2]) @ V
    return U, seen.sum(axis=0) - sets.mass @ mean, *of


def proportionality_findings(
    parts: Source, written: HazardFormula, table: pd.DataFrame, *, has_tv: bool
) -> Iterator[RawTest]:
    """The global test as a diagnostic, with the term that it would be about and a formula that helps."""
    worst = str(table.drop(index="GLOBAL")["p"].idxmin())
    chi2, df, p = table.to_numpy(dtype=float)[-1].tolist()
    words = f"chi2({df:.0f}) = {chi2:.1f}"
    good, wrong = f"coefficients do not change over time, {words}", f"coefficients change over time, {words}"
    remedy = f"most of all that of {worst}: {_remedy(parts, written, worst, has_tv)}"
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
