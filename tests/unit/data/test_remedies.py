"""What messages about remarks, flags and words of laboratories propose is done as it is written, and helps."""

import re

import numpy as np
import pandas as pd
import pytest

import tobitgp as tg
from tobitgp.errors import DataError, FormulaError


def refused(formula, df, **options):
    with pytest.raises((DataError, FormulaError)) as caught:
        tg.fit(formula, df, **options)
    return str(caught.value).splitlines()[0]


def follow(message, df):
    """The table after the code that a message ends with."""
    space = {"df": df.copy(), "pd": pd}
    exec(re.search(r"df(\[.*?\])? = (df|pd).*$", message.removesuffix("."))[0], space)
    return space["df"]


@pytest.mark.parametrize(
    ("code", "word", "counts"),
    [
        ("B", "found in the blank", [4, 1]),
        ("D", "diluted", [4, 1]),
        ("E", "estimated", [4, 1]),
        ("JB", "look it up", [4, 1]),
        ("UB", "look it up", [3, 2]),
        ("BU", "look it up", [3, 2]),
        ("NJ", "tentatively", [4, 1]),
        ("R", "rejected result, which is unusable; leave these rows out", [3, 1]),
        ("JR", "rejected", [3, 1]),
        ("mg/l", "If it is a unit, remove it", [4, 1]),
        ("µg/L", "If it is a unit, remove it", [4, 1]),
    ],
)
def test_letters_behind_a_number(code, word, counts):
    df = pd.DataFrame({"r": [f"0.5 {code}", "1.2", "0.9 J", "<0.5", "2.2"], "x": range(5)})
    before, message = df.copy(), refused("r ~ 1", df, family="lognormal")
    assert word in message
    assert tg.fit("r ~ 1", follow(message, df), family="lognormal").counts[["exact", "left"]].tolist() == counts
    assert df.equals(before)


@pytest.mark.parametrize("code", ["J+", "J-", "J", "j+"])
def test_estimated_values_are_values(code):
    df = {"r": [f"0.5 {code}", "1.2", "0.9", "<0.5"]}
    assert tg.fit("r ~ 1", df, family="lognormal").counts[["exact", "left"]].tolist() == [3, 1]


def test_text_that_is_all_numbers_is_made_numbers():
    df = pd.DataFrame({"y": ["1.5", "0.5", "2", "3"]})
    message = refused("y ~ 1 | censor(0.5)", df)
    assert tg.fit("y ~ 1 | censor(0.5)", follow(message, df)).counts["left"] == 1


@pytest.mark.parametrize("word", ["abc", "0.5.1", "see note"])
@pytest.mark.parametrize("others", [["1.2", "2"], ["1.2", "<1"], ["1.2", "ND"]])
def test_only_the_word_that_is_not_read_is_named(word, others):
    message = refused("y ~ 1 | censor(L)", pd.DataFrame({"y": [*others, word, "3"], "L": 1.0}))
    assert f"holds {word!r} in row 2" in message


FLAGS = [
    ("nondetect", ["<", "="], ["<"]),
    ("nondetect", [-1, 0], [-1]),
    ("nondetect", ["ND", "det"], ["ND"]),
    ("nondetect", ["zzz", "="], ["zzz"]),
    ("nondetect", ["U", "UJ", "J"], ["U", "UJ"]),
    ("nondetect", ["Y", "N"], ["Y"]),
    ("nondetect", ["yes", "no"], ["yes"]),
    ("nondetect", ["BDL", ""], ["BDL"]),
    ("event", ["dead", "alive"], ["dead"]),
    ("event", ["lost", "relapse"], ["relapse"]),
    ("event", [1, 2], [2]),
    ("event", [0, 2], [2]),
]


@pytest.mark.parametrize(("what", "levels", "marks"), FLAGS)
def test_flags_are_the_right_way_round(what, levels, marks):
    f = [levels[0], levels[1], levels[0], *3 * [levels[-1]]]
    df = pd.DataFrame({"y": [0.5, 1.2, 0.5, 2.0, 3.0, 1.0], "f": f})
    written = "y ~ 1 | censor(nondetect=f)" if what == "nondetect" else "Surv(y, f) ~ 1"
    message = refused(written, df, family="lognormal")
    part = message.removesuffix(".").partition("as in ")[2]
    formula = f"y ~ 1 | {part}" if what == "nondetect" else f"{part} ~ 1"
    counts = tg.fit(formula, df, family="lognormal").counts
    marked = int(np.isin(f, marks).sum())
    assert counts["left" if what == "nondetect" else "exact"] == marked


def test_flags_of_which_nothing_is_known_are_not_guessed():
    df = pd.DataFrame({"y": [0.5, 1.2, 0.5, 2.0], "f": ["p", "q", "p", "q"]})
    message = refused("y ~ 1 | censor(nondetect=f)", df, family="lognormal")
    assert message.endswith("censor(nondetect=f == 'p') or censor(nondetect=f == 'q').")


