"""Every formula in the columns "here" of the migration tables is fitted, every call runs; numbers said to agree do."""

import re
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import tobitgp as tg

FOLDER = Path(__file__).parents[2] / "docs" / "migration"
ROW = re.compile(r"^\| .*[^\\]\| (?P<here>.*) \|$")


def here(page):
    """Partitions of code in the last column of a page's table."""
    rows = [ROW.match(line) for line in page.read_text(encoding="utf-8").splitlines()]
    cells = [row["here"].replace("\\|", "|") for row in rows if row and row["here"] != "here"]
    return [
        code for cell in cells for code in re.findall(r"`([^`]+)`", cell) if "(" in code or "~" in code or "." in code
    ]


CASES = [(page.stem, code) for page in sorted(FOLDER.glob("*.md")) for code in here(page)]


@pytest.fixture(scope="module")
def names(tmp_path_factory):
    from statsmodels.iolib.summary2 import summary_col
    from statsmodels.stats.diagnostic import het_breuschpagan

    rng = np.random.default_rng(0)
    n = 60
    x, z = rng.normal(size=(2, n))
    y = 5 + x + 0.5 * z + rng.normal(size=n)
    data = pd.DataFrame({"x": x, "z": z, "g": rng.choice(list("abcde"), n), "y": y, "y2": y + 1})
    data = data.assign(status=rng.choice([-1, 0, 1], n), w=rng.integers(1, 4, n), m=0.1, limit=0.0, l=0.0, u=7.0)
    data = data.assign(lb=y - 2, ub=y + 2, lo=y, hi=y + rng.choice([0.0, 0.5], n))
    data = data.assign(time=np.exp(y), event=rng.integers(0, 2, n), entry=np.exp(y - 3), code=rng.integers(1, 3, n))
    data = data.assign(id=range(n), start=0.0, stop=data["time"], cause=rng.integers(0, 3, n))
    data = data.assign(h=np.arange(n) % 7, a=y, b=0.5 * y + z)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        fits = {
            "res": tg.fit("y ~ gp(x) | censor(0)", data),
            "other": tg.fit("y ~ x + gp(z) | censor(0)", data),
            "grouped": tg.fit("y ~ gp(x) + re(g) | censor(0)", data),
            "line": tg.fit("y ~ x | censor(0)", data),
            "both": tg.fit("y ~ x + z | censor(0)", data),
            "aft": tg.fit("Surv(time, event) ~ x", data, family="weibull"),
            "risks": tg.fit("Surv(time, cause) ~ x", data, family="weibull"),
            "ph": tg.fit("Surv(time, event) ~ x", data, family="ph"),
            "flexible": tg.fit("Surv(time, event) ~ x", data, family=tg.PH("spline", df=2)),
        }
        lab = pd.DataFrame({"conc": np.exp(x), "x": z, "zone": rng.choice(list("ab"), n), "time": np.arange(n) + 1.0})
        lab = lab.assign(limit=0.7, season=np.arange(n) % 2, flow=z, later=np.exp(z))
        lab = lab.assign(nd=(lab["conc"] < 0.7).astype(int), conc=lab["conc"].clip(lower=0.7))
        daily = pd.DataFrame({"date": pd.date_range("2001-01-01", "2003-12-31")})
        daily["q"] = np.exp(0.5 * rng.normal(size=len(daily)))
        samples = daily.iloc[::20].assign(c=lambda rows: rows["q"] ** 0.5 * np.exp(0.1 * rng.normal(size=len(rows))))
        river = tg.fit("c ~ decimal_year(date) + log(q)", samples, family="lognormal")
    path = tmp_path_factory.mktemp("fits") / "fit.tgp"
    fits["line"].save(path)
    return {
        "tg": tg,
        "data": data,
        "path": path,
        "summary_col": summary_col,
        "het_breuschpagan": het_breuschpagan,
        "lab": lab,
        "daily": daily,
        "river": river,
    } | fits


def test_the_tables_are_read():
    assert len({page for page, _ in CASES}) == 11
    assert all(sum(page == name for name, _ in CASES) >= 15 for page, _ in CASES)


@pytest.mark.parametrize(("page", "code"), CASES)
@pytest.mark.filterwarnings("ignore:.*values? (is|are) beyond the limits:UserWarning")
@pytest.mark.filterwarnings("ignore:No row is censored:UserWarning")
@pytest.mark.filterwarnings("ignore:The likelihood is highest without frailties")
@pytest.mark.filterwarnings("ignore:The cured fraction depends on the tail")
@pytest.mark.filterwarnings("ignore:The multiway-clustered covariance")
@pytest.mark.slow_cases(
    'brms-tg.fit("y ~ gp(x)", data, sigma="~ gp(x) + (1 | g)")',
    'mgcv-tg.fit("y ~ gp(x) | censor(l)", data, family="boxcox")',
)
def test_runs(page, code, names, tmp_path):
    if (code.split("(")[0].isidentifier() and "~" in code) or re.match(r"^\w+ ~", code):
        family = "weibull" if code.startswith("Surv") else "gaussian"
        assert tg.fit(code, names["lab" if "conc" in code else "data"], family=family).converged
    elif code.startswith("line.save"):
        names["line"].save(tmp_path / "fit.tgp")
    else:
        eval(code, dict(names))


