"""The linear effect that is a part of ``gp(x)``."""

import numpy as np
import pandas as pd
import pytest
from support.methods import with_settings

import tobitgp as tg
from tobitgp.errors import FormulaError, SpecError
from tobitgp.formula import parse_formula
from tobitgp.sklearn import CensoredGPRegressor


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(3)
    x, z = rng.uniform(5.0, 9.0, 70), rng.normal(size=70)
    y = 1.5 * x + np.sin(2.0 * x) + 0.4 * z + 0.3 * rng.normal(size=70)
    seen = np.maximum(y, 9.0)
    return pd.DataFrame(
        {
            "x": x,
            "z": z,
            "w": rng.integers(1, 3, 70),
            "t": np.exp(0.2 * y),
            "e": rng.random(70) < 0.7,
            "y": y,
            "l": seen,
            "g": np.where(np.arange(70) % 3 > 0, "a", "b"),
        }
    )


LINES = {
    "gp(x)": [True],
    "gp(x, line=False)": [False],
    "gp(x, kernel='matern32')": [True],
    "gp(x, kernel='periodic')": [False],
    "gp(x, period=2)": [False],
    "gp(x, kernel='linear')": [False],
    "gp(x, z)": [False],
    "gp(x, by=g)": [False],
    "gp(x, by=g, line=True)": [True],
    "gp(x) + gp(x, by=g)": [True, False],
    "gp(x) + gp(x, kernel='matern12', name='rough')": [True, False],
    "gp(x) + gp(x, period=2)": [True, False],
    "z:gp(x)": [False],
    "gp(x):C(g)": [False],
    "re(g)": [False],
    "x + gp(x)": [False],
    "x*z + gp(x) + gp(z)": [False, False],
    "(x + z)**2 + gp(x)": [False],
    "x:z + gp(x)": [True],
    "x/z + gp(x) + gp(z)": [False, True],
    "log(x) + gp(x) + gp(log(x))": [True, False],
    "`x` + gp(x)": [False],
    ". - x + gp(x)": [True],
    "gp(x) + gp(x, kernel='linear', name='slope')": [False, False],
    "gp(x, z, kernel='linear') + gp(x)": [False, False],
    "gp(x):gp(z, kernel='linear') + gp(z)": [False, True],
    "s(x, bs='gp')": [True],
    "s(x, bs='gp', m=-3)": [False],
}


@pytest.mark.parametrize(("terms", "lines"), LINES.items())
def test_a_line_is_there_once(terms, lines):
    assert [term.line for term in parse_formula(f"y ~ {terms}", ["y", "x", "z", "g"]).gps] == lines


@pytest.mark.parametrize("term", ["gp(x, z, line=True)", "gp(x, period=2, line=True)"])
def test_no_line_where_there_can_be_none(term):
    with pytest.raises(FormulaError, match="line=True requires one input"):
        parse_formula(f"y ~ {term}")


@pytest.mark.parametrize("term", ["z:gp(x, line=True)", "gp(x, line=True):gp(z)", "gp(x, line=True):C(g)"])
def test_a_product_has_no_line(term):
    with pytest.raises(FormulaError, match="line=True is not supported in a product; leave it out"):
        parse_formula(f"y ~ {term}")
    assert [each.line for each in parse_formula(f"y ~ {term.replace('True', 'False')}").gps] == [False]


CASES = {
    "plain": ("y ~ gp(x) + gp(z)", {}),
    "no intercept": ("y ~ 0 + gp(x)", {}),
    "levels": ("y ~ z + gp(x, by=g, line=True)", {}),
    "nothing but columns beside it": ("y ~ z + gp(x)", {}),
    "left-censored": ("l ~ gp(x) + z | censor(9)", {}),
    "variational": ("l ~ gp(x) | censor(9)", {"method": "vi"}),
    "laplace": ("l ~ gp(x) | censor(9)", {"method": "laplace"}),
    "weights": ("y ~ gp(x)", {"weights": "w"}),
    "chain": ("y ~ gp(x, kernel='matern32', approximation='markov') + z", {}),
    "dense": ("y ~ gp(x) + gp(z)", {"method": tg.EP(inducing=None)}),
    "times": ("Surv(t, e) ~ gp(x) + z", {"family": "weibull"}),
    "noise scale": ("y ~ gp(x)", {"sigma": "~ z"}),
    "noise process": ("y ~ gp(x)", {"sigma": "~ gp(z)"}),
}


