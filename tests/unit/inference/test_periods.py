"""Unknown periods: what the periodogram proposes, and what the search makes of it."""

import warnings

import numpy as np
import pytest

import tobitgp as tg
from tobitgp.data.arrays import KindRows
from tobitgp.inference.multistart import candidate_periods, expected

pytestmark = pytest.mark.diagonal


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


@pytest.mark.slow
@pytest.mark.parametrize("n", [364, 728, 1000])
def test_a_weekly_cycle_in_daily_rows(n):
    rng = np.random.default_rng(n)
    x = np.arange(n) * 1.0
    y = np.maximum(np.sin(2 * np.pi * x / 7) + 0.3 * rng.normal(size=n), -0.6)
    res = tg.fit("y ~ gp(x, kernel='periodic') | censor(-0.6)", {"x": x, "y": y}, method=tg.EP(hyper="maximize"))
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
    found = tg.fit(f"{formula} | censor(-0.7)", data, method=tg.EP(hyper="maximize"))
    (name,) = [name for name in found.params.index if name.startswith("period")]
    told = tg.fit(f"{formula} | censor(-0.7)", data, method=tg.EP(hyper="maximize"), start={name: 2.24})
    assert found.log_evidence > told.log_evidence - 0.05


def test_censored_rows_have_their_expected_values(rng):
    """Half of the rows are below a limit, which alone would put the power of a flat line there."""
    z = rng.normal(size=20_000)
    for sign in (-1.0, 1.0):
        censored = sign * z > 0.3
        rows = KindRows(
            "one-sided", *np.zeros((2, 1)), np.array([sign * 0.3]), np.array([sign]), *np.ones((2, 1)), None
        )
        assert expected(rows) == pytest.approx(z[censored].mean(), abs=0.03)


@pytest.mark.slow
@pytest.mark.parametrize(("period", "n"), [(12, 720), (7, 730)])
@pytest.mark.parametrize("hyper", ["integrate", "maximize"])
def test_standard_errors_over_many_cycles(period, n, hyper):
    """As for a sinusoid of amplitude 1: var(period) = period^4 24 sigma^2 / (4 pi^2 n^3)."""
    t, sigma = np.arange(n) * 1.0, 0.3
    y = np.sin(2 * np.pi * t / period) + sigma * np.random.default_rng(0).normal(size=n)
    res = tg.fit("y ~ gp(t, kernel='periodic')", {"t": t, "y": y}, method=tg.EP(hyper=hyper))
    known = period**2 / (2 * np.pi) * np.sqrt(24.0) * sigma / n**1.5
    times = round(res.params["period(gp(t))"] / period)
    assert res.bse["period(gp(t))"] / times == pytest.approx(known, rel=0.1)
    assert res.bse["sigma"] == pytest.approx(sigma / np.sqrt(2 * n), rel=0.1)
    assert 0.2 < res.bse["lengthscale(gp(t))"] / res.params["lengthscale(gp(t))"] < 0.6


@pytest.mark.slow
def test_forecasts_hundreds_of_cycles_ahead():
    """Bands 440 cycles after 60 that were seen hold the curve: they are as wide as the period is uncertain."""
    t, ahead, held = np.arange(720.0), np.arange(6000, 6036.0), []
    for seed in range(6):
        rng = np.random.default_rng(100 + seed)
        phase = rng.uniform(0, 2 * np.pi)
        y = np.sin(2 * np.pi * t / 12 + phase) + 0.3 * rng.normal(size=720)
        band = tg.fit("y ~ gp(t, kernel='periodic')", {"t": t, "y": y}).predict({"t": ahead}, "latent", interval=0.95)
        truth = np.sin(2 * np.pi * ahead / 12 + phase)
        held.append(np.mean((band["lower"] <= truth) & (truth <= band["upper"])))
    assert np.mean(held) > 0.85


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_no_octave_of_the_period_is_higher(seed):
    """Monthly rows of a rising series with a season of two harmonics: 300 of them cannot tell one year from two."""
    rng = np.random.default_rng(seed)
    t = np.arange(468) / 12
    season = 2.5 * np.sin(2 * np.pi * t) - 0.8 * np.sin(4 * np.pi * t + 0.6)
    trend = 1.3 * t + 0.01 * t**2 + np.cumsum(0.15 * rng.normal(size=468))
    data = {"t": t, "y": season + trend + 0.25 * rng.normal(size=468)}
    formula = "y ~ t + gp(t, name='trend') + gp(t, kernel='periodic', name='season')"
    found = tg.fit(formula, data, method=tg.EP(hyper="maximize"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tg.errors.ApproximationWarning)
        told = tg.fit(formula, data, method=tg.EP(hyper="maximize"), start={"period(season)": 1.0})
    assert found.log_evidence > told.log_evidence - 0.1
    assert found.params["period(season)"] == pytest.approx(1.0, abs=0.01)
