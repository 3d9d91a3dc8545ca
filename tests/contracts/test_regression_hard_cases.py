"""Regressions of every family where data are hard: an exact answer, or one message that names what is wrong."""

import warnings
from contextlib import nullcontext

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from support.families import LOG_TIME, NAMES, censored, simulate

import tobitgp as tg
from tobitgp.errors import BoundaryWarning, ConvergenceWarning, DataError

pytestmark = pytest.mark.diagonal

SCALED = tuple(name for name in NAMES if name != "exponential")
INF = np.inf
SHAPES = {"student": "df", "gengamma": "Q"}


@pytest.fixture(params=NAMES)
def family(request):
    return request.param


@pytest.fixture(params=SCALED)
def scaled(request):
    """Families whose sigma is estimated."""
    return request.param


def fit(formula, data, family, **options):
    return tg.fit(formula, data, family=family, method="mle", **options)


def fit_in_vain(formula, data, family, words, **options):
    """A fit that says why it has no maximum, in one warning, and can be looked at all the same."""
    with pytest.warns(ConvergenceWarning, match=words) as caught:
        res = fit(formula, data, family, **options)
    assert len(caught) == 1
    assert not res.converged
    assert np.isfinite(res.params).all()
    assert "NOT converged" in repr(res)
    assert str(res.summary())
    assert np.isfinite(res.predict(what="latent")).all()
    return res


# -- separation -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize(
    ("terms", "where", "words"),
    [
        ("z + g", "g == 'b'", r"'g\[T.b\]' separates the \d+ {}-censored rows of level 'b' of 'g' .*Leave it out"),
        ("z + g", "g == 'a'", r"'g\[T.b\]' and 'g\[T.c\]' together separate .* of level 'a' of 'g' .*[Mm]erge levels"),
        ("z + g", "g != 'a'", r"'g\[T.b\]' and 'g\[T.c\]' separate .* of levels '.', '.' of 'g' .*[Mm]erge levels"),
        ("0 + z + g", "g == 'a'", r"'g\[a\]' separates the \d+ {}-censored rows of level 'a' of 'g'"),
        ("z + w", "w == 1", r"'w' separates the \d+ {}-censored rows with 'w' = 1 .*its coefficient"),
        ("z + w", "w == 0", r"'w' separates the \d+ {}-censored rows with 'w' = 0 .*its coefficient"),
        ("z + z:w + w", "w == 1", r"'w' and 'z:w' separate .*{}-censored rows with 'w' = 1|'z:w' and 'w' separate"),
    ],
)
def test_columns_that_separate_censored_rows(family, side, terms, where, words):
    data = simulate(family)
    rows = data.eval(where)
    fit_in_vain(f"interval(lo, hi) ~ {terms}", censored(data, **{side: rows}), family, words.format(side))


@pytest.mark.parametrize("side", ["left", "right"])
def test_separation_beside_a_formula_of_the_scale(scaled, side):
    data = simulate(scaled)
    data = censored(data, **{side: data["g"] == "b"})
    fit_in_vain("interval(lo, hi) ~ z + g", data, scaled, r"separates .* of level 'b' of 'g'", sigma="~ g")


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize(("sense", "end"), [(1.0, "0"), (-1.0, "infinity")])
def test_separation_in_the_formula_of_the_scale(scaled, side, sense, end):
    data = simulate(scaled)
    rows, shift = data["g"] == "b", 50.0 * sense * (1.0 if side == "left" else -1.0) * (data["g"] == "b")
    limits = data.assign(y=data["y"] * np.exp(shift) if scaled in LOG_TIME else data["y"] + shift)
    words = rf"sigma of the \d+ {side}-censored rows of level 'b' of 'g', .* 'log\(sigma\)\[g\[T.b\]\]', goes to {end}"
    res = fit_in_vain("interval(lo, hi) ~ z", censored(limits, **{side: rows}), scaled, words, sigma="~ g")
    if scaled == "gengamma" and end == "infinity":
        return  # the probability of a side of 0, which such rows keep, tells of the shape
    kept = fit("interval(lo, hi) ~ z", censored(data)[~rows], scaled, sigma="~ g")
    np.testing.assert_allclose(res.params[["Intercept", "z"]], kept.params[["Intercept", "z"]], atol=1e-3)


