"""Rows on which a mixture might break, and everything that is asked of a fit to them."""

import numpy as np

from support.mixtures import COUNTS, DRAWS, censor, random_rows
from tobitgp.mixture import held_parameters, impute, intervals, linear_response, posterior_covariance

INF = np.inf


def _drawn(rng, name):
    """Values of which a logarithm can be taken where the family does."""
    y = DRAWS[name](rng, int(rng.integers(6, 60)))
    return y if name in ("gaussian", *COUNTS) else y + 1e-3


def _exact(y):
    return y, y.copy(), np.ones(len(y))


def one(rng, name):
    return _exact(_drawn(rng, name)[:1])


def as_many_as_components(rng, name):
    return _exact(_drawn(rng, name)[:4])


def all_equal(rng, name):
    return _exact(np.repeat(_drawn(rng, name)[:1], 30))


def ties(rng, name):
    y = np.round(_drawn(rng, name)) + (name != "gaussian")
    return (*censor(rng, name, y), np.ones(len(y)))


def heavy_censoring(rng, name):
    y = _drawn(rng, name)
    limit = np.ceil(np.quantile(y, 0.05)) if name in COUNTS else np.quantile(y, 0.05)
    return np.minimum(y, limit), np.where(y > limit, INF, y), np.ones(len(y))


def nothing_exact(rng, name):
    lower, upper, weight = random_rows(rng, name, 40)
    keep = lower < upper
    return lower[keep], upper[keep], weight[keep]


def narrow_intervals(rng, name):
    """Some as narrow as two neighbouring numbers."""
    y = _drawn(rng, name)
    if name in COUNTS:
        return y - 1.0, y, np.ones(len(y))
    lower = np.where(rng.random(len(y)) < 0.5, np.nextafter(y, -INF), y * (1.0 - 1e-12 * np.sign(y)))
    return lower, y, np.ones(len(y))


def heavy_weights(rng, name):
    lower, upper, weight = random_rows(rng, name, 40)
    weight = np.where(rng.random(40) < 0.5, 1e6, rng.choice([1e-6, 1.0, 0.0], 40))
    return lower, upper, weight


def units(rng, name):
    """Units between 1e-8 and 1e8, and a level far from 0 where there may be one."""
    lower, upper, weight = random_rows(rng, name, 40)
    if name in COUNTS:
        return np.floor(lower * 1e5), np.floor(upper * 1e5), weight
    unit = 10.0 ** rng.uniform(-8, 8)
    level = 10.0 ** rng.uniform(0, 8) if name == "gaussian" else 0.0
    lower, upper = lower * unit + level, upper * unit + level
    return np.minimum(lower, upper), upper, weight


def tiny_numbers(rng, name):
    """Whose squares, and those of rates, are numbers still."""
    lower, upper, weight = random_rows(rng, name, 40)
    unit = {**dict.fromkeys(COUNTS, 1.0), "exponential": 1e-130, "weibull": 1e-130}.get(name, 1e-150)
    return lower * unit, upper * unit, weight


def outlier(rng, name):
    lower, upper, weight = random_rows(rng, name, 40)
    lower[3] = upper[3] = np.floor(10.0 ** rng.uniform(3, 12))
    return lower, upper, weight


def zeros(rng, name):
    """Zeros, where the family has them."""
    y = _drawn(rng, name)
    if name in ("exponential", *COUNTS):
        y[::2] = 0.0
    return _exact(y)


HARD = (
    one,
    as_many_as_components,
    all_equal,
    ties,
    heavy_censoring,
    nothing_exact,
    narrow_intervals,
    heavy_weights,
    units,
    tiny_numbers,
    outlier,
    zeros,
)


def ask_everything(fit, lower, upper, weight):
    """Nothing a fit says is NaN, but the errors of parameters that the rows do not determine."""
    assert np.isfinite(fit.objective)
    for values in (fit.values, fit.counts, fit.trace, fit.ends):
        assert np.isfinite(values).all()
    V = linear_response(fit, lower, upper, weight)
    known = ~np.isnan(V.diagonal())
    assert (V.diagonal()[known] >= 0.0).all()
    # next to nothing is known of some scales and spreads, and of means where spreads are unknown
    vague = np.sqrt(V.diagonal()) / np.abs(fit.values)
    told = np.tile(vague[-fit.k :] < 0.7, len(known) // fit.k) & (vague < 5.0)
    told[: fit.k] = True
    assert not np.isnan(intervals(fit, V)[known & told]).any()
    if fit.method.name != "em":
        free = ~held_parameters(fit)
        assert not np.isnan(posterior_covariance(fit)[np.ix_(free, free)]).any()
    x = np.concatenate([end[np.isfinite(end)] for end in (lower, upper)])
    for predictive in (fit.predictive(), fit.plug_in()):
        for of in (predictive.logpdf, predictive.logcdf, predictive.logsf, predictive.hazard):
            assert not np.isnan(of(x)).any()
        assert not np.isnan(predictive.log_mass(lower, upper)).any()
        assert not np.isnan(predictive.ppf(np.array([0.001, 0.5, 0.999]))).any()
        assert not np.isnan(predictive.rvs(20)).any()
    assert np.isfinite(fit.responsibilities(lower, upper)).all()
    assert not np.isnan(impute(fit, lower, upper)).any()
