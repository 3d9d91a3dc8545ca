"""The loop of every method: passes over the rows, and coordinate ascent on them.

A pass goes chunk by chunk, small enough to stay in cache; (MIX4) and (EM2) of the theory pages. Ascents take
over-relaxed steps, none of which lowers the objective, and extrapolate near the end; (EM4), (EM6) and (EM7).

References
----------
Henderson and Varadhan (2019), Damped Anderson acceleration with restarts and monotonicity control for accelerating EM
and EM-like algorithms, *Journal of Computational and Graphical Statistics* 28, 834-846.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from tobitgp.engines import add_up, row_chunks
from tobitgp.errors import NumericalError
from tobitgp.mixture.evidence_bound import MixtureState, PosteriorModel
from tobitgp.mixture.family import MixtureFamily, PlugInTerms, RowStatistics, Sums
from tobitgp.mixture.mixture_rows import MixtureRows, WorkingRows
from tobitgp.mixture.unseen_values import unseen_sums
from tobitgp.numerics.linear_algebra import History, extrapolated, remember
from tobitgp.typing import Array, BoolArray

CHUNK_ENTRIES = 24_576
_GROWTH, _LONGEST = 1.2, 50.0
_SHORTER = (1.0, 0.25, 0.05)
_ROUNDING = 1e-13
_DROP = 1e-9
_STILL = 3
_LATE = 1e3  # gains, in those that end an ascent, below which states are close enough for extrapolation
_LONGEST_RATIO = 0.99
JUMP, CAUTIOUS = -1.0, 0.0  # instead of the factor of a step
_FEWEST = 3  # states from which one extrapolates
_NOISE = 1e-6
_SHRINK, _GROW = 0.25, 2.0


def chunks_of(working: WorkingRows, k: int) -> list[MixtureRows]:
    """Views of the rows and of their windows, in chunks of one kind."""
    size = max(256, CHUNK_ENTRIES // k)
    parts = working.parts if working.windows is None else (*working.parts, working.windows)
    return [part[at] for part in parts for at in row_chunks(0, len(part), size)]


def sum_over(
    chunks: Iterable[MixtureRows],
    terms_of: PlugInTerms,
    theta: Array,
    log_weight: Array,
    assign: np.random.Generator | None = None,
) -> Sums:
    """Sums of a pass; theta (D, K), log_weight (K,)."""

    def one(rows: MixtureRows) -> tuple[float, Array, Array]:
        if rows.kind == "outside":
            return unseen_sums(rows, terms_of, theta, log_weight)
        terms = terms_of(rows, theta)
        log_norm, r = _responsibilities(terms.log_p, log_weight)
        if assign is not None:
            r = _drawn(r, assign)
        r *= rows.weight
        return float(log_norm @ rows.weight), r.sum(axis=1), _statistics(terms, r)

    with np.errstate(all="ignore"):
        sums = add_up(map(one, chunks))
    k = len(log_weight)
    return Sums(*sums) if sums else Sums(0.0, np.zeros(k), np.zeros((0, k)))


def sums_given(rows: MixtureRows, r: Array, family: MixtureFamily, theta: Array) -> Sums:
    """Sums at given responsibilities (K, n) instead of the model's own."""
    r = r * rows.weight
    return Sums(np.nan, r.sum(axis=1), _statistics(family.terms(rows, theta), r))


def probabilities(rows: MixtureRows, family: MixtureFamily, theta: Array, log_weight: Array) -> Array:
    """Responsibilities (K, n) of some rows."""
    with np.errstate(all="ignore"):
        return _responsibilities(family.terms(rows, theta).log_p, log_weight)[1]


def log_normalisers(rows: MixtureRows, family: MixtureFamily, theta: Array, log_weight: Array) -> Array:
    """Logs of the sums (n,) over components of which responsibilities are the shares, of some rows."""
    with np.errstate(all="ignore"):
        return _responsibilities(family.terms(rows, theta).log_p, log_weight)[0]


def _responsibilities(log_p: Array, log_weight: Array) -> tuple[Array, Array]:
    """Log normalisers (n,) and responsibilities (K, n), instead of the log densities."""
    gamma = log_p
    gamma += log_weight[:, None]
    top = gamma.max(axis=0)
    gamma -= top
    np.exp(gamma, out=gamma)
    total = gamma.sum(axis=0)
    gamma /= total
    return top + np.log(total), gamma


def _drawn(r: Array, rng: np.random.Generator) -> Array:
    which = (np.cumsum(r, axis=0) < rng.random(r.shape[1])).sum(axis=0)
    drawn = np.zeros_like(r)
    drawn[np.minimum(which, len(r) - 1), np.arange(r.shape[1])] = 1.0
    return drawn


def _statistics(terms: RowStatistics, r: Array) -> Array:
    return np.stack([r @ t if t.ndim == 1 else np.einsum("kn,kn->k", r, t) for t in terms.statistics])


@dataclass(frozen=True, slots=True)
class Stop:
    """When an ascent ends."""

    gain: float  # three steps in a row after which less is to come, by Aitken's rule, end it
    passes: int = 2000  # most passes
    relax: bool = True  # go beyond the coordinate-wise optimum while that pays, and extrapolate near the end
    check: bool = False  # raise where a plain step lowers the objective by more than 1e-9 of it


