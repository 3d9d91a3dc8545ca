"""Questions and arguments that ended in an error of Python's."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import log_ndtr

import tobitgp as tg
from tobitgp.errors import ApproximationWarning, FormulaError, SpecError


@pytest.fixture(scope="module")
def data():
    rng, n = np.random.default_rng(0), 40
    data = pd.DataFrame({"x": rng.normal(size=n), "g": rng.integers(0, 6, n).astype(str)})
    data["y"], data["v"] = rng.normal(size=(2, n))
    data["time"], data["event"] = rng.exponential(size=n), rng.binomial(1, 0.7, n)
    return data.assign(why=pd.Categorical(np.resize(["none", "first", "second"], n), ["none", "first", "second"]))


@pytest.mark.parametrize("sigma", [1, 0.5, [1, 1]])
def test_a_scale_of_several_responses_is_a_formula(data, sigma):
    with pytest.raises(FormulaError, match="the formula of the noise scales of mvbind"):
        tg.fit("mvbind(y, v) ~ x", data, sigma=sigma)


def test_a_fit_with_functions_is_not_saved(data, tmp_path):
    normal = tg.CustomNoise("own", lambda z: -0.5 * z**2 - 0.5 * np.log(2 * np.pi), lambda z: log_ndtr(-z))
    with pytest.raises(SpecError, match=r"CustomNoise\('own'.*pickle.dump"):
        tg.fit("y ~ x", data, family=normal, method="mle").save(tmp_path / "fit.tgp")


def test_random_effects_of_hazards_are_drawn(data):
    fit = tg.fit(
        "Surv(time, event) ~ x + (1 | g)", data, family=tg.PH("piecewise", bands=2), method=tg.EP(hyper="maximize")
    )
    assert [ax.get_xlabel() for ax in fit.plot_terms()] == ["x", "g"]


@pytest.mark.parametrize("what", ["uncensored", "observed", "sigma", "conditional"])
def test_effects_of_hazards_are_on_what_is_known(data, what):
    fit = tg.fit("Surv(time, event) ~ x", data, family=tg.PH("gp", bands=2), method=tg.EP(hyper="maximize"))
    with pytest.raises(SpecError):
        fit.marginal_effects(what)


def test_effects_on_medians_next_to_the_last_exit_say_why_they_have_no_standard_error(data):
    times = np.linspace(0.1, 1.0, 40)  # of which a half is known: the median is close to the last exit
    seen = data.assign(time=times, event=(np.arange(40) % 2 == 0) * 1)
    fit = tg.fit("Surv(time, event) ~ x", seen, family=tg.PH("piecewise", bands=1), method="mle")
    with pytest.warns(ApproximationWarning, match="no standard error, because some times are infinite"):
        effect = fit.marginal_effects("median", "mean")
    assert np.isfinite(effect["dydx"]).all()
    assert effect["se"].isna().all()
    assert np.isfinite(fit.marginal_effects("survival", times=0.5)["se"]).all()


def test_competing_risks_name_their_response_as_written(data):
    pytest.importorskip("arviz")
    found = tg.fit("Surv(time, why) ~ x", data, family="exponential").to_arviz(5)
    assert list(found.log_likelihood.data_vars) == ["Surv(time, why)"]
