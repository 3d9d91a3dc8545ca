"""Sites of rows and their cavities (SIT11), against expectation propagation written by hand and against quadrature."""

import numpy as np
import pandas as pd
import pytest
from numpy.polynomial.hermite_e import hermegauss
from scipy.stats import norm
from support.sequential_ep import log_density_of_means, sequential_ep

import tobitgp as tg
from tobitgp.errors import ApproximationWarning, SpecError, UnavailableError

SIGMA, SD, LENGTHSCALE = 0.4, 1.3, 0.8
FORMULA = "y ~ 0 + gp(x, line=False, approximation='dense') | censor(-0.5, 0.9)"
FIXED = {"sigma": SIGMA, "sd(gp(x))": SD, "lengthscale(gp(x))": LENGTHSCALE}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(5)
    x = rng.uniform(-2.0, 2.0, 24)
    y = 1.6 * np.sin(2.0 * x) + 0.1 + SIGMA * rng.normal(size=24)
    return pd.DataFrame({"x": x, "y": np.clip(y, -0.5, 0.9)}, index=[f"row {i}" for i in range(24)])


def sign_of(data):
    return (data["y"] >= 0.9).astype(int).to_numpy() - (data["y"] <= -0.5).astype(int).to_numpy()


def covariance(data):
    x = data["x"].to_numpy()
    return SD**2 * np.exp(-0.5 * ((x[:, None] - x) / LENGTHSCALE) ** 2)


def test_sites_of_ep_are_those_of_sequential_ep(data):
    res = tg.fit(FORMULA, data, fixed=FIXED, method=tg.EP(site_tol=1e-10))
    own = sequential_ep(covariance(data), data["y"].to_numpy(), sign_of(data), SIGMA)
    assert (sign_of(data) == 0).sum() > 5
    assert min((sign_of(data) == side).sum() for side in (-1, 1)) > 2
    sites = res.sites
    pd.testing.assert_index_equal(sites.index, data.index)
    np.testing.assert_allclose(sites["mean"], own.site_mean, rtol=1e-6)
    np.testing.assert_allclose(sites["variance"], own.site_var, rtol=1e-6)
    np.testing.assert_allclose(sites["log_z"], own.log_z, atol=1e-6)
    np.testing.assert_allclose(sites["cavity_mean"], own.cavity_mean, atol=1e-6)
    np.testing.assert_allclose(sites["cavity_variance"], own.cavity_var, rtol=1e-6)
    assert res.log_evidence == pytest.approx(own.evidence, abs=1e-6)


def log_likelihood(f, y, sign):
    return np.where(sign == 0, norm.logpdf(y, f, SIGMA), norm.logcdf(sign * (f - y) / SIGMA))


def slopes(f, y, sign):
    """First and second derivatives of the log likelihood in f, by hand."""
    z = sign * (f - y) / SIGMA
    h = np.exp(norm.logpdf(z) - norm.logcdf(z))
    first = np.where(sign == 0, (y - f) / SIGMA**2, sign * h / SIGMA)
    return first, np.where(sign == 0, -1.0 / SIGMA**2, -h * (z + h) / SIGMA**2)


def averaged(function, mean, var):
    """Expectation under normal distributions by 200 nodes."""
    nodes, weight = hermegauss(200)
    return weight @ function(mean + np.sqrt(var) * nodes[:, None]) / np.sqrt(2.0 * np.pi)


def moments(sites):
    """Posterior mean and variance of f from a site and its cavity."""
    precision = 1.0 / sites["variance"] + 1.0 / sites["cavity_variance"]
    mean = (sites["mean"] / sites["variance"] + sites["cavity_mean"] / sites["cavity_variance"]) / precision
    return mean.to_numpy(), (1.0 / precision).to_numpy()


METHODS = {
    "ep": tg.EP(),
    "laplace": tg.Laplace(),
    "vi": tg.VI(),
    "local": tg.VI(bound="local"),
    "local, side noises": tg.VI(bound="local"),
}
SIDES = {
    "local": {"sigma_lower": 0.0, "sigma_upper": 0.0},
    "local, side noises": {"sigma_lower": 0.3, "sigma_upper": 0.5},
}


