"""Fits in several threads at once give the numbers, to the last bit, of the same fits one after the other."""

import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
from support.methods import with_settings

import tobitgp as tg


def make(seed, n=80):
    rng = np.random.default_rng(seed)
    x, z, g = rng.uniform(0, 6, n), rng.normal(size=n), rng.choice(list("abc"), n)
    y = np.sin(x) + 0.3 * z + 0.3 * rng.normal(size=n)
    return pd.DataFrame({"x": x, "z": z, "g": g, "y": np.maximum(y, -0.3), "t": np.exp(y), "k": rng.poisson(2, n)})


def process(data, **options):
    fit = tg.fit("y ~ z + gp(x) + re(g) | censor(-0.3)", data, rng=1, **with_settings(options, hyper="maximize"))
    new = data.head(4)
    drawn = fit.sample(new, draws=3, rng=2).to_numpy().ravel()
    return [fit.log_evidence, *fit.params, *fit.bse, *fit.predict(new, what="observed"), *drawn]


def regression(data, **options):
    fit = tg.fit("y ~ z + C(g) | censor(-0.3)", data, **options)
    return [fit.llf, *fit.params, *fit.bse, *fit.predict(data.head(4), what="observed")]


def mixture(data, formula="t ~ mixture(2)", **options):
    fit = tg.fit(formula, data, rng=4, **options)
    return [fit.elbo, *fit.params, *fit.bse]


FITS = {
    "ep": lambda data: process(data),
    "vi": lambda data: process(data, method="vi"),
    "laplace": lambda data: process(data, method="laplace"),
    "local": lambda data: process(data, method=tg.VI(bound="local")),
    "student laplace": lambda data: process(data, family=tg.Student(df=4), method="laplace"),
    "regression": regression,
    "student regression": lambda data: regression(data, family="student"),
    "scale": lambda data: regression(data, sigma="~ z"),
    "lognormal mixture": lambda data: mixture(data, family="lognormal"),
    "weibull mixture": lambda data: mixture(data, family="weibull"),
    "poisson mixture": lambda data: mixture(data, "k ~ mixture(2)", family="poisson"),
}


@pytest.fixture
def hasty():
    """Threads that are changed for others every few operations."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_fits_at_once_are_those_one_after_the_other(hasty):
    """Different fits side by side, on different data; in threads first, when whatever is cached is not there yet."""
    jobs = [*((name, 0) for name in FITS), *((name, 1) for name in ("ep", "regression", "lognormal mixture"))]
    frames = {seed: make(seed) for seed in range(2)}

    def fit(job):
        name, seed = job
        return np.array(FITS[name](frames[seed]))

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(fit, jobs))
    for job, ours in zip(jobs, found, strict=True):
        np.testing.assert_array_equal(ours, fit(job), err_msg=str(job))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_questions_to_one_fit_at_once_have_the_answers_of_one_after_the_other(hasty):
    """What results compute when first asked, and keep, is the same whoever asks first."""
    data = make(3)
    asked = {
        "bse": lambda fit: fit.bse,
        "predict": lambda fit: fit.predict(data, se=True),
        "observed": lambda fit: fit.predict(data, what="observed", interval=0.9),
        "residuals": lambda fit: fit.residuals("quantile", rng=1),
        "summary": lambda fit: fit.summary().as_text(),
        "loo": lambda fit: fit.loo().elpd,
    }
    for formula in ("y ~ z + gp(x) | censor(-0.3)", "y ~ z + x | censor(-0.3)"):
        there, here = (tg.fit(formula, data) for _ in range(2))
        names = list(asked) * 2
        with ThreadPoolExecutor(4) as pool:
            found = list(pool.map(lambda name, fit=there: asked[name](fit), names))
        for name, ours in zip(names, found, strict=True):
            expected = asked[name](here)
            if isinstance(expected, str):
                assert ours == expected
            else:
                np.testing.assert_array_equal(np.asarray(ours), np.asarray(expected), err_msg=name)
