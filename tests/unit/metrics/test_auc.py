import numpy as np
import pandas as pd
import pytest

from tobitgp.errors import DataError
from tobitgp.metrics import cumulative_dynamic_auc

ROWS = [1.0, 2.0, 3.0, 4.0], [1, 1, 0, 1]


def test_without_censoring_it_is_the_share_of_pairs(rng):
    time, score = rng.exponential(1.0, 200), rng.integers(0, 9, 200).astype(float)
    rows = time, np.ones(200)
    for t, area in cumulative_dynamic_auc(rows, rows, score, [0.2, 0.7, 1.5]).auc.items():
        gap = score[time > t][None, :] - score[time <= t][:, None]
        assert abs(area - np.mean((gap > 0) + 0.5 * (gap == 0))) < 1e-12


def test_curves_are_scores_at_each_time(rng):
    frame = pd.DataFrame(-np.sort(-rng.random((2, 4)), axis=0), index=[1.5, 2.5])
    found = cumulative_dynamic_auc(ROWS, ROWS, frame)
    for t in frame.index:
        assert found.auc[t] == cumulative_dynamic_auc(ROWS, ROWS, frame.loc[t], [t]).mean


def test_order_of_scores_is_all_that_counts():
    a, b = (cumulative_dynamic_auc(ROWS, ROWS, s, [1.5, 2.5]) for s in ([1, 2, 3, 2], [10, 400, np.inf, 400]))
    assert a.auc.equals(b.auc)
    reverse = cumulative_dynamic_auc(ROWS, ROWS, [-1, -2, -3, -2], [1.5, 2.5])
    np.testing.assert_allclose(reverse.auc, 1.0 - a.auc)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"times": None}, "times= must be given with scores"),
        ({"times": [0.5, 2.0]}, "times= holds 0.5, but no test row had its event by then"),
        ({"times": [2.0, 1.0]}, "ascending order"),
        ({"times": [4.0]}, "times must be 0 or more, and below 4"),
        ({"survival_frame": [1, 2]}, "survival_frame has 2 rows, but must have 4"),
        ({"train": ([0.5], [0])}, "The event of a test row at time 1 .* cannot be weighted"),
    ],
)
def test_bad_input_is_named(given, message):
    arguments = {"train": ROWS, "test": ROWS, "survival_frame": [1, 2, 3, 4], "times": [1.5]} | given
    with pytest.raises(DataError, match=message):
        cumulative_dynamic_auc(**arguments)
