import numpy as np
import pandas as pd
import pytest

import tobitgp as tg


@pytest.fixture(scope="session")
def visits():
    """Curves of three levels, twelve hospitals with numbers for names, a varying slope, dates; limits on both sides."""
    rng = np.random.default_rng(8)
    n = 150
    data = pd.DataFrame({"x": rng.uniform(0, 6, n), "z": rng.normal(1, 1, n), "g": rng.choice(["a", "b", "c"], n)})
    data["h"] = rng.integers(101, 113, n)
    data["k"] = rng.integers(0, 10, n)
    data["day"] = pd.Timestamp("2019-01-01") + pd.to_timedelta(rng.integers(0, 1000, n), unit="D")
    f = np.sin(data["x"]) * (data["g"] != "b") + 0.4 * data["z"] * np.cos(data["x"]) + 0.1 * (data["h"] - 106)
    data["y"] = (f + rng.normal(0, 0.2, n)).clip(-1.0, 1.5)
    return data


@pytest.fixture(scope="session")
def grouped(visits):
    return tg.fit("y ~ gp(x, by=g) + z:gp(x) + re(h) | censor(-1, 1.5)", visits, method=tg.EP(hyper="maximize"))


@pytest.fixture(scope="session")
def curve():
    """One curve, one limit."""
    return tg.fit("y ~ gp(x) | censor(lower)", tg.datasets.simulate_groot_lucas())


@pytest.fixture(scope="session")
def lung():
    data = tg.datasets.load("lung").dropna(subset=["ph_ecog", "wt_loss"])
    formula = "Surv(time, event) ~ gp(age) + gp(wt_loss) + ph_ecog + C(sex)"
    return tg.fit(formula, data, family="lognormal", method=tg.EP(hyper="maximize"))


@pytest.fixture(scope="session")
def awkward():
    """Names that are markup in HTML and in LaTeX."""
    data = tg.datasets.simulate_groot_lucas().rename(columns={"x": "a_b<c>&", "y": "y%_$"})
    data["z~^{top}|#"] = np.cos(8 * data["a_b<c>&"])
    formula = "`y%_$` ~ `z~^{top}|#` + gp(`a_b<c>&`, name='<i>t_1') | censor(lower)"
    return tg.fit(formula, data, method=tg.EP(hyper="maximize"))
