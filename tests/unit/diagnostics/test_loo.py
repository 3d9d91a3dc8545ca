"""Leave-one-out: closed forms, refits without each row, another program, and what is refused."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from support.arviz import legacy, quietly
from support.methods import having, with_settings

import tobitgp as tg
from tobitgp.distributions.convolution import log_density, log_mass
from tobitgp.errors import ApproximationWarning, SpecError
from tobitgp.kinds.rows_left_out import predict_left_out

CURVE = "y ~ z + gp(x) | censor(low, 1.4)"


def test_without_censoring_it_is_the_closed_form_of_a_linear_model(rng):
    """p(y_n | y_-n) = N(y_n - [P y]_n / P_nn, 1 / P_nn) with P the inverse covariance of the values."""
    n = 40
    z = rng.normal(size=n)
    y = 0.7 * z + rng.normal(0, 0.5, n)
    priors = {"z": tg.Normal(0.3, 2.0)}
    res = tg.fit("y ~ 0 + z", {"y": y, "z": z}, method="ep", fixed={"sigma": 0.5}, priors=priors)
    P = np.linalg.inv(0.25 * np.eye(n) + 4.0 * np.outer(z, z))
    deviation = (P @ (y - 0.3 * z)) / np.diag(P)
    expected = stats.norm(0.0, np.diag(P) ** -0.5).logpdf(deviation)
    found = res.loo()
    assert np.allclose(found.pointwise["elpd"], expected, rtol=0.0, atol=1e-10)
    assert found.elpd_loo == pytest.approx(expected.sum(), abs=1e-9)
    assert found.se == pytest.approx(np.sqrt(n * expected.var()), rel=1e-9)
    assert found.kind == "ep"
    assert found.n_bad == 0


@pytest.mark.parametrize("method", ["ep", "laplace", "vi"])
def test_without_censoring_it_is_the_closed_form_of_a_process(method, rng):
    n = 30
    x = np.sort(rng.uniform(0, 1, n))
    y = np.sin(6 * x) + rng.normal(0, 0.2, n)
    fixed = {"sd(gp(x))": 1.2, "lengthscale(gp(x))": 0.2, "sigma": 0.2}
    data = {"y": y, "x": x, "m": np.zeros(n)}
    res = tg.fit("y ~ 0 + offset(m) + gp(x, line=False)", data, method=having(method, inducing=None), fixed=fixed)
    K = 1.44 * np.exp(-0.5 * ((x[:, None] - x) / 0.2) ** 2) + 0.04 * np.eye(n)
    P = np.linalg.inv(K)
    expected = stats.norm(0.0, np.diag(P) ** -0.5).logpdf(P @ y / np.diag(P))
    assert np.allclose(res.loo(method="ep").pointwise["elpd"], expected, atol=1e-6)


def refitted(formula, data, full, **options):
    """Log predictive density of each row under a fit of the others, at the same hyper-parameters."""
    out = []
    for i in range(len(data)):
        rest = tg.fit(formula, data.drop(index=data.index[i]), fixed=full.hyperparameters, **options)
        mean, covariance = rest.posterior(data.iloc[[i]])
        distribution = full.parts.family.distribution_at(full.parts.fitted.points[0].theta)
        sigma, row = np.array([full.hyperparameters["sigma"]]), full.parts.rows.response
        t = np.sqrt(covariance.to_numpy().ravel()) / sigma
        a, b = ((end[[i]] - mean.to_numpy()) / sigma for end in (row.lower, row.upper))
        window = [(end[[i]] - mean.to_numpy()) / sigma for end in (row.entry, row.exit)]
        window = window if np.isfinite(window).any() else ()
        exact = log_density(distribution, a, t, *window) - np.log(sigma)
        out.append((exact if row.lower[i] == row.upper[i] else log_mass(distribution, a, b, t, *window)).item())
    return np.array(out)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "family", "tolerance"),
    [("ep", "gaussian", 0.03), ("laplace", "gaussian", 0.06), ("vi", "gaussian", 0.03), ("ep", "logistic", 0.03)],
)
def test_sites_taken_out_predict_as_refits_do(mixed, method, family, tolerance):
    options = {"method": method, "family": family}
    mixed = mixed if family == "gaussian" else mixed.head(30)
    full = tg.fit(CURVE, mixed, **with_settings(options, hyper="maximize"))
    expected = refitted(CURVE, mixed, full, **options)
    found = full.loo(method="ep")
    assert found.kind == method
    assert np.abs(found.pointwise["elpd"] - expected).max() < tolerance
    assert found.elpd == pytest.approx(expected.sum(), abs=0.3)
    assert found.p_loo > 3.0


@pytest.fixture(scope="module")
def steep():
    """Few rows, much of them almost surely censored, some of great leverage."""
    data = tg.datasets.simulate_groot_lucas()
    data["y"] = data["y"].clip(lower=data["lower"])
    return tg.fit("y ~ gp(x) | censor(lower)", data, method=tg.EP(hyper="maximize"))


def test_draws_find_what_sites_do_where_their_k_is_good(steep):
    full = steep
    exact = full.loo(method="ep")
    with pytest.warns(ApproximationWarning, match="method='ep'"):
        found = full.loo(method="psis", draws=20_000)
    gap = np.abs(found.pointwise["elpd"] - exact.pointwise["elpd"])
    assert gap[found.trusted].max() < 0.15
    assert gap[found.pareto_k < 0.5].max() < 0.05


@pytest.mark.slow
def test_truncated_rows_are_predicted_within_their_window(rng):
    n = 40
    x = rng.uniform(0, 1, n)
    y = 2.0 + np.sin(5 * x) + rng.normal(0, 0.4, n)
    data = pd.DataFrame({"x": x, "y": y, "floor": 1.5, "cap": np.minimum(y, 2.6), "seen": (y < 2.6).astype(int)})
    data = data[data["y"] > data["floor"]].reset_index(drop=True)
    formula = "Surv(cap, seen) ~ gp(x) | truncate(floor)"
    full = tg.fit(formula, data, family="gaussian", method=tg.EP(hyper="maximize"))
    expected = refitted(formula, data, full, family="gaussian")
    assert np.abs(full.loo().pointwise["elpd"] - expected).max() < 0.05


def test_hyper_parameters_are_weighted_anew_without_each_row(averaged):
    """1 / p(y_n | y_-n) = sum_j w_j / p(y_n | y_-n, theta_j): refits at the design points weigh them so."""
    without = predict_left_out(averaged.parts.reported, averaged.parts.rows.response).without
    weight = averaged.parts.fitted.weights
    expected = -np.log(np.sum(weight[:, None] / np.exp(without), axis=0))
    found = averaged.loo()
    assert np.allclose(found.pointwise["elpd"], expected, atol=1e-12)
    assert (found.pointwise["elpd"] <= np.log(weight @ np.exp(without)) + 1e-12).all()
    assert found.pointwise["share"].between(0.0, 1.0).all()
    assert tg.fit(averaged.formula, averaged_data(averaged), fixed=averaged.hyperparameters).loo().pointwise[
        "share"
    ].to_numpy() == pytest.approx(1.0)


def averaged_data(res):
    training = res.parts.rows
    response = training.response
    y = np.where(np.isneginf(response.lower), response.upper, response.lower)
    return res.parts.covariates.assign(y=y, low=response.limit_lower)


def test_a_frequency_weight_leaves_one_copy_out(mixed):
    data = mixed.head(40).assign(c=1 + np.arange(40) % 3)
    again = data.loc[data.index.repeat(data["c"])].reset_index(drop=True)
    fixed = {"sd(gp(x))": 1.0, "lengthscale(gp(x))": 0.8, "sigma": 0.3}
    priors = {"Intercept": tg.Normal(0.0, 3.0), "z": tg.Normal(0.0, 3.0)}
    counted = tg.fit(CURVE, data, weights="c", fixed=fixed, priors=priors, method=tg.EP(inducing=None))
    repeated = tg.fit(CURVE, again, fixed=fixed, priors=priors, method=tg.EP(inducing=None))
    one, two = counted.loo(), repeated.loo()
    for name in ("elpd", "se", "p", "n"):
        assert getattr(one, name) == pytest.approx(getattr(two, name), rel=1e-6)
    line = "y ~ z | censor(low, 1.4)"
    one = tg.fit(line, data, weights="c").loo(draws=500)
    two = tg.fit(line, again).loo(draws=500)
    for name in ("elpd", "se", "p", "n"):
        assert getattr(one, name) == pytest.approx(getattr(two, name), rel=1e-6)


@pytest.mark.slow
def test_of_a_regression_it_is_that_of_the_normal_distribution(rng):
    """With sigma known and nothing censored the estimates are distributed as the posterior under a flat prior:
    statsmodels' residuals of rows left out give the rest."""
    import statsmodels.api as sm

    n = 200
    z = rng.normal(size=n)
    y = 1.0 + 0.5 * z + rng.normal(0, 0.6, n)
    res = tg.fit("y ~ z", {"y": y, "z": z}, fixed={"sigma": 0.6})
    ols = sm.OLS(y, sm.add_constant(z)).fit().get_influence()
    h = ols.hat_matrix_diag
    expected = stats.norm(0.0, 0.6 / np.sqrt(1.0 - h)).logpdf(ols.resid_press)
    found = res.loo(draws=20_000)
    assert np.abs(found.pointwise["elpd"] - expected).max() < 0.01
    assert found.elpd == pytest.approx(expected.sum(), abs=0.05)
    assert found.n_bad == 0
    assert found.p_loo == pytest.approx(2.0, abs=0.5)


