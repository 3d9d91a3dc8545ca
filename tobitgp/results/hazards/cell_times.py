"""Times of rows whose hazards are constant in bands, which end at some time: (PH3) of the theory pages."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.data.arrays import CensoredResponse
from tobitgp.distributions.averaged import Averaged
from tobitgp.distributions.level_nodes import summed_over_rows
from tobitgp.distributions.piecewise import Piecewise
from tobitgp.distributions.response import RowDistributions
from tobitgp.engines import row_chunks
from tobitgp.errors import ApproximationWarning, SpecError, user_level
from tobitgp.posterior.estimates import Sampled
from tobitgp.posterior.questions import Question
from tobitgp.results.hazards.cells import alike_rows
from tobitgp.results.hazards.hazard_parts import HazardParts, begins_of, expected_level, extended, sampled
from tobitgp.results.survival import Times
from tobitgp.typing import Array

_CELLS = 3_000_000  # rows times draws that are held at once
_CACHED = 100_000  # of these for hazards at many times, which are then held in a cache
_BESIDE = 32  # rows that share what times have in common
_SOON = 1e-300  # a time for 0, of which there is no logarithm
FURTHEST = 100.0  # times the last exit, beyond which no percentile is sought


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
                f"A piecewise baseline has no hazard after the last exit, {cuts[-1]:.6g}; ask for earlier times, or "
                "fit with tg.PH(baseline='gp')."
            )
        return extended(cuts, last)

    def furthest(self, after: Array | None) -> float:
        """The last time at which survival is sought."""
        last = float(self.parts.cuts[-1])
        if self.parts.family.baseline == "piecewise":
            return last
        return FURTHEST * max(last, 0.0 if after is None else float(after.max(initial=0.0)))

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
        known = self.until(float(starts.max(initial=0.0) + times.max())).posterior
        shared = len(np.unique(starts)) == 1

        def chunk(span: slice) -> dict[str, Array]:
            start, part = starts[:1] if shared else starts[span], known.take(rows[span])
            y, found = part.beside_own_values(times), []
            before = y.modelled_hazard(np.log(np.maximum(start, _SOON)))[0]
            for some in np.array_split(times, min(_BESIDE, len(times))):
                now = np.maximum(start + some, _SOON)
                risen, rate = y.modelled_hazard(np.log(now))
                found.append((rate / now, np.maximum(risen - before, 0.0)))
            hazard, cumulative = (np.concatenate(each, axis=1) for each in zip(*found, strict=True))
            return {"hazard": hazard, "cumulative": cumulative}

        made = self._over(chunk, len(rows), self._components * len(times), _BESIDE * _CACHED)
        return made["hazard"][back], made["cumulative"][back]

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
        return Times.survive(self.until(float(times.max(initial=0.0))), times)

    def clipped(self, t: float, level: float | None) -> dict[str, Array]:
        self.warn_beyond(t)
        return Times.clipped(self.until(t), t, level)

    def order(self) -> Array:
        """By survival at the last exit where baselines or coefficients differ, else by the log hazard."""
        if self.parts.written.stratum is None and not self.parts.written.varying and not len(self.exclude):
            return -expected_level(self.parts, self.frame)[self.which]
        survival = self.survive(np.full((len(self.which), 1), self.parts.cuts[-1]))[:, 0]
        return -np.log(np.maximum(-survival, 1e-300))

    def log_likelihoods(self, seen: CensoredResponse) -> Array:
        """Of rows, (n,), where the last hazard of a piecewise baseline goes on."""
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
        """Of a question about rows, (n,)."""
        last = self.furthest(None) if question.response else float(np.max(question.at, initial=0.0))
        if not question.response:
            self.warn_beyond(last)
            self.warn_before(float(np.min(question.at, initial=np.inf)))
        found = self.drawn(last).statistics(question, level, se=se)
        if question.response:
            self.warn_of_times({name: values for name, values in found.items() if name != "se"}, None)
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
            "The mean time depends on the hazard after the last observed time. Use predict_restricted_mean(t=) or "
            "predict_median(), which do not."
        )

    # -- warnings -----------------------------------------------------------------------------------------------------

    def warn_before(self, earliest: float, unknown: bool = False) -> None:
        """Say of times before anybody was followed, in which hazards may be unknown, what is answered."""
        first = float(self.parts.cuts[0])
        if earliest < first or unknown:
            of = "" if self.parts.written.stratum is None else "in any stratum "
            words = "hazards are NaN" if unknown else "survival is 1"
            warnings.warn(
                f"No one was followed before the first entry {of}at {first:.6g}: until then {words}, and later "
                f"survival is given survival of that time.",
                ApproximationWarning,
                stacklevel=user_level(),
            )

    def warn_beyond(self, last: float) -> None:
        """Of a baseline that is a process."""
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
            f"Some times are infinite: survival does not fall so far before {self.furthest(after):.6g}, with the last "
            f"exit at {self.parts.cuts[-1]:.6g}.",
            ApproximationWarning,
            stacklevel=user_level(),
        )


def beyond_words(parts: HazardParts) -> str:
    """What a fit says of times after the last exit."""
    if not parts.written.varying:
        return "the baseline hazard reverts to its prior"
    return f"the baseline hazard and the coefficients of {', '.join(parts.written.varying)} revert to their priors"
