"""A regression as the package marginaleffects takes it."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.errors import SpecError
from tobitgp.kinds.likelihood import as_written
from tobitgp.kinds.regression import RegressionParts
from tobitgp.numerics.bordered import dense
from tobitgp.results.counterfactuals import ChangedRows, column_levels
from tobitgp.results.effect_questions import EffectRequest, read_asked
from tobitgp.results.fit import Fit
from tobitgp.results.rows import Limits, ask, no_limits
from tobitgp.typing import Array

_LIMITS = "_limit_lower", "_limit_upper", "_entry", "_exit"  # columns in addition to those of the data


def to_marginaleffects(
    results: Fit,
    what: str = "observed",
    *,
    q: float | None = None,
    below: float | None = None,
    above: float | None = None,
    times: float | None = None,
) -> Any:
    """The fit for the package marginaleffects: ``avg_slopes``, ``avg_comparisons``, ``predictions`` and others.

    Install it with ``pip install marginaleffects "polars<2"``; it is not a dependency of this package. Levels of
    factors appear as text. Rows count once: give frequency weights by its ``wts=``. Standard errors use its forward
    differences, which give three or four digits for slopes, and more with ``eps_vcov=1e-5``.

    Parameters
    ----------
    what : str
        Quantity to predict, as for :meth:`marginal_effects`, except ``"conditional"``.
    q, below, above, times : float, optional
        As for :meth:`marginal_effects`: the order of a quantile, a probability; a limit or a time, on the scale of the
        response.

    Returns
    -------
    ModelAbstract
        Model for marginaleffects; parameters of the noise scale are on the log scale.

    Raises
    ------
    SpecError
        If marginaleffects is not installed, for another ``what``, or a fit that holds no training rows.

    References
    ----------
    V. Arel-Bundock, N. Greifer and A. Heiss (2024), How to interpret statistical models using marginaleffects for R
    and Python, *Journal of Statistical Software* 111(9).

    Examples
    --------
    >>> import tobitgp as tg
    >>> res = tg.fit("durable ~ age | censor(0)", tg.datasets.load("tobin"))
    >>> me = res.to_marginaleffects("observed")  # doctest: +SKIP
    >>> marginaleffects.avg_slopes(me)  # doctest: +SKIP
    """
    try:
        import polars as pl
        from marginaleffects.classes.model import ModelAbstract, ModelVault
    except ImportError as error:
        message = "to_marginaleffects() requires the package marginaleffects: pip install marginaleffects 'polars<2'."
        raise SpecError(message) from error
    parts = results.parts
    asked = read_asked(parts.family.log_time, what, "dydx", q, below, above, times)
    if asked.what == "conditional":
        raise SpecError(
            "what='conditional' conditions on the observed response and is not supported here. "
            "Choose what='observed' or 'uncensored'."
        )
    if parts.covariates is None:
        raise SpecError("to_marginaleffects() requires the training rows, which this fit does not hold.")
    levels = {name: column_levels(parts, name) for name in parts.facts.columns}
    factors = {
        name: {_shown(each): each for each in known}
        for name, known in levels.items()
        if known is not None and parts.facts.columns[name].kind != "boolean"
    }
    table = {name: _column(pl, parts.covariates[name], factors.get(name)) for name in parts.facts.columns}
    if asked.limited:
        table |= dict(zip(_LIMITS, ask(parts).limits(), strict=True))

    class Adapter(ModelAbstract):  # type: ignore[misc]
        """A regression under parameters that marginaleffects moves."""

        def get_exog(self, newdata: Any) -> _Exog:
            """Rows, of which the design is made when they are predicted."""
            return _Exog(parts, factors, newdata)

        def get_predict(self, params: Array, newdata: Any) -> Any:
            """A number for each row."""
            rows = newdata if isinstance(newdata, _Exog) else self.get_exog(newdata)
            estimate = _predicted(parts, asked, np.asarray(params, dtype=np.float64), rows)
            rowid = pl.Series("rowid", np.arange(len(estimate)), dtype=pl.Int32)
            return pl.DataFrame([rowid, pl.Series("estimate", estimate)])

    p = len(parts.columns)
    names = [f"log({name})" if log else name for name, log in zip(parts.scale_names, parts.positive, strict=True)]
    vault = ModelVault(
        coef=np.concatenate([parts.coefficients, parts.maximum.parameters[p:]]),
        coefnames=np.array([*parts.columns, *names]),
        formula=lambda data: (None, data),
        modeldata=pl.DataFrame(table),
        vcov=dense(as_written(parts, parts.covariance)),
        variable_names=[results.model.endog_names, *parts.facts.columns],
        package="tobitgp",
    )
    return Adapter(results, vault)


def _shown(level: Any) -> str:
    return f"{level:g}" if isinstance(level, float) else str(level)


def _column(pl: Any, values: pd.Series[Any], levels: dict[str, Any] | None) -> Any:
    """A column for polars; of a factor with its levels by name."""
    if levels is None:
        return pl.Series(values.to_numpy())
    return pl.Series([_shown(level) for level in values], dtype=pl.Enum(list(levels)))


class _Exog:
    """Rows of marginaleffects, with the design that belongs to them."""

    def __init__(self, parts: RegressionParts, factors: dict[str, dict[str, Any]], frame: Any):
        self.parts, self.factors, self.frame = parts, factors, frame

    def __getitem__(self, rows: slice) -> _Exog:
        return _Exog(self.parts, self.factors, self.frame[rows])

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return len(self.frame), len(self.frame.columns)

    @cached_property
    def table(self) -> pd.DataFrame:
        """The rows with levels as they are in the data."""
        columns = {name: self.frame[name].to_list() for name in self.frame.columns}
        for name, levels in self.factors.items():
            columns[name] = [levels.get(value, value) for value in columns[name]]
        return pd.DataFrame(columns)

    @cached_property
    def design(self) -> Any:
        """The design of the rows."""
        return self.parts.state.replay(self.table)[0]

    def limits(self) -> Limits:
        """Limits and windows: of training rows and of grids made from them their own columns."""
        n = len(self.table)
        if set(_LIMITS) <= set(self.table.columns):
            return Limits(*(self.table[name].to_numpy(dtype=np.float64) for name in _LIMITS))
        usable = np.ones(n, dtype=np.bool_)
        return Limits(*self.parts.state.limits(self.table, usable), *self.parts.state.window(self.table, usable))


def _predicted(parts: RegressionParts, asked: EffectRequest, theta: Array, exog: _Exog) -> Array:
    """Numbers (n,) of rows at parameters (k,) of the columns as written."""
    p, q = len(parts.columns), len(parts.maximum.gamma)
    maximum = replace(parts.maximum, coefficients=theta[:p], gamma=theta[p : p + q])
    if parts.family.estimate_shape:
        maximum = replace(maximum, shape=float(theta[-1]))
    moved = replace(parts, maximum=maximum, centre=np.zeros_like(parts.centre))
    n = len(exog.frame)
    limits = exog.limits() if asked.limited else no_limits(n)
    question = asked.question(parts.family.log_time, ChangedRows(exog.table, np.ones(n), limits))
    x = moved.predictors(exog.design)
    return np.asarray(question.number(moved.at(x)))
