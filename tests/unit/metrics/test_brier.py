import numpy as np
import pandas as pd
import pytest
from scipy.stats import weibull_min

from tobitgp.errors import DataError, SpecError
from tobitgp.metrics import brier_score, integrated_brier_score

TRAIN = [1.0, 2.0, 3.0, 4.0], [1, 0, 1, 1]
TEST = [1.0, 2.5, 4.0], [1, 1, 0]
FRAME = pd.DataFrame([[0.9, 0.8, 0.7], [0.5, 0.4, 0.6]], index=[1.0, 3.0])


def test_without_censoring_it_is_the_mean_square(rng):
    time, times = rng.exponential(1.0, 300), np.array([0.2, 0.5, 1.5])
    frame = pd.DataFrame(-np.sort(-rng.random((3, 300)), axis=0), index=times)
    rows = time, np.ones(300)
    want = [np.mean(((time > t) - frame.loc[t]) ** 2) for t in times]
    np.testing.assert_allclose(brier_score(rows, rows, frame), want, rtol=1e-12)


def test_censoring_does_not_move_it(rng):
    distribution, n, times = weibull_min(1.5, scale=10.0), 40_000, np.array([3.0, 8.0, 12.0])
    y, limit = distribution.rvs(n, random_state=rng), rng.exponential(20.0, n)
    frame = pd.DataFrame(np.tile(distribution.sf(times)[:, None], n), index=times)
    rows = np.minimum(y, limit), y <= limit
    np.testing.assert_allclose(
        brier_score(rows, rows, frame), distribution.sf(times) * distribution.cdf(times), atol=0.006
    )


def test_integral_is_the_average_by_trapezia():
    scores = brier_score(TRAIN, TEST, FRAME, [1.0, 1.5, 3.0])
    want = (0.5 * (scores.iloc[0] + scores.iloc[1]) * 0.5 + 0.5 * (scores.iloc[1] + scores.iloc[2]) * 1.5) / 2.0
    assert abs(integrated_brier_score(TRAIN, TEST, FRAME, [1.0, 1.5, 3.0]) - want) < 1e-15


def test_one_time_before_the_first_event_and_steps_are_allowed():
    assert brier_score(TRAIN, TEST, FRAME, 0.5).index.tolist() == [0.5]
    steps = brier_score(TRAIN, TEST, FRAME, [2.9], interpolation="step")
    assert steps.iloc[0] == brier_score(TRAIN, TEST, FRAME.iloc[[0, 0]].set_axis([1.0, 2.9])).loc[2.9]


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"times": [1.0, 4.0]}, DataError, "times= holds 4: times must be 0 or more, and below 4"),
        ({"times": [-1.0]}, DataError, "times= holds -1: times must be 0 or more"),
        ({"times": [3.5]}, DataError, "Time 3.5 is outside the times 0 to 3"),
        ({"times": "late"}, DataError, "times holds 'late': values must be numbers"),
        ({"frame": FRAME[[0, 1]]}, DataError, "survival_frame= has 2 columns, but must have 3, one per row"),
        ({"frame": FRAME.iloc[[0, 1, 1]].set_axis([1.0, 2.0, 3.0])[[0, 1]]}, DataError, "Transpose it"),
        ({"train": [1.0, 2.0]}, SpecError, 'train= must be a pair of time and event, e.g. train=.df."time".'),
        ({"test": ([1.0, 2.0], [1, 2])}, DataError, "The event of test is neither 0 nor 1 in row 1"),
        ({"test": ([1.0, -2.0], [1, 1])}, DataError, "The time of test is negative in row 1"),
        ({"train": ([1.0, 2.0], [1, 0])}, DataError, "The event of a test row at time 2.5 .* only up to time 1"),
        ({"train": ([1.0, 3.0], [1, 0])}, DataError, "Time 3 .* only up to time 1"),
    ],
)
def test_bad_input_is_named(given, error, message):
    arguments = {"train": TRAIN, "test": TEST, "frame": FRAME} | given
    frame = arguments.pop("frame")
    with pytest.raises(error, match=message):
        brier_score(arguments.pop("train"), arguments.pop("test"), frame, **arguments)


def test_curves_in_another_order_than_the_rows_are_refused():
    time, event = pd.Series(TEST[0], index=[5, 6, 7]), pd.Series(TEST[1], index=[5, 6, 7])
    with pytest.raises(DataError, match=r"the columns of survival_frame hold .* different orders"):
        brier_score(TRAIN, (time, event), FRAME.set_axis([7, 6, 5], axis=1))
    brier_score(TRAIN, (time, event), FRAME.set_axis([5, 6, 7], axis=1))


@pytest.mark.parametrize("times", [[1.0], [2.0, 1.0], [1.0, 1.0]])
def test_an_integral_needs_ascending_times(times):
    with pytest.raises(DataError, match="at least two, in ascending order"):
        integrated_brier_score(TRAIN, TEST, FRAME, times)
