r"""Noise of any location-scale distribution, by quadrature: ``y = f + sigma Z``, censored, bracketed or truncated.

With :math:`\ell(f) = \log p(y | f)` and Z the normaliser of the tilted density :math:`p(y | f) N(f; \mu, v)`, (ROW12)
of the theory pages is

.. math:: \partial_\mu \log Z = E\,\ell' = E(f - \mu) / v, \qquad
          \partial^2_\mu \log Z = E(\ell'' + \ell'^2) - (E\,\ell')^2 = (\mathrm{Var} f / v - 1) / v,

the first form keeping its digits where v is small, the second where it is large; derivatives of log Z in parameters of
the noise are tilted means of those of :math:`\ell`. Derivatives in the shape are differences of fourth order.

Where the normal density is narrow relative to the bends of the likelihood, one Gauss-Hermite rule around the mode of
their product is enough. Elsewhere the mode of the product is bracketed on a grid, found by Newton's method between,
and panels are graded towards that mode and towards the ends of the row. A product that is log-concave falls at least
as fast as the normal density on either side of its mode; one that need not be is also covered around the normal
density's own mean.

The upper tail of Gumbel noise is too steep for quadrature. With a = (lower - f) / sigma the log probability of (lower,
upper] is :math:`-e^a` plus what bends gently: nothing on right-censored rows, a - log sigma on exact ones, and on
intervals the log cdf at :math:`a + \log(e^w - 1)`, w their width over sigma. For a row that entered late
:math:`-(e^a - e^{a'})` is left, a' that of its entry, which is one exponential again. For a ~ N(a0, t^2),
:math:`E e^a = e^{a_0 + t^2 / 2}`, which comes from t^2 to the right of a0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from tobitgp.data.arrays import KindRows
from tobitgp.distributions.gumbel import Gumbel
from tobitgp.distributions.response import same_as
from tobitgp.distributions.standard_noise import Distribution
from tobitgp.likelihoods.row_terms import Expected, Likelihood, Point, Terms, Tilted, mass_terms, row_terms, subtract
from tobitgp.numerics.quadrature import (
    ORDERS,
    by_order,
    evaluations,
    gauss_hermite,
    normal_rule,
    panel_rule,
    reach,
    row_sums,
    slices,
)
from tobitgp.numerics.roots import root_between, slope
from tobitgp.typing import Array, BoolArray, IntArray

SMOOTH = ORDERS[-1][0]
_NEWTON, _NEAR = 60, 0.1
_GRID = np.linspace(0.0, 1.0, 25)
_AROUND = np.array([-3.0, -1.0, 0.0, 1.0, 3.0])
_BEYOND = 20.0
_AT_MODE = 1e-3
_TOGETHER = 14.0
_HALF_LOG_2PI = 0.5 * float(np.log(2.0 * np.pi))

Local = Callable[[IntArray, Array], tuple[Array, Array, Array]]


class RowNodes(NamedTuple):
    """Nodes for some of the rows."""

    rows: IntArray  # (m,)
    f: Array  # (k, q), nodes, a line or several lines for each row
    log_weight: Array  # (k, q), of the rule and the normal density together
    line: IntArray  # (k,), position among ``rows`` of each line
    smooth: bool  # the normal density is narrow beside the bends of the likelihood


def tilted_rules(
    local: Local, mean: Array, sd: Array, ends: Array, unit: float, *, log_concave: bool
) -> Iterator[RowNodes]:
    """Rules for ``E p(y | f)`` with f ~ N(mean, sd^2), for n rows.

    Shapes: mean, sd (n,), ends (n, k).
    """
    mode, width, smooth = _near_modes(local, mean, sd, sd <= SMOOTH * unit)
    for rows, order in by_order(np.where(smooth, sd, np.inf) / unit, ORDERS):
        for i in slices(rows, order):
            yield _around(i, mode[i], width[i], mean[i], sd[i], order)
    rough = np.flatnonzero(~smooth)
    for i in slices(rough, evaluations(sd[rough] / unit, kinks=ends.shape[1] + 1)):
        yield _panels(local, i, mean[i], sd[i], ends[i], unit, log_concave)


def _near_modes(local: Local, mean: Array, sd: Array, smooth: BoolArray) -> tuple[Array, Array, BoolArray]:
    """Modes of the product and their widths, (n,) each, and where Newton's method reached them."""
    f, width, reached = mean.copy(), sd.copy(), smooth.copy()
    moving = np.flatnonzero(smooth)
    for _ in range(_NEWTON):
        precision = 1.0 / (sd[moving] * sd[moving])
        _, slope, bend = local(moving, f[moving])
        curve = np.maximum(precision - bend, 0.2 * precision)
        step = (slope - precision * (f[moving] - mean[moving])) / curve
        f[moving] += step
        width[moving] = 1.0 / np.sqrt(curve)
        moving = moving[np.abs(step) > _NEAR * width[moving]]
        if not len(moving):
            break
    reached[moving] = False
    return f, width, reached