FITS = {
    "process": lambda: tg.fit("durable ~ age | censor(0)", tg.datasets.load("tobin"), method="ep"),
    "regression": lambda: tg.fit("Surv(time, event) ~ age", tg.datasets.load("lung"), family="weibull"),
    "mixture": lambda: tg.fit("Surv(time, event) ~ mixture(1)", tg.datasets.load("lung"), family="weibull"),
}


@pytest.fixture(scope="module", params=FITS)
def fitted(request):
    return FITS[request.param]()


def test_loo_and_waic_are_those_of_arviz(fitted):
    """On the same draws, to the last digits."""
    arviz = legacy()
    draws = fitted.to_arviz(1000)
    theirs = quietly(arviz.loo, draws, pointwise=True)
    ours = quietly(fitted.loo, method="psis", draws=1000)
    assert np.allclose(ours.pointwise["elpd"], theirs.loo_i, rtol=0.0, atol=1e-10)
    assert np.allclose(ours.pareto_k, theirs.pareto_k, rtol=1e-9, atol=1e-9)
    assert ours.elpd_loo == pytest.approx(theirs.elpd_loo, rel=1e-12)
    assert ours.se == pytest.approx(theirs.se, rel=1e-10)
    assert ours.p_loo == pytest.approx(theirs.p_loo, rel=1e-8)
    theirs, ours = quietly(arviz.waic, draws, pointwise=True), quietly(fitted.waic, draws=1000)
    assert np.allclose(ours.pointwise["elpd"], theirs.waic_i, rtol=0.0, atol=1e-10)
    assert ours.elpd_waic == pytest.approx(theirs.elpd_waic, rel=1e-12)
    assert ours.p_waic == pytest.approx(theirs.p_waic, rel=1e-10)


