"""Odd input that is fitted, case by case: a correct fit, or a warning that says what to do."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest
from support.small_table import CURVE, LINE, REGRESSION_AND_PROCESS, column, rows

import tobitgp as tg
from tobitgp.errors import BoundaryWarning, ConvergenceWarning, DataError, UnseenLevelError


def fit_quietly(*arguments, **options):
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        return tg.fit(*arguments, **options), heard


def finite(res, data):
    assert np.isfinite(res.predict(data).to_numpy()).all()
    if res.converged:
        assert np.isfinite(res.params.to_numpy()).all()


def separated():
    """Rows that a column and a factor tell apart as the limit does."""
    seen = rows()["x"] > 1
    return rows(s=seen * 1.0, y=np.where(seen, rows()["y"].abs() + 1, -0.3))


SEPARATED = "y ~ s + x | censor(l)"
HEARD = {
    "beyond the lower limit": (LINE, rows(y=rows()["y"] - 0.1), {}, UserWarning, "beyond"),
    "beyond the upper limit": ("y ~ x | censor(upper=.5)", rows(y=rows()["y"] + 0.1), {}, UserWarning, "beyond"),
    "all rows left-censored": (CURVE, rows(y=-0.3), {}, BoundaryWarning, "No row is exact"),
    "all rows right-censored": ("y ~ gp(x) | censor(upper=-1)", rows(y=-1.0), {}, BoundaryWarning, "No row is exact"),
    "constant y": ("y ~ gp(x)", rows(y=2.0), {}, BoundaryWarning, "sigma|constant"),
    "constant x in gp": (CURVE, rows(x=1.0), {}, BoundaryWarning, r"input x of gp\(x\) is constant"),
    "one exact, process": (CURVE, rows(y=[1.0] + [-0.3] * 29), {}, BoundaryWarning, "Only one row is exact"),
    "one exact, regression": (
        LINE,
        rows(y=[1.0] + [-0.3] * 29),
        {"fixed": {"z": 0}},
        BoundaryWarning,
        "one row is exact",
    ),
    "outlier, process": (CURVE, rows(y=column("y", r4=1e6)), {}, UserWarning, "Row 4"),
    "outlier, regression": (LINE, rows(y=column("y", r4=1e6)), {}, UserWarning, "Row 4"),
    "max_iter=1, regression": (LINE, rows(), {"method": tg.MLE(max_iter=1)}, ConvergenceWarning, "max_iter"),
    "max_iter=1, mixture": (
        "y ~ mixture(2) | censor(l)",
        rows(),
        {"method": tg.VBCM(max_iter=1)},
        ConvergenceWarning,
        "max_iter",
    ),
    "one level": ("y ~ x + C(k) | censor(l)", rows(k="a"), {}, UserWarning, "factor 'k' has only the level 'a'"),
    "separated, regression": (SEPARATED, separated(), {}, ConvergenceWarning, "'s' separates the 10 left-censored"),
    "one row, process": ("y ~ gp(x)", rows().head(1), {}, BoundaryWarning, "Only one row is exact"),
    "one censored row": (CURVE, rows().head(1), {}, BoundaryWarning, "No row is exact"),
    "one row, mixture": ("y ~ mixture(1)", rows().head(1), {}, BoundaryWarning, "one row"),
    "one row, mean": ("y ~ 1", rows().head(1), {}, ConvergenceWarning, "sigma goes to 0"),
}


@pytest.mark.parametrize("case", HEARD, ids=list(HEARD))
def test_fitted_and_said(case):
    formula, data, options, category, words = HEARD[case]
    kept = data.copy(deep=True)
    res, heard = fit_quietly(formula, data, **options)
    assert any(issubclass(w.category, category) and re.search(words, str(w.message)) for w in heard), heard
    finite(res, data)
    pd.testing.assert_frame_equal(data, kept)


@REGRESSION_AND_PROCESS
def test_missing_responses_are_dropped_and_counted(formula):
    data = rows(y=column("y", r2=np.nan, r5=np.nan))
    res, _ = fit_quietly(formula, data)
    assert res.counts["dropped"] == 2
    assert np.isnan(res.residuals()[[2, 5]]).all()
    with pytest.raises(DataError, match="rows 2, 5"):
        tg.fit(formula, data, missing="raise")


def test_equal_ends_are_exact():
    data = rows(hi=rows()["lo"])
    assert tg.fit("interval(lo, hi) ~ x", data).counts["exact"] == 30


@REGRESSION_AND_PROCESS
@pytest.mark.parametrize("limits", ["l", "-inf, inf"])
def test_no_limits_is_plain_regression(formula, limits):
    terms = formula.split("|")[0]
    open_ended, plain = tg.fit(f"{terms} | censor({limits})", rows(l=-np.inf)), tg.fit(terms, rows())
    np.testing.assert_allclose(open_ended.predict(), plain.predict(), rtol=1e-8)
    if formula is CURVE:
        assert open_ended.evidence_kind == "exact"
        assert open_ended.log_evidence == pytest.approx(plain.log_evidence, abs=1e-8)


def test_the_next_number_above_a_limit_is_at_the_limit():
    y = rows()["y"].where(rows()["y"] > -0.3, np.nextafter(-0.3, 1))
    assert tg.fit(CURVE, rows(y=y)).counts.equals(tg.fit(CURVE, rows()).counts)


@pytest.mark.parametrize("width", [1e-6, 1e-12])
def test_narrow_intervals_say_what_values_say(width):
    data = rows(hi=rows()["lo"] + width)
    narrow, exact = tg.fit("interval(lo, hi) ~ x", data), tg.fit("lo ~ x", data)
    np.testing.assert_allclose(narrow.params, exact.params, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("distance", [40, 1e6])
@pytest.mark.parametrize("method", ["ep", "vi", "laplace"])
def test_limits_far_from_the_mean(distance, method):
    data = rows(6, y=[0.0, 0.1, -0.1, 0.05, -0.05, distance])
    fixed = {"sigma": 1.0, "sd(gp(x))": 1.0, "lengthscale(gp(x))": 1.0}
    model = tg.Model(f"y ~ 0 + gp(x) | censor(upper={distance})", data)
    value, _, slopes = model.evidence(fixed, method=method, gradient=True)
    assert np.isfinite([value, *slopes]).all()


@pytest.mark.slow
@REGRESSION_AND_PROCESS
def test_rows_with_missing_inputs_take_their_limits_and_weights_along(formula):
    data = rows(x=column("x", r0=np.nan, r9=np.nan), w=np.arange(1.0, 31.0))
    res, heard = fit_quietly(formula, data, weights="w")
    rest, _ = fit_quietly(formula, data.drop(index=[0, 9]), weights="w")
    np.testing.assert_allclose(res.params, rest.params, rtol=1e-6)
    assert res.counts["dropped"] == 2
    assert any(w.category is UserWarning and "2 of 30 rows" in str(w.message) for w in heard), heard
    assert res.predict().isna().tolist() == data["x"].isna().tolist()
    with pytest.raises(DataError, match=r"'x'.*rows 0, 9"):
        tg.fit(formula, data, weights="w", missing="raise")


@pytest.mark.filterwarnings("ignore:.*of the exact rows are copies")
@REGRESSION_AND_PROCESS
def test_duplicate_rows(formula):
    twice = pd.concat([rows(), rows()])
    assert tg.fit(formula, twice).converged
    if formula is CURVE:
        same = pd.concat([rows().head(1)] * 9)
        flat, _ = fit_quietly(formula, same)
        assert np.ptp(flat.predict(same).to_numpy()) < 1e-9


@REGRESSION_AND_PROCESS
@pytest.mark.parametrize("factor", [1e-12, 1e12])
def test_the_scale_of_an_input_does_not_matter(formula, factor):
    scaled = tg.fit(formula, rows(x=rows()["x"] * factor))
    np.testing.assert_allclose(scaled.predict(), tg.fit(formula, rows()).predict(), rtol=1e-4, atol=1e-5)


@REGRESSION_AND_PROCESS
@pytest.mark.parametrize("factor", [1e-12, 1e12])
def test_the_scale_of_the_response_scales_the_answer(formula, factor):
    scaled = tg.fit(formula, rows(y=rows()["y"] * factor, l=-0.3 * factor))
    expected = tg.fit(formula, rows()).predict()
    np.testing.assert_allclose(scaled.predict() / factor, expected, rtol=1e-4, atol=1e-5)


@REGRESSION_AND_PROCESS
def test_seconds_since_1970(formula):
    moved = tg.fit(formula, rows(x=rows()["x"] + 1.7e9))
    np.testing.assert_allclose(moved.predict(), tg.fit(formula, rows()).predict(), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("kind", ["int64", "float32", "bool", "Int64", "boolean", "Float64"])
def test_numbers_of_every_kind(kind):
    x = (rows()["x"] > 1).astype(int) if kind in ("bool", "boolean") else rows()["x"].round()
    res = tg.fit(LINE, rows(x=x.astype(kind)))
    np.testing.assert_allclose(res.predict(), tg.fit(LINE, rows(x=x.astype(float))).predict(), rtol=1e-6)


def test_a_missing_nullable_number_is_dropped():
    x = rows()["x"].round().astype("Int64")
    x[3] = pd.NA
    with pytest.warns(UserWarning, match="'x' \\(1\\)"):
        assert tg.fit(LINE, rows(x=x)).counts["dropped"] == 1


@pytest.mark.parametrize("kind", ["string", "category", "object"])
def test_text_of_every_kind_is_a_factor(kind):
    res = tg.fit("y ~ x + g | censor(l)", rows(g=rows()["g"].astype(kind)))
    assert list(res.params.index) == ["Intercept", "x", "g[T.b]", "g[T.c]", "sigma"]


@pytest.mark.parametrize("index", [[0] * 30, pd.MultiIndex.from_product([range(6), range(5)])])
def test_any_index_comes_back(index):
    data = rows().set_axis(pd.Index(index) if isinstance(index, list) else index)
    res, plain = tg.fit(CURVE, data), tg.fit(CURVE, rows())
    for predicted in (res.predict(), res.predict(data)):
        pd.testing.assert_index_equal(predicted.index, data.index)
        np.testing.assert_allclose(predicted, plain.predict(), rtol=1e-10)


@pytest.mark.parametrize("name", ["gp", "censor", "über größe", "ph.ecog", "a b", "x[0]"])
def test_odd_names_in_backticks(name):
    res = tg.fit(f"y ~ `{name}` | censor(l)", rows().rename(columns={"x": name}))
    np.testing.assert_allclose(res.params, tg.fit("y ~ x | censor(l)", rows()).params, rtol=1e-10)


def test_two_rows():
    res, _ = fit_quietly("y ~ gp(x) | censor(l)", rows().iloc[[0, 3]])
    finite(res, rows())


def test_more_inducing_inputs_than_distinct_rows():
    data = pd.concat([rows().head(6)] * 5)
    res, _ = fit_quietly(CURVE, data, method=tg.EP(inducing=20), fixed={"sigma": 0.1})
    few, _ = fit_quietly(CURVE, data, method=tg.EP(inducing=None), fixed={"sigma": 0.1})
    np.testing.assert_allclose(res.predict(data), few.predict(data), atol=1e-5)


@pytest.mark.parametrize("formula", [LINE, CURVE, "y ~ s + gp(x) | censor(l)"])
def test_an_input_that_tells_censored_rows_from_seen_ones(formula):
    """Values of the rows seen determine its slope, or a prior does: a maximum is there, and nothing to warn of."""
    res, heard = fit_quietly(formula, separated())
    finite(res, separated())
    assert res.converged
    assert not heard


def test_a_sparse_column_is_read_in_full():
    x = rows()["x"].round()
    sparse = tg.fit(LINE, rows(x=pd.arrays.SparseArray(x, fill_value=0.0)))
    np.testing.assert_allclose(sparse.params, tg.fit(LINE, rows(x=x)).params, rtol=1e-12)


@REGRESSION_AND_PROCESS
def test_rows_of_weight_0_are_as_if_not_there(formula):
    weight = np.r_[np.zeros(3), np.ones(27)]
    res, _ = fit_quietly(formula, rows(w=weight), weights="w")
    rest, _ = fit_quietly(formula, rows().iloc[3:])
    np.testing.assert_allclose(res.params, rest.params, rtol=1e-6)


@pytest.mark.parametrize("formula", ["y ~ x + g | censor(l)", "y ~ g + gp(x, by=g) | censor(l)"])
def test_levels_when_predicting(formula):
    unused = rows(g=pd.Categorical(rows()["g"], categories=list("abcd")))
    res, _ = fit_quietly(formula, unused)
    with pytest.raises(UnseenLevelError, match=r"'g'.*: d .*The levels of training are a, b, c"):
        res.predict(rows(g="d"))
    with pytest.raises(DataError, match="'x'"):
        res.predict(rows(x="text"))


@pytest.mark.parametrize(
    ("known", "told"), [({}, True), ({"sigma": 0.5}, False), ({"sd(re(id))": 0.5}, False), (None, False)]
)
def test_a_level_for_every_row(known, told):
    """Priors alone tell levels from noise; where one of the two is known, or a level has several rows, data do."""
    rng = np.random.default_rng(0)
    repeats = 2 if known is None else 1
    data = pd.DataFrame({"x": rng.normal(size=40), "id": np.arange(40) // repeats}).assign(y=lambda d: d["x"])
    data["y"] += rng.normal(size=40)
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        tg.fit("y ~ x + re(id)", data.astype({"id": str}), fixed=known, method=tg.EP(hyper="maximize"))
    assert sum("only the priors distinguish sd(re(id)) from sigma" in str(w.message) for w in heard) == told


def test_predicting_leaves_numpy_alone_and_repeats():
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    first, second = (tg.fit(CURVE, rows(), rng=3) for _ in range(2))
    np.testing.assert_array_equal(first.predict(), second.predict())
    np.testing.assert_array_equal(first.sample(draws=3, rng=1), second.sample(draws=3, rng=1))
    np.testing.assert_array_equal(np.random.get_state()[1], state)  # noqa: NPY002


def test_a_process_says_whether_it_settled():
    """Runs of the optimiser are limited one by one, so a short one may still reach the maximum."""
    res, heard = fit_quietly(CURVE, rows(), method=tg.EP(max_iter=1))
    assert res.converged != any(issubclass(w.category, ConvergenceWarning) for w in heard)
    if res.converged:
        np.testing.assert_allclose(res.log_evidence, tg.fit(CURVE, rows()).log_evidence, atol=0.01)
