import numpy as np
import pytest
from lifelines import KaplanMeierFitter

from tobitgp.errors import DataError
from tobitgp.metrics.metric_arguments import read_survival
from tobitgp.metrics.survival_curves import censoring_times


def distribution_of(time, event):
    return censoring_times(read_survival("train", (time, event)))


def test_without_equal_times_it_is_kaplan_meier_of_the_censorings(rng):
    time, event = rng.exponential(1.0, 200), rng.random(200) < 0.6
    distribution = distribution_of(time, event)
    theirs = KaplanMeierFitter().fit(time, ~event).survival_function_at_times(distribution.times)
    np.testing.assert_allclose(distribution.survival, theirs, atol=1e-12)


def test_a_censoring_at_the_time_of_an_event_comes_after_it():
    distribution = distribution_of([1.0, 1.0, 2.0], [True, False, True])
    assert distribution.survival.tolist() == [0.5, 0.5]
    assert distribution.weights(np.array([0.5, 1.0, 2.0]), "time").tolist() == [1.0, 2.0, 2.0]
    assert distribution.weights(np.array([0.5, 1.0, 2.0]), "time", event=True).tolist() == [1.0, 1.0, 2.0]


def test_what_is_beyond_the_rows_is_refused_in_words():
    distribution = distribution_of([1.0, 2.0, 3.0], [True, False, True])
    with pytest.raises(
        DataError, match=r"time 4 \(one of 2 such times\) cannot be .* only up to time 3\. Choose earlier"
    ):
        distribution.weights(np.array([1.0, 5.0, 4.0]), "time")
    last = distribution_of([1.0, 2.0, 3.0], [True, True, False])
    with pytest.raises(DataError, match=r"time 3 .* only up to time 2"):
        last.weights(np.array([3.0]), "time")
    first = distribution_of([1.0], [False])
    with pytest.raises(DataError, match="at none of its times"):
        first.weights(np.array([1.0]), "time")


def test_where_nobody_was_censored_all_weights_are_one():
    distribution = distribution_of([1.0, 2.0], [True, True])
    assert distribution.weights(np.array([0.0, 2.0, 9.0]), "time").tolist() == [1.0, 1.0, 1.0]
