"""Fits with sigma fixed at 0, against densities, orthant probabilities, quadrature and expectation propagation here."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize
from scipy.stats import multivariate_normal, norm

import tobitgp as tg
from tests.support.sequential_ep import sequential_ep

SD, SCALE = 1.4, 1.1
FIXED = {"sigma": 0, "sd(gp(x))": SD, "lengthscale(gp(x))": SCALE}
TERM = "0 + gp(x, kernel='matern52', line=False)"
X = np.array([0.0, 0.7, 1.2, 2.1, 2.9, 3.3, 4.4, 5.0, 5.6])
Y = np.array([0.9, 0.4, -0.3, -0.8, 0.2, 0.6, 1.3, -0.2, -0.5])
NEW = np.array([0.35, 1.7, 2.4, 4.7, 5.3, 60.0])


def kernel(X, Z, sd=SD, scale=SCALE):
    """Matern covariance of order 5/2."""
    r = np.sqrt(5.0) * np.abs(X[:, None] - Z) / scale
    return sd**2 * (1.0 + r + r * r / 3.0) * np.exp(-r)


def given(x, y, new, sd=SD, scale=SCALE):
    """Log density of values at x, and mean and covariance of f elsewhere given these."""
    K, G = kernel(x, x, sd, scale), kernel(x, new, sd, scale)
    W = np.linalg.solve(K, G)
    density = multivariate_normal(np.zeros(len(x)), K).logpdf(y)
    return density, W.T @ y, kernel(new, new, sd, scale) - G.T @ W


def fit(y, limit, **options):
    formula = f"y ~ {TERM} | censor({limit})"
    return tg.fit(formula, {"x": X, "y": np.maximum(y, limit)}, **{"fixed": FIXED, **options})


def one_sided(limit):
    """Values of the exact rows, and f at the left-censored ones and at new inputs given these."""
    below = limit >= Y
    return below, *given(X[~below], Y[~below], np.concatenate([X[below], NEW]))


def test_one_censored_row_is_a_density_times_a_probability():
    below, density, mean, V = one_sided(-0.6)
    assert below.sum() == 1
    res, m, v = fit(Y, -0.6), mean[0], V[0, 0]
    assert res.log_evidence == pytest.approx(density + norm.logcdf(-0.6, m, np.sqrt(v)), abs=1e-9)
    # The moments of all f follow from those of f in the censored row, by quadrature.
    ends = m - 12.0 * np.sqrt(v), -0.6
    mass = quad(lambda f: norm.pdf(f, m, np.sqrt(v)), *ends)[0]
    first = quad(lambda f: f * norm.pdf(f, m, np.sqrt(v)), *ends)[0] / mass
    second = quad(lambda f: (f - first) ** 2 * norm.pdf(f, m, np.sqrt(v)), *ends)[0] / mass
    gain = V[:, 0] / v
    found = res.predict({"x": np.concatenate([X[below], NEW])}, what="latent", interval=0.9)
    assert found["estimate"].to_numpy() == pytest.approx(mean + gain * (first - m), abs=1e-8)
    assert found["se"].to_numpy() ** 2 == pytest.approx(V.diagonal() + gain**2 * (second - v), abs=1e-8)


def test_one_interval_is_a_density_times_a_probability():
    lower, upper = Y.copy(), Y.copy()
    lower[3], upper[3] = -1.0, -0.7
    rest = np.arange(len(X)) != 3
    density, mean, V = given(X[rest], Y[rest], X[[3]])
    res = tg.fit(f"interval(low, high) ~ {TERM}", {"x": X, "low": lower, "high": upper}, fixed=FIXED)
    ends = norm.cdf([-0.7, -1.0], mean[0], np.sqrt(V[0, 0]))
    assert res.log_evidence == pytest.approx(density + np.log(ends[0] - ends[1]), abs=1e-9)


def test_without_censored_rows_it_is_the_density_of_the_values():
    density, mean, V = given(X, Y, NEW)
    res = tg.fit(f"y ~ {TERM}", {"x": X, "y": Y}, fixed=FIXED)
    found = res.predict({"x": NEW}, what="latent", interval=0.9)
    assert (res.log_evidence, res.evidence_kind) == (pytest.approx(density, abs=1e-9), "exact")
    assert found["estimate"].to_numpy() == pytest.approx(mean, abs=1e-9)
    assert found["se"].to_numpy() == pytest.approx(np.sqrt(V.diagonal()), abs=1e-7)
    assert res.df_model == pytest.approx(len(X))


@pytest.mark.parametrize("limit", [-0.25, 0.3, 0.7])
def test_several_censored_rows_are_sequential_ep_and_close_to_the_orthant(limit):
    below, density, mean, V = one_sided(limit)
    k = int(below.sum())
    assert k > 2
    ep = sequential_ep(V[:k, :k], limit - mean[:k], -np.ones(k), 1e-12)
    res = fit(Y, limit)
    assert res.log_evidence == pytest.approx(density + ep.evidence, abs=1e-6)
    found = res.predict({"x": X[below]}, what="latent", interval=0.9)
    assert found["estimate"].to_numpy() == pytest.approx(mean[:k] + ep.mean, abs=1e-5)
    assert found["se"].to_numpy() ** 2 == pytest.approx(ep.var, abs=1e-5)
    # Genz's probability, from which expectation propagation differs by what it is known to.
    mass = multivariate_normal.cdf(np.full(k, limit), mean[:k], V[:k, :k], maxpts=200_000 * k, abseps=1e-9, rng=1)
    assert res.log_evidence == pytest.approx(density + np.log(mass), abs=0.1)
    assert found["estimate"].max() < limit


def test_linear_columns_and_several_processes_are_parts_of_the_covariance():
    z = np.array([0.3, -0.2, 0.9, 0.1, -0.8, 0.4, -0.5, 0.7, 0.0])
    priors = {"Intercept": tg.Normal(0.0, 2.0), "z": tg.Normal(0.0, 1.0)}
    term = "gp({}, kernel='matern52', line=False)"
    fixed = {**FIXED, "sd(gp(w))": 0.6, "lengthscale(gp(w))": 2.0}
    w = X[::-1] ** 2
    data = {"x": X, "w": w, "z": z, "y": np.maximum(Y, -0.6)}
    res = tg.fit(f"y ~ z + {term.format('x')} + {term.format('w')} | censor(-0.6)", data, fixed=fixed, priors=priors)
    K = kernel(X, X) + kernel(w, w, 0.6, 2.0) + 4.0 + np.outer(z, z)
    below = Y <= -0.6
    S, G = K[np.ix_(~below, ~below)], K[np.ix_(~below, below)]
    mean, V = G.T @ np.linalg.solve(S, Y[~below]), K[np.ix_(below, below)] - G.T @ np.linalg.solve(S, G)
    density = multivariate_normal(np.zeros(len(S)), S).logpdf(Y[~below])
    assert res.log_evidence == pytest.approx(density + norm.logcdf(-0.6, mean[0], np.sqrt(V[0, 0])), abs=1e-8)


def test_units_and_the_order_of_rows_do_not_matter():
    order = np.array([4, 0, 8, 2, 6, 1, 7, 5, 3])
    data = {"x": 3.0 * X[order], "y": 10.0 * np.maximum(Y, 0.3)[order]}
    fixed = {"sigma": 0, "sd(gp(x))": 10.0 * SD, "lengthscale(gp(x))": 3.0 * SCALE}
    res = tg.fit(f"y ~ {TERM} | censor(3)", data, fixed=fixed)
    exact = int((Y > 0.3).sum())
    assert res.log_evidence == pytest.approx(fit(Y, 0.3).log_evidence - exact * np.log(10.0), abs=1e-8)


def test_far_censored_rows_have_the_product_of_their_probabilities():
    x, limit = np.array([0.0, 1.0, 40.0, 80.0, 120.0]), -0.4
    data = {"x": x, "y": [0.5, 0.2, limit, limit, limit]}
    density, _, _ = given(x[:2], np.array([0.5, 0.2]), x[2:])
    res = tg.fit(f"y ~ {TERM} | censor({limit})", data, fixed=FIXED)
    assert res.log_evidence == pytest.approx(density + 3.0 * norm.logcdf(limit / SD), abs=1e-8)


def noisy_ep(limit, sigma):
    """Log evidence with noise: values of exact rows first, which leave the others as they are for their sites."""
    below = limit >= Y
    x, k = X[~below], int(below.sum())
    S, G = kernel(x, x) + sigma**2 * np.eye(len(x)), kernel(x, X[below])
    W = np.linalg.solve(S, G)
    V = kernel(X[below], X[below]) - G.T @ W
    density = multivariate_normal(np.zeros(len(x)), S).logpdf(Y[~below])
    return density + sequential_ep(V, limit - W.T @ Y[~below], -np.ones(k), sigma).evidence


def test_it_is_the_limit_of_little_noise():
    without = fit(Y, 0.3).log_evidence
    gaps = [abs(noisy_ep(0.3, sigma) - without) for sigma in (1e-2, 1e-3, 1e-4)]
    assert all(after < 0.05 * before for before, after in pairwise(gaps))
    assert gaps[-1] < 1e-5


def test_the_gradient_is_that_of_differences():
    model = tg.Model(f"y ~ {TERM} | censor(0.3)", {"x": X, "y": np.maximum(Y, 0.3)})
    slopes = model.evidence(FIXED).gradient
    for name in ("sd(gp(x))", "lengthscale(gp(x))"):
        sides = [model.evidence({**FIXED, name: FIXED[name] + h}).value for h in (1e-4, -1e-4)]
        assert slopes[name] == pytest.approx((sides[0] - sides[1]) / 2e-4, abs=1e-5)
    assert slopes["sigma"] == 0.0


def test_hyper_parameters_are_maximised():
    below = Y <= -0.6

    def negative(log):
        density, mean, V = given(X[~below], Y[~below], X[below], *np.exp(log))
        return -density - norm.logcdf(-0.6, mean[0], np.sqrt(V[0, 0]))

    best = minimize(negative, np.zeros(2), method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12})
    res = fit(Y, -0.6, fixed={"sigma": 0}, priors={}, method=tg.EP(hyper="maximize"))
    found = [res.hyperparameters[name] for name in ("sd(gp(x))", "lengthscale(gp(x))")]
    assert found == pytest.approx(np.exp(best.x), rel=1e-3)
    assert res.log_evidence == pytest.approx(-best.fun, abs=1e-6)
    assert res.converged


def test_hyper_parameters_are_averaged():
    below = Y <= -0.6
    priors = {"sd(gp(x))": tg.LogNormal(1.2, 0.3), "lengthscale(gp(x))": tg.LogNormal(1.0, 0.3)}
    grid = np.linspace(-1.8, 1.8, 41)
    weight, mean = np.empty((41, 41)), np.empty((41, 41, len(NEW)))
    for i, a in enumerate(grid):
        for j, b in enumerate(grid):
            density, m, V = given(X[~below], Y[~below], np.append(X[below], NEW), *np.exp([a, b]))
            s = np.sqrt(V[0, 0])
            ratio = np.exp(norm.logpdf(-0.6, m[0], s) - norm.logcdf(-0.6, m[0], s))  # times s: inverse Mills ratio
            prior = norm.logpdf([a, b], np.log([1.2, 1.0]), 0.3).sum()
            weight[i, j] = density + norm.logcdf(-0.6, m[0], s) + prior
            mean[i, j] = m[1:] - V[1:, 0] * ratio
    top = weight.max()
    total = top + np.log(np.exp(weight - top).sum() * (grid[1] - grid[0]) ** 2)
    share = np.exp(weight - top) / np.exp(weight - top).sum()
    res = fit(Y, -0.6, fixed={"sigma": 0}, priors=priors, method=tg.EP(hyper="integrate"))
    assert res.log_evidence_integrated == pytest.approx(total, abs=0.01)
    expected = np.einsum("ij,ijn->n", share, mean)
    assert res.predict({"x": NEW}, what="latent").to_numpy() == pytest.approx(expected, abs=5e-3)


def test_it_interpolates_and_returns_to_the_prior():
    res = fit(Y, 0.3)
    exact = Y > 0.3
    known = res.predict({"x": X[exact]}, what="latent", interval=0.9)
    assert known["estimate"].to_numpy() == pytest.approx(Y[exact], abs=1e-9)
    assert (known["se"] < 1e-6).all()
    far = res.predict({"x": [300.0]}, what="latent", interval=0.9).iloc[0]
    assert (far["estimate"], far["se"]) == (pytest.approx(0.0, abs=1e-9), pytest.approx(SD, abs=1e-9))


def test_all_questions_about_the_response_are_about_f():
    res, new = fit(Y, 0.3), {"x": NEW}
    f = res.predict(new, what="latent", interval=0.9)
    for what in ("median", "uncensored"):
        assert res.predict(new, what=what, interval=0.9).to_numpy() == pytest.approx(f.to_numpy(), abs=1e-9)
    mean, sd = f["estimate"].to_numpy(), f["se"].to_numpy()
    above = res.predict(new, what="prob", above=0.5)
    assert above.to_numpy() == pytest.approx(norm.sf(0.5, mean, sd), abs=1e-9)
    assert res.predict(new, what="sigma").to_numpy() == pytest.approx(0.0, abs=0.0)
    y = res.get_distribution(new)
    assert y.std() == pytest.approx(sd, rel=1e-9)
    assert y.entropy() == pytest.approx(norm(mean, sd).entropy(), rel=1e-9)
    held = {"x": NEW, "y": np.full(len(NEW), 0.5)}
    assert res.score(held) == pytest.approx(norm.logpdf(0.5, mean, sd).mean(), rel=1e-9)
    drawn = res.sample(new, draws=20_000, rng=1)
    assert drawn.mean(axis=1).to_numpy() == pytest.approx(mean, abs=0.05)
    assert drawn.std(axis=1).to_numpy() == pytest.approx(sd, rel=0.03)


def test_known_rows_are_known():
    res = fit(Y, 0.3)
    at = {"x": X[Y > 0.3]}
    assert res.predict(at, what="prob", above=0.5).to_numpy() == pytest.approx(np.where(Y[Y > 0.3] > 0.5, 1.0, 0.0))
    drawn = res.sample(at, draws=5, rng=1).to_numpy()
    assert drawn == pytest.approx(np.repeat(Y[Y > 0.3][:, None], 5, axis=1), abs=1e-6)
    assert res.residuals(kind="response").iloc[0] == pytest.approx(0.0, abs=1e-9)


def test_slopes_are_those_of_the_mean():
    res, h = fit(Y, 0.3), 1e-5
    up, down = (res.predict({"x": X + side}, what="latent").to_numpy() for side in (h, -h))
    found = res.marginal_effects(what="latent")["dydx"].iloc[0]
    assert found == pytest.approx(((up - down) / (2.0 * h)).mean(), rel=1e-3)


def test_values_are_left_out_in_closed_form():
    pointwise = tg.fit(f"y ~ {TERM}", {"x": X, "y": Y}, fixed=FIXED).loo().pointwise["elpd"]
    for i in range(len(X)):
        rest = np.arange(len(X)) != i
        _, mean, V = given(X[rest], Y[rest], X[[i]])
        assert pointwise[i] == pytest.approx(norm.logpdf(Y[i], mean[0], np.sqrt(V[0, 0])), abs=1e-8)


def test_rows_are_left_out_beside_a_censored_row():
    below = Y <= -0.6
    pointwise = fit(Y, -0.6).loo().pointwise["elpd"]
    density, m, W = given(X[~below], Y[~below], X[below])
    whole = density + norm.logcdf(-0.6, m[0], np.sqrt(W[0, 0]))
    assert pointwise[int(np.argmax(below))] == pytest.approx(whole - density, abs=1e-8)
    for i in np.flatnonzero(~below):
        rest = ~below & (np.arange(len(X)) != i)
        density, mean, V = given(X[rest], Y[rest], X[below])
        # What leaving the row out does to the site of another is no part of a cavity.
        left = density + norm.logcdf(-0.6, mean[0], np.sqrt(V[0, 0]))
        assert pointwise[i] == pytest.approx(whole - left, abs=0.1)


def test_sites_of_values_are_points_with_kriging_cavities():
    sites = tg.fit(f"y ~ {TERM}", {"x": X, "y": Y}, fixed=FIXED).sites
    assert sites["mean"].to_numpy() == pytest.approx(Y, abs=1e-12)
    assert (sites["variance"] == 0.0).all()
    for i in range(len(X)):
        rest = np.arange(len(X)) != i
        _, mean, V = given(X[rest], Y[rest], X[[i]])
        cavity = sites[["cavity_mean", "cavity_variance"]].iloc[i].to_numpy()
        assert cavity == pytest.approx([mean[0], V[0, 0]], abs=1e-8)


def test_bounds_are_compared_with_the_exact_evidence():
    res = fit(Y, 0.3)
    table = tg.compare_bounds(res)
    assert table.index.to_list() == ["exact", "ep"]
    below, density, mean, V = one_sided(0.3)
    k = int(below.sum())
    mass = multivariate_normal.cdf(np.full(k, 0.3), mean[:k], V[:k, :k], maxpts=200_000 * k, abseps=1e-9, rng=1)
    assert table["value"].to_numpy() == pytest.approx([density + np.log(mass), res.log_evidence], abs=2e-3)


def test_copies_say_nothing_more():
    res, again = fit(Y, 0.3), np.append(np.arange(len(X)), [0, 2, 2])
    copies = {"x": X[again], "y": np.maximum(Y, 0.3)[again]}
    found = tg.fit(f"y ~ {TERM} | censor(0.3)", copies, fixed=FIXED)
    assert found.log_evidence == pytest.approx(res.log_evidence, abs=1e-8)
    with pytest.raises(tg.errors.SpecError, match="cannot be left out if another row has the same inputs"):
        found.loo()


def test_two_limits_at_one_place_are_an_interval():
    data = {"x": [*X, X[3]], "low": [*Y, -np.inf], "high": [*Y, -0.7]}
    data["low"][3], data["high"][3] = -1.0, np.inf
    rest = np.arange(len(X)) != 3
    density, mean, V = given(X[rest], Y[rest], X[[3]])
    ends = norm.cdf([-0.7, -1.0], mean[0], np.sqrt(V[0, 0]))
    res = tg.fit(f"interval(low, high) ~ {TERM}", data, fixed=FIXED)
    assert res.log_evidence == pytest.approx(density + np.log(ends[0] - ends[1]), abs=1e-9)


def test_files_and_copies_answer_the_same(tmp_path):
    res = fit(Y, 0.3)
    res.save(tmp_path / "fit.tgp")
    again = tg.load(tmp_path / "fit.tgp")
    asked = {"x": np.concatenate([X, NEW])}
    before, after = (fitted.predict(asked, what="latent", interval=0.9) for fitted in (res, again))
    pd.testing.assert_frame_equal(before, after)
    assert again.hyperparameters["sigma"] == 0.0


def test_the_summary_says_that_there_is_no_noise():
    text = " ".join(str(fit(Y, 0.3).summary()).split())
    assert "There is no noise (sigma = 0)" in text
    assert "nan" not in text


NOT_SUPPORTED = {
    "laplace": (lambda: fit(Y, 0.3, method="laplace"), "no slope, so that method='laplace' is not defined"),
    "vi": (lambda: fit(Y, 0.3, method="vi"), "an infinite divergence from every normal distribution"),
    "family": (lambda: fit(Y, 0.3, family="student"), "family='student' is not supported"),
    "weights": (lambda: tg.fit(f"y ~ {TERM}", {"x": X, "y": Y, "w": 2}, fixed=FIXED, weights="w"), "weights= out"),
    "inducing": (lambda: fit(Y, 0.3, method=tg.EP(inducing=4)), "inducing= out"),
    "sigma": (lambda: fit(Y, 0.3, sigma="~ x"), "sigma= is not supported, since there is no scale"),
    "not supported for processes": (
        lambda: tg.fit("y ~ x", {"x": X, "y": Y}, fixed={"sigma": 0}, method="ep"),
        r"Add gp\(\)",
    ),
    "truncated": (lambda: tg.fit(f"y ~ {TERM} | truncate(-2)", {"x": X, "y": Y}, fixed=FIXED), "truncated rows"),
    "groups": (
        lambda: tg.fit("y ~ gp(x) + re(g)", {"x": X, "y": Y, "g": list("aabbccdde")}, fixed={"sigma": 0}),
        "random effects and by= are not supported",
    ),
    "two values": (
        lambda: tg.fit(f"y ~ {TERM}", {"x": [*X, 1.2], "y": [*Y, 0.0]}, fixed=FIXED),
        "no value agrees with all of the rows 2, 9",
    ),
    "a value beyond": (
        lambda: tg.fit(f"y ~ {TERM} | censor(0.3)", {"x": [*X, 0.0], "y": [*np.maximum(Y, 0.3), 0.3]}, fixed=FIXED),
        "no value agrees with all of the rows 0, 9",
    ),
    "many rows": (
        lambda: tg.fit(f"y ~ {TERM}", {"x": np.arange(1001.0), "y": np.arange(1001.0)}, fixed=FIXED),
        "at most 1000 distinct inputs are allowed, and there are 1001",
    ),
    "smooth": (
        lambda: tg.fit(
            "y ~ 0 + gp(x, line=False)",
            {"x": np.linspace(0.0, 1.0, 30), "y": np.linspace(0.0, 1.0, 30) ** 2},
            fixed={**FIXED, "lengthscale(gp(x))": 5.0},
        ),
        "singular to working precision",
    ),
    "residuals": (lambda: fit(Y, 0.3).residuals(), "leaves no residuals"),
    "check": (lambda: fit(Y, 0.3).check(), "leaves no residuals"),
    "psis": (lambda: fit(Y, 0.3).loo(method="psis"), r"loo\(method='ep'\)"),
    "waic": (lambda: fit(Y, 0.3).waic(), "have no density given it"),
    "elbo": (lambda: fit(Y, 0.3).elbo, "no normal distribution has a finite bound"),
    "bounds": (lambda: tg.compare_bounds(tg.fit(f"y ~ {TERM}", {"x": X, "y": Y}, fixed=FIXED)), "is exact"),
    "known densities": (lambda: fit(Y, 0.3).get_distribution({"x": X}), "has no density there"),
    "known scores": (lambda: fit(Y, 0.3).score({"x": X, "y": np.maximum(Y, 0.3)}), "has no density there"),
}


@pytest.mark.parametrize("what", NOT_SUPPORTED)
def test_what_is_not_defined_is_refused(what):
    call, message = NOT_SUPPORTED[what]
    with pytest.raises(tg.errors.TobitGPError, match=message):
        call()


def test_rows_as_smooth_as_the_kernel_have_no_maximum():
    x = np.linspace(0.0, 1.0, 40)
    with pytest.warns(tg.errors.ConvergenceWarning) as caught:
        tg.fit("y ~ gp(x)", {"x": x, "y": np.sin(6.0 * x)}, fixed={"sigma": 0}, method=tg.EP(hyper="maximize"))
    assert any("Use a rougher kernel such as matern52" in str(warning.message) for warning in caught)
