"""Every family of components, asked through formulas: units, order and copies of rows do not matter."""

import warnings

import numpy as np
import pandas as pd
import pytest
from support.methods import having
from support.mixtures import DRAWS, NAMES, censor

import tobitgp as tg
from tobitgp.mixture import MIXTURE_FAMILIES

pytestmark = pytest.mark.diagonal

FORMULA = "interval(lo, hi) ~ mixture(2)"
SCALED = [name for name in NAMES if MIXTURE_FAMILIES[name].support != "counts"]
METHODS = ("vbcm", "em")


def fit(data, family, method="vbcm", **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return tg.fit(FORMULA, data, family=family, method=having(method, tol=1e-12, max_iter=20_000), **options)


@pytest.fixture(params=NAMES)
def family(request):
    return request.param


@pytest.fixture
def data(family, rng):
    lower, upper = censor(rng, family, DRAWS[family](rng, 150))
    return pd.DataFrame({"lo": lower, "hi": upper})


def moved(family, name, factor):
    """How a parameter follows the units of the response, as a factor and a shift."""
    if family == "lognormal":
        return 1.0, np.log(factor) * name.startswith("mean")
    if name.startswith(("weight", "shape")):
        return 1.0, 0.0
    return (1.0 / factor if name.startswith("rate") else factor), 0.0


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("family", SCALED, indirect=True)
def test_units_do_not_matter(family, method, data):
    factor = 40.0
    res, other = fit(data, family, method), fit(factor * data, family, method)
    exact = res.counts["exact"]
    value = "elbo" if method == "vbcm" else "llf"
    np.testing.assert_allclose(getattr(other, value), getattr(res, value) - exact * np.log(factor), rtol=1e-6)
    for name in res.params.index:
        ratio, shift = moved(family, name, factor)
        np.testing.assert_allclose(other.params[name], ratio * res.params[name] + shift, rtol=1e-3, atol=1e-3)
    times = np.quantile(data["hi"][np.isfinite(data["hi"])], [0.2, 0.7])
    curves = [
        one.predict_survival_function(times=t, interval=0.9) for one, t in ((res, times), (other, factor * times))
    ]
    np.testing.assert_allclose(*(curve.to_numpy() for curve in curves), rtol=2e-3)


@pytest.mark.quick_cases("gaussian")
def test_order_and_copies_do_not_matter(family, data):
    res = fit(data, family)
    shuffled = data.sample(frac=1.0, random_state=1)
    np.testing.assert_allclose(fit(shuffled, family).elbo, res.elbo, rtol=1e-6)
    twice = fit(pd.concat([data, data], ignore_index=True), family)
    weighted = fit(data, family, weights=np.full(len(data), 2.0))
    np.testing.assert_allclose(twice.elbo, weighted.elbo, rtol=1e-6)
    np.testing.assert_allclose(twice.bse, weighted.bse, rtol=1e-2, atol=1e-6)


@pytest.mark.parametrize("method", METHODS)
def test_distributions_agree_with_each_other(family, method, data):
    res = fit(data, family, method)
    ends = data.to_numpy()[np.isfinite(data.to_numpy())]
    x = np.unique(np.quantile(np.abs(ends), [0.1, 0.5, 0.9]).round(0 if family == "poisson" else 4)) + 1.0
    distribution = res.predictive
    np.testing.assert_allclose(distribution.cdf(x) + distribution.sf(x), 1.0, rtol=1e-12)
    assert (distribution.cdf(distribution.ppf(distribution.cdf(x))) >= distribution.cdf(x) - 1e-9).all()
    table = res.predict({"a": [0]}, "prob", above=list(x), interval=0.9)
    for value in x:
        np.testing.assert_allclose(table[(value, "estimate")], distribution.sf(value), rtol=1e-12)
    survival = res.predict_survival_function(times=x, interval=0.9)[0]
    np.testing.assert_allclose(survival["mean"], distribution.sf(x), rtol=1e-9)
    np.testing.assert_allclose(survival["lower"], [table[(value, "lower")].iloc[0] for value in x], rtol=1e-6)
    np.testing.assert_allclose(
        res.predict_cumulative_hazard(times=x)[0], distribution.cumulative_hazard(x), rtol=1e-9, atol=1e-12
    )
    score = res.score(data)
    np.testing.assert_allclose(score, np.mean(distribution.log_mass(data["lo"], data["hi"])), rtol=1e-10)
    components = res.predict(data, "component")
    np.testing.assert_allclose(components.sum(axis=1), 1.0, rtol=1e-12)
    said = np.isfinite(data["hi"]) | (data["lo"] >= 0.0) | (family == "gaussian")  # others exclude nothing
    np.testing.assert_allclose(components[said].sum().to_numpy(), res.components["rows"], rtol=1e-6)


def test_errors_by_linear_response_are_not_smaller(family, data):
    res = fit(data, family)
    wide, narrow = res.bse, res.summary_frame(kind="vb")["std err"]
    moving = narrow > 0.0
    assert (wide[moving] > 0.9 * narrow[moving]).all()
