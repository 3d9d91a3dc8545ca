"""Processes of rows that only a window let through: the curve of all rows comes back, whatever the noise."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from support.methods import having

import tobitgp as tg

pytestmark = pytest.mark.diagonal

NOISE = {"gaussian": stats.norm, "logistic": stats.logistic, "gumbel": stats.gumbel_l, "student": stats.t(4.0)}
FAMILY = {name: name for name in NOISE} | {"student": tg.Student(4.0)}
WINDOWS = {"truncate(0)": (0.0, np.inf), "truncate(upper=0.5)": (-np.inf, 0.5), "truncate(-0.8, 0.8)": (-0.8, 0.8)}
SIGMA = 0.3


def seen(name, window, seed=1, n=160):
    """Rows of a wave whose value lies in the window."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(0.0, 5.0, n)
    y = np.sin(x) + SIGMA * NOISE[name].rvs(size=n, random_state=rng)
    low, high = WINDOWS[window]
    return pd.DataFrame({"x": x, "y": y})[(y > low) & (y < high)]


@pytest.mark.parametrize("method", ["ep", "vi", "laplace"])
@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("name", NOISE)
def test_methods_agree_near_the_data(name, window, method):
    data = seen(name, window)
    fixed = {"sd(gp(x))": 0.8, "lengthscale(gp(x))": 1.0, "sigma": SIGMA}
    res = tg.fit(f"y ~ gp(x) | {window}", data, family=FAMILY[name], method=method, fixed=fixed)
    assert res.converged
    assert np.sqrt(np.mean((res.predict(data) - np.sin(data["x"])) ** 2)) < 0.3


@pytest.mark.parametrize("name", [pytest.param("student", marks=pytest.mark.slow), "logistic", "gumbel"])
@pytest.mark.slow_cases("logistic", "gumbel")
def test_default_fits(name):
    data = seen(name, "truncate(0)")
    res = tg.fit("y ~ gp(x) | truncate(0)", data, family=name)
    blind = tg.fit("y ~ gp(x)", data, family=name)
    truth = np.sin(data["x"])
    assert res.converged
    assert np.sqrt(np.mean((res.predict(data) - truth) ** 2)) < 0.25
    assert ((res.predict(data) - truth) ** 2).mean() < ((blind.predict(data) - truth) ** 2).mean()
    assert (res.evidence_kind, blind.evidence_kind) == ("ep", "ep")
    assert res.params["sigma"] == pytest.approx(SIGMA, rel=0.5)


@pytest.mark.slow
@pytest.mark.parametrize("family", ["loglogistic", "weibull", "lognormal"])
def test_late_entry(family):
    rng = np.random.default_rng(5)
    x = rng.uniform(size=400)
    noise = {"loglogistic": stats.logistic, "weibull": stats.gumbel_l, "lognormal": stats.norm}[family]
    time = np.exp(0.5 + np.sin(6.0 * x) + 0.5 * noise.rvs(size=400, random_state=rng))
    entry = rng.uniform(0.0, 2.5, 400)
    exit = entry + rng.exponential(4.0, 400)
    rows = pd.DataFrame({"x": x, "entry": entry, "time": np.minimum(time, exit), "event": (time <= exit).astype(int)})
    rows = rows[time > entry]
    found = {}
    for method in ("ep", "vi", "laplace"):
        res = tg.fit("Surv(entry, time, event) ~ gp(x)", rows, family=family, method=having(method, hyper="maximize"))
        assert res.converged
        found[method] = res
    truth = 0.5 + np.sin(6.0 * rows["x"])
    for res in found.values():
        assert np.sqrt(np.mean((res.predict(rows, "latent") - truth) ** 2)) < 0.3
        assert res.log_evidence == pytest.approx(found["ep"].log_evidence, abs=0.5)
    assert found["vi"].log_evidence <= found["ep"].log_evidence + 0.01
