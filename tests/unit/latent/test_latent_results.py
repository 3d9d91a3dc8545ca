"""A fit over latent coordinates: coordinates, imputation, new rows, files and what cannot be asked."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm, truncnorm

import tobitgp as tg
from tobitgp.errors import DataError, FormulaError, SpecError, UnavailableError

FORMULA = "mvbind(y1, y2, y3, y4, y5) ~ gp(latent(3)) | censor(y1=limit1, y2=(None, 1.5))"


@pytest.fixture(scope="module")
def truth():
    return tg.datasets.simulate_latent(1, n=70, noise_sd=0.1)


@pytest.fixture(scope="module")
def data(truth):
    """A fifth of y1 below its limit, y2 at most 1.5, some values missing, the last row wholly."""
    gone = np.random.default_rng(2).random((70, 3)) < 0.12
    data = truth.assign(
        y2=truth["y_star2"].clip(upper=1.5), y3=truth["y_star3"], y4=truth["y_star4"], y5=truth["y_star5"]
    )
    data[["y3", "y4", "y5"]] = data[["y3", "y4", "y5"]].mask(gone)
    data.loc[69, ["y1", "y2", "y3", "y4", "y5"]] = np.nan
    return data


@pytest.fixture(scope="module")
def res(data):
    return tg.fit(FORMULA, data)


def test_counts_are_of_values(res, data):
    left, right = (data["y1"] == data["limit1"]).sum(), (data["y2"] == 1.5).sum()
    missing = data[["y1", "y2", "y3", "y4", "y5"]].isna().to_numpy().sum()
    assert res.counts.to_dict() == {
        "exact": 350 - left - right - missing,
        "left": left,
        "right": right,
        "interval": 0,
        "dropped": 1,
    }
    assert res.nobs == 350 - missing
    assert res.converged
    assert res.evidence_kind == "local"


def test_coordinates_are_the_true_ones_but_for_a_smooth_map(res, truth):
    """Both true coordinates are functions of the two that the fit found; a third is switched off."""
    relevance = res.relevance()
    assert relevance["information"][3] < 0.05 < 0.5 < relevance["information"][2]
    found = res.latent().xs("estimate", axis=1, level=1)
    assert found.index.equals(truth.index)
    assert found.loc[69].isna().all()
    x = found.loc[:68, [1, 2]].to_numpy()
    powers = np.column_stack([x[:, 0] ** i * x[:, 1] ** j for i in range(4) for j in range(4 - i)])
    for name in ("x1", "x2"):
        target = truth.loc[:68, name].to_numpy()
        fitted = powers @ np.linalg.lstsq(powers, target, rcond=None)[0]
        assert np.corrcoef(fitted, target)[0, 1] > 0.9


def test_imputed_values_are_near_the_true_ones(res, data, truth):
    table = res.impute(interval=0.9)
    hidden = {"y1": data["y1"] == data["limit1"], "y2": data["y2"] == 1.5}
    hidden |= {name: data[name].isna() & (data.index < 69) for name in ("y3", "y4", "y5")}
    error = {True: [], False: []}  # of censored and of missing ones
    for name, rows in hidden.items():
        values, true = table.loc[rows, name], truth.loc[rows, f"y_star{name[1]}"]
        substitute = data.loc[rows, name].fillna(data[name].mean())  # the limit, or the mean
        error[name <= "y2"].append([np.square(each - true).sum() for each in (values["estimate"], substitute)])
    for censored in (True, False):
        ours, substituted = np.sum(error[censored], axis=0)
        assert ours < 0.8 * substituted
    assert (table.loc[hidden["y1"], ("y1", "estimate")] < data.loc[hidden["y1"], "limit1"]).all()
    assert (table.loc[hidden["y2"], ("y2", "estimate")] > 1.5).all()


def own_model(seed, n=70, responses=5):
    """Responses that are what the model says, with a fifth of each below its limit, and an eighth missing."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2)) / [1.5, 2.5]
    K = np.exp(-0.5 * np.square(x[:, None] - x).sum(axis=2)) + 1e-8 * np.eye(n)
    star = np.linalg.cholesky(K) @ rng.normal(size=(n, responses)) + 0.25 * rng.normal(size=(n, responses))
    limit = np.quantile(star, 0.2, axis=0)
    shown = np.where(rng.random(star.shape) < 0.125, np.nan, np.maximum(star, limit))
    names = [f"y{d}" for d in range(responses)]
    limits = {f"limit{d}": limit[d] for d in range(responses)}
    return pd.DataFrame(shown, columns=names).assign(**limits), pd.DataFrame(star, columns=names)


