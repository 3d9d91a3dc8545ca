"""How columns change in marginal effects: at which rows, from what to what."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from tobitgp.data.dates import in_days
from tobitgp.data.facts import NO_ROWS, coded_values, constant_column
from tobitgp.data.shapes import Design
from tobitgp.errors import SpecError, user_level
from tobitgp.results.groups import curve_levels, keep_intercepts
from tobitgp.results.rows import Limits, ask, mean_limits, no_limits
from tobitgp.results.views import Source
from tobitgp.typing import Array, Frame

if TYPE_CHECKING:
    from tobitgp.results.results import Results

STEP = 1e-4
SLOPE = "dy/dx"


@dataclass(frozen=True, slots=True)
class Change:
    """Two values of a column in n rows."""

    variable: str
    contrast: str
    high: Design
    low: Design
    width: Array  # (n,), what the difference is divided by


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows at which effects are formed: covariates, weights that add up to one, limits and windows."""

    frame: pd.DataFrame
    weight: Array
    limits: Limits


def rows_at(parts: Source, at: Any, *, need_limits: bool) -> Rows:
    """Rows that ``at`` names."""
    names = list(parts.facts.columns)
    if not names and parts.state.input_names:
        raise SpecError("This fit holds no training rows, from which the columns and their steps are taken.")
    if isinstance(at, str) and at == "overall":
        if parts.covariates is None:
            raise SpecError(f"{NO_ROWS}: give at='mean', or at= a DataFrame of rows.")
        n, weight = parts.facts.n, parts.rows.response.weight
        limits = ask(parts).limits() if need_limits else no_limits(n)
        return Rows(parts.covariates, weight / weight.sum(), limits)
    if isinstance(at, str) and at == "mean":
        columns = parts.facts.columns.items()
        frame = pd.DataFrame(
            {
                name: constant_column(parts.state, x, name, x.example if x.typical is None else x.typical, 1)
                for name, x in columns
            }
        )
        return Rows(frame, np.ones(1), mean_limits(parts) if need_limits else no_limits(1))
    if isinstance(at, (pd.DataFrame, dict)):
        asked = ask(parts, at)
        frame = at if isinstance(at, pd.DataFrame) else pd.DataFrame(at)
        frame = in_days(frame.loc[asked.usable, names])
        if not len(frame):
            raise SpecError("at= has no row without missing values.")
        n = len(frame)
        return Rows(frame, np.full(n, 1.0 / n), asked.limits() if need_limits else no_limits(n))
    raise SpecError(f"at={at!r}: 'overall', 'mean', of a regression 'design', or a DataFrame of rows is needed.")


def _levels(parts: Source, name: str) -> list[Any] | None:
    """Levels of a column that is used as a factor, has a curve for each, or holds truth values."""
    known = parts.state.levels.get(name)
    if known is not None:
        return list(known)
    curves = curve_levels(parts, name)
    if curves is not None:
        return curves
    coded = coded_values(parts.state, name)
    if coded is not None:
        return coded.tolist()
    return [False, True] if parts.facts.columns[name].kind == "boolean" else None


def changes(parts: Source, frame: pd.DataFrame) -> Iterator[Change]:
    """Every contrast of every column of linear and process terms, and of the noise scale; dates are left out."""
    scale = () if parts.state.scale is None else parts.state.scale.spec.names("linear")
    names = dict.fromkeys((*parts.spec.names("linear", "gp", "by"), *scale))
    dates = [name for name in names if parts.facts.columns[name].kind == "date"]
    if dates:
        listed = f"{', '.join(map(repr, dates))} hold{'s' * (len(dates) == 1)} dates"
        message = (
            f"{listed}, along which no effect is formed; make years of {'it' if len(dates) == 1 else 'them'} first"
        )
        if len(dates) == len(names):
            raise SpecError(f"Column{'s' * (len(dates) > 1)} {message}.")
        warnings.warn(f"Left out: {message}", UserWarning, stacklevel=user_level())
    for name in names:
        if name in dates:
            continue
        levels = _levels(parts, name)
        if levels is None:
            yield _slope(parts, frame, name)
            continue
        base = _replay(parts, frame, name, _constant(parts, name, levels, 0, len(frame)))
        for k, level in enumerate(levels[1:], start=1):
            other = _replay(parts, frame, name, _constant(parts, name, levels, k, len(frame)))
            shown = [f"{v:g}" if isinstance(v, float) else str(v) for v in (level, levels[0])]
            yield Change(name, " - ".join(shown), other, base, np.ones(len(frame)))


