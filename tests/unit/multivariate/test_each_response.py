"""Questions about each of several responses: against fits of one, draws, and conditional normal distributions."""

import numpy as np
import pandas as pd
import pytest

import tobitgp as tg
from tobitgp.errors import SpecError
from tobitgp.kinds.rows_left_out import cavities

TERMS = "z + arm"
FORMULA = f"mvbind(y1, y2) ~ {TERMS} | censor(l1, None)"


def made(n=80, seed=3):
    rng = np.random.default_rng(seed)
    z, arm = rng.normal(size=n), rng.choice(["A", "B"], n)
    noise = rng.multivariate_normal([0, 0], [[0.25, 0.2], [0.2, 0.36]], n)
    y1, y2 = 1.0 + 0.8 * z + 0.5 * (arm == "B") + noise[:, 0], 40.0 + 5.0 * (-0.4 * z + noise[:, 1])
    g = rng.choice(list("pqrs"), n)
    y2[:5] = np.nan
    return pd.DataFrame({"z": z, "arm": arm, "g": g, "y1": np.maximum(y1, 0.3), "y2": y2, "l1": 0.3})


@pytest.fixture(scope="module")
def data():
    return made()


@pytest.fixture(scope="module")
def apart(data):
    return tg.fit(FORMULA, data, method=tg.EP(hyper="maximize"))


@pytest.fixture(scope="module")
def correlated(data):
    return tg.fit(FORMULA, data, rescor=True)


@pytest.fixture(scope="module")
def alone(data, apart):
    """Fits of each response by itself at the noise of the fit of both."""
    formulas = {"y1": f"y1 ~ {TERMS} | censor(l1)", "y2": f"y2 ~ {TERMS}"}
    sigma = {name: {"sigma": apart.params[f"sigma[{name}]"]} for name in formulas}
    rows = {name: data[data[name].notna()] for name in formulas}
    return {name: tg.fit(formulas[name], rows[name], method="ep", fixed=sigma[name]) for name in formulas}


WHATS = [
    ("median", {}),
    ("uncensored", {}),
    ("latent", {}),
    ("observed", {}),
    ("quantile", {"q": [0.1, 0.9]}),
    ("prob", {"above": 1.0}),
    ("terms", {}),
    ("conditional", {}),
]


@pytest.mark.slow
@pytest.mark.parametrize(("what", "more"), WHATS)
def test_independent_responses_are_those_of_fits_of_each(what, more, apart, alone):
    """Their weak priors differ by the scales of the responses: 2e-3 of a standard deviation."""
    new = made(6, seed=4).fillna(41.0)
    together = apart.predict(new, what, interval=0.9, **more)
    for name, one in alone.items():
        spread = one.hyperparameters["sigma"]
        expected = one.predict(new, what, interval=0.9, **more)
        scale = 1.0 if what == "prob" else spread
        np.testing.assert_allclose(together[name] / scale, expected / scale, atol=2e-3)
        pd.testing.assert_frame_equal(apart.predict(new, what, interval=0.9, response=name, **more), together[name])


@pytest.mark.slow
def test_leaving_values_out_is_that_of_fits_of_each(apart, alone):
    for name, one in alone.items():
        own, expected = apart.loo(response=name), one.loo()
        assert own.elpd == pytest.approx(expected.elpd, abs=0.02)
        np.testing.assert_allclose(own.pointwise["elpd"].dropna(), expected.pointwise["elpd"], atol=5e-3)
    assert apart.loo().elpd == pytest.approx(sum(apart.loo(response=name).elpd for name in alone), abs=1e-9)


@pytest.mark.slow
def test_effects_averages_residuals_and_scores_are_those_of_fits_of_each(data, apart, alone):
    new = made(20, seed=8)
    contrasts = tg.contrast(apart, {"arm": "B"}, {"arm": "A"}, "mean", rng=1)
    for name, one in alone.items():
        spread = one.hyperparameters["sigma"]
        for what, more in {"latent": {}, "prob": {"above": 1.0 if name == "y1" else 40.0}}.items():
            own = apart.marginal_effects(what, at="mean", response=name, **more)
            expected = one.marginal_effects(what, at="mean", **more)
            unit = spread if what == "latent" else 1.0
            np.testing.assert_allclose(own[["dydx", "se"]] / unit, expected[["dydx", "se"]] / unit, atol=3e-3)
        own = apart.standardise("arm", "mean", response=name, rng=1)["estimate"]
        np.testing.assert_allclose(own / spread, one.standardise("arm", "mean", rng=1)["estimate"] / spread, atol=0.02)
        difference = one.standardise("arm", "mean", rng=1)["estimate"].diff().iloc[1]
        assert contrasts[name]["estimate"].iloc[0] / spread == pytest.approx(difference / spread, abs=0.02)
        for kind in ("cox_snell", "response", "pearson"):
            own, expected = apart.residuals(kind)[name].dropna(), one.residuals(kind).dropna()
            unit = spread if kind == "response" else 1.0
            np.testing.assert_allclose(own / unit, expected / unit, atol=4e-3)
        rows = new[new[name].notna()]
        assert apart.score(rows, response=name) == pytest.approx(one.score(rows), abs=2e-3)
        assert apart[name].concordance_index_ == pytest.approx(one.concordance_index_, abs=2e-3)