def _around(rows: IntArray, mode: Array, width: Array, mean: Array, sd: Array, order: int) -> RowNodes:
    """A Gauss-Hermite rule around each mode."""
    nodes, weights = gauss_hermite(order)
    away = width[:, None] * nodes
    z = ((mode - mean)[:, None] + away) / sd[:, None]
    log_weight = np.log(weights) + 0.5 * nodes * nodes + np.log(width / sd)[:, None] - 0.5 * z * z
    return RowNodes(rows, mode[:, None] + away, log_weight, np.arange(len(rows)), True)


def _panels(
    local: Local, rows: IntArray, mean: Array, sd: Array, ends: Array, unit: float, log_concave: bool
) -> RowNodes:
    """Panels over all of the product that counts."""
    mode, width = _modes(local, rows, mean, sd, ends, unit)
    fine = np.minimum(unit, width)
    t, away = sd / fine, (mean - mode) / fine
    low = high = reach(t)
    if not log_concave:
        near = np.abs(away) < _TOGETHER * t
        low, high = low + np.where(near, np.maximum(-away, 0.0), 0.0), high + np.where(near, np.maximum(away, 0.0), 0.0)
    kinks = np.column_stack([(ends - mode[:, None]) / fine[:, None], np.zeros(len(mode))])
    v, weight, line = panel_rule(-low, high, t, kinks)
    x = (v - away[line][:, None]) / t[line][:, None]
    log_weight = np.log(weight) - 0.5 * x * x - np.log(t[line])[:, None] - _HALF_LOG_2PI
    return RowNodes(rows, mode[line][:, None] + fine[line][:, None] * v, log_weight, line, False)


def _modes(local: Local, rows: IntArray, mean: Array, sd: Array, ends: Array, unit: float) -> tuple[Array, Array]:
    """Highest mode of the product near a grid between the mean and the ends, and its width, (m,) each."""
    low = np.minimum(mean, ends.min(axis=1)) - _BEYOND * unit
    high = np.maximum(mean, ends.max(axis=1)) + _BEYOND * unit
    grid = np.column_stack(
        [
            low[:, None] + (high - low)[:, None] * _GRID,
            mean[:, None] + sd[:, None] * _AROUND,
            (ends[:, :, None] + unit * _AROUND).reshape(len(rows), -1),
        ]
    )
    grid.sort(axis=1)
    m, k = grid.shape
    value, _, _ = local(np.repeat(rows, k), grid.ravel())
    height = value.reshape(m, k) - 0.5 * ((grid - mean[:, None]) / sd[:, None]) ** 2
    best, line = height.argmax(axis=1), np.arange(m)
    left, right = grid[line, np.maximum(best - 1, 0)], grid[line, np.minimum(best + 1, k - 1)]
    precision = 1.0 / (sd * sd)

    def falling(f: Array) -> tuple[Array, Array]:
        _, rise, bend = local(rows, f)
        return precision * (f - mean) - rise, precision - bend

    mode = root_between(falling, left, grid[line, best], right, _AT_MODE * unit)
    curve = precision - local(rows, mode)[2]
    return mode, 1.0 / np.sqrt(np.maximum(curve, precision))


_LARGEST = 300.0
_GUMBEL = Gumbel()


