"""Every distribution of the response in rows: defaults and closed forms against integrals of the density."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.special import log_expit

from tobitgp.distributions.averaged import Averaged
from tobitgp.distributions.baselines import SplineBaseline, WeibullBaseline
from tobitgp.distributions.event_times import Continued, Cured, First, JoinedDraws
from tobitgp.distributions.gumbel import Gumbel
from tobitgp.distributions.location_scale import LocationScale
from tobitgp.distributions.mixed_rows import MixedRows
from tobitgp.distributions.piecewise import Piecewise
from tobitgp.distributions.power_normal import PowerMixture, PowerNormal
from tobitgp.distributions.response import RowDistributions
from tobitgp.distributions.row_models import DensityModel, FunctionRows, OwnShapes
from tobitgp.distributions.symmetric_noise import Logistic, NormalNoise, StudentNoise
from tobitgp.distributions.transformed import TransformedTimes
from tobitgp.distributions.weighted import Interpolated, Lattice
from tobitgp.mixture.predictive import Predictive
from tobitgp.mixture.predictive_rows import PredictiveRows
from tobitgp.mixture.weibull import WeibullDistribution
from tobitgp.posterior.nodes import Nodes
from tobitgp.results.hazards.row_paths import AlongRows

pytestmark = pytest.mark.diagonal

N, INF, LAST = 3, np.inf, 60.0
NODES, WEIGHTS = np.polynomial.legendre.leggauss(10)
MU, SCALE = np.array([-0.4, 0.2, 0.9]), np.array([0.5, 0.8, 0.4])
SPREAD = np.array([[0.3], [0.6]]), np.array([[0.5], [0.4]])
SPLINE = SplineBaseline((-1.0, 0.0, 0.7, 2.0)), tuple(np.full(N, c) for c in (1.2, 0.05, -0.03))
BAND_ENDS, FIRST = np.array([0.0, 0.4, 1.5, 4.0]), np.array([0.0, 0.05])
LOG_RATES = np.array([[[0.3], [-0.5], [-0.2]], [[-0.4], [0.6], [0.1]]])
ROWS = {
    "normal": LocationScale(NormalNoise(), MU, SCALE),
    "student": LocationScale(StudentNoise(4.0), MU, SCALE),
    "weibull": LocationScale(Gumbel(), MU, SCALE, log=True),
    "cured": Cured(LocationScale(Logistic(), MU, SCALE, log=True), np.array([-1.0, 0.0, 0.5])),
    "first": First(
        (LocationScale(Gumbel(), MU + 0.5, SCALE, log=True), Cured(LocationScale(Logistic(), MU, SCALE, log=True), MU))
    ),
    "joined": Averaged(
        JoinedDraws(
            tuple(LocationScale(Gumbel(), MU[:, None] + m, SCALE[:, None], log=True) for m in (0.1, 0.3)),
            np.array([1, 0]),
        ),
        np.array([0.4, 0.6]),
    ),
    "root": PowerNormal(MU, SCALE, 0.5),
    "reciprocal": PowerNormal(MU, SCALE, -0.5),
    "logarithm": PowerNormal(MU, SCALE, 0.0, log_unit=0.7),
    "powers": PowerMixture(
        PowerNormal(MU[:, None] + [0.0, 0.2], SCALE[:, None], np.array([0.5, 0.1])), np.array([0.3, 0.7])
    ),
    "averaged": Averaged(
        LocationScale(Gumbel(), MU[:, None] + [0.0, 0.3, -0.5], SCALE[:, None], log=True), np.array([0.2, 0.3, 0.5])
    ),
    "averaged powers": Averaged(
        PowerNormal(MU[:, None] + [0.0, 0.2], SCALE[:, None], np.array([0.5, 0.1])), np.array([0.3, 0.7])
    ),
    "bands": Averaged(Piecewise.of_logs(BAND_ENDS, MU[:, None], LOG_RATES, np.array([0, 1, 0]), FIRST), np.ones(1)),
    "drawn bands": Averaged(
        Piecewise.of_logs(
            BAND_ENDS, MU[:, None] + [0.0, 0.4], LOG_RATES + np.array([0.0, -0.2]), np.array([0, 1, 0]), FIRST
        ),
        np.array([0.6, 0.4]),
    ),
    "spline": TransformedTimes(Gumbel(), *SPLINE[:1], MU, SPLINE[1]),
    "frailty": TransformedTimes(Gumbel(), WeibullBaseline(), MU, (np.full(N, 0.4),), (np.full(N, -0.5),)),
    "continued": Continued(Gumbel(), MU, SCALE, np.array([-INF, -0.5, 0.1]), np.array([0.0, 0.1, 0.05])),
    "mixed": MixedRows(
        tuple(LocationScale(Gumbel(), MU + m, SCALE * s, log=True) for m, s in ((0.0, 0.3), (1.5, 0.5))),
        np.log(np.array([[0.3, 0.6, 0.5], [0.7, 0.4, 0.5]])),
    ),
    "own shapes": OwnShapes(StudentNoise(4.0), MU, SCALE, np.log([4.0, 6.0, 9.0])),
    "functions": FunctionRows(
        DensityModel(
            (),
            lambda v, m, s: log_expit((v - m) / s) + log_expit((m - v) / s) - np.log(s),
            lambda v, m, s: log_expit((m - v) / s),
            log=True,
        ),
        (MU, SCALE),
    ),
    "mixture": PredictiveRows.of(
        Predictive(np.array([0.4, 0.6]), WeibullDistribution(np.array([1.0, 3.0]), np.array([1.5, 2.0]))),
        N,
        positive=True,
    ),
    "sum": Nodes(np.array([0.4, 0.6]), np.stack([MU, MU + 0.1]), *SPREAD, noises=(NormalNoise(),) * 2).new,
    "convolved": Nodes(np.array([0.4, 0.6]), np.stack([MU, MU]), *SPREAD, log=True, noises=(Gumbel(),) * 2).new,
}
TABLES = (Lattice, Interpolated, AlongRows)  # curves at many values, without densities
ENDS = {
    "both": (np.array([0.5, 1.1, 2.0]), np.array([1.3, 1.2, 6.0])),
    "narrow": (np.array([0.5, 1.1, 2.0]), np.array([0.5, 1.1, 2.0]) * (1.0 + 1e-9)),
    "above": (np.array([0.5, 1.1, 2.0]), np.full(N, INF)),
}
each = pytest.mark.parametrize("name", ROWS)
every_interval = pytest.mark.parametrize("ends", ENDS)


def integral(y, row, of, low, high):
    """Integral of ``of`` times the density of a row, by Gauss-Legendre quadrature in the logarithm of the value."""
    edges = np.linspace(np.log(low), np.log(high) if np.isfinite(high) else LAST, 600)
    jumps = np.log(np.concatenate([BAND_ENDS[1:], FIRST[1:]]))
    edges = np.sort(np.append(edges, jumps[(jumps > edges[0]) & (jumps < edges[-1])]))
    half = 0.5 * np.diff(edges)
    x = (0.5 * (edges[1:] + edges[:-1])[:, None] + half[:, None] * NODES).ravel()
    at, weight = np.exp(x), (half[:, None] * WEIGHTS).ravel()
    return float((weight * at * of(at)) @ np.exp(y.take(slice(row, row + 1)).beside().logpdf(at[None])[0]))


def subclasses(kind):
    return {kind, *(below for each in kind.__subclasses__() for below in subclasses(each))}


def test_every_kind_of_rows_is_here():
    drawn = {type(y.each) for y in ROWS.values() if isinstance(y, Averaged)}
    tested = {*(type(y) for y in ROWS.values()), *drawn, *TABLES}
    known = subclasses(RowDistributions) - {RowDistributions}
    assert {kind.__qualname__ for kind in known if kind.__module__.startswith("tobitgp")} == {
        kind.__qualname__ for kind in tested
    }


def test_nothing_comes_before_the_start_of_a_row_that_goes_on():
    y, before = ROWS["continued"], np.array([-1.0, 0.09, 0.04])
    np.testing.assert_array_equal(y.logpdf(before), -INF)
    np.testing.assert_array_equal(y.logsf(before), 0.0)


@each
@every_interval
def test_masses(name, ends):
    y, (low, high) = ROWS[name], ENDS[ends]
    found = np.exp(y.log_mass(low, high))
    for i in range(N):
        never = np.exp(y.logsf(np.full(N, np.exp(LAST))))[i] if ends == "above" else 0.0
        wanted = integral(y, i, np.ones_like, low[i], high[i]) + never
        assert found[i] == pytest.approx(wanted, rel=1e-6)
    parts = [np.full(N, -INF), low, high, np.full(N, INF)]
    total = sum(np.exp(y.log_mass(*pair)) for pair in pairwise(parts))
    np.testing.assert_allclose(total, 1.0, rtol=1e-9)


@each
def test_masses_in_far_tails_keep_their_digits(name):
    """As logarithms: an interval far out has the mass of its lower end less that of its upper one."""
    y, goal = ROWS[name], np.array([30.0, 300.0, 3000.0])
    low, high = y.survived(-goal), y.survived(-goal - 1.0)
    there = (low < high) & (high < INF)
    with np.errstate(invalid="ignore", divide="ignore"):
        wanted = y.logsf(low) + np.log(-np.expm1(y.logsf(high) - y.logsf(low)))
        np.testing.assert_allclose(y.log_mass(low, high)[there], wanted[there], rtol=1e-8)


@each
@every_interval
def test_means_given_ends(name, ends):
    y, (low, high) = ROWS[name], ENDS[ends]
    found = y.conditional_mean(low, high)
    for i in range(N):
        if ends == "above" and np.isposinf(y.mean()[i]):
            assert np.isposinf(found[i])
            continue
        wanted = integral(y, i, lambda t: t, low[i], high[i]) / integral(y, i, np.ones_like, low[i], high[i])
        assert found[i] == pytest.approx(wanted, rel=1e-6)
    np.testing.assert_array_equal(y.conditional_mean(low, low), low)


@pytest.mark.slow
@each
@pytest.mark.parametrize("window", [(0.1, INF), (0.2, 5.0)])
def test_what_is_shown_inside_a_window(name, window):
    y, lower, upper = ROWS[name], np.array([0.5, 1.1, 0.0]), np.array([1.3, 4.0, 3.0])
    entry, exit = (np.full(N, end) for end in window)
    found = y.observed_mean(lower, upper, entry, exit)
    last = np.exp(LAST) if np.isinf(window[1]) else window[1]
    for i in range(N):
        never = np.exp(y.logsf(np.full(N, last)))[i] if np.isinf(window[1]) else 0.0
        pieces = [window[0], max(lower[i], window[0]), upper[i], last]
        shown = [lambda t: 0.0 * t + lower[i], lambda t: t, lambda t: 0.0 * t + upper[i]]  # noqa: B023
        total = sum(integral(y, i, of, *pair) for of, pair in zip(shown, pairwise(pieces), strict=True))
        mass = sum(integral(y, i, np.ones_like, *pair) for pair in pairwise(pieces))
        assert found[i] == pytest.approx((total + never * upper[i]) / (mass + never), rel=1e-6)


@each
def test_likelihoods(name):
    """Exact, on both sides, between ends, in windows, of distributions (n,) and (n, draws)."""
    y, free = ROWS[name], np.full(N, INF)
    at, low, high = np.array([0.7, 1.5, 2.5]), np.array([0.5, 1.2, 2.0]), np.array([0.9, 2.0, 3.0])
    entry, exit = np.array([0.3, -INF, 1.0]), np.array([4.0, 5.0, INF])
    wanted = {
        "exact": (y.logpdf(at), (at, at)),
        "right": (y.logsf(low), (low, free)),
        "left": (y.logcdf(high), (-free, high)),
        "between": (y.log_mass(low, high), (low, high)),
        "nothing": (np.zeros(N), (-free, free)),
    }
    for value, ends in wanted.values():
        np.testing.assert_allclose(y.log_likelihood(*ends, -free, free), value, rtol=1e-10, atol=1e-14)
    for value, ends in ((y.logpdf(at), (at, at)), (y.log_mass(low, np.minimum(free, exit)), (low, free))):
        found = y.log_likelihood(*ends, entry, exit)
        np.testing.assert_allclose(found, value - y.log_mass(entry, exit), rtol=1e-10)
    mixed = (np.array([0.7, 1.2, 2.0]), np.array([0.7, INF, 3.0]))
    whole = y.log_likelihood(*mixed, entry, exit)
    for i in range(N):
        one = [end[i : i + 1] for end in (*mixed, entry, exit)]
        np.testing.assert_allclose(y.take(slice(i, i + 1)).log_likelihood(*one), whole[i], rtol=1e-12)
    beside = y.beside()
    assert beside.shape == (N, 1)
    np.testing.assert_allclose(beside.log_likelihood(*mixed, entry, exit)[:, 0], whole, rtol=1e-12)


@each
def test_draws_are_quantiles(name):
    y, u = ROWS[name], np.array([0.1, 0.5, 0.8])
    low, high = np.array([0.5, 1.1, 2.0]), np.array([1.3, 4.0, 6.0])
    free = y.drawn(u)
    share = np.exp(y.logcdf(free))
    np.testing.assert_allclose(
        np.where(np.isfinite(free), np.minimum(np.abs(share - u), np.abs(1.0 - share - u)), 0.0), 0.0, atol=1e-7
    )
    inside = y.drawn(u, low, high)
    assert ((low < inside) & (inside <= high)).all()
    below = np.exp(y.log_mass(low, inside) - y.log_mass(low, high))
    np.testing.assert_allclose(np.minimum(np.abs(below - u), np.abs(1.0 - below - u)), 0.0, atol=1e-7)
    np.testing.assert_array_equal(y.drawn(u, low, low), low)


@each
def test_quantiles_and_remaining_times(name):
    y, start = ROWS[name], np.array([0.4, 1.0, 0.6])
    for p in (0.02, 0.5, 0.9):
        at = y.ppf(p)
        there = np.isfinite(at) & (at > 0.0)
        np.testing.assert_allclose(np.exp(y.logcdf(np.where(there, at, 1.0)))[there], p, rtol=1e-6)
        end = start + y.remaining(1.0 - p, start)
        left = np.exp(y.logsf(end) - y.logsf(start))
        np.testing.assert_allclose(left[np.isfinite(end)], 1.0 - p, rtol=1e-6)
