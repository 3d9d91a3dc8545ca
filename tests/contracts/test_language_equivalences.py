"""What can be written in two ways means the same: evidence and predictions agree to 1e-8."""

import numpy as np
import pandas as pd
import pytest
from support.methods import with_settings

import tobitgp as tg

SAME = 1e-8
OPTIONS = {"method": tg.EP(site_tol=1e-11, site_iterations=500)}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(7)
    n = 60
    frame = pd.DataFrame({"x": rng.uniform(0, 4, n), "v": rng.uniform(-1, 1, n), "z": rng.normal(size=n)})
    frame["g"], frame["one"] = rng.choice(["a", "b", "c", "d"], n), "all"
    frame["h"] = rng.integers(0, 3, n)
    y = np.sin(2 * frame["x"]) + 0.5 * frame["z"] + 0.4 * (frame["g"] == "b") + rng.normal(0, 0.3, n)
    frame["y"], frame["low"] = y.clip(-0.5, 1.2), -0.5
    return frame


def fit(formula, data, values, **options):
    """Evaluate at given values; prior sds of the linear columns are fixed where names differ."""
    return tg.fit(formula, data, fixed=values, **{**OPTIONS, **options})


def check_same(first, second, new, **asked):
    assert first.log_evidence == pytest.approx(second.log_evidence, abs=SAME)
    assert first.elbo == pytest.approx(second.elbo, abs=SAME)
    for what in ("latent", "observed"):
        here, there = first.predict(new, what, se=True, **asked), second.predict(new, what, se=True, **asked)
        np.testing.assert_allclose(here, there, rtol=0, atol=SAME)


def test_by_with_one_level_is_no_by(data):
    shared = {"sigma": 0.4}
    one = fit("y ~ z + gp(x, by=one) | censor(-0.5, 1.2)", data, {**shared, **curve("gp(x, by=one)")})
    none = fit("y ~ z + gp(x, line=False) | censor(-0.5, 1.2)", data, {**shared, **curve("gp(x)")})
    check_same(one, none, data)


def curve(name, lengthscale=0.8):
    return {f"sd({name})": 1.1, f"lengthscale({name})": lengthscale}


@pytest.mark.parametrize("other", ["", " + re(h)", " + gp(x, by=g)"])
def test_random_intercepts_are_dense_indicators(data, other):
    """Indicators with independent normal priors of the same spread."""
    levels = sorted(data["g"].unique())
    wide = data.assign(**{f"is_{level}": (data["g"] == level).astype(float) for level in levels})
    columns = [f"is_{level}" for level in levels]
    rest = {"sigma": 0.4, **curve("gp(x)")}
    rest |= {"sd(re(h))": 0.3} if "re(h)" in other else {}
    rest |= curve("gp(x, by=g)", 1.5) if "by" in other else {}
    priors = {"z": tg.Normal(0.0, 3.0)}
    grouped = fit(
        f"y ~ 0 + z + gp(x) + re(g){other} | censor(-0.5, 1.2)", data, {**rest, "sd(re(g))": 0.7}, priors=priors
    )
    dense = fit(
        f"y ~ 0 + z + {' + '.join(columns)} + gp(x){other} | censor(-0.5, 1.2)",
        wide,
        rest,
        priors={**priors, **{column: tg.Normal(0.0, 0.7) for column in columns}},
    )
    check_same(grouped, dense, wide)


@pytest.mark.slow
@pytest.mark.parametrize("hyper", ["fixed", "maximize"])
def test_product_of_rbf_kernels_is_one_with_ard(data, hyper):
    names = ("gp(x, v)", "gp(x):gp(v)")
    options = [{}, {}]
    if hyper == "fixed":
        scales = {"[x]": 0.8, "[v]": 1.3}
        options = [
            {"fixed": {"sigma": 0.4, f"sd({n})": 1.1, **{f"lengthscale({n}){k}": v for k, v in scales.items()}}}
            for n in names
        ]
    both, product = (
        tg.fit(
            f"y ~ z + {name} | censor(-0.5, 1.2)", data, **with_settings(OPTIONS, hyper="maximize", tol=1e-13), **option
        )
        for name, option in zip(names, options, strict=True)
    )
    check_same(both, product, data)
    np.testing.assert_allclose(both.params, product.params, rtol=1e-6)


def test_a_process_times_a_factor_is_a_curve_for_each_level(data):
    by = fit("y ~ gp(x, by=g) | censor(-0.5, 1.2)", data, {"sigma": 0.4, **curve("gp(x, by=g)")})
    times = fit("y ~ gp(x):C(g) | censor(-0.5, 1.2)", data, {"sigma": 0.4, **curve("gp(x):C(g)")})
    check_same(by, times, data)


