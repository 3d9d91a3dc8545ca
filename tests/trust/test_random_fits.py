"""Random formulas on random data: every fit is refused, warns or is right.

``TOBITGP_EXAMPLES=2000 pytest -m study tests/trust/test_random_fits.py`` looks further, at slower cases.
"""

import contextlib
import os
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from support.random_fits import cases, fit_case, judge

import tobitgp as tg
from tobitgp.errors import TobitGPError
from tobitgp.inference import site_updates

WANTED = os.environ.get("TOBITGP_EXAMPLES")


CALM = {"suppress_health_check": [HealthCheck.too_slow, HealthCheck.filter_too_much], "deadline": None}
FIXED = {"derandomize": True, "phases": [Phase.explicit, Phase.generate], **CALM}


@pytest.mark.slow
@settings(max_examples=30, **FIXED)
@given(cases(most=16, easy=True))
def test_every_fit_is_refused_or_warns_or_is_right(case):
    judge(case, *fit_case(case))


@pytest.mark.study
@settings(**(CALM | {"max_examples": int(WANTED)} if WANTED else FIXED | {"max_examples": 200}))
@given(cases() if WANTED else cases(most=16, easy=True))
def test_more_fits(case):
    judge(case, *fit_case(case))


MOST = 8_000  # visits of a fit of a dozen rows


class TooMuchWork(Exception):
    """More visits to the rows than a fit may make."""


@pytest.fixture(scope="module")
def visits():
    """How often rows were visited, of which no fit makes more than `MOST`."""
    count, visit = [0], site_updates.visit

    def counted(state, q):
        count[0] += 1
        if count[0] > MOST:
            raise TooMuchWork
        return visit(state, q)

    site_updates.visit = counted
    yield count
    site_updates.visit = visit


def delayed(seed, weights):
    """Survival times of a dozen rows, seen from entries of their own."""
    rng = np.random.default_rng(seed)
    x, z = rng.uniform(-2, 2, 12), rng.normal(size=12)
    y = np.exp(
        np.sin(2 * x) * rng.uniform(0, 2) + rng.uniform(-1, 1) * z + rng.choice([0.01, 0.3]) * rng.normal(size=12)
    )
    frame = pd.DataFrame({"x": x, "z": z, "y": y, "e": rng.random(12) < 0.7, "en": y * rng.uniform(0, 1, 12)})
    return frame.assign(weight=rng.uniform(*weights, 12))


METHODS = {"ep": tg.EP, "vi": tg.VI, "laplace": tg.Laplace}


def fit_quietly(right, data, visits, method="ep", **options):
    visits[0] = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        options |= {"family": "lognormal", "weights": "weight"}
        options |= {"method": METHODS[method](hyper="maximize", max_iter=20)}
        return tg.fit(f"Surv(en, y, e) ~ {right}", data, **options)


@pytest.mark.slow
def test_expectation_propagation_that_crawls_gives_way(visits):
    """Weights below 1 leave rows no cavity; what takes over is variational inference as if it had been asked for."""
    data = delayed(4, (0.2, 1.0))
    term = "gp(x):gp(z)"
    little = {f"sd({term})": tg.LogNormal(1.5, 0.8), "sigma": tg.LogNormal(0.1, 1.0)}
    res = fit_quietly(term, data, visits, priors=little)
    assert res.method == "vi"
    assert res.converged
    asked = fit_quietly(term, data, visits, priors=little, method="vi")
    assert res.log_evidence == pytest.approx(asked.log_evidence, abs=0.01)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sd", "across", "along", "sigma", "evidence"),
    [(1.95736, 0.96988, 3.73097, 0.00056, 16.8787), (2.0, 1.0, 4.0, 0.0003, 20.2231)],
)
def test_bounds_settle_where_the_prior_is_wide_against_the_noise(visits, sd, across, along, sigma, evidence):
    """In a thousand and more visits before, and not all the way; the evidences are those of then."""
    term = "gp(x):gp(z)"
    fixed = {f"sd({term})": sd, f"lengthscale({term})[x]": across, f"lengthscale({term})[z]": along, "sigma": sigma}
    res = fit_quietly(term, delayed(1, (0.05, 3.0)), visits, method="vi", fixed=fixed)
    assert res.converged
    assert res.log_evidence == pytest.approx(evidence, abs=1e-3)
    assert visits[0] < 400


WORK = given(
    seed=st.integers(0, 2**31),
    weights=st.sampled_from([(0.2, 1.0), (0.0, 3.0), (1.0, 3.0), (1.0, 1e3)]),
    right=st.sampled_from(["gp(x):gp(z)", "gp(x)", "gp(x, z, kernel='matern12')", "gp(x, kernel='rq') + z"]),
    method=st.sampled_from(["ep", "vi", "laplace"]),
)


def has_an_end(visits, seed, weights, right, method):
    with contextlib.suppress(TobitGPError):
        fit_quietly(right, delayed(seed, weights), visits, method=method)
    assert visits[0] <= MOST


@pytest.mark.slow
@settings(max_examples=3, **FIXED)
@WORK
def test_work_is_bounded_whatever_the_windows_and_weights(visits, seed, weights, right, method):
    has_an_end(visits, seed, weights, right, method)


@pytest.mark.study
@settings(max_examples=12, **FIXED)
@WORK
def test_more_work_is_bounded(visits, seed, weights, right, method):
    has_an_end(visits, seed, weights, right, method)
