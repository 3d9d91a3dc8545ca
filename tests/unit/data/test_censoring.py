"""Every way to write what is known of a row ends in the same ends, counts and refusals."""

import numpy as np
import pandas as pd
import pytest

from tobitgp.data.prepare import prepare
from tobitgp.errors import DataError, FormulaError, SpecError
from tobitgp.formula import parse_formula

INF, NAN = np.inf, np.nan
KINDS = ["left", "none", "right", "interval", "none"]
LOWER, UPPER = [-INF, 1.0, 3.0, 4.0, 2.5], [2.0, 1.0, INF, 6.0, 2.5]


def rows(**columns):
    return pd.DataFrame({"x": np.arange(5.0), **columns}, index=list("abcde"))


def ready(formula, data, **options):
    return prepare(parse_formula(formula, list(data)), data, **options)


Y = [2.0, 1.0, 3.0, 4.0, 2.5]
Y2 = [NAN, NAN, -INF, 6.0, NAN]
SPELLINGS = {
    "interval": ("interval(lo, hi) ~ x", rows(lo=LOWER, hi=UPPER)),
    "interval with missing ends": ("interval(lo, hi) ~ x", rows(lo=[NAN, *LOWER[1:]], hi=[2.0, 1.0, NAN, 6.0, 2.5])),
    "interval2": ("Surv(lo, hi, type='interval2') ~ x", rows(lo=LOWER, hi=UPPER)),
    "interval of expressions": ("interval(lo - 1, 2 * hi) ~ x", rows(lo=np.add(LOWER, 1), hi=np.divide(UPPER, 2))),
    "status in words": ("y ~ x | censor(status=s, upper=y2)", rows(y=Y, y2=Y2, s=KINDS)),
    "status as categories": ("y ~ x | censor(status=s, upper=y2)", rows(y=Y, y2=Y2, s=pd.Categorical(KINDS))),
    "status in numbers": ("y ~ x | censor(status=s, upper=y2)", rows(y=Y, y2=Y2, s=[-1, 0, 1, 2, 0])),
    "Surv interval": ("Surv(y, y2, s, type='interval') ~ x", rows(y=Y, y2=Y2, s=[2, 1, 0, 3, 1])),
}


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_spellings_of_every_kind_of_row(spelling):
    training = ready(*SPELLINGS[spelling])
    assert training.response.lower.tolist() == LOWER
    assert training.response.upper.tolist() == UPPER
    assert training.counts == {"exact": 2, "left": 1, "right": 1, "interval": 1, "dropped": 0}
    assert np.isnan(training.response.limit_lower).all()
    assert np.isnan(training.response.limit_upper).all()


LEFT = {
    "Surv left": ("Surv(y, d, type='left') ~ x", rows(y=[-1.0, 1.0, 2.0, 3.0, 4.0], d=[0, 0, 1, 1, 1])),
    "Surv left of an expression": (
        "Surv(y, g == 'seen', type='left') ~ x",
        rows(y=[-1.0, 1.0, 2.0, 3.0, 4.0], g=["nd", "nd", "seen", "seen", "seen"]),
    ),
    "nondetect": (
        "y ~ x | censor(nondetect=d)",
        rows(y=[-1.0, 1.0, 2.0, 3.0, 4.0], d=[True, True, False, False, False]),
    ),
    "text": ("y ~ x", rows(y=["<-1", " < 1.0 ", "2", "3.", "4e0"])),
    "string dtype": ("y ~ x", rows(y=pd.array(["<-1", "<1", "2", "3", "+4"], dtype="string"))),
    "categories": ("y ~ x", rows(y=pd.Categorical(["<-1", "<1", "2", "3", ".4e1"]))),
}


@pytest.mark.parametrize("spelling", LEFT)
def test_spellings_of_detection_limits(spelling):
    training = ready(*LEFT[spelling])
    assert training.response.upper.tolist() == [-1.0, 1.0, 2.0, 3.0, 4.0]
    assert np.isneginf(training.response.lower).tolist() == [True, True, False, False, False]
    assert training.counts["left"] == 2


def test_text_above_a_limit_is_right_censored_and_missing_text_dropped():
    with pytest.warns(UserWarning, match=r"1 of 5 rows is dropped: missing values in 'y'"):
        training = ready("y ~ x", rows(y=[">100", "<0.5", "7", None, "7"]))
    assert training.counts == {"exact": 2, "left": 1, "right": 1, "interval": 0, "dropped": 1}
    assert training.response.lower.tolist() == [100.0, -INF, 7.0, 7.0]