@dataclass(frozen=True, slots=True)
class Ascended:
    """The end of an ascent."""

    state: MixtureState
    sums: Sums  # of the pass at the state
    trace: Array  # (T,), objective after every accepted pass, without constants; it falls by rounding at most
    passes: int  # passes over the rows, those that were taken back among them
    converged: bool

    @property
    def value(self) -> float:
        """Objective at the end."""
        return float(self.trace[-1])


@dataclass(slots=True)
class Extrapolation:
    """Anderson's extrapolation in unbounded coordinates (N,), cut at a radius that shrinks when a jump is rejected."""

    history: History | None = None
    positive: BoolArray = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))  # (N,)
    scale: Array = field(default_factory=lambda: np.zeros(0))  # (N,)
    radius: float = np.inf  # longest jump, in posterior standard deviations
    size: float = 0.0  # length of the last one proposed

    def propose(
        self, model: PosteriorModel, state: MixtureState, goal: MixtureState, counts: Array
    ) -> MixtureState | None:
        """Note a state and its step's goal, and extrapolate; None where nothing follows from so few states."""
        with np.errstate(all="ignore"):
            if not len(self.scale):
                self.positive = model.positive(state)
                self.scale = np.where(self.positive, state.flat(), 1.0) / model.sizes(state, counts)
            x, g = (np.log(flat, out=flat, where=self.positive) for flat in (state.flat(), goal.flat()))
            if not np.isfinite(x + g + self.scale).all():
                return None
            self.history = remember(self.history, x, g - x)
            if len(self.history.dX) < _FEWEST - 1:
                return None
            way = extrapolated(self.history, self.scale, _NOISE) - g
            size = float(np.linalg.norm(way * self.scale))
            cut = min(1.0, self.radius / size) if size > 0.0 else 1.0
            self.size = cut * size
            x = g + cut * way
            x = np.exp(x, out=x, where=self.positive)
            return model.admit(state.moved(x)) if np.isfinite(x).all() else None

    def judge(self, *, higher: bool) -> None:
        """Take note of where the last jump led."""
        self.radius = max(self.radius, _GROW * self.size) if higher else _SHRINK * self.size


def evaluate(model: PosteriorModel, chunks: Sequence[MixtureRows], state: MixtureState) -> tuple[float, Sums]:
    """Objective at a state, and the sums of its pass."""
    theta, log_weight, penalty = model.view(state)
    sums = sum_over(chunks, model.family.terms, theta, log_weight)
    return sums.log_norm - penalty, sums


def climb(model: PosteriorModel, chunks: Sequence[MixtureRows], start: MixtureState, stop: Stop) -> Ascended:
    """Ascend from a state: what lowers the objective is taken back, and a shorter step tried, last a cautious one."""
    state, (value, sums) = start, evaluate(model, chunks, start)
    if not np.isfinite(value):
        raise NumericalError(f"The objective is {value} at the start of the ascent.")
    trace, passes, step, still, gain, past = [value], 1, 1.0, 0, np.inf, Extrapolation()
    while passes < stop.passes and still < _STILL:
        late = stop.relax and gain < _LATE * stop.gain
        for factor, new in _tries(model, state, sums, step, past if late else None):
            new_value, new_sums = evaluate(model, chunks, new)
            passes += 1
            higher = new_value >= value - (_DROP if factor == CAUTIOUS else _ROUNDING) * max(1.0, abs(value))
            if factor == JUMP:
                past.judge(higher=higher)
            if higher:
                break
        else:
            if stop.check or not np.isfinite(new_value):
                raise NumericalError(f"The objective fell from {value!r} to {new_value!r} where it cannot.")
            break
        last, gain = gain, new_value - value
        still = still + 1 if to_come(gain, last) < stop.gain else 0
        state, value, sums = new, new_value, new_sums
        trace.append(value)
        if factor != JUMP:
            step = min(max(factor, 1.0) * _GROWTH, _LONGEST) if stop.relax and factor >= 1.0 else 1.0
    return Ascended(state, sums, np.array(trace), passes, still >= _STILL)


def _tries(
    model: PosteriorModel, state: MixtureState, sums: Sums, step: float, past: Extrapolation | None
) -> Iterator[tuple[float, MixtureState]]:
    """Where to go from a state, the boldest first, with the factor by which each stretches the step to its goal."""
    goal = model.improve(state, sums)
    jump = None if past is None else past.propose(model, state, goal, sums.counts)
    if jump is not None:
        yield JUMP, jump
    for factor in (step, *_SHORTER) if step > 1.0 else _SHORTER:
        new = goal if factor == 1.0 else model.between(state, goal, factor)
        if new is not None:
            yield factor, new
    yield CAUTIOUS, model.improve(state, sums, cautious=True)


def to_come(gain: float, last: float) -> float:
    """Gain of this step and all that follow it if their ratio stays what it is: Aitken's rule."""
    ratio = gain / last if last > 0.0 else 0.0
    return gain / (1.0 - min(max(ratio, 0.0), _LONGEST_RATIO))
