import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from lifelines.utils import concordance_index as lifelines_index
from support.reference import load
from support.survival import bounds, pairs, right_censored

import tobitgp as tg
from tobitgp.errors import DataError, SpecError
from tobitgp.metrics import concordance_counts, concordance_index

SEEDS = st.integers(0, 2**32 - 1)
SIZES = st.integers(2, 40)


def draw(seed, n):
    """Ends of rows of which at least one pair is ordered, and scores with many equal values."""
    rng = np.random.default_rng(seed)
    lower, upper = bounds(rng, n)
    score = rng.integers(0, 6, n).astype(float)
    assume(pairs(lower, upper, score)[:3].sum() > 0)
    return rng, lower, upper, score


@given(seed=SEEDS, n=SIZES)
def test_right_censored_rows_as_lifelines_and_scikit_survival(seed, n):
    sksurv = pytest.importorskip("sksurv.metrics")
    rng = np.random.default_rng(seed)
    (time, event), score = right_censored(rng, n), rng.integers(0, 6, n).astype(float)
    assume(pairs(time, np.where(event, time, np.inf), score)[:3].sum() > 0)
    found = concordance_counts(time, score, event)
    assert abs(found.c_index - lifelines_index(time, score, event)) < 1e-12
    np.testing.assert_allclose(found[:4], sksurv.concordance_index_censored(event, time, -score)[:4], rtol=1e-12)


def test_continuous_times_as_lifelines(rng):
    n = 2000
    y, limit, score = rng.exponential(1.0, n), rng.exponential(1.5, n), rng.normal(size=n)
    time, event = np.minimum(y, limit), y <= limit
    assert abs(concordance_index(time, score - y, event) - lifelines_index(time, score - y, event)) < 1e-12


@pytest.mark.parametrize("part", [None, "tied_risk_variant"])
def test_lung_as_scikit_survival(part):
    whole = load("lung_survival_metrics.json")
    case = whole if part is None else whole[part]
    risk = whole["predictions"]["risk"] if part is None else case["risk"]
    found = concordance_counts(whole["test"]["time"], -np.array(risk), whole["test"]["event"])
    want = case["metrics"]["harrell_c"]
    names = ("cindex", "concordant", "discordant", "tied_risk")
    np.testing.assert_allclose(found[:4], [want[name] for name in names], rtol=1e-12)


@given(seed=SEEDS, n=SIZES)
def test_all_kinds_of_rows_by_definition(seed, n):
    _, lower, upper, score = draw(seed, n)
    right, wrong, tied, together = pairs(lower, upper, score)
    want = (right + 0.5 * tied) / (right + wrong + tied), right, wrong, tied, together
    np.testing.assert_allclose(concordance_counts(None, score, lower=lower, upper=upper), want, rtol=1e-12)


@given(seed=SEEDS, n=SIZES)
def test_distributions(seed, n):
    rng, lower, upper, score = draw(seed, n)
    c = concordance_index(None, score, lower=lower, upper=upper)
    assert concordance_index(None, np.exp(score) - 7.0, lower=lower, upper=upper) == c
    assert concordance_index(None, score, lower=np.exp(lower), upper=np.exp(upper)) == c
    assert abs(concordance_index(None, -score, lower=lower, upper=upper) - (1.0 - c)) < 1e-12
    assert abs(concordance_index(None, -score, lower=-upper, upper=-lower) - c) < 1e-12
    order = rng.permutation(n)
    assert concordance_index(None, score[order], lower=lower[order], upper=upper[order]) == c
    weight = rng.integers(0, 4, n)
    rows = np.repeat(np.arange(n), weight)
    assume(pairs(lower[rows], upper[rows], score[rows])[:3].sum() > 0)
    weighted = concordance_counts(None, score, lower=lower, upper=upper, weights=weight)
    assert weighted == concordance_counts(None, score[rows], lower=lower[rows], upper=upper[rows])