@pytest.mark.slow
def test_intervals_of_imputed_values_cover_them():
    """Nine tenths of intervals of 90% cover, and errors are as large as they are said to be."""
    z, inside = [], []
    for seed in range(3):
        data, star = own_model(seed)
        limits = ", ".join(f"y{d}=limit{d}" for d in range(5))
        found = tg.fit(f"mvbind(y0, y1, y2, y3, y4) ~ gp(latent(2)) | censor({limits})", data).impute(interval=0.9)
        for d, name in enumerate(star):
            hidden = data[name].isna() | (data[name] == data[f"limit{d}"])
            table, true = found.loc[hidden, name], star.loc[hidden, name]
            z += ((true - table["estimate"]) / table["se"]).tolist()
            inside += true.between(table["lower"], table["upper"]).tolist()
    assert len(z) > 200
    assert abs(np.mean(inside) - 0.9) < 0.06
    assert np.sqrt(np.mean(np.square(z))) < 1.25


def test_seen_values_stay(res, data):
    seen = data["y3"].notna()
    table = res.impute(interval=0.9)["y3"][seen]
    assert (table["estimate"] == data.loc[seen, "y3"]).all()
    assert (table["se"] == 0.0).all()


def test_rows_of_the_fit_get_their_coordinates_again(res, data):
    rows = data.index[:40]
    old, new = (found.xs("estimate", axis=1, level=1) for found in (res.latent().loc[rows], res.latent(data.loc[rows])))
    np.testing.assert_allclose(new[[1, 2]], old[[1, 2]], atol=1e-4)


def test_new_rows_need_some_of_the_responses(res, data):
    found = res.latent({"y4": [0.2, 0.9], "y5": [0.1, np.nan]})
    assert found.shape == (2, 6)
    assert np.isfinite(found).all().all()
    prior = res.latent({"y4": [np.nan], "y5": [np.nan]})
    assert prior.isna().all().all()
    with pytest.raises(DataError, match="none of the responses"):
        res.latent({"other": [1.0]})


@pytest.mark.slow
def test_units_of_responses_change_only_the_jacobian(data, res):
    scaled = tg.fit(FORMULA, data.assign(y3=100 + 1000 * data["y3"]))
    exact = data["y3"].notna().sum()
    assert scaled.elbo == pytest.approx(res.elbo - exact * np.log(1000), abs=0.01)
    np.testing.assert_allclose(scaled.params["sigma[y3]"], 1000 * res.params["sigma[y3]"], rtol=0.01)


@pytest.mark.slow
def test_order_of_responses_does_not_matter(data, res):
    other = tg.fit("mvbind(y5, y4, y1, y3, y2) ~ gp(latent(3)) | censor(y1=limit1, y2=(None, 1.5))", data)
    assert other.elbo == pytest.approx(res.elbo, abs=0.5)


@pytest.mark.filterwarnings("ignore:The search for latent coordinates did not converge")
def test_order_of_rows_does_not_matter_to_the_last_digit(data):
    """A search whose ends are as far apart as 3 nats comes to the same one."""
    formula, method = "mvbind(y1, y3, y5) ~ gp(latent(1)) | censor(y1=limit1)", tg.VI(n_starts=1, max_iter=20)
    one, two = (
        tg.fit(formula, rows, method=method) for rows in (data[:40], data[:40].sample(frac=1.0, random_state=1))
    )
    assert one.elbo == two.elbo


@pytest.mark.slow
def test_imputed_values_are_truncated_normals(res, data):
    """A censored value is that of scipy's truncated normal, with the moments that the row has without it."""
    rows = data[data["y1"] == data["limit1"]]
    apart = rows.assign(y1=np.nan)
    mean, var = res.predict(apart, "latent", se=True)["y1"].to_numpy().T
    total = np.sqrt(var**2 + res.params["sigma[y1]"] ** 2)
    limit = rows["limit1"].to_numpy()
    exact = truncnorm(-np.inf, (limit - mean) / total, mean, total)
    found = res.impute(rows, interval=0.8)["y1"]
    np.testing.assert_allclose(found["estimate"], exact.mean(), rtol=1e-7)
    np.testing.assert_allclose(found["se"], exact.std(), rtol=1e-6)
    np.testing.assert_allclose(found["lower"], exact.ppf(0.1), rtol=1e-7)
    np.testing.assert_allclose(res.predict(rows, "conditional")["y1"], exact.mean(), rtol=1e-7)


def test_draws_have_the_moments_of_the_posterior(res, data):
    rows = data.head(3)
    mean, covariance = res.posterior(rows)
    np.testing.assert_allclose(mean.to_numpy(), res.predict(rows, "latent").to_numpy().T.ravel(), rtol=1e-10)
    errors = res.predict(rows, "latent", se=True).xs("se", axis=1, level=1).to_numpy().T.ravel()
    np.testing.assert_allclose(np.sqrt(np.diag(covariance)), errors, rtol=1e-8)
    draws = res.sample(rows, 6000, what="latent", rng=1).transpose(0, 2, 1).reshape(6000, -1)
    unit = np.outer(errors, errors)
    np.testing.assert_allclose(np.cov(draws.T) / unit, covariance / unit, atol=0.08)
    one = res["y2"].posterior(rows).covariance
    np.testing.assert_allclose(one, covariance.loc["y2", "y2"], rtol=1e-8)