def fit_by(name, data):
    return tg.fit(FORMULA, data, fixed=FIXED | SIDES.get(name, {}), method=METHODS[name])


@pytest.mark.parametrize("name", METHODS)
def test_sites_make_the_posterior_and_the_evidence(name, data):
    res = fit_by(name, data)
    sites, K = res.sites, covariance(data)
    centre, width = sites["mean"].to_numpy(), sites["variance"].to_numpy()
    expected = K @ np.linalg.solve(K + np.diag(width), centre)
    var = np.diag(K - K @ np.linalg.solve(K + np.diag(width), K))
    mean, own_var = moments(sites)
    np.testing.assert_allclose(mean, expected, atol=1e-6)
    np.testing.assert_allclose(own_var, var, rtol=1e-6)
    assert res.log_evidence == pytest.approx(sites["log_z"].sum() + log_density_of_means(K, centre, width), abs=1e-6)


def test_sites_of_laplace_are_tangent_at_the_mode(data):
    sites = fit_by("laplace", data).sites
    m, _ = moments(sites)
    y, sign = data["y"].to_numpy(), sign_of(data)
    first, second = slopes(m, y, sign)
    np.testing.assert_allclose(sites["variance"], -1.0 / second, rtol=1e-6)
    np.testing.assert_allclose(sites["mean"], m - first / second, atol=1e-6)
    at_mode = sites["log_z"] + norm.logpdf(m, sites["mean"], np.sqrt(sites["variance"]))
    np.testing.assert_allclose(at_mode, log_likelihood(m, y, sign), atol=1e-6)


def test_sites_of_vi_have_the_expected_slopes(data):
    sites = fit_by("vi", data).sites
    m, v = moments(sites)
    y, sign = data["y"].to_numpy(), sign_of(data)
    first, second = (averaged(lambda f, k=k: slopes(f, y, sign)[k], m, v) for k in (0, 1))
    np.testing.assert_allclose(sites["variance"], -1.0 / second, rtol=1e-6)
    np.testing.assert_allclose(sites["mean"], m - first / second, atol=1e-6)
    # The site has the expectation of the log likelihood.
    expected = sites["log_z"] + norm.logpdf(m, sites["mean"], np.sqrt(sites["variance"])) - 0.5 * v / sites["variance"]
    np.testing.assert_allclose(expected, averaged(lambda f: log_likelihood(f, y, sign), m, v), atol=1e-6)


def test_censoring_noises_of_rows_are_part_of_their_sites(data):
    res = tg.fit(FORMULA, data, method=tg.VI(bound="local", side_noise="row", hyper="maximize"))
    sites, params = res.sites, res.params
    x = data["x"].to_numpy()
    K = params["sd(gp(x))"] ** 2 * np.exp(-0.5 * ((x[:, None] - x) / params["lengthscale(gp(x))"]) ** 2)
    own = sites["log_z"].sum() + log_density_of_means(K, sites["mean"].to_numpy(), sites["variance"].to_numpy())
    assert res.log_evidence == pytest.approx(own, abs=1e-6)


def test_few_features_leave_noise_that_is_no_part_of_a_site(data):
    formula = FORMULA.replace("approximation='dense'", "approximation='low_rank'")
    with pytest.warns(ApproximationWarning):
        res = tg.fit(formula, data, fixed=FIXED, method=tg.EP(inducing=np.linspace(-2.0, 2.0, 4)[:, None]))
    seen = sign_of(data) == 0
    np.testing.assert_allclose(res.sites.loc[seen, "variance"], SIGMA**2, rtol=1e-8)
    np.testing.assert_allclose(res.sites.loc[seen, "mean"], data.loc[seen, "y"], rtol=1e-8)
    np.testing.assert_allclose(res.sites.loc[seen, "log_z"], 0.0, atol=1e-8)


def test_a_weight_is_so_many_sites(data):
    weighted = data.assign(w=np.where(np.arange(24) % 3 == 0, 2.0, 1.0))
    copies = data.loc[data.index.repeat(weighted["w"].astype(int))].reset_index()
    res = tg.fit(FORMULA, weighted, weights="w", fixed=FIXED)
    repeated = tg.fit(FORMULA, copies, fixed=FIXED).sites.groupby(copies["index"], sort=False).first()
    pd.testing.assert_frame_equal(res.sites, repeated, check_names=False, rtol=1e-6)