def test_what_is_left_of_a_separated_fit_is_that_of_the_other_rows(family):
    data = simulate(family)
    data = censored(data, left=data["g"] == "b")
    res = fit_in_vain("interval(lo, hi) ~ z + g", data, family, "separates")
    kept = fit("interval(lo, hi) ~ z + g", data[data["g"] != "b"], family)
    shared = ["Intercept", "z", "g[T.c]"]
    np.testing.assert_allclose(res.params[shared], kept.params[shared], atol=1e-3)
    assert res.llf == pytest.approx(kept.llf, abs=1e-4)


# -- hardly anything known --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("sigma", [None, "~ z"])
def test_every_row_censored_on_one_side(family, side, sigma):
    if sigma and family == "exponential":
        pytest.skip("sigma is known")
    data = simulate(family)
    where = {"left": "minus", "right": "plus"}[side]
    words = f"Every row is {side}-censored.*{where} infinity"
    fit_in_vain("interval(lo, hi) ~ z", censored(data, **{side: True}), family, words, sigma=sigma)


def test_limits_alone(scaled):
    data = simulate(scaled)
    above = data["y"] > data["y"].median()
    middle = data.assign(y=data["y"].median())
    fit_in_vain("interval(lo, hi) ~ z", censored(middle, left=~above, right=above), scaled, "do not determine sigma")
    if scaled in SHAPES:
        return
    res = fit("interval(lo, hi) ~ z", censored(middle, left=~above, right=above), scaled, fixed={"sigma": 1.0})
    assert res.converged


def test_intervals_alone_are_enough(family):
    data = simulate(family, n=400)
    y = np.log(data["y"]) if family in LOG_TIME else data["y"]
    low, width = np.floor(y / 0.02) * 0.02, 0.02
    ends = {"lo": low, "hi": low + width}
    ends = {name: np.exp(end) if family in LOG_TIME else end for name, end in ends.items()}
    exact, res = fit("y ~ z", data, family), fit("interval(lo, hi) ~ z", data.assign(**ends), family)
    assert res.converged
    assert res.counts["interval"] == 400
    keep = ["Intercept", "z"]
    np.testing.assert_allclose(res.params[keep], exact.params[keep], atol=0.02)
    np.testing.assert_allclose(res.bse[keep], exact.bse[keep], rtol=0.05)


def shape_ends_at_its_bound(family):
    if family not in SHAPES:
        return nullcontext()
    return pytest.warns(BoundaryWarning, match=f"{SHAPES[family]} grew beyond")


def test_one_exact_row(family):
    data = simulate(family)
    one = data.index == data["y"].idxmax()
    scale_rests_on_limits = family != "exponential"
    with (
        shape_ends_at_its_bound(family),
        pytest.warns(BoundaryWarning, match="Only one row") if scale_rests_on_limits else nullcontext(),
    ):
        res = fit("interval(lo, hi) ~ z", censored(data, left=~one), family)
    assert res.converged
    assert np.isfinite(res.params).all()
    assert np.isfinite(res.bse.drop([*SHAPES.values()], errors="ignore")).all()  # it may stand at its bound


def test_a_row_alone(scaled):
    fit_in_vain("y ~ 1", simulate(scaled).iloc[:1], scaled, r"sigma goes to 0.*exact rows: 1")


@pytest.mark.parametrize("terms", ["z", "1", "offset(z)"])
def test_a_perfect_fit(scaled, terms):
    data = simulate(scaled)
    exact = {"z": 1.0 + 2.0 * data["z"], "1": 3.0 + 0.0 * data["z"], "offset(z)": 1.0 + data["z"]}[terms]
    data = data.assign(y=np.exp(exact) if scaled in LOG_TIME else exact)
    res = fit_in_vain(f"y ~ {terms}", data, scaled, r"sigma goes to 0.*exact rows: 80.*Use fewer columns, or fix sigma")
    assert res.params["Intercept"] == pytest.approx(exact.iloc[0] if terms == "1" else 1.0)


def test_too_few_rows(family):
    data = simulate(family)
    with pytest.raises(DataError, match="4 columns, but there are only 3 rows: 'Intercept', 'z', "):
        fit("y ~ z + g", data.drop_duplicates("g"), family)
    with pytest.raises(DataError, match=r"No row is left: missing values in 'y' \(80\)\.$"):
        fit("y ~ z", data.assign(y=np.nan), family)
    with pytest.raises(DataError, match=r"No row is left: all 80 have weight 0\. Give"):
        fit("y ~ z", data, family, weights=np.zeros(80))


