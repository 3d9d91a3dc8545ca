"""Names of lifelines that are of proportional hazards: partial hazards, baselines, residuals, tests."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.data.frames import reads_frames
from tobitgp.diagnostics.training_draws import training_rows
from tobitgp.errors import DataError, SpecError
from tobitgp.results.survival import read_times
from tobitgp.results.why_not import HAZARDS
from tobitgp.results.words import HAZARD
from tobitgp.survival_model.observed_rows import central_values
from tobitgp.typing import Frame

RESIDUALS = ("martingale", "deviance", "schoenfeld", "scaled_schoenfeld", "score", "delta_beta")


def hazard_ratios_(model: Any) -> pd.Series[float]:
    """Ratio, a dimensionless number, by which one unit of each column multiplies the hazard, by column."""
    if model.results_._kind in HAZARDS:
        return model.params_.apply(np.exp).rename(HAZARD)
    return model.results_.hazard_ratios()[HAZARD].rename_axis("covariate")


def _log_hazard(model: Any, df: Any) -> pd.Series[float]:
    """Log hazards of rows, or of those of the fit, relative to one another; with strata as in one of these."""
    results = model.results_
    training_rows(results.parts, "The mean of the columns")
    if results._ratio_kind().name != HAZARD:
        raise SpecError("Hazards of this family are not proportional. Use predict_hazard() for the hazard of each row.")
    table = pd.DataFrame(results.parts.covariates if df is None else df)
    levels = {name: results.parts.covariates[name].iloc[0] for name in model.strata or ()}
    latent = results.predict(table.assign(**levels), what="latent")
    if results._kind in HAZARDS:
        return latent
    return -latent / results.params["sigma"]


@reads_frames
def predict_log_partial_hazard(model: Any, df: Frame) -> pd.Series[float]:
    """Logarithms of hazards of rows divided by that at the mean of the training rows' columns, pure numbers.

    Parameters
    ----------
    df : DataFrame
        New rows.

    Returns
    -------
    Series
        By the index of ``df``.

    Raises
    ------
    SpecError
        If hazards are not proportional.

    Examples
    --------
    >>> import tobitgp as tg
    >>> lung = tg.datasets.load("lung")
    >>> model = tg.SurvivalModel("age", family="ph").fit(lung, "time", "event")
    >>> model.predict_log_partial_hazard({"age": [50, 70]}).round(2).tolist()
    [-0.22, 0.14]
    """
    return (_log_hazard(model, df) - _log_hazard(model, None).mean()).rename(None)


@reads_frames
def predict_partial_hazard(model: Any, df: Frame) -> pd.Series[float]:
    """See :meth:`tobitgp.SurvivalModel.predict_log_partial_hazard`, whose exponentials these are."""
    log = predict_log_partial_hazard(model, df)
    return pd.Series(np.exp(log.to_numpy()), index=log.index)


def _baseline(model: Any, curve: str) -> pd.DataFrame:
    rows = central_values(model)
    ratio = np.exp(_log_hazard(model, None).mean() - _log_hazard(model, rows).to_numpy())
    table = model.predict_hazard(rows) if curve == "hazard" else model.predict_cumulative_hazard(rows)
    table = table * ratio
    return table if model.strata else table.set_axis([f"baseline {curve}"], axis=1)


def baseline_hazard_(model: Any) -> pd.DataFrame:
    """Hazard per unit of time at the mean of the columns: a row for each time, a column for each stratum."""
    return _baseline(model, "hazard")


def baseline_cumulative_hazard_(model: Any) -> pd.DataFrame:
    """Cumulative hazard (dimensionless) at the mean of the columns; rows and columns as for ``baseline_hazard_``."""
    return _baseline(model, "cumulative hazard")


def baseline_survival_(model: Any) -> pd.DataFrame:
    """Probability of survival at the mean of the columns; rows and columns as for ``baseline_hazard_``."""
    table = baseline_cumulative_hazard_(model).mul(-1.0).apply(np.exp)
    return table if model.strata else table.set_axis(["baseline survival"], axis=1)


def _check_rows(model: Any, df: Any, of: str) -> pd.Index[Any]:
    """Labels of the rows of the fit, which a table has to have."""
    labels = pd.Index(training_rows(model.results_.parts, of).labels)
    index = pd.DataFrame(df).index
    if df is None or not index.is_unique or not labels.isin(index).all():
        raise DataError(
            f"{of}: the data must be those of the fit, with a unique index. Pass the DataFrame given to fit()."
        )
    return labels


@reads_frames
def compute_residuals(model: Any, training_dataframe: Frame, kind: str) -> pd.DataFrame:
    """Residuals of the training rows.

    Martingale residuals are events minus cumulative hazards, and deviance residuals are the corresponding signed roots
    of deviances; both are dimensionless. Schoenfeld residuals are in the unit of each column. Residuals ``score`` and
    ``delta_beta`` have the parameters of ``results_``; ``delta_beta`` is in their units, ``score`` in inverse units.

    Parameters
    ----------
    training_dataframe : DataFrame
        Data of the fit.
    kind : {"martingale", "deviance", "schoenfeld", "scaled_schoenfeld", "score", "delta_beta"}

    Returns
    -------
    DataFrame
        A row for each row used; for Schoenfeld residuals, for each event, in the order of ``event_observed``.

    Raises
    ------
    SpecError
        For another kind, and for Schoenfeld residuals of models without proportional hazards.
    DataError
        If the data are not those of the fit.

    Examples
    --------
    >>> import tobitgp as tg
    >>> lung = tg.datasets.load("lung")
    >>> model = tg.SurvivalModel("age").fit(lung, "time", "event")
    >>> model.compute_residuals(lung, "martingale").head(2).round(3)
        time  event  martingale
    0  306.0   True       0.186
    1  455.0   True      -0.232
    """
    if kind not in RESIDUALS:
        raise SpecError(f"kind={kind!r}: kind must be one of {', '.join(map(repr, RESIDUALS))}.")
    _check_rows(model, training_dataframe, "compute_residuals()")
    results, event = model.results_, model.event_observed
    if kind in ("martingale", "deviance"):
        left = results.residuals("martingale").loc[event.index]
        if kind == "deviance":
            log = np.log(np.where(event, event - left, 1.0))
            left = np.sign(left) * np.sqrt(-2.0 * (left + log))
        return pd.DataFrame({model.duration_col: model.durations, event.name: event, kind: left})
    if kind == "score":
        return results.score_residuals
    if kind == "delta_beta":
        return results.influence()
    table = results.schoenfeld_residuals.loc[event.index[event]]  # lifelines' tests rely on its order
    if kind == "scaled_schoenfeld":
        V = results.cov_params().loc[table.columns, table.columns]
        table = int(event.sum()) * table @ V
    return table


@reads_frames
def compute_followup_hazard_ratios(model: Any, training_df: Frame, followup_times: Iterable[float]) -> pd.DataFrame:
    """Hazard ratios (dimensionless) of fits to the same rows with shorter follow-up.

    Parameters
    ----------
    training_df : DataFrame
        Data of the fit.
    followup_times : list of float
        Times, in the unit of the data, after which all rows are censored.

    Returns
    -------
    DataFrame
        A row for each time, a column for each coefficient.

    Raises
    ------
    DataError
        For a time after the last one.
    SpecError
        If the fit has no column of events, or hazards are not proportional.

    Examples
    --------
    >>> import tobitgp as tg
    >>> lung = tg.datasets.load("lung")
    >>> model = tg.SurvivalModel("sex").fit(lung, "time", "event")
    >>> model.compute_followup_hazard_ratios(lung, [200, 600]).round(2)["sex"].tolist()
    [0.45, 0.54]
    """
    if model._kind != "right" or model.event_col is None:
        raise SpecError("compute_followup_hazard_ratios() requires a right-censored fit with event_col=.")
    table, out = pd.DataFrame(training_df), {}
    time, event, last = model.durations, model.event_observed, float(model.durations.max())
    table = table.loc[_check_rows(model, table, "compute_followup_hazard_ratios()")]
    for at in np.sort(read_times(followup_times, "followup_times")):
        if at > last:
            raise DataError(f"followup_times={at:g}: the last time is {last:g}. Give earlier times.")
        seen = table.assign(**{model.event_col: event & (time <= at), model.duration_col: np.minimum(time, at)})
        out[at] = hazard_ratios_(copy(model)._again(seen))
    return pd.DataFrame(out).T


@reads_frames
def check_assumptions(
    model: Any,
    training_df: Frame,
    advice: bool = True,
    show_plots: bool = False,
    p_value_threshold: float = 0.01,
    plot_n_bootstraps: int = 15,
    columns: Sequence[str] | None = None,
    raise_on_fail: bool = False,
) -> list[Any]:
    """Test whether hazards are proportional, with ``results_.proportionality()``, and print the result.

    Parameters
    ----------
    training_df : DataFrame
        Data of the fit.
    advice : bool
        Print advice.
    show_plots : bool
        Draw scaled Schoenfeld residuals with a smooth curve over the ranks of the times, a figure for each column.
    p_value_threshold : float
        Probability at or below which a column fails.
    plot_n_bootstraps : int
        Number of curves of bootstrapped residuals in each figure.
    columns : list of str, optional
        Terms to test; by default all.
    raise_on_fail : bool
        Raise an error if a column fails.

    Returns
    -------
    list of matplotlib axes
        Empty without ``show_plots``.

    Raises
    ------
    DataError
        If the data are not those of the fit.
    SpecError
        If a column fails and ``raise_on_fail``, for unknown columns, and if hazards are not proportional.

    Examples
    --------
    >>> import tobitgp as tg
    >>> lung = tg.datasets.load("lung")
    >>> model = tg.SurvivalModel("age + sex", family="ph").fit(lung, "time", "event")
    >>> _ = model.check_assumptions(lung)
         chisq  df      p
    age  0.209   1  0.647
    sex  2.608   1  0.106
    No coefficient changes with time at the level 0.01.
    """
    _check_rows(model, training_df, "check_assumptions()")
    table = model.results_.proportionality().drop(index="GLOBAL")
    strangers = [name for name in columns or () if name not in table.index]
    if strangers:
        raise SpecError(f"columns={strangers!r} are not terms of the model, which has {', '.join(table.index)}.")
    table = table.loc[list(columns or table.index)]
    failed = [str(name) for name in table.index[table["p"] <= p_value_threshold]]
    print(table.round(3).to_string())
    words = f"Coefficients of {', '.join(failed)} change" if failed else "No coefficient changes"
    print(f"{words} with time at the level {p_value_threshold:g}.")
    if failed and advice:
        print(
            "tv(x) lets a coefficient change, strata(g) gives groups their own baselines. Check nonlinear effects too."
        )
    if failed and raise_on_fail:
        raise SpecError(f"Hazards are not proportional in {', '.join(failed)}. Use tv() or strata() in the formula.")
    return _residual_figures(model, training_df, plot_n_bootstraps, columns) if show_plots else []


def _residual_figures(model: Any, training_df: Any, bootstraps: int, columns: Sequence[str] | None) -> list[Any]:
    import matplotlib.pyplot as plt
    from statsmodels.nonparametric.smoothers_lowess import lowess

    table, rng, out = compute_residuals(model, training_df, "scaled_schoenfeld"), np.random.default_rng(0), []
    ranks = model.durations[model.event_observed].rank().to_numpy()
    for name in table if columns is None else [name for name in table if name in columns]:
        _, ax = plt.subplots()
        values = table[name].to_numpy()
        ax.scatter(ranks, values, alpha=0.75)
        for _ in range(bootstraps):
            draw = rng.choice(len(values), len(values))
            ax.plot(*lowess(values[draw], ranks[draw]).T, color="k", alpha=0.3)
        ax.plot(*lowess(values, ranks).T, color="k", linewidth=2)
        ax.axhline(0.0, linestyle="dashed", linewidth=1)
        ax.set(xlabel="rank of the time", ylabel=f"scaled Schoenfeld residuals of {name}")
        out.append(ax)
    return out
