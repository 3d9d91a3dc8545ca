"""Intervals by linear response under the default prior hold the truth as often as they say."""

import numpy as np
import pytest

from benchmarks.mixtures import families
from benchmarks.mixtures.coverage import CASES, Case, shares

pytestmark = pytest.mark.study

SETS = 400
SHORT = Case(2, 200, 0.75)


@pytest.mark.parametrize("case", [case for case in CASES if case != SHORT], ids=str)
def test_95_of_100_intervals_hold_the_truth(case):
    found, alone = shares(case, SETS)
    asked = found[case.k == 1 :]  # the weight of a single component is known
    assert (asked > 0.92).all(), found
    assert (asked < 0.98).all(), found
    assert (alone[1:] < 0.93).all(), alone


def test_where_they_fall_short():
    """Fifty rows of two hundred seen, all between the components: one normal distribution for all is far too wide."""
    weight, mean, sd = shares(SHORT, SETS)[0]
    assert 0.92 < weight < 0.98
    assert 0.92 < mean < 0.98
    assert 0.82 < sd < 0.92


def test_one_exponential_component_at_any_share_of_censored_rows():
    """Its interval is that of the exact posterior."""
    from tobitgp.mixture import fit_mixture, intervals, linear_response

    for censored in (0.5, 0.75):
        inside = []
        for seed in range(1000):
            life = np.random.default_rng(seed).exponential(2.0, 60)
            limit = -2.0 * np.log(censored)
            rows = np.minimum(life, limit), np.where(life > limit, np.inf, life)
            fit = fit_mixture(*rows, family="exponential", k=1)
            low, high = intervals(fit, linear_response(fit, *rows))[1]
            inside.append(low <= 0.5 <= high)
        assert 0.92 < np.mean(inside) < 0.98


@pytest.mark.parametrize("case", [case for case in families.CASES if "4,000" not in case])
def test_spreads_rates_and_shapes_of_separated_groups(case):
    """Over two groups and 200 sets; the standard error of a share is 0.011 and, of one group, 0.015."""
    last = families.hits(case, 200)[:, -2:]
    assert 0.92 < last.mean() < 0.98
    assert (last.mean(axis=0) > 0.9).all()