LAB = pd.DataFrame({"y": [0.5, 1.2, 0.5, 2, 3, 1], "q": ["U", None, "UJ", "J", None, "J"], "x": [1.0, 2, 3, 4, 5, 6]})


@pytest.mark.parametrize(
    ("written", "left"),
    [
        ("(q == 'U') | (q == 'UJ')", 2),
        ("(q == 'U') | (q == 'UJ') | (x > 5)", 3),
        ("q.isin(['U', 'UJ'])", 2),
        ("x.isin([1, 3.0])", 2),
        ("q in ('U', 'UJ')", 2),
    ],
)
def test_compound_flags_of_pandas_are_told_how_to_be_written(written, left):
    message = refused(f"y ~ 1 | censor(nondetect={written})", LAB, family="lognormal")
    formula = re.search(r"write (.*?)(, a comparison.*)?\.$", message)[1]
    res = tg.fit(f"y ~ 1 | censor(nondetect={formula})", LAB, family="lognormal")
    assert res.counts[["exact", "left"]].tolist() == [6 - left, left]


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ("q == 'U' | q == 'UJ'", "for either of two conditions"),
        ("(q == 'U') or (q == 'UJ')", r"maximum\("),
        ("(q == 'U') and (x > 1)", r"\(x > 1\) \* \(z < 2\)"),
        ("not q", "x != 1"),
        ("(q == 'U') & (x > 1)", r"\(x > 1\) \* \(z < 2\)"),
        ("q == 1", "cannot be compared with 1. Write '1' in quotes"),
    ],
)
def test_other_ways_of_python(written, words):
    assert re.search(words, refused(f"y ~ 1 | censor(nondetect={written})", LAB, family="lognormal"))


def test_a_blank_remark_is_no_mark_and_a_blank_status_is_missing():
    res = tg.fit("y ~ 1 | censor(nondetect=q == 'U')", LAB, family="lognormal")
    assert res.counts.tolist() == [5, 1, 0, 0, 0]
    none = LAB.assign(q=np.nan)
    assert tg.fit("y ~ 1 | censor(nondetect=q == 'U')", none, family="lognormal").counts["exact"] == 6
    with pytest.warns(UserWarning, match=r"2 of 6 rows are dropped: missing values in 'q' \(2\)"):
        assert tg.fit("Surv(y, q == 'J') ~ 1", LAB, family="lognormal").counts["dropped"] == 2
    flags = LAB.assign(nd=(LAB["q"] == "U").astype(float).where(LAB["q"].notna()))
    with pytest.warns(UserWarning, match=r"2 of 6 rows are dropped: missing values in 'nd' \(2\)"):
        tg.fit("y ~ 1 | censor(nondetect=nd)", flags, family="lognormal")


@pytest.mark.parametrize("truncated", ["Surv(en, t, e) ~ 1", "Surv(t, e) ~ 1 | truncate(en)"])
def test_right_censored_rows_that_end_before_their_entry_are_refused(truncated):
    df = pd.DataFrame({"en": [0.0, 1, 5, 2, 2], "t": [1.0, 3, 4, 5, 2], "e": [1, 1, 0, 1, 0]})
    message = refused(truncated, df, family="weibull")
    assert "t is not after en in rows 2, 4" in message
    assert tg.fit(truncated, df.drop([2, 4]), family="weibull").counts["exact"] == 3


def test_rows_without_a_weight_are_dropped():
    df = pd.DataFrame({"y": [1.0, 2, 4, 3, 6], "x": [1.0, 2, 3, 4, 5], "w": [1.0, 2, np.nan, 1, 1]})
    for options in ({"weights": "w"}, {"var_weights": "w"}):
        with pytest.warns(UserWarning, match="1 of 5 rows is dropped: missing values in .*weights 'w'"):
            res = tg.fit("y ~ x", df, **options)
        assert res.params.equals(tg.fit("y ~ x", df.drop(2), **options).params)


def test_a_difference_may_have_one_of_its_columns_among_the_terms():
    df = pd.DataFrame({"a": [1.0, 3, 2, 5], "b": [2.0, 4, 5, 7]})
    found = tg.fit("b - a ~ a", df).params
    assert found["a"] == pytest.approx(tg.fit("d ~ a", df.assign(d=df.b - df.a)).params["a"])
    with pytest.raises(FormulaError, match="'a' cannot also be a term"):
        tg.fit("log(a) ~ a", df)


def test_rows_of_several_responses_are_those_of_the_data():
    df = pd.DataFrame({"a": [1.0, 2, 3, 4], "b": [1.0, -2, 3, -4], "x": [1.0, 2, 4, 3]})
    assert "rows 1, 3 hold -2, -4" in refused("mvbind(a, b) ~ x", df, family="lognormal")
