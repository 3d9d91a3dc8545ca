"""Survival of a process: of the predictive law, with bands of survival given f and the noise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from tobitgp.engines import map_independent, row_chunks, single_blas_thread
from tobitgp.inference.passes import CHUNK_ROWS
from tobitgp.numerics.monotone_roots import rises_to
from tobitgp.regression.survival import SOON, hazard_at_zero, since
from tobitgp.results import predictive
from tobitgp.results.normals import Mixture, total_sd
from tobitgp.results.predict import moments, noise_laws
from tobitgp.results.process.bands import conditional_band, hazard_band, survival_band
from tobitgp.results.process.hazards import log_survival, rate
from tobitgp.results.rows import Asked
from tobitgp.results.scales import SCALES, uncensored_mean
from tobitgp.results.survival import STATISTICS, TimeLaw, TimeRows
from tobitgp.results.views import Parts
from tobitgp.typing import Array, IntArray

_CELLS = 60_000  # of components, rows and times that a chunk works on
_MORE_CELLS = 3_000_000  # the same where tails are interpolated
_HEAVY = 20_000


@dataclass(frozen=True, slots=True)
class PredictiveTimes(TimeLaw):
    """Times of rows, see `TimeLaw`."""

    q: Mixture  # posterior of f in the rows that differ
    which: IntArray  # (n,), the one that each row is like

    @property
    def discrete(self) -> bool:
        """See `TimeLaw`."""
        return False

    def curve(self, of: str, times: Array, after: Array | None, level: float | None) -> dict[str, Array]:
        """See `TimeLaw`."""
        kinds, starts, back = self._different(after)
        tails = () if level is None else (0.5, 0.5 * (1.0 - level), 0.5 * (1.0 + level))

        def chunk(rows: slice) -> list[Array]:
            q = _take(self.q, kinds[rows])
            start = None if starts is None else starts[rows]
            end = np.broadcast_to(times, (len(q.mean[0]), len(times))) if start is None else start[:, None] + times
            return _CURVES[of](q, end, start, tails)

        made = self._over(chunk, len(kinds), len(times))
        return dict(zip(STATISTICS, (values[back] for values in made), strict=False))

    def survive(self, times: Array) -> Array:
        """See `TimeLaw`."""

        def chunk(rows: slice) -> list[Array]:
            q = _take(self.q, self.which[rows])
            return [log_survival(q, _on_scale(q, times[rows]))]

        return self._over(chunk, len(times), times.shape[1])[0]

    def percentile(self, p: float, after: Array | None) -> Array:
        """See `TimeLaw`."""
        if after is None:
            return self.q.response(predictive.quantile(self.q, 1.0 - p))[self.which]
        kinds, starts, back = self._different(after)
        assert starts is not None

        def chunk(rows: slice) -> list[Array]:
            return [_remaining(_take(self.q, kinds[rows]), p, starts[rows])]

        return self._over(chunk, len(kinds), 1)[0][back]

    def mean(self) -> Array:
        """See `TimeLaw`."""
        return uncensored_mean(self.q)[self.which]

    def clipped(self, t: float, level: float | None) -> dict[str, Array]:
        """See `TimeLaw`."""
        n = self.q.mean.shape[1]
        q, scale = replace(self.q, lower=np.zeros(n), upper=np.full(n, t)), SCALES["observed"]
        out = {"mean": scale.point(q)}
        if level is not None:
            orders = (0.5, 0.5 * (1.0 - level), 0.5 * (1.0 + level))
            out |= {name: scale.quantile(q, p) for name, p in zip(STATISTICS[1:], orders, strict=True)}
        return {name: values[self.which] for name, values in out.items()}

    def _different(self, after: Array | None) -> tuple[IntArray, Array | None, IntArray]:
        """Rows of q, times they survived, and which of these each row is like."""
        if after is None:
            return np.arange(self.q.mean.shape[1]), None, self.which
        pairs, back = np.unique(np.column_stack([self.which, after]), axis=0, return_inverse=True)
        return pairs[:, 0].astype(np.intp), pairs[:, 1], back.ravel()

    def _over(self, chunk: Callable[[slice], list[Array]], n: int, m: int) -> list[Array]:
        """Join what is made of n rows a chunk at a time."""
        cells = _CELLS if self.q.normal else _MORE_CELLS
        each = max(cells // max(len(self.q.weight) * m, 1), 1)

        def quiet(rows: slice) -> list[Array]:
            with np.errstate(all="ignore"):
                return chunk(rows)

        with single_blas_thread():
            made = map_independent(quiet, row_chunks(0, n, each), heavy=n * m * len(self.q.weight) > _HEAVY)
        if not made:
            return [np.empty((0, m))] * len(STATISTICS)
        return [np.concatenate(parts) for parts in zip(*made, strict=True)]


@dataclass(frozen=True, slots=True)
class TimesOfParts(TimeLaw):
    """Times of rows whose noise differs."""

    parts: tuple[tuple[IntArray, PredictiveTimes], ...]  # positions of the rows of each noise

    @property
    def discrete(self) -> bool:
        """See `TimeLaw`."""
        return False

    def curve(self, of: str, times: Array, after: Array | None, level: float | None) -> dict[str, Array]:
        """See `TimeLaw`."""
        return self._join(lambda law, rows: law.curve(of, times, None if after is None else after[rows], level))

    def survive(self, times: Array) -> Array:
        """See `TimeLaw`."""
        return self._join(lambda law, rows: {"": law.survive(times[rows])})[""]

    def percentile(self, p: float, after: Array | None) -> Array:
        """See `TimeLaw`."""
        return self._join(lambda law, rows: {"": law.percentile(p, None if after is None else after[rows])})[""]

    def mean(self) -> Array:
        """See `TimeLaw`."""
        return self._join(lambda law, rows: {"": law.mean()})[""]

    def clipped(self, t: float, level: float | None) -> dict[str, Array]:
        """See `TimeLaw`."""
        return self._join(lambda law, rows: law.clipped(t, level))

    def _join(self, ask: Callable[[PredictiveTimes, IntArray], dict[str, Array]]) -> dict[str, Array]:
        n, out = sum(len(rows) for rows, _ in self.parts), dict[str, Array]()
        for rows, law in self.parts:
            for name, values in ask(law, rows).items():
                out.setdefault(name, np.empty((n, *values.shape[1:])))[rows] = values
        return out


def times_of_rows(parts: Parts, asked: Asked) -> TimeRows:
    """Rows and the law of their times; rows that are alike are done once."""
    fitted, gp = parts.fitted, parts.gp
    inputs, known, scale = gp.inputs(asked.design), gp.known_mean(asked.design), gp.problem.units.scale
    pieces = row_chunks(0, len(known), CHUNK_ROWS)
    made = [moments(fitted, inputs, known, rows, scale, asked.skip) for rows in pieces]
    sigma = scale * np.array([point.sigma for point in fitted.points])
    none = np.empty((len(sigma), 0))
    mean, sd = (np.concatenate([none, *(piece[k] for piece in made)], axis=1) for k in (0, 1))
    laws, spread = noise_laws(fitted, gp), asked.design.spread
    every = Mixture(fitted.weights, mean, sd, sigma, gp.family.log_time, laws=laws, spread=spread)
    each = [(rows, _alike(q)) for rows, q in every.of_one_noise()]
    return TimeRows.of(asked, each[0][1] if len(each) == 1 else TimesOfParts(tuple(each)))


def _alike(q: Mixture) -> PredictiveTimes:
    _, first, which = np.unique(np.vstack([q.mean, q.sd]), axis=1, return_index=True, return_inverse=True)
    return PredictiveTimes(q.take(first), which.ravel())


def _survival(q: Mixture, end: Array, start: Array | None, tails: tuple[float, ...]) -> list[Array]:
    risen = _cumulative_hazard(q, end, start, tuple(1.0 - p for p in tails))
    return [np.exp(-values) for values in risen]


def _cumulative_hazard(q: Mixture, end: Array, start: Array | None, tails: tuple[float, ...]) -> list[Array]:
    y = _on_scale(q, end)
    log_alive = log_survival(q, y)
    if start is None:
        return [-log_alive, *(-values for values in survival_band(q, y, tuple(1.0 - p for p in tails)))]
    first = _on_scale(q, start[:, None])
    mean = np.maximum(log_survival(q, first) - log_alive, 0.0)
    return [mean, *conditional_band(q, first[:, 0], y, tails)]


def _hazard(q: Mixture, end: Array, start: Array | None, tails: tuple[float, ...]) -> list[Array]:
    time = np.maximum(end, SOON) if q.log_time else end
    y = _on_scale(q, time)
    made = [rate(q, y), *hazard_band(q, y, tails)]
    return [hazard_at_zero(values / time, end) for values in made] if q.log_time else made


def _remaining(q: Mixture, p: float, start: Array) -> Array:
    first = _on_scale(q, start[:, None])
    goal = -log_survival(q, first)[:, 0] - np.log(p)

    def rise(y: Array) -> tuple[Array, Array]:
        at = y[:, None]
        return -log_survival(q, at)[:, 0], rate(q, at)[:, 0]

    spread = total_sd(q.weight, q.mean, q.sd**2 + np.square(q.sigma)[:, None])
    return since(rises_to(rise, goal, q.weight @ q.mean, spread), start, log_time=q.log_time)


def _take(q: Mixture, rows: IntArray) -> Mixture:
    return replace(q, mean=q.mean[:, rows], sd=q.sd[:, rows])


def _on_scale(q: Mixture, times: Array) -> Array:
    """Times on the scale of f."""
    return np.log(np.maximum(times, 0.0)) if q.log_time else times


_CURVES: dict[str, Callable[[Mixture, Array, Array | None, tuple[float, ...]], list[Array]]] = {
    "survival": _survival,
    "cumulative_hazard": _cumulative_hazard,
    "hazard": _hazard,
}
