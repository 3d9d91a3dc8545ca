"""Fits that are saved and loaded again, and what comes back."""

import warnings

import pandas as pd

import tobitgp as tg

# Linear parts of the columns of the fixture ``rich``.
LINEAR = [
    "1",
    "0 + z",
    "z + x",
    "g",
    "0 + g",
    "C(g)",
    "C(g, Treatment('b'))",
    "C(g, Sum)",
    "C(g, Helmert)",
    "C(g, Helmert(reverse=False, scale=True))",
    "C(g, Diff)",
    "C(g, Diff(backward=False))",
    "C(g, Poly)",
    "C(g, levels=['c', 'b', 'a'])",
    "C(k)",
    "C(k, Poly(scores=[1, 2, 4]))",
    "C(x > 2)",
    "C(floor(x))",
    "u + z:u",
    "C(u)",
    "o",
    "v + z:v",
    "C(o, Sum)",
    "cut",
    "bs(z, df=4)",
    "bs(z, knots=[0.0], degree=2, extrapolation='extend')",
    "bs(log(x), df=5, lower_bound=-1, upper_bound=2)",
    "bs(x - z, df=4)",
    "cr(x, df=4, constraints='center')",
    "cs(x, df=3, constraints='center', extrapolation='clip')",
    "cc(t, df=3, constraints='center')",
    "poly(z, 3)",
    "poly(z, 2, raw=True)",
    "center(z)",
    "scale(z)",
    "scale(z, center=0.5)",
    "scale(z, center=False, ddof=0)",
    "scale(log(x)) * g",
    "g * C(k, Sum)",
    "z * g * u",
    "`a b` + g:`a b`",
    "poly(`a b`, 2) + I(`a b` ** 3)",
    "I(g == 'a'):z + where(z > 0, z, 0)",
    "offset(2 * z) + x",
    "decimal_year(day)",
    "z - 1 + log(x)",
    "minimum(x, t) + sqrt(x) + abs(z)",
]


def again(res, tmp_path, functions=None):
    res.save(tmp_path / "a.tgp")
    loaded = tg.load(tmp_path / "a.tgp", functions)
    loaded.save(tmp_path / "b.tgp")
    assert (tmp_path / "a.tgp").read_bytes() == (tmp_path / "b.tgp").read_bytes()
    return loaded


def quiet_fit(formula, data, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return tg.fit(formula, data, **kwargs)


def assert_same(a, b):
    if isinstance(a, tuple):
        for left, right in zip(a, b, strict=True):
            assert_same(left, right)
    elif isinstance(a, pd.DataFrame):
        pd.testing.assert_frame_equal(a, b, check_exact=True)
    else:
        pd.testing.assert_series_equal(a, b, check_exact=True)
