"""A small, quick fit of every kind, on one table of few digits, for what must hold of all kinds."""

import warnings
from dataclasses import dataclass, field
from functools import cache

import numpy as np
import pandas as pd

import tobitgp as tg

N, NEW = 48, 4
EM = {"method": tg.EMCM(n_init=1)}
MAXIMUM = {"method": tg.EP(hyper="maximize", n_starts=1)}
VI = tg.VI(bound="local", hyper="maximize", n_starts=1, inducing=8, tol=1e-13, max_iter=4000)
AT = {"fixed": {"sd(gp(x))": 1.0, "lengthscale(gp(x))": 2.0, "sigma": 0.5}}


def rows():
    """Columns of two decimals at most, so that single precision loses nothing of what was written."""
    rng = np.random.default_rng(8)
    n = N + NEW
    x, z, g, k = (
        rng.uniform(0, 6, n).round(2),
        rng.normal(size=n).round(2),
        rng.choice(list("abc"), n),
        rng.integers(1, 4, n),
    )
    y = (0.5 * np.sin(x) + 0.4 * z + 0.3 * (g == "b") + 0.2 * k + 0.4 * rng.normal(size=n)).round(2)
    limit = rng.choice([0.1, 0.3], n)
    t, end = np.exp(0.8 * y).round(2) + 0.01, (rng.exponential(6.0, n) + 0.05).round(2)
    time, event = np.minimum(t, end), (t <= end).astype(int)
    dead = (rng.random(n) < 0.6) & (t < 8.0)
    apart = np.random.default_rng(9).normal(np.where(np.arange(n) % 3 > 0, 6.0 - z, 1.0 + 0.5 * z), 0.4).round(2)
    return pd.DataFrame({"x": x, "z": z, "g": g, "k": k, "low": np.maximum(y, limit), "limit": limit}).assign(
        b=rng.random(n) < 0.5,
        pos=np.maximum(t, 0.7),
        least=0.7,
        time=time,
        event=event,
        entry=(0.3 * time).round(2) * (k > 1),
        cause=event * np.where(rng.random(n) < 0.6, 1, 2),
        until=np.where(dead, t, 9.0).round(2),
        dead=dead.astype(int),
        count=np.maximum(rng.poisson(np.where(k > 1, 3.0, 8.0)), 2),
        other=(1.0 - y + 0.3 * rng.normal(size=n)).round(2),
        w=rng.integers(1, 4, n),
        who=np.arange(n),
        lines=np.maximum(apart, 0.6),
        line_limit=0.6,
        sx=np.where(x > 3, 0.7, 0.4),
        third=(np.sin(y) + 0.2 * rng.normal(size=n)).round(2),
    )


@dataclass(frozen=True)
class Kind:
    """A call of `tg.fit`."""

    formula: str
    options: dict = field(default_factory=dict)

    def fit(self, data):
        return tg.fit(self.formula, data, **self.options)


def kind(formula, **options):
    return Kind(formula, options)


TERMS = "z + C(k) + b + g"
KINDS = {
    "regression": kind(f"low ~ {TERMS} | censor(limit)"),
    "weights": kind("low ~ z + g | censor(limit)", weights="w"),
    "noise scale": kind("low ~ z + k | censor(limit)", sigma="~ z"),
    "lognormal": kind("pos ~ z*b + k | censor(least)", family="lognormal"),
    "weibull": kind(f"Surv(time, event) ~ {TERMS}", family="weibull"),
    "entry": kind("Surv(entry, time, event) ~ z + g", family="loglogistic"),
    "cured": kind("Surv(until, dead) ~ z", family="weibull", cure="~ 1"),
    "box-cox": kind("pos ~ z + g", family="boxcox"),
    "process": kind("low ~ z + gp(x) | censor(limit)", **AT),
    "curves": kind("low ~ gp(x, by=k) | censor(limit)", method=tg.EP(hyper="maximize", n_starts=1)),
    "groups": kind("low ~ z + (1 | k) | censor(limit)", method=tg.EP(hyper="maximize")),
    "several": kind("mvbind(low, other) ~ z + g", method=tg.EP(hyper="maximize")),
    "latent": kind("mvbind(low, other, third) ~ gp(latent(1)) | censor(low=limit)", method=VI),
    "measured": kind("low ~ gp(x, se=sx) | censor(limit)", method=VI),
    "vectors": kind("mvbind(low, other) ~ mixture(2) | censor(low=limit)", **EM),
    "mixture": kind("pos ~ mixture(2) | censor(least)", family="weibull", **EM),
    "counts": kind("count ~ mixture(2) | censor(2)", family="poisson", **EM),
    "hazard": kind("Surv(entry, time, event) ~ z + g", family=tg.PH("piecewise", bands=3), method="mle"),
    "spline": kind("Surv(time, event) ~ z + b", family=tg.PH("spline", df=2)),
    "smooth hazard": kind("Surv(time, event) ~ z + k", family=tg.PH(bands=4), method=tg.EP(hyper="maximize")),
    "student": kind("low ~ z + g | censor(limit)", family=tg.Student(df=4)),
    "powers": kind("low ~ x*z + I(x**2) | censor(limit)"),
    "splines": kind("low ~ bs(x, df=4) + g | censor(limit)"),
    "varying slope": kind("low ~ z:gp(x) | censor(limit)", **MAXIMUM),
    "noise curve": kind("low ~ z | censor(limit)", sigma="~ gp(x)", **MAXIMUM),
    "markov": kind("low ~ z + gp(x, kernel='matern32', approximation='markov') | censor(limit)", **MAXIMUM),
    "vecchia": kind("low ~ gp(x, z, kernel='matern32', approximation='vecchia') | censor(limit)", **MAXIMUM),
    "strata": kind("Surv(time, event) ~ z + strata(g)", family=tg.PH("weibull")),
    "frailty": kind("Surv(time, event) ~ z + (1 | k)", family=tg.PH("weibull", frailty="gamma")),
    "start-stop": kind("Surv(entry, time, event) ~ z + g", family=tg.PH("weibull"), id="who"),
    "changing effect": kind("Surv(time, event) ~ tv(z) + g", family=tg.PH(bands=4), **MAXIMUM),
    "shape": kind("Surv(time, event) ~ z + g", family="weibull", formulas={"shape": "~ z"}),
    "regressions": kind("lines ~ mixture(2, z) | censor(line_limit)"),
    "effect of bands": kind("Surv(time, event) ~ tv(z) + g", family=tg.PH("piecewise", bands=3), **MAXIMUM),
    "causes": kind("Surv(time, cause) ~ z", family=tg.PH("piecewise", bands=2), method="mle"),
}


@cache
def fitted(name):
    """The fit of a kind to all but the new rows, once for all tests."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return KINDS[name].fit(rows()[:N])
