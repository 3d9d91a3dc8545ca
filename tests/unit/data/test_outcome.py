import numpy as np
import pytest
from support.responses import response

from tobitgp.data.outcome import outcome, warn_outlier
from tobitgp.errors import DataError

INF = np.inf


def test_rows_are_cut_by_their_window():
    rows = outcome(response([-INF, 1.0, 2.0], [3.0, INF, 2.0], entry=0.5, exit=9.0))
    np.testing.assert_array_equal(rows.lower, [0.5, 1.0, 2.0])
    np.testing.assert_array_equal(rows.upper, [3.0, 9.0, 2.0])
    np.testing.assert_array_equal(rows.width, [2.5, 8.0, 0.0])
    np.testing.assert_array_equal(rows.span, 8.5)
    np.testing.assert_array_equal(rows.exact, [False, False, True])


def test_log_time():
    rows = outcome(response([0.0, 1.0, 2.0], [3.0, INF, 2.0], weight=[1.0, 1.0, 3.0], entry=0.0), log_time=True)
    np.testing.assert_array_equal(rows.lower, [-INF, 0.0, np.log(2.0)])
    np.testing.assert_array_equal(rows.entry, -INF)
    assert rows.log_jacobian == pytest.approx(-3.0 * np.log(2.0))


def test_narrow_log_intervals_keep_their_width():
    rows = outcome(response([1e6], [1e6 + 2e-6]), log_time=True)
    assert rows.width[0] == pytest.approx(((1e6 + 2e-6) - 1e6) / 1e6, rel=1e-12)


@pytest.mark.parametrize(
    ("lower", "upper", "window", "words"),
    [
        ([1.0, 2.0], [1.0, 2.0], {"entry": [0.0, 3.0], "exit": [9.0, 3.0]}, r"Entry comes.*row 1 holds 3\."),
        ([1.0, -INF], [1.0, 2.0], {"entry": 2.0}, r"at or before its entry.*rows 0, 1 hold 1, 2\."),
        ([5.0], [INF], {"exit": 4.0}, r"beyond its exit: row 0 holds 5\."),
        ([2.0], [1.0], {}, r"above its upper end: row 0 holds 2\."),
        ([np.nan], [1.0], {}, "missing"),
        ([1.0], [1.0], {"weight": [-1.0]}, "Weights"),
        ([1.0] * 9, [1.0] * 9, {"entry": 2.0}, r"rows 0, 1, 2, 3, 4 and 4 more hold"),
    ],
)
def test_rows_that_cannot_be_are_named(lower, upper, window, words):
    with pytest.raises(DataError, match=words):
        outcome(response(lower, upper, **window))


def test_times_must_be_positive():
    with pytest.raises(DataError, match=r"positive response: row 1 holds 0\."):
        outcome(response([1.0, 0.0], [1.0, 0.0]), log_time=True)


def test_rows_go_by_their_labels():
    with pytest.raises(DataError, match=r"row b holds 0\."):
        outcome(response([1.0, 0.0], [1.0, 0.0]), log_time=True, labels=np.array(["a", "b"]))


def spread_about_one(**rows):
    """30 values near 1, and one row more."""
    y = 1.0 + 0.3 * np.sin(np.arange(30.0))
    return response(np.append(y, rows["lower"]), np.append(y, rows["upper"]))


@pytest.mark.parametrize(
    ("lower", "upper", "words"),
    [
        (-100.0, -100.0, r"Row 30 \(-100\)"),
        (-INF, -100.0, r"Row 30 \(below -100\)"),
        (100.0, INF, r"Row 30 \(above 100\)"),
    ],
)
def test_a_row_that_makes_up_the_spread_is_named(lower, upper, words):
    with pytest.warns(UserWarning, match=words):
        warn_outlier(spread_about_one(lower=lower, upper=upper), log_time=False, labels=np.arange(31))


@pytest.mark.parametrize(("lower", "upper"), [(-INF, 1e6), (-1e6, INF), (0.2, INF), (-INF, 0.9), (-1e6, 1e6)])
def test_a_limit_that_says_nothing_makes_up_nothing(lower, upper):
    warn_outlier(spread_about_one(lower=lower, upper=upper), log_time=False, labels=np.arange(31))


def test_many_rows_at_a_far_limit_are_no_mistake():
    y = 1.0 + 0.3 * np.sin(np.arange(30.0))
    rows = response(np.append(y, np.full(20, 1e3)), np.append(y, np.full(20, INF)))
    warn_outlier(rows, log_time=False, labels=np.arange(50))
