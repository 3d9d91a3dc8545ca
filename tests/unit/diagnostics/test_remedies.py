"""What check() proposes: only what the kind of fit has, in words that can be copied, and helps."""

import ast
import re

import numpy as np
import pandas as pd
import pytest

import tobitgp as tg
from tests.support.advice import remedies_in
from tobitgp.diagnostics.remedies import Noise, remedies
from tobitgp.diagnostics.residual_tests import BAD, GOOD

FRAME = pd.DataFrame({"z": [0.1, 0.2, 0.4], "g": list("abc"), "body mass": [1.0, 2.0, 4.0], "k": [1, 2, 3]})
PLAIN = Noise("gaussian noise", "", "", otherwise="Else.")


def test_spread():
    """No column is invented, no curve through two values, and nothing proposed that is there."""
    fit = FRAME["z"].to_numpy()
    assert "sigma='~ z'" in PLAIN.of_spread("z", fit, FRAME)
    assert "sigma='~ `body mass`'" in PLAIN.of_spread("body mass", fit, FRAME)
    assert "sigma='~ k'" in PLAIN.of_spread("", 2.0 * FRAME["k"].to_numpy(), FRAME[["k"]])
    assert PLAIN.of_spread("", fit, pd.DataFrame(index=range(3))) == "Else."
    assert "gp(" not in PLAIN.of_spread("b", fit, pd.DataFrame({"b": [True, False, True]}))
    there = Noise("gaussian noise", "", "", scale=("z",), otherwise="Else.")
    assert there.of_spread("z", fit, FRAME) == "Model the scale by sigma='~ gp(z)', a curve. Else."
    assert Noise("", "", "", scale=("z", "gp(z)"), otherwise="Else.").of_spread("z", fit, FRAME) == "Else."
    assert Noise("", "", "", scale=None, otherwise="Else.").of_spread("z", fit, FRAME) == "Else."


def _rows(case):
    rng = np.random.default_rng(3)
    n = 500
    z, noise = rng.uniform(-2.0, 2.0, n), rng.normal(size=n)
    y = {
        "spread": z + np.exp(0.7 * z) * noise,
        "pattern": np.sin(2.5 * z) + 0.5 * noise,
        "tails": z + rng.standard_t(2.5, size=n),
    }
    g = rng.choice(list("rst"), n)
    time = rng.weibull(np.where(g == "s", 3.0, 0.7)) * 5.0 + 0.01
    return pd.DataFrame({"body mass": z, "g": g, "y": y.get(case, z + noise), "time": time, "event": 1})


