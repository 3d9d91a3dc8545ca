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