@pytest.mark.slow
@pytest.mark.parametrize("log", [False, True], ids=["gaussian", "lognormal"])
def test_answers_about_correlated_responses_are_those_of_draws(data, log):
    rows = data.assign(y1=np.exp(data["y1"]), y2=np.exp(0.05 * data["y2"]), l1=np.exp(0.3)) if log else data
    res = tg.fit(FORMULA, rows, rescor=True, family="lognormal" if log else "gaussian")
    new = rows.iloc[10:13]
    y = res.sample(new, 40_000, rng=1)
    middle = np.median(y, axis=0)
    error = y.std(axis=0) / 200
    assert (np.abs(res.predict(new, "uncensored") - y.mean(axis=0)) < 4.5 * error).all(axis=None)
    seen = res.sample(new, 40_000, what="observed", rng=2)
    assert seen[..., 0].min() == new["l1"].iloc[0]
    assert (np.abs(res.predict(new, "observed") - seen.mean(axis=0)) < 4.5 * error).all(axis=None)
    for j, name in enumerate(res.responses):
        limit = float(middle[0, j])
        above = res.predict(new, "prob", above=limit, response=name)
        np.testing.assert_allclose(above, (y[..., j] > limit).mean(axis=0), atol=4.5 * 0.5 / 200)
        ends = res.predict(new, "quantile", q=[0.1, 0.9], response=name)
        shares = [(y[..., j] < ends[q].to_numpy()).mean(axis=0) for q in (0.1, 0.9)]
        np.testing.assert_allclose(shares, np.array([[0.1] * 3, [0.9] * 3]), atol=4.5 * 0.3 / 200)
        alive = res.predict_survival_function(new, [limit], response=name).to_numpy()[0]
        np.testing.assert_allclose(alive, above, atol=1e-10)


@pytest.mark.slow
def test_values_are_left_out_given_the_others_of_their_row():
    """Without censoring all is normal: a value given all others, by the covariance of the whole table."""
    rng = np.random.default_rng(5)
    z = rng.normal(size=14)
    noise = rng.multivariate_normal([0, 0], [[1.0, 0.8], [0.8, 1.0]], 14)
    rows = pd.DataFrame({"z": z, "a": 2.0 + z + noise[:, 0], "b": 10.0 * (noise[:, 1] - z)})
    rows.loc[3, "b"] = np.nan
    res = tg.fit("mvbind(a, b) ~ z", rows, rescor=True)
    prior, p = res.priors, res.params
    sds = [[prior.loc[f"{c}[{y}]", "spread"] for c in ("Intercept", "z")] for y in ("a", "b")]
    H0 = np.column_stack([np.ones(14), z - z.mean()])
    R = np.array([[p["sigma[a]"] ** 2, 0.0], [0.0, p["sigma[b]"] ** 2]])
    R[0, 1] = R[1, 0] = p["rescor[a, b]"] * p["sigma[a]"] * p["sigma[b]"]
    V = np.kron(R, np.eye(14))
    centre = np.concatenate([np.full(14, prior.loc[f"Intercept[{y}]", "location"]) for y in ("a", "b")])
    for j in range(2):
        at = slice(14 * j, 14 * (j + 1))
        V[at, at] += H0 @ np.diag(np.square(sds[j])) @ H0.T
    y = np.concatenate([rows["a"], rows["b"]])
    known = np.flatnonzero(np.isfinite(y))
    precision = np.linalg.inv(V[np.ix_(known, known)])
    left = (precision @ (y[known] - centre[known])) / np.diag(precision)
    elpd = -0.5 * (np.log(2 * np.pi / np.diag(precision)) + left**2 * np.diag(precision))
    found = res.loo()
    assert found.pointwise.index.to_list()[:2] == [("a", 0), ("a", 1)]
    np.testing.assert_allclose(found.pointwise["elpd"], elpd, atol=2e-4)
    assert found.elpd == pytest.approx(elpd.sum(), abs=2e-3)
    mean, variance = y[known] - left, 1 / np.diag(precision)
    judged = cavities(res["a"].parts)
    np.testing.assert_allclose(judged.weight @ judged.mean, mean[:14], rtol=1e-4, atol=2e-4)
    own = variance[:14] - np.square(judged.sigma) * np.ones(14)
    np.testing.assert_allclose(np.square(judged.sd), own, rtol=2e-3)


@pytest.mark.slow
def test_draws_of_values_have_the_units_of_the_responses(apart, correlated):
    at = apart.log_likelihood_draws(400, rng=1)
    assert at.columns.nlevels == 2
    assert len(at.columns) == apart.nobs
    by_draws, by_sites = apart.loo("psis", draws=4000, rng=1), apart.loo()
    assert by_draws.elpd == pytest.approx(by_sites.elpd, abs=0.3)
    assert apart.waic(draws=4000, rng=1).elpd == pytest.approx(by_sites.elpd, abs=0.4)
    drawn = correlated._draws(2000, 1, "to_arviz()").parameters()
    error = 5 * correlated.bse.to_numpy() / np.sqrt(2000) + 1e-9
    assert (np.abs(drawn.mean(axis=0) - correlated.params) < error).all()


