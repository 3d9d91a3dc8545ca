"""The equations of docs/theory/nondetect-trends.md in matrices of signs, as they stand there."""

import numpy as np
import pytest
from scipy.stats import binom, chi2, norm
from support.nondetects import signs, simulate

import tobitgp as tg
from tobitgp.errors import ApproximationWarning
from tobitgp.nondetects.kendall import nada_variance
from tobitgp.nondetects.paired import intervals
from tobitgp.nondetects.value_order import peto_scores, read_columns


def variance(A, B):
    """(NDT22) of matrices of signs."""
    n, N_y, N_x = len(A), np.count_nonzero(A) / 2, np.count_nonzero(B) / 2
    u, v = A.sum(axis=1), B.sum(axis=1)
    triples = (u @ u - 2 * N_y) * (v @ v - 2 * N_x) / (n * (n - 1) * (n - 2))
    return triples + 2 * N_y * N_x / (n * (n - 1))


@pytest.fixture(scope="module", params=[0, 1])
def data(request):
    y, x, c = simulate(24, request.param, ties=bool(request.param), trend=1.0)
    d = x < 0.2
    return y, np.maximum(x, 0.2), c, d


def test_correlations(data):
    y, x, c, d = data
    A, B = signs(y, c), signs(x, d)
    res = tg.nondetects.kendall(y, x, c, d, method="normal")
    S = np.triu(A * B, 1).sum()  # (NDT20)
    N_y, N_x = (np.count_nonzero(np.triu(M, 1)) for M in (A, B))
    assert res.statistic == S
    np.testing.assert_allclose(res.params, [S / 276, S / np.sqrt(N_y * N_x)], rtol=1e-12)  # (NDT21)
    assert res.variance == pytest.approx(variance(A, B), rel=1e-12)
    assert res.pvalue == pytest.approx(2 * norm.sf((abs(S) - 1) / np.sqrt(variance(A, B))), rel=1e-9)


def test_variance_of_nada(data):
    y, x, c, d = data
    n = len(y)

    def D(t, u):
        alone = sum(np.sum(g * (g - 1) * (2 * g + 5)) for g in (t, u)) / 18
        three, two = ([np.sum(g * (g - 1) * (g - 2) ** k) for g in (t, u)] for k in (1, 0))
        return alone - three[0] * three[1] / (9 * n * (n - 1) * (n - 2)) - two[0] * two[1] / (2 * n * (n - 1))

    def sizes(v):
        return np.array([np.sum(v == value) for value in np.unique(v)], dtype=float)

    def before(v, f):
        key = [(value, not flag) for value, flag in zip(v, f, strict=True)]
        order = sorted(range(n), key=lambda i: key[i])
        return sum(rank for rank, i in enumerate(order) if f[i])

    t, u, m = sizes(y[c]), sizes(x[d]), (before(y, c), before(x, d))
    V = n * (n - 1) * (2 * n + 5) / 18 - D(t, u) - D(sizes(y[~c]), sizes(x[~d])) - sum(m)
    V += 2 * m[0] * m[1] / (n * (n - 1)) + np.sum(t - 1) + np.sum(u - 1)
    (of_y, of_x), _ = read_columns({"y": (y, c), "x": (x, d)})
    assert nada_variance(of_y, of_x) == pytest.approx(V, rel=1e-12)  # (NDT23)


def test_line(data):
    y, x, c, d = data
    res, B = tg.nondetects.theil_sen(y, x, c, d), signs(x, d)
    i, j = np.nonzero((B > 0) & (x[:, None] > x))
    flat = np.nonzero((B > 0) & (x[:, None] == x))
    slopes, drop = (y[i] - y[j]) / (x[i] - x[j]), 2 - c[i].astype(int) - c[j]
    start = np.sum(~c[i]) + signs(y, c)[flat].sum()

    def S(b):  # (NDT24)
        return start - np.sum(drop * (slopes < b))

    for b in np.linspace(-3.0, 3.0, 13) + 0.01234567:
        assert np.triu(signs(y - b * x, c) * B, 1).sum() == S(b)
    assert S(res.slope - 1e-9) >= 0 >= S(res.slope + 1e-9)
    lower, upper = res.conf_int().loc["slope"]
    reach = norm.ppf(0.975) * np.sqrt(variance(signs(y - res.slope * x, c), B))
    for b in np.linspace(-3.0, 3.0, 61) + 0.01234567:
        assert (abs(S(b)) <= reach) == (lower <= b <= upper)  # (NDT26)


@pytest.mark.slow
def test_median_of_residuals():
    """(NDT25), by EM over intervals between the residuals' ends."""
    y, x, c = simulate(24, 3, trend=1.0)
    res = tg.nondetects.theil_sen(y, x, c)
    upper = y - res.slope * x
    lower = np.where(c, -res.slope * x, upper)
    ends = np.unique(np.concatenate([lower, upper]))
    points = np.sort(np.concatenate([ends, 0.5 * (ends[1:] + ends[:-1])]))
    inside = np.where(c[:, None], (points > lower[:, None]) & (points <= upper[:, None]), points == upper[:, None])
    mass = np.full(len(points), 1.0 / len(points))
    for _ in range(20000):
        share = inside * mass
        mass = (share / share.sum(axis=1, keepdims=True)).mean(axis=0)
    below, above = mass[points < res.intercept - 1e-6].sum(), mass[points > res.intercept + 1e-6].sum()
    assert below <= 0.5 + 1e-3
    assert above <= 0.5 + 1e-3


