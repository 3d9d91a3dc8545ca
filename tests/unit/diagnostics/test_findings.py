"""Verdicts, and how they print."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from tobitgp.diagnostics.residual_tests import BAD, DOUBTFUL, GOOD, Check, Finding, RawTest, holm, judge, plain


@given(p=st.floats(0.0, 1.0), large=st.booleans())
def test_a_verdict_is_bad_where_a_small_p_goes_with_a_large_effect(p, large):
    (found,) = judge([RawTest("name", 2.0, p, large, "fine", "odd", "Mend.")])
    assert (found.verdict == GOOD) == (p >= 0.02)
    assert (found.verdict == BAD) == (large and p < 0.001)


def test_a_p_that_is_missing_finds_nothing():
    assert judge([RawTest("name", 2.0, np.nan, True, "fine", "odd", "Mend.")])[0].verdict == GOOD


@pytest.mark.parametrize("size", range(1, 13))
def test_p_is_adjusted_as_statsmodels_does(size):
    p = np.random.default_rng(size).uniform(0.0, 0.2, size).round(2)
    np.testing.assert_allclose(holm(p), multipletests(p, method="holm")[1])


def test_tests_share_one_level_and_other_findings_stay():
    tests = [RawTest(name, 1.0, 0.004, True, "fine", "odd", "Mend.") for name in "abcdef"]
    other = plain("other", "words", good=False, otherwise=BAD)
    found = judge([tests[0], other, *tests[1:]])
    assert found[1] is other
    assert [one.verdict for one in found] == [GOOD, BAD, *[GOOD] * 5]
    assert judge(tests[:2])[0].words == "odd (p = 0.008, adjusted for 2 tests). Mend."
    assert judge([tests[0], other])[0].words == "odd (p = 0.004). Mend."


@pytest.mark.parametrize(
    ("good", "wrong", "verdict"), [(True, BAD, GOOD), (False, DOUBTFUL, DOUBTFUL), (False, BAD, BAD)]
)
def test_plain_findings(good, wrong, verdict):
    found = plain("name", "words", good=good, otherwise=wrong, value=2.0)
    assert found[:2] == ("name", 2.0)
    assert np.isnan(found.p)
    assert found[3:] == (verdict, "words")


@pytest.fixture
def check():
    long = "this needs a look for many reasons, " * 6
    return Check(
        (
            Finding("first", 1.0, 0.5, GOOD, "all is well"),
            Finding("second one", 2.0, 0.005, DOUBTFUL, long.strip()),
            Finding("third", np.nan, np.nan, BAD, "wrong"),
        )
    )


def test_bad_things_come_first_in_advice_and_order_is_kept_in_print(check):
    assert not check.ok
    assert check.advice == ["wrong", check.findings[1].words]
    head, *lines = repr(check).split("\n")
    assert head == "3 diagnostics, 2 to look at"
    assert lines[0] == "[ ok ] first       all is well"
    assert lines[1].startswith("[warn] second one  this needs")
    assert lines[2].startswith(" " * 19 + lines[2].strip()[0])
    assert lines[-1] == "[bad ] third       wrong"
    assert max(map(len, lines)) <= 100


def test_nothing_found_says_so(check):
    fine = Check(check.findings[:1])
    assert fine.ok
    assert fine.advice == []
    assert repr(fine).startswith("1 diagnostics, nothing found")


def test_the_table_holds_all(check):
    table = check.table
    assert table.index.tolist() == ["first", "second one", "third"]
    assert table.columns.tolist() == ["value", "p", "verdict", "words"]
    assert table.loc["second one", "p"] == 0.005