def gentle_part(rows: KindRows, f: Array, sigma: float) -> Array:
    """Log likelihood without its exponentials: value, two derivatives in f, and that in log sigma; (4, n)."""
    if rows.kind == "exact":
        z = (rows.limit - f) / sigma
        out = np.stack([z - np.log(sigma), np.full_like(z, -1.0 / sigma), np.zeros_like(z), -z - 1.0])
    else:
        out = _gentle_mass(rows.lower, rows.upper, rows.width, f, sigma)
    if rows.window is not None:
        out -= _gentle_mass(*rows.window, f, sigma)
    return out


def exponential_part(rows: KindRows, mean: Array, sd: Array, sigma: float) -> Array:
    """Expectations (4, n) of what `gentle_part` leaves out, f ~ N(mean, sd^2)."""
    out = np.zeros((4, len(mean)))
    entry = np.full_like(mean, -np.inf) if rows.window is None else rows.window.entry
    at = np.flatnonzero(np.isfinite(rows.lower) & (rows.lower > entry))
    late = np.isfinite(entry[at])
    since = np.where(late, entry[at], rows.lower[at])
    lift, growth = (np.where(late, x, 0.0) for x in _lift(np.where(late, rows.lower[at] - since, 1.0) / sigma))
    a, t = (since - mean[at]) / sigma, sd[at] / sigma
    rise = np.exp(np.minimum(a + lift + 0.5 * t * t, _LARGEST))
    out[:, at] = -rise, rise / sigma, -rise / sigma**2, rise * (a + t * t + growth)
    return out


def _lift(w: Array) -> tuple[Array, Array]:
    """``log(e^w - 1)``, and w times its derivative."""
    return w + np.log(-np.expm1(-w)), w / -np.expm1(-w)


def _gentle_mass(lower: Array, upper: Array, width: Array, f: Array, sigma: float) -> Array:
    out = np.zeros((4, len(f)))
    left, between = np.isinf(lower) & np.isfinite(upper), np.isfinite(lower) & np.isfinite(upper)
    for rows, end in ((np.flatnonzero(left), upper), (np.flatnonzero(between), lower)):
        z = (end[rows] - f[rows]) / sigma
        lift = growth = np.zeros_like(z)
        if end is lower:
            lift, growth = _lift(width[rows] / sigma)
        tail = _GUMBEL.lower_tail(z + lift)
        out[:, rows] = tail.log_p, -tail.d1 / sigma, tail.d2 / sigma**2, -(z + growth) * tail.d1
    return out


_STEP, _SHAPE_STEP = 0.001, 0.01
_LEAST = 1e-12  # of sigma: a spread that changes nothing