def test_units_of_the_response_and_of_its_logarithm(data):
    how = {"method": tg.EP(hyper="maximize"), "priors": {}}
    fixed = {"sd(gp(x))": SD, "lengthscale(gp(x))": LENGTHSCALE, "sigma": SIGMA}
    plain = tg.fit("y ~ gp(x, line=False) | censor(-0.5, 0.9)", data, fixed=fixed, **how).sites
    wider = {name: value * (1.0 if name.startswith("length") else 10.0) for name, value in fixed.items()}
    tens = data.assign(y=10.0 * data["y"] + 7.0)
    scaled = tg.fit("y ~ gp(x, line=False) | censor(2, 16)", tens, fixed=wider, **how).sites
    seen = sign_of(data) == 0
    np.testing.assert_allclose(scaled["mean"], 7.0 + 10.0 * plain["mean"], rtol=1e-5)
    np.testing.assert_allclose(scaled["variance"], 100.0 * plain["variance"], rtol=1e-5)
    np.testing.assert_allclose(scaled["log_z"], plain["log_z"] + np.where(seen, 0.0, np.log(10.0)), atol=1e-5)
    times = data.assign(t=np.exp(data["y"]), event=data["y"] < 0.9)
    logs = tg.fit("Surv(t, event) ~ gp(x, line=False)", times, family="lognormal", fixed=fixed, **how).sites
    np.testing.assert_allclose(logs.loc[seen, "mean"], data.loc[seen, "y"], rtol=1e-6)
    np.testing.assert_allclose(logs.loc[seen, "log_z"], -data.loc[seen, "y"], atol=1e-6)


def test_rows_that_were_left_out_are_missing_and_files_hold_none(data, tmp_path):
    gap = data.copy()
    gap.loc["row 3", "x"] = np.nan
    with pytest.warns(UserWarning, match="dropped"):
        res = tg.fit(FORMULA, gap, fixed=FIXED)
    assert res.sites.loc["row 3"].isna().all()
    assert res.sites.drop("row 3").notna().all(axis=None)
    res.save(tmp_path / "fit.tgp")
    with pytest.raises(SpecError, match="holds no training rows"):
        _ = tg.load(tmp_path / "fit.tgp").sites


def test_fits_without_gaussian_sites_of_rows_say_why(data):
    noisy = tg.fit("y ~ gp(x)", data, sigma="~ gp(x)", method=tg.EP(hyper="maximize"))
    with pytest.raises(UnavailableError, match="f and log sigma together"):
        _ = noisy.sites
    with pytest.raises(UnavailableError, match="for a posterior"):
        _ = tg.fit("y ~ x", data).sites
    with pytest.raises(UnavailableError, match="responsibilities"):
        _ = tg.fit("y ~ mixture(2)", data).sites


def test_the_alternatives_that_errors_name_have_sites(data):
    two = data.assign(z=np.cos(data["x"]))
    several = tg.fit("mvbind(y, z) ~ x", two)
    for ask in (lambda: several.sites, lambda: several["z"].sites):
        with pytest.raises(UnavailableError, match=r"res\.stacked\.sites"):
            ask()
    assert len(several.stacked.sites) == 48
    times = tg.datasets.load("lung").head(40)
    hazards = tg.fit("Surv(time, event) ~ age", times, family=tg.PH(bands=4), method=tg.EP(hyper="maximize"))
    with pytest.raises(UnavailableError, match=r"res\.cells\.sites"):
        _ = hazards.sites
    assert hazards.cells.sites.notna().all(axis=None)


def test_sites_after_a_power_are_of_the_transformed_response(data):
    positive = data.assign(y=np.exp(data["y"]))
    res = tg.fit("y ~ x", positive, family=tg.BoxCox(power=0.5), method=tg.EP(hyper="maximize"))
    np.testing.assert_allclose(res.sites["mean"], 2.0 * (np.sqrt(positive["y"]) - 1.0), rtol=1e-8)
    np.testing.assert_allclose(res.sites["variance"], res.hyperparameters["sigma"] ** 2, rtol=1e-8)
    np.testing.assert_allclose(res.sites["log_z"], -0.5 * np.log(positive["y"]), atol=1e-8)