def test_where_nothing_is_wrong_both_agree():
    res = FITS["regression"]()
    loo, waic = res.loo(), res.waic()
    assert loo.n_bad == waic.n_bad == 0
    assert loo.elpd == pytest.approx(waic.elpd, abs=0.2)
    assert loo.elpd < res.llf
    assert loo.looic == -2.0 * loo.elpd


def test_every_row_of_the_data_has_its_place(mixed):
    data = mixed.copy()
    data.loc["r3", "z"] = np.nan
    with pytest.warns(UserWarning, match="dropped"):
        res = tg.fit(CURVE, data, method=tg.EP(hyper="maximize"))
    found = res.loo()
    assert found.pointwise.index.equals(data.index)
    assert found.pointwise.loc["r3"].isna().all()
    assert found.pointwise["elpd"].notna().sum() == len(found.trusted) == 59
    assert found.pointwise["elpd"].sum() == pytest.approx(found.elpd)


def test_labels_may_repeat(mixed):
    data = mixed.set_axis(["a"] * len(mixed))
    res = tg.fit("y ~ z | censor(low, 1.4)", data)
    assert list(res.loo(draws=2000, rng=0).pointwise.index) == ["a"] * len(mixed)
    assert res.log_likelihood_draws(10).shape == (10, len(mixed))


