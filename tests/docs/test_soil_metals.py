"""The scores of the page on soils, by quadrature and by hand, and what it states about its tables."""

import re
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.integrate import quad
from scipy.stats import multivariate_normal, norm
from support.vignettes import FOLDER, module_of

run = module_of("soil-metals", "run")

WEIGHT = np.array([[0.3, 1.0, 0.5], [0.7, 0.0, 0.5]])
MEAN, SD = np.array([[0.0, 1.0, 4.0], [2.0, 0.0, -1.0]]), np.array([[1.0, 0.5, 0.3], [0.4, 1.0, 2.0]])
LIMIT = np.array([1.2, -1.5, np.inf])


def density(y, row):
    return sum(w * norm.pdf(y, m, s) for w, m, s in zip(WEIGHT[:, row], MEAN[:, row], SD[:, row], strict=True))


def integral(f, low, high, row):
    cuts = np.clip([low, *MEAN[:, row], high], max(low, -20.0), min(high, 20.0))
    ends = np.unique(cuts)
    return sum(quad(lambda y: f(y) * density(y, row), a, b, epsabs=1e-14)[0] for a, b in pairwise(ends))


@pytest.mark.filterwarnings("ignore:divide by zero")
def test_values_below_limits_have_the_probabilities_and_means_of_quadrature():
    y = run.Predicted(WEIGHT, MEAN, SD, LIMIT)
    low, high = np.array([-0.5, -2.0, 5.5]), np.array([0.1, -1.7, 6.0])
    mass, inside, first = (
        np.array([integral(f, a, b, row) for row, (a, b) in enumerate(zip(*ends, strict=True))])
        for f, ends in (
            (lambda _: 1.0, ([-np.inf] * 3, LIMIT)),
            (lambda _: 1.0, (low, high)),
            (lambda value: value, ([-np.inf] * 3, LIMIT)),
        )
    )
    np.testing.assert_allclose(y.log_probability(low, high), np.log(inside / mass), rtol=1e-8)
    np.testing.assert_allclose(y.expectation(), first / mass, rtol=1e-8)
    np.testing.assert_allclose(np.exp(y.log_probability(np.full(3, -np.inf), high)), y.cdf(high), rtol=1e-9)
    np.testing.assert_allclose(y.log_probability(low, np.full(3, np.inf)), np.log1p(-y.cdf(low)), rtol=1e-7)


def test_normal_vectors_predict_by_the_conditional_of_their_mixture():
    """Given all other elements, at the estimates of the fit; by ratios of joint densities."""

    class Fit:
        weights = np.array([0.4, 0.6])
        means = pd.DataFrame(np.random.default_rng(1).normal(size=(2, 8)))
        roots = np.random.default_rng(2).normal(size=(2, 8, 8))
        covariances = pd.DataFrame(np.concatenate([root @ root.T + np.eye(8) for root in roots]))

        def sample(self, data, draws, **_):
            return np.repeat(np.log(data[run.NAMES].fillna(1.0).to_numpy())[None], draws, axis=0)

    fit, rng = Fit(), np.random.default_rng(3)
    data = pd.DataFrame(np.exp(rng.normal(size=(4, 8))), columns=run.NAMES)
    y = run.Predicted(*run.of_normals(data, "copper", fit))
    own, covariances = run.NAMES.index("copper"), fit.covariances.to_numpy().reshape(2, 8, 8)
    for i, row in enumerate(np.log(data.to_numpy())):

        def joint(value, row=row):
            at = row.copy()
            at[own] = value
            parts = zip(fit.weights, fit.means.to_numpy(), covariances, strict=True)
            return sum(w * multivariate_normal.pdf(at, m, V) for w, m, V in parts)

        whole, below = (quad(joint, -25.0, end, limit=300)[0] for end in (25.0, 0.3))
        assert y.cdf(np.full(4, 0.3))[i] == pytest.approx(below / whole, abs=1e-6)


# -- what the page states, from its tables ----------------------------------------------------------------------------


def table(name):
    return pd.read_csv(FOLDER / "soil-metals" / f"{name}.csv")


def test_what_the_page_states_about_the_map():
    soils, cells, elements = table("map"), table("cells"), table("profiles").set_index("element")
    assert (len(soils), len(elements), cells["soils"].sum()) == (959, 8, 959)
    assert (elements["correlation_1"] > 0.6).all()
    second = elements["correlation_2"]
    assert set(second[second > 0.2].index) == {"antimony", "arsenic"}
    assert second.idxmin() == "indium"
    few = soils["not_detected"] > 0
    assert soils["first"][few].mean() < -1 < 0 < soils["first"][~few].mean()
    assert soils["not_detected"].sum() == elements["not_detected"].sum()
    mountains = cells["lon"].between(-107, -105)
    assert (cells[mountains]["second"].mean(), cells[~mountains]["second"].mean()) == (
        pytest.approx(-0.6, abs=0.15),
        pytest.approx(0.3, abs=0.15),
    )
    middle = mountains & cells["lat"].between(38, 40)
    assert cells[middle]["first"].mean() > 0.5 > 0.1 > cells[~middle]["first"].mean()


