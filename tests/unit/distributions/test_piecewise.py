"""Hazards that are constant in bands, under draws, against their definition; areas of many rows by interpolation."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import quad

from tobitgp.distributions.averaged import Averaged
from tobitgp.distributions.piecewise import Piecewise
from tobitgp.results.hazards.cell_times import summed_over_rows

CUTS, GROUP = np.array([0.0, 0.5, 1.2, 3.0]), np.array([0, 1, 1, 0, 0, 1, 0])
ROWS_AND_DRAWS = ((0, 0), (1, 3), (6, 4))


def hazards(least: float = 1.0, begin: tuple[float, float] = (0.0, 0.0), *, goes_on: bool = True) -> Piecewise:
    rng = np.random.default_rng(3)
    level, rate = np.log(least) + rng.normal(size=(7, 5)), rng.normal(size=(2, 3, 5))
    return replace(Piecewise.of_logs(CUTS, level, rate, GROUP, np.array(begin)), goes_on=goes_on)


def rate_at(y: Piecewise, i: int, s: int, t: float) -> float:
    """By the definition."""
    k = min(int(np.searchsorted(CUTS, t)) - 1, 2)
    seen = t >= y.begin[GROUP[i]] and (y.goes_on or t <= CUTS[-1])
    return float(y.level[i, s] * y.rate[GROUP[i], max(k, 0), s]) if seen else 0.0


def risen(y: Piecewise, i: int, s: int, t: float) -> float:
    points = sorted({c for c in (*CUTS, *y.begin) if 0.0 < c < t})
    return quad(lambda u: rate_at(y, i, s, u), 0.0, t, points=points or None, epsabs=1e-13, limit=200)[0]


@pytest.mark.parametrize("goes_on", [True, False])
@pytest.mark.parametrize("begin", [(0.0, 0.0), (0.3, 0.8)])
def test_tails_and_hazards_are_those_of_the_definition(begin: tuple[float, float], goes_on: bool) -> None:
    y = hazards(begin=begin, goes_on=goes_on)
    times = np.array([0.2, 0.5, 1.0, 2.9, 4.0])
    left = y.beside().logsf(times[None, :, None])
    rate = y.beside().log_hazard(times[None, :, None])
    for i, s in ROWS_AND_DRAWS:
        for j, t in enumerate(times):
            assert left[i, j, s] == pytest.approx(-risen(y, i, s, float(t)), rel=1e-9, abs=1e-12)
            assert np.exp(rate[i, j, s]) == pytest.approx(rate_at(y, i, s, float(t)), rel=1e-12)
    own = np.linspace(0.1, 4.0, 35).reshape(7, 5)  # a time for each row and draw
    for i, s in ROWS_AND_DRAWS:
        assert y.logsf(own)[i, s] == pytest.approx(-risen(y, i, s, own[i, s]), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("begin", [(0.0, 0.0), (0.3, 0.8)])
def test_times_are_where_survival_has_fallen(begin: tuple[float, float]) -> None:
    y = hazards(begin=begin)
    for log_p in (-1e-3, -0.3, -5.0):
        np.testing.assert_allclose(y.logsf(y.survived(np.full((7, 5), log_p))), log_p, rtol=1e-10)
    start = np.full((7, 1), 0.7)
    left = y.logsf(start + y.remaining(0.4, start)) - y.logsf(start)
    np.testing.assert_allclose(left, np.log(0.4), rtol=1e-10)
    ended = replace(y, goes_on=False)
    never = ended.logsf(np.full((7, 1), 3.0)) > np.log(0.1)
    np.testing.assert_array_equal(np.isposinf(ended.ppf(0.9)), never)
    assert never.any()
    assert not never.all()


@pytest.mark.parametrize("least", [1.0, 1e-7])
def test_restricted_means_are_those_of_the_definition(least: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tobitgp.distributions.piecewise._BLOCK", 10)
    y = hazards(least)
    for t in (0.4, 1.2, 2.0, 5.0):
        found = y.restricted_mean(t)
        for i, s in ROWS_AND_DRAWS:
            right = quad(lambda u, i=i, s=s: np.exp(-risen(y, i, s, u)), 0.0, t, points=[c for c in CUTS[1:] if c < t])[
                0
            ]
            assert found[i, s] == pytest.approx(right, rel=1e-8)


@pytest.mark.parametrize("spread", [0.0, 0.5, 20.0])
def test_restricted_means_of_many_rows_are_interpolated(spread: float) -> None:
    """To the digits of the definition, and not at all where levels differ by a factor of e^80."""
    few = hazards()
    level = np.exp(spread * np.linspace(-2.0, 2.0, 60)[:, None] + few.level[:1])
    many = replace(few, level=level, group=np.zeros(60, dtype=np.intp))
    for t, after in ((0.4, 0.0), (2.0, 0.3)):
        alone = [many.take(np.array([i])).restricted_mean(t, after)[0] for i in range(60)]
        np.testing.assert_allclose(many.restricted_mean(t, after), alone, rtol=1e-9, atol=1e-9 * t)


@pytest.mark.parametrize("ends", [(0.0, 0.4), (0.2, 2.0), (0.6, 5.0), (1.0, np.inf)])
def test_means_between_ends_under_every_draw(ends: tuple[float, float]) -> None:
    y, (low, high) = hazards(begin=(0.3, 0.8)), ends
    found = y.conditional_mean(np.full((7, 1), low), np.full((7, 1), high))
    for i, s in ROWS_AND_DRAWS:
        last = min(high, 60.0)
        points = [c for c in (*CUTS[1:], *y.begin) if low < c < last]
        S = lambda u, i=i, s=s: float(np.exp(y.logsf(np.full((7, 1), u))[i, s]))  # noqa: E731
        end = S(high) if np.isfinite(high) else 0.0
        if S(low) == end:  # before the first entry there is nothing
            continue
        area = quad(S, low, last, points=points, limit=200)[0] - (last - low) * end
        assert found[i, s] == pytest.approx(low + area / (S(low) - end), rel=1e-6)


def test_a_new_response_has_hazards_weighted_by_survivors() -> None:
    y, times = hazards(), np.array([0.3, 1.0, 2.9])
    new = Averaged(y, np.full(5, 0.2)).beside()
    left, rate = np.exp(y.beside().logsf(times[None, :, None])), np.exp(y.beside().log_hazard(times[None, :, None]))
    np.testing.assert_allclose(np.exp(new.logsf(times[None])), left.mean(axis=2), rtol=1e-12)
    np.testing.assert_allclose(np.exp(new.log_hazard(times[None])), (left * rate).sum(2) / left.sum(2), rtol=1e-12)


@pytest.mark.parametrize(("spread", "after"), [(0.3, 0.0), (0.3, 0.35), (1.2, 0.0), (4.0, 0.35)])
def test_sums_over_rows_are_those_of_each_row(spread: float, after: float) -> None:
    """By a few levels where these are close together, and by all where they are not."""
    rng, few, times = np.random.default_rng(4), hazards(begin=(0.0, 0.3)), np.array([0.4, 1.2, 2.9])
    level = np.exp(spread * rng.normal(size=(300, 1)) + 0.1 * rng.normal(size=(300, 5)))
    many = replace(few, level=level, group=rng.integers(0, 2, 300))
    share, draws = rng.uniform(size=(2, 300)), np.full(5, 0.2)
    start = many.logsf(np.full((1, 1), after))
    alive = np.exp(many.beside().logsf(times[None, :, None]) - start.max(axis=1)[:, None, None]) @ draws
    dying = np.exp(many.beside().logpdf(times[None, :, None]) - start.max(axis=1)[:, None, None]) @ draws
    start = (np.exp(start - start.max(axis=1, keepdims=True)) @ draws)[:, None]
    found = summed_over_rows(many, draws, share, times, after)
    np.testing.assert_allclose(found[0], share @ (alive / start), rtol=1e-10)
    np.testing.assert_allclose(found[1], share @ (dying / start), rtol=1e-10)