@pytest.fixture(scope="module")
def both(data):
    """A fit, and the same model with the line as a column that has the prior of the line."""

    def fitted(formula, rows=data, **options):
        options = with_settings(options, hyper="maximize")
        res = tg.fit(formula, rows, **options)
        gp, sds = res.parts.gp, {}
        for t, term in enumerate(gp.terms):
            if term.line:
                sds[term.inputs[0].text] = gp.problem.units.scale / gp.problem.units.x_scale[t][0]
        response, terms = formula.split(" ~ ")
        start, terms = ("0 + ", terms[4:]) if terms.startswith("0 + ") else ("", terms)
        priors = {x: tg.Normal(0.0, sd) for x, sd in sds.items()}
        return res, tg.fit(f"{response} ~ {start}{' + '.join(sds)} + {terms}", rows, priors=priors, **options)

    return fitted


@pytest.mark.slow_cases("noise process")
@pytest.mark.parametrize("case", CASES)
def test_the_line_is_a_centred_column_with_its_prior(case, data, both):
    formula, options = CASES[case]
    mean = np.average(data["x"], weights=data["w"] if case == "weights" else None)
    res, other = both(formula, data.assign(x=data["x"] - mean), **options)
    assert res.log_evidence == pytest.approx(other.log_evidence, abs=1e-5)
    for term, slope in res.slopes().iterrows():
        x = term[3:-1].partition(",")[0]
        assert [slope["estimate"], slope["se"]] == pytest.approx([other.params[x], other.bse[x]], rel=2e-3)
    new = data.head(9).assign(x=np.linspace(-4.0, 6.0, 9))
    found, wanted = (fit.predict(new, "median", se=True).to_numpy() for fit in (res, other))
    assert found == pytest.approx(wanted, rel=2e-3, abs=1e-3)


@pytest.mark.parametrize("kernel", ["rbf", "matern32"])
def test_the_origin_and_the_unit_of_the_input_do_not_matter(kernel, data):
    formula = f"y ~ z + gp(x, kernel={kernel!r})"
    far_away = data.assign(x=2000.0 + 7.0 * data["x"])
    near, far = tg.fit(formula, data), tg.fit(formula, far_away)
    assert far.log_evidence == pytest.approx(near.log_evidence, abs=1e-6)
    error = near.slopes().loc["gp(x)", "se"]  # searches end within 1e-5 of a maximum; rounding decides where
    assert 7.0 * far.slopes().to_numpy() == pytest.approx(near.slopes().to_numpy(), abs=1e-3 * error)
    here = near.hyperparameters
    there = {name: value * (7.0 if name.startswith("lengthscale") else 1.0) for name, value in here.items()}
    near, far = tg.fit(formula, data, fixed=here), tg.fit(formula, far_away, fixed=there)
    assert far.log_evidence == pytest.approx(near.log_evidence, abs=1e-8)
    assert 7.0 * far.slopes().to_numpy() == pytest.approx(near.slopes().to_numpy(), abs=1e-8)


@pytest.mark.parametrize("kernel", ["rbf", "matern32', approximation='markov"])
def test_the_term_is_line_and_curve(kernel, data, both, tmp_path):
    formula = f"y ~ z + gp(x, kernel='{kernel}')"
    name = parse_formula(formula).gps[0].name
    res, other = both(formula)
    terms, latent = res.predict(None, "terms"), res.predict(None, "latent")
    assert terms.xs("estimate", axis=1, level=1).sum(axis=1).to_numpy() == pytest.approx(latent.to_numpy(), rel=1e-9)
    of_term = terms[name, "estimate"]
    assert of_term.mean() == pytest.approx(0.0, abs=1e-6)
    apart = other.predict(None, "terms").xs("estimate", axis=1, level=1)
    line = apart["x"] - apart["x"].mean()
    assert of_term.to_numpy() == pytest.approx((line + apart[name]).to_numpy(), abs=2e-3)
    rest = latent - res.predict(None, "latent", exclude=name)
    assert rest.to_numpy() == pytest.approx(of_term.to_numpy(), abs=1e-9)
    res.save(tmp_path / "fit.tgp")
    loaded, new = tg.load(tmp_path / "fit.tgp"), {"x": [3.0, 12.0], "z": 0.0}
    assert loaded.predict(new, interval=0.9).equals(res.predict(new, interval=0.9))
    assert loaded.slopes().equals(res.slopes())


def test_a_line_is_followed_beyond_the_rows():
    x = np.linspace(0.0, 1.0, 40)
    data = {"x": x, "y": 3.0 * x + 0.1 * np.random.default_rng(0).normal(size=40)}
    res = tg.fit("y ~ gp(x)", data)
    slope = res.slopes().loc["gp(x)"]
    assert slope["lower"] < 3.0 < slope["upper"]
    band = res.predict({"x": [2.0]}, "latent", interval=0.95).iloc[0]
    assert band["lower"] < 6.0 < band["upper"]
    assert abs(band["estimate"] - 6.0) < 0.5


