"""Paired tests beside survival, NADA2, their definition, and their size."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom, binomtest, norm, rankdata, wilcoxon
from support.nondetects import cases, compare, frame

import tobitgp as tg

METHODS = ["signed_rank", "sign", "mle"]


def atrazine(method, **options):
    data = frame("atrazine")
    return tg.nondetects.test_paired(
        data.june, data.sept, data.june_censored, data.sept_censored, method=method, **options
    )


def pairs(n=40, seed=0, shift=0.0):
    rng = np.random.default_rng(seed)
    base = rng.standard_normal(n)
    x, y = (np.exp(base + move + 0.5 * rng.standard_normal(n)) for move in (shift, 0.0))
    limits = [rng.choice([0.5, 0.9], n) for _ in range(2)]
    return np.maximum(x, limits[0]), np.maximum(y, limits[1]), x < limits[0], y < limits[1]


def test_reference_numbers_of_the_likelihood():
    case, res = cases()["atrazine_paired"], atrazine("mle")
    assert res.params.iloc[0] == pytest.approx(case["interval_ml"]["mean"], rel=1e-6)
    assert res.bse.iloc[0] == pytest.approx(case["interval_ml"]["se"], rel=1e-6)
    assert res.params.iloc[1] == pytest.approx(case["interval_ml"]["scale"], rel=1e-6)
    assert res.statistic == pytest.approx(case["interval_ml"]["z"], rel=1e-6)
    peer = case["nada2_paired"]
    assert res.samples.n.x == peer["n"]
    assert round(res.statistic, 4) == peer["statistic"]
    assert round(res.pvalue, 4) == peer["p.value"]
    assert round(res.params.iloc[0], 3) == peer["MeanDifference"]
    d = frame("atrazine")
    lower = np.where(d.june_censored == 1, 0.0, d.june) - d.sept
    upper = d.june - np.where(d.sept_censored == 1, 0.0, d.sept)
    mean, sd = res.params
    rows = np.where(
        lower == upper,
        norm.logpdf(lower, mean, sd),
        np.log(np.maximum(norm.cdf(upper, mean, sd) - norm.cdf(lower, mean, sd), 1e-300)),
    )
    assert rows.sum() == pytest.approx(case["interval_ml"]["loglik"], rel=1e-9)


def test_reference_numbers_of_signs_and_ranks():
    case = cases()["atrazine_paired"]
    sign, peer = atrazine("sign"), case["sign"]
    assert sign.counts == {"x > y": peer["nplus"], "x < y": peer["nminu"], "tied": peer["ties"]}
    assert sign.samples.n.y == peer["n"]
    assert float(f"{sign.pvalue:.4g}") == peer["p.value"]
    assert float(f"{sign.pvalue_ties:.4g}") == peer["p.value.corr"]
    rank, peer = atrazine("signed_rank"), case["signed_rank"]
    assert rank.samples.n.x == peer["n"]
    assert float(f"{rank.statistic:.4g}") == peer["statistic"]
    assert float(f"{rank.pvalue:.4g}") == peer["p.value"]


@pytest.mark.parametrize("seed", range(3))
def test_signs_by_the_definition(seed):
    x, y, c, d = pairs(seed=seed, shift=0.3)
    res = tg.nondetects.test_paired(x, y, c, d, method="sign")
    found = np.array([compare(*pair) for pair in zip(x, c, y, d, strict=True)])
    above, below, ties = (int(np.sum(found == k)) for k in (1, -1, 0))
    assert list(res.counts.values()) == [above, below, ties]
    assert res.pvalue == pytest.approx(binomtest(above, above + below).pvalue)
    larger, n = max(above, below), len(x)
    fong = binom.sf(larger - 1, n, 0.5) / binom.sf((n - ties + 1) // 2 - 1, n, 0.5)
    assert res.pvalue_ties == pytest.approx(min(fong, 1.0))
    assert res.params.iloc[0] == above / (above + below)


def test_signed_ranks_by_the_definition():
    x, y, c, d = pairs(seed=1, shift=0.3)
    res = tg.nondetects.test_paired(x, y, c, d)
    known = np.array([compare(*pair) for pair in zip(x, c, y, d, strict=True)])
    difference = np.abs(x - y) * np.abs(known)
    ranks = np.where(known == 0, 0.0, rankdata(difference))
    zeros, n = int(np.sum(known == 0)), len(x)
    total = ranks[known > 0].sum()
    mean = (n * (n + 1) - zeros * (zeros + 1)) / 4
    _, ties = np.unique(difference[known != 0], return_counts=True)
    variance = (n * (n + 1) * (2 * n + 1) - zeros * (zeros + 1) * (2 * zeros + 1) - np.sum(ties**3 - ties) / 2) / 24
    assert res.statistic == pytest.approx((total - mean) / np.sqrt(variance))
    assert res.statistic > 0.0
    assert tg.nondetects.test_paired(y, x, d, c).statistic == pytest.approx(-res.statistic)


def test_without_non_detects_they_are_scipys():
    x, y, *_ = pairs(shift=0.2)
    peer = wilcoxon(x - y, zero_method="pratt", method="asymptotic")
    assert tg.nondetects.test_paired(x, y).pvalue == pytest.approx(peer.pvalue)
    assert tg.nondetects.test_paired(x, y, log=True).pvalue == pytest.approx(
        wilcoxon(np.log(x / y), zero_method="pratt", method="asymptotic").pvalue
    )
    res = tg.nondetects.test_paired(x, y, method="mle")
    assert res.params.iloc[0] == pytest.approx(np.mean(x - y))
    assert res.bse.iloc[0] == pytest.approx(np.std(x - y) / np.sqrt(len(x)), rel=1e-6)
    np.testing.assert_allclose(res.conf_int(0.1).iloc[0], res.params.iloc[0] + norm.ppf([0.05, 0.95]) * res.bse.iloc[0])


def test_a_non_detect_at_the_value_of_the_detect_is_below_it():
    x, y = [2.0, 3.0, 5.0, 4.0], [2.0, 3.0, 1.0, 6.0]
    res = tg.nondetects.test_paired(x, y, [1, 0, 0, 0], [0, 0, 0, 0], method="sign")
    assert res.counts == {"x > y": 1, "x < y": 2, "tied": 1}
    found = tg.nondetects.test_paired(x, y, [1, 0, 0, 0], [0, 0, 0, 0])
    peer = wilcoxon([-0.1, 0.0, 4.0, -2.0], zero_method="pratt", method="asymptotic")
    assert found.pvalue == pytest.approx(peer.pvalue)


def test_ratios():
    x, y, c, d = pairs(60, shift=0.4)
    res = tg.nondetects.test_paired(x, y, c, d, method="mle", log=True)
    lower = np.where(c, -np.inf, np.log(x)) - np.log(y)
    upper = np.log(x) - np.where(d, -np.inf, np.log(y))
    known = ~(c & d)
    fitted = tg.fit("interval(a, b) ~ 1", {"a": lower[known], "b": upper[known]}, family="gaussian")
    assert np.log(res.params.iloc[0]) == pytest.approx(fitted.params["Intercept"])
    np.testing.assert_allclose(np.log(res.conf_int().iloc[0]), fitted.conf_int().loc["Intercept"])
    assert res.notes[0].startswith(f"{np.sum(c & d)} pairs of two non-detects")
    swapped = tg.nondetects.test_paired(y, x, d, c, method="mle", log=True)
    assert swapped.params.iloc[0] == pytest.approx(1.0 / res.params.iloc[0])
    assert swapped.pvalue == pytest.approx(res.pvalue)


@pytest.mark.parametrize("method", METHODS)
def test_tables(method):
    shown = str(atrazine(method).summary())
    for words in ("Method:", "37.5%", "20.8%", "0.01", "Pairs tied"):
        assert words in shown
    assert list(atrazine(method).summary_frame().columns) == ["estimate", "lower", "upper"]


def test_pairs_that_lack_a_value():
    res = tg.nondetects.test_paired([1.0, np.nan, 3.0, 4.0], ["<2", "1", "1", "<3"])
    assert res.notes[0] == "Left out: 1 of 4 rows without a value."
    assert res.counts == {"x > y": 2, "x < y": 0, "tied": 1}


def test_bad_input():
    x, y, c, d = pairs()
    test = tg.nondetects.test_paired
    with pytest.raises(tg.errors.DataError, match="Lengths differ: 39 of x, 40 of y"):
        test(x[1:], y)
    with pytest.raises(tg.errors.SpecError, match="method='t': must be one of 'signed_rank', 'sign', 'mle'"):
        test(x, y, method="t")
    for method in ("sign", "signed_rank"):
        with pytest.raises(tg.errors.DataError, match="All 40 pairs are ties, or of unknown order"):
            test(x, x, method=method)
    with pytest.raises(tg.errors.DataError, match="0 pairs are detected in both, with 0 distinct differences"):
        test(x, y, c | True, d | True, method="mle")
    with pytest.raises(tg.errors.DataError, match=r"method='mle' needs .* 'x' is 0 or below in row 0\."):
        test([0.0, 1.0, 2.0, 3.0], [1.0, 2.0, 5.0, 1.0], [1, 0, 0, 0], method="mle")
    with pytest.raises(tg.errors.DataError, match="log=True needs positive values and limits, but 'y' is 0 or below"):
        test([2.0, 1.0, 2.0], [1.0, -2.0, 5.0], log=True)
    with pytest.raises(tg.errors.SpecError, match="right-censored"):
        test([">2", "1", "2"], ["1", "2", "5"])
    with pytest.raises(tg.errors.SpecError, match="alpha=0: alpha must be a probability strictly between 0 and 1"):
        atrazine("mle").conf_int(0)


@pytest.mark.slow
def test_size_of_equal_pairs():
    """Share of 300 samples of 40 pairs in which p falls below .05; standard error .0126. Signs are discrete."""
    found = [
        [tg.nondetects.test_paired(*pairs(seed=seed), method=method, log=True).pvalue < 0.05 for method in METHODS]
        for seed in range(300)
    ]
    signed_rank, sign, mle = np.mean(found, axis=0)
    assert 0.015 < signed_rank < 0.09
    assert sign < 0.07
    assert 0.015 < mle < 0.1


@pytest.mark.parametrize("unit", [1.0, 10.0, 1e-3, 2.5e6])
@pytest.mark.parametrize("log", [False, True])
def test_ties_of_differences_do_not_depend_on_rounding(unit, log):
    x = ["10.3", "8.1", "5.2", "7.4", "6.6", "9.9", "3.3", "4.7", "8.8", "2.1", "4.2"]
    y = ["10.1", "8.0", "5.0", "7.1", "6.9", "9.7", "3.0", "4.8", "8.5", "0.7", "1.4"]
    pairs = [(Fraction(a), Fraction(b)) for a, b in zip(x, y, strict=True)]
    exact = np.array([np.log(float(a / b)) if log else float(a - b) for a, b in pairs])
    expected = wilcoxon(exact, zero_method="pratt", method="asymptotic")
    high, low = unit * np.array(x, dtype=float), unit * np.array(y, dtype=float)
    found = tg.nondetects.test_paired(high, low, log=log, method="signed_rank")
    assert found.pvalue == pytest.approx(expected.pvalue, rel=1e-12)
