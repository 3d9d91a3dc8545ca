"""Tests of residuals: their level under the right law, what they find, beside scipy and stated moments."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtri
from scipy.stats import chisquare, kstest, norm

from tobitgp.results.trust.check_residuals import (
    LEAST_ROWS,
    TENTHS,
    Noise,
    pattern,
    residual_findings,
    spread,
    symmetry,
    tails,
    uniformity,
)

NOISE = Noise("gaussian noise", "Compare families.", "Try family='student'")
SETS = 2000


def normal(seed, n, sets=1):
    return np.random.default_rng(seed).standard_normal((sets, n))


@pytest.mark.parametrize("n", [20, 100])
def test_von_neumanns_ratio_has_the_moments_it_is_said_to_have(n):
    """Of normal residuals mean 0 and variance (n - 2) / (n^2 - 1), both exactly; skewness and kurtosis are those of a
    normal law in the limit only, so p is close to uniform where it matters."""
    found = [pattern(scores, np.arange(n), "x") for scores in normal(1, n, 4 * SETS)]
    value, p = (np.array([getattr(one, name) for one in found]) for name in ("value", "p"))
    variance = (n - 2) / (n * n - 1)
    assert abs(value.mean()) < 4.0 * np.sqrt(variance / len(found))
    assert abs(value.var() / variance - 1.0) < 4.0 * np.sqrt(2.0 / len(found))
    for level in (0.01, 0.05, 0.5):
        assert abs(np.mean(p < level) - level) < 4.0 * np.sqrt(level * (1.0 - level) / len(found)) + 0.003


@given(seed=st.integers(0, 999))
def test_only_the_order_of_the_column_matters(seed):
    rng = np.random.default_rng(seed)
    scores, x, at = rng.standard_normal(40), rng.normal(size=40), rng.permutation(40)
    found = pattern(scores, x, "x")
    assert pattern(scores[at], x[at], "x").value == pytest.approx(found.value, abs=1e-12)
    assert pattern(scores, np.exp(x), "x").value == found.value
    assert pattern(scores, -x, "x").value == pytest.approx(found.value, abs=1e-12)


def test_rows_of_equal_values_stand_in_no_order():
    """Residuals that are sorted within levels have a pattern in no column of these levels."""
    scores = np.sort(normal(2, 400)[0].reshape(4, 100), axis=1).ravel()
    assert pattern(scores, np.repeat([0.0, 1.0, 2.0, 3.0], 100), "level").verdict == "good"
    assert pattern(scores, np.arange(400.0), "row").verdict == "bad"


def test_a_curve_that_is_missed_is_named():
    x = np.linspace(0.0, 6.0, 200)
    found = pattern(normal(3, 200)[0] + np.sin(2.0 * x), x, "dose")
    assert (found.name, found.verdict) == ("pattern in dose", "bad")
    assert "gp(dose)" in found.words
    assert 0.1 < found.value < 1.0
    opposed = normal(3, 200)[0] + 2.0 * (-1.0) ** np.arange(200)
    assert pattern(opposed, x, "dose").value < -0.5
    assert pattern(opposed, x, "dose").verdict == "good"


def test_tenths_are_counted_by_pearsons_test():
    scores = normal(4, 330)[0] ** 2
    share = np.histogram(norm.cdf(scores), np.linspace(0.0, 1.0, 11))[0]
    found, want = uniformity(scores, NOISE), chisquare(share)
    assert found.value == pytest.approx(want.statistic)
    assert found.p == pytest.approx(want.pvalue)
    assert found.verdict == "bad"
    fullest = int(share.argmax()) + 1
    assert f"in the {TENTHS[fullest - 1]} tenth" in found.words
    assert found.words.endswith("Compare families.")


def test_the_last_score_of_all_is_in_the_last_tenth():
    even = ndtri((np.arange(100) + 0.5) / 100)
    assert uniformity(np.concatenate([even, [40.0]]), NOISE).value < 0.1 * 10


@pytest.mark.parametrize("test", [uniformity, symmetry, tails])
def test_levels_are_kept(test):
    found = [test(scores, NOISE) for scores in normal(5, 150, SETS)]
    share = np.mean([one.verdict != "good" for one in found])
    assert share < 0.01 + 4.0 * np.sqrt(0.01 / SETS)
    assert kstest([one.p for one in found], "uniform").statistic < 0.06


def test_sides_and_tails_are_told_apart():
    z = normal(6, 400)[0]
    right, left = (symmetry(side * np.expm1(0.5 * z), NOISE) for side in (1.0, -1.0))
    assert right.value == pytest.approx(-left.value)
    assert "skewed to the right" in right.words
    assert "skewed to the left" in left.words
    heavy, light = tails(np.sign(z) * np.abs(z) ** 1.7, NOISE), tails(np.tanh(z), NOISE)
    assert "heavier" in heavy.words
    assert "family='student'" in heavy.words
    assert "lighter" in light.words
    assert {right.verdict, left.verdict, heavy.verdict, light.verdict} == {"bad"}


def test_spread_follows_the_fit():
    z, fit = normal(7, 400)[0], np.linspace(1.0, 5.0, 400)
    assert spread(z, fit).verdict == "good"
    grows, shrinks = spread(z * fit, fit), spread(z / fit, fit)
    assert (grows.verdict, shrinks.verdict) == ("bad", "bad")
    assert "grows" in grows.words
    assert "shrinks" in shrinks.words
    assert "sigma='~ z'" in grows.words


def test_what_is_certain_but_small_is_good():
    z = normal(8, 200_000)[0]
    found = symmetry(z + 0.02 * z**2, NOISE)
    assert found.p < 0.001
    assert found.verdict == "good"


def test_columns_that_can_have_a_pattern_are_looked_at():
    n = 60
    columns = pd.DataFrame(
        {
            "x": np.arange(n),
            "level": np.arange(n) % 3,
            "sex": np.arange(n) % 2,
            "site": ["a", "b"] * 30,
            "one": np.ones(n),
        }
    )
    found = [one.name for one in residual_findings(normal(9, n)[0], np.arange(n), columns, NOISE)]
    assert found == ["calibration", "symmetry", "tails", "spread", "pattern in x", "pattern in level"]
    constant = [one.name for one in residual_findings(normal(9, n)[0], np.zeros(n), columns[[]], NOISE)]
    assert constant == ["calibration", "symmetry", "tails"]


def test_few_rows_are_not_tested():
    few = normal(10, LEAST_ROWS)[0]
    assert list(residual_findings(few[1:], few[1:], pd.DataFrame(), NOISE)) == []
    assert len(list(residual_findings(few, few, pd.DataFrame(), NOISE))) == 4


def test_a_row_far_out_hides_nothing():
    z = np.append(normal(11, 100)[0], 1e9)
    found = {one.name: one for one in residual_findings(z, np.arange(101), pd.DataFrame(), NOISE)}
    assert found["tails"].verdict == "bad"
    assert all(np.isfinite(one.value) for one in found.values())
