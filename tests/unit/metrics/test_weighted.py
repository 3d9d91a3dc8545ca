import numpy as np
import pytest

from tobitgp.errors import DataError, SpecError
from tobitgp.metrics import concordance_index, concordance_ipcw

ROWS = [1.0, 2.0, 3.0, 4.0], [1, 1, 0, 1]


def test_without_censoring_in_train_it_is_harrells(rng):
    time, event, score = rng.exponential(1.0, 200), rng.random(200) < 0.5, rng.normal(size=200)
    train = time, np.ones(200)
    assert abs(concordance_ipcw(train, (time, event), score) - concordance_index(time, score, event)) < 1e-12


def test_censoring_moves_it_less_than_harrells(rng):
    n, tau = 20_000, 2.0
    x = rng.normal(size=n)
    y, limit = np.exp(x) * rng.weibull(1.5, n), rng.exponential(0.5, n)
    time, event = np.minimum(y, limit), y <= limit
    whole = concordance_ipcw((y, np.ones(n)), (y, np.ones(n)), x, tau=tau)
    found = concordance_ipcw((time, event), (time, event), x, tau=tau)
    assert abs(found - whole) < 0.01 < abs(concordance_index(time, x, event) - whole)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"tau": -1.0}, SpecError, "tau=-1.0: must be a positive time"),
        ({"tau": "late"}, SpecError, "tau='late': must be a positive time"),
        ({"tau": 1.0}, DataError, "No order of a pair .* There must be an event before tau"),
        ({"test": ([1.0, 2.0, 3.0, 4.0], [0, 0, 0, 1])}, DataError, "No order of a pair is known among the 4 test"),
        ({"score": [1.0, 2.0]}, DataError, "score has 2 rows, but must have 4"),
        ({"train": ([0.5], [0])}, DataError, "The event of a test row at time 1 .* cannot be weighted"),
        ({"train": None}, SpecError, "train= must be a pair"),
        ({"test": (3.0, 1)}, SpecError, "test= must be a pair"),
    ],
)
def test_bad_input_is_named(given, error, message):
    arguments = {"train": ROWS, "test": ROWS, "score": [1.0, 2.0, 3.0, 4.0]} | given
    with pytest.raises(error, match=message):
        concordance_ipcw(**arguments)


def test_weights_are_asked_for_where_they_are_needed_only():
    beyond = [1.0, 2.0, 3.0, 9.0], [1, 1, 1, 1]
    train = [1.0, 2.0, 3.0], [1, 0, 1]
    assert 0.0 <= concordance_ipcw(train, beyond, [1.0, 2.0, 3.0, 4.0]) <= 1.0
