"""Times of rows whose hazards are constant in bands, which end at some time: (PH3) of the theory pages."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.data.arrays import CensoredResponse
from tobitgp.distributions.averaged import Averaged
from tobitgp.distributions.piecewise import Piecewise
from tobitgp.distributions.response import RowDistributions
from tobitgp.distributions.step_averages import SurvivalPanels
from tobitgp.engines import row_chunks
from tobitgp.errors import ApproximationWarning, SpecError, user_level
from tobitgp.numerics.sampling import draw_quantiles
from tobitgp.posterior.estimates import Sampled
from tobitgp.posterior.questions import Question
from tobitgp.results.hazards.cells import alike_rows
from tobitgp.results.hazards.hazard_parts import FURTHEST, HazardParts, begins_of, expected_level, extended, sampled
from tobitgp.results.hazards.level_points import summed_over_rows
from tobitgp.results.survival import STATISTICS, Times
from tobitgp.typing import Array, IntArray

_CELLS = 3_000_000  # rows times draws that are held at once
_CACHED = 100_000  # of these for hazards at many times, which are then held in a cache
_BESIDE = 32  # rows that share what times have in common
_FEW = 10  # draws whose survival is as fast at every time as between a few
_SOON = 1e-300  # a time for 0, of which there is no logarithm


@dataclass(frozen=True, slots=True)
class HazardTimes(Times):
    """Times of rows by their hazards in bands, which are made up to the last time of a question."""

    parts: HazardParts
    frame: pd.DataFrame  # covariates of the rows that differ
    exclude: Any

    @classmethod
    def of_rows(cls, parts: HazardParts, frame: pd.DataFrame, exclude: Any) -> HazardTimes:
        """Rows that are alike are done once."""
        which = alike_rows(frame)
        differ = frame.iloc[np.unique(which, return_index=True)[1]]
        return cls(sampled(parts, differ, parts.cuts, exclude), which, parts, differ, exclude)

    def until(self, last: float) -> HazardTimes:
        """With hazards up to a time."""
        cuts = self.cuts(last)
        if len(cuts) == len(self.parts.cuts):
            return self
        return replace(self, posterior=sampled(self.parts, self.frame, cuts, self.exclude))

    def drawn(self, last: float) -> Sampled:
        """Weighted draws of all rows, with hazards up to a time."""
        known = self.until(last).posterior
        assert isinstance(known, Sampled)
        return known.take(self.which)

    def cuts(self, last: float) -> Array:
        """Ends of the bands up to a time."""
        cuts = self.parts.cuts
        if last > cuts[-1] and self.parts.family.baseline == "piecewise":
            raise SpecError(
                f"A piecewise baseline has no hazard after the last exit, {cuts[-1]:.6g}. Give earlier times, "
                f"or fit with tg.PH(baseline='gp')."
            )
        return extended(cuts, last)

    def jumps(self, last: float) -> Array:
        """See `Times`; hazards of a stratum begin at its first entry."""
        return np.union1d(self.cuts(last), begins_of(self.parts, self.frame))

    def furthest(self, after: Array | None) -> float:
        """The last time at which survival is sought."""
        last = float(self.parts.cuts[-1])
        if self.parts.family.baseline == "piecewise":
            return last
        return FURTHEST * max(last, 0.0 if after is None else float(after.max(initial=0.0)))

    @property
    def stepwise(self) -> bool:
        return True

    @property
    def positive(self) -> bool:
        return True

    # -- curves -------------------------------------------------------------------------------------------------------

    def curve(self, of: str, times: Array, after: Array | None, level: float | None) -> dict[str, Array]:
        """Hazards are NaN before the first entry."""
        start = np.zeros(len(self.which)) if after is None else after
        last = float(start.max(initial=0.0) + times.max())
        self.warn_beyond(last)
        early = start[:, None] + times < begins_of(self.parts, self.frame)[self.which, None]
        unknown = bool(early.any()) and of == "hazard"
        soon = min(times.min(), 0.0 if after is not None else np.inf)
        self.warn_before(float((start + soon).min(initial=np.inf)), unknown)
        out = Times.curve(self.until(last), of, times, after, level)
        return {name: np.where(early, np.nan, values) for name, values in out.items()} if of == "hazard" else out

    def rates(self, times: Array, after: Array | None) -> tuple[Array, Array]:
        """Without warnings, of draws that are made once."""
        rows, starts, back = self._differing(after)
        hazard, cumulative = self._rates(times, rows, starts, after is not None)
        return hazard[back], cumulative[back]

    def _mean_curve(self, of: str, times: Array, rows: IntArray, starts: Array, survived: bool) -> Array:
        hazard, cumulative = self._rates(times, rows, starts, survived)
        return hazard if of == "hazard" else cumulative if of == "cumulative_hazard" else np.exp(-cumulative)

    def _rates(self, times: Array, rows: IntArray, starts: Array, survived: bool) -> tuple[Array, Array]:
        """Hazards and cumulative hazards (k, m) of rows (k,) that differ, from their starts (k, 1) on."""
        start = starts[:1] if len(np.unique(starts)) == 1 else starts
        if not survived:
            return self._rates_of(rows, start + times)
        hazard, cumulative = self._rates_of(rows, np.concatenate([start, start + times], axis=1))
        return hazard[:, 1:], np.maximum(cumulative[:, 1:] - cumulative[:, :1], 0.0)

    def _rates_of(self, rows: IntArray, times: Array) -> tuple[Array, Array]:
        """The same from the beginning on, at times that rows (k,) share, (1, m), or their own, (k, m)."""
        last, m = float(times.max(initial=0.0)), times.shape[1]
        known = self.until(last).posterior

        def chunk(span: slice) -> dict[str, Array]:
            y = known.take(rows[span]).new
            assert isinstance(y, Averaged)
            panels = SurvivalPanels.of(y, last, m // 2) if len(y.weight) > _FEW else None
            rates = partial(_rates_at, y.beside()) if panels is None else panels.rates
            return dict(zip(("hazard", "cumulative"), rates(times if len(times) == 1 else times[span]), strict=True))

        made = self._over(chunk, len(rows), self._components * min(m, _BESIDE), _BESIDE * _CACHED)
        return made["hazard"], made["cumulative"]

    def _band_curve(
        self, of: str, times: Array, rows: IntArray, starts: Array, survived: bool, level: float
    ) -> dict[str, Array]:
        """Quantiles of products of levels and what rows share."""
        known = self.until(float(starts.max(initial=0.0) + times.max())).posterior
        assert isinstance(known, Sampled)
        orders, shared = (0.5, 0.5 - 0.5 * level, 0.5 + 0.5 * level), len(np.unique(starts)) == 1

        def chunk(span: slice) -> dict[str, Array]:
            start = (starts[:1] if shared else starts[span])[..., None]
            y, made = known.take(rows[span]).spread_over().given, []
            before = y.logsf(start) if survived else 0.0
            for part in row_chunks(0, len(times), max(_CACHED // max(int(np.prod(y.shape)), 1), 1)):
                now = start + times[part, None]
                if of == "hazard":
                    made.append(draw_quantiles(y.hazard(now), orders))
                else:
                    left = np.minimum(y.logsf(now) - before, 0.0)
                    made.append(_BAND[of](left, orders))
            return dict(zip(STATISTICS[1:], np.concatenate(made, axis=2), strict=True))

        return self._over(chunk, len(rows), self._components, _CACHED)

    def alive(self, times: Array, after: Array | None) -> Array:
        return np.exp(-self.rates(times, after)[1])

    def averaged(self, of: str, times: Array, after: float, share: Array) -> Array:
        """Survival and hazards without a number for each row and time."""
        if of == "cumulative_hazard":
            return Times.averaged(self, of, times, after, share)
        known, now = self.until(after + float(times.max())).posterior, np.maximum(after + times, _SOON)
        assert isinstance(known, Sampled)
        together = np.atleast_2d(share)
        survival, density = np.zeros((2, len(together), len(times)))
        for rows in row_chunks(0, len(self.which), max(_CELLS // self._components, 1)):
            y = known.take(self.which[rows]).new
            assert isinstance(y, Averaged)
            assert isinstance(y.each, Piecewise)
            made = summed_over_rows(y.each, y.weight, together[:, rows], now, after)
            survival, density = survival + made[0], density + made[1]
        with np.errstate(invalid="ignore"):  # NaN where no one is left
            out = survival / together.sum(axis=1, keepdims=True) if of == "survival" else density / survival
        return np.asarray(out.reshape(*share.shape[:-1], -1))

    def survive(self, times: Array) -> Array:
        if times.shape[1] > _BESIDE:
            return -self._rates_of(self.which, times)[1]
        return Times.survive(self.until(float(times.max(initial=0.0))), times)

    def clipped(self, t: float, level: float | None) -> dict[str, Array]:
        self.warn_beyond(t)
        return Times.clipped(self.until(t), t, level)

    def remaining_area(self, t: float, after: Array | None) -> Array:
        """By areas of the draws, weighted by those who survive ``after``."""
        rows, starts, back = self._differing(after)
        known = self.until(float(starts.max(initial=0.0) + t)).posterior

        def chunk(span: slice) -> dict[str, Array]:
            y, start = known.take(rows[span]).new, starts[span]
            assert isinstance(y, Averaged)
            assert isinstance(y.each, Piecewise)
            before = -y.each.logsf(start)
            chance = y.weight * np.exp(before.min(axis=1, keepdims=True) - before)
            area = y.each.restricted_mean(t, start[:, 0])
            return {"": np.einsum("ns,ns->n", chance, area) / chance.sum(axis=1)}

        return self._over(chunk, len(rows), self._components, _CELLS)[""][back]

    def order(self) -> Array:
        """By survival at the last exit where baselines or coefficients differ, else by the log hazard."""
        if self.parts.written.stratum is None and not self.parts.written.varying and not len(self.exclude):
            return -expected_level(self.parts, self.frame)[self.which]
        survival = self.survive(np.full((len(self.which), 1), self.parts.cuts[-1]))[:, 0]
        return -np.log(np.maximum(-survival, 1e-300))

    def log_likelihoods(self, seen: CensoredResponse) -> Array:
        """Log likelihoods of rows, (n,), with the last hazard of a piecewise baseline continued."""
        last = float(seen.lower[np.isfinite(seen.lower)].max(initial=0.0))
        if self.parts.family.baseline == "piecewise":
            last = min(last, float(self.parts.cuts[-1]))
        known = sampled(self.parts, self.frame, self.cuts(last), self.exclude, goes_on=True)

        def chunk(span: slice) -> dict[str, Array]:
            some = seen.rows(span)
            y = known.take(self.which[span]).new
            return {"": y.log_likelihood(some.lower, some.upper, some.entry, some.exit)}

        return self._over(chunk, len(self.which), self._components, _CELLS)[""]

    def statistics(self, question: Question, level: float | None, *, se: bool) -> dict[str, Array]:
        """Statistics of a question about rows, (n,)."""
        last = self.furthest(None) if question.response else float(np.max(question.at, initial=0.0))
        if not question.response:
            self.warn_beyond(last)
            self.warn_before(float(np.min(question.at, initial=np.inf)))
        found = self.drawn(last).statistics(question, level, se=se)
        if question.response:
            self.warn_of_times({name: values for name, values in found.items() if name != "se"}, None)
            self.warn_of_errors(found)
        return found

    # -- percentiles --------------------------------------------------------------------------------------------------

    def percentile(self, p: float, after: Array | None) -> Array:
        """Infinite where survival does not fall so far."""
        return self.percentiles((p,), np.zeros(len(self.which)) if after is None else after)[:, 0]

    def percentiles(self, orders: Sequence[float], after: Array, most: float | None = None) -> Array:
        """Infinite where survival does not fall so far up to `furthest`."""
        furthest = self.furthest(after)
        found = Times.percentiles(self.until(furthest), orders, after)
        found = np.where(found + after[:, None] > furthest, np.inf, found)
        return found if most is None else np.fmin(found, most)

    def percentile_band(self, p: float, after: Array | None, level: float) -> dict[str, Array]:
        return Times.percentile_band(self.until(self.furthest(after)), p, after, level)

    def mean(self) -> Array:
        return self.new.mean()

    @property
    def new(self) -> RowDistributions:
        raise SpecError(
            "The mean time depends on the hazard after the last observed time. Use predict_restricted_mean(t=) "
            "or predict_median(), which do not depend on it."
        )

    # -- warnings -----------------------------------------------------------------------------------------------------

    def warn_before(self, earliest: float, unknown: bool = False) -> None:
        """Warn of times before the first entry, where hazards may be unknown, and say what is returned."""
        first = float(self.parts.cuts[0])
        if earliest < first or unknown:
            of = "" if self.parts.written.stratum is None else "in any stratum "
            words = "hazards are NaN" if unknown else "survival is 1"
            warnings.warn(
                f"No one was under observation before the first entry {of}at {first:.6g}. Until then {words}; "
                f"later survival is conditional on survival to that time.",
                ApproximationWarning,
                stacklevel=user_level(),
            )

    def warn_beyond(self, last: float) -> None:
        """Warn of times after the last exit under a process baseline."""
        end = float(self.parts.cuts[-1])
        if last > end * (1.0 + 1e-9) and self.parts.family.baseline != "piecewise":
            warnings.warn(
                f"Times up to {last:.6g} lie after the last exit, {end:.6g}: {beyond_words(self.parts)} there.",
                ApproximationWarning,
                stacklevel=user_level(),
            )

    def warn_of_times(self, found: Mapping[str, Array], after: Array | None) -> None:
        """Infinite ones too."""
        if not np.isposinf(np.stack(list(found.values()))).any():
            return Times.warn_of_times(self, found, after)
        warnings.warn(
            f"Some times are infinite: survival does not reach the requested probability before "
            f"{self.furthest(after):.6g}, with the last "
            f"exit at {self.parts.cuts[-1]:.6g}.",
            ApproximationWarning,
            stacklevel=user_level(),
        )

    def warn_of_errors(self, found: Mapping[str, Array]) -> None:
        """Explain missing standard errors if no limit is after the last exit."""
        if any((values > self.parts.cuts[-1]).any() for values in found.values()):
            return
        unknown = np.isnan(found["se"]) & np.isfinite(found["estimate"]) if "se" in found else np.zeros(0, np.bool_)
        if unknown.any():
            warnings.warn(
                f"The standard errors of {unknown.sum()} times are NaN: under some draws of the hazards "
                f"survival does not reach the requested probability before {self.furthest(None):.6g}. Use the "
                f"limits of interval=.",
                ApproximationWarning,
                stacklevel=user_level(),
            )


_BAND: dict[str, Callable[[Array, Sequence[float]], Array]] = {  # by log survival
    "survival": lambda left, orders: draw_quantiles(left, orders, np.exp),
    "cumulative_hazard": lambda left, orders: draw_quantiles(np.abs(left), orders),
}


def _rates_at(y: Averaged, times: Array) -> tuple[Array, Array]:
    """Hazards and cumulative hazards (n, m) of rows (n, 1) at times (1, m) or (n, m), a few at a time."""
    found, n = [], y.shape[0]
    for part in row_chunks(0, times.shape[1], max(_CACHED // max(n * len(y.weight), 1), 1)):
        now = np.maximum(times[:, part], _SOON)
        found.append((y.modelled_hazard(np.log(now))[1] / now, -np.minimum(y.logsf(times[:, part]), 0.0)))
    hazard, cumulative = (np.concatenate(each, axis=1) for each in zip(*found, strict=True))
    return hazard, cumulative


def beyond_words(parts: HazardParts) -> str:
    """Predictions of a fit for times after the last exit."""
    if not parts.written.varying:
        return "the baseline hazard returns to its trend in log time"
    varying = ", ".join(parts.written.varying)
    return f"the baseline hazard returns to its trend in log time, and the coefficients of {varying} to their priors"
