"""`get_distribution` of every kind of fit: against its draws, and against what `predict` says of the same rows."""

import warnings

import numpy as np
import pytest
from support.kinds import KINDS, N, rows

from tobitgp.errors import SpecError

pytestmark = pytest.mark.filterwarnings("ignore::tobitgp.errors.ApproximationWarning")  # times beyond the last exit
DRAWS, ORDERS = 1000, [0.1, 0.5, 0.9]
NO_MEAN = ("cured", "box-cox", "hazard", "smooth hazard", "changing effect", "effect of bands", "causes")
LIMITS = (
    *(
        "regression",
        "weights",
        "noise scale",
        "lognormal",
        "process",
        "curves",
        "groups",
        "several",
        "latent",
        "measured",
        "vectors",
        "mixture",
    ),
    *("counts", "student", "powers", "splines", "varying slope", "noise curve", "markov", "vecchia", "regressions"),
)
SAMPLED = (
    "smooth hazard",
    "changing effect",
    "effect of bands",
    "causes",
)  # averages over draws of the parameters, which take long


TOGETHER = ("several", "latent", "vectors")  # several responses, of which one is asked


def draws_of(name):
    return 100 if name in SAMPLED else DRAWS


each = pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.slow) for name in KINDS])


@pytest.fixture(scope="module")
def fitted():
    known = {}

    def fit(name):
        if name not in known:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                known[name] = KINDS[name].fit(rows().iloc[:N])
        return known[name]["low"] if name in TOGETHER else known[name]

    return fit


def new_rows():
    return rows().iloc[N:]


@each
def test_it_is_the_distribution_that_predict_asks(fitted, name):
    res, new = fitted(name), new_rows()
    d = res.get_distribution(new)
    quantiles = res.predict(new, "quantile", q=ORDERS).to_numpy()
    np.testing.assert_allclose(d.ppf([ORDERS]), quantiles, rtol=1e-9, atol=1e-9)
    below = res.predict(new, "prob", below=1.0).to_numpy()
    np.testing.assert_allclose(d.cdf(1.0) - d.pmf(1.0), below, rtol=1e-8, atol=1e-12)
    if name not in NO_MEAN:
        np.testing.assert_allclose(d.mean(), res.predict(new, "uncensored"), rtol=1e-9)


@each
def test_draws_have_its_moments_and_its_entropy(fitted, name):
    res, new = fitted(name), new_rows()
    for what in ("uncensored", "observed") if name in LIMITS else ("uncensored",):
        d = res.get_distribution(new, what)
        draws = draws_of(name)
        y = d.rvs((draws, len(d)), random_state=5)
        share = (y <= d.median()).mean(axis=0)
        np.testing.assert_allclose(share, d.cdf(d.median()), atol=5 * np.sqrt(0.25 / draws))
        surprise = -d.logpdf(y.T).T
        error = surprise.std(axis=0) / np.sqrt(draws)
        assert (np.abs(surprise.mean(axis=0) - d.entropy()) < 5 * error + 1e-12).all()
        if name in NO_MEAN:
            continue
        mean, var = d.mean(), d.var()
        assert (np.abs(y.mean(axis=0) - mean) < 5 * np.sqrt(var / draws)).all()
        if name != "student" or what == "observed":  # whose squares have no variance
            squares = (y - mean) ** 2
            assert (np.abs(squares.mean(axis=0) - var) < 6 * squares.std(axis=0) / np.sqrt(draws)).all()


@each
def test_divergences_are_means_over_draws(fitted, name):
    """To the distribution of the next row, by the draws of this one."""
    res, new = fitted(name), new_rows()
    what = "observed" if name in LIMITS and name not in TOGETHER else "uncensored"
    new = new.assign(limit=0.1, least=0.7)
    d, other = res.get_distribution(new, what), res.get_distribution(new.iloc[[1, 2, 3, 0]], what)
    draws = draws_of(name)
    y = d.rvs((draws, len(d)), random_state=6).T
    gain = d.logpdf(y) - other.logpdf(y)
    error = gain.std(axis=1) / np.sqrt(draws)
    assert (np.abs(gain.mean(axis=1) - d.kl(other)) < 5 * error + 1e-9).all()
    np.testing.assert_allclose(d.cross_entropy(other), d.entropy() + d.kl(other), rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(d.kl(d), 0.0, atol=1e-10)


@each
def test_what_is_recorded(fitted, name):
    """Clipped at limits, or an error that says why limits are unknown."""
    res, new = fitted(name), new_rows()
    if name not in LIMITS and name != "box-cox":
        with pytest.raises(SpecError, match=r"limits are unknown|what='observed' is not supported"):
            res.get_distribution(new, "observed")
        return
    d = res.get_distribution(new, "observed")
    low, high = d.support()
    free = res.get_distribution(new)
    np.testing.assert_allclose(d.pmf(low), free.cdf(low), rtol=1e-9, atol=1e-14)
    np.testing.assert_array_equal(d.cdf(low - 1e-6), 0.0)
    np.testing.assert_allclose(d.cdf([[2.5, 3.0]]), free.cdf([[2.5, 3.0]]), rtol=1e-9)
    if name != "box-cox":
        np.testing.assert_allclose(d.mean(), res.predict(new, "observed"), rtol=1e-9)
        assert (d.var() <= free.var() * (1.0 + 1e-9)).all()
    assert np.isposinf(high).all()


@pytest.mark.parametrize("name", ["regression", "process"])
def test_rows_without_inputs_are_missing(fitted, name):
    new = new_rows().assign(z=[0.1, np.nan, 0.2, 0.3])
    d = fitted(name).get_distribution(new, exclude="gp(x)" if name == "process" else ())
    np.testing.assert_array_equal(np.isnan(d.mean()), [False, True, False, False])
    assert len(fitted(name).get_distribution()) == N


def test_terms_that_are_left_out(fitted):
    res, new = fitted("process"), new_rows()
    mean = res.get_distribution(new, exclude="gp(x)").mean()
    np.testing.assert_allclose(mean, res.predict(new, "uncensored", exclude="gp(x)"), rtol=1e-12)


def test_several_responses_have_one_each(fitted):
    together = KINDS["several"].fit(rows().iloc[:N])
    found = together.get_distribution(new_rows())
    assert list(found) == ["low", "other"]
    np.testing.assert_array_equal(found["other"].mean(), together["other"].get_distribution(new_rows()).mean())


def test_times_after_the_last_exit_never_come(fitted):
    """Of a piecewise baseline, of which nothing is known there."""
    d, last = fitted("hazard").get_distribution(new_rows()), rows()["time"].iloc[:N].max()
    np.testing.assert_allclose(d.pmf(np.inf), d.sf(last), rtol=1e-9)
    np.testing.assert_array_equal(d.ppf(1.0 - 0.5 * d.sf(last)), np.inf)
    np.testing.assert_array_equal(d.mean(), np.inf)


def test_words(fitted):
    with pytest.raises(SpecError, match="what='median' is not supported by get_distribution"):
        fitted("regression").get_distribution(what="median")
