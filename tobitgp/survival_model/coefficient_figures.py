"""Figures of coefficients and of curves at values of covariates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.errors import SpecError
from tobitgp.survival_model.observed_rows import central_values

_STYLE = {"c": "k", "fmt": "s", "markerfacecolor": "white", "markeredgewidth": 1.25, "elinewidth": 1.25, "capsize": 3}
_CURVES = ("survival_function", "cumulative_hazard", "hazard")


def plot(
    model: Any,
    columns: Sequence[str] | None = None,
    parameter: str | None = None,
    hazard_ratios: bool = False,
    ax: Any = None,
    **errorbar_kwargs: Any,
) -> Any:
    """Coefficients of ``summary`` with their intervals.

    Parameters
    ----------
    columns : list of str, optional
        Covariates to show; all without, in the order of their coefficients.
    parameter : str, optional
        Parameter to show, such as ``"lambda_"``.
    hazard_ratios : bool
        Show exponentials of the coefficients.
    ax : matplotlib axes, optional
        Axes to draw on; the current axes by default.
    **errorbar_kwargs : dict
        Options of matplotlib's errorbar().

    Returns
    -------
    matplotlib axes

    Raises
    ------
    SpecError
        For unknown columns or parameters.

    Examples
    --------
    >>> import tobitgp as tg
    >>> model = tg.SurvivalModel("age + sex").fit(tg.datasets.load("lung"), "time", "event")
    >>> [label.get_text() for label in model.plot(parameter="lambda_").get_yticklabels()]
    ['age', 'sex', 'Intercept']
    """
    import matplotlib.pyplot as plt

    axes, table = plt.gca() if ax is None else ax, model.summary
    covariate = table.index.get_level_values("covariate")
    wrong = [name for name in columns or () if name not in covariate]
    if wrong:
        raise SpecError(
            f"columns={wrong!r} are not covariates of the model, which has {', '.join(dict.fromkeys(covariate))}."
        )
    if parameter is not None:
        if table.index.nlevels == 1 or parameter not in table.index.get_level_values("param"):
            raise SpecError(f"parameter={parameter!r} is not a parameter of the model. Leave it out.")
        table = table.loc[parameter]
    if columns is None:
        groups = table.groupby(level=0, sort=False, group_keys=False) if table.index.nlevels > 1 else None
        by = {"by": "coef", "ascending": True}
        table = table.sort_values(**by) if groups is None else pd.concat(rows.sort_values(**by) for _, rows in groups)
    else:
        table = table[table.index.get_level_values("covariate").isin(columns)].iloc[::-1]
    of, level = "exp(coef)" if hazard_ratios else "coef", f"{100.0 * (1.0 - model.alpha):g}%"
    value, places = table[of].to_numpy(), np.arange(len(table))
    ends = np.abs(table[[f"{of} {end} {level}" for end in ("lower", "upper")]].to_numpy() - value[:, None])
    axes.errorbar(value, places, xerr=ends.T, **{**_STYLE, **errorbar_kwargs})
    axes.axvline(1.0 if hazard_ratios else 0.0, linestyle="dashed", linewidth=1, alpha=0.65, color="k")
    axes.set_yticks(places, [name if isinstance(name, str) else f"{name[0]}: {name[1]}" for name in table.index])
    axes.set_xlabel(f"{of} ({level} CI)")
    return axes


def plot_partial_effects_on_outcome(
    model: Any,
    covariates: str | Sequence[str],
    values: Any,
    plot_baseline: bool = True,
    times: Any = None,
    y: str = "survival_function",
    ax: Any = None,
    **kwargs: Any,
) -> Any:
    """Draw curves at values of covariates, with the others at their medians or most frequent values.

    Parameters
    ----------
    covariates : str or list of str
        Columns of the data to vary.
    values : (m,) or (m, k) array
        Their values, in their units: a curve for each row.
    plot_baseline : bool
        Draw the curve at the central values of all covariates, too.
    times : (t,) array, optional
        Times in the unit of the data; by default those of the fit.
    y : {"survival_function", "cumulative_hazard", "hazard"}
        The curve.
    ax : matplotlib axes, optional
        Axes to draw on; new axes by default.
    **kwargs : dict
        Options of pandas' plot(), such as ``cmap="coolwarm"``.

    Returns
    -------
    matplotlib axes, or a list of them, one for each stratum

    Raises
    ------
    SpecError
        For unknown columns or curves, and values of another shape.

    Examples
    --------
    >>> import tobitgp as tg
    >>> model = tg.SurvivalModel("age + sex").fit(tg.datasets.load("lung"), "time", "event")
    >>> ax = model.plot_partial_effects_on_outcome("age", [50, 70], times=[0, 200, 400])
    >>> [line.get_label() for line in ax.get_lines()]
    ['age=50', 'age=70', 'baseline survival_function']
    """
    import matplotlib.pyplot as plt

    if y not in _CURVES:
        raise SpecError(f"y={y!r}: y must be one of {', '.join(map(repr, _CURVES))}.")
    names = [covariates] if isinstance(covariates, str) else list(covariates)
    grid, centre = np.asarray(values, dtype=object), central_values(model)
    grid = grid[:, None] if grid.ndim == 1 else grid
    if grid.ndim != 2 or grid.shape[1] != len(names):
        raise SpecError(f"values= must have a column for each of the {len(names)} covariates.")
    wrong = [name for name in names if name not in centre]
    if wrong:
        raise SpecError(f"covariates={wrong!r} are not columns of the model, which has {', '.join(map(str, centre))}.")
    predict, out = getattr(model, f"predict_{y}"), []
    for label, row in zip(centre.index, np.arange(len(centre)), strict=True):
        axes = ax if ax is not None else plt.subplots()[1]
        rows = centre.iloc[np.full(len(grid), row)]
        rows = rows.assign(**{name: list(grid[:, j]) for j, name in enumerate(names)})
        rows.index = [", ".join(f"{name}={value}" for name, value in zip(names, of, strict=True)) for of in grid]
        predict(rows, times=times).plot(ax=axes, **kwargs)
        if plot_baseline:
            name = f"stratum {label} baseline {y}" if model.strata else f"baseline {y}"
            predict(centre.iloc[row : row + 1], times=times).set_axis([name], axis=1).plot(ax=axes, ls=":", color="k")
        out.append(axes)
    return out if model.strata else out[0]
