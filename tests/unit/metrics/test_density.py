import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

import tobitgp as tg
from tobitgp.distributions import CensoredNormal
from tobitgp.errors import DataError, SpecError
from tobitgp.metrics import mnll, nlpd


@pytest.fixture
def rows(rng):
    return rng.normal(0.0, 2.0, 60), rng.normal(size=60), rng.uniform(0.5, 2.0, 60)


def test_without_censoring_both_are_the_normal_density(rows):
    y, mean, sd = rows
    want = -norm.logpdf(y, mean, sd).mean()
    assert abs(mnll(y, mean, sd) - want) < 1e-12
    assert abs(nlpd(y, mean, sd) - want) < 1e-12


def test_limits_give_the_censored_normal(rows):
    y, mean, sd = rows
    want = -CensoredNormal(mean, sd, -1.0, 1.5).logpdf(np.clip(y, -1.0, 1.5))
    assert abs(nlpd(y, mean, sd, lower=-1.0, upper=1.5) - want.mean()) < 1e-12
    apart = nlpd(y, mean, sd, lower=-1.0, upper=1.5, stratify=True)
    assert apart.index.tolist() == ["all", "exact", "left", "right"]
    np.testing.assert_allclose(apart["left"], want[y <= -1.0].mean())
    np.testing.assert_allclose(apart["exact"], want[abs(y - 0.25) < 1.25].mean())
    parts = nlpd(y, mean, sd, lower=-1.0, upper=1.5, stratify=(-1.0, 1.5), contributions=True)
    assert abs(parts[1:].sum() - want.mean()) < 1e-12


def test_ends_and_events_say_the_same_as_limits(rows):
    y, mean, sd = rows
    low, high = np.where(y <= -1.0, -np.inf, y), np.where(y <= -1.0, -1.0, y)
    want = nlpd(y, mean, sd, lower=-1.0, stratify=True)
    pd.testing.assert_series_equal(nlpd(None, mean, sd, lower=low, upper=high, stratify=True), want)
    event = y < 1.0
    found = nlpd(np.minimum(y, 1.0), mean, sd, event=event)
    assert abs(found - nlpd(y, mean, sd, upper=1.0)) < 1e-12


def test_intervals_are_probabilities_with_relative_precision():
    found = nlpd(
        None, [0.0, 0.0, 0.0], 1.0, lower=[-1.0, 30.0, -np.inf], upper=[2.0, 31.0, np.inf], stratify=list("abc")
    )
    assert abs(found["a"] + np.log(norm.cdf(2.0) - norm.cdf(-1.0))) < 1e-12
    assert abs(found["b"] + norm.logsf(30.0)) < 1e-10
    assert found["c"] == 0.0
    assert nlpd(None, [0.0], 1.0, lower=[0.0], upper=[1.0], stratify=True).index.tolist() == ["all", "interval"]


def test_a_narrow_interval_is_a_density_times_its_width():
    width = 1e-6
    found = nlpd(None, [3.0], 2.0, lower=[1.0], upper=[1.0 + width])
    assert abs(found + norm.logpdf(1.0, 3.0, 2.0) + np.log(width)) < 1e-6


def test_the_true_prediction_is_best(rng):
    mean, sigma = rng.normal(size=4000), 0.7
    y = mean + sigma * rng.normal(size=4000)
    best = nlpd(y, mean, sigma, lower=-0.5, upper=1.0)
    assert best < min(nlpd(y, mean, sigma * k, lower=-0.5, upper=1.0) for k in (0.7, 1.4))
    assert best < nlpd(y, mean + 0.2, sigma, lower=-0.5, upper=1.0)


def test_tables_of_moments_are_read():
    frame = pd.DataFrame({"mean": [0.0, 1.0], "se": [1.0, 2.0], "sd": [3.0, 4.0]})
    assert mnll([0.5, 0.5], frame) == mnll([0.5, 0.5], [0.0, 1.0], [1.0, 2.0])
    assert mnll([0.5, 0.5], frame[["mean", "se"]].set_axis(["mean", "mean_se"], axis=1)) == mnll([0.5, 0.5], frame)
    assert nlpd([0.5, 0.5], frame) == nlpd([0.5, 0.5], [0.0, 1.0], [3.0, 4.0])
    with pytest.raises(SpecError, match=r"sd= must be given: .* columns mean, se, .* sd includes the noise"):
        nlpd([0.5, 0.5], frame[["mean", "se"]])


def test_a_fit_of_a_papers_problem_is_judged_on_its_latent_function():
    data = tg.datasets.simulate_groot_lucas(rng=1)
    res = tg.fit("y ~ gp(x) | censor(lower)", data, fixed={"sigma": 0.3})
    found = mnll(data["f"], res.predict(what="latent", se=True), stratify=(data["lower"], None))
    assert found.index.tolist() == ["all", "below", "inside"]
    assert found["inside"] < found["below"]


def test_a_far_observation_is_worth_nothing_without_a_warning():
    assert nlpd([1e200], [0.0], 1.0) == np.inf
    assert nlpd([1e200, 0.0], [0.0, 0.0], 1.0, lower=-1.0, upper=1.0) > 0.0


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"sd": 0.0}, DataError, r"sd=0: must be positive, in row 0 \(counted from 0\)"),
        ({"sd": [1.0, -1.0]}, DataError, "sd=-1: must be positive, in row 1"),
        ({"sd": None}, SpecError, "sd= must be given: one standard deviation"),
        ({"sd": [1.0]}, DataError, "sd has 1 rows, but must have 2"),
        ({"mean": [1.0, np.nan]}, DataError, "mean is missing in row 1"),
        ({"mean": 1.0}, DataError, r"mean has shape \(\)"),
        ({"y": [1.0]}, DataError, "y has 1 rows, but must have 2"),
        ({"y": None}, SpecError, "y=None requires the ends"),
        ({"event": [1, 2]}, DataError, "event is neither 0 nor 1"),
        ({"event": [1, 1], "lower": 0.0}, SpecError, "event= cannot be combined with"),
        ({"y": None, "lower": [0.0, 1.0], "stratify": (0.0, 1.0)}, SpecError, "stratify= with y=None must be True"),
        ({"stratify": "kind"}, SpecError, "or True for the rows' own censoring"),
    ],
)
def test_bad_input_is_named(given, error, message):
    with pytest.raises(error, match=message):
        nlpd(**({"y": [1.0, 2.0], "mean": [1.0, 2.0], "sd": 1.0} | given))
