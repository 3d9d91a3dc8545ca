"""Unknown periods: what the periodogram proposes, and what the search makes of it."""

import numpy as np
import pytest

import tobitgp as tg
from tobitgp.inference.multistart import candidate_periods


@pytest.mark.parametrize("period", [2.3, 7.0, 31.0, 180.0])
@pytest.mark.parametrize("spacing", ["regular", "random"])
def test_the_strongest_candidate_is_the_period(period, spacing, rng):
    n = 600
    x = np.arange(n) * 1.0 if spacing == "regular" else rng.uniform(0, n, n)
    y = np.sin(2 * np.pi * x / period + 1.0) + 0.003 * x + 0.5 * rng.normal(size=n)
    found = candidate_periods(x, y, np.ones(n))
    # Within half a cycle over the range of x, which is what the search can mend.
    assert abs(n / found[0] - n / period) < 0.5


def test_harmonics_come_with_their_ground(rng):
    """Two thirds of the power lie in the second harmonic."""
    x = np.arange(500) * 1.0
    y = 0.7 * np.sin(2 * np.pi * x / 12) + np.sin(2 * np.pi * x / 6)
    found = candidate_periods(x, y, np.ones(500))
    assert np.abs(500 / found - 500 / 12).min() < 0.5


def test_units_and_weights_do_not_matter(rng):
    x, y = rng.uniform(0, 50, 300), rng.normal(size=300)
    here = candidate_periods(x, y, np.ones(300))
    np.testing.assert_allclose(candidate_periods(1e3 * x - 4e4, 7 * y + 1, np.full(300, 2.0)), 1e3 * here, rtol=1e-9)


@pytest.mark.parametrize("x", [np.zeros(5), np.array([0.0, 1.0, 1.0, 0.0, 1.0])])
def test_few_distinct_inputs(x):
    found = candidate_periods(x, np.arange(5.0), np.ones(5))
    assert (found > 0).all()
    assert np.isfinite(found).all()


@pytest.mark.parametrize("n", [364, 728, 1000])
def test_a_weekly_cycle_in_daily_rows(n):
    rng = np.random.default_rng(n)
    x = np.arange(n) * 1.0
    y = np.maximum(np.sin(2 * np.pi * x / 7) + 0.3 * rng.normal(size=n), -0.6)
    res = tg.fit("y ~ gp(x, kernel='periodic') | censor(-0.6)", {"x": x, "y": y}, hyper="maximize")
    assert res.params["period(gp(x))"] == pytest.approx(7.0, abs=0.01)
    assert res.params["sigma"] == pytest.approx(0.3, abs=0.05)


@pytest.mark.slow
@pytest.mark.parametrize(
    "formula", ["y ~ gp(x) + gp(x, kernel='periodic', name='season')", "y ~ gp(x, kernel='periodic'):gp(x)"]
)
def test_a_season_beside_a_trend_or_fading(formula):
    """Ends no worse than a search started at the truth."""
    rng = np.random.default_rng(3)
    x = np.sort(rng.uniform(0, 10, 150))
    fading = ":" in formula
    y = np.sin(2 * np.pi * x / 2.24) * (np.exp(-0.1 * x) if fading else 1.0) + (0.0 if fading else 0.02 * (x - 5) ** 2)
    data = {"x": x, "y": np.maximum(y + 0.3 * rng.normal(size=150), -0.7)}
    found = tg.fit(f"{formula} | censor(-0.7)", data, hyper="maximize")
    (name,) = [name for name in found.params.index if name.startswith("period")]
    told = tg.fit(f"{formula} | censor(-0.7)", data, hyper="maximize", start={name: 2.24})
    assert found.log_evidence > told.log_evidence - 0.05
