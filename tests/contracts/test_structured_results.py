"""Whatever is asked of a process that stands in a structure has the answer of the same process of full rank."""

import numpy as np
import pandas as pd
import pytest

import tobitgp as tg
from tobitgp.priors.kernels import KERNELS, Covariance, KernelFactor
from tobitgp.priors.markov import Markov
from tobitgp.priors.structure import Inputs

HYPER = {"sd": 0.9, "lengthscale": 0.4, "sigma": 0.3}


def data(n=60, seed=2):
    rng = np.random.default_rng(seed)
    t, v, z, g = *rng.uniform(0.0, 3.0, (2, n)), rng.normal(size=n), rng.choice(["a", "b", "c"], n)
    t[7] = t[6]
    y = np.sin(4.0 * t) + 0.3 * v + 0.5 * z + 0.3 * rng.normal(size=n)
    return pd.DataFrame({"y": np.maximum(y, -0.2), "t": t, "v": v, "z": z, "g": g})


CASES = {
    "markov": ('gp(t, kernel="matern32"{})', "markov"),
    "groups": ('gp(t, kernel="matern12", by=g{})', "markov"),
    "vecchia": ('gp(t, v, kernel="matern32", ard=False{})', "vecchia"),
}


@pytest.fixture(scope="module", params=CASES)
def pair(request):
    term, how = CASES[request.param]
    df, found = data(), []
    neighbours = ", neighbours=59" if how == "vecchia" else ""
    for option, more in (("dense", ""), (how, neighbours)):
        written = term.format(f', approximation="{option}"{more}, name="f"')
        fixed = {"sd(f)": HYPER["sd"], "lengthscale(f)": HYPER["lengthscale"], "sigma": HYPER["sigma"]}
        found.append(tg.fit(f"y ~ z + {written} | censor(-0.2)", df, fixed=fixed, method=tg.EP(tol=1e-10)))
    return df, *found


NEAR = {"rtol": 0.0, "atol": 2e-5}


def test_evidence_coefficients_and_parameters(pair):
    _, usual, other = pair
    assert other.log_evidence == pytest.approx(usual.log_evidence, abs=1e-5)
    assert other.elbo == pytest.approx(usual.elbo, abs=1e-5)
    assert other.df_model == pytest.approx(usual.df_model, abs=1e-5)
    np.testing.assert_allclose(other.params, usual.params, **NEAR)
    np.testing.assert_allclose(other.cov_params(), usual.cov_params(), **NEAR)


@pytest.mark.parametrize("exclude", [(), "f"])
def test_predictions(pair, exclude):
    df, usual, other = pair
    new = data(12, seed=9)
    new.loc[0, "t"] = df.loc[0, "t"]
    for rows in (None, new):
        a, b = (res.predict(rows, what="latent", exclude=exclude, se=True) for res in (usual, other))
        np.testing.assert_allclose(b, a, **NEAR)


def test_terms(pair):
    _, usual, other = pair
    a, b = (res.predict(data(12, seed=9), what="terms", se=True) for res in (usual, other))
    np.testing.assert_allclose(b, a, **NEAR)


@pytest.mark.parametrize("exclude", [(), "f"])
def test_joint_posterior(pair, exclude):
    df, usual, other = pair  # at new inputs features leave residuals that they take for independent
    a, b = (res.posterior(df.head(9), exclude=exclude) for res in (usual, other))
    np.testing.assert_allclose(b.mean, a.mean, **NEAR)
    np.testing.assert_allclose(b.covariance, a.covariance, **NEAR)


@pytest.mark.parametrize("exclude", [(), "f"])
def test_draws_have_the_moments_of_the_posterior(pair, exclude):
    _, _, res = pair
    new, n = data(8, seed=4), 20_000
    draws = res.sample(new, n, what="latent", rng=1, exclude=exclude).to_numpy()
    mean, covariance = res.posterior(new, exclude=exclude)
    sd = np.sqrt(np.diag(covariance))
    assert np.abs((draws.mean(axis=1) - mean.to_numpy()) / sd).max() < 4.5 / np.sqrt(n)
    assert np.abs((np.cov(draws) - covariance.to_numpy()) / np.outer(sd, sd)).max() < 6.0 / np.sqrt(n)


@pytest.mark.slow
def test_left_out_rows_effects_and_shape(pair):
    _, usual, other = pair
    np.testing.assert_allclose(other.loo().pointwise, usual.loo().pointwise, **NEAR)
    a, b = (res.marginal_effects().loc[["z"]] for res in (usual, other))  # features leave part of slopes out
    np.testing.assert_allclose(b.select_dtypes(float), a.select_dtypes(float), **NEAR)
    shares = [np.mean([res.k_hat(4000, rng=seed).efficiency for seed in range(5)]) for res in (usual, other)]
    assert shares[1] == pytest.approx(shares[0], abs=0.1)


def test_kept_in_a_file(pair, tmp_path):
    _, _, res = pair
    res.save(tmp_path / "fit.tobitgp")
    back, new = tg.load(tmp_path / "fit.tobitgp"), data(12, seed=9)
    pd.testing.assert_frame_equal(back.predict(new, se=True), res.predict(new, se=True))
    pd.testing.assert_frame_equal(back.sample(new, 5, rng=3), res.sample(new, 5, rng=3))


@pytest.mark.slow
@pytest.mark.parametrize("n", [3000, 6000])
def test_short_length_scales_are_found_by_default(n, monkeypatch):
    """Twenty rows to a length-scale; of 6000 rows a sample of 3000 is searched before all are."""
    monkeypatch.setattr("tobitgp.inference.search.SAMPLE_ROWS", 3000)
    rng, lengthscale = np.random.default_rng(n), 20.0 / n
    x = np.sort(rng.uniform(size=n))
    kernel = KERNELS["matern32"]
    chain = Markov(Inputs(x[:, None]), (Covariance((KernelFactor(kernel, slice(0, 1)),)),))
    f = chain.at([np.log([1.0, lengthscale])]).draw(1, rng)[:, 0]
    y = f + 0.3 * rng.normal(size=n)
    df = pd.DataFrame({"x": x, "y": np.maximum(y, np.quantile(y, 0.4))})
    res = tg.fit(f'y ~ gp(x, kernel="matern32") | censor({df["y"].min()})', df, method=tg.EP(hyper="maximize"))
    band = res.predict(what="latent", interval=0.95)
    assert res.hyperparameters["lengthscale(gp(x))"] == pytest.approx(lengthscale, rel=0.25)
    assert res.hyperparameters["sigma"] == pytest.approx(0.3, rel=0.1)
    assert np.mean((band["lower"] < f) & (f < band["upper"])) == pytest.approx(0.95, abs=0.03)
