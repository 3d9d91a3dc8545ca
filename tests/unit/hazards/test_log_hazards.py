"""The log hazard less the baseline's, effects of columns, and fits again, against fits and predictions."""

import numpy as np
import pandas as pd
import pytest

import tobitgp as tg
from tobitgp.errors import SpecError, UnavailableError

pytestmark = pytest.mark.diagonal

BANDS = [0.5, 1.2]
FORMULA = "Surv(time, event) ~ z + g"


def rows(n=150):
    rng = np.random.default_rng(8)
    d = pd.DataFrame({"z": rng.normal(size=n), "g": rng.choice(list("uvw"), n), "x": rng.uniform(0, 4, n)})
    time = rng.exponential(np.exp(-0.6 * d["z"] - 0.5 * (d["g"] == "v") - 0.4 * np.sin(d["x"])))
    end = rng.uniform(0.4, 3.0, n)
    d = d.assign(time=np.minimum(time, end) + 1e-3, event=(time <= end).astype(int), w=rng.integers(1, 3, n))
    return d


def maximum(formula=FORMULA, data=None, **how):
    how = {"family": tg.PH("piecewise", bands=BANDS), "method": "mle"} | how
    return tg.fit(formula, rows() if data is None else data, **how)


@pytest.fixture(scope="module")
def mle():
    return maximum()


@pytest.fixture(scope="module")
def gp():
    return tg.fit(FORMULA + " + gp(x)", rows(), family=tg.PH(bands=8), method=tg.EP(hyper="maximize"))


@pytest.fixture(params=["mle", "gp"])
def res(request):
    return request.getfixturevalue(request.param)


def test_the_log_hazard_of_the_first_band_is_linear_in_the_columns(mle):
    new = rows().head(5)
    band = next(name for name in mle.params.index if name.startswith("C(cell_band)"))
    X = np.column_stack([np.ones(5), new["z"], new["g"] == "v", new["g"] == "w"])
    names = [band, "z", "g[T.v]", "g[T.w]"]
    beta, V = mle.params[names].to_numpy(), mle.cov_params().loc[names, names].to_numpy()
    found = mle.predict(new, "latent", interval=0.9)
    np.testing.assert_allclose(found["estimate"], X @ beta, rtol=1e-9)
    np.testing.assert_allclose(found["estimate"], np.log(mle.predict_hazard(new, [0.2]).to_numpy()[0]), rtol=1e-9)
    np.testing.assert_allclose(found["se"], np.sqrt(np.einsum("ni,ij,nj->n", X, V, X)), rtol=1e-9)
    np.testing.assert_allclose(mle.posterior(new).covariance, X @ V @ X.T, rtol=1e-8, atol=1e-12)


def test_terms_add_up_to_the_log_hazard_and_its_differences_are_ratios(res):
    new = rows().head(6)
    latent, terms = res.predict(new, "latent"), res.predict(new, "terms")
    np.testing.assert_allclose(terms.xs("estimate", axis=1, level=1).sum(axis=1), latent, rtol=1e-9)
    mean, covariance = res.posterior(new)
    np.testing.assert_allclose(mean, latent, rtol=1e-9)
    np.testing.assert_allclose(np.diag(covariance), res.predict(new, "latent", se=True)["se"] ** 2, rtol=1e-6)
    without = res.predict(new, "latent", exclude=["z"])
    np.testing.assert_allclose(latent - without, terms[("z", "estimate")], rtol=1e-9)
    if "gp(x)" not in terms:  # at the estimates hazards are proportional
        ratio = np.log(res.predict_hazard(new, [0.7]).to_numpy()[0])
        np.testing.assert_allclose(ratio - ratio[0], latent - latent.iloc[0], atol=1e-9)


def test_draws_of_the_log_hazard_have_its_moments(res):
    new = rows().head(4)
    drawn = res.sample(new, 4000, what="latent", rng=3)
    mean, covariance = res.posterior(new)
    sd = np.sqrt(np.diag(covariance))
    np.testing.assert_allclose(drawn.mean(axis=1), mean, atol=0.08 * sd.max())
    np.testing.assert_allclose(drawn.std(axis=1), sd, rtol=0.06)
    np.testing.assert_allclose(np.corrcoef(drawn), covariance / np.outer(sd, sd), atol=0.06)


def test_effects_on_the_log_hazard_are_its_coefficients(res):
    found = res.marginal_effects("latent")
    for variable, contrast, name in (("z", "dy/dx", "z"), ("g", "v - u", "g[T.v]")):
        row = found.loc[(variable, contrast)]
        np.testing.assert_allclose([row["dydx"], row["se"]], [res.params[name], res.bse[name]], rtol=1e-5)


