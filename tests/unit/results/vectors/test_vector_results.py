"""Results of mixtures of vectors: components, imputed values, draws, new rows, files and what cannot be asked."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import multivariate_normal, norm

import tobitgp as tg
from tobitgp.errors import DataError, FormulaError, SpecError, UnavailableError

FORMULA = "mvbind(y1, y2) ~ mixture(2) | censor(y1=limit1, y2=limit2)"


@pytest.fixture(scope="module")
def data():
    """Some of y2 missing, the last row wholly."""
    data = tg.datasets.simulate_vectors(3, n=150)
    data.loc[5:12, "y2"] = np.nan
    data.loc[149, ["y1", "y2"]] = np.nan
    return data


@pytest.fixture(scope="module")
def res(data):
    return tg.fit(FORMULA, data, method=tg.EMCM(n_init=3))


def grid_of(res, row):
    """Points of a grid, and the mixture's density there times the width; rows of ``row`` are a value or a range."""
    axes = [np.atleast_1d(one) if np.ndim(one) == 0 else np.linspace(*one, 1201) for one in row]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    each = [
        w * multivariate_normal(m, S).pdf(points).reshape(points.shape[:-1])
        for w, m, S in zip(res.weights, res.means.to_numpy(), res.covariances.to_numpy().reshape(2, 2, 2), strict=True)
    ]
    return points, np.array(each)


def test_counts_are_of_rows_and_values(res, data):
    left = int(((data["y1"] == data["limit1"]).sum()) + (data["y2"] == data["limit2"]).sum())
    assert res.nobs == 149
    assert res.counts["left"] == left
    assert res.counts["dropped"] == 1
    assert res.df_model == 11
    assert res.bic == pytest.approx(11 * np.log(149) - 2 * res.llf)
    assert "149 rows" in repr(res)
    assert res.weights.sum() == pytest.approx(1.0)
    assert res.params["sd[y1][2]"] ** 2 == pytest.approx(res.covariances.loc[(2, "y1"), "y1"])


@pytest.mark.parametrize("kind", ["both", "y1", "y2", "missing"])
def test_components_and_imputed_values_are_those_of_a_grid(res, data, kind):
    """The density of the mixture on a grid over what is hidden, ten standard deviations below a limit and above."""
    limits = data[["limit1", "limit2"]].iloc[0].to_numpy()
    below1, below2 = data["y1"] == data["limit1"], data["y2"] == data["limit2"]
    chosen = {"both": below1 & below2, "y1": below1 & ~below2 & data["y2"].notna(), "y2": below2 & ~below1}
    chosen["missing"] = data["y2"].isna() & data["y1"].notna() & ~below1
    at = int(np.flatnonzero(chosen[kind])[0])
    seen, hidden = data.loc[at, ["y1", "y2"]].to_numpy(float), {"both": [0, 1], "y1": [0], "y2": [1], "missing": [1]}
    row = list(seen)
    for j in hidden[kind]:
        row[j] = (-9.0, 12.0) if kind == "missing" else (limits[j] - 8.0, limits[j])
    points, each = grid_of(res, row)
    for axis in hidden[kind]:
        ends = [slice(None)] * 3
        for edge in (0, -1):
            ends[axis + 1] = edge
            each[tuple(ends)] *= 0.5  # the trapezoidal rule
    total = each.sum()
    np.testing.assert_allclose(res.predict(what="component").loc[at], each.sum(axis=(1, 2)) / total, atol=1e-4)
    w = each.sum(axis=0) / total
    mean = np.einsum("ij,ijd->d", w, points)
    sd = np.sqrt(np.einsum("ij,ijd->d", w, (points - mean) ** 2))
    table = res.impute(interval=0.9)
    for j, name in enumerate(res.responses):
        assert table.loc[at, (name, "estimate")] == pytest.approx(mean[j], abs=1e-4)
        assert table.loc[at, (name, "se")] == pytest.approx(sd[j], abs=1e-3)
        if j in hidden[kind]:
            inside = (points[..., j] > table.loc[at, (name, "lower")]) & (
                points[..., j] < table.loc[at, (name, "upper")]
            )
            assert w[inside].sum() == pytest.approx(0.9, abs=0.03)


def test_imputed_values_are_nearer_than_limits(res, data):
    hidden, filled = data["y1"] == data["limit1"], res.impute()
    error = (filled["y1"] - data["y_star1"])[hidden]
    assert np.square(error).mean() < 0.5 * np.square(data["limit1"] - data["y_star1"])[hidden].mean()
    assert (filled.loc[~hidden & (data.index < 149), "y1"] == data.loc[~hidden & (data.index < 149), "y1"]).all()
    assert filled.loc[149].isna().all()


def test_most_rows_are_in_their_group(res, data):
    found = res.predict(what="component")[:149].idxmax(axis=1)
    assert (found == data["group"][:149]).mean() > 0.9


def test_a_response_has_its_marginal_mixture(res):
    found = res["y2"].predictive
    mixed = sum(
        w * norm(m, np.sqrt(v)).cdf([0.0, 2.0])
        for w, m, v in zip(res.weights, res.means["y2"], res.covariances.xs("y2", level="response")["y2"], strict=True)
    )
    np.testing.assert_allclose(found.cdf([0.0, 2.0]), mixed, rtol=1e-10)
    assert res["y2"].llf == res.llf
    assert res["y2"].aic == res.aic
    assert res["y2"].bse["mean[1]"] == res.bse["mean[y2][1]"]


def test_new_rows_need_one_response(res):
    table = res.predict({"y1": [0.0, 4.0], "limit1": -1.0}, "component")
    densities = res.weights.to_numpy() * norm(
        res.means["y1"], np.sqrt(res.covariances.xs("y1", level="response")["y1"])
    ).pdf([[0.0], [4.0]])
    np.testing.assert_allclose(table, densities / densities.sum(axis=1, keepdims=True), rtol=1e-8)
    with pytest.raises(DataError, match="at least one of the responses y1, y2"):
        res.predict({"z": [1.0]}, "component")


