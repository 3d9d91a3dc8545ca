"""Conformal intervals: quantiles of a fit whose orders are chosen by rows that it has not seen."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.data.arrays import CensoredResponse
from tobitgp.data.frames import answers_in_kind, reads_frames
from tobitgp.errors import ApproximationWarning, SpecError, user_level
from tobitgp.results.fit import Fit
from tobitgp.results.not_finite import warn_of_rows
from tobitgp.results.predict import check_probability
from tobitgp.results.rows import Asked
from tobitgp.typing import Array, Frame

_WHATS = ("uncensored", "observed")
_SIDES = ("both", "lower", "upper")
_ROUNDING = 1e-9
_ROWS = {"lower": "left-censored", "upper": "right-censored"}


def _ends(side: str) -> int:
    """Number of ends of an interval."""
    return 2 if side == "both" else 1


@dataclass(frozen=True, slots=True)
class ConformalIntervals:
    """Intervals whose levels come from calibration rows by (CON1) and (CON2); see ``res.conformalise()``.

    Attributes
    ----------
    results : Results
        The fit whose quantiles the ends are.
    what : str
        ``"uncensored"`` or ``"observed"``, what the intervals are of.
    below, above : (n,) ndarray
        Predicted probabilities of a lower value than that of each calibration row, ascending: the smallest and the
        largest that its limits allow.
    n_censored : int
        Calibration rows that are censored.
    least : float
        Lower end of the support of the response, in its units.
    """

    results: Any
    what: str
    below: Array
    above: Array
    n_censored: int
    least: float

    @property
    def nobs(self) -> int:
        """Number of calibration rows."""
        return len(self.below)

    def levels(self, interval: float = 0.95, side: str = "both") -> tuple[float, float]:
        """Orders of the quantiles at which intervals end; 0 and 1 where there is no finite end.

        Parameters
        ----------
        interval : float
            Probability with which intervals cover.
        side : {"both", "lower", "upper"}
            Intervals with two ends, or with a lower or an upper end alone.

        Returns
        -------
        tuple of float
            Orders of the lower and of the upper end.

        Raises
        ------
        SpecError
            For a level outside (0, 1) or another side.
        """
        check_probability("interval", interval)
        if side not in _SIDES:
            raise SpecError(f"side={side!r}: choose one of {', '.join(map(repr, _SIDES))}.")
        left_out, low, high = self._left_out(interval, side), 0.0, 1.0
        if left_out and side != "upper":
            low = float(self.below[left_out - 1])
        if left_out and side != "lower":
            high = float(self.above[-left_out])
        return low, high

    def _left_out(self, interval: float, side: str) -> int:
        """Number of calibration rows that may lie beyond an end."""
        return math.floor((self.nobs + 1) * (1.0 - interval) / _ends(side) + _ROUNDING)

    @property
    def _column_texts(self) -> Any:
        """Texts that name the columns of new rows."""
        return self.results._column_texts

    @answers_in_kind
    def predict(self, new: Frame, interval: float = 0.95, side: str = "both") -> pd.DataFrame:
        """Intervals in new rows.

        Parameters
        ----------
        new : DataFrame or dict of columns
            With the columns on the right-hand side of the formula and, for ``what="observed"``, those of the limits.
        interval, side
            As for :meth:`levels`.

        Returns
        -------
        DataFrame
            Columns ``lower`` and ``upper`` on the scale of the response, infinite (or 0) where there is no end; the
            index of the data, NaN in rows with missing inputs.

        Raises
        ------
        SpecError
            As for :meth:`levels`, and if limits are unknown that ``what="observed"`` needs.
        DataError, UnseenLevelError
            If the new data cannot be used.

        Warns
        -----
        ApproximationWarning
            If an end that ``side`` includes is not finite: there are too few calibration rows, too many of them have no
            known end on that side, or a quantile of the fit is infinite.
        """
        low, high = self.levels(interval, side)
        asked = self.results._ask(new, instead="what='uncensored'")
        columns = {"lower": self._quantile(new, low, asked), "upper": self._quantile(new, high, asked)}
        if self.what == "observed":
            columns = {name: np.clip(end, *asked.limits().ends) for name, end in columns.items()}
        levels = {"lower": low, "upper": high}
        wanted = [name for name in levels if side in ("both", name)]
        without = [name for name in wanted if levels[name] in (0.0, 1.0) and not np.isfinite(columns[name]).all()]
        if without:
            warnings.warn(self._why_open(without, interval, side), ApproximationWarning, stacklevel=user_level())
        for name in [name for name in wanted if self.results._never and name not in without]:
            instead = "larger" if name == "lower" else "smaller"
            why = f"the fit's quantile of order {levels[name]:.4g} is infinite there. Use a {instead} interval="
            warn_of_rows(columns[name], asked, f"The {name} end", why)
        return asked.table(columns)

    def _why_open(self, without: Sequence[str], interval: float, side: str) -> str:
        """Why intervals have no finite end on some sides, and which intervals have one."""
        rows = {"lower": int((self.below <= 0.0).sum()), "upper": int((self.above >= 1.0).sum())}
        most, left_out = max(rows[name] for name in without), self._left_out(interval, side)
        said = f"interval={interval:g}: there is no finite {' and '.join(without)} end."
        for name in without:
            if rows[name]:
                of = f"{rows[name]} of the {self.nobs} calibration rows {'has' if rows[name] == 1 else 'have'}"
                said += f" {of} no known {name} end because they are {_ROWS[name]} or beyond all predictions."
        if most and left_out:
            said += f" At most {left_out - 1} may for this interval."
        elif not most:
            fewest = math.ceil(_ends(side) / (1.0 - interval) - _ROUNDING) - 1
            said += f" It requires {fewest} calibration rows, but there are only {self.nobs}. Use more rows."
        return f"{said} {self._instead(without, most, side)}"

    def _instead(self, without: Sequence[str], most: int, side: str) -> str:
        """Intervals that have finite ends."""
        widest = math.floor(1e3 * (1.0 - _ends(side) * (most + 1) / (self.nobs + 1) + _ROUNDING)) / 1e3
        choices = [f"interval={widest:g} or less"] * (widest > 0.0)
        if side == "both" and len(without) == 1:
            choices.append(f"side={'lower' if without == ['upper'] else 'upper'!r}")
        if most and self.what == "uncensored" and self.results.parts.facts.limits_known:
            choices.append("conformalise(..., what='observed')")
        return f"Use {', or '.join(choices)}." if choices else "Use more calibration rows that are not censored."

    def _quantile(self, new: Frame, level: float, asked: Asked) -> Array:
        if 0.0 < level < 1.0:
            with warnings.catch_warnings():
                if self.results._never:  # infinite ends have a separate warning
                    warnings.simplefilter("ignore", ApproximationWarning)
                found = self.results.predict(new, "quantile", q=level)
            return np.asarray(found, dtype=np.float64)[asked.usable]
        return np.full(int(asked.usable.sum()), self.least if level <= 0.0 else np.inf)

    def __str__(self) -> str:
        low, high = self.levels(0.9)
        return (
            f"Conformal intervals of the {self.what} response from {self.nobs} calibration rows, {self.n_censored} of "
            f"them censored. 90% intervals lie between the fit's quantiles of order {low:.4g} and {high:.4g}. If new "
            "rows and calibration rows are exchangeable, they cover with at least that probability, on average over "
            "calibration sets and rows (not in each region of the inputs), whether the model is right or not."
        )


@reads_frames
def conformalise(results: Fit, calibration: Frame, what: str = "uncensored") -> ConformalIntervals:
    r"""Make intervals of new responses with guaranteed coverage, from rows that the fit has not seen.

    Each calibration row has a score, the predicted probability :math:`u_i = F(y_i | x_i)` of a value below its own, and
    intervals end at the fit's quantiles whose orders are order statistics of the scores: with n rows and :math:`k =
    \lfloor (n + 1) \alpha / 2 \rfloor` the k-th smallest and the k-th largest. A censored row has the most conservative
    score that its limits allow at each end: if it lies below l, 0 for the lower end and :math:`F(l)` for the upper one.
    Then

    .. math:: P(y \in [\text{lower}, \text{upper}]) \ge 1 - \alpha,

    over calibration sets and new rows that are exchangeable with them, whatever the model, the noise and the reason for
    censoring. The statement does not hold for each value of the inputs. With late entry or ``truncate()`` it is about
    rows that are in the window. If more than :math:`\alpha / 2` of the rows are censored on one side, no end on that
    side is guaranteed, and it is infinite; ``side="upper"`` of rows below detection limits, and ``side="lower"`` of
    survival times, stay finite.

    ``what="observed"`` is the response as recorded, clipped at the limits of each row. Rows at a limit are then known,
    and coverage is within ``1 / (n + 1)`` of the requested level, except that rows at the limits may be covered more
    often.

    Parameters
    ----------
    calibration : DataFrame or dict of columns
        Rows that are not among those of the fit, with all columns of the formula.
    what : {"uncensored", "observed"}
        The response before censoring, or as recorded.

    Returns
    -------
    ConformalIntervals
        With ``predict(new, interval, side)`` and ``levels(interval, side)``.

    Raises
    ------
    SpecError
        For an unknown ``what``, start-stop rows, one cause of several, and counts.
    DataError
        If the rows cannot be used.

    Warns
    -----
    ApproximationWarning
        If the calibration rows are the rows of the fit, in which case coverage of new rows is not guaranteed.

    References
    ----------
    (CON1) and (CON2) of the theory pages.

    .. [1] V. Chernozhukov, K. Wüthrich and Y. Zhu, "Distributional conformal prediction", PNAS 118 (2021).
    .. [2] E. Candès, L. Lei and Z. Ren, "Conformalized survival analysis", JRSS B 85 (2023), whose lower bound
       without weights is that of ``side="lower"``.

    Examples
    --------
    >>> import tobitgp as tg
    >>> lung = tg.datasets.load("lung")
    >>> res = tg.fit("Surv(time, event) ~ age + sex", lung[::2], family="weibull")
    >>> intervals = res.conformalise(lung[1::2])
    >>> intervals.predict({"age": [50, 70], "sex": [1, 2]}, interval=0.9, side="lower").round(1)
       lower  upper
    0   88.1    inf
    1   72.3    inf
    """
    if what not in _WHATS:
        raise SpecError(f"what={what!r} has no conformal intervals; choose one of {', '.join(map(repr, _WHATS))}.")
    if results._of_subjects or results._of_cause:
        raise SpecError("conformalise() requires independent rows. It does not support id= and competing risks.")
    times = results._time_rows(calibration, (), bands=False).times
    if times.discrete:
        raise SpecError("conformalise() does not support counts: conformal intervals require a continuous response.")
    scored = results._read_scored(calibration, "conformalise()")
    seen = scored.response
    _warn_training(results, seen)
    below, above = (results._predicted_below(calibration, scored, end) for end in (seen.lower, seen.upper))
    if what == "observed":  # a row at a limit is shown there: the end of its interval that is known
        at_limit = np.isneginf(seen.lower) | np.isposinf(seen.upper)
        below, above = np.where(at_limit, above, below), np.where(at_limit, below, above)
    censored = int((seen.lower < seen.upper).sum())
    return ConformalIntervals(
        results, what, np.sort(below), np.sort(above), censored, 0.0 if times.positive else -np.inf
    )


def _warn_training(results: Fit, seen: CensoredResponse) -> None:
    """Warn that the rows are those of the fit."""
    training = results.parts.training
    if training is None:
        return
    ends = ((training.response.lower, seen.lower), (training.response.upper, seen.upper))
    if all(np.array_equal(fitted, given) for fitted, given in ends):
        warnings.warn(
            "conformalise() was given the rows of the fit. The model fits them better than new rows, so that "
            "intervals may be too narrow. Fit to some rows and calibrate with the others.",
            ApproximationWarning,
            stacklevel=user_level(),
        )
