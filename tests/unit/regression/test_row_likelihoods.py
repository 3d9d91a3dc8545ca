"""Likelihoods of rows from formulas: rows of every kind, and cured times over a spline, which no kind of fit has."""

from dataclasses import dataclass

import mpmath as mp
import numpy as np
import pytest
from scipy.special import expit

import tobitgp as tg
from tobitgp.data.arrays import CensoredResponse
from tobitgp.data.outcome import outcome
from tobitgp.distributions.baselines import Baseline, SplineBaseline, WeibullBaseline, make_knots
from tobitgp.distributions.formulas import CuredTimes, location_scale_times, transformed_times
from tobitgp.distributions.location_scale import LocationScale
from tobitgp.likelihoods import FAMILIES
from tobitgp.numerics.jets import variables
from tobitgp.regression.hazard_likelihood import group_likelihoods
from tobitgp.regression.newton import climb, guarded_step
from tobitgp.regression.predictors import Predictors, log_likelihoods, orthonormal

INF = np.inf


def seen_of(lower, upper, entry=None, exit=None, weight=None):
    """Rows by the ends of their times."""
    n = len(lower)
    free, one = np.full(n, INF), np.ones(n)
    entry, exit = np.zeros(n) if entry is None else entry, free if exit is None else exit
    response = CensoredResponse(lower, upper, -free, free, entry, exit, one if weight is None else weight)
    return outcome(response, log_time=True)


# Times that are known, left-, right- and interval-censored, with windows that begin, that end, and that do both.
LOWER = np.array([1.3, 0.0, 2.0, 0.5, 1.3, 1.5, 0.8, 2.0, 1.0, 0.3])
UPPER = np.array([1.3, 0.7, INF, 1.2, 1.3, INF, 1.7, 2.5, 1.0 + 1e-7, 0.9])
ENTRY = np.array([0.0, 0.0, 0.0, 0.0, 0.6, 0.6, 0.6, 0.0, 0.5, 0.2])
EXIT = np.array([INF, INF, INF, INF, INF, INF, INF, 4.0, INF, 3.0])


def test_rows_of_every_kind():
    eta, tau = 0.1 * np.arange(10.0) - 0.4, np.full(10, -0.3)
    noise, seen = FAMILIES["lognormal"].distribution, seen_of(LOWER, UPPER, ENTRY, EXIT)

    def times(rows):
        return location_scale_times(noise, *variables([eta[rows], tau[rows]]))

    y = LocationScale(noise, eta, np.exp(tau), log=True)

    def mass(low, high):
        return np.exp(y.logsf(low)) - np.exp(y.logsf(np.minimum(high, 1e300)))

    narrow = UPPER - LOWER < 1e-3
    widths = [np.log(high / low) if low and high > low else 1.0 for low, high in zip(LOWER, UPPER, strict=True)]
    density = np.exp(y.logpdf(LOWER + 1e-9)) * LOWER * np.array(widths)
    with np.errstate(invalid="ignore"):
        want = np.log(np.where(narrow, density, mass(LOWER, UPPER)) / mass(ENTRY, EXIT))
    np.testing.assert_allclose(log_likelihoods(times, seen).value, want, rtol=1e-6)


# -- a composition ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CuredHazards(Predictors):
    """Times of which a share is cured, and those of the others have a parametric baseline of hazards."""

    baseline: Baseline

    def times(self, rows, at):
        noise, (eta, logit, *c) = FAMILIES["weibull"].distribution, at
        return CuredTimes(transformed_times(noise, self.baseline, eta, c), logit)


def problem_of(seen, H, Z, baseline):
    one, none = np.ones((len(seen), 1)), np.zeros(len(seen))
    designs = [H, Z, *[one] * baseline.size]
    unknown = [np.full(design.shape[1], np.nan) for design in designs]
    return CuredHazards(**orthonormal(seen, designs, [none] * len(designs), unknown), baseline=baseline)


def maximum(problem, parameters):
    with np.errstate(all="ignore"):
        return climb(
            problem.evaluate,
            lambda state: guarded_step(
                state, lambda move: max(float(np.abs(part).max()) for part in problem.moves(move))
            ),
            problem.evaluate(problem.nearest(parameters)),
            max_iter=200,
            stop=lambda x: False,
        )


