"""Averages over draws of hazards that are steps: at many times by panels, in closed form, and their medians."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq

from tobitgp.distributions.averaged import Averaged
from tobitgp.distributions.event_times import First
from tobitgp.distributions.piecewise import Piecewise
from tobitgp.distributions.step_averages import SurvivalPanels, averaged_step_median
from tobitgp.results.hazards.level_points import fewer_rows

CUTS = np.array([0.0, 0.5, 1.2, 3.0])


def steps(seed: int, *, n: int = 4, draws: int = 6, level: float = 0.0, begin: tuple[float, ...] = (0.0,)) -> Piecewise:
    rng = np.random.default_rng(seed)
    group = np.arange(n) % len(begin)
    levels, rates = level + 0.5 * rng.normal(size=(n, draws)), rng.normal(size=(len(begin), 3, draws))
    return Piecewise.of_logs(CUTS, levels, rates, group, np.array(begin))


def risen(y: Piecewise, times: np.ndarray) -> np.ndarray:
    """Cumulative hazards (n, m, S) by the lengths of times in bands."""
    ends = np.append(CUTS[:-1], np.inf)
    low = np.maximum(ends[:-1], y.begin[y.group][:, None])
    length = np.clip(np.minimum(times[:, None], ends[1:]) - low[:, None], 0.0, None)  # (n, m, K)
    return y.level[:, None] * np.einsum("nmk,nks->nms", length, y.rate[y.group])


def rate(y: Piecewise, times: np.ndarray) -> np.ndarray:
    band = np.clip(np.searchsorted(CUTS, times) - 1, 0, 2)
    return y.level[:, None] * y.rate[y.group][:, band] * (times[:, None] > y.begin[y.group][:, None, None])


@pytest.mark.parametrize("begin", [(0.0,), (0.3, 0.8)])
@pytest.mark.parametrize("level", [-12.0, 0.0, 2.0])
def test_panels_have_the_sums_over_draws(level: float, begin: tuple[float, ...]) -> None:
    y, weight = steps(1, level=level, begin=begin), np.array([0.1, 0.3, 0.1, 0.2, 0.1, 0.2])
    times = np.concatenate([[1e-9, 1e-4, 0.1], np.linspace(0.01, 4.9, 60), CUTS[1:], [0.81, 5.0]])
    panels = SurvivalPanels.of(Averaged(y, weight), 5.0, 400)
    assert panels is not None
    H, h = risen(y, times), rate(y, times)
    gone = -np.expm1(-H) @ weight
    alive = np.exp(-H) @ weight
    hazard = (h * np.exp(-H)) @ weight / alive
    right = np.where(gone < 0.5, -np.log1p(-gone), -np.log(alive))
    for at in (times[None], np.tile(times, (4, 1))):
        found = panels.rates(at)
        np.testing.assert_allclose(found[1], right, rtol=1e-10, atol=1e-18)
        np.testing.assert_allclose(found[0], hazard, rtol=1e-10)


def test_panels_are_refused_where_they_would_be_too_many() -> None:
    y = Averaged(steps(1, level=5.0), np.full(6, 1.0 / 6.0))
    assert SurvivalPanels.of(y, 5.0, 100) is None
    assert SurvivalPanels.of(y, 5.0, 100_000) is not None


@pytest.mark.parametrize("after", [0.0, 0.7])
@pytest.mark.parametrize("level", [-9.0, 0.0])
def test_incidences_of_stepwise_causes_are_integrals(after: float, level: float) -> None:
    first, second = steps(1, level=level, begin=(0.2,)), steps(2, level=level)
    known, times = First((first, second)), np.array([0.0, 0.3, 2.5, 4.0])
    assert known.stepwise
    found = known.step_integrals(times, after, area=False)
    area = known.step_integrals(times, after, area=True)
    for i, s, m in ((0, 0, 1), (3, 5, 2), (2, 1, 3)):

        def alive(u: float, i: int = i, s: int = s) -> float:
            since = [risen(y, np.array([after + u])) - risen(y, np.array([after])) for y in known.causes]
            return float(np.exp(-sum(since)[i, 0, s]))

        points = [c - after for c in (0.2, *CUTS) if 0.0 < c - after < times[m]]
        for k, y in enumerate((first, second)):

            def density(u: float, y: Piecewise = y, i: int = i, s: int = s) -> float:
                return float(rate(y, np.array([after + u]))[i, 0, s]) * alive(u, i, s)

            right = quad(density, 0.0, times[m], points=points, epsabs=0.0, epsrel=1e-11)[0]
            assert found[k, i, m, s] == pytest.approx(right, rel=1e-9)
        assert area[0, i, m, s] == pytest.approx(quad(alive, 0.0, times[m], points=points, epsrel=1e-11)[0], rel=1e-9)
    assert (found[:, :, 0] == 0.0).all()


@pytest.mark.parametrize("after", [0.0, 0.7])
def test_medians_of_averages_are_roots(after: float) -> None:
    y, share = steps(1, n=30, level=-1.0), np.random.default_rng(2).dirichlet(np.ones(30), 6).T
    y = replace(y, goes_on=False)
    found = averaged_step_median(y, share, after, 3.0)

    def left(t: float, s: int) -> float:
        gap = risen(y, np.array([after + t])) - risen(y, np.array([after]))
        return float(share[:, s] @ np.exp(-gap[:, 0, s]))

    for s in range(6):
        if left(3.0 - after, s) > 0.5:
            assert np.isposinf(found[s])
        else:
            root = brentq(lambda t, s=s: left(t, s) - 0.5, 0.0, 3.0 - after, xtol=1e-14)
            assert found[s] == pytest.approx(root, 1e-10)
    assert np.isfinite(found).any()


def test_few_levels_have_the_averages_of_all_rows() -> None:
    y, times = steps(1, n=400, begin=(0.0, 0.3)), np.array([0.2, 1.0, 2.9])
    share = np.random.default_rng(2).dirichlet(np.ones(400), 6).T
    few, weight = fewer_rows(y, share)
    assert len(few.level) < 100
    right = np.einsum("ns,nms->ms", share, np.exp(-risen(y, times)))
    np.testing.assert_allclose(np.einsum("ns,nms->ms", weight, np.exp(-risen(few, times))), right, rtol=1e-10)


def test_restricted_means_from_own_times_on_are_areas() -> None:
    y, start = steps(3, begin=(0.2, 0.9)), np.array([0.0, 0.4, 1.1, 2.8])
    found = y.restricted_mean(1.7, start)
    for i in range(4):
        for s in (0, 5):

            def alive(u: float, i: int = i, s: int = s) -> float:
                return float(np.exp((risen(y, start[i : i + 1]) - risen(y, start[i : i + 1] + u))[i, 0, s]))

            points = [c - start[i] for c in (*CUTS, *y.begin) if 0.0 < c - start[i] < 1.7]
            assert found[i, s] == pytest.approx(quad(alive, 0.0, 1.7, points=points, epsrel=1e-11)[0], rel=1e-9)