@dataclass(frozen=True, slots=True)
class NoiseLikelihood(Likelihood):
    """Noise whose distribution is known, or known up to its shape."""

    distribution: Distribution
    free_shape: bool = False  # the shape of the distribution stands before log sigma at the end of theta
    windowed: bool = False  # some rows are truncated, and their likelihoods need not be log-concave

    by_quadrature = True
    steep = same_as("distribution.exponential_hazard")  # in the log density

    @property
    def log_concave(self) -> bool:  # type: ignore[override]
        """Whether the distribution is, and no window bends it."""
        return self.distribution.log_concave and not self.windowed

    def over(self, rows: Sequence[KindRows]) -> NoiseLikelihood:
        """With what windows do to it: normal noise stays log-concave in all, Gumbel noise after an entry."""
        windows = [] if self.distribution.gaussian else [part.window for part in rows if part.window is not None]
        bent = not self.distribution.exponential_hazard or any(np.isfinite(window.exit).any() for window in windows)
        return replace(self, windowed=bool(windows) and bent)

    def at(self, theta: Array) -> NoiseLikelihood:
        """With the shape of ``theta``."""
        return self._of_shape(float(theta[-2])) if self.free_shape else self

    def _of_shape(self, x: float) -> NoiseLikelihood:
        return replace(self, distribution=self.distribution.at_coordinate(x))

    def terms(self, rows: KindRows, f: Array, sigma: float | Array) -> Terms:
        """Log likelihood of the rows and its derivatives in f and log sigma."""
        tau, ends = np.asarray(np.log(sigma)), (rows.lower, rows.upper, rows.width)
        if rows.kind == "exact":
            terms = row_terms(self.distribution, "exact", *ends, f, tau)
        else:
            terms = mass_terms(self.distribution, *ends, f, tau)
        return terms if rows.window is None else subtract(terms, mass_terms(self.distribution, *rows.window, f, tau))

    def terms_in_shape(self, rows: KindRows, f: Array, sigma: float | Array) -> Terms:
        """Derivatives of `terms` in the shape."""
        return Terms(*self._shape_slope(lambda noise: np.stack(noise.terms(rows, f, sigma))))

    def newton(self, rows: KindRows, f: Array, sigma: float) -> Tilted:
        """From the terms of the rows."""
        terms = self.terms(rows, f, sigma)
        return Tilted(terms.value, terms.eta, terms.eta_eta)

    def point(self, rows: KindRows, f: Array, sigma: float) -> Point:
        """Third derivatives are differences of the second ones."""
        at, h = self.terms(rows, f, sigma), _STEP * sigma * self.distribution.reach
        d3 = slope(lambda x: self.terms(rows, f + x, sigma).eta_eta, h)
        bend = slope(lambda x: self.terms(rows, f, sigma * float(np.exp(x))).eta_eta, _STEP)
        slopes = [(at.tau, at.eta_tau, bend)]
        if self.free_shape:
            fields = self._shape_slope(lambda noise: np.stack(noise.newton(rows, f, sigma)))
            slopes.insert(0, (fields[0], fields[1], fields[2]))
        s0, s1, s2 = (np.stack(column) for column in zip(*slopes, strict=True))
        return Point(at.value, at.eta, at.eta_eta, d3, s0, s1, s2)

    def tilted(self, rows: KindRows, mean: Array, var: Array, sigma: float) -> Tilted:
        """By quadrature, (ROW12)."""
        out, sd = Tilted(*(np.empty_like(mean) for _ in Tilted._fields)), np.sqrt(var)
        for rule, part in self._tilted(rows, mean, sd, sigma):
            i = rule.rows
            out.log_Z[i] = part.log_Z
            if rule.smooth:
                eta, bend = part.terms.eta, part.terms.eta_eta
                out.d1[i] = part.mean(eta)
                out.d2[i] = part.mean(bend + (eta - out.d1[i][part.line]) ** 2)
            else:
                x = ((rule.f - mean[i][rule.line][:, None]) / sd[i][rule.line][:, None]).ravel()
                centre = part.mean(x)
                out.d1[i] = centre / sd[i]
                out.d2[i] = (part.mean((x - centre[part.line]) ** 2) - 1.0) / var[i]
        return out

    def tilted_slope(self, rows: KindRows, mean: Array, var: Array, sigma: float, d1: Array, d2: Array) -> Array:
        out = np.empty((1 + self.free_shape, len(mean)))
        for rule, part in self._tilted(rows, mean, np.sqrt(var), sigma):
            out[-1, rule.rows] = part.mean(part.terms.tau)
            if self.free_shape:
                at = rows[rule.rows[part.line]]
                out[0, rule.rows] = part.mean(self._shape_slopes(at, rule.f.ravel(), sigma))
        return out

    def expected(self, rows: KindRows, mean: Array, var: Array, sigma: float, *, slopes: bool = True) -> Expected:
        values = self._expected_terms(rows, mean, np.sqrt(var), sigma)
        s0 = values[3:]
        if self.free_shape and slopes:
            sd = np.sqrt(var)
            in_df = self._shape_slope(lambda noise: noise._expected_terms(rows, mean, sd, sigma)[0])
            s0 = np.stack([in_df, values[3]])
        return Expected(values[0], values[1], values[2], s0)

    def _expected_terms(self, rows: KindRows, mean: Array, sd: Array, sigma: float) -> Array:
        """Expected value, slope, bend and derivative in log sigma, (4, n)."""
        stacked = gentle_part if self.distribution.exponential_hazard else self._stacked
        out = np.empty((4, len(mean)))
        ends, unit = self._bends(rows, sigma), sigma * self.distribution.reach
        for smooth, order in by_order(sd / unit, ORDERS):
            nodes, weights = gauss_hermite(order)
            for i in slices(smooth, order):
                f = mean[i][:, None] + sd[i][:, None] * nodes
                out[:, i] = stacked(rows[np.repeat(i, order)], f.ravel(), sigma).reshape(4, *f.shape) @ weights
        rough = np.flatnonzero(sd / unit > SMOOTH)
        for i in slices(rough, evaluations(sd[rough] / unit, kinks=ends.shape[1])):
            v, weight, line = normal_rule(np.zeros(len(i)), sd[i] / unit, (ends[i] - mean[i][:, None]) / unit)
            f = mean[i][line][:, None] + unit * v
            at = rows[i[np.repeat(line, f.shape[1])]]
            out[:, i] = row_sums(stacked(at, f.ravel(), sigma), weight, line, len(i))
        return out + exponential_part(rows, mean, sd, sigma) if self.distribution.exponential_hazard else out

    def _stacked(self, rows: KindRows, f: Array, sigma: float) -> Array:
        terms = self.terms(rows, f, sigma)
        return np.stack([terms.value, terms.eta, terms.eta_eta, terms.tau])

    def _bends(self, rows: KindRows, sigma: float) -> Array:
        """Where the likelihoods of the rows bend, (n, k)."""
        ends = [rows.limit, *([rows.upper] if rows.kind == "interval" else [])]
        if rows.window is not None:
            ends += [np.where(np.isfinite(end), end, rows.limit) for end in rows.window[:2]]
        return np.column_stack([end - sigma * bend for end in ends for bend in self.distribution.bends])

    def _tilted(self, rows: KindRows, mean: Array, sd: Array, sigma: float) -> Iterator[tuple[RowNodes, _Tilt]]:
        taken: list[tuple[IntArray, KindRows]] = []  # a search for modes asks for the same rows many times

        def local(at: IntArray, f: Array) -> tuple[Array, Array, Array]:
            if not taken or taken[0][0] is not at:
                taken[:] = [(at, rows[at])]
            terms = self.terms(taken[0][1], f, sigma)
            return terms.value, terms.eta, terms.eta_eta

        concave = self.distribution.log_concave and (rows.window is None or not self.windowed)
        ends, unit = self._bends(rows, sigma), sigma * self.distribution.reach
        for rule in tilted_rules(local, mean, np.maximum(sd, _LEAST * sigma), ends, unit, log_concave=concave):
            line = np.repeat(rule.line, rule.f.shape[1])
            terms = self.terms(rows[rule.rows[line]], rule.f.ravel(), sigma)
            yield rule, _Tilt.of(terms, rule.log_weight.ravel(), line, len(rule.rows))

    def _shape_slopes(self, rows: KindRows, f: Array, sigma: float) -> Array:
        """Derivatives (n,) of the log likelihood in the shape."""
        return self._shape_slope(lambda noise: noise.terms(rows, f, sigma).value)

    def _shape_slope(self, ask: Callable[[NoiseLikelihood], Array]) -> Array:
        """Derivative of what is asked in the shape."""
        return slope(lambda x: ask(self._of_shape(self.distribution.coordinate + x)), _SHAPE_STEP)


@dataclass(frozen=True, slots=True)
class _Tilt:
    """The tilted densities of some rows at their nodes."""

    terms: Terms
    density: Array
    line: IntArray
    log_Z: Array

    @classmethod
    def of(cls, terms: Terms, log_weight: Array, line: IntArray, n: int) -> _Tilt:
        height = terms.value + log_weight
        top = np.full(n, -np.inf)
        np.maximum.at(top, line, height)
        density = np.exp(height - top[line])
        mass = np.bincount(line, weights=density, minlength=n)
        return cls(terms, density / mass[line], line, top + np.log(mass))

    def mean(self, values: Array) -> Array:
        """Tilted means of values at the nodes, a number a row."""
        sums = np.bincount(self.line, weights=self.density * values, minlength=len(self.log_Z))
        return np.asarray(sums, dtype=np.float64)