@pytest.fixture(scope="module")
def cured():
    data = tg.datasets.simulate_cure(n=500, rng=3)
    time, event = data["time"].to_numpy(), data["event"].to_numpy() == 1
    H = np.column_stack([np.ones(500), data["treated"]])
    return data, seen_of(time, np.where(event, time, INF)), H


@pytest.fixture(scope="module")
def fitted(cured):
    data, _, _ = cured
    return tg.fit("Surv(time, event) ~ treated", data, family="weibull", cure="~ treated")


def as_hazards(res):
    """Parameters of a Weibull regression with a cured fraction as those of hazards, the logarithm of the shape last."""
    sigma = res.params["sigma"]
    return np.concatenate([-res.params.iloc[:2] / sigma, res.params.iloc[2:4], [-np.log(sigma)]])


def test_weibull_hazards_with_a_cured_fraction_are_weibull_times_with_one(cured, fitted):
    _, seen, H = cured
    problem, start = problem_of(seen, H, H, WeibullBaseline()), as_hazards(fitted)
    end = maximum(problem, start + 0.2)
    assert end.reason == "settled"
    assert end.state.value + seen.log_jacobian == pytest.approx(fitted.llf, abs=1e-10)
    np.testing.assert_allclose(problem.given + problem.to_users @ end.state.x, start, atol=1e-7)
    V = problem.to_users @ np.linalg.inv(-end.state.hessian.corner) @ problem.to_users.T
    np.testing.assert_allclose(np.sqrt(np.diag(V))[2:4], fitted.bse.iloc[2:4], rtol=1e-7)


def written(knots, H, lower, upper, entry, exit, exact, parameters):
    """The same log likelihood of times, written again."""
    share = (knots[-1] - knots[1:-1]) / (knots[-1] - knots[0])

    def s(v, c):
        def plus(knot):
            return np.maximum(v - knot, 0.0) ** 3

        def curve(knot, by):
            return plus(knot) - by * plus(knots[0]) - (1.0 - by) * plus(knots[-1])

        return c[0] * v + sum(one * curve(knot, by) for one, knot, by in zip(c[1:], knots[1:-1], share, strict=True))

    eta, pi, c = H @ parameters[:2], expit(H @ parameters[2:4]), parameters[4:]

    def survive(t):
        with np.errstate(divide="ignore", invalid="ignore"):
            S = np.where(t > 0.0, np.exp(-np.exp(eta + s(np.log(t), c))), 1.0)
        return np.where(np.isinf(t), 0.0, pi + (1.0 - pi) * S)

    h = 1e-5 * np.where(exact, lower, 1.0)
    density = (survive(lower - h) - survive(lower + h)) / (2.0 * h)
    value = np.where(exact, density * lower, survive(lower) - survive(upper))
    return np.log(value / (survive(entry) - survive(exit)))


def mixed_rows(n=120):
    """Rows of every kind, of which some are judged within windows."""
    rng = np.random.default_rng(4)
    time, kind = rng.weibull(1.3, n) * 2.0, rng.integers(4, size=n)
    low, high = np.floor(2.0 * time) / 2.0, np.floor(2.0 * time) / 2.0 + 0.5
    lower = np.choose(kind, [time, np.zeros(n), np.minimum(time, 1.5), low])
    upper = np.choose(kind, [time, high, np.full(n, INF), high])
    entry = np.where((rng.random(n) < 0.4) & (lower > 0.0), 0.5 * lower, 0.0)
    exit = np.where((rng.random(n) < 0.3) & np.isfinite(upper), upper + 1.0, INF)
    weight = np.resize([1.0, 2.0, 0.5], n)
    return lower, upper, entry, exit, weight, np.column_stack([np.ones(n), rng.normal(size=n)])