@pytest.mark.slow
def test_what_values_may_have_been(data, correlated):
    y = correlated.sample(what="conditional", draws=2000, rng=1)
    seen = data[["y1", "y2"]].to_numpy()
    assert np.isnan(y[:, :5, 1]).all()
    exact = (seen[:, 0] > 0.3) & np.isfinite(seen[:, 1])
    np.testing.assert_allclose(y[:, exact].mean(axis=0), seen[exact], rtol=1e-12)
    assert (y[:, seen[:, 0] == 0.3, 0] <= 0.3).all()
    table, filled = correlated.predict(what="conditional"), correlated.impute()
    np.testing.assert_allclose(y[..., 0].mean(axis=0), table["y1"], atol=0.05)
    np.testing.assert_allclose(table["y1"], filled["y1"], atol=1e-10)
    assert correlated.predict().notna().all(axis=None)


@pytest.mark.slow
def test_rows_together(data, correlated):
    new = data[["z", "arm"]].iloc[:4]
    found = correlated.posterior(new)
    table = correlated.predict(new, "latent", se=True)
    mean = pd.concat([table[name]["estimate"] for name in correlated.responses])
    error = pd.concat([table[name]["se"] for name in correlated.responses])
    np.testing.assert_allclose(found.mean, mean, rtol=1e-9)
    np.testing.assert_allclose(np.sqrt(np.diag(found.covariance)), error, rtol=1e-9)
    drawn = correlated.sample(new, 20_000, what="latent", rng=1).transpose(0, 2, 1).reshape(20_000, -1)
    scale = np.outer(error, error)
    np.testing.assert_allclose(np.cov(drawn.T) / scale, found.covariance / scale, atol=0.05)


@pytest.mark.slow
def test_terms_add_up_and_can_be_left_out(data, correlated):
    groups = tg.fit("mvbind(y1, y2) ~ z + (1 + z | g) | censor(l1, None)", data, rescor=True)
    new = data.iloc[20:26]
    for res in (correlated, groups):
        terms = res.predict(new, "terms")
        for name in res.responses:
            each = terms[name].xs("estimate", axis=1, level=1)
            np.testing.assert_allclose(each.sum(axis=1), res.predict(new, "latent", response=name), rtol=1e-9)
        less = res.predict(new, "latent", exclude="z")
        slopes = [res.params[f"z[{name}]"] for name in res.responses]
        np.testing.assert_allclose(res.predict(new, "latent") - less, np.outer(new["z"], slopes), atol=1e-9)


@pytest.mark.slow
def test_intervals_and_checks_of_each(data):
    res = tg.fit(FORMULA, data.iloc[:50], rescor=True)
    table = res.conformalise(data.iloc[50:]).predict(data.iloc[:3], 0.4)
    assert table.columns.to_list() == [(y, end) for y in ("y1", "y2") for end in ("lower", "upper")]
    found = res.check(rng=1).table
    assert {"convergence", "calibration[y1]", "calibration[y2]"} <= set(found.index)
    assert "calibration" in res.check(response="y1", rng=1).table.index


@pytest.mark.parametrize("curve", ["survival_function", "cumulative_hazard", "hazard"])
def test_curves_of_all_responses_are_at_the_values_of_all(apart, data, curve):
    """Without times= every response answers at the times of each, as when it is asked alone at these times."""
    ask = f"predict_{curve}"
    both = getattr(apart, ask)(data.head(3), None)
    pd.testing.assert_frame_equal(both, getattr(apart, ask)(data.head(3)))
    own = [getattr(apart["y1"], ask)(data.head(3)), getattr(apart["y2"], ask)(data.head(3))]
    assert set(both.index) == {*own[0].index, *own[1].index}
    assert not both.isna().any().any()
    for name, table in zip(("y1", "y2"), own, strict=True):
        np.testing.assert_allclose(both[name].loc[table.index], table, rtol=1e-12)


@pytest.mark.parametrize("formula", ["mvbind(y1, y2) ~ z + (1 | g)", "mvbind(y1, y2) ~ (1 + z | g)"])
def test_random_effects_of_one_response_are_those_of_all(data, formula):
    res = tg.fit(formula, data.dropna(), method=tg.EP(hyper="maximize"))
    every = res.group_effects()
    for name in ("y1", "y2"):
        own = res[name].group_effects()
        there = every[[f"[{name}]" in term for term in every.index.get_level_values(0)]]
        np.testing.assert_array_equal(own, there)
        assert own.index.get_level_values(0)[0] == "re(g)"
        pd.testing.assert_frame_equal(res[name].group_effects("re(g)"), own)
        with pytest.raises(SpecError, match=r"term='re\(z\)' is not a random effect. This model has 're\(g\)'"):
            res[name].group_effects("re(z)")
    assert len(res.plot_terms()) == 4