def _slope(parts: Source, frame: pd.DataFrame, name: str) -> Change:
    seen = parts.facts.columns[name]
    x = frame[name].to_numpy(dtype=np.float64)
    step = STEP * (seen.sd or max(abs(seen.minimum), 1.0))
    room = step if seen.minimum == seen.maximum else 0.0
    high = np.minimum(x + step, np.maximum(seen.maximum + room, x))
    low = np.maximum(x - step, np.minimum(seen.minimum - room, x))
    return Change(name, SLOPE, _replay(parts, frame, name, high), _replay(parts, frame, name, low), high - low)


def _constant(parts: Source, name: str, levels: list[Any], k: int, n: int) -> Any:
    """Column that holds one level."""
    return constant_column(parts.state, parts.facts.columns[name], name, levels[k], n)


def _replay(parts: Source, frame: Frame, name: str, values: Any) -> Design:
    assert isinstance(frame, pd.DataFrame)
    design = parts.state.replay(frame.assign(**{name: values}))[0]
    if name not in parts.spec.names("re"):
        return design
    return keep_intercepts(parts, design, parts.state.replay(frame)[0])


def marginal_effects(
    results: Results,
    what: str = "latent",
    at: Any = "overall",
    *,
    below: float | None = None,
    above: float | None = None,
    alpha: float = 0.05,
) -> pd.DataFrame:
    """How predictions change with each column: derivatives for numbers, differences from the base for factors.

    A column that has a curve for each level by ``by=`` counts as a factor; random intercepts have no effects here,
    but in :meth:`tobitgp.GPResults.group_effects`, and each row keeps its own.

    Effects are those of ``predict``, averaged over rows. Of a regression their standard errors are those of the delta
    method; of a process standard deviations, p-values and intervals come from the posterior, the effect linearised in
    the weights of the features at every design point; on the latent scale nothing is lost by that. An effect is in the
    units of the prediction per unit of the column.

    Parameters
    ----------
    what : {"latent", "observed", "prob"}
        Of f, of the mean of what is shown (clipped, in the window), or of the probability of lying below or above a
        limit.
    at : {"overall", "mean", "design"}, or DataFrame
        Average over the training rows with their weights, at the mean of numbers and the most frequent level of
        factors and groups, at the mean of all columns of a regression's design, dummies among them, or over the rows of
        a DataFrame. At ``"design"`` a level has the derivative in its dummy, which is what R's ``censReg::margEff``
        prints.
    below, above : float, optional
        With ``"prob"``, one of the two, on the scale of the response.
    alpha : float
        Probability left out of the intervals.

    Returns
    -------
    DataFrame
        Index ``(variable, contrast)``, the contrast ``"dy/dx"`` for numbers; columns
        ``dydx, se, z, p, lower, upper``. ``"observed"`` adds ``intensive``, the change of values between the limits
        times their probability, and ``extensive``, the rest, through the probabilities.

    Raises
    ------
    SpecError
        For another ``what``, one that lacks its limits or has limits it does not take, an ``alpha`` outside (0, 1),
        or if the fit holds no training rows to average over.
    DataError, UnseenLevelError
        If the rows of ``at`` cannot be used.

    References
    ----------
    .. [1] J. F. McDonald and R. A. Moffitt, "The uses of Tobit analysis", REStat 62 (1980); (REG14) and (REG15) of
       the theory pages.

    Examples
    --------
    >>> import tobitgp as tg
    >>> res = tg.fit("durable ~ age | censor(0)", tg.datasets.load("tobin"), method="ep", fixed={"sigma": 5.0})
    >>> res.marginal_effects("observed").loc[("age", "dy/dx")].round(3)
    dydx        -0.055
    se           0.074
    z           -0.742
    p            0.458
    lower       -0.199
    upper        0.090
    intensive   -0.018
    extensive   -0.036
    Name: (age, dy/dx), dtype: float64
    """
    from tobitgp.results.effects import effects_table

    return effects_table(results.parts, what, at, below=below, above=above, alpha=alpha)
