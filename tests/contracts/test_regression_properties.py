"""What holds for every regression, whatever the data: hypothesis draws them."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.families import LOG_TIME, NAMES, censored, simulate

import tobitgp as tg
from tobitgp.errors import ConvergenceWarning, DataError

REAL = tuple(name for name in NAMES if name not in LOG_TIME)
SHAPES = ["df", "Q"]  # they may stand at a bound
SEEDS, FAMILIES = st.integers(0, 10_000), st.sampled_from(NAMES)
FEW = settings(max_examples=12)


def mixed(family, seed, n=40):
    """Rows of every kind: exact, left, right and between."""
    data, kind = simulate(family, n, seed), np.random.default_rng(seed).integers(0, 5, size=n)
    out = censored(data, left=kind == 1, right=kind == 2)
    wide = 1.5 * data["y"] if family in LOG_TIME else data["y"] + 0.5
    return out.assign(hi=np.where(kind == 3, wide, out["hi"]))


def fit(data, family, terms="z + w", **options):
    """None where there is no maximum."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", message="(df|Q) (grew beyond|fell below)")
        res = tg.fit(f"interval(lo, hi) ~ {terms}", data, family=family, method="mle", **options)
    return res if res.converged else None


def assert_same(a, b, columns=None):
    assert (a is None) == (b is None)
    if a is None:
        return
    columns = [name for name in a.params.index if name not in SHAPES] if columns is None else columns
    assert b.llf == pytest.approx(a.llf, abs=1e-7, rel=1e-7)
    np.testing.assert_allclose(b.params[columns], a.params[columns], rtol=1e-4, atol=1e-5)


@pytest.mark.slow
@FEW
@given(SEEDS, FAMILIES)
def test_order_of_rows(seed, family):
    data = mixed(family, seed)
    assert_same(fit(data, family), fit(data.sample(frac=1.0, random_state=seed), family))


@pytest.mark.slow
@FEW
@given(SEEDS, FAMILIES)
def test_weights_are_repeated_rows(seed, family):
    data = mixed(family, seed)
    times = np.random.default_rng(seed).integers(0, 4, size=len(data))
    assert_same(fit(data, family, weights=times), fit(data.loc[np.repeat(data.index, times)], family))


@pytest.mark.slow
@FEW
@given(SEEDS, st.sampled_from(REAL), st.floats(-6.0, 6.0), st.floats(-50.0, 50.0))
def test_units_and_origin_of_the_response(seed, family, digits, shift):
    data, unit = mixed(family, seed), 10.0**digits
    a = fit(data, family)
    b = fit(data.assign(lo=unit * (data["lo"] + shift), hi=unit * (data["hi"] + shift)), family)
    assert (a is None) == (b is None)
    if a is not None:
        slopes = ["z", "w", "sigma"]
        np.testing.assert_allclose(b.params[slopes] / unit, a.params[slopes], rtol=1e-4, atol=1e-5)
        assert b.params["Intercept"] / unit - shift == pytest.approx(a.params["Intercept"], rel=1e-4, abs=1e-4)
        assert b.llf == pytest.approx(a.llf - a.counts["exact"] * np.log(unit), abs=1e-6)


@pytest.mark.slow
@FEW
@given(SEEDS, st.sampled_from(LOG_TIME), st.floats(-6.0, 6.0))
def test_units_of_times(seed, family, digits):
    data, unit = mixed(family, seed), 10.0**digits
    a, b = fit(data, family), fit(data.assign(lo=unit * data["lo"], hi=unit * data["hi"]), family)
    assert (a is None) == (b is None)
    if a is not None:
        np.testing.assert_allclose(b.params.iloc[1:], a.params.iloc[1:], rtol=1e-5, atol=1e-6)
        assert b.params["Intercept"] - np.log(unit) == pytest.approx(a.params["Intercept"], rel=1e-5, abs=1e-6)
        assert b.llf == pytest.approx(a.llf - a.counts["exact"] * np.log(unit), abs=1e-7)