@pytest.mark.parametrize("status", ["'left'", "-1"])
def test_one_status_for_all_rows(status):
    training = ready(f"y ~ x | censor(status={status})", rows(y=Y))
    assert training.counts["left"] == 5


def test_a_status_without_interval_rows_needs_no_upper_end():
    training = ready("y ~ x | censor(status=s)", rows(y=Y, s=[True, False, True, False, False]))
    assert (training.counts["right"], training.counts["exact"]) == (2, 3)


@pytest.mark.parametrize("ends", [(NAN, NAN), (-INF, INF), (NAN, INF)])
def test_rows_with_both_ends_open_say_nothing_and_are_dropped(ends):
    data = rows(lo=[*LOWER[:4], ends[0]], hi=[*UPPER[:4], ends[1]])
    with pytest.warns(UserWarning, match=r"1 of 5 rows is dropped: .*both ends of interval\(lo, hi\) \(1\)"):
        training = ready("interval(lo, hi) ~ x", data)
    assert training.counts == {"exact": 1, "left": 1, "right": 1, "interval": 1, "dropped": 1}
    assert training.kept.tolist() == [True] * 4 + [False]
    with pytest.raises(DataError, match="first in row e"):
        ready("interval(lo, hi) ~ x", data, missing="raise")


def test_intervals_left_out_or_taken_at_their_middle():
    data = rows(lo=LOWER, hi=UPPER)
    assert ready("interval(lo, hi) ~ x", data, censored="drop").response.lower.tolist() == [1.0, 2.5]
    ignored = ready("interval(lo, hi) ~ x", data, censored="ignore")
    assert ignored.response.lower.tolist() == ignored.response.upper.tolist() == [2.0, 1.0, 3.0, 5.0, 2.5]
    assert ignored.counts["interval"] == 1


BAD = [
    ("interval(lo, hi) ~ x", rows(lo=[3.0] * 5, hi=[1.0] * 5), "above the upper end in rows a, b, c, d, e (3 and 1"),
    ("interval(lo, hi) ~ x", rows(lo=INF, hi=INF), "lower end lo is inf in rows a"),
    ("interval(lo, hi) ~ x", rows(lo=Y, hi=-INF), "Write inf for an open end"),
    ("interval(log(lo), hi) ~ x", rows(lo=-1.0, hi=1.0), "log(lo) is not a number in rows a"),
    ("interval(lo, hi) ~ x", rows(lo=["u"] * 5, hi=1.0), "'lo' must be numeric but holds text"),
    ("y ~ x | censor(status=s, upper=y2)", rows(y=Y, s=2, y2=[5.0] * 4 + [NAN]), "y2 is missing in row e, coded as"),
    ("y ~ x | censor(status=s, upper=y2)", rows(y=Y, s=2, y2=0.0), "above the upper end in rows a, b"),
    ("y ~ x | censor(status=s)", rows(y=Y, s=[0, 2, 0, 0, 0]), "censor(status=s, upper=y2)"),
    ("y ~ x | censor(status='interval')", rows(y=Y), "upper=y2)"),
    ("y ~ x | censor(status=s)", rows(y=Y, s=["censored"] * 5), "'left', 'none', 'right', 'interval'"),
    ("y ~ x | censor(status=s)", rows(y=Y, s=3), "-1 (left), 0 (exact), 1 (right), 2 (interval)"),
    ("Surv(y, y2, s, type='interval') ~ x", rows(y=Y, y2=9.0, s=-1), "0 (right), 1 (exact), 2 (left), 3 (interval)"),
    ("Surv(y, y2, s, type='interval') ~ x", rows(y=Y, y2=9.0, s=["left"] * 5), "the codes 0, 1, 2 and 3"),
    ("Surv(y, d, type='left') ~ x", rows(y=Y, d=[1, 2, 1, 2, 1]), "as in Surv(y, d == 2)"),
    ("y ~ x | censor(nondetect=d)", rows(y=Y, d=["U", "ok", "U", "U", "U"]), "as in censor(nondetect=d == 'U')"),
    ("y ~ x", rows(y=["1", "<", "2", "abc", ""]), "holds '<', 'abc', '' in rows b, d, e"),
    ("y ~ x", rows(y=["1,5", "2", "3", "4", "5"]), "'1,5'"),
    ("y ~ x", rows(y=["nan", "inf", "1_0", "٣", "5"]), "'nan', 'inf', '1_0', '٣'"),
]