def test_cured_times_over_a_spline():
    """A likelihood that no kind of fit has, from two formulas: beside the same written again, and differences."""
    lower, upper, entry, exit, weight, H = mixed_rows()
    seen, knots = seen_of(lower, upper, entry, exit, weight), np.array([-2.0, -0.4, 0.5, 1.6])
    problem = problem_of(seen, H, H, SplineBaseline(tuple(knots)))
    parameters = np.array([-0.9, 0.4, -0.7, 0.3, 1.2, 0.05, -0.04])
    x = problem.nearest(parameters)
    want = written(knots, H, lower, upper, entry, exit, lower == upper, parameters)
    np.testing.assert_allclose(problem.log_likelihoods(x).value, want, rtol=2e-7, atol=1e-8)
    state, h = problem.evaluate(x), 1e-5
    assert state.value == pytest.approx(weight @ want, rel=1e-7)
    for j, step in enumerate(h * np.eye(len(x))):
        up, down = problem.evaluate(x + step), problem.evaluate(x - step)
        assert state.gradient[j] == pytest.approx((up.value - down.value) / (2 * h), rel=1e-6, abs=1e-6)
        np.testing.assert_allclose(
            state.hessian.corner[j], (up.gradient - down.gradient) / (2 * h), rtol=1e-6, atol=1e-5
        )
    scores = problem.row_scores(x)
    np.testing.assert_allclose(problem.to_users.T @ (weight @ scores), state.gradient, rtol=1e-10)


def test_the_maximum_of_cured_times_over_a_spline(cured, fitted):
    """Around it the likelihood as it is written again falls as the Hessian says."""
    data, seen, H = cured
    knots = make_knots(seen.lower[seen.exact], seen.weight[seen.exact], 2)
    problem, start = problem_of(seen, H, H, SplineBaseline(tuple(knots))), as_hazards(fitted)
    start = np.concatenate([start[:4], [np.exp(start[4]), 0.0]])
    end = maximum(problem, start)
    found = problem.given + problem.to_users @ end.state.x
    assert end.reason == "settled"
    assert np.abs(end.state.gradient).max() < 1e-6
    assert end.state.value + seen.log_jacobian > fitted.llf
    time, exact = data["time"].to_numpy(), data["event"].to_numpy() == 1
    ends = time, np.where(exact, time, INF), np.zeros(500), np.full(500, INF), exact

    best = written(knots, H, *ends, found).sum()
    assert best == pytest.approx(end.state.value, abs=1e-5)
    V = problem.to_users @ np.linalg.inv(-end.state.hessian.corner) @ problem.to_users.T
    for z in np.random.default_rng(1).normal(size=(30, len(found))):
        near = written(knots, H, *ends, found + 0.05 * np.linalg.cholesky(V) @ z).sum()
        assert near - best == pytest.approx(-0.5 * 0.05**2 * z @ z, rel=0.1)


# -- groups -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tau", [-6.0, -1.0, 0.8])
def test_groups_that_share_a_frailty(tau):
    """The logarithm of a gamma integral, and its derivatives in the hazard of a group and in log theta."""
    events, hazard = np.array([0.0, 1.0, 4.0, 2.5]), np.array([0.2, 3.0, 1.5, 1e-6])
    found = group_likelihoods(events, *variables([hazard, np.array([tau])]))
    with mp.workdps(40):
        for i in range(4):

            def of(H, tau, i=i):
                phi = mp.exp(-tau)
                return mp.log(phi**phi * mp.gamma(events[i] + phi) / mp.gamma(phi) / (H + phi) ** (events[i] + phi))

            at = (mp.mpf(hazard[i]), mp.mpf(tau))
            assert found.value[i] == pytest.approx(float(of(*at)), rel=1e-11, abs=1e-12)
            for j, order in enumerate([(1, 0), (0, 1)]):
                assert found.slope[j][i] == pytest.approx(float(mp.diff(of, at, order)), rel=1e-9, abs=1e-11)
            for pair, order in (((0, 0), (2, 0)), ((0, 1), (1, 1)), ((1, 1), (0, 2))):
                assert found.bend[pair][i] == pytest.approx(float(mp.diff(of, at, order)), rel=1e-9, abs=1e-11)
    phi = mp.exp(-tau)
    integral = mp.quad(
        lambda u: u ** (phi - 1 + events[2]) * mp.exp(-u * (phi + hazard[2])) * phi**phi / mp.gamma(phi),
        [0, 0.8, 1, 1.2, 5, mp.inf],
    )
    assert found.value[2] == pytest.approx(float(mp.log(integral)), rel=1e-6)
