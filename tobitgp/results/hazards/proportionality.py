"""Cox's partial likelihood and what it says of a fit: tests of proportional hazards, (PH4), and skewed coefficients."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

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
from tobitgp.results.fit import Fit
from tobitgp.results.hazards.cells import AtRisk, at_risk
from tobitgp.results.views import Source
from tobitgp.typing import Array, IntArray

_STEPS, _LONGEST, _SMALL = 12, 2.0, 1e-8  # of Newton's method, and of its steps in log hazards
_FAR = 300.0  # logarithms of hazards below the largest, whose sums are numbers
_TIES = 200  # events at one time that leave the risk set one after the other; more of them leave in groups


class Partial(NamedTuple):
    """The partial likelihood at some log hazards, and its derivatives in coefficients of X and of X g(t)."""

    value: float
    U: Array  # (p,), scores of X g(t)
    U_x: Array  # (p,), scores of X
    of_x: Array  # (p, p), information of X
    of_both: Array  # (p, p)
    of_g: Array  # (p, p), information of X g(t)
    change: Array  # (p,), of the coefficients from where the search began


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


def risk_sets_of(risk: AtRisk, stratum: IntArray) -> list[tuple[IntArray, RiskSets]]:
    """Rows of every stratum (n,) in which an event was seen, and its risk sets."""
    strata = [np.flatnonzero(stratum == code) for code in np.unique(stratum[risk.event])]
    return [(here, RiskSets.of(risk.rows(here))) for here in strata]


def maximise(X: Array, sets: Sequence[tuple[IntArray, RiskSets]], log_hazard: Array, g: Array | None = None) -> Partial:
    """The partial likelihood at its maximum in the coefficients of X, by Newton's method from some log hazards."""
    g, change = np.zeros(len(X)) if g is None else g, np.zeros(X.shape[1])
    for _ in range(_STEPS):
        made = [_scores(X[here], each, log_hazard[here], g[here]) for here, each in sets]
        sums = [np.sum(values, axis=0) for values in zip(*made, strict=True)]
        move = np.linalg.pinv(sums[3], hermitian=True) @ sums[2]
        step = X @ move
        furthest = float(np.abs(step).max(initial=0.0))
        if furthest < _SMALL:
            break
        scale = min(1.0, _LONGEST / furthest)
        log_hazard, change = log_hazard + scale * step, change + scale * move
    value, U, U_x, of_x, of_both, of_g = sums
    return Partial(float(value), U, U_x, of_x, of_both, of_g, change)


def _scores(X: Array, sets: RiskSets, log_hazard: Array, g: Array) -> tuple[float, Array, Array, Array, Array, Array]:
    """The logarithm of the partial likelihood and its derivatives, as of `Partial`."""
    at = np.zeros(len(sets.exited))
    at[sets.of_dead] = g[sets.dead]
    at = at[sets.time]
    log_hazard = np.maximum(log_hazard - log_hazard.max(), -_FAR)
    hazard, weight = sets.risk.weight * np.exp(log_hazard), sets.risk.weight[sets.dead]
    # Rounding of differences of sums must not leave less than those who have the event.
    total = np.maximum(sets.turns(hazard), (1.0 - sets.share) * sets.events(hazard)[sets.time])
    mean = sets.turns(hazard[:, None] * X) / total[:, None]
    seen = weight[:, None] * X[sets.dead]
    of = np.empty((3, X.shape[1], X.shape[1]))
    for j, x in enumerate(X.T):
        second = sets.turns((hazard * x)[:, None] * X) / total[:, None]
        V = sets.mass[:, None] * (second - mean[:, [j]] * mean)
        of[:, j] = np.stack([np.ones_like(at), at, at**2]) @ V
    value = float(weight @ log_hazard[sets.dead] - sets.mass @ np.log(total))
    return value, g[sets.dead] @ seen - (at * sets.mass) @ mean, seen.sum(axis=0) - sets.mass @ mean, *of


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
    good, wrong = f"the coefficients do not change over time, {words}", f"coefficients change over time, {words}"
    remedy = f"The evidence is strongest for {worst}: {_remedy(parts, written, worst, has_tv)}."
    yield RawTest("proportional hazards", chi2, p, True, good, wrong, remedy)


def _remedy(parts: Source, written: HazardFormula, term: str, has_tv: bool) -> str:
    """What the formula may hold in the place of a term."""
    column = term.removeprefix("C(").removesuffix(")") if term.startswith("C(") else term
    is_column = column.strip("`") in parts.state.input_names
    is_factor = is_column and term not in parts.state.linear.columns
    vary = "" if has_tv else ' with family="ph"'
    if not is_column:
        changing = f"add it to the data as a column, and let its effect change by tv(column){vary}"
        return f"{changing}, or give each level of a factor in it a baseline by strata()"
    if is_factor and written.stratum is not None:
        return f"combine {column} and {written.stratum} in one column, and give each level of it a baseline by strata()"
    if is_factor:
        return f"give each level a baseline by strata({column})"
    return f"let its effect change over time by tv({column}){vary}"


_AWAY = 0.15  # errors between the mean of a posterior and the maximum of the partial likelihood
_SKEWED = 1.2  # between the distances of the limits from it
_WIDENINGS, _HALVINGS = 5, 30  # of the search of a limit, in errors


def skewed_coefficients(results: Fit) -> dict[str, Array]:
    """Of coefficients of a posterior whose mean is not where Cox's partial likelihood is highest, for its skewness.

    By name the maximum and the 95% limits of its profile, either of which may be infinite. Processes and random effects
    are held at the fit's.
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
    for _ in range(_HALVINGS):
        middle = 0.5 * (inside + outside)
        inside, outside = (inside, middle) if lost(middle) > 0.0 else (middle, outside)
    return 0.5 * (inside + outside)


def skewed_note(few: Mapping[str, Array]) -> list[str]:
    """What the likelihood says of coefficients whose posterior is skewed."""
    if not few:
        return []
    ratios = {name: np.exp(values) for name, values in few.items()}
    listed = "; ".join(f"{name} {top:.3g} ({lower:.3g}, {upper:.3g})" for name, (top, lower, upper) in ratios.items())
    return [
        "Where few events are informative about a coefficient, its posterior is skewed, and the mean is not where the "
        "likelihood is highest. Hazard ratio at the maximum of Cox's partial likelihood, with 95% limits by its "
        f"profile: {listed}."
    ]