@pytest.mark.parametrize(("formula", "data", "words"), BAD, ids=[words for *_, words in BAD])
def test_refused_with_the_rows(formula, data, words):
    before = data.copy(deep=True)
    with pytest.raises(DataError) as caught:
        ready(formula, data)
    assert words in str(caught.value)
    pd.testing.assert_frame_equal(data, before)


@pytest.mark.parametrize(
    "marked",
    [
        "y ~ x | ▲censor(0)",
        "y ~ x | ▲censor(event=d)",
        "▲Surv(y, d) ~ x",
        "  ▲interval(y, d) ~ x",
    ],
)
def test_limits_in_text_beside_another_censoring(marked):
    formula = marked.replace("▲", "")
    with pytest.raises(FormulaError, match="define the censoring") as caught:
        ready(formula, rows(y=["<0.5", "1", "2", "3", "4"], d=1))
    assert caught.value.position == marked.index("▲")


@pytest.mark.parametrize(
    ("formula", "entry", "leave"),
    [
        ("y ~ x | truncate(0)", 0.0, np.inf),
        ("Surv(s, y, d) ~ x", -2.0, np.inf),
        ("y ~ x | censor(0) | truncate(upper=9)", -np.inf, 9.0),
        ("y ~ x | truncate(2 * s, 9)", -4.0, 9.0),
    ],
)
def test_windows_of_truncation(formula, entry, leave):
    response = ready(formula, rows(y=Y, s=-2.0, d=1)).response
    assert (response.entry == entry).all()
    assert (response.exit == leave).all()


def test_a_missing_end_of_a_window_is_refused():
    with pytest.raises(DataError, match="entry s is missing in row"):
        ready("Surv(s, y, d) ~ x", rows(y=Y, s=[0.0, np.nan, 0.0, 0.0, 0.0], d=1))


@pytest.mark.parametrize(
    "formula", ["Surv(y, d) ~ x", "y ~ x | censor(event=d)", "y ~ x | censor(nondetect=d)", "y ~ x | censor(status=d)"]
)
def test_rows_without_a_code_are_left_out(formula):
    with pytest.warns(UserWarning, match=r"1 of 5 rows is dropped: missing values in 'd' \(1\)"):
        training = ready(formula, rows(y=Y, d=[NAN, 0, 1, 0, 1]))
    assert training.kept.tolist() == [False, True, True, True, True]


def test_text_is_recognised_in_words():
    data = rows(y=["<1", "2", "3", "4", ">5"])
    spec = ready("y ~ x", data).state.spec
    assert "<0.5 is left-censored there, >100 is right-censored there" in str(spec)
    assert "censoring  none" in str(parse_formula("y ~ x"))


@pytest.mark.parametrize("formula", ["interval(lo, hi) ~ x", "y ~ x | censor(nondetect=d)", "text ~ x"])
def test_limits_of_the_instrument_are_unknown(formula):
    data = rows(lo=LOWER, hi=UPPER, y=Y, d=[1, 0, 0, 1, 0], text=["<1", "2", "3", "4", ">5"])
    with pytest.raises(SpecError, match="The limits are unknown"):
        ready(formula, data).state.limits(data)


LARGEST = np.finfo(float).max
FAR = {
    "window": "y ~ x | truncate(-2, far)",
    "window below": "y ~ x | truncate(-far, 9)",
    "limit": "y ~ x | censor(1, far)",
    "limit below": "y ~ x | censor(-far, 4)",
    "interval": "interval(y, hi) ~ x",
    "interval below": "interval(-hi, -y) ~ x",
    "Surv": "Surv(y, hi, k, type='interval') ~ x",
}


@pytest.mark.parametrize("far", [1e155, 1e300, LARGEST])
@pytest.mark.parametrize("written", FAR)
def test_ends_beyond_what_can_be_computed_with_are_infinite(written, far):
    data = rows(y=Y, k=[3, 1, 3, 1, 3])
    here, infinite = (
        ready(FAR[written], data.assign(far=end, hi=[end, *Y[1:2], end, *Y[3:4], 9.0])) for end in (far, INF)
    )
    for name in ("lower", "upper", "limit_lower", "limit_upper", "entry", "exit"):
        np.testing.assert_array_equal(getattr(here.response, name), getattr(infinite.response, name))
    assert here.counts == infinite.counts


def test_rows_between_ends_that_are_both_too_far_say_nothing():
    data = rows(lo=[-LARGEST, *LOWER[1:]], hi=[LARGEST, *UPPER[1:]])
    with pytest.warns(UserWarning, match="dropped"):
        assert ready("interval(lo, hi) ~ x", data).counts["dropped"] == 1