@pytest.mark.slow
@FEW
@given(SEEDS, st.sampled_from([name for name in REAL if name != "gumbel"]))
def test_reflection(seed, family):
    data = mixed(family, seed)
    a, b = fit(data, family), fit(data.assign(lo=-data["hi"], hi=-data["lo"]), family)
    if a is not None:
        pairs = {"exact": "exact", "left": "right", "right": "left", "interval": "interval"}
        assert [a.counts[kind] for kind in pairs] == [b.counts[kind] for kind in pairs.values()]
        signs = a.params.index.isin(["sigma", *SHAPES]) * 2.0 - 1.0
        keep = ~a.params.index.isin(SHAPES)
        np.testing.assert_allclose((b.params * signs)[keep], a.params[keep], rtol=1e-4, atol=1e-5)
        assert b.llf == pytest.approx(a.llf, abs=1e-7)


@pytest.mark.slow
@FEW
@given(SEEDS, FAMILIES, st.permutations(list("abc")))
def test_the_base_level_does_not_matter(seed, family, order):
    data = mixed(family, seed)
    other = data.assign(g=pd.Categorical(data["g"], categories=order))
    a, b = fit(data, family, "z + g"), fit(other, family, "z + g")
    assert (a is None) == (b is None)
    if a is not None:
        assert b.llf == pytest.approx(a.llf, abs=1e-7)
        np.testing.assert_allclose(b.predict(), a.predict(), rtol=1e-4, atol=1e-5)


@FEW
@given(SEEDS, st.sampled_from(["gaussian", "lognormal"]))
def test_infinite_limits_are_least_squares(seed, family):
    data = simulate(family, 40, seed)
    res = tg.fit("y ~ z + g | censor(-inf, inf)", data, family=family, method="mle")
    H = np.column_stack([np.ones(40), data["z"], data["g"] == "b", data["g"] == "c"])
    y = np.log(data["y"]) if family == "lognormal" else data["y"]
    beta, rss, *_ = np.linalg.lstsq(H, y, rcond=None)
    np.testing.assert_allclose(res.params.iloc[:4], beta, rtol=1e-9, atol=1e-11)
    assert res.params["sigma"] == pytest.approx(np.sqrt(rss[0] / 40), rel=1e-9)


@pytest.mark.slow
@settings(max_examples=60)
@given(
    SEEDS,
    FAMILIES,
    st.integers(2, 30),
    st.sampled_from(["1", "z", "z + g", "0 + g", "z * w", "poly(z, 2)", "z:g"]),
    st.sampled_from([None, "~ w", "~ z", "~ g"]),
    st.booleans(),
)
def test_whatever_comes_is_answered(seed, family, n, terms, sigma, windows):
    """A maximum without NaN, a ConvergenceWarning, or a DataError; nothing else."""
    data = mixed(family, seed, n)
    below = np.where(np.isinf(data["lo"]), data["hi"], data["lo"])
    data["entry"] = 0.5 * below if family in LOG_TIME else below - 1.0
    sigma = None if family == "exponential" else sigma
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", message="Only one row is exact")
        warnings.filterwarnings("ignore", message="(df|Q) (grew beyond|fell below)")
        warnings.filterwarnings("ignore", message="The factor 'g' has only the level")
        try:
            formula = f"interval(lo, hi) ~ {terms}{' | truncate(entry)' if windows else ''}"
            res = tg.fit(formula, data, family=family, method="mle", sigma=sigma)
        except DataError:
            return
    assert np.isfinite(res.params).all()
    assert np.isfinite(res.llf)
    assert str(res.summary())
    if res.converged:
        assert np.isfinite(res.bse.drop(index=SHAPES, errors="ignore")).all()  # NaN at its bound
        for kind in ("quantile", "deviance", "cox_snell", "martingale"):
            assert np.isfinite(res.residuals(kind)).all()
