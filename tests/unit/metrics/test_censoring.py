import numpy as np
import pytest
from lifelines import KaplanMeierFitter

from tobitgp.errors import DataError
from tobitgp.metrics.curves import censoring_times
from tobitgp.metrics.read import read_survival


def law_of(time, event):
    return censoring_times(read_survival("train", (time, event)))


def test_without_equal_times_it_is_kaplan_meier_of_the_censorings(rng):
    time, event = rng.exponential(1.0, 200), rng.random(200) < 0.6
    law = law_of(time, event)
    theirs = KaplanMeierFitter().fit(time, ~event).survival_function_at_times(law.times)
    np.testing.assert_allclose(law.survival, theirs, atol=1e-12)


def test_a_censoring_at_the_time_of_an_event_comes_after_it():
    law = law_of([1.0, 1.0, 2.0], [True, False, True])
    assert law.survival.tolist() == [0.5, 0.5]
    assert law.weights(np.array([0.5, 1.0, 2.0]), "time").tolist() == [1.0, 2.0, 2.0]
    assert law.weights(np.array([0.5, 1.0, 2.0]), "time", event=True).tolist() == [1.0, 1.0, 2.0]


def test_what_is_beyond_the_rows_is_refused_in_words():
    law = law_of([1.0, 2.0, 3.0], [True, False, True])
    with pytest.raises(DataError, match=r"time 4 \(one of 2 such times\) cannot be .* only up to time 3\. Ask for"):
        law.weights(np.array([1.0, 5.0, 4.0]), "time")
    last = law_of([1.0, 2.0, 3.0], [True, True, False])
    with pytest.raises(DataError, match=r"time 3 .* only up to time 2"):
        last.weights(np.array([3.0]), "time")
    first = law_of([1.0], [False])
    with pytest.raises(DataError, match="at none of its times"):
        first.weights(np.array([1.0]), "time")


def test_where_nobody_was_censored_all_weights_are_one():
    law = law_of([1.0, 2.0], [True, True])
    assert law.weights(np.array([0.0, 2.0, 9.0]), "time").tolist() == [1.0, 1.0, 1.0]
