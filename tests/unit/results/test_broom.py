"""The columns of R's broom, for every kind of fit: numbers of other answers under its names."""

import numpy as np
import pandas as pd
import pytest
from support.kinds import KINDS, fitted

import tobitgp as tg
from tobitgp.errors import SpecError
from tobitgp.results.interfaces.broom import TIDY

GLANCE = ["nobs", "nevent", "df", "df.residual", "logLik", "AIC", "BIC", "sigma", "logEvidence", "method", "converged"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.filterwarnings("ignore")
def test_every_kind_has_the_tables(kind):
    res = fitted(kind)
    table, one = res.tidy(conf_level=0.9), res.glance()
    assert tuple(table.columns) == TIDY
    assert list(one.columns) == GLANCE
    assert len(one) == 1
    assert list(table["term"]) == res._names
    np.testing.assert_array_equal(table["estimate"], res.params)
    if kind not in ("latent", "measured"):
        np.testing.assert_array_equal(table["std.error"], res.bse)
        np.testing.assert_array_equal(table[["conf.low", "conf.high"]], res.conf_int(0.1))
        np.testing.assert_array_equal(table["p.value"], res.pvalues)
    np.testing.assert_allclose(one["logLik"], res.llf)
    rows = res.augment()
    assert [name for name in rows if name.startswith(".")] == [".fitted", ".se.fit", ".resid", ".std.resid"]
    assert len(rows) == res.nobs if kind not in ("weights", "several", "latent", "vectors") else len(rows) % 48 == 0
    assert rows[".fitted"].notna().mean() > 0.9


def test_the_numbers_are_those_of_least_squares():
    """broom::tidy(), glance() and augment() of R's lm() for the same data, but for sigma without n - k."""
    rng = np.random.default_rng(1)
    data = pd.DataFrame({"x": rng.normal(size=30)})
    data["y"] = 1.0 + data["x"] + rng.normal(size=30)
    data.loc[3, "y"] = np.nan
    with pytest.warns(UserWarning, match="No row is censored|1 of 30 rows"):
        res = tg.fit("y ~ x", data)
    kept = data.dropna()
    X = np.column_stack([np.ones(29), kept["x"]])
    b = np.linalg.solve(X.T @ X, X.T @ kept["y"])
    left = kept["y"] - X @ b
    sigma = np.sqrt((left**2).mean())
    se = sigma * np.sqrt(np.diag(np.linalg.inv(X.T @ X)))
    table, rows, one = res.tidy(), res.augment(), res.glance().iloc[0]
    np.testing.assert_allclose(table["estimate"], [*b, sigma])
    np.testing.assert_allclose(table["std.error"][:2], se)
    np.testing.assert_allclose(table["statistic"][:2], b / se)
    np.testing.assert_allclose(table["conf.high"][:2], b + 1.959963984540054 * se)
    assert list(rows.columns) == ["x", ".fitted", ".se.fit", ".resid", ".std.resid"]
    assert list(rows.index) == list(kept.index)
    np.testing.assert_allclose(rows[".fitted"], X @ b)
    np.testing.assert_allclose(rows[".resid"], left)
    np.testing.assert_allclose(rows[".std.resid"], left / sigma)
    np.testing.assert_allclose(rows[".se.fit"], sigma * np.sqrt(np.einsum("ij,jk,ik->i", X, np.linalg.inv(X.T @ X), X)))
    np.testing.assert_allclose(one["sigma"], sigma)
    assert [one[name] for name in ("nobs", "df", "df.residual")] == [29, 3, 26]


def test_ratios_are_exponentials_of_coefficients_alone():
    res = fitted("weibull")
    table, plain = res.tidy(exponentiate=True), res.tidy()
    of = ["estimate", "conf.low", "conf.high"]
    np.testing.assert_allclose(table[of].iloc[:-1], np.exp(plain[of].iloc[:-1]))
    pd.testing.assert_frame_equal(table.drop(columns=of), plain.drop(columns=of))
    pd.testing.assert_series_equal(table.iloc[-1], plain.iloc[-1])
    with pytest.raises(SpecError, match="conf_level=2"):
        res.tidy(conf_level=2)
