r"""Hazard ratios and survival odds ratios: differences of f over the noise scale, with their joint uncertainty.

.. math:: \log \mathrm{HR}(x, x_0) = -\frac{f(x) - f(x_0)}{\sigma},

For a regression, the delta method is applied in the coefficients and log sigma. For a process, the distribution is
normal at every design point of the hyper-parameters, and a mixture over these: (SUR11) and (SUR12) of the theory pages.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.data.absorbed import as_dense
from tobitgp.data.frames import read_frame
from tobitgp.data.linear_columns import INTERCEPT
from tobitgp.data.training_summary import NO_ROWS
from tobitgp.errors import SpecError
from tobitgp.formula.linear_terms import mentions
from tobitgp.results.counterfactuals import column_levels
from tobitgp.results.fit import Fit
from tobitgp.results.not_finite import warn_of_intervals, warn_of_ratios
from tobitgp.results.predict import check_alpha
from tobitgp.results.ratios import Compared, Contrasts
from tobitgp.results.rows import ask
from tobitgp.results.terms import Term, model_terms, term_columns
from tobitgp.results.words import HAZARD, ODDS

LOW, MIDDLE, HIGH = 0.1, 0.5, 0.9  # shares of the training inputs below those at which processes are shown


def hazard_ratios(
    results: Fit, alpha: float = 0.05, terms: Any = None, at: Any = None, reference: Any = None
) -> pd.DataFrame:
    """Hazard ratios of Weibull and exponential times and of models of hazards, odds ratios of log-logistic times.

    Each linear coefficient has a row: the factor by which one unit of the column multiplies the hazard at any time. For
    a process the table compares inputs, by default the 10% and 90% quantiles of the training inputs with their median,
    for each level of ``by=``. Use ``at`` for ratios of random effects; all other ratios are conditional on the random
    effects. Intervals use the joint uncertainty of f at both inputs and of sigma. If the hyper-parameters were not
    averaged over, sigma is treated as known. Models of hazards have a scale of 1, and with ``link="odds"`` the ratios
    are odds ratios of the event before any time.

    Parameters
    ----------
    alpha : float
        Significance level: intervals have probability ``1 - alpha``.
    terms : str or list of str, optional
        Terms of the formula, or columns of the linear part; by default all that do not change over time. With ``at``,
        the terms whose sum is compared.
    at : DataFrame or dict of columns, optional
        Rows to compare with ``reference`` instead: all terms that use a column named here change together.
    reference : dict, optional
        Values of columns for the other row. By default numbers and dates are at their weighted median in the training
        rows, and factors at their first level; the labels of the table show what was compared.

    Returns
    -------
    DataFrame
        Columns ``coef, se(coef), exp(coef), lower, upper, z, p``: the logarithm of the ratio and its standard error
        (with a prior: posterior mean and standard deviation), the ratio with its interval, and the test that it is 1
        (with a prior: p is twice the smaller of the probabilities that it is above or below 1). For odds ratios the
        column is ``odds ratio`` instead of ``exp(coef)``: the odds of surviving any time are multiplied by it.

    Raises
    ------
    SpecError
        If the family has no ratio that is the same at all times, or sigma differs from row to row; for unknown terms or
        columns, two strata, an ``alpha`` outside 0 to 1, or missing training rows.
    DataError, UnseenLevelError
        If values of ``at`` or ``reference`` cannot be used.

    Warns
    -----
    ApproximationWarning
        If ratios are 0 or infinite, or an end of an interval is NaN, because the unit of a column is far from its
        standard deviation, or because the rows hardly determine a coefficient, e.g. that of a level without events.

    References
    ----------
    Kalbfleisch and Prentice (2002), *The Statistical Analysis of Failure Time Data*, 2nd ed., sections 2.3 and 7.2;
    (SUR11), (SUR12) and (PH5) of the theory pages.

    Examples
    --------
    >>> import tobitgp as tg
    >>> res = tg.fit("Surv(time, event) ~ age + sex", tg.datasets.load("lung"), family="weibull")
    >>> res.hazard_ratios().round(3)
          coef  se(coef)  exp(coef)  lower  upper      z      p
    age  0.016     0.009      1.016  0.998  1.035  1.769  0.077
    sex -0.507     0.167      0.602  0.434  0.836 -3.033  0.002
    >>> res.hazard_ratios(at={"age": [50, 70]}, reference={"age": 60})["exp(coef)"].round(3)
    age = 50 vs 60    0.850
    age = 70 vs 60    1.177
    Name: exp(coef), dtype: float64
    """
    table: pd.DataFrame = results._ratio_table(alpha, terms, at, reference)
    known = [name for name in table if name in (HAZARD, ODDS, "lower", "upper")]
    warn_of_ratios(results, "hazard_ratios()", table[known])
    ends = table[["lower", "upper"]]
    warn_of_intervals(results, "hazard_ratios()", ends.where(ends.isna(), 1.0))
    return table


def ratio_table(
    results: Fit, alpha: float = 0.05, terms: Any = None, at: Any = None, reference: Any = None
) -> pd.DataFrame:
    """The table of `hazard_ratios`."""
    alpha, kind = check_alpha(alpha), results._ratio_kind()
    tables = []
    for labels, contrasts in compared(results, terms, at, reference):
        log = results._log_ratios(contrasts, kind.sign)
        with np.errstate(over="ignore"):
            ratio, ends = np.exp(log.coefficients()), np.exp(log.interval(alpha))
        columns = {"coef": log.coefficients(), "se(coef)": log.errors(), kind.name: ratio}
        columns |= {"lower": ends[:, 0], "upper": ends[:, 1], "z": log.z_values(), "p": log.p_values()}
        tables.append(pd.DataFrame(columns, index=labels))
    if not tables:
        raise SpecError("The covariates have one value each, so that there is nothing to compare. Give at=.")
    return pd.concat(tables)


def ratio_tables(results: Fit, alpha: float) -> list[pd.DataFrame]:
    """Tables of hazard or odds ratios that summaries show."""
    return [results._ratio_table(alpha)]


# -- what is compared -------------------------------------------------------------------------------------------------


def compared(results: Fit, terms: Any, at: Any = None, reference: Any = None) -> Iterator[Compared]:
    """Pairs of rows that a table of ratios is about."""
    if at is not None:
        chosen = None if terms is None else [term.name for term in chosen_terms(results, terms)[1]]
        yield _rows_against(results, _frame(results.parts, at), _reference(reference), chosen)
        return
    columns, processes = chosen_terms(results, terms)
    if columns:
        yield of_columns(results, columns)
    for term in processes:
        if term.block is not None:
            yield from of_process(results, term, (LOW, HIGH), MIDDLE, _reference(reference))
    if not columns and not any(term.block is not None for term in processes):
        raise SpecError("This model has no column with a hazard ratio.")


def chosen_terms(results: Fit, terms: Any) -> tuple[list[int], list[Term]]:
    """Linear columns, and terms that were named; without names all but random effects, the intercept and offsets."""
    parts = results.parts
    known = {term.name: term for term in model_terms(parts) if term.name != INTERCEPT and not term.is_offset}
    effects = {term.name for term in parts.spec.gps if not term.factors}
    if terms is None:
        found = [term for name, term in known.items() if name not in effects]
        return [j for term in found for j in term.columns], found
    if not isinstance(terms, str | list | tuple):
        raise SpecError(f"terms={terms!r}: terms must be the name of a term or a list of names.")
    names, columns, found = [terms] if isinstance(terms, str) else list(terms), list(results._columns), []
    chosen: list[int] = []
    for name in names:
        if name in known:
            chosen += known[name].columns
            found.append(known[name])
        elif name in columns and name != INTERCEPT:
            chosen.append(columns.index(name))
        else:
            listed = ", ".join(map(repr, known)) or "none"
            raise SpecError(f"terms= names {name!r}, which is not a term of this model. It has {listed}.")
    return chosen, found


def of_columns(results: Fit, columns: Sequence[int]) -> Compared:
    """One unit of each of some linear columns."""
    names = results._columns
    unit = np.zeros((len(columns), len(names)))
    unit[np.arange(len(columns)), list(columns)] = 1.0
    return Compared([names[j] for j in columns], Contrasts(unit, np.zeros(len(columns))))


def of_process(
    results: Fit, term: Term, highs: Sequence[float], low: float, reference: dict[str, Any]
) -> Iterator[Compared]:
    """A process along each of its inputs, in each of its groups, where shares of the training inputs lie below."""
    parts = results.parts
    t, used = next((t, used) for name, t, used in term_columns(parts) if name == term.name)
    assert t is not None
    process = parts.spec.gps[t]
    if not process.factors:
        raise SpecError(f"{term.name} is a factor: give two of its levels by at= and reference=.")
    groups: list[dict[str, Any]] = [{}]
    if process.by is not None:
        groups = [{process.by.text.strip("`"): level} for level in parts.state.group_levels[t] or ()]
    for group in groups:
        for name in used:
            levels = column_levels(parts, name)
            values = [order_value(results, name, share) for share in highs] if levels is None else levels[1:]
            usual = order_value(results, name, low) if levels is None else levels[0]
            against = {name: usual} | reference | group
            values = [value for value in dict.fromkeys(values) if value != against[name]]
            if not values:
                continue
            found = _rows_against(results, _frame(parts, {name: values, **group}), against, [term.name])
            yield found._replace(labels=[f"{term.name}: {label}" for label in found.labels])


def _frame(parts: Any, at: Any) -> pd.DataFrame:
    """Rows to compare; of a DataFrame the columns of the model."""
    known, at = parts.state.input_names, at if isinstance(at, dict) else read_frame(at)
    if isinstance(at, pd.DataFrame):
        return at[[name for name in at.columns if name in known]].reset_index(drop=True)
    if not isinstance(at, dict) or not at:
        raise SpecError(f"at={at!r}: at must be a DataFrame or a dict of columns, e.g. at={{'age': [50, 70]}}.")
    sizes = {len(values) for values in at.values() if np.ndim(values)} or {1}
    if len(sizes) > 1:
        raise SpecError(
            f"at= has columns of {' and '.join(map(str, sorted(sizes)))} values: all columns must have the same "
            f"number of values."
        )
    n = sizes.pop()
    return pd.DataFrame({name: values if np.ndim(values) else [values] * n for name, values in at.items()})


def _reference(reference: Any) -> dict[str, Any]:
    """Values of the other row."""
    if reference is not None and not isinstance(reference, dict):
        raise SpecError(f"reference={reference!r}: reference must be a dict of values, e.g. reference={{'age': 60}}.")
    return dict(reference or {})


def _rows_against(results: Fit, at: pd.DataFrame, reference: dict[str, Any], only: list[str] | None) -> Compared:
    """Rows against one other row, in the terms that use what differs."""
    parts = results.parts
    known = parts.state.input_names
    for name in (*at.columns, *reference):
        if name not in known:
            raise SpecError(
                f"{name!r} is not a column of this model, which has {', '.join(map(repr, known)) or 'none'}."
            )
    terms = [term for term in model_terms(parts) if term.name != INTERCEPT]
    moved = [
        term
        for term in terms
        if (only is None or term.name in only) and any(mentions(x, name) for x in term.texts for name in at.columns)
    ]
    if not moved:
        raise SpecError(f"No term in the ratio uses {' or '.join(map(repr, at.columns))}.")
    others = [name for name in known if name not in at.columns]
    used = [*at.columns, *(name for name in others if any(mentions(x, name) for term in moved for x in term.texts))]
    value = {name: reference[name] if name in reference else usual_value(results, name) for name in used}
    low = pd.DataFrame({name: [value[name]] * len(at) for name in used})
    high = low.assign(**{name: at[name] for name in at.columns})
    left_out = [term.name for term in terms if term not in moved]
    asked = ask(parts, pd.concat([high, low], ignore_index=True), left_out, terms=True)
    if not asked.usable.all():
        raise SpecError("at= and reference= must not contain missing values.")
    k, H, offset = len(at), as_dense(asked.design.H), asked.design.offset
    rows = asked if any(term.block is not None for term in moved) else None
    labels = [_label(high.iloc[i], value) for i in range(k)]
    same = np.array([all(high[name][i] == value[name] for name in used) for i in range(k)], dtype=bool)
    return Compared(labels, Contrasts(H[:k] - H[k:], offset[:k] - offset[k:], rows, same))


def _label(row: pd.Series[Any], value: dict[str, Any]) -> str:
    """Label of two rows: their different values, and common ones."""
    words = []
    for name, low in value.items():
        shown, other = _shown(row[name]), _shown(low)
        words.append(f"{name} = {shown}" + (f" vs {other}" if shown != other else ""))
    return ", ".join(words)


def _shown(value: Any) -> str:
    if isinstance(value, pd.Timestamp | np.datetime64):
        return pd.Timestamp(value).strftime("%Y-%m-%d")
    return f"{value:.5g}" if isinstance(value, float | np.floating) else str(value)


def usual_value(results: Fit, name: str) -> Any:
    """First level of a factor, median of a number."""
    levels = column_levels(results.parts, name)
    return order_value(results, name, MIDDLE) if levels is None else levels[0]


def order_value(results: Fit, name: str, share: float) -> Any:
    """Value of a column below which a share of the training rows lies, by their weights."""
    parts = results.parts
    if parts.covariates is None:
        raise SpecError(f"{NO_ROWS}: give at= and reference= with a value for {name!r}.")
    values, weight = parts.covariates[name], parts.rows.response.weight
    order = np.argsort(values.to_numpy(), kind="stable")
    sums = np.cumsum(weight[order])
    goal = share * sums[-1]
    first = int(np.searchsorted(sums, goal * (1.0 - 1e-12)))
    low = values.iloc[order[first]]
    high = values.iloc[order[min(first + int(np.isclose(sums[first], goal, rtol=1e-12)), len(order) - 1)]]
    return low if low == high else low + (high - low) / 2