def test_what_the_page_states_about_dimensions():
    fits = table("relevance")
    bounds = fits.groupby("dimensions")["bound"].first()
    assert [*bounds.index] == [1, 2, 3, 4]
    assert (bounds.diff().dropna() > 100).all()
    lengthscale = fits.set_index(["dimensions", "dimension"])["lengthscale"]
    assert lengthscale[1, 1] < 0.5
    assert (lengthscale[4] > 6).sum() == 3
    assert table("map")[["first", "second"]].std().between(0.9, 1.1).all()


SCORES = table("scores")
SHARED = ["below the raised limit", "missing"]


def means(column):
    return SCORES.groupby(["size", "held_out", "method"])[column].mean().unstack()


def ahead(column, one, other):
    """Mean of the difference and its standard error over samples, by size and kind of value."""
    wide = SCORES.pivot(index=["size", "held_out", "sample"], columns="method", values=column)
    groups = (wide[one] - wide[other]).groupby(["size", "held_out"])
    return groups.mean(), groups.sem()


def test_samples_are_those_that_the_page_describes():
    assert SCORES.groupby("size")["sample"].nunique().to_dict() == run.SAMPLES == {80: 12, 240: 4}
    assert set(SCORES["method"]) == {*run.METHODS, "half the limit"}
    assert set(SCORES.query("method == 'mixture(2)'")["size"]) == {240}


def test_what_the_verdict_states_about_errors():
    error = means("mean_absolute")
    for size in run.SAMPLES:
        assert error.loc[size, "below the raised limit"].idxmax() == "half the limit"
        for why in SHARED:
            row = error.loc[size, why]
            assert row[["regression on halves", "each alone"]].min() > row[["mixture(1)", "latent(2)"]].max()
            assert 0.04 <= round(1 - row["latent(2)"] / row["mixture(1)"], 2) <= 0.09


def test_what_the_verdict_states_about_log_scores():
    score = means("log_score")
    assert (score["each alone"] < score[["mixture(1)", "latent(2)"]].min(axis=1)).unstack()[SHARED].all(axis=None)
    gain, se = ahead("log_score", "latent(2)", "mixture(1)")
    assert (gain.abs() < se).unstack()["below the raised limit"].all()
    assert (gain.unstack()["missing"] > 0).all()
    assert gain[80, "missing"] > 2.5 * se[80, "missing"]
    absent = score.xs("not detected", level="held_out")
    assert (absent.idxmax(axis=1) == "regression on halves").all()
    assert absent[["mixture(1)", "latent(1)"]].gt(absent["latent(2)"], axis=0).all(axis=None)
    below = score.xs("below the raised limit", level="held_out")
    assert below["regression on halves"].lt(below[["mixture(1)", "latent(1)", "latent(2)"]].min(axis=1)).all()
    third, _ = ahead("log_score", "latent(3)", "latent(2)")
    assert (third[80] < 0).all()
    assert (third[240] > 0).all()
    assert (score.loc[240, "mixture(2)"] < score.loc[240, "mixture(1)"]).all()


def test_what_the_verdict_states_about_coverage():
    coverage = means("coverage").drop(index="not detected", level="held_out")
    assert coverage["latent(2)"].round(2).between(0.91, 0.94).all()
    assert round(coverage.loc[(80, "missing"), "mixture(1)"], 2) == 0.88


@pytest.mark.slow
def test_cells_of_the_page_show_what_its_text_states(monkeypatch):
    monkeypatch.chdir(FOLDER / "soil-metals")
    monkeypatch.syspath_prepend(FOLDER / "soil-metals")  # as in a notebook
    for name in ("run", "papers"):  # those of other pages, before and after
        monkeypatch.setitem(sys.modules, name, None)
        del sys.modules[name]
    cells = re.findall(
        r"```\{code-cell\}\n(?::tags:[^\n]*\n)?(.*?)\n```", Path("index.md").read_text(), flags=re.DOTALL
    )
    shown = {}
    for cell in cells:
        exec(compile(cell, "index.md", "exec"), shown)
    shown["plt"].close("all")
    assert shown["res"].relevance()["information"].iloc[-1] < 1e-3
    mean, less = shown["rmse"].mean(), shown["less"]
    assert mean.idxmin() == "gp(latent(2))"
    assert mean.max() < 1.1 * mean.min()
    assert less["mixture(1)"].mean() < 2 * less["mixture(1)"].sem()
