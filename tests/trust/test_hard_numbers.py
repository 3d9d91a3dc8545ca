"""Numbers at the edges of what doubles hold: the same answer in other units, or an exact one, from every method."""

import re
import warnings
from contextlib import nullcontext

import numpy as np
import pandas as pd
import pytest
from support.methods import having, with_settings

import tobitgp as tg
from tobitgp.errors import ApproximationWarning, ConvergenceWarning, DataError, NumericalError, TobitGPError

pytestmark = pytest.mark.diagonal

METHODS = {
    "ep": {"method": tg.EP()},
    "vi": {"method": tg.VI()},
    "laplace": {"method": tg.Laplace()},
    "local": {"method": tg.VI(bound="local")},
}
methods = pytest.mark.parametrize("method", METHODS)
CURVE, DEFAULT = "y ~ gp(x, line=False) | censor(l)", "y ~ gp(x) | censor(l)"
formulas = pytest.mark.parametrize("formula", [CURVE, DEFAULT])
FIXED = {"sd(gp(x))": 1.0, "lengthscale(gp(x))": 0.7, "sigma": 0.3}
COMPONENTS = ("gaussian", "lognormal", "exponential", "weibull", "poisson")


def rows(n=25, seed=2):
    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(0, 3, n))
    y = np.sin(2 * x) + 0.3 * rng.normal(size=n)
    return pd.DataFrame({"x": x, "y": np.maximum(y, -0.4), "l": -0.4, "b": rng.random(n) < 0.5})


