import numpy as np
import pandas as pd

from tobitgp.metrics.survival_curves import average, read_strata

Y = np.array([0.0, 0.5, 2.0])


def test_a_value_at_a_limit_is_outside():
    strata = read_strata((0.0, 2.0), Y)
    assert {name: rows.tolist() for name, rows in strata.items()} == {
        "below": [True, False, False],
        "inside": [False, True, False],
        "above": [False, False, True],
    }


def test_limits_of_each_row_are_taken():
    strata = read_strata((np.array([1.0, 0.0, -np.inf]), None), Y)
    assert strata["below"].tolist() == [True, False, False]


def test_own_censoring_needs_to_be_known():
    kinds = {"exact": np.array([True, True, True])}
    assert read_strata(True, Y, kinds) is kinds


def test_categories_and_numbers_are_labels():
    assert list(read_strata(pd.Series(["b", "a", "b"], dtype="category"), Y)) == ["a", "b"]
    assert list(read_strata(np.array([2, 1, 2]), Y)) == [1, 2]


def test_averages_are_of_a_stratum_or_of_all():
    strata = read_strata((0.0, 9.0), Y)
    assert average("loss", Y, None) == Y.mean()
    apart, parts = average("loss", Y + 1.0, strata), average("loss", Y + 1.0, strata, contributions=True)
    np.testing.assert_allclose(apart, [5.5 / 3.0, 1.0, 2.25, np.nan])
    np.testing.assert_allclose(parts, [5.5 / 3.0, 1.0 / 3.0, 1.5, 0.0])