@pytest.mark.parametrize(
    ("what", "given"), [("survival", {"times": 1.0}), ("rmst", {"times": 1.5}), ("quantile", {"q": 0.1})]
)
def test_effects_on_times_are_differences_of_predictions(res, what, given):
    data = rows()

    def average(g):
        new = data.assign(g=g)
        if what == "survival":
            return res.predict(new, "prob", above=1.0).mean()
        return (res.predict(new, "quantile", q=0.1) if given.get("q") else res.predict_restricted_mean(new, 1.5)).mean()

    found = res.marginal_effects(what, variables="g", **given).loc[("g", "v - u")]
    assert found["dydx"] == pytest.approx(average("v") - average("u"), rel=1e-6)
    standard = res.standardise("g", "survival", [1.0]) if what == "survival" else None
    if standard is not None:
        again = tg.contrast(res, {"g": "v"}, {"g": "u"}, what="survival", times=[1.0], population="fixed")
        assert found["se"] == pytest.approx(float(again["se"].iloc[0]), rel=0.1)


def test_the_maximum_is_compared_with_smaller_models(mle):
    smaller, null = maximum("Surv(time, event) ~ z"), maximum("Surv(time, event) ~ 1")
    assert mle.llnull == pytest.approx(null.llf, rel=1e-8)
    assert mle.prsquared == pytest.approx(1.0 - mle.llf / null.llf, rel=1e-8)
    test = mle.lr_test(smaller)
    assert (test.df, test.statistic) == (2, pytest.approx(2.0 * (mle.llf - smaller.llf), rel=1e-8))
    with pytest.raises(SpecError, match="not nested in these"):
        smaller.lr_test(mle)
    with pytest.raises(SpecError, match="other bands"):
        mle.lr_test(maximum("Surv(time, event) ~ z", family=tg.PH("piecewise", bands=[0.8])))


@pytest.mark.slow
def test_the_likelihood_falls_by_the_same_at_both_ends_of_a_profile(mle):
    for end in mle.profile_interval("z"):
        held = maximum(fixed={"z": end})
        assert 2.0 * (mle.llf - held.llf) == pytest.approx(3.841459, rel=1e-4)
    table = mle.conf_int(method="profile")
    np.testing.assert_allclose(table.loc["z"], mle.profile_interval("z"), rtol=1e-12)


def test_draws_of_the_bootstrap_are_fits_of_weighted_rows(mle):
    data, seen = rows(), []
    found = mle.bootstrap(4, statistic=lambda res: seen.append(res) or res.params, rng=2)
    weight = np.random.default_rng(2).multinomial(len(data), np.full(len(data), 1.0 / len(data)))
    drawn = data.assign(w=weight)[weight > 0]
    again = maximum(data=drawn, weights="w")
    assert np.abs(again.parts.cuts - mle.parts.cuts).max() < 0.1  # the last exit may be another
    np.testing.assert_allclose(found.draws.iloc[0], again.params, rtol=1e-6)
    assert found.failed == 0


def test_influence_is_what_a_little_more_weight_moves(mle):
    data, found = rows(), mle.influence()
    for i in (0, 7, 40):
        weight = np.where(np.arange(len(data)) == i, 1.01, 1.0)
        with pytest.warns(UserWarning, match="weights are not whole"):
            moved = maximum(data=data.assign(w=weight), weights="w").params - mle.params
        np.testing.assert_allclose(found.loc[i], moved / 0.01, rtol=0.03, atol=1e-4)
    se = mle.influence(scaled=True)
    np.testing.assert_allclose(se["z"] * mle.bse["z"], found["z"], rtol=1e-9)


def test_a_posterior_has_no_maximum(gp):
    with pytest.raises(UnavailableError, match="instead of a maximum"):
        gp.profile_interval("z")
    assert not hasattr(gp, "llnull")


@pytest.mark.slow
def test_coefficients_that_change_have_effects_on_times_alone():
    data = rows()
    res = tg.fit("Surv(time, event) ~ tv(z) + g", data, family=tg.PH(bands=6), method=tg.EP(hyper="maximize"))
    with pytest.raises(SpecError, match="changes over time"):
        res.marginal_effects("latent", variables="z")
    effect = res.marginal_effects("survival", variables="z", times=1.0).iloc[0]
    up, down = (res.predict(data.assign(z=data["z"] + h), "prob", above=1.0).mean() for h in (0.01, -0.01))
    assert effect["dydx"] == pytest.approx((up - down) / 0.02, rel=1e-2)