FAR = {"x": [20.0, 30.0], "z": 0.0}


def test_draws_and_derivatives_have_the_line(data, both):
    res, other = both("y ~ gp(x) + z")
    for found, wanted in zip(res.posterior(FAR), other.posterior(FAR), strict=True):
        assert np.asarray(found) == pytest.approx(np.asarray(wanted), rel=1e-3)
    effects = [np.ravel(fit.marginal_effects().loc["x"])[0] for fit in (res, other)]
    assert effects[0] == pytest.approx(effects[1], rel=1e-3)
    assert res.anova().loc["gp(x)", "p"] < 1e-6


def test_partitions_have_the_line(data, tmp_path):
    for i in range(2):
        data.iloc[35 * i : 35 * (i + 1)].to_parquet(tmp_path / f"{i}.parquet")
    some, whole = (
        tg.fit("y ~ gp(x) + z", rows, method=tg.EP(hyper="maximize")) for rows in (str(tmp_path / "*.parquet"), data)
    )
    assert some.slopes().to_numpy() == pytest.approx(whole.slopes().to_numpy(), rel=1e-3)


@pytest.mark.slow
def test_hazards_have_the_line_with_their_sign():
    rng = np.random.default_rng(1)
    x = rng.normal(size=300)
    time = rng.exponential(size=300) * np.exp(-x)
    data = pd.DataFrame({"time": np.minimum(time, 2.0), "event": time < 2.0, "x": x})
    res = tg.fit("Surv(time, event) ~ gp(x)", data, family="ph", method=tg.EP(hyper="maximize"))
    slope = next(line for line in str(res.summary()).splitlines() if line.startswith("slope(gp(x))")).split()
    assert float(slope[-2]) < 1.0 < float(slope[-1])
    linear = tg.fit("Surv(time, event) ~ x", data, family="ph", method=tg.EP(hyper="maximize")).priors.loc[
        "x", "spread"
    ]
    assert 2.5 * res.priors.loc["slope(gp(x))", "spread"] == pytest.approx(linear, rel=1e-9)


def test_estimators_of_one_input_have_the_line(data):
    model = CensoredGPRegressor().fit(data[["x"]].to_numpy(), data["y"])
    other = tg.fit(model.results_.formula.replace("x0", "x"), data)
    assert model.results_.slopes().to_numpy() == pytest.approx(other.slopes().to_numpy(), rel=1e-6)
    curve = CensoredGPRegressor(line=False).fit(data[["x"]].to_numpy(), data["y"]).results_
    assert curve.slopes().empty
    assert curve.log_evidence == pytest.approx(tg.fit("y ~ gp(x, line=False)", data).log_evidence, abs=1e-6)
    assert CensoredGPRegressor(line=False).fit(data[["x", "z"]].to_numpy(), data["y"]).results_.slopes().empty


def test_priors_of_slopes(data):
    tight = tg.fit("y ~ gp(x)", data, method=tg.EP(hyper="maximize"), priors={"slope(gp(x))": tg.Normal(0.0, 1e-4)})
    none = tg.fit("y ~ gp(x, line=False)", data, method=tg.EP(hyper="maximize"), priors=_same(tight))
    assert tight.log_evidence == pytest.approx(none.log_evidence, abs=1e-3)
    assert tight.priors.loc["slope(gp(x))"].tolist() == ["normal", 0.0, 1e-4, "priors="]
    dropped = tg.fit("y ~ gp(x)", data, method=tg.EP(hyper="maximize"), priors={"slope(gp(x))": None})
    assert dropped.priors.loc["slope(gp(x))", "distribution"] == "flat"
    assert "Prior of slope(gp(x)): flat" in " ".join(str(dropped.summary(details=True)).split())
    default = tg.fit("y ~ gp(x)", data, method=tg.EP(hyper="maximize")).priors.loc["slope(gp(x))"]
    assert default["spread"] == pytest.approx(data["y"].std(ddof=0) / data["x"].std(ddof=0), rel=1e-9)
    with pytest.raises(SpecError, match=r"takes tg\.Normal\(0, sd\)"):
        tg.fit("y ~ gp(x)", data, priors={"slope(gp(x))": tg.Normal(1.0, 1.0)})
    with pytest.raises(SpecError, match="not a parameter"):
        tg.fit("y ~ gp(x)", data, fixed={"slope(gp(x))": 1.0})


def _same(res):
    """Priors of the hyper-parameters of a fit."""
    known = res.parts.fitted.parameters
    values = np.exp(known.prior_mean) * known.units
    return {n: tg.LogNormal(v, s) for n, v, s in zip(known.names, values, known.prior_sd, strict=True)}