@given(seed=SEEDS, n=SIZES)
def test_limits_say_which_rows_are_censored(seed, n):
    rng = np.random.default_rng(seed)
    y, score = rng.integers(0, 9, n).astype(float), rng.integers(0, 6, n).astype(float)
    low, high = np.where(y <= 2.0, -np.inf, np.where(y >= 7.0, 7.0, y)), np.where(y >= 7.0, np.inf, np.maximum(y, 2.0))
    high = np.where(y <= 2.0, 2.0, high)
    assume(pairs(low, high, score)[:3].sum() > 0)
    want = concordance_counts(None, score, lower=low, upper=high)
    assert concordance_counts(y, score, lower=2.0, upper=7.0) == want
    assert concordance_counts(y, score, lower=np.full(n, 2), upper=[7] * n) == want


def test_groot_and_lucas_order_all_but_pairs_at_one_limit():
    y = np.array([0.0, 0.0, 0.4, 0.7, 1.0, 1.0])
    found = concordance_counts(y, np.arange(6.0), lower=0.0, upper=1.0)
    assert found == (1.0, 13.0, 0.0, 0.0, 0.0)


def test_a_forecast_of_the_order_is_perfect_and_noise_is_not(rng):
    y = rng.normal(size=3000)
    limits = {"lower": -0.5, "upper": 1.0}
    assert concordance_index(y, y, **limits) == 1.0
    assert abs(concordance_index(y, rng.normal(size=3000), **limits) - 0.5) < 0.02
    assert concordance_index(y, np.zeros(3000), **limits) == 0.5
    assert concordance_index(y, np.where(y > 0.0, np.inf, -np.inf), **limits) > 0.7


def test_all_that_holds_numbers_is_taken():
    want = concordance_counts([1, 2, 3], [2, 1, 3], [1, 1, 0])
    time = pd.Series([1, 2, 3], index=list("abc"), dtype="Int64")
    score, event = pd.Series([2.0, 1.0, 3.0], index=list("abc")), pd.Series([True, True, False], dtype="boolean")
    assert concordance_counts(time, score.to_frame(), event.set_axis(list("abc"))) == want
    assert concordance_counts(time, np.array([[2], [1], [3]]), np.array([True, True, False], dtype=object)) == want
    assert want == concordance_counts((1, 2, 3), (2, 1, 3), (1.0, 1.0, 0.0))