# -- units ------------------------------------------------------------------------------------------------------------


def limited(data, unit=1.0, shift=0.0):
    limit = data["y"].quantile(0.3)
    return data.assign(y=data["y"].clip(lower=limit) * unit + shift, limit=limit * unit + shift)


@pytest.mark.parametrize("unit", [1e-8, 1e8])
def test_units_of_the_response(family, unit):
    data = simulate(family)
    a, b = (fit("y ~ z | censor(limit)", limited(data, factor), family) for factor in (1.0, unit))
    exact = a.counts["exact"]
    assert b.converged
    assert b.llf == pytest.approx(a.llf - exact * np.log(unit), abs=1e-9)
    if family in LOG_TIME:
        shift = pd.Series({"Intercept": np.log(unit)}).reindex(a.params.index, fill_value=0.0)
        np.testing.assert_allclose(b.params - shift, a.params, rtol=1e-8 if family in SHAPES else 1e-9, atol=1e-12)
        np.testing.assert_allclose(b.bse, a.bse, rtol=1e-8)
        return
    units = pd.Series({"df": 1.0}).reindex(a.params.index, fill_value=unit)
    # Degrees of freedom are nearly flat.
    nearly = 1e-6 * a.bse.where(a.params.index == "df", 0.0)
    assert ((b.params / units - a.params).abs() <= 1e-7 * a.params.abs() + nearly).all()
    np.testing.assert_allclose(b.bse / units, a.bse, rtol=1e-6)


@pytest.mark.parametrize("family", [name for name in NAMES if name not in LOG_TIME])
def test_a_response_far_from_zero(family):
    data = simulate(family)
    a, b = (fit("y ~ z | censor(limit)", limited(data, shift=shift), family) for shift in (0.0, 1e8))
    assert b.converged
    assert b.params["Intercept"] - 1e8 == pytest.approx(a.params["Intercept"], abs=1e-7)
    np.testing.assert_allclose(b.params.iloc[1:3], a.params.iloc[1:3], atol=1e-6)
    assert b.llf == pytest.approx(a.llf, abs=1e-5)


@pytest.mark.parametrize(("unit", "shift"), [(1e-8, 0.0), (1e8, 0.0), (1e12, 0.0), (1.0, 1e8)])
def test_units_and_origin_of_a_column(family, unit, shift):
    data = limited(simulate(family))
    a, b = fit("y ~ z | censor(limit)", data, family), None
    b = fit("y ~ x | censor(limit)", data.assign(x=data["z"] * unit + shift), family)
    assert b.converged
    assert b.llf == pytest.approx(a.llf, abs=1e-6)
    assert b.params["x"] * unit == pytest.approx(a.params["z"], rel=1e-6)
    assert b.bse["x"] * unit == pytest.approx(a.bse["z"], rel=1e-6)


@pytest.mark.parametrize("unit", [1e-200, 1e200])
def test_sizes_that_cannot_be_squared(family, unit):
    data = simulate(family)
    with pytest.raises(DataError, match=r"size of column 'x' of the linear part is .*Express it in units"):
        fit("y ~ x", data.assign(x=data["z"] * unit), family)
    if family in LOG_TIME:
        return
    with pytest.raises(DataError, match=r"size of the response is .*Express it in units"):
        fit("y ~ z", data.assign(y=data["y"] * unit), family)


def test_sizes_of_the_scale(scaled):
    data = simulate(scaled)
    with pytest.raises(DataError, match="size of column 'x' of the noise scale"):
        fit("y ~ z", data.assign(x=data["z"] * 1e200), scaled, sigma="~ x")
    a, b = (fit("y ~ z", data.assign(x=data["z"] * unit), scaled, sigma="~ x") for unit in (1.0, 1e8))
    assert b.llf == pytest.approx(a.llf, abs=1e-7)