def test_a_slope_of_a_long_process_is_a_linear_column(data):
    """A varying slope that does not vary: the prior of its slope is the process's sd."""
    process = fit(
        "y ~ z:gp(x) | censor(-0.5, 1.2)",
        data,
        {"sigma": 0.4, "sd(z:gp(x))": 0.7, "lengthscale(z:gp(x))": 3e4},
        priors={"Intercept": tg.Normal(0.0, 3.0)},
    )
    linear = fit(
        "y ~ z | censor(-0.5, 1.2)",
        data,
        {"sigma": 0.4},
        priors={"Intercept": tg.Normal(0.0, 3.0), "z": tg.Normal(0.0, 0.7)},
    )
    kernel = fit(
        "y ~ gp(z, kernel='linear') | censor(-0.5, 1.2)",
        data,
        {"sigma": 0.4, "sd(gp(z))": 0.7},
        priors={"Intercept": tg.Normal(0.0, 3.0)},
    )
    check_same(kernel, linear, data)
    assert process.log_evidence == pytest.approx(linear.log_evidence, abs=1e-5)


def test_a_long_lengthscale_hides_alpha(data):
    """With a large alpha the rational quadratic is the rbf kernel."""
    rq = fit("y ~ gp(x, kernel='rq') | censor(-0.5)", data, {"sigma": 0.4, **curve("gp(x)"), "alpha(gp(x))": 9e3})
    rbf = fit("y ~ gp(x) | censor(-0.5)", data, {"sigma": 0.4, **curve("gp(x)")})
    assert rq.log_evidence == pytest.approx(rbf.log_evidence, abs=1e-2)


def test_a_periodic_kernel_is_rbf_on_the_circle(data):
    angle = 2 * np.pi * data["x"] / 1.5
    circle = data.assign(cos=np.cos(angle), sin=np.sin(angle))
    periodic = fit("y ~ z + gp(x, period=1.5) | censor(-0.5)", data, {"sigma": 0.4, **curve("gp(x, period=1.5)")})
    rbf = fit("y ~ z + gp(cos, sin, ard=False) | censor(-0.5)", circle, {"sigma": 0.4, **curve("gp(cos, sin)")})
    check_same(periodic, rbf, circle)


def test_weights_are_repeated_rows(data):
    weight = np.tile([1, 2, 3], 20)
    formula = "y ~ z + gp(x, by=g) + re(h) | censor(-0.5, 1.2)"
    values = {"sigma": 0.4, "sd(re(h))": 0.3, **curve("gp(x, by=g)")}
    weighted = fit(formula, data, values, weights=weight)
    repeated = fit(formula, data.loc[data.index.repeat(weight)].reset_index(drop=True), values)
    check_same(weighted, repeated, data)


def test_spellings_of_intervals(data):
    low, high = np.floor(data["y"] * 2) / 2, np.floor(data["y"] * 2) / 2 + 0.5
    exact = np.arange(60) % 3 == 0
    frame = data.assign(lo=np.where(exact, data["y"], low), hi=np.where(exact, data["y"], high))
    frame["s"] = np.where(exact, "none", "interval")
    values = {"sigma": 0.4, **curve("gp(x)")}
    fits = [
        fit(formula, frame, values, family="gaussian")
        for formula in (
            "Surv(lo, hi, type='interval2') ~ z + gp(x)",
            "interval(lo, hi) ~ z + gp(x)",
            "lo ~ z + gp(x) | censor(status=s, upper=hi)",
        )
    ]
    for other in fits[1:]:
        assert other.log_evidence == pytest.approx(fits[0].log_evidence, abs=SAME)
        np.testing.assert_allclose(other.predict(frame), fits[0].predict(frame), rtol=0, atol=SAME)


def test_groups_do_not_depend_on_their_names_or_order(data, rng):
    formula = "y ~ z + gp(x, by=g) + re(h) | censor(-0.5, 1.2)"
    values = {"sigma": 0.4, "sd(re(h))": 0.3, **curve("gp(x, by=g)")}
    here = fit(formula, data, values)
    renamed = data.assign(g=data["g"].map({"a": "z", "b": "y", "c": "x", "d": "w"}), h=10 - data["h"])
    there = fit(formula, renamed.iloc[rng.permutation(60)], values)
    check_same_rows = renamed
    np.testing.assert_allclose(here.predict(data, se=True), there.predict(check_same_rows, se=True), rtol=0, atol=SAME)
    assert here.log_evidence == pytest.approx(there.log_evidence, abs=SAME)
