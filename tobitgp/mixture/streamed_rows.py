"""A mixture that goes on learning as rows arrive: the first ones are kept until they say enough, then steps follow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tobitgp.engines import single_blas_thread
from tobitgp.errors import DataError
from tobitgp.mixture.arranged_rows import arrange, read_rows, subset
from tobitgp.mixture.array_fit import STAGE_ROWS, highest, prepare_fit, resolve_mixture_family, stop_of
from tobitgp.mixture.coordinate_ascent import chunks_of, climb
from tobitgp.mixture.evidence_bound import MixtureState, PosteriorModel
from tobitgp.mixture.fitted_mixture import Mixture, order_components
from tobitgp.mixture.methods import SVBCM
from tobitgp.mixture.mixture_rows import MixtureUnits, Raw, WorkingRows
from tobitgp.mixture.starts import starts
from tobitgp.mixture.stochastic_steps import step_along
from tobitgp.numerics.sampling import generator
from tobitgp.typing import Array

KNOWN_ROWS, MOST_ROWS = 500, 5000  # exact or interval rows, and rows of any kind, until which the first ones are kept
_STARTS, _PASSES = 10, 10  # of the searches on the rows that are kept
_GROWTH = 2  # times as many rows, after which another search begins


@dataclass(frozen=True, slots=True)
class FirstRows:
    """The rows of a stream that has not seen enough of them, and how components are fitted to these."""

    lower: Array  # (n,) each, in the user's units
    upper: Array
    weight: Array
    searched: int  # how many there were at the last search
    components: Mapping[str, Any]  # ``family, k, weights, prior``

    @property
    def enough(self) -> bool:
        """Whether units, the default prior and a start can be based on them."""
        known = np.isfinite(self.lower) & np.isfinite(self.upper)
        several = known.sum() >= KNOWN_ROWS and np.ptp(self.upper[known]) > 0.0
        return bool(several) or len(self.lower) >= MOST_ROWS


@dataclass(frozen=True, slots=True)
class Stream:
    """A fit that goes on as rows arrive."""

    model: PosteriorModel
    state: MixtureState
    units: MixtureUnits  # those of the first rows, kept
    settings: SVBCM
    first: FirstRows | None  # None as soon as there were enough
    step: int = 1  # batches that said something
    seen: float = 0.0  # weight of the rows seen
    total: float | None = None  # weight of all the rows there will be, where that is known
    rounding: float = 0.0  # width to which exact rows are treated as rounded; a batch may be too small to show it
    estimate: float = np.nan  # of the bound of a row, by the last batch before its step


def start_stream(
    lower: Array,
    upper: Array,
    weight: Array | None = None,
    *,
    method: SVBCM | None = None,
    total: float | None = None,
    rng: int | np.random.Generator | None = None,
    **components: Any,
) -> Stream:
    """Begin a stochastic fit with a first batch of any rows (n,); `partial_fit` goes on with it."""
    method = SVBCM() if method is None else method
    raw = read_rows(resolve_mixture_family(components.get("family", "gaussian")), lower, upper, weight)
    if not len(raw.lower):
        raise DataError("No row has information about the response.")
    first = FirstRows(raw.lower, raw.upper, raw.weight, 0, components)
    return _searched(first, method, total, 1, generator(rng))


def partial_fit(
    stream: Stream,
    lower: Array,
    upper: Array,
    weight: Array | None = None,
    *,
    rng: int | np.random.Generator | None = None,
) -> Stream:
    """The stream after one more batch; lower, upper, weight (n,)."""
    raw = read_rows(stream.model.family, lower, upper, weight)
    if not len(raw.lower):
        return stream
    with single_blas_thread(), np.errstate(over="ignore", under="ignore"):
        return _stepped(stream, raw, rng) if stream.first is None else _grown(stream, stream.first, raw, rng)


def mixture_of(stream: Stream) -> Mixture:
    """The mixture that a stream has come to."""
    counts = stream.seen * stream.model.estimated_weights(stream.state)[0]
    return Mixture(stream.model, stream.state, order_components(stream.model, stream.state, counts), stream.units)


def _stepped(stream: Stream, raw: Raw, rng: int | np.random.Generator | None) -> Stream:
    """One step; t is the number of batches of this weight that the rows so far would make."""
    model = stream.model
    working = arrange(model.family, raw, stream.units, ties=model.adapts, rounding=stream.rounding)
    seen = stream.seen + working.total
    size = (seen if stream.total is None else stream.total) / working.total
    batch, t = chunks_of(working, model.k), seen / working.total
    new = step_along(model, stream.state, batch, size, t, stream.settings, generator(rng))
    estimate = new.estimate / (size * working.total) + working.constant / working.total
    return replace(stream, state=new.state, step=stream.step + 1, seen=seen, estimate=estimate)


def _grown(stream: Stream, first: FirstRows, raw: Raw, rng: int | np.random.Generator | None) -> Stream:
    """The fit to all rows so far: another search if there are many more or enough of them, else some passes."""
    old, new = (first.lower, first.upper, first.weight), (raw.lower, raw.upper, raw.weight)
    lower, upper, weight = map(np.concatenate, zip(old, new, strict=True))
    first, step = replace(first, lower=lower, upper=upper, weight=weight), stream.step + 1
    if first.enough or len(lower) >= _GROWTH * first.searched:
        return _searched(first, stream.settings, stream.total, step, generator(rng))
    model = stream.model
    working = arrange(model.family, read_rows(model.family, lower, upper, weight), stream.units, ties=model.adapts)
    stop = replace(stop_of(stream.settings, working.total), passes=_PASSES)
    end = climb(model, chunks_of(working, model.k), stream.state, stop)
    estimate = (end.value + working.constant) / working.total
    return replace(stream, state=end.state, first=first, step=step, seen=working.total, estimate=estimate)


def _searched(first: FirstRows, method: SVBCM, total: float | None, step: int, rng: np.random.Generator) -> Stream:
    """The stream at the best fit to its first rows, about 20,000 of them at most, from ten starts."""
    lower, upper, weight = first.lower, first.upper, first.weight
    model, working, _ = prepare_fit(lower, upper, weight, None, method, **first.components)
    some, stop = subset(working, STAGE_ROWS), stop_of(method, working.total)
    with single_blas_thread(), np.errstate(over="ignore", under="ignore"):
        chunks, rough = chunks_of(some, model.k), replace(stop, passes=_PASSES)
        begins = starts(model, some, model.k, _STARTS, rng)
        best = climb(model, chunks, highest(model, [climb(model, chunks, one, rough) for one in begins]).state, stop)
    estimate = (best.value + working.constant) / working.total
    kept = None if first.enough else replace(first, searched=len(lower))
    rounding = _typical_width(working)
    return Stream(model, best.state, working.units, method, kept, step, working.total, total, rounding, estimate)


def _typical_width(working: WorkingRows) -> float:
    """The median of the widths to which exact rows are rounded, 0 if most of them are not."""
    for part in working.parts:
        if part.kind == "exact":
            order = np.argsort(part.width)
            weight = np.cumsum(part.weight[order])
            return float(part.width[order][np.searchsorted(weight, 0.5 * weight[-1])])
    return 0.0
