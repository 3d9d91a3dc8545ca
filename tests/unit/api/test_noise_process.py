"""Processes and groups in the formula of log sigma: fits, predictions, draws, what is left out and what is refused."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

import tobitgp as tg
from tobitgp.errors import NumericalError, SpecError, UnseenLevelError

CURVE = "y ~ gp(x, line=False) | censor(limit)"
AT = {
    "sd(gp(x))": 1.0,
    "lengthscale(gp(x))": 0.3,
    "sd(sigma: gp(x))": 0.6,
    "lengthscale(sigma: gp(x))": 0.35,
    "sigma": 0.25,
}


def made(n=120, seed=3, share=0.3):
    rng = np.random.default_rng(seed)
    x, g = np.sort(rng.uniform(size=n)), np.resize(list("abcdef"), n)
    of_g = dict(zip("abcdef", rng.normal(0.0, 0.5, 6), strict=True))
    scale = (0.1 + 0.7 * x) * np.exp([of_g[each] for each in g])
    full = np.sin(6.0 * x) + scale * rng.normal(size=n)
    data = pd.DataFrame({"x": x, "g": g, "z": rng.normal(2.0, 3.0, n), "full": full, "scale": scale})
    data["limit"] = np.quantile(full, share) if share else -np.inf
    data["y"], data["t"] = np.maximum(full, data["limit"]), np.exp(full)
    return data


@pytest.fixture(scope="module")
def data():
    return made()


@pytest.fixture(scope="module")
def res(data):
    return tg.fit("y ~ gp(x) | censor(limit)", data, sigma="~ gp(x)")


NEW = pd.DataFrame({"x": [0.1, 0.5, 0.9, 1.2]})


# -- fits -------------------------------------------------------------------------------------------------------------


def test_noise_that_grows_is_seen(data, res):
    assert res.converged
    scale = res.predict(data, what="sigma", interval=0.95)
    rest = data.assign(**scale)
    smooth = 0.1 + 0.7 * data["x"]
    assert np.corrcoef(np.log(rest["estimate"]), np.log(smooth))[0, 1] > 0.8
    plain = tg.fit("y ~ gp(x) | censor(limit)", data)
    assert res.log_evidence_integrated > plain.log_evidence_integrated + 5.0


def test_the_summary_shows_both_parts(res):
    text = str(res.summary())
    for words in ("log(sigma):  ~ gp(x)", "sd(sigma: gp(x))", "lengthscale(sigma: gp(x))", "\nsigma: gp(x) "):
        assert words in text, words
    assert list(res.params.index) == ["Intercept", *AT]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("formula", "sigma", "options"),
    [
        (CURVE, "~ gp(x)", {}),
        ("y ~ z + re(g) | censor(limit)", "~ z + gp(x) + (1 | g)", {}),
        (CURVE, "~ (1 + z | g)", {}),
        ("t ~ gp(x)", "~ z + gp(x)", {"family": "loglogistic"}),
        ("full ~ gp(x)", "~ gp(x, by=g) + offset(0.1 * z)", {"family": "student"}),
        ("y ~ x | truncate(-1.2)", "~ gp(x)", {}),
    ],
)
def test_gradients_of_the_evidence_are_those_of_differences(data, formula, sigma, options):
    data = data[data["y"] > -1.2]
    if "truncate" in formula:
        data = data.iloc[::4]
    model = tg.Model(formula, data, sigma=sigma, **options)
    whole = tg.Model(formula.partition(" | truncate")[0], data, sigma=sigma, **options)  # whose fit takes less time
    at = whole.fit(method=tg.EP(hyper="maximize", max_iter=3)).hyperparameters
    found = model.evidence(at, method=tg.EP(inducing=None)).gradient
    for name, value in at.items():
        if name.startswith("cor("):
            continue

        def moved(step, name=name):
            return model.evidence({**at, name: at[name] + step}, method=tg.EP(inducing=None), gradient=False).value

        step = 5e-4 * abs(value)
        slope = (moved(step) - moved(-step)) / (2.0 * step)
        assert found[name] == pytest.approx(slope, rel=2e-4, abs=2e-4 / max(abs(value), 1e-3)), name


@pytest.mark.slow
def test_starts_of_the_user_lead_to_the_same_maximum(data):
    how = {"sigma": "~ gp(x)", "method": tg.EP(hyper="maximize")}
    found = tg.fit(CURVE, data, **how)
    other = tg.fit(CURVE, data, **how, start={name: 3.0 * value for name, value in AT.items()})
    ends = [each.fit_history["log_posterior"].iloc[-1] for each in (found, other)]
    assert ends[0] == pytest.approx(ends[1], abs=1e-4)


def test_a_process_that_hardly_moves_is_one_noise_scale(data):
    still = AT | {"sd(sigma: gp(x))": 1e-6}
    moving = tg.Model(CURVE, data, sigma="~ gp(x)").evidence(still, gradient=False, method=tg.EP(inducing=None)).value
    plain = {name: value for name, value in AT.items() if "sigma: " not in name}
    assert moving == pytest.approx(tg.Model(CURVE, data).evidence(plain, method=tg.EP(inducing=None)).value, abs=1e-5)


def test_columns_beside_a_process_and_units_of_its_input(data):
    at = AT | {"log(sigma)[z]": 0.05}
    wide = data.assign(x=1000.0 * data["x"], z=5.0 + 2.0 * data["z"])
    there = at | {"lengthscale(gp(x))": 300.0, "lengthscale(sigma: gp(x))": 350.0, "log(sigma)[z]": 0.025}
    values = [
        tg.Model(CURVE, rows, sigma="~ z + gp(x)").evidence(params, gradient=False, method=tg.EP(inducing=None)).value
        for rows, params in ((data, at), (wide, there))
    ]
    assert values[0] == pytest.approx(values[1], abs=1e-6)


# -- truth by importance sampling -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def small():
    """Fourteen rows at fixed parameters, their exact posterior by weighted draws, and the fit."""
    data = made(14, seed=11)
    fit = tg.fit(CURVE, data, sigma="~ gp(x)", fixed=AT | {"Intercept": 0.0}, method=tg.EP(inducing=None))
    places = np.concatenate([data["x"], NEW["x"]])

    def root(sd, scale):
        K = sd**2 * np.exp(-0.5 * np.subtract.outer(places, places) ** 2 / scale**2)
        return np.linalg.cholesky(K + 1e-9 * np.eye(len(places)))

    L_f, L_h = root(1.0, 0.3), root(0.6, 0.35)
    rng, draws = np.random.default_rng(0), 200_000
    h = L_h @ rng.standard_normal((len(places), draws))
    scale = AT["sigma"] * np.exp(h[:14])
    # Given log sigma, f of the exact rows is integrated out: draws of f come from its posterior given these.
    exact = (data["y"] > data["limit"]).to_numpy()
    K, y = L_f @ L_f.T, data["y"].to_numpy()
    z, e = rng.standard_normal((len(places), draws)), rng.standard_normal((14, draws))
    f, log_weight = np.empty_like(h), np.empty(draws)
    prior, at = L_f @ z, np.flatnonzero(exact)
    for start in range(0, draws, 20_000):
        span = slice(start, start + 20_000)
        C = K[np.ix_(at, at)] + np.eye(len(at)) * np.square(scale[at, span]).T[:, None, :]
        gap = y[at, None] - prior[at, span] - scale[at, span] * e[at, span]
        solved = np.linalg.solve(C, np.stack([gap.T, np.tile(y[at], (gap.shape[1], 1))], axis=2))
        f[:, span] = prior[:, span] + K[:, at] @ solved[:, :, 0].T
        log_weight[span] = -0.5 * (np.einsum("i,si->s", y[at], solved[:, :, 1]) + np.linalg.slogdet(C)[1])
    log_weight -= 0.5 * len(at) * np.log(2.0 * np.pi)
    below = norm.logcdf((y[~exact, None] - f[:14][~exact]) / scale[~exact]).sum(axis=0)
    weight = np.exp(log_weight + below)
    return data, fit, f, h, weight


def weighted(values, weight):
    mean = values @ weight / weight.sum()
    return mean, np.sqrt((values - mean[:, None]) ** 2 @ weight / weight.sum())


def test_the_evidence_is_near_that_of_weighted_draws(small):
    _, fit, _, _, weight = small
    assert fit.log_evidence == pytest.approx(np.log(weight.mean()), abs=0.25)


def test_moments_are_near_those_of_weighted_draws(small):
    _, fit, f, h, weight = small
    mean, sd = weighted(f[14:], weight)
    found = fit.predict(NEW, what="latent", se=True)
    assert (np.abs(found["estimate"] - mean) < 0.12 * sd).all()
    assert (found["se"] / sd).between(0.8, 1.1).all()
    mean, sd = weighted(h[14:], weight)
    found = fit.predict(NEW, what="sigma", se=True)
    assert (np.abs(np.log(found["estimate"] / AT["sigma"]) - mean) < 0.12 * sd).all()
    assert (found["se"] / found["estimate"] / sd).between(0.85, 1.1).all()


def test_probabilities_are_near_those_of_weighted_draws(small):
    _, fit, f, h, weight = small
    scale = AT["sigma"] * np.exp(h[14:])
    exact = norm.cdf((-0.5 - f[14:]) / scale) @ weight / weight.sum()
    assert fit.predict(NEW, what="prob", below=-0.5).to_numpy() == pytest.approx(exact, abs=0.02)
    q = fit.predict(NEW, what="quantile", q=0.1).to_numpy()[:, None]
    assert norm.cdf((q - f[14:]) / scale) @ weight / weight.sum() == pytest.approx(0.1, abs=0.02)


# -- what is asked of a fit -------------------------------------------------------------------------------------------


def test_draws_have_the_quantiles_of_predictions(res):
    draws = res.sample(NEW, draws=20_000, rng=1)
    found = np.quantile(draws.to_numpy(), [0.1, 0.5, 0.9], axis=1).T
    expected = res.predict(NEW, what="quantile", q=[0.1, 0.5, 0.9])
    assert found == pytest.approx(expected.to_numpy(), abs=0.04)


@pytest.mark.slow
def test_what_censored_rows_may_have_been_lies_below_their_limit(data, res):
    draws = res.sample(None, what="conditional", draws=200, rng=2)
    seen = (data["y"] > data["limit"]).to_numpy()
    assert (draws[seen].to_numpy() == data.loc[seen, ["y"]].to_numpy()).all()
    assert (draws[~seen].to_numpy() < data["limit"].iloc[0]).all()
    mean = res.predict(None, what="conditional")[~seen]
    assert draws[~seen].mean(axis=1).to_numpy() == pytest.approx(mean.to_numpy(), abs=0.35)


def test_left_out_rows_are_those_of_refits(data):
    how = {"sigma": "~ gp(x)", "fixed": AT, "method": tg.EP(inducing=None)}
    some = data.iloc[::4].reset_index(drop=True)
    found = tg.fit(CURVE, some, **how).loo().pointwise["elpd"]
    for row in (0, 7, 15, 29):
        without = tg.fit(CURVE, some.drop(index=row), **how)
        again = without.score(some.iloc[[row]], "log_likelihood")
        assert found[row] == pytest.approx(again, abs=0.08), row


@pytest.mark.slow
def test_effects_are_slopes_of_predictions(data):
    fit = tg.fit("y ~ z + gp(x) | censor(limit)", data, sigma="~ z + gp(x)", method=tg.EP(hyper="maximize"))
    found = fit.marginal_effects("prob", below=0.0).loc[("z", "dy/dx"), "dydx"]
    up, down = (fit.predict(data.assign(z=data["z"] + s), what="prob", below=0.0).mean() for s in (1e-3, -1e-3))
    assert found == pytest.approx((up - down) / 2e-3, rel=1e-3)


@pytest.mark.slow
def test_groups_of_the_scale_are_effects_on_its_logarithm(data):
    fit = tg.fit("y ~ gp(x) + re(g) | censor(limit)", data, sigma="~ gp(x) + (1 | g)")
    table = fit.group_effects("sigma: re(g)")
    rows = pd.DataFrame({"x": 0.5, "g": list("abcdef")})
    scale = np.log(fit.predict(rows, what="sigma")).to_numpy()
    assert table["estimate"].to_numpy() - table["estimate"].mean() == pytest.approx(scale - scale.mean(), abs=1e-9)
    unseen = fit.predict(rows.assign(g="new"), what="sigma", se=True)
    assert (unseen["se"] / unseen["estimate"] > (table["se"]).max()).all()


def test_diagnostics_know_of_the_scale(res):
    found = res.check()
    assert "spread" in found.table.index
    assert found.table.loc["spread in x", "verdict"] == "good"
    assert float(res.k_hat(rng=0)) < 0.9


def test_check_points_to_the_scale(data):
    text = str(tg.fit("full ~ gp(x)", made(300, seed=5, share=0.0)).check())
    assert "sigma='~ gp(x)'" in " ".join(text.split())


def test_the_scale_of_every_fit(data):
    plain = tg.fit(CURVE, data, method=tg.EP(hyper="maximize"))
    assert (plain.predict(NEW, what="sigma") == plain.params["sigma"]).all()
    by_ml = tg.fit("y ~ x | censor(limit)", data, sigma="~ z")
    rows = data.head(3)
    expected = np.exp(by_ml.params["log(sigma)[Intercept]"] + by_ml.params["log(sigma)[z]"] * rows["z"])
    assert by_ml.predict(rows, what="sigma").to_numpy() == pytest.approx(expected.to_numpy(), rel=1e-12)
    table = by_ml.predict(rows, what="sigma", interval=0.95)
    V = by_ml.cov_params().loc[["log(sigma)[Intercept]", "log(sigma)[z]"], ["log(sigma)[Intercept]", "log(sigma)[z]"]]
    W = np.column_stack([np.ones(3), rows["z"]])
    assert (table["se"] / table["estimate"]).to_numpy() == pytest.approx(
        np.sqrt(np.einsum("ni,ij,nj->n", W, V.to_numpy(), W)), rel=1e-8
    )


# -- refusals ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("formula", "sigma", "options", "words"),
    [
        ("y ~ x", "~ gp(x)", {"method": "mle"}, "sigma: gp\\(x\\) is a process"),
        (CURVE, "~ 0 + gp(x)", {}, "Leave out '0 \\+'"),
        (CURVE, "~ gp(x, kernel='matern32', approximation='markov')", {}, "for processes of the mean"),
        ("y ~ gp(x, kernel='matern32', approximation='markov')", "~ gp(x)", {}, "'markov' is not supported with"),
        (CURVE, "~ gp(x)", {"method": tg.EP(inducing=tg.Inducing(5))}, "is not supported with a process in sigma="),
        ("y ~ 0", "~ gp(x)", {}, "nothing to estimate"),
        ("t ~ x", "~ gp(x)", {"family": "exponential"}, "has sigma = 1"),
    ],
)
def test_what_does_not_go_is_refused(data, formula, sigma, options, words):
    with pytest.raises(SpecError, match=words):
        tg.fit(formula, data, sigma=sigma, **options)


@pytest.mark.slow
def test_limits_taken_for_values_are_named():
    with pytest.raises(NumericalError, match="A value that many rows share"):
        tg.fit("y ~ gp(x)", made(40, share=0.5), sigma="~ gp(x)")


def test_questions_that_make_no_sense_are_refused(res):
    with pytest.raises(SpecError, match="exclude= does not change"):
        res.predict(NEW, what="sigma", exclude="gp(x)")
    with pytest.raises(SpecError, match="does not support a process"):
        tg.compare_bounds(res)


@pytest.mark.slow
def test_new_rows_need_the_columns_of_the_scale(data):
    fit = tg.fit(CURVE, data, sigma="~ gp(x, by=g)", method=tg.EP(hyper="maximize"))
    with pytest.raises(UnseenLevelError):
        fit.predict(pd.DataFrame({"x": [0.5], "g": ["new"]}))