def test_an_outlier_is_named(rng):
    """A row far from all others moves the line that it is predicted from."""
    z = np.append(rng.normal(size=30), 12.0)
    y = 0.2 * z + rng.normal(0, 0.3, 31)
    y[-1] += 4.0
    with pytest.warns(ApproximationWarning, match=r"of 31 rows are unreliable \(.*30"):
        found = tg.fit("y ~ z", {"y": y, "z": z}).loo()
    assert not found.trusted.iloc[30]
    assert "unreliable" in found.summary()
    assert "tg.cross_validate()" in repr(found)


def test_rows_that_are_surely_censored_are_trusted_whatever_their_tail(steep):
    """Their weights are 1 and a very thin, very long tail above it, of which k is large and nothing follows."""
    with pytest.warns(ApproximationWarning):
        found = steep.loo(method="psis")
    of_no_matter = found.pointwise["p"] < 0.01
    assert (found.pareto_k[of_no_matter] > 0.7).any()
    assert found.trusted[of_no_matter].all()


def test_the_same_call_gives_the_same(fitted):
    first, second = (quietly(fitted.loo, method="psis", draws=200).elpd for _ in range(2))
    assert first == second
    assert quietly(fitted.loo, method="psis", draws=200, rng=1).elpd != first


def test_without_rows_it_is_refused(fitted, tmp_path):
    fitted.save(tmp_path / "fit.tgp")
    loaded = tg.load(tmp_path / "fit.tgp")
    for ask in (loaded.loo, loaded.waic, loaded.to_arviz, loaded.log_likelihood_draws):
        with pytest.raises(SpecError, match="holds no training rows"):
            ask()
    with pytest.raises(SpecError, match="holds no training rows"):
        loaded.loo(method="psis")


def test_what_is_not_offered_is_refused(fitted):
    with pytest.raises(SpecError, match="'auto', 'psis', 'ep'"):
        fitted.loo(method="exact")
    for draws in (0, 3.5, True, "many"):
        with pytest.raises(SpecError, match="draws="):
            fitted.loo(method="psis", draws=draws)
    if isinstance(fitted, tg.GPResults):
        return
    with pytest.raises(SpecError, match="requires a fit with the sites"):
        fitted.loo(method="ep")


def test_side_noises_are_no_likelihood():
    data = tg.datasets.simulate_groot_lucas()
    data["y"] = data["y"].clip(lower=data["lower"])
    formula, fixed = "y ~ gp(x) | censor(lower)", {"sd(gp(x))": 8.0, "lengthscale(gp(x))": 0.15, "sigma": 0.3}
    noisy = tg.fit(formula, data, method=tg.VI(bound="local"), fixed={**fixed, "sigma_lower": 0.5})
    for ask in (noisy.loo, noisy.waic, noisy.k_hat, noisy.to_arviz):
        with pytest.raises(SpecError, match="censoring noises"):
            ask()
    plain = tg.fit(formula, data, method=tg.VI(bound="local"), fixed={**fixed, "sigma_lower": 0.0})
    assert plain.loo().elpd == pytest.approx(tg.fit(formula, data, fixed=fixed).loo().elpd, abs=3.0)


def test_a_fit_that_has_no_covariance_says_so():
    data = {"y": [0.0, 0.0, 0.0, 1.0, 2.0, 3.0], "g": ["a", "a", "a", "b", "b", "b"]}
    with pytest.warns(RuntimeWarning):
        res = tg.fit("y ~ C(g) | censor(0)", data)
    with pytest.raises(SpecError, match="has not converged"):
        res.loo()


@pytest.mark.slow
@pytest.mark.parametrize(("family", "spare"), [("poisson", "3"), ("gaussian", "'dp', max_components=4")])
def test_components_that_are_not_needed_cost_no_more_than_they_predict(family, spare):
    rng = np.random.default_rng(0)
    y = {"y": rng.poisson(3, 80) if family == "poisson" else rng.normal(3.0, 1.0, 80)}
    one = tg.fit("y ~ mixture(1)", y, family=family).loo()
    found = tg.fit(f"y ~ mixture({spare})", y, family=family).loo()
    assert found.n_bad == 0
    assert found.elpd == pytest.approx(one.elpd, abs=3.0)
    assert found.p < 4.0
