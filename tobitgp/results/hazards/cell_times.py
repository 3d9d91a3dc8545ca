"""Survival of rows whose hazards are constant in bands: (PH3) of the theory pages."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.distributions.response import RowDistributions
from tobitgp.engines import map_independent, row_chunks, single_blas_thread
from tobitgp.errors import ApproximationWarning, SpecError, user_level
from tobitgp.numerics.roots import where_it_ends
from tobitgp.results.hazards.bands import Hazards
from tobitgp.results.hazards.cells import AtRisk, alike_rows
from tobitgp.results.hazards.hazard_parts import (
    DRAWS,
    HazardParts,
    begins_of,
    expected_level,
    extended,
    log_hazards,
)
from tobitgp.results.survival import STATISTICS, Times
from tobitgp.typing import Array

CELLS = 8_000_000  # numbers that a chunk holds at once
FURTHEST = 100.0  # times the last exit, beyond which no percentile is sought


@dataclass(frozen=True, slots=True)
class HazardTimes(Times):
    """Times of rows by their hazards in bands."""

    parts: HazardParts
    frame: pd.DataFrame  # covariates of the rows that differ
    exclude: Any

    @classmethod
    def of_rows(cls, parts: HazardParts, frame: pd.DataFrame, exclude: Any) -> HazardTimes:
        """Rows that are alike are done once."""
        which = alike_rows(frame)
        first = np.unique(which, return_index=True)[1]
        return cls(None, which, parts, frame.iloc[first], exclude)  # type: ignore[arg-type]

    @property
    def positive(self) -> bool:
        """See `Times`."""
        return True

    def curve(self, of: str, times: Array, after: Array | None, level: float | None) -> dict[str, Array]:
        """See `Times`; quantiles of the curve over draws, each of which counts the same at all times."""
        start = np.zeros(len(self.which)) if after is None else after
        pairs, back = np.unique(np.column_stack([self.which, start]), axis=0, return_inverse=True)
        last = float(pairs[:, 1].max(initial=0.0) + times.max())
        self.warn_beyond(last)
        early = start[:, None] + times < begins_of(self.parts, self.frame)[self.which, None]
        unknown = bool(early.any()) and of == "hazard"
        self.warn_before(
            float((start + min(times.min(), 0.0 if after is not None else np.inf)).min(initial=np.inf)), unknown
        )

        def chunk(span: slice) -> dict[str, Array]:
            rows, begin = pairs[span, 0].astype(np.intp), pairs[span, 1:]
            return curve_of(
                of,
                lambda draws: self.hazards(rows, last, draws=draws),
                begin,
                times,
                level,
                draws=not self.parts.estimated,
            )

        made = self._chunked(chunk, len(pairs), 1 if level is None else len(times))
        out = {name: values[back.ravel()] for name, values in made.items()}
        return {name: np.where(early, np.nan, values) for name, values in out.items()} if of == "hazard" else out

    def warn_before(self, earliest: float, unknown: bool = False) -> None:
        """Say of times before anybody was followed, in which hazards may be unknown, what is answered."""
        first = float(self.parts.cuts[0])
        if earliest < first or unknown:
            of = "" if self.parts.written.stratum is None else "of all strata "
            words = "hazards are NaN" if unknown else "survival is 1"
            warnings.warn(
                f"Nobody was followed before the first entry, {of}{first:.6g}: until then {words}, and later survival "
                "is given survival of that time.",
                ApproximationWarning,
                stacklevel=user_level(),
            )

    def rates(self, times: Array, after: Array | None) -> tuple[Array, Array]:
        """See `Times`; of the same draws, which are made once."""
        start = np.zeros(len(self.which)) if after is None else after
        pairs, back = np.unique(np.column_stack([self.which, start]), axis=0, return_inverse=True)
        last = float(pairs[:, 1].max(initial=0.0) + times.max())

        def chunk(span: slice) -> dict[str, Array]:
            found = self.hazards(pairs[span, 0].astype(np.intp), last, draws=not self.parts.estimated)
            return dict(zip(("hazard", "cumulative"), _mean_rates(found, pairs[span, 1:], times), strict=True))

        made = self._chunked(chunk, len(pairs), 1)
        return made["hazard"][back.ravel()], made["cumulative"][back.ravel()]

    def survive(self, times: Array, last: float | None = None) -> Array:
        """See `Times`; draws depend on the ``last`` time that they are made for, and percentiles on ``furthest``."""
        last = float(times.max(initial=0.0)) if last is None else last

        def chunk(span: slice) -> dict[str, Array]:
            found = self.hazards(self.which[span], last, draws=not self.parts.estimated)
            return {"": found.survived(times[span])[0]}

        return self._chunked(chunk, len(times), 1)[""]

    def percentile(self, p: float, after: Array | None) -> Array:
        """See `Times`; infinite where survival does not fall so far."""
        return self.percentiles((p,), np.zeros(len(self.which)) if after is None else after)[:, 0]

    def percentiles(self, orders: Sequence[float], after: Array, most: float | None = None) -> Array:
        """See `Times`; of a piecewise baseline infinite beyond the last exit."""
        furthest = self.furthest(after)

        def chunk(span: slice) -> dict[str, Array]:
            found = self.hazards(self.which[span], furthest, draws=not self.parts.estimated)
            return {"": _solve(found, np.log(orders), after[span], furthest)}

        times = self._chunked(chunk, len(after), 1)[""]
        return times if most is None else np.fmin(times, most)

    @property
    def new(self) -> RowDistributions:
        """See `Times`."""
        raise SpecError(
            "The mean time rests on the hazard beyond the last one seen; predict_restricted_mean(t=) and "
            "predict_median() do not."
        )

    def mean(self) -> Array:
        """See `Times`."""
        return self.new.mean()

    def percentile_band(self, p: float, after: Array | None, level: float) -> dict[str, Array]:
        """See `Times`."""
        tail = 0.5 - 0.5 * level

        def of(times: Array) -> dict[str, Array]:
            # Between draws of which some are infinite nothing is interpolated.
            ends = np.quantile(times, [0.5, tail, 1.0 - tail], axis=1, method="nearest")
            return dict(zip(STATISTICS[1:], ends, strict=True))

        return self._of_percentiles(of, p, after)

    def percentile_error(self, p: float) -> Array:
        """Standard deviation (n,) of `percentile` over the draws, NaN where it may be infinite."""

        def of(times: Array) -> dict[str, Array]:
            with np.errstate(invalid="ignore"):
                return {"": np.where(np.isfinite(times).all(axis=1), times.std(axis=1), np.nan)}

        return self._of_percentiles(of, p, None)[""]

    def _of_percentiles(
        self, of: Callable[[Array], dict[str, Array]], p: float, after: Array | None
    ) -> dict[str, Array]:
        """Numbers of the times (n, S) of every draw at which its survival from ``after`` on falls to p."""
        begin, last = np.zeros(len(self.which)) if after is None else after, self.furthest(after)

        def chunk(span: slice) -> dict[str, Array]:
            found, start = self.hazards(self.which[span], last, draws=True), begin[span]
            times = found.time_at(found.cumulative(start[:, None])[:, 0] - np.log(p))
            return of(np.maximum(times - start[:, None], 0.0))

        return self._chunked(chunk, len(self.which), 1)

    def survival_error(self, t: float) -> Array:
        """Standard deviation of survival at a time over the draws, (n,)."""

        def chunk(span: slice) -> dict[str, Array]:
            found = self.hazards(np.arange(len(self.frame))[span], t, draws=True)
            H = found.cumulative(np.full((len(found.level), 1), t))
            return {"": np.exp(-H[:, 0]).std(axis=1)}

        return self._chunked(chunk, len(self.frame), 1)[""][self.which]

    def log_likelihoods(self, risk: AtRisk) -> Array:
        """Log predictive density of the event of each row, or log probability that it came later, given its entry."""
        last = self._seen(risk.exit)

        def chunk(span: slice) -> dict[str, Array]:
            found = self.hazards(self.which[span], last, draws=not self.parts.estimated)
            entry, exit, event = risk.entry[span], risk.exit[span], risk.event[span]
            H = found.cumulative(np.column_stack([entry, exit]))
            rate = np.where(event[:, None], found.hazard(exit[:, None])[:, 0], 1.0)
            least = H[:, 1].min(axis=1)
            seen = np.log(np.mean(rate * np.exp(least[:, None] - H[:, 1]), axis=1)) - least
            return {"": seen - log_mean_survival(H[:, 0])}

        return self._chunked(chunk, len(self.which), 1)[""]

    def _seen(self, times: Array) -> float:
        """The last of times, after the last exit that of a piecewise baseline, whose last hazard goes on in scores."""
        last = float(times.max(initial=0.0))
        return min(last, float(self.parts.cuts[-1])) if self.parts.family.baseline == "piecewise" else last

    def order(self) -> Array:
        """See `Times`; by survival at the last exit where baselines or coefficients differ, else by the log hazard."""
        if self.parts.written.stratum is None and not self.parts.written.varying and not len(self.exclude):
            return -expected_level(self.parts, self.frame)[self.which]
        survival = self.survive(np.full((len(self.which), 1), self.parts.cuts[-1]))[:, 0]
        return -np.log(np.maximum(-survival, 1e-300))

    def furthest(self, after: Array | None) -> float:
        """See `Times`."""
        last = float(self.parts.cuts[-1])
        if self.parts.family.baseline == "piecewise":
            return last
        return FURTHEST * max(last, 0.0 if after is None else float(after.max(initial=0.0)))

    def clipped(self, t: float, level: float | None) -> dict[str, Array]:
        """See `Times`."""
        self.warn_beyond(t)

        def chunk(span: slice) -> dict[str, Array]:
            rows = np.arange(len(self.frame))[span]
            out = {"mean": self.hazards(rows, t, draws=not self.parts.estimated).restricted_mean(t).mean(axis=1)}
            if level is not None:
                values, tail = self.hazards(rows, t, draws=True).restricted_mean(t), 0.5 - 0.5 * level
                out |= dict(zip(STATISTICS[1:], np.quantile(values, [0.5, tail, 1.0 - tail], axis=1), strict=True))
            return out

        made = self._chunked(chunk, len(self.frame), 1)
        return {name: values[self.which] for name, values in made.items()}

    def warn_beyond(self, last: float) -> None:
        """See `Times`; of a baseline that is a process."""
        end = float(self.parts.cuts[-1])
        if last > end * (1.0 + 1e-9) and self.parts.family.baseline != "piecewise":
            warnings.warn(
                f"Times up to {last:.6g} lie after the last exit, {end:.6g}: {beyond_words(self.parts)} there.",
                ApproximationWarning,
                stacklevel=user_level(),
            )

    def warn_of_times(self, found: Mapping[str, Array], after: Array | None) -> None:
        """See `Times`; infinite ones too."""
        if not np.isposinf(np.stack(list(found.values()))).any():
            return Times.warn_of_times(self, found, after)
        warnings.warn(
            f"Some times are infinite: survival does not fall so far before {self.furthest(after):.6g}, with the last "
            f"exit at {self.parts.cuts[-1]:.6g}.",
            ApproximationWarning,
            stacklevel=user_level(),
        )

    def cuts(self, last: float) -> Array:
        """See `Times`; ends of the bands."""
        cuts = self.parts.cuts
        if last > cuts[-1] and self.parts.family.baseline == "piecewise":
            raise SpecError(
                f"A piecewise baseline has no hazard after the last exit, {cuts[-1]:.6g}; ask for earlier times, or "
                "fit with tg.PH(baseline='gp')."
            )
        return extended(cuts, last)

    def hazards(self, rows: Any, last: float, *, draws: bool) -> Hazards:
        """Hazards of some of the rows that differ, in bands up to a time."""
        cuts = self.cuts(last)
        differ, back = np.unique(rows, return_inverse=True)
        found = log_hazards(self.parts, self.frame.iloc[differ], cuts, self.exclude, draws=DRAWS if draws else 0)
        return Hazards.of(cuts, replace(found, level=found.level[back.ravel()], group=found.group[back.ravel()]))

    def _chunked(self, chunk: Callable[[slice], dict[str, Array]], n: int, m: int) -> dict[str, Array]:
        each = DRAWS * max(len(self.parts.cuts), m)
        spans = list(row_chunks(0, n, max(CELLS // each, 1))) or [slice(0, 0)]
        with single_blas_thread():
            made = map_independent(chunk, spans, heavy=len(spans) > 1)
        return {name: np.concatenate([one[name] for one in made]) for name in made[0]}


def beyond_words(parts: HazardParts) -> str:
    """What a fit says of times after the last exit."""
    if not parts.written.varying:
        return "the baseline hazard reverts to its prior"
    return f"the baseline hazard and the coefficients of {', '.join(parts.written.varying)} revert to their priors"


def log_mean_survival(H: Array) -> Array:
    """Logarithm of the mean of exp(-H) over the draws on the last axis."""
    least = H.min(axis=-1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.log(np.mean(np.exp(least - H), axis=-1)) - least[..., 0])


def curve_of(
    of: str, hazards: Callable[[bool], Any], after: Array, times: Array, level: float | None, *, draws: bool
) -> dict[str, Array]:
    """A curve by hazards of draws or at the estimates: ``mean``, with a level all of ``STATISTICS``, (n, m) each."""
    out = {"mean": _mean(of, hazards(draws), after, times)}
    if level is not None:
        values, tail = _of_draws(of, hazards(True), after, times), 0.5 - 0.5 * level
        out |= dict(zip(STATISTICS[1:], np.quantile(values, [0.5, tail, 1.0 - tail], axis=2), strict=True))
    return out


def _mean(of: str, hazards: Hazards, after: Array, times: Array) -> Array:
    """A curve of a new row after times (n, 1) survived, (n, m): parameters are averaged over."""
    if of == "hazard":
        return _mean_rates(hazards, after, times)[0]
    log_S = hazards.survived(after + times)[0] - hazards.survived(after)[0]
    return np.exp(np.minimum(log_S, 0.0)) if of == "survival" else 0.0 - np.minimum(log_S, 0.0)


def _mean_rates(hazards: Hazards, after: Array, times: Array) -> tuple[Array, Array]:
    """Hazards and cumulative hazards of a new row after times (n, 1) survived, (n, m) each."""
    log_S, hazard = hazards.survived(after + times, rates=True)
    return hazard, 0.0 - np.minimum(log_S - hazards.survived(after)[0], 0.0)


def _of_draws(of: str, hazards: Hazards, after: Array, times: Array) -> Array:
    """A curve of every draw, (n, m, S)."""
    if of == "hazard":
        return hazards.hazard(after + times)
    gap = hazards.cumulative(after + times) - hazards.cumulative(after)
    return np.exp(-gap) if of == "survival" else gap


def _solve(hazards: Hazards, log_p: Array, after: Array, furthest: float) -> Array:
    """Times (n, k) from ``after`` on at which survival from there falls to p, infinite where it does not."""
    alive = hazards.survived(after[:, None])[0]
    goal = alive + log_p
    low, high = np.repeat(after[:, None], len(log_p), axis=1), np.full((len(after), len(log_p)), furthest)
    never = hazards.survived(high[:, :1])[0] > goal
    found = where_it_ends(lambda times: hazards.survived(times)[0] > goal, low, high)
    return np.where(never, np.inf, found - after[:, None])
