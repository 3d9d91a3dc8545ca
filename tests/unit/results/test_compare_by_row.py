"""Models side by side by rows left out: another program, the conditions of an optimum, what is refused."""

import numpy as np
import pandas as pd
import pytest
from support.arviz import legacy, quietly

import tobitgp as tg
from tobitgp.errors import ApproximationWarning, SpecError
from tobitgp.results.compare import stacking_weights

COLUMNS = ["value", "diff", "se_diff", "weight", "kind", "n", "converged"]


@pytest.fixture(scope="module")
def survival(lung):
    formula = "Surv(time, event) ~ age"
    return {
        "weibull": tg.fit(f"{formula} + C(ph_ecog)", lung, family="weibull"),
        "lognormal": tg.fit(formula, lung, family="lognormal"),
        "age": tg.fit(formula, lung, family="weibull"),
        "no age": tg.fit("Surv(time, event) ~ mixture(1)", lung, family="weibull"),
    }


@pytest.mark.slow
@pytest.mark.parametrize("by", ["loo", "waic"])
def test_it_equals_arviz(survival, by):
    arviz = legacy()
    table = quietly(tg.compare, survival, by=by)
    draws = {name: fit.to_arviz(4000) for name, fit in survival.items()}
    theirs = quietly(arviz.compare, draws, ic=by)
    assert list(table.columns) == COLUMNS
    assert list(table.index) == list(theirs.index)
    assert np.allclose(table["value"], theirs[f"elpd_{by}"], atol=1e-8)
    assert np.allclose(-table["diff"], theirs["elpd_diff"], atol=1e-8)
    assert np.allclose(table["se_diff"], theirs["dse"], atol=1e-8)
    assert np.allclose(table["weight"], theirs["weight"], atol=2e-3)
    assert set(table["kind"]) == {"psis" if by == "loo" else "waic"}
    assert (table["n"] == len(survival["age"].parts.rows.labels)).all()


def test_weights_of_stacking_meet_the_conditions_of_an_optimum(rng):
    """Where a model has weight its mean ratio to the mixture is 1, elsewhere at most 1."""
    for trial in range(20):
        n, K = int(rng.integers(5, 200)), int(rng.integers(2, 7))
        log_density, count = 3.0 * rng.normal(size=(n, K)) - 400.0 * (trial % 3), rng.integers(1, 4, n).astype(float)
        w = stacking_weights(log_density, count)
        p = np.exp(log_density - log_density.max(axis=1, keepdims=True))
        ratio = (count @ (p / (p @ w)[:, None])) / count.sum()
        assert w.sum() == pytest.approx(1.0)
        assert (w >= 0.0).all()
        assert (ratio < 1.0 + 1e-4).all()
        assert np.allclose(ratio[w > 1e-3], 1.0, atol=1e-4)


def test_equal_models_share_and_one_has_all(survival):
    rows = np.log(np.array([[0.5, 0.5, 0.1], [0.2, 0.2, 0.1]]))
    w = stacking_weights(rows, np.ones(2))
    assert w[2] == pytest.approx(0.0, abs=1e-6)
    assert quietly(tg.compare, {"one": survival["age"]}, by="loo")["weight"].tolist() == [1.0]


def test_a_process_stands_beside_a_regression(mixed):
    curve = tg.fit("y ~ z + g + gp(x) | censor(low, 1.4)", mixed)
    line = tg.fit("y ~ z + g + x | censor(low, 1.4)", mixed)
    table = tg.compare({"line": line, "curve": curve}, by="loo")
    assert list(table.index) == ["curve", "line"]
    assert table["kind"].to_dict() == {"curve": "ep", "line": "psis"}
    gap = curve.loo().pointwise["elpd"] - line.loo().pointwise["elpd"]
    assert table.loc["line", "diff"] == pytest.approx(-gap.sum())
    assert table.loc["line", "se_diff"] == pytest.approx(np.sqrt(60 * gap.var(ddof=0)))
    assert table.loc["curve", "se_diff"] == 0.0


def test_frequency_weights_count(mixed):
    data = mixed.assign(c=1.0 + np.arange(60) % 3)
    again = data.loc[data.index.repeat(data["c"].astype(int))].reset_index(drop=True)
    formulas = {"z": "y ~ z | censor(low, 1.4)", "g": "y ~ g | censor(low, 1.4)"}
    one = tg.compare({name: tg.fit(f, data, weights="c") for name, f in formulas.items()}, by="loo")
    two = tg.compare({name: tg.fit(f, again) for name, f in formulas.items()}, by="loo")
    columns = ["value", "diff", "se_diff", "weight", "n"]
    assert np.allclose(one[columns].astype(float), two.loc[one.index, columns].astype(float), rtol=1e-4, atol=1e-6)


def test_other_rows_are_refused(mixed):
    one = tg.fit("y ~ z | censor(low, 1.4)", mixed)
    with pytest.raises(SpecError, match="different rows"):
        tg.compare([one, tg.fit("y ~ z | censor(low, 1.4)", mixed.head(59))], by="loo")


def test_fits_without_rows_are_named(mixed, tmp_path):
    one = tg.fit("y ~ z | censor(low, 1.4)", mixed)
    one.save(tmp_path / "one.tgp")
    with pytest.raises(SpecError, match="for 'loaded': This fit holds no training rows"):
        tg.compare({"one": one, "loaded": tg.load(tmp_path / "one.tgp")}, by="loo")


def test_models_of_doubtful_rows_are_named(rng):
    z = np.append(rng.normal(size=30), 12.0)
    data = pd.DataFrame({"z": z, "y": 0.2 * z + rng.normal(0, 0.3, 31) + 4.0 * (z == 12.0)})
    fits = {"steep": tg.fit("y ~ z", data), "flat": tg.fit("y ~ 1", data)}
    with pytest.warns(ApproximationWarning) as caught:
        tg.compare(fits, by="loo")
    assert [str(w.message).split(":")[0] for w in caught] == ["psis of 'steep'", "psis of 'flat'"]


def test_selection_ranks_by_it(mixed):
    found = tg.select(["y ~ z | censor(low, 1.4)", "y ~ z + g | censor(low, 1.4)"], mixed, by="loo")
    assert found.table.index[0] == "y ~ z + g | censor(low, 1.4)"
    assert found.table["se_diff"].iloc[1] > 0.0
