"""The columns of R's broom, for every kind of fit: numbers of other answers under its names."""

import numpy as np
import pandas as pd
import pytest
from support.kinds import KINDS, fitted, rows

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
    table = res.augment()
    assert [name for name in table if name.startswith(".")] == [".fitted", ".se.fit", ".resid", ".std.resid"]
    assert len(table) == res.nobs if kind not in ("weights", "several", "latent", "vectors") else len(table) % 48 == 0
    assert table[".fitted"].notna().mean() > 0.9


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
    table, found, one = res.tidy(), res.augment(), res.glance().iloc[0]
    np.testing.assert_allclose(table["estimate"], [*b, sigma])
    np.testing.assert_allclose(table["std.error"][:2], se)
    np.testing.assert_allclose(table["statistic"][:2], b / se)
    np.testing.assert_allclose(table["conf.high"][:2], b + 1.959963984540054 * se)
    assert list(found.columns) == ["y", "x", ".fitted", ".se.fit", ".resid", ".std.resid"]
    assert list(found.index) == list(kept.index)
    np.testing.assert_allclose(found[".fitted"], X @ b)
    np.testing.assert_allclose(found[".resid"], left)
    np.testing.assert_allclose(found[".std.resid"], left / sigma)
    np.testing.assert_allclose(
        found[".se.fit"], sigma * np.sqrt(np.einsum("ij,jk,ik->i", X, np.linalg.inv(X.T @ X), X))
    )
    np.testing.assert_allclose(one["sigma"], sigma)
    assert [one[name] for name in ("nobs", "df", "df.residual")] == [29, 3, 26]


@pytest.mark.parametrize("kind", ["regression", "entry", "hazard", "causes", "lines", "latent"])
@pytest.mark.filterwarnings("ignore")
def test_the_response_is_that_of_the_data(kind):
    """broom::augment(data =) has the columns of the data; those of the response come first."""
    names = {"entry": ["entry", "time", "event"], "hazard": ["entry", "time", "event"], "causes": ["time", "cause"]}
    data, of = rows().iloc[:48], names.get(kind, ["low"])
    found = fitted("regressions" if kind == "lines" else kind).augment()
    if kind == "latent":
        low = found[found["response"] == "low"]
        np.testing.assert_array_equal(low["value"], data["low"])
        assert found["response"].tolist() == np.repeat(["low", "other", "third"], 48).tolist()
        return
    of = ["lines"] if kind == "lines" else of
    assert list(found.columns[: len(of)]) == of
    np.testing.assert_array_equal(found[of], data[of])


@pytest.mark.parametrize(
    ("formula", "columns"),
    [
        ("Surv(lo, hi, type='interval2') ~ x", ["lo", "hi"]),
        ("Surv(time, hi, code, type='interval') ~ x", ["time", "hi", "code"]),
        ("Surv(time, state == 2) ~ x", ["time", "state == 2"]),
        ("log(time) ~ x | censor(event=seen)", ["log(time)", "seen"]),
        ("`my time` ~ x | censor(nondetect=below)", ["my time", "below"]),
        ("Surv(time, seen) ~ state", ["time", "seen", "state"]),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_the_response_as_it_is_written(formula, columns):
    rng = np.random.default_rng(5)
    n, code = 40, np.arange(40) % 4
    data = pd.DataFrame({"x": rng.normal(size=n), "time": rng.uniform(1.0, 3.0, n).round(2), "code": code})
    data = data.assign(hi=np.where(code == 3, data["time"] + 1.0, np.nan), seen=code > 0, state=2 * (code > 0))
    data = data.assign(below=(code == 0) * 1, **{"my time": data["time"]})
    data.index = rng.permutation(n) + 100
    data["lo"] = data["time"].where(code != 2, -np.inf)
    if "interval2" in formula:
        data["hi"] = np.select([code == 0, code == 1], [np.inf, data["time"]], data["time"] + 1.0)
    given = data.assign(**{"state == 2": data["state"] == 2, "log(time)": np.log(data["time"])})
    data.loc[data.index[7], "x"] = np.nan
    family = "gaussian" if "interval2" in formula or "log(" in formula or "my time" in formula else "weibull"
    found = tg.fit(formula, data, family=family).augment()
    kept = given.drop(index=data.index[7]) if "~ x" in formula else given
    assert list(found.index) == list(kept.index)
    assert not found.columns.duplicated().any()
    np.testing.assert_allclose(found[columns].astype(float), kept[columns].astype(float), rtol=1e-12)


def test_weighted_rows_are_copies():
    data = rows().iloc[:48]
    how = {"family": "weibull"}
    weighted = tg.fit("Surv(time, event) ~ z", data, weights="w", **how)
    copies = tg.fit("Surv(time, event) ~ z", data.loc[data.index.repeat(data["w"])].reset_index(drop=True), **how)
    of = ["nobs", "nevent", "df", "df.residual"]
    assert weighted.glance()[of].iloc[0].tolist() == [
        data["w"].sum(),
        (data["w"] * data["event"]).sum(),
        3,
        data["w"].sum() - 3,
    ]
    pd.testing.assert_frame_equal(weighted.glance()[of], copies.glance()[of])
    copies.remove_data()
    weighted.remove_data()
    assert copies.glance().loc[0, "nevent"] == (data["w"] * data["event"]).sum()
    assert np.isnan(weighted.glance().loc[0, "nevent"])
    causes = tg.fit("Surv(time, cause) ~ 1", data, weights="w", **how)
    assert causes.glance().loc[0, "nevent"] == (data["w"] * data["event"]).sum()


def test_ratios_are_exponentials_of_coefficients_alone():
    res = fitted("weibull")
    table, plain = res.tidy(exponentiate=True), res.tidy()
    of = ["estimate", "conf.low", "conf.high"]
    np.testing.assert_allclose(table[of].iloc[:-1], np.exp(plain[of].iloc[:-1]))
    pd.testing.assert_frame_equal(table.drop(columns=of), plain.drop(columns=of))
    pd.testing.assert_series_equal(table.iloc[-1], plain.iloc[-1])
    with pytest.raises(SpecError, match="conf_level=2"):
        res.tidy(conf_level=2)