# -- columns that say the same ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("terms", "words"),
    [
        ("z + twice", "'twice' of the linear part is determined by 'z'. Leave one of them out"),
        ("z + shifted", "'shifted' of the linear part is determined by 'Intercept', 'z'"),
        ("z + nearly", "'nearly' of the linear part is determined by 'z'"),
        ("z + one", "'one' of the linear part is constant, like the intercept"),
        ("g + copy", r"'copy\[T.b\]' of the linear part is determined by 'g\[T.b\]'"),
        ("z + nothing", "'nothing' of the linear part is 0 in every row"),
    ],
)
def test_columns_that_others_determine(family, terms, words):
    data = simulate(family)
    z = data["z"]
    more = {"twice": 2.0 * z, "shifted": 3.0 * z + 2.0, "nearly": z * (1.0 + 1e-15), "one": 1.0, "nothing": 0.0}
    with pytest.raises(DataError, match=words):
        fit(f"y ~ {terms}", data.assign(**more, copy=data["g"]), family)


def test_nearly_collinear_columns_are_fitted(family):
    data = simulate(family)
    rough = data.assign(u=data["z"] + 1e-6 * data["w"])
    a, b = fit("y ~ z + w", data, family), fit("y ~ z + u", rough, family)
    assert b.converged
    assert b.llf == pytest.approx(a.llf, abs=1e-6)
    assert b.params["u"] * 1e-6 == pytest.approx(a.params["w"], rel=1e-3)


# -- rows that cannot be ----------------------------------------------------------------------------------------------


def with_row(label, **values):
    """Log-times around 20 within windows, one row of which is changed; the first row is dropped."""
    data = simulate("gaussian")
    data["y"] += 20.0
    data = data.assign(entry=data["y"] - 1.0, exit=data["y"] + 1.0, event=1)
    data.index = [f"r{i}" for i in range(len(data))]
    data.loc["r0", "z"] = np.nan
    for name, value in values.items():
        data.loc[label, name] = value
    return data


_EARLY = r"row r7: .* at or before its entry|at or before its entry.* row r7"


@pytest.mark.parametrize(
    ("formula", "changed", "words"),
    [
        ("Surv(entry, y, event) ~ z", {"entry": 90.0}, _EARLY),
        ("Surv(entry, y, event) ~ z", {"entry": 20.0, "y": 20.0}, _EARLY),
        ("Surv(entry, y, event) ~ z", {"entry": 20.0, "y": 20.0, "event": 0}, _EARLY),
        ("y ~ z | truncate(entry)", {"y": 1.0}, "at or before its entry.* row r7 holds 1"),
        ("y ~ z | truncate(entry, exit)", {"y": 90.0}, "beyond its exit: row r7 holds 90"),
        ("y ~ z | truncate(entry, exit)", {"entry": 50.0, "exit": 40.0}, "at or after exit: row r7 holds 50"),
        ("y ~ z | truncate(entry, exit)", {"entry": 40.0, "exit": 40.0}, "at or after exit: row r7 holds 40"),
        ("y ~ z | censor(entry, exit)", {"entry": 50.0, "exit": 40.0}, "above the upper limit in row r7"),
        ("interval(entry, exit) ~ z", {"entry": 50.0, "exit": 40.0}, "above the upper end in row r7"),
    ],
)
def test_rows_that_cannot_be(family, formula, changed, words):
    with pytest.warns(UserWarning, match="1 of 80 rows is dropped"), pytest.raises(DataError, match=words):
        fit(formula, with_row("r7", **changed), family)


@pytest.mark.parametrize("family", LOG_TIME)
def test_times_are_positive(family):
    with (
        pytest.warns(UserWarning, match="dropped"),
        pytest.raises(DataError, match="positive response: row r7 holds 0"),
    ):
        fit("y ~ z", with_row("r7", y=0.0), family)


# -- weights ----------------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:.*weights are not whole")
@pytest.mark.parametrize("weight", [1e-9, 0.25, 1e6])
def test_equal_weights_change_errors_alone(family, weight):
    data = limited(simulate(family))
    a = fit("y ~ z | censor(limit)", data, family)
    b = fit("y ~ z | censor(limit)", data, family, weights=np.full(80, weight))
    assert b.converged
    assert b.llf == pytest.approx(weight * a.llf, rel=1e-8)
    keep = ["Intercept", "z"]
    np.testing.assert_allclose(b.params[keep], a.params[keep], rtol=1e-3)
    np.testing.assert_allclose(b.bse[keep], a.bse[keep] / np.sqrt(weight), rtol=1e-3)