def test_values_are_judged_by_the_other_responses_of_their_row(res, data):
    rows = data.head(4)
    apart = res.predict(rows.assign(y4=np.nan), "latent", se=True)["y4"]
    sd = np.hypot(apart["se"], res.params["sigma[y4]"])
    known = rows["y4"].notna()
    expected = ((rows["y4"] - apart["estimate"]) / sd)[known]
    np.testing.assert_allclose(res["y4"].residuals("pearson").head(4)[known], expected, rtol=1e-6)
    density = norm.logpdf(rows["y4"], apart["estimate"], sd)[known]
    assert res.score(rows, response="y4") == pytest.approx(density.mean(), rel=1e-6)


def test_draws_of_censored_values_lie_below_their_limits(res, data):
    draws = res.sample(None, 50, what="conditional", rng=1)
    assert draws.shape == (50, 70, 5)
    below, above = (at.to_numpy() for at in (data["y1"] == data["limit1"], data["y1"] > data["limit1"]))
    assert (draws[:, below, 0] <= data.loc[below, "limit1"].to_numpy()).all()
    assert (draws[:, above, 0] == data.loc[above, "y1"].to_numpy()).all()


def test_a_file_answers_about_new_rows(res, data, tmp_path):
    res.save(tmp_path / "latent.tgp")
    loaded = tg.load(tmp_path / "latent.tgp")
    assert repr(loaded) == repr(res)
    pd.testing.assert_series_equal(loaded.params, res.params)
    pd.testing.assert_frame_equal(loaded.predict(data.head(5), interval=0.8), res.predict(data.head(5), interval=0.8))
    with pytest.raises(SpecError, match="no training rows"):
        loaded.latent()


def test_summary_and_map_show_every_part(res, data):
    text = str(res.summary())
    for words in ("y5", "dimension 3", "Log evidence:", "lower bound"):
        assert words in text
    coloured = res.plot_latent(by=data["y1"])
    assert len(coloured.collections) >= 2
    assert coloured.figure.axes[-1].get_ylabel() == "y1"
    groups = pd.Series(np.arange(70) % 3, name="group")
    assert res.plot_latent(by=groups).get_legend().get_title().get_text() == "group"
    assert len(res.plot_latent((1, 3), by=np.arange(70) % 3).get_legend().get_texts()) == 3


def test_without_censoring_the_bound_is_that_of_observed_values(data):
    plain = tg.fit("mvbind(y3, y4, y5) ~ gp(latent(1))", data, method=tg.VI(bound="local", max_iter=1000))
    assert plain.evidence_kind == "elbo"
    assert plain.counts["left"] == 0


@pytest.mark.parametrize("name", ["marginal_effects", "hazard_ratios", "bse", "conf_int", "k_hat", "n_components"])
def test_questions_without_meaning_say_why(res, name):
    with pytest.raises(UnavailableError, match="not defined for responses over latent coordinates"):
        getattr(res, name)


@pytest.mark.parametrize(
    ("formula", "error", "words"),
    [
        ("mvbind(y1, y2) ~ gp(latent(2)) + x1", FormulaError, "only term"),
        ("mvbind(y1, y2) ~ gp(latent(x1))", FormulaError, "number of dimensions"),
        ("mvbind(y1, y2) ~ gp(latent(0))", FormulaError, "from 1 to 20"),
        ("mvbind(y1, y2) ~ gp(latent(2)) | censor(0)", FormulaError, "one lower limit for each"),
        ("mvbind(y1, y9) ~ gp(latent(2))", FormulaError, "y9"),
        ("y1 ~ gp(latent(2))", FormulaError, "mvbind"),
        ("mvbind(y1, limit1) ~ gp(latent(1))", DataError, "limit1: all its values are the same"),
    ],
)
def test_formulas_that_cannot_be_fitted(data, formula, error, words):
    with pytest.raises(error, match=words):
        tg.fit(formula, data)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"method": "ep"}, "tg.VI"),
        ({"method": "mle"}, "tg.VI"),
        ({"family": "student"}, "Gaussian noise"),
        ({"weights": "x1"}, "weights="),
        ({"sigma": "~ x1"}, "sigma="),
        ({"method": tg.VI(bound="local", hyper="integrate")}, "hyper="),
        ({"method": tg.VI(bound="local", inducing=tg.Inducing(5))}, "inducing"),
        ({"method": tg.VI(batch=10)}, "batch=10: gp\\(latent"),
        ({"method": tg.VI(bound="local", side_noise="row")}, "side_noise='row': "),
        ({"fixed": {"sigma": 1.0}}, "fixed="),
    ],
)
def test_options_that_do_not_apply(data, options, words):
    with pytest.raises(SpecError, match=words):
        tg.fit("mvbind(y1, y2) ~ gp(latent(1))", data, **options)


def test_the_data_stay_as_they_are(data, res):
    before = data.copy()
    res.latent(data.head(3))
    pd.testing.assert_frame_equal(data, before)
