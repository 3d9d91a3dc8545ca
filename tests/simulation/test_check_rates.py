"""How often ``check`` flags the right family, and how often it finds what is wrong.

200 rows around a curve, none or 30% of them left-censored at one limit, by a process with gaussian noise. "Flagged" is
any diagnostic that is doubtful or bad. Found with censored rows: of the right family .06 to .17 by the stream of draws,
.095 on the average of four (.045 by the residuals alone, the rest by k-hat and by influential rows), t3 noise .92,
exponential noise 1, a straight line for the curve 1; without them t3 noise .98, exponential noise and the line 1.
"""

import warnings

import numpy as np
import pytest

import tobitgp as tg
from tobitgp.errors import ApproximationWarning

N = 200
NOISES = {
    "normal": lambda rng: rng.standard_normal(N),
    "t3": lambda rng: rng.standard_t(3.0, N) / np.sqrt(3.0),
    "exponential": lambda rng: rng.exponential(1.0, N) - 1.0,
}
DIAGNOSTICS = {"calibration", "symmetry", "tails", "spread", "pattern in x"}


def simulate(noise, censored, seed):
    rng = np.random.default_rng([seed, 77])
    x = rng.uniform(0.0, 4.0, N)
    y = np.sin(2.0 * x) + 0.4 * NOISES[noise](rng)
    low = np.quantile(y, censored) if censored else y.min() - 1.0
    return {"x": x, "y": np.maximum(y, low), "low": np.full(N, low)}


def flags(formula, noise, censored, sets, streams=(None,), **options):
    """Names of what was flagged in each set, by each stream of draws."""
    found = []
    for seed in range(sets):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ApproximationWarning)
            res = tg.fit(formula, simulate(noise, censored, seed), **options)
            tables = [res.check(rng=rng).table for rng in streams]
        found += [set(table.index[table["verdict"] != "good"]) for table in tables]
    return found


def share(found, among=None):
    return np.mean([bool(names if among is None else names & among) for names in found])


PROCESS, MISSED = "y ~ gp(x) | censor(low)", "y ~ x | censor(low)"


@pytest.mark.slow
@pytest.mark.parametrize("censored", [0.0, 0.3])
def test_the_right_family_is_rarely_flagged(censored):
    found = flags(PROCESS, "normal", censored, 100, streams=range(4), hyper="maximize")
    print(censored, share(found), share(found, DIAGNOSTICS))
    assert share(found) < 0.1
    assert share(found, DIAGNOSTICS) < 0.1


@pytest.mark.slow
@pytest.mark.parametrize("censored", [0.0, 0.3])
@pytest.mark.parametrize(("noise", "least"), [("t3", 0.8), ("exponential", 0.9)])
def test_a_wrong_noise_is_flagged(noise, least, censored):
    found = flags(PROCESS, noise, censored, 50, hyper="maximize")
    print(noise, censored, share(found), share(found, DIAGNOSTICS))
    assert share(found) > least


@pytest.mark.slow
@pytest.mark.parametrize("censored", [0.0, 0.3])
def test_a_curve_that_is_missed_is_flagged(censored):
    found = flags(MISSED, "normal", censored, 50)
    print(censored, share(found, {"pattern in x"}))
    assert share(found, {"pattern in x"}) > 0.9
