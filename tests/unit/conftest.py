import numpy as np
import pandas as pd
import pytest

import tobitgp as tg


@pytest.fixture(scope="session")
def tobin():
    return tg.datasets.load("tobin")


@pytest.fixture(scope="session")
def lung():
    return tg.datasets.load("lung").dropna(subset=["ph_ecog"])


@pytest.fixture(scope="session")
def mixed():
    """Two-sided limits, a factor, a linear column and a curve."""
    rng = np.random.default_rng(5)
    n = 60
    data = pd.DataFrame({"x": rng.uniform(0, 4, n), "z": rng.normal(size=n), "g": rng.choice(["a", "b"], n)})
    data["y"] = np.sin(2 * data["x"]) + 0.5 * data["z"] + (data["g"] == "b") + rng.normal(0, 0.2, n)
    data["low"] = np.where(data["g"] == "a", -0.6, -0.2)
    data["y"] = data["y"].clip(data["low"], 1.4)
    data.index = [f"r{i}" for i in range(n)]
    return data


@pytest.fixture(scope="session")
def averaged(mixed):
    """Hyper-parameters integrated."""
    return tg.fit("y ~ z + g + gp(x) | censor(low, 1.4)", mixed, method=tg.EP(hyper="integrate"))


@pytest.fixture(scope="session")
def maximised(mixed):
    return tg.fit("y ~ z + g + gp(x, line=False) | censor(low, 1.4)", mixed, method=tg.EP(hyper="maximize"))


@pytest.fixture(scope="session")
def log_time(lung):
    return tg.fit(
        "time ~ gp(age) + ph_ecog | censor(event=event)", lung, family="lognormal", method=tg.EP(hyper="integrate")
    )


@pytest.fixture(scope="session")
def ammonium():
    """Log time with limits in a column."""
    return tg.fit(
        "nh4 ~ gp(time) | censor(limit)", tg.datasets.load("nh4"), family="lognormal", method=tg.EP(hyper="integrate")
    )
