"""Tests of residuals: their level under the right distribution, what they find, beside scipy and stated moments."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kstest
from statsmodels.stats.diagnostic import het_breuschpagan

from tobitgp.diagnostics import residual_tests as tests
from tobitgp.diagnostics.residual_tests import BAD, DOUBTFUL, GOOD, Noise, judge, residual_tests

NOISE = Noise("gaussian noise", "Compare families.", "Try family='student'")
SETS = 2000


def rows(scores, fit=None):
    """Different rows of weight 1."""
    n = len(scores)
    return tests.ScoredResiduals(scores, np.ones(n), np.arange(n), np.zeros(n) if fit is None else fit)


def alone(test):
    """A test as a finding of its own."""

    def found(scores, *given):
        return judge([test(rows(scores), *given)])[0]

    return found


pattern, spread, symmetry, tails = map(alone, (tests.pattern, tests.spread, tests.symmetry, tests.tails))


def normal(seed, n, sets=1):
    return np.random.default_rng(seed).standard_normal((sets, n))


@pytest.mark.slow
@pytest.mark.parametrize("n", [20, 100])
def test_von_neumanns_ratio_has_the_moments_it_is_said_to_have(n):
    """Of normal residuals mean 0 and variance (n - 2) / (n^2 - 1), both exactly; skewness and kurtosis are those of a
    normal distribution in the limit only, so p is close to uniform where it matters."""
    found = [pattern(scores, np.arange(n), "x") for scores in normal(1, n, 4 * SETS)]
    value, p = (np.array([getattr(one, name) for one in found]) for name in ("value", "p"))
    variance = (n - 2) / (n * n - 1)
    assert abs(value.mean()) < 4.0 * np.sqrt(variance / len(found))
    assert abs(value.var() / variance - 1.0) < 4.0 * np.sqrt(2.0 / len(found))
    for level in (0.01, 0.05, 0.5):
        assert abs(np.mean(p < level) - level) < 4.0 * np.sqrt(level * (1.0 - level) / len(found)) + 0.003


@pytest.mark.slow
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
    assert 0.1 < found.value < 1.0
    opposed = normal(3, 200)[0] + 2.0 * (-1.0) ** np.arange(200)
    assert pattern(opposed, x, "dose").value < -0.5
    assert pattern(opposed, x, "dose").verdict == "good"


@pytest.mark.slow
@pytest.mark.parametrize("test", [symmetry, tails, lambda scores, _: spread(scores, np.arange(len(scores)), "x")])
def test_levels_are_kept(test):
    found = [test(scores, NOISE) for scores in normal(5, 150, SETS)]
    share = np.mean([one.verdict != GOOD for one in found])
    assert share < 0.02 + 4.0 * np.sqrt(0.02 / SETS)
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


def test_spread_follows_the_fit_or_a_column():
    z, fit = normal(7, 400)[0], np.linspace(1.0, 5.0, 400)
    assert spread(z, fit).verdict == GOOD
    grows, shrinks, bent = spread(z * fit, fit), spread(z / fit, fit, "dose"), spread(z * np.abs(fit - 3.0), fit)
    assert (grows.verdict, shrinks.verdict, bent.verdict) == (BAD, BAD, BAD)
    assert (grows.name, shrinks.name) == ("spread", "spread in dose")
    assert "grows along the fit" in grows.words
    assert "shrinks along dose, correlation -0." in shrinks.words
    assert "changes along the fit" in bent.words
    assert "p < 0.001" in grows.words


def test_spread_is_koenkers_test():
    """n R^2 of statsmodels, on the sizes of the residuals in place of their squares; two groups have one degree."""
    z, x = normal(12, 150)[0], np.random.default_rng(12).permutation(150)
    parabola = np.column_stack([np.ones(150), x, x**2])
    groups = np.column_stack([np.ones(150), x % 2])
    for column, design in ((x, parabola), (x % 2, groups)):
        found = spread(z, column)
        assert (found.value, found.p) == pytest.approx(het_breuschpagan(np.sqrt(np.abs(z)), design)[:2])


def test_what_is_certain_but_small_is_not_bad():
    z = normal(8, 200_000)[0]
    found = symmetry(z + 0.02 * z**2, NOISE)
    assert found.p < 0.001
    assert found.verdict == DOUBTFUL
    assert "small" in found.words


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
    found = [one.name for one in residual_tests(rows(normal(9, n)[0], np.arange(n)), columns, NOISE)]
    along = ["spread in x", "pattern in x", "spread in level", "pattern in level", "spread in sex"]
    assert found == ["symmetry", "tails", "spread", *along]
    constant = [one.name for one in residual_tests(rows(normal(9, n)[0]), columns[[]], NOISE)]
    assert constant == ["symmetry", "tails"]


def test_a_row_far_out_hides_nothing():
    z = np.append(normal(11, 100)[0], 1e9)
    found = {one.name: one for one in judge(residual_tests(rows(z, np.arange(101)), pd.DataFrame(), NOISE))}
    assert found["tails"].verdict == BAD
    assert all(np.isfinite(one.value) for one in found.values())


def test_residuals_of_one_size_do_not_spread():
    """Residuals far beyond all that can be computed are cut at one size."""
    found = tests.spread(rows(np.array([-8.2, 8.2] * 10)), np.arange(20.0))
    assert found.p == pytest.approx(1.0)