def fit(formula, data, **options):
    """A fit that may warn, but in our words only."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        res = tg.fit(formula, data, **options)
    for w in heard:
        assert w.category is UserWarning or w.category.__module__ == "tobitgp.errors", w
    assert res.converged or heard
    return res


def at(values, data, formula=CURVE, **options):
    """The fit at given hyper-parameters."""
    return fit(formula, data, fixed=values, **with_settings(options, inducing=None))


@formulas
@methods
@pytest.mark.parametrize("unit", [1e-8, 1e8])
def test_units_of_the_response(formula, method, unit):
    data = rows()
    here = fit(formula, data, **with_settings(METHODS[method], hyper="maximize"))
    there = fit(
        formula, data.assign(y=unit * data["y"], l=unit * data["l"]), **with_settings(METHODS[method], hyper="maximize")
    )
    np.testing.assert_allclose(there.predict() / unit, here.predict(), atol=1e-5)
    exact = here.counts["exact"]
    np.testing.assert_allclose(there.log_evidence, here.log_evidence - exact * np.log(unit), atol=1e-5)
    np.testing.assert_allclose(there.params["sigma"] / unit, here.params["sigma"], rtol=1e-3)


@formulas
@methods
@pytest.mark.parametrize("unit", [1e-8, 1e8])
def test_units_of_an_input(formula, method, unit):
    data = rows()
    here = fit(formula, data, **with_settings(METHODS[method], hyper="maximize"))
    there = fit(formula, data.assign(x=unit * data["x"]), **with_settings(METHODS[method], hyper="maximize"))
    np.testing.assert_allclose(there.predict(), here.predict(), atol=1e-5)
    np.testing.assert_allclose(there.log_evidence, here.log_evidence, atol=1e-5)


@formulas
@methods
@pytest.mark.parametrize("column", ["response", "input"])
def test_a_level_of_a_hundred_million(formula, method, column):
    data = rows()
    moved = data.assign(x=1e8 + data["x"]) if column == "input" else data.assign(y=1e8 + data["y"], l=1e8 + data["l"])
    level = 0.0 if column == "input" else 1e8
    here, there = (fit(formula, d, **with_settings(METHODS[method], hyper="maximize")) for d in (data, moved))
    # the level leaves eight digits
    np.testing.assert_allclose(there.predict() - level, here.predict(), atol=1e-4)
    np.testing.assert_allclose(there.log_evidence, here.log_evidence, atol=1e-3)


@methods
@pytest.mark.parametrize("kernel", ["rbf", "matern32"])
def test_nearly_equal_rows_say_what_equal_ones_do(method, kernel):
    data = rows(12)
    near = data.assign(x=data["x"] + 1e-12)
    formula = f"y ~ gp(x, kernel={kernel!r}, name='f') | censor(l)"
    values = {"sd(f)": 1.0, "lengthscale(f)": 0.7, "sigma": 0.3}
    twice, nearly = (
        at(values, pd.concat([data, other], ignore_index=True), formula, **METHODS[method]) for other in (data, near)
    )
    np.testing.assert_allclose(nearly.predict(data), twice.predict(data), atol=1e-6)
    np.testing.assert_allclose(nearly.log_evidence, twice.log_evidence, atol=1e-5)


@pytest.mark.slow
@formulas
@methods
def test_ninety_nine_of_a_hundred_rows_are_censored(formula, method):
    data = rows(200)
    top = data["y"].nlargest(2).iloc[1]
    data = data.assign(y=np.maximum(data["y"], top), l=top)
    res = fit(formula, data, **METHODS[method])
    assert res.counts["left"] == 199
    told = res.predict(se=True)
    assert np.isfinite(told.to_numpy()).all()
    assert told["estimate"].mean() < top
    assert res.predict(what="prob", below=float(top)).mean() > 0.5


@methods
def test_all_is_noise(method):
    """The curve stays at its prior."""
    data = rows(12)
    sigma = 1e4 * data["y"].std(ddof=0)
    told = at(FIXED | {"sigma": sigma}, data, "y ~ 0 + gp(x, line=False) | censor(l)", **METHODS[method]).predict(
        se=True
    )
    np.testing.assert_allclose(told["estimate"], 0.0, atol=0.01)
    np.testing.assert_allclose(told["se"], 1.0, rtol=0.01)


@methods
@pytest.mark.parametrize("kernel", ["matern12", pytest.param("rbf", marks=pytest.mark.slow)])
def test_nothing_is_noise(method, kernel):
    """The curve goes through the values; the evidence is one, or a warning or an error says that it is not."""
    data = rows(12)
    values = {"sd(f)": 1.0, "lengthscale(f)": 0.7, "sigma": 1e-8 * data["y"].std(ddof=0)}
    formula = f"y ~ 0 + gp(x, kernel={kernel!r}, name='f') | censor(l)"
    res, refusal = None, ""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            res = tg.fit(formula, data, fixed=values, **with_settings(METHODS[method], inducing=None))
        except NumericalError as error:
            refusal = str(error)
    if res is None:
        assert "sigma" in refusal
        return
    exact = (data["y"] > data["l"]).to_numpy()
    np.testing.assert_allclose(res.predict()[exact], data["y"][exact], atol=1e-3)
    assert heard or (res.predict()[~exact] < data["l"][~exact] + 0.1).all()


@methods
@pytest.mark.parametrize("lengthscale", [1e-6, 1e6])
def test_lengthscales_far_from_the_data(method, lengthscale):
    """Each row for itself, or all rows at one level: independent normals, or an intercept."""
    data = rows(12).assign(l=-9.0)
    res = at(
        FIXED | {"lengthscale(gp(x))": lengthscale}, data, "y ~ 0 + gp(x, line=False) | censor(l)", **METHODS[method]
    )
    y = data["y"].to_numpy()
    K = np.ones((12, 12)) if lengthscale > 1 else np.eye(12)
    expected = K @ np.linalg.solve(K + 0.09 * np.eye(12), y)
    np.testing.assert_allclose(res.predict(), expected, atol=1e-5)
    S = K + 0.09 * np.eye(12)
    value = -0.5 * (y @ np.linalg.solve(S, y) + np.linalg.slogdet(2 * np.pi * S)[1])
    np.testing.assert_allclose(res.log_evidence, value, atol=1e-4)


@pytest.mark.slow
@methods
def test_fifty_inputs(method):
    fifty_inputs(method, 120)


def test_fifty_inputs_at_a_point():
    fifty_inputs("ep", 60, fixed=True)


def fifty_inputs(method, n, fixed=False):
    rng = np.random.default_rng(4)
    X = pd.DataFrame(rng.normal(size=(n, 50)), columns=[f"x{i}" for i in range(50)])
    y = 2 * X["x3"] + 0.2 * rng.normal(size=n)
    data = X.assign(y=np.maximum(y, -1.0))
    term = f"gp({', '.join(X)}, name='f')"
    scales = {f"lengthscale(f)[{name}]": 3.0 if name == "x3" else 1e4 for name in X}
    options = {"fixed": {"sd(f)": 4.0, "sigma": 0.2} | scales} if fixed else {}
    chosen = METHODS[method] if fixed else with_settings(METHODS[method], max_iter=50)
    res = fit(f"y ~ {term} | censor(-1)", data, **options, **chosen)
    assert np.isfinite(res.params).all()
    seen = data["y"] > -1
    assert np.corrcoef(res.predict()[seen], y[seen])[0, 1] > 0.95


@methods
def test_weights_of_a_million(method):
    """The curve goes through where a million rows say; with a million times as many of all rows it is the same line."""
    data = rows(15).assign(w=1.0)
    data.loc[7, ["y", "w"]] = [2.0, 1e6]
    res = at(FIXED, data, weights="w", **METHODS[method])
    np.testing.assert_allclose(res.predict()[7], 2.0, atol=1e-3)
    every = fit("y ~ x | censor(l)", data.assign(w=1e6), weights="w", **METHODS[method])
    once = fit("y ~ x | censor(l)", data, weights=np.ones(15), method="mle")
    if method != "local":
        np.testing.assert_allclose(every.params, once.params, rtol=0.02)
    assert every.bse["x"] < 0.01 * once.bse["x"]


@methods
def test_weights_that_cannot_be_computed_with_are_named(method):
    with pytest.raises(NumericalError, match=r"Look at the weights, which are 1e\+300"):
        fit("y ~ gp(x, line=False) | censor(l)", rows(60), weights=np.full(60, 1e300), **METHODS[method])


@pytest.mark.parametrize("method", ["ep", "laplace"])
def test_weights_far_apart_are_named(method):
    """Where all of the search is done, which a row of a million leads to less and less noise."""
    data = rows(60)
    data.loc[40, "y"] = 3.0
    heavy = np.where(np.arange(60) == 40, 1e6, 1.0)
    try:
        res = fit("y ~ gp(x, line=False) | censor(l)", data, weights=heavy, **METHODS[method])
    except NumericalError as error:
        assert re.search(r"Look at the weights, which go from 1 to 1e\+06", str(error))  # noqa: PT017
    else:  # rounding decides how far the search comes
        assert abs(res.predict()[40] - 3.0) < 0.01


@pytest.mark.slow
@pytest.mark.parametrize("weight", [1e3, 1e5])
def test_a_heavy_row_is_fitted(weight):
    """The data hold so many rows at one value that no noise is left: the curve goes through it."""
    data = rows(25)
    data.loc[7, "y"] = 2.0
    w = np.where(np.arange(25) == 7, weight, 1.0)
    res = fit(CURVE, data, weights=w, method="laplace")
    np.testing.assert_allclose(res.predict()[7], 2.0, atol=0.01)


def test_weights_of_next_to_nothing_are_named():
    with pytest.raises(DataError, match=r"weights 'w' are less than 1e-100 in row 3: .* Use 0 to leave a row out"):
        fit(CURVE, rows().assign(w=np.where(np.arange(25) == 3, 1e-320, 1.0)), weights="w")


def test_a_regression_does_not_mind_huge_weights():
    data = rows(60).assign(w=1e300)
    formula = "y ~ x | censor(upper=.5)"
    np.testing.assert_allclose(fit(formula, data, weights="w").params, fit(formula, data).params, rtol=1e-6)


def test_a_mixture_names_huge_weights():
    with pytest.raises(NumericalError, match=r"Look at the weights, which are 1e\+300"):
        fit("y ~ mixture(2) | censor(upper=.5)", rows(60).assign(w=1e300), weights="w")


def test_a_given_sigma_beyond_numbers_is_refused():
    for sigma in (1e200, 1e-200):
        with pytest.raises(TobitGPError, match=r"fixed=.'sigma': 1e[+-]200"):
            tg.fit("y ~ x | censor(l)", rows(), fixed={"sigma": sigma})


def test_a_sigma_beside_which_the_data_are_nothing():
    """A regression says so, and names no rows that run off where there are none."""
    data = rows()
    tiny = data.assign(y=1e-40 * data["y"], l=-0.4e-40)
    with pytest.warns(ConvergenceWarning, match="relative to sigma, the rows have almost no information"):
        tg.fit("y ~ x | censor(l)", tiny, fixed={"sigma": 1e120})


@methods
@pytest.mark.parametrize(
    "written", ["y ~ gp(x, line=False) | truncate(-5, {})", "y ~ gp(x, line=False) | censor(l, {})"]
)
def test_ends_that_stand_for_none(method, written):
    """The largest double, as often written for no end, is none."""
    data = rows().assign(l=-0.41)
    options = with_settings(METHODS[method], hyper="maximize")
    far, none = (fit(written.format(end), data, **options) for end in ("1e300", "inf"))
    np.testing.assert_array_equal(far.params, none.params)
    if "censor" in written:
        new = data.assign(x=data["x"] + 0.01)
        np.testing.assert_array_equal(far.predict(new, what="observed"), none.predict(new, what="observed"))


@methods
def test_boolean_inputs(method):
    data = rows(12)
    values = {"sd(gp(b))": 1.0, "lengthscale(gp(b))": 0.7, "sigma": 0.3}
    flags = at(values, data, "y ~ b + gp(b) | censor(l)", **METHODS[method])
    numbers = at(values, data.assign(b=data["b"] * 1.0), "y ~ b + gp(b) | censor(l)", **METHODS[method])
    np.testing.assert_allclose(flags.predict(), numbers.predict(), rtol=1e-9)


def as_dictionary(text):
    pa = pytest.importorskip("pyarrow")
    return text.astype(pd.ArrowDtype(pa.dictionary(pa.int32(), pa.string())))


def as_strings(text):
    """What pandas 3 reads text as; before 2.3 it went by another name."""
    try:
        return text.astype(pd.StringDtype("pyarrow", na_value=np.nan))
    except TypeError:
        return text.astype(pd.StringDtype("pyarrow_numpy"))


KINDS = {
    "nullable": lambda d: d.convert_dtypes(),
    "arrow": lambda d: d.convert_dtypes(dtype_backend="pyarrow"),
    "float32 arrow": lambda d: d.assign(x=d["x"].astype("float[pyarrow]"), y=d["y"].astype("double[pyarrow]")),
    "categorical": lambda d: d.assign(g=pd.Categorical(d["g"], categories=["a", "b", "c", "unused"])),
    "arrow strings": lambda d: d.assign(g=d["g"].astype("string[pyarrow]")),
    "python strings": lambda d: d.assign(g=d["g"].astype("string[python]")),
    "arrow strings of numpy": lambda d: d.assign(g=as_strings(d["g"])),
    "arrow dictionary": lambda d: d.assign(g=as_dictionary(d["g"])),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("terms", ["x + g + b", "g + gp(x, b)", "gp(x, by=g) + re(g)"])
def test_columns_of_every_type(kind, terms):
    pytest.importorskip("pyarrow")
    data = rows(18).assign(g=list("abc") * 6, t=[f"<{v:.2f}" if v < 0 else f"{v:.2f}" for v in rows(18)["y"]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        typed = KINDS[kind](data)
    kept = typed.copy(deep=True)
    options = {} if "gp" not in terms else {"method": tg.Laplace(hyper="maximize")}
    for formula in (f"y ~ {terms} | censor(l)", f"t ~ {terms}"):
        plain, other = (fit(formula, d, **options) for d in (data, typed))
        tolerance = 1e-3 if kind == "float32 arrow" else 1e-6
        assert sorted(other.counts) == sorted(plain.counts)
        np.testing.assert_allclose(other.predict(typed), plain.predict(data), atol=tolerance)
    pd.testing.assert_frame_equal(typed, kept)


@pytest.mark.parametrize("kind", ["Float64", "double[pyarrow]"])
def test_missing_values_of_new_types_are_missing(kind):
    pytest.importorskip("pyarrow")
    data = rows(18)
    x = data["x"].astype(kind)
    x[3] = pd.NA
    y = data["y"].astype(kind)
    y[5] = pd.NA
    for formula in (CURVE, "y ~ x | censor(l)", "y ~ mixture(1) | censor(l)"):
        with pytest.warns(UserWarning, match="dropped"):
            res = tg.fit(formula, data.assign(x=x, y=y))
        assert res.counts["dropped"] == (1 if "mixture" in formula else 2)


@pytest.mark.parametrize("family", ["gaussian", "exponential", "weibull"])
@pytest.mark.parametrize("unit", [1e-160, 1e160])
def test_mixtures_of_sizes_that_cannot_be_squared(family, unit):
    """Nor the inverses of times, which are rates."""
    data = pd.DataFrame({"t": unit * np.random.default_rng(3).gamma(3.0, 1.0, 50), "e": [1, 0] * 25})
    with pytest.raises(DataError, match=r"size of the response is .*Express it in units"):
        tg.fit("Surv(t, e) ~ mixture(2)", data, family=family)


@pytest.mark.parametrize("family", COMPONENTS)
@pytest.mark.parametrize("method", ["vbcm", "em", "svbcm"])
def test_mixtures_of_columns_of_every_type(family, method):
    pytest.importorskip("pyarrow")
    rng = np.random.default_rng(1)
    y = rng.poisson(5, 60) + 1.0 if family == "poisson" else rng.gamma(3.0, 1.0, 60)
    data = pd.DataFrame({"y": np.minimum(y, 6.0), "w": rng.integers(1, 4, 60)})
    typed = data.convert_dtypes(dtype_backend="pyarrow")
    formula = "y ~ mixture(2) | censor(upper=6)"
    plain, other = (
        fit(formula, d, family=family, method=having(method, n_init=2), weights="w", rng=1) for d in (data, typed)
    )
    np.testing.assert_allclose(other.params, plain.params, rtol=1e-9)


def test_numbers_whose_squares_are_none_are_refused():
    for factor in (1e-300, 1e160, 1e300):
        data = rows().assign(y=rows()["y"] * factor, l=-0.4 * factor)
        for formula in (CURVE, "y ~ x | censor(l)", "y ~ mixture(2) | censor(l)"):
            with pytest.raises(TobitGPError, match="response"):
                fit(formula, data)


def times_seen_only_at_the_start():
    """A curve through five times that rises into rows of which only a limit is known."""
    rng = np.random.default_rng(9)
    x = np.sort(rng.uniform(0, 1, 40))
    time = np.exp(np.sin(6 * x) + 0.4 * rng.normal(size=40))
    data = pd.DataFrame({"x": x, "time": time, "event": 1})
    data.loc[5:, ["time", "event"]] = [1e4, 0]
    return data


@pytest.mark.parametrize(
    ("formula", "what"),
    [
        ("Surv(time, event) ~ gp(x, line=False)", "median"),
        ("Surv(time, event) ~ gp(x, line=False)", "uncensored"),
        ("Surv(time, event) ~ gp(x, line=False)", "conditional"),
        ("time ~ gp(x, line=False) | censor(upper=1e4)", "observed"),
        ("time ~ gp(x, line=False) | censor(.001)", "observed"),
    ],
)
@pytest.mark.slow_cases("time ~ gp(x, line=False) | censor(upper=1e4)-observed")
def test_times_whose_squares_leave_the_numbers(formula, what):
    """Nothing is known above: an upper end or a standard deviation may be infinite, none is NaN."""
    data = times_seen_only_at_the_start()
    res = fit(formula, data, family="lognormal")
    endless = what in ("median", "uncensored")
    with pytest.warns(ApproximationWarning, match="exceeds the largest number") if endless else nullcontext():
        predicted = res.predict(what=what, interval=0.95)
    assert predicted.notna().all(axis=None)
    assert np.isfinite(predicted["lower"]).all()
    assert (predicted["upper"] > 0.99e4).any()


@pytest.mark.parametrize("method", ["ep", "vi"])
def test_a_breakdown_is_told_of_in_our_words_alone(method):
    """A prior so wide beside its noise that sites divide by zero, and nothing of numpy's reaches the user."""
    x = [
        34.57,
        31.75,
        29.58,
        5.84,
        42.95,
        67.41,
        61.72,
        37.39,
        30.22,
        63.69,
        25.36,
        60.02,
        51.15,
        7.89,
        18.39,
        71.63,
        3.42,
        22.8,
        1.77,
        72.71,
    ]
    y = [
        61378.68,
        5.06,
        2.37,
        -7.92,
        -8.51,
        12.93,
        -0.66,
        0.28,
        -9.27,
        1.4,
        1.43,
        -1.14,
        -1.08,
        3.19,
        0.54,
        3.95,
        -6.92,
        -10.15,
        1.79,
        -0.32,
    ]
    fixed = {"sd(gp(x))": 2.5e5, "lengthscale(gp(x))": 5800.0, "sigma": 0.064}
    formula, data = f"y ~ gp(x, line=False) | truncate({min(y) - 1e-3})", {"x": x, "y": y}
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        with pytest.raises(NumericalError, match="broke down"):
            tg.fit(formula, data, family="logistic", fixed=fixed, method=method)
    assert heard
    assert {w.category for w in heard} <= {UserWarning, ConvergenceWarning}