def test_frequency_weights_are_copies(data):
    method = {"method": tg.EMCM(n_init=1)}
    often = data.assign(w=1 + np.arange(len(data)) % 3)
    weighted = tg.fit(FORMULA, often, weights="w", **method)
    written = tg.fit(FORMULA, often.loc[often.index.repeat(often["w"])].reset_index(drop=True), **method)
    assert weighted.nobs == written.nobs
    assert weighted.llf == pytest.approx(written.llf, abs=1e-8)
    np.testing.assert_allclose(weighted.bse, written.bse, rtol=1e-6)


def test_draws_have_the_moments(res):
    y = res.sample(draws=400, rng=1).reshape(-1, 2)
    w, m = res.weights.to_numpy(), res.means.to_numpy()
    mean = w @ m
    cov = np.einsum("k,kij->ij", w, res.covariances.to_numpy().reshape(2, 2, 2)) + (w * (m - mean).T) @ (m - mean)
    np.testing.assert_allclose(y.mean(axis=0), mean, atol=0.1)
    np.testing.assert_allclose(np.cov(y.T), cov, atol=0.3)
    given = res.sample(draws=500, what="conditional", rng=2)
    np.testing.assert_allclose(given.mean(axis=0)[:149], res.impute()[:149], atol=0.25)


def test_scores_of_left_out_values_are_given_the_others(res, data):
    """At the estimates, the score of a seen value beside a seen one is that of the mixture of regressions on it."""
    at = int(np.flatnonzero((data["y1"] > data["limit1"]) & (data["y2"] > data["limit2"]))[0])
    draws = res.log_likelihood_draws(300, rng=1)
    y = data.loc[at, ["y1", "y2"]].to_numpy(float)
    each = list(zip(res.weights, res.means.to_numpy(), res.covariances.to_numpy().reshape(2, 2, 2), strict=True))
    joint = sum(w * multivariate_normal(m, V).pdf(y) for w, m, V in each)
    alone = sum(w * norm(m[1], np.sqrt(V[1, 1])).pdf(y[1]) for w, m, V in each)
    assert draws["y1", at].mean() == pytest.approx(np.log(joint / alone), abs=0.1)


def test_the_range_of_numbers_is_judged_by_bic(data):
    found = tg.fit(FORMULA.replace("(2)", "(range(1, 4))"), data, method=tg.EMCM(n_init=2))
    assert found.n_components == 2
    assert found.selection["value"].is_monotonic_increasing
    assert found.selection.loc[2, "value"] == pytest.approx(found.bic)


def test_a_file_answers_alike(res, data, tmp_path):
    res.save(tmp_path / "fit.tgp")
    again = tg.load(tmp_path / "fit.tgp")
    assert repr(again) == repr(res)
    new = data.head(8)
    pd.testing.assert_frame_equal(again.impute(new), res.impute(new))
    pd.testing.assert_frame_equal(again.predict(new, "component"), res.predict(new, "component"))
    pd.testing.assert_series_equal(again.bse, res.bse)
    with pytest.raises(SpecError, match="Give new="):
        again.impute()


def test_figures_show_every_component(res):
    ax = res.plot_components()
    assert len(ax.get_legend_handles_labels()[1]) == 2
    with pytest.raises(SpecError, match="must be the names of two responses"):
        res.plot_components(("y1",))


@pytest.mark.parametrize(
    ("formula", "options", "words"),
    [
        (FORMULA, {"family": "weibull"}, "components of vectors are normal"),
        (FORMULA, {"method": "vbcm"}, "fitted by maximum likelihood"),
        (FORMULA, {"priors": {"mean": 0.0}}, "priors= is not supported"),
        (FORMULA, {"sigma": "~ y1"}, "sigma= is not supported"),
        (FORMULA.replace("mixture(2)", "mixture(200)"), {}, "there are only 149 rows"),
        ("mvbind(y1, limit1) ~ mixture(2)", {}, "all its values are the same"),
    ],
)
def test_what_makes_no_sense_is_refused(data, formula, options, words):
    with pytest.raises((SpecError, DataError), match=words):
        tg.fit(formula, data, **options)


@pytest.mark.parametrize(
    ("formula", "words"),
    [
        ('mvbind(y1, y2) ~ mixture("dp")', "has a number of components"),
        ("mvbind(y1, y2) ~ mixture(2) + x", "must be the only term"),
        ("mvbind(y1, y2) ~ mixture(2) | censor(1)", "one lower limit for each of 2 responses"),
    ],
)
def test_formulas_say_what_is_wrong(data, formula, words):
    with pytest.raises(FormulaError, match=words):
        tg.fit(formula, data)


def test_questions_without_a_meaning_say_why(res):
    for name, words in {"sites": "for a posterior", "terms": "no location", "predict_cured": "no cured rows"}.items():
        with pytest.raises(UnavailableError, match=words):
            getattr(res, name)


def test_the_floor_is_told(data):
    few = data.head(40).copy()
    few.loc[:5, "y1"] = 9.0 + np.linspace(0, 1, 6)
    few.loc[:5, "y2"] = few.loc[:5, "y1"]
    with pytest.warns(tg.errors.BoundaryWarning, match="eigenvalue at its floor"):
        found = tg.fit(FORMULA, few, method=tg.EMCM(n_init=4))
    assert np.isnan(found.bse["sd[y1][2]"])
    assert np.isfinite(found.bse["sd[y1][1]"])
    assert found.sample(draws=2).shape == (2, 40, 2)