CASES = {  # finding: rows, formula, options
    "spread in body mass": ("spread", "y ~ `body mass`", {}),
    "spread": ("spread", "y ~ `body mass`", {}),
    "pattern in body mass": ("pattern", "y ~ `body mass`", {}),
    "tails": ("tails", "y ~ `body mass`", {}),
    "calibration": ("tails", "y ~ `body mass`", {}),
    "proportional hazards": ("hazard", "Surv(time, event) ~ g", {"family": tg.PH("spline", df=2)}),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_what_was_found_is_gone(name):
    case, formula, options = CASES[name]
    data = _rows(case)
    before = tg.fit(formula, data, **options).check().table.loc[name]
    assert before["verdict"] == BAD
    remedies, verdicts = remedies_in(before["words"]), []
    assert remedies
    for _, carry_out in remedies:
        after = carry_out(formula, data, options).check().table
        verdicts.append(after.loc[name, "verdict"] if name in after.index else GOOD)
    assert GOOD in verdicts
    assert BAD not in verdicts[:1]


def _verdict(res, name):
    return res.check().table.loc[name, "verdict"]


@pytest.mark.slow
def test_tails_that_are_too_light():
    """Of values cut off at limits, and of two groups: with the limits or the column they are those of the noise."""
    rng = np.random.default_rng(12)
    data = pd.DataFrame({"z": rng.normal(size=300), "arm": rng.integers(0, 2, 300)})
    data["cut"] = np.clip(data["z"] + 2.0 * rng.normal(size=300), -2.0, 2.0)
    data["mixed"] = data["z"] + 8.0 * data["arm"] + rng.normal(size=300)
    for before, after in (("cut ~ z", "cut ~ z | censor(-2, 2)"), ("mixed ~ z", "mixed ~ z + arm")):
        found = tg.fit(before, data).check().table.loc["tails"]
        assert found["verdict"] == BAD
        assert "add it by censor() or truncate(); if two groups are mixed, add the column" in found["words"]
        assert _verdict(tg.fit(after, data), "tails") == GOOD


@pytest.mark.slow
@pytest.mark.parametrize(
    ("before", "options", "words", "after"),
    [
        ("y ~ bs(`x m`, df=4)", {}, "The spline of `x m` is too smooth: raise its df=", "y ~ bs(`x m`, df=14)"),
        (
            "y ~ gp(`x m`)",
            {"fixed": {"lengthscale(gp(x m))": 6.0}, "method": tg.EP(hyper="maximize", n_starts=1)},
            "estimate its length-scale if that is fixed",
            "y ~ gp(`x m`)",
        ),
    ],
)
def test_a_smooth_effect_that_is_too_smooth(before, options, words, after):
    """What is there already is not proposed again."""
    rng = np.random.default_rng(19)
    data = pd.DataFrame({"x m": rng.uniform(0, 9, 200)})
    data["y"] = np.sin(2.5 * data["x m"]) + 0.3 * rng.normal(size=200)
    found = tg.fit(before, data, **options).check().table.loc["pattern in x m"]
    assert found["verdict"] == BAD
    assert words in found["words"]
    res = tg.fit(after, data, **{name: value for name, value in options.items() if name != "fixed"})
    assert _verdict(res, "pattern in x m") == GOOD
    assert res.params["sigma"] == pytest.approx(0.3, rel=0.15)


@pytest.mark.slow
def test_strata_of_a_frailty():
    """Arms with different shapes, of which the strata have the true ones, 1 / 0.4 and 1 / 1.4."""
    rng = np.random.default_rng(16)
    clinic, arm = rng.integers(0, 40, 600), rng.integers(0, 2, 600)
    time = (rng.exponential(1.0, 600) / rng.gamma(2.0, 0.5, 40)[clinic]) ** np.where(arm == 1, 0.4, 1.4)
    data = pd.DataFrame({"t": np.minimum(time, 3.0), "e": time <= 3.0, "arm": arm, "clinic no": clinic})
    options = {"family": tg.PH("weibull", frailty="gamma")}
    found = tg.fit("Surv(t, e) ~ arm + (1 | `clinic no`)", data, **options).check().table.loc["spread"]
    assert found["verdict"] == BAD
    assert "strata()" in found["words"]
    res = tg.fit("Surv(t, e) ~ strata(arm) + (1 | `clinic no`)", data, **options)
    assert _verdict(res, "calibration") == GOOD
    assert "spread" not in res.check().table.index or _verdict(res, "spread") == GOOD


@pytest.mark.slow
def test_the_scale_of_times_of_which_some_are_cured():
    """Formulas for both, which can be copied, and after which nothing is found."""
    rng = np.random.default_rng(461)
    n = 400
    age = rng.uniform(20, 80, n)
    size = np.exp((age - 50) / 40)
    latent = np.exp((age - 50) / 40 + np.log(rng.weibull(1.5, n)) * size + 1.0)
    time, end = np.where(rng.random(n) < 0.3, np.inf, latent), rng.uniform(5, 15, n)
    data = pd.DataFrame({"age y": age, "time": np.minimum(time, end), "event": time <= end})
    cure = tg.fit("Surv(time, event) ~ `age y`", data, family="weibull", cure="~ 1")
    found = cure.check().table.loc["spread in age y"]
    assert found["verdict"] == BAD
    (code,) = re.findall(r"formulas=(\{.*?\})", found["words"])
    both = tg.fit("Surv(time, event) ~ `age y`", data, family="weibull", formulas=ast.literal_eval(code))
    assert both.check().table.loc["spread in age y", "verdict"] == GOOD
    assert both.aic < cure.aic - 20.0
    assert "formulas=" not in remedies(both).of_spread("age y", age, data)


@pytest.mark.parametrize("sigma", ["~ z", "~ C(k)", "~ bs(z, df=3)", "~ z + C(k)", "~ gp(z)"])
def test_every_form_of_sigma_is_known(sigma):
    """Columns and curves that sigma= has are not proposed again."""
    rng = np.random.default_rng(4)
    data = pd.DataFrame({"z": rng.normal(size=60).round(2), "k": rng.integers(1, 3, 60)})
    data["y"] = data["z"] + rng.normal(size=60).round(2)
    options = {"method": tg.EP(hyper="maximize", n_starts=1)} if "gp" in sigma else {}
    noise = remedies(tg.fit("y ~ z", data, sigma=sigma, **options))
    for name in ("z", "k"):
        there = f"gp({name})" if "gp" in sigma else name
        assert (there in noise.scale) == (name in sigma)
        assert f"sigma='~ {there}'" not in noise.of_spread(name, data["y"].to_numpy(), data) or name not in sigma