def test_one_row_of_huge_weight(family):
    data = limited(simulate(family))
    weights = np.where(data.index == data["y"].idxmax(), 1e6, 1.0)
    if family == "student":
        words = "sigma goes to 0 where the location's coefficients .* reach some rows perfectly, since the tails"
        fit_in_vain("y ~ z | censor(limit)", data, family, words, weights=weights)
        return
    with shape_ends_at_its_bound(family):
        res = fit("y ~ z | censor(limit)", data, family, weights=weights)
    assert res.converged
    assert np.isfinite(res.bse.drop([*SHAPES.values()], errors="ignore")).all()


def test_rows_of_weight_zero_are_not_there(family):
    data = simulate(family)
    weights = np.where(data["g"] == "b", 0.0, 1.0)
    broken = data.assign(y=data["y"].where(data["g"] != "b"), z=data["z"].where(data["g"] != "b", INF))
    a = fit("y ~ z", data[data["g"] != "b"], family, missing="raise")
    b = fit("y ~ z", broken, family, weights=weights, missing="raise")
    pd.testing.assert_series_equal(a.params, b.params)
    assert b.counts["dropped"] == int((weights == 0.0).sum())


def test_weights_and_groups_find_their_rows_by_label(family):
    data = simulate(family)
    data.index = [f"r{i}" for i in range(80)]
    weights, groups = pd.Series(np.arange(80) % 4 + 1.0, data.index), data["g"] + data["w"].astype(str)
    want = fit("y ~ z", data.assign(v=weights), family, weights="v", cov_type="cluster", cov_kwds={"groups": groups})
    other = weights.sample(frac=1.0, random_state=1), groups.sample(frac=1.0, random_state=2)
    found = fit("y ~ z", data, family, weights=other[0], cov_type="cluster", cov_kwds={"groups": other[1]})
    pd.testing.assert_series_equal(found.params, want.params)
    pd.testing.assert_series_equal(found.bse, want.bse)
    columns = {name: data[name].to_numpy() for name in ("y", "z")}
    by_place = fit("y ~ z", columns, family, weights=weights.set_axis(range(80)))
    pd.testing.assert_series_equal(by_place.params, want.params)


@pytest.mark.parametrize(
    ("index", "words"),
    [
        (range(80), r"labels that are not in the data, e.g. 0. .*weights.to_numpy\(\)"),
        (["r0", "r0", *(f"r{i}" for i in range(2, 80))], "r0 occurs twice"),
    ],
)
def test_weights_of_other_rows(index, words):
    data = simulate("gaussian").set_axis([f"r{i}" for i in range(80)])
    with pytest.raises(DataError, match=words):
        fit("y ~ z", data, "gaussian", weights=pd.Series(1.0, list(index)))
    with pytest.raises(DataError, match="The weights have 79 values for 80 rows"):
        fit("y ~ z", data, "gaussian", weights=pd.Series(1.0, data.index[1:]))


# -- windows ----------------------------------------------------------------------------------------------------------


@pytest.mark.slow_cases("gengamma")
def test_separation_behind_a_window(family):
    data = simulate(family)
    low = data["y"] - 1.0 if family not in LOG_TIME else 0.5 * data["y"]
    data = censored(data.assign(low=low), right=data["g"] == "b")
    words = "'g.T.b.' separates the .* right-censored rows of level 'b' of 'g'"
    fit_in_vain("interval(lo, hi) ~ z + g | truncate(low)", data, family, words)


def test_residuals_of_truncated_fits(family):
    data = simulate(family, n=700, seed=11)
    low, high = data["y"].quantile([0.2, 0.9])
    seen = data[(data["y"] > low) & (data["y"] <= high)].assign(low=low, high=high)
    with shape_ends_at_its_bound(family if family == "student" else ""):
        res = fit(
            "y ~ z | truncate(low, high)", seen, family, fixed=None if family == "exponential" else {"sigma": 1.0}
        )
    assert res.converged
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        quantile, deviance, hazard = (res.residuals(kind) for kind in ("quantile", "deviance", "cox_snell"))
    assert stats.kstest(quantile, "norm").pvalue > 0.01
    assert stats.kstest(hazard, "expon").pvalue > 0.01
    assert np.isfinite(deviance).all()
