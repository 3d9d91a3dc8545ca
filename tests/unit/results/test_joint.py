"""Rows together: covariances and draws."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kstest, truncnorm
from support.dense import at_its_average
from support.methods import having, with_settings

import tobitgp as tg
from tobitgp.errors import SpecError
from tobitgp.kinds.rows_left_out import seen_in_training

pytestmark = pytest.mark.diagonal


@pytest.mark.parametrize("fixture", ["averaged", "ammonium"])
def test_posterior_agrees_with_predict(request, fixture):
    res = request.getfixturevalue(fixture)
    mean, covariance = res.posterior()
    table = res.predict(what="latent", se=True)
    assert np.allclose(mean, table["estimate"])
    assert np.allclose(np.sqrt(np.diag(covariance)), table["se"])
    assert list(covariance.index) == list(covariance.columns) == list(mean.index)
    assert np.linalg.eigvalsh(covariance).min() > -1e-8


def test_a_process_that_is_left_out_stands_at_its_average(maximised, mixed):
    new = mixed.head(4)
    mean, covariance = maximised.posterior(new, exclude="gp(x)")
    H = np.column_stack([np.ones(4), new["z"], new["g"] == "b"]).astype(float)
    m, V = at_its_average(maximised, H)
    assert np.allclose(mean, m)
    assert np.allclose(covariance, V)


def test_missing_rows(averaged, mixed):
    new = mixed.head(3).assign(x=[1.0, np.nan, 2.0])
    mean, covariance = averaged.posterior(new)
    assert mean.isna().tolist() == [False, True, False]
    assert covariance.isna().sum().sum() == 5
    assert averaged.sample(new, 2).isna().any(axis=1).tolist() == [False, True, False]


@pytest.mark.parametrize("draws", [40_000, pytest.param(1_000_000, marks=pytest.mark.study)])
@pytest.mark.parametrize("fixture", ["averaged", "ammonium"])
def test_draws_have_the_moments(request, fixture, draws):
    res = request.getfixturevalue(fixture)
    new = res.model.data.frame.iloc[:4]
    f = res.sample(new, draws, what="latent", rng=1)
    mean, covariance = res.posterior(new)
    sd = np.sqrt(np.diag(covariance))
    assert (np.abs(f.mean(axis=1) - mean) < 5 * sd / np.sqrt(draws)).all()
    assert np.allclose(np.cov(f), covariance, atol=8 * np.outer(sd, sd).max() / np.sqrt(draws))
    y = res.sample(new, draws, rng=2)
    for p in (0.1, 0.8):
        share = (y.to_numpy() < res.predict(new, "quantile", q=p).to_numpy()[:, None]).mean(axis=1)
        assert (np.abs(share - p) < 5 * np.sqrt(p * (1 - p) / draws)).all()


def test_observed_draws_are_clipped(averaged, mixed):
    y = averaged.sample(draws=20_000, what="observed")
    assert (y.to_numpy() >= mixed[["low"]].to_numpy()).all()
    assert (y.to_numpy() <= 1.4).all()
    expected = averaged.predict(what="observed")
    assert (np.abs(y.mean(axis=1) - expected) < 5 * y.std(axis=1) / np.sqrt(20_000) + 1e-4).all()


def test_draws_are_reproducible(averaged, mixed):
    new = mixed.head(3)
    pd.testing.assert_frame_equal(averaged.sample(new, 5), averaged.sample(new, 5))
    pd.testing.assert_frame_equal(averaged.sample(new, 5, rng=3), averaged.sample(new, 5, rng=np.random.default_rng(3)))
    assert not np.allclose(averaged.sample(new, 5, rng=3), averaged.sample(new, 5, rng=4))
    assert averaged.sample(new, 5).columns.name == "draw"


@pytest.mark.parametrize("asked", [{"draws": 0}, {"draws": 2.5}, {"draws": True}, {"what": "prob"}])
def test_bad_arguments(averaged, asked):
    with pytest.raises(SpecError, match=next(iter(asked))):
        averaged.sample(**asked)


@pytest.mark.parametrize("formula", ["durable ~ gp(age) | censor(0)", "durable ~ age | censor(0)", "age ~ mixture(2)"])
def test_more_draws_than_can_be_held_are_refused(tobin, formula):
    res = tg.fit(formula, tobin)
    for ask in (res.sample, res.log_likelihood_draws):
        with pytest.raises(SpecError, match=r"at most 107374182 of 20 rows can be held. Use fewer draws"):
            ask(draws=10**12)
    with pytest.raises(SpecError, match="draws=1000000000000: at most"):
        res.sample(tobin.iloc[:0], draws=10**12)
    with pytest.raises(SpecError, match="draws=1000000000000: at most"):
        res.loo("psis", draws=10**12)


# -- what the rows themselves may have been --------------------------------------------------------------------------

LIMITED = "y ~ gp(x, line=False) | censor(low, 1.4)"
KNOWN = {"sd(gp(x))": 1.0, "lengthscale(gp(x))": 0.8, "sigma": 0.3}


@pytest.mark.slow
@pytest.mark.parametrize("fixture", ["averaged", "log_time", "ammonium"])
def test_rows_are_drawn_where_they_are_known_to_lie(request, fixture):
    """Values that were seen stay to the last digit; means are those of imputation."""
    res = request.getfixturevalue(fixture)
    draws = 20_000
    y = res.sample(draws=draws, what="conditional", rng=1)
    response = res.parts.rows.response
    exact = response.lower == response.upper
    assert (y[exact].to_numpy() == response.lower[exact][:, None]).all()
    values = y[~exact].to_numpy()
    lower, upper = (end[~exact][:, None] for end in (response.lower, response.upper))
    assert ((values >= lower) & (values <= upper)).all()
    expected, sd = res.predict(what="conditional")[~exact], values.std(axis=1)
    assert (np.abs(values.mean(axis=1) - expected) < 5 / np.sqrt(draws) * sd).all()
    assert y.columns.name == "draw"
    assert list(y.index) == list(res.predict().index)
    pd.testing.assert_frame_equal(res.sample(draws=3, what="conditional"), res.sample(draws=3, what="conditional"))


@pytest.mark.parametrize("sigma", [0.02, 0.3, 2.0])
@pytest.mark.parametrize("method", ["ep", "vi", "laplace"])
def test_draws_of_a_row_have_the_distribution_of_imputation(mixed, method, sigma):
    """Under the cavity y* is a truncated normal variable, however narrow the noise is beside the distribution of f."""
    res = tg.fit(LIMITED, mixed, fixed=KNOWN | {"sigma": sigma}, method=having(method, inducing=None))
    draws = 20_000
    y = res.sample(draws=draws, what="conditional", rng=2).to_numpy()
    seen = seen_in_training(res.parts.reported)
    censored = np.flatnonzero(seen.lower < seen.upper)
    assert len(censored) > 10
    p_values = []
    for i in censored:
        mean, sd = seen.mean[0, i], np.hypot(seen.sd[0, i], sigma)
        a, b = (seen.lower[i] - mean) / sd, (seen.upper[i] - mean) / sd
        p_values.append(kstest(y[i], truncnorm(a, b, loc=mean, scale=sd).cdf).pvalue)
    assert min(p_values) > 1e-3 / len(censored)


def test_rows_of_a_draw_are_drawn_together():
    """Far below the limit rows that lie side by side share f, and a sum over them is as uncertain as that."""
    x = np.linspace(0, 4, 40)
    known = {"sd(gp(x))": 1.0, "lengthscale(gp(x))": 0.8, "sigma": 0.1}
    data = pd.DataFrame({"x": x, "y": np.maximum(np.sin(2 * x), 0.3)})
    res = tg.fit("y ~ 0 + gp(x, line=False) | censor(0.3)", data, fixed=known, method=tg.EP(inducing=None))
    y = res.sample(draws=4000, what="conditional", rng=3)[(x > 1.8) & (x < 2.8)]
    assert np.corrcoef(y)[0, 1] > 0.8
    assert y.sum().var() > 5 * y.var(axis=1).sum()


@pytest.mark.slow
@pytest.mark.parametrize("family", ["logistic", "gumbel", tg.Student(df=4)], ids=str)
def test_other_noise_and_windows(mixed, family):
    """Means of imputation, for rows that lie inside a window too."""
    data = mixed.assign(first=mixed["low"] - 0.5)
    res = tg.fit(
        "y ~ gp(x, line=False) | censor(low, 1.4) | truncate(first)",
        data,
        family=family,
        fixed=KNOWN,
        method=tg.EP(inducing=None),
    )
    y, expected = res.sample(draws=20_000, what="conditional", rng=4), res.predict(what="conditional")
    below = data["y"] <= data["low"]
    assert (y[below].to_numpy() >= data.loc[below, ["first"]].to_numpy()).all()
    assert (np.abs(y.mean(axis=1) - expected) <= 5 / np.sqrt(20_000) * y.std(axis=1) + 1e-12).all()


def test_which_rows_can_be_drawn_as_what_they_are_known_to_be(averaged, mixed, tmp_path):
    with pytest.raises(SpecError, match="the rows of the fit only"):
        averaged.sample(mixed.head(3), what="conditional")
    with pytest.raises(SpecError, match="exclude="):
        averaged.sample(what="conditional", exclude="z")
    averaged.save(tmp_path / "fit.tgp")
    with pytest.raises(SpecError, match="Refit with a DataFrame"):
        tg.load(tmp_path / "fit.tgp").sample(mixed, what="conditional")
    data = mixed.assign(y=mixed["y"].where(np.arange(len(mixed)) != 3))
    with pytest.warns(UserWarning, match="dropped"):
        res = tg.fit(LIMITED, data, fixed=KNOWN)
    assert np.flatnonzero(res.sample(draws=2, what="conditional").isna().any(axis=1)).tolist() == [3]


@pytest.mark.filterwarnings("ignore:.* weights are not whole numbers")
@pytest.mark.parametrize("weight", [0.5, 1.0, 3.0])
def test_a_row_is_imputed_as_one_whole_observation(weight):
    """Far from all others: a normal variable of variance 1.5^2 + .1^2 above 1, whatever the posterior heard of it."""
    x = np.r_[np.linspace(0, 1, 30), 10.0]
    y = np.sin(6 * x) + 0.1 * np.random.default_rng(0).normal(size=31)
    data = pd.DataFrame({"x": x, "y": np.r_[np.minimum(y[:30], 0.999), 1.0]})
    fixed = {"Intercept": 0.0, "sigma": 0.1, "sd(gp(x))": 1.5, "lengthscale(gp(x))": 0.4}
    weights = np.r_[np.ones(30), weight]
    res = tg.fit("y ~ gp(x, line=False) | censor(upper=1)", data, method="vi", weights=weights, fixed=fixed)
    sd = np.hypot(1.5, 0.1)
    distribution = truncnorm(1.0 / sd, np.inf, scale=sd)
    if weight <= 1:  # further copies say that f is higher
        assert res.predict(what="conditional").iloc[-1] == pytest.approx(distribution.mean(), rel=1e-3)
    drawn = res.sample(what="conditional", draws=20_000, rng=3).iloc[-1]
    error = drawn.std() / np.sqrt(20_000)
    assert abs(drawn.mean() - res.predict(what="conditional").iloc[-1]) < 4 * error
    if weight <= 1:
        assert kstest(drawn, distribution.cdf).pvalue > 1e-3


@pytest.mark.parametrize("limit", [8.0, 60.0])
@pytest.mark.parametrize("family", ["gaussian", "logistic"])
def test_rows_far_beyond_what_is_expected(limit, family):
    """Logistic noise reaches the limit from where f is likely; under normal noise both f and noise go some way."""
    x = np.r_[np.linspace(0, 1, 30), 10.0]
    data = pd.DataFrame({"x": x, "y": np.r_[np.minimum(np.sin(6 * x[:30]), 0.999 * limit), limit]})
    fixed = {"sd(gp(x))": 1.0, "lengthscale(gp(x))": 0.4, "sigma": 0.3}
    res = tg.fit(
        f"y ~ 0 + gp(x, line=False) | censor(upper={limit})",
        data,
        method=tg.VI(inducing=None),
        fixed=fixed,
        family=family,
    )
    drawn = res.sample(what="conditional", draws=20_000, rng=3).iloc[-1] - limit
    expected = res.predict(what="conditional").iloc[-1] - limit
    assert abs(drawn.mean() - expected) < 5 * drawn.std() / np.sqrt(20_000)


def test_what_few_inducing_inputs_leave_of_f_is_drawn(mixed):
    """The residual variance of a rough process is most of it."""
    known = {"sd(gp(x))": 1.0, "lengthscale(gp(x))": 0.02, "sigma": 0.1}
    with pytest.warns(tg.errors.ApproximationWarning, match="inducing inputs are too few"):
        res = tg.fit(LIMITED, mixed, fixed=known, method=tg.VI(inducing=5))
    y, expected = res.sample(what="conditional", draws=20_000, rng=5), res.predict(what="conditional")
    assert (np.abs(y.mean(axis=1) - expected) <= 5 * y.std(axis=1) / np.sqrt(20_000) + 1e-12).all()


def test_no_list_of_scales_is_drawn(averaged):
    with pytest.raises(SpecError, match=r"is not supported by sample\(\); choose one of"):
        averaged.sample(what=np.array(["latent", "observed"]))


FAR = {"sd(gp(x))": 1.2, "lengthscale(gp(x))": 0.3, "sigma": 0.4}


def kernel(a, b):
    return 1.44 * np.exp(-0.5 * np.subtract.outer(a, b) ** 2 / 0.09)


@pytest.mark.parametrize("group", [None, "g"])
def test_rows_far_from_the_fit_are_as_smooth_together_as_the_process(group):
    x, z = np.linspace(0.0, 1.0, 12), np.array([0.5, 1.6, 1.62, 3.0, 3.1, 3.1])
    data, new = {"x": x, "y": np.sin(5.0 * x)}, {"x": z}
    same, same_new, across = 1.0, 1.0, 1.0
    if group:
        g, g_new = np.arange(12) % 2, np.array([0, 0, 1, 1, 1, 0])
        data["g"], new["g"] = np.array(["a", "b"])[g], np.array(["a", "b"])[g_new]
        same, same_new, across = (np.equal.outer(a, b) for a, b in ((g, g), (g_new, g_new), (g_new, g)))
    term = "gp(x, by=g)" if group else "gp(x, line=False)"
    fixed = {name.replace("gp(x)", term.replace(", line=False", "")): value for name, value in FAR.items()}
    res = tg.fit(f"y ~ 0 + {term}", data, fixed=fixed, method="ep")
    K, k = kernel(x, x) * same + 0.16 * np.eye(12), kernel(z, x) * across
    want = kernel(z, z) * same_new - k @ np.linalg.solve(K, k.T)
    np.testing.assert_allclose(res.posterior(new).covariance, want, atol=3e-6)
    draws = res.sample(new, draws=4000, what="latent", rng=1).to_numpy()
    np.testing.assert_allclose(np.cov(draws), want, atol=0.12)
    np.testing.assert_allclose(draws[4] - draws[5], 0.0, atol=1e-2) if not group else None


def test_many_rows_of_a_rough_process_far_away_are_as_correlated_as_it_is():
    data = {"x": np.linspace(0.0, 1.0, 12), "y": np.sin(np.arange(12.0))}
    fixed = {"sd(gp(x))": 1.0, "lengthscale(gp(x))": 0.6, "sigma": 0.4}
    res = tg.fit('y ~ 0 + gp(x, kernel="matern12", line=False)', data, fixed=fixed, method=tg.EP(inducing=12))
    z = np.linspace(10.0, 200.0, 700)
    expected = np.exp(-np.abs(np.subtract.outer(z, z)) / 0.6)
    np.testing.assert_allclose(res.posterior({"x": z}).covariance, expected, atol=1e-4)


@pytest.mark.filterwarnings("ignore:The inducing inputs are too few")
@pytest.mark.parametrize("inducing", [5, None])
def test_rows_with_the_same_inputs_have_the_same_f(inducing):
    """What features leave of a process is shared by them; (PRE10)."""
    rng = np.random.default_rng(5)
    x = np.sort(rng.uniform(size=40))
    data = pd.DataFrame({"x": x, "y": np.sin(6 * x) + 0.2 * rng.normal(size=40)})
    few = {"method": tg.EP(inducing=inducing)} if inducing else {}
    res = tg.fit("y ~ gp(x, approximation='low_rank')", data, **with_settings(few, hyper="maximize"))
    apart = res.posterior({"x": [0.33, 0.71]}).covariance.to_numpy()
    at = np.array([1, 0, 1, 1, 0])
    together = res.posterior({"x": np.array([0.33, 0.71])[at]}).covariance.to_numpy()
    np.testing.assert_allclose(together, apart[np.ix_(at, at)], atol=1e-9)
    drawn = res.sample({"x": np.array([0.33, 0.71])[at]}, what="latent", draws=50, rng=1).to_numpy()
    np.testing.assert_allclose(drawn[0], drawn[2], atol=2e-3)