def test_a_line_has_the_numbers_of_least_squares_but_for_the_factor_that_is_named(names):
    import statsmodels.formula.api as smf

    data = names["data"]
    ours, theirs = tg.fit("y ~ x", data), smf.ols("y ~ x", data).fit()
    np.testing.assert_allclose(ours.params[["Intercept", "x"]], theirs.params, rtol=1e-8)
    np.testing.assert_allclose(ours.llf, theirs.llf, rtol=1e-10)
    factor = np.sqrt(theirs.nobs / theirs.df_resid)
    np.testing.assert_allclose(factor * ours.bse[["Intercept", "x"]], theirs.bse, rtol=1e-6)


def test_without_priors_a_random_intercept_is_that_of_restricted_likelihood():
    import statsmodels.formula.api as smf

    rng = np.random.default_rng(0)
    g, x = np.repeat(np.arange(10), 6), rng.normal(size=60)
    y = 1 + 0.5 * x + rng.normal(0, 0.7, 10)[g] + rng.normal(size=60)
    data = pd.DataFrame({"x": x, "y": y, "g": g.astype(str)})
    theirs = smf.mixedlm("y ~ x", data, groups="g").fit()
    ours = tg.fit("y ~ x + (1 | g)", data, priors={}, method=tg.EP(hyper="maximize"))
    np.testing.assert_allclose(ours.params[["Intercept", "x"]], theirs.fe_params, rtol=1e-3)
    np.testing.assert_allclose(ours.bse[["Intercept", "x"]], theirs.bse_fe, rtol=0.01)
    spread = [np.sqrt(theirs.cov_re.iloc[0, 0]), np.sqrt(theirs.scale)]
    np.testing.assert_allclose(ours.params[["sd(re(g))", "sigma"]], spread, rtol=1e-3)
    usual = tg.fit("y ~ x + (1 | g)", data)
    np.testing.assert_allclose(usual.params[["Intercept", "x"]], theirs.fe_params, rtol=0.02)
    assert usual.bse["Intercept"] > theirs.bse_fe["Intercept"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("family", "fitter", "location", "shape"),
    [
        ("weibull", "WeibullAFTFitter", "lambda_", "rho_"),
        ("lognormal", "LogNormalAFTFitter", "mu_", "sigma_"),
        ("loglogistic", "LogLogisticAFTFitter", "alpha_", "beta_"),
    ],
)
@pytest.mark.filterwarnings("ignore")  # of lifelines, from numpy and pandas
def test_times_have_the_numbers_of_lifelines(family, fitter, location, shape, names):
    import lifelines

    data = names["data"][["time", "event", "x"]]
    theirs = getattr(lifelines, fitter)().fit(data, "time", "event", formula="x")
    ours = tg.fit("Surv(time, event) ~ x", data, family=family)
    np.testing.assert_allclose(ours.llf, theirs.log_likelihood_, rtol=1e-6)
    np.testing.assert_allclose(ours.params[["Intercept", "x"]], theirs.params_[location][["Intercept", "x"]], rtol=1e-3)
    sigma = np.exp(theirs.params_[shape].iloc[0] * (1 if shape == "sigma_" else -1))
    np.testing.assert_allclose(ours.params["sigma"], sigma, rtol=1e-3)


def test_residuals_of_instruments_are_a_control_function():
    """The two lines of the page: without the second column the coefficient of x is biased."""
    import statsmodels.formula.api as smf

    rng = np.random.default_rng(4)
    common, data = rng.normal(size=4000), pd.DataFrame(rng.normal(size=(4000, 2)), columns=["instrument", "z"])
    data["x"] = data["instrument"] + 0.5 * data["z"] + common + rng.normal(size=4000)
    data["y"] = (1.0 + 0.5 * data["x"] + data["z"] + common + rng.normal(size=4000)).clip(lower=0.0)
    data["residual"] = smf.ols("x ~ instrument + z", data).fit().resid
    res = tg.fit("y ~ x + z + residual | censor(0)", data)
    assert abs(res.params["x"] - 0.5) < 4 * res.bse["x"] < 0.15
    assert res.pvalues["residual"] < 1e-10
    assert tg.fit("y ~ x + z | censor(0)", data).params["x"] > 0.7