def test_seasons():
    rng = np.random.default_rng(5)
    year, season = np.repeat(np.arange(11.0), 2), np.tile([0, 1], 11)
    y = np.exp(0.1 * year + rng.standard_normal(22))
    limit = rng.choice([0.8, 1.5], 22)
    y, c = np.maximum(y, limit), y < limit
    A = [signs(y[season == k], c[season == k]) for k in (0, 1)]
    T = signs(np.arange(11), np.zeros(11, dtype=bool))
    S = [np.triu(M * T, 1).sum() for M in A]
    V = [variance(M, T) for M in A]
    cov = (np.triu(A[0] * A[1], 1).sum() + A[0].sum(axis=1) @ A[1].sum(axis=1)) / 3  # (NDT29)
    plain, serial = (tg.nondetects.seasonal_kendall(y, year, season, c, serial=s, n_permutations=9) for s in (0, 1))
    assert (plain.statistic, plain.tau) == (sum(S), pytest.approx(sum(S) / 110))  # (NDT27)
    for res, total in ((plain, sum(V)), (serial, sum(V) + 2 * cov)):
        assert res.pvalue_normal == pytest.approx(2 * norm.sf((abs(sum(S)) - 1) / np.sqrt(total)))
    Z = np.array(S) / np.sqrt(V)
    statistic = np.sum(Z**2) - 2 * Z.mean() ** 2
    np.testing.assert_allclose(plain.heterogeneity, [statistic, 1, chi2.sf(statistic, 1)])  # (NDT28)


@pytest.mark.slow
def test_scores(data):
    y, _, c, _ = data
    A = signs(y, c)
    u = np.sum(A > 0, axis=1) - np.sum(A < 0, axis=1)
    np.testing.assert_array_equal(tg.nondetects.gehan_scores(y, c), u)  # (NDT30)
    (sample,), _ = read_columns({"y": (y, c)})
    F = {}
    for value in np.unique(y):  # Kaplan and Meier's estimate, values at and below which rows are at risk
        higher = np.unique(y[~c & (y > value)])
        F[value] = np.prod([1 - np.sum((y == v) & ~c) / np.sum(y <= v) for v in higher])
    before = {v: F[v] * (1 - np.sum((y == v) & ~c) / np.sum(y <= v)) for v in F}
    a = np.array([before[v] - 1 + (0 if f else F[v]) for v, f in zip(y, c, strict=True)])
    np.testing.assert_allclose(peto_scores(sample), a, atol=1e-12)  # (NDT31)
    group = np.arange(24) % 3
    res = tg.nondetects.test_groups(
        "y ~ C(g) | censor(nondetect=c)", {"y": y, "c": c, "g": group}, method="permutation", n_permutations=99
    )
    between = sum(a[group == g].sum() ** 2 / 8 for g in range(3)) / np.var(a, ddof=1)
    assert res.statistic == pytest.approx(between)  # (NDT32)


def test_pairs(data):
    y, x, c, d = data
    x = 3.0 * x
    known = np.array([signs(np.array(v), np.array(f))[0, 1] for v, f in zip(zip(x, y), zip(d, c), strict=True)])  # noqa: B905
    res = tg.nondetects.test_paired(x, y, d, c, method="sign")
    up, down = np.sum(known > 0), np.sum(known < 0)
    assert list(res.counts.values()) == [up, down, np.sum(known == 0)]  # (NDT33)
    m, n = max(up, down), len(x)
    assert res.pvalue == pytest.approx(min(1.0, 2 * binom.sf(m - 1, up + down, 0.5)))  # (NDT34)
    fong = binom.sf(m - 1, n, 0.5) / binom.sf((up + down + 1) // 2 - 1, n, 0.5)
    assert res.pvalue_ties == pytest.approx(min(1.0, fong))
    (of_x, of_y), _ = read_columns({"x": (x, d), "y": (y, c)})
    lower, upper = intervals(of_x, of_y, False)
    np.testing.assert_allclose(lower, (1 - d) * x - y)  # (NDT35)
    np.testing.assert_allclose(upper, x - (1 - c) * y)


def test_a_variance_of_nada_that_is_not_positive_is_told():
    """Of 15 rows of which two or three are detected."""
    y = np.where(np.isin(np.arange(15), [8, 12]), [76.8, 116.6][0], 63.2) + np.where(np.arange(15) == 12, 39.8, 0.0)
    x = np.select([np.arange(15) == k for k in (1, 8, 12)], [147.1, 96.7, 80.7], 63.2)
    with pytest.warns(
        ApproximationWarning, match=r"The p-value pvalue_nada is NaN: the variance of S by NADA's formula is -3\.75,"
    ):
        res = tg.nondetects.kendall(y, x, y == 63.2, x == 63.2)
    assert np.isnan(res.pvalue_nada)
    assert 0.0 < res.pvalue <= 1.0
