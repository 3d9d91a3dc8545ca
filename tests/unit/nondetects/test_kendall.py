"""Kendall's correlation beside NADA, scipy, its definition, and its size."""

from importlib import import_module
from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kendalltau, norm
from support.nondetects import cases, kendall_data, kendall_s, signs, simulate

import tobitgp as tg


@pytest.mark.parametrize("name", ["heron_kendall", "tce_kendall", "gales_kendall"])
def test_reference_numbers(name):
    case, res = cases()[name], tg.nondetects.kendall(*kendall_data(name), method="normal")
    assert res.samples.n.iloc[0] == case["n"]
    assert res.statistic == case["S_definition"]
    for tau in (case["tau_definition"], case["nada"]["tau"], case["nada2"]["tau"]):
        assert res.tau_a == pytest.approx(tau, rel=1e-12)
    for p in (case["nada"]["p"], case["nada2"]["p"]):
        assert res.pvalue_nada == pytest.approx(p, rel=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_both_variables_censored_by_the_definition(seed):
    y, x, c = simulate(30, seed, ties=seed % 2 == 1)
    x, d = np.maximum(x, 0.4), x < 0.4
    res = tg.nondetects.kendall(y, x, c, d, method="normal")
    ordered = [int(np.count_nonzero(np.triu(signs(*pair), 1))) for pair in ((y, c), (x, d))]
    assert res.statistic == kendall_s(y, c, x, d)
    assert res.n_ordered == tuple(ordered)
    assert res.tau_b == pytest.approx(res.statistic / np.sqrt(ordered[0] * ordered[1]))


def test_blocks_change_nothing(monkeypatch):
    y, x, c = simulate(50, 1, ties=True)
    whole = tg.nondetects.kendall(y, x, c, method="normal")
    monkeypatch.setattr(import_module("tobitgp.nondetects.kendall"), "_BLOCK", 7)
    assert tg.nondetects.kendall(y, x, c, method="normal").params.equals(whole.params)


@pytest.mark.parametrize("ties", [False, True])
def test_without_non_detects_it_is_scipys(ties):
    y, x, _ = simulate(40, 3, ties=ties, limits=(0.0,), trend=0.5)
    res, peer = tg.nondetects.kendall(y, x, method="normal"), kendalltau(y, x, method="asymptotic")
    assert res.tau_b == pytest.approx(peer.statistic, rel=1e-12)
    assert 2.0 * norm.sf(abs(res.statistic) / np.sqrt(res.variance)) == pytest.approx(peer.pvalue, rel=1e-10)
    assert res.pvalue_nada == pytest.approx(res.pvalue_normal, rel=1e-10)


def test_permutations_of_a_small_sample_are_near_all_orders():
    y, x, c = simulate(6, 5)
    a, b = signs(y, c), signs(x, np.zeros(6, dtype=bool))
    scores = np.array([0.5 * np.sum(a[np.ix_(p, p)] * b) for p in map(list, permutations(range(6)))])
    exact = np.mean(np.abs(scores) >= abs(kendall_s(y, c, x)))
    res = tg.nondetects.kendall(y, x, c, rng=1)
    assert res.pvalue == res.pvalue_permutation == pytest.approx(exact, abs=4.0 * res.pvalue_error)
    assert res.pvalue_error == pytest.approx(np.sqrt(exact * (1 - exact) / 9999), rel=0.1)


@pytest.mark.parametrize("seed", range(3))
def test_the_variance_is_that_of_all_permutations(seed):
    y, x, c = simulate(6, seed, ties=seed == 1)
    d = x < 0.3 if seed == 2 else np.zeros(6, dtype=bool)
    a, b = signs(y, c), signs(x, d)
    scores = np.array([0.5 * np.sum(a[np.ix_(p, p)] * b) for p in map(list, permutations(range(6)))])
    res = tg.nondetects.kendall(y, x, c, d, method="normal")
    assert res.variance == pytest.approx(np.var(scores), rel=1e-12)
    assert res.pvalue == res.pvalue_normal
    z = (abs(res.statistic) - 1.0) / np.sqrt(np.var(scores))
    assert res.pvalue == pytest.approx(2.0 * norm.sf(z) if res.statistic else 1.0, rel=1e-12)


def test_seeds_and_methods():
    y, x, c = simulate(25, 8)
    first, again, other = (tg.nondetects.kendall(y, x, c, n_permutations=199, rng=k).pvalue for k in (1, 1, 2))
    assert first == again != other
    assert tg.nondetects.kendall(y, x, c, n_permutations=199).method == "199 permutations"
    y, x, c = simulate(201, 8)
    assert np.isnan(tg.nondetects.kendall(y, x, c).pvalue_permutation)
    assert tg.nondetects.kendall(y, x, c, method="permutation", n_permutations=19).pvalue_permutation >= 1 / 20


def test_what_is_read_and_what_is_left_out():
    text = ["<1", "1.5", None, "2", "<3", "4", "5"]
    res = tg.nondetects.kendall(text, pd.date_range("2001-01-01", periods=7, freq="YS"), n_permutations=9)
    assert res.statistic == kendall_s(np.array([1, 1.5, 2, 3, 4, 5]), np.array([1, 0, 0, 1, 0, 0]) == 1, np.arange(6))
    assert res.notes[0] == "Left out: 1 of 7 rows without a value."
    assert list(res.samples.limits) == ["1, 3", "none"]
    shown = str(res.summary())
    assert "P-value, permutations" in shown
    assert "33.3%" in shown
    assert res.summary_frame().loc["tau-a", "estimate"] == res.tau_a
    assert "Every value is detected" not in shown
    assert "Every value is detected" in str(tg.nondetects.kendall([1, 3, 2, 4], [1, 2, 3, 4]))


def test_bad_input():
    y, x, c = simulate(10, 1)
    with pytest.raises(tg.errors.DataError, match="Lengths differ: 10 of y, 9 of x, 10 of y_censored"):
        tg.nondetects.kendall(y, x[:9], c)
    with pytest.raises(tg.errors.DataError, match="'x' has 3 distinct values; a rank correlation needs 4"):
        tg.nondetects.kendall(y, np.arange(10) % 3, c)
    with pytest.raises(tg.errors.DataError, match="'y' has no two values of which one is known to be larger"):
        tg.nondetects.kendall(x, x, np.ones(10))
    with pytest.raises(tg.errors.DataError, match="must be 0 or 1, but holds 1, 2"):
        tg.nondetects.kendall(y, x, c + 1)
    with pytest.raises(tg.errors.SpecError, match="method='exact': must be one of 'auto', 'permutation', 'normal'"):
        tg.nondetects.kendall(y, x, c, method="exact")
    for draws in (0, 9.5, True):
        with pytest.raises(tg.errors.SpecError, match=f"n_permutations={draws}: must be a whole number"):
            tg.nondetects.kendall(y, x, c, n_permutations=draws)
    with pytest.raises(tg.errors.SpecError, match="right-censored"):
        tg.nondetects.kendall([">9", *y[1:]], x)
    with pytest.raises(tg.errors.DataError, match="No row has a value"):
        tg.nondetects.kendall(y * np.nan, x)


@pytest.mark.slow
def test_size_without_association():
    """Share of 500 samples with 70% non-detects in which p falls below .05; standard error .01."""
    found = []
    for seed in range(500):
        y, x, c = simulate(40, seed, limits=(1.1, 1.7))
        res = tg.nondetects.kendall(y, x, c, n_permutations=199, rng=seed)
        found.append([res.pvalue_permutation <= 0.05, res.pvalue_normal < 0.05, res.pvalue_nada < 0.05, c.mean()])
    permuted, normal, nada, share = np.mean(found, axis=0)
    assert 0.6 < share < 0.75
    assert 0.025 < permuted < 0.075
    assert 0.025 < normal < 0.075
    assert nada < 0.02


def test_shapes_that_are_no_columns():
    for bad in ("abc", None, {"a": 1}, [[1, 2], [3, 4]]):
        with pytest.raises(tg.errors.DataError, match="y must have one value for each row"):
            tg.nondetects.kendall(bad, [1, 2, 3, 4])
    with pytest.raises(tg.errors.SpecError, match="takes 5000 rows: of 5001 use 'normal'"):
        tg.nondetects.kendall(np.arange(5001.0), np.arange(5001.0), method="permutation")


def test_dates_of_every_kind_are_years():
    days = pd.date_range("2001-01-01", periods=6, freq="YS")
    y = [1.0, 3.0, 2.0, 4.0, 6.0, 5.0]
    wanted = tg.nondetects.theil_sen(y, range(6)).slope
    for dates in (days, pd.Series(days.tz_localize("Europe/Berlin")), [day.date() for day in days]):
        assert tg.nondetects.theil_sen(y, dates).slope == pytest.approx(wanted, rel=0.01)
    for text in ("2001-02-03", "3.2.2001", "2/3/2001 14:00"):
        with pytest.raises(tg.errors.DataError, match=r"x holds dates as text, .*pd\.to_datetime"):
            tg.nondetects.kendall(y, [text] * 6)


def test_flags_that_are_missing_take_their_row_away():
    y, flags = [1.0, 3.0, 2.0, 4.0, 6.0, 5.0], [None, False, True, False, False, False]
    res = tg.nondetects.kendall(y, range(6), flags)
    assert res.samples.loc["y", ["n", "nondetects"]].tolist() == [5, 1]
    assert res.notes[0].startswith("Left out: 1 of 6 rows")
    with pytest.raises(tg.errors.DataError, match="1 flags are missing, and scores are of all rows"), pytest.warns():
        tg.nondetects.gehan_scores(y, flags)