def test_input_is_not_changed():
    time, score, event = np.array([3.0, 1.0, 2.0]), np.array([1.0, 2.0, 3.0]), np.array([1, 0, 1])
    before = time.copy(), score.copy(), event.copy()
    concordance_index(time, score, event)
    assert all(map(np.array_equal, before, (time, score, event)))


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"score": [1, 2]}, DataError, "time has 3 rows, but must have 2"),
        ({"score": [1, np.nan, 2]}, DataError, r"score is missing in row 1 \(of 3, counted from 0\)"),
        ({"score": ["a", "b", "c"]}, DataError, "score holds 'a': values must be numbers"),
        ({"score": [True, False, True]}, DataError, "score holds .*True.*: values must be numbers"),
        ({"score": np.ones((3, 2))}, DataError, r"score has shape \(3, 2\): must have one number per row"),
        ({"score": [[1, 2], [3], [4]]}, DataError, "score: must have one number per row"),
        ({"score": 3.0}, DataError, r"score has shape \(\)"),
        ({"score": []}, DataError, "score is empty"),
        ({"score": pd.to_timedelta([1, 2, 3], unit="D")}, DataError, "score holds Timedelta.*values must be numbers"),
        ({"score": [1j, 2, 3]}, DataError, "values must be numbers"),
        ({"time": [1, np.inf, 2]}, DataError, "time is infinite in row 1"),
        ({"event": [0, 2, 2]}, DataError, "event is neither 0 nor 1 in row 1 and 1 more .*: 1 or True means"),
        ({"event": ["yes", "no", "no"]}, DataError, "event holds 'yes': values must be numbers"),
        ({"event": [1, None, 0]}, DataError, "event is missing in row 1"),
        ({"event": [0, 0, 0]}, DataError, "No order of a pair is known among 3 rows: all are right-censored"),
        ({"lower": 5.0}, DataError, "No order .*: all are left-censored"),
        ({"time": [2, 2, 2]}, DataError, "No order .*: their intervals overlap, or their times are equal"),
        ({"event": [1, 1, 1], "lower": 0.0}, SpecError, "event= cannot be combined with lower= or upper="),
        ({"time": None}, SpecError, "time=None requires the ends of the intervals"),
        ({"time": None, "event": [1, 1, 1]}, SpecError, "time=None requires the ends of the intervals"),
        ({"lower": [1, 2, 3], "upper": [1, 2, 3]}, DataError, "limit lower is not below upper in row 0 and 2 more"),
        ({"time": None, "lower": [1, 2, 4], "upper": [2, 3, 3]}, DataError, "enclose nothing in row 2"),
        ({"time": None, "lower": [1, 2, np.inf]}, DataError, "enclose nothing in row 2"),
        ({"time": None, "lower": [1, 2, None]}, DataError, "lower is missing in row 2 .*an open end must be -inf"),
        ({"weights": [1, -1, 1]}, DataError, "weights: -1 is below 0"),
        ({"weights": [0, 1, 0]}, DataError, "No order of a pair is known"),
    ],
)
def test_bad_input_is_named(given, error, message):
    arguments = {"time": [1, 2, 3], "score": [1, 2, 3]} | given
    with pytest.raises(error, match=message):
        concordance_index(**arguments)


def test_one_row_has_no_pair():
    with pytest.raises(DataError, match="there must be at least two"):
        concordance_index([1.0], [1.0])


def test_series_in_different_orders_are_refused():
    time = pd.Series([1.0, 2.0, 3.0], index=[7, 8, 9])
    with pytest.raises(DataError, match="time and score hold the same row labels in different orders"):
        concordance_index(time, time.iloc[::-1])
    assert concordance_index(time, time.reset_index(drop=True)) == 1.0


def test_all_rows_of_a_fit_are_scored():
    tobin = tg.datasets.load("tobin")
    res = tg.fit("durable ~ age + quant | censor(0)", tobin)
    assert 0.5 < tg.metrics.concordance_index(tobin["durable"], res.predict(what="latent"), lower=0.0) < 1.0


@given(seed=SEEDS, n=SIZES)
def test_ties_that_count_nothing_by_definition(seed, n):
    """Equation 17 of Groot and Lucas, pair by pair."""
    _, lower, upper, score = draw(seed, n)
    right, wrong, tied, _ = pairs(lower, upper, score)
    found = concordance_index(None, score, lower=lower, upper=upper, ties="zero")
    assert abs(found - right / (right + wrong + tied)) < 1e-12
    half = concordance_index(None, score, lower=lower, upper=upper, ties="half")
    assert half == concordance_index(None, score, lower=lower, upper=upper)


def test_ties_of_weighted_pairs_by_definition(rng):
    """Without censoring the weights are 1, and each pair of times counts once."""
    time, score = rng.permutation(12) + 1.0, rng.integers(0, 4, 12).astype(float)
    ordered = [(score[i], score[j]) for i in range(12) for j in range(12) if time[i] < time[j]]
    rows, want = (time, np.ones(12)), np.mean([a < b for a, b in ordered])
    assert abs(tg.metrics.concordance_ipcw(rows, rows, score, ties="zero") - want) < 1e-12


@pytest.mark.parametrize("index", [concordance_index, concordance_counts])
def test_unknown_words_for_ties(index):
    with pytest.raises(SpecError, match="ties='one': must be one of 'half', 'zero'"):
        index([1, 2], [1, 2], [1, 1], ties="one")
