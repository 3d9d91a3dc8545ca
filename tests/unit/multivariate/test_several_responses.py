"""Several responses: against normal theory, maximum likelihood by quadrature, and fits of each by itself."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.stats import multivariate_normal, norm

import tobitgp as tg
from tobitgp.errors import DataError, FormulaError, SpecError
from tobitgp.formula.mvbind import read_wide

SIGMA, R = np.array([0.3, 0.4, 0.2]), np.array([[1.0, 0.6, 0.2], [0.6, 1.0, -0.3], [0.2, -0.3, 1.0]])
UNITS, SHIFT = np.array([1.0, 10.0, 0.01]), np.array([0.0, 50.0, 0.0])


def made(n=120, share=0.3, seed=5):
    rng = np.random.default_rng(seed)
    x, z = rng.uniform(size=n), rng.normal(size=n)
    curves = np.column_stack([np.sin(6.0 * x), np.cos(5.0 * x)]) @ np.array([[0.8, 0.2, -0.5], [0.6, 0.9, 0.7]])
    y = curves + 0.3 * z[:, None] + rng.multivariate_normal(np.zeros(3), R * np.outer(SIGMA, SIGMA), n)
    y = SHIFT + UNITS * y
    limit = np.quantile(y, share, axis=0)
    frame = pd.DataFrame(np.maximum(y, limit), columns=["y1", "y2", "y3"])
    return frame.assign(x=x, z=z, g=np.resize(list("abcd"), n), l1=limit[0], l2=limit[1], l3=limit[2])


CURVES = "mvbind(y1, y2, y3) ~ gp(x) + z | censor(l1, l2, l3)"


@pytest.fixture(scope="module")
def data():
    frame = made()
    frame.loc[3, "y2"], frame.loc[7, "y1"] = np.nan, np.nan
    return frame


@pytest.fixture(scope="module")
def res(data):
    return tg.fit(CURVES, data, rescor=True)


# -- numbers ----------------------------------------------------------------------------------------------------------


def test_the_truth_is_found(res):
    ends = res.conf_int(0.01)
    truth = {f"sigma[y{j + 1}]": (UNITS * SIGMA)[j] for j in range(3)}
    truth |= {f"rescor[y{k + 1}, y{j + 1}]": R[j, k] for j in range(3) for k in range(j)}
    truth |= {f"z[y{j + 1}]": 0.3 * UNITS[j] for j in range(3)}
    for name, value in truth.items():
        assert ends.loc[name, 0] < value < ends.loc[name, 1], name


def test_seen_responses_of_the_same_columns_are_regressions_whose_residuals_correlate():
    data = made(400, share=0.0).drop(columns=["l1", "l2", "l3"])
    res = tg.fit("mvbind(y1, y2, y3) ~ z", data, rescor=True)
    H, Y = np.column_stack([np.ones(400), data["z"]]), data[["y1", "y2", "y3"]].to_numpy()
    beta, *_ = np.linalg.lstsq(H, Y, rcond=None)
    S = np.cov((Y - H @ beta).T)
    sd, found = np.sqrt(np.diag(S)), res.params
    for j, name in enumerate(["y1", "y2", "y3"]):
        assert found[f"z[{name}]"] == pytest.approx(beta[1, j], abs=0.01 * res.bse[f"z[{name}]"])
        assert found[f"sigma[{name}]"] == pytest.approx(sd[j], rel=0.01)
    assert found["rescor[y1, y2]"] == pytest.approx(S[0, 1] / sd[0] / sd[1], abs=0.01)
    assert found["rescor[y2, y3]"] == pytest.approx(S[1, 2] / sd[1] / sd[2], abs=0.01)


def of_covariance(S):
    """Standard deviations, then correlations, in the order of the parameters."""
    sd = np.sqrt(np.diag(S))
    return np.array([*sd, *(S[k, j] / sd[k] / sd[j] for j in range(len(S)) for k in range(j))])


@pytest.mark.slow
def test_covariances_of_estimates_are_those_of_normal_theory():
    n = 400
    data = made(n, share=0.0).drop(columns=["l1", "l2", "l3"])
    res = tg.fit("mvbind(y1, y2, y3) ~ z", data, rescor=True)
    H, Y = np.column_stack([np.ones(n), data["z"]]), data[["y1", "y2", "y3"]].to_numpy()
    beta, *_ = np.linalg.lstsq(H, Y, rcond=None)
    S, V = np.cov((Y - H @ beta).T), res.cov_params()
    of_slopes = np.linalg.inv(H.T @ H)[1, 1] * S
    slopes = [f"z[y{j}]" for j in (1, 2, 3)]
    scale = np.sqrt(np.outer(np.diag(of_slopes), np.diag(of_slopes)))
    np.testing.assert_allclose(V.loc[slopes, slopes] / scale, of_slopes / scale, atol=0.02)
    pairs = [(i, j) for i in range(3) for j in range(i, 3)]
    of_S = np.array([[S[i, k] * S[j, l] + S[i, l] * S[j, k] for k, l in pairs] for i, j in pairs]) / n
    slope = []
    for i, j in pairs:
        step = np.zeros((3, 3))
        step[i, j] = step[j, i] = 1e-5 * np.sqrt(S[i, i] * S[j, j])
        slope.append((of_covariance(S + step) - of_covariance(S - step)) / (2.0 * step[i, j]))
    expected, rest = np.array(slope).T @ of_S @ np.array(slope), res.params.index[6:]
    scale = np.sqrt(np.outer(np.diag(expected), np.diag(expected)))
    np.testing.assert_allclose(V.loc[rest, rest] / scale, expected / scale, atol=0.05)
    np.testing.assert_allclose(np.sqrt(np.diag(V)), res.bse, rtol=1e-9)
    assert list(res.hyperparameters) == list(rest)
    gap = res.t_test("z[y2] = 10 * z[y1]")
    assert gap.effect[0] == pytest.approx(beta[1, 1] - 10.0 * beta[1, 0], abs=0.01 * gap.sd[0])
    error = np.sqrt(of_slopes[1, 1] + 100.0 * of_slopes[0, 0] - 20.0 * of_slopes[0, 1])
    assert gap.sd[0] == pytest.approx(error, rel=0.02)
    chi2 = beta[1, :2] @ np.linalg.solve(of_slopes[:2, :2], beta[1, :2])
    assert res.wald_test("z[y1] = 0, z[y2] = 0").statistic == pytest.approx(chi2, rel=0.03)


@pytest.mark.slow
def test_two_censored_responses_are_near_their_maximum_likelihood():
    rng = np.random.default_rng(2)
    n = 400
    z = rng.normal(size=n)
    y = np.array([0.5, -0.2]) + np.outer(z, [1.0, -0.5]) + rng.multivariate_normal([0, 0], [[1.0, 0.7], [0.7, 1.0]], n)
    limit = np.quantile(y, [0.3, 0.4], axis=0).diagonal()
    seen, y = y > limit, np.maximum(y, limit)

    def negative(p):
        mean = p[:2] + np.outer(z, p[2:4])
        sd, rho = np.exp(p[4:6]), np.tanh(p[6])
        e = (y - mean) / sd
        of_both = multivariate_normal([0, 0], [[1.0, rho], [rho, 1.0]])
        total = 0.0
        for i in range(n):
            if seen[i].all():
                total += of_both.logpdf(e[i]) - np.log(sd).sum()
            elif seen[i].any():
                k = int(np.flatnonzero(seen[i])[0])
                rest = (e[i, 1 - k] - rho * e[i, k]) / np.sqrt(1.0 - rho**2)
                total += norm.logpdf(e[i, k]) - np.log(sd[k]) + norm.logcdf(rest)
            else:
                total += np.log(of_both.cdf(e[i]))
        return -total

    best = minimize(negative, [0.5, -0.2, 1.0, -0.5, 0.0, 0.0, 0.8], method="BFGS", options={"gtol": 1e-2})
    data = pd.DataFrame({"a": y[:, 0], "b": y[:, 1], "z": z, "la": limit[0], "lb": limit[1]})
    res = tg.fit("mvbind(a, b) ~ z | censor(la, lb)", data, rescor=True)
    truth = [best.x[2], best.x[3], *np.exp(best.x[4:6]), np.tanh(best.x[6])]
    names = ["z[a]", "z[b]", "sigma[a]", "sigma[b]", "rescor[a, b]"]
    assert np.abs(res.params[names] - truth).max() < 0.02
    assert (np.abs(res.params[names] - truth) / res.bse[names]).max() < 0.3


@pytest.mark.slow
def test_missing_responses_are_normal_given_the_others():
    data = made(300, share=0.0)
    res = tg.fit("mvbind(y1, y2) ~ z", data, rescor=True)
    new = pd.DataFrame({"z": [0.5, -1.0], "y1": [1.0, np.nan], "y2": [np.nan, 45.0]})
    found, p = res.impute(new, interval=0.95), res.params
    rho, s1, s2 = p["rescor[y1, y2]"], p["sigma[y1]"], p["sigma[y2]"]
    mean1, mean2 = (p[f"Intercept[{y}]"] + p[f"z[{y}]"] * new["z"] for y in ("y1", "y2"))
    assert found["y1", "estimate"][0] == 1.0
    assert found["y2", "estimate"][0] == pytest.approx(mean2[0] + rho * s2 / s1 * (1.0 - mean1[0]), abs=0.1 * s2)
    assert found["y1", "estimate"][1] == pytest.approx(mean1[1] + rho * s1 / s2 * (45.0 - mean2[1]), abs=0.1 * s1)


@pytest.mark.slow
def test_units_of_the_responses_do_not_matter(data, res):
    rescaled = data.assign(y1=1e3 * data["y1"] + 5.0, l1=1e3 * data["l1"] + 5.0)
    other = tg.fit(CURVES, rescaled, rescor=True)
    factor = np.where(["y1]" in n and n.startswith(("z", "Inter", "sd", "sigma")) for n in res.params.index], 1e3, 1.0)
    shift = np.where(res.params.index == "Intercept[y1]", 5.0, 0.0)
    np.testing.assert_allclose(other.params, factor * res.params + shift, rtol=1e-3, atol=1e-6)
    exact = int((data["y1"] > data["l1"]).sum())
    assert other.log_evidence == pytest.approx(res.log_evidence - exact * np.log(1e3), abs=1e-3)


def test_one_response_given_another_is_its_regression_on_it():
    data = made(300, share=0.0)
    table = tg.fit("mvbind(y1, y2) ~ z", data, rescor=True).regression("y1", "y2")
    alone = tg.fit("y1 ~ z + y2", data)
    np.testing.assert_allclose(table["coef"], alone.params[["Intercept", "z", "y2", "sigma"]], rtol=0.02, atol=2e-3)
    np.testing.assert_allclose(table["std err"][:3], alone.bse[["Intercept", "z", "y2"]], rtol=0.1)


def test_responses_without_anything_in_common_are_fits_by_themselves(data):
    both = tg.fit("mvbind(y1, y2) ~ z | censor(l1, l2)", data)
    for name, limit in (("y1", "l1"), ("y2", "l2")):
        alone = tg.fit(f"{name} ~ z | censor({limit})", data[data[name].notna()])
        assert both.params[f"z[{name}]"] == pytest.approx(alone.params["z"], abs=0.05 * alone.bse["z"])
        assert both.params[f"sigma[{name}]"] == pytest.approx(alone.params["sigma"], rel=0.03)


@pytest.mark.slow
def test_curves_are_those_of_gibbs_sampling():
    data, names = made(60, 0.3, seed=1), ["y1", "y2", "y3"]
    res = tg.fit("mvbind(y1, y2, y3) ~ gp(x) | censor(l1, l2, l3)", data, rescor=True)
    h, p = res.stacked.hyperparameters, res.params
    levels = res.parts.stack.levels
    sd = np.array([h[f"sd(gp(x))[{level}]"] for level in levels])
    cor = np.eye(3)
    noise = np.diag(
        [(p[f"sigma[{name}]"] / unit) ** 2 for name, unit in zip(names, res.parts.stack.scale, strict=True)]
    )
    for j, k in ((0, 1), (0, 2), (1, 2)):
        cor[j, k] = cor[k, j] = h[f"cor(gp(x))[{levels[j]}, {levels[k]}]"]
        noise[j, k] = noise[k, j] = p[f"rescor[{names[j]}, {names[k]}]"] * np.sqrt(noise[j, j] * noise[k, k])
    x, n = data["x"].to_numpy(), len(data)
    k = np.exp(-0.5 * ((x[:, None] - x) / h["lengthscale(gp(x))"]) ** 2)
    level = res.stacked.parts.gp.linear.sd[0] * res.stacked.parts.gp.problem.units.scale
    K = np.kron(cor * np.outer(sd, sd), k) + np.kron(level**2 * np.eye(3), np.ones((n, n)))
    G = K @ np.linalg.inv(K + np.kron(noise, np.eye(n)))
    values, vectors = np.linalg.eigh(K - G @ K)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    y, limit = (res.parts.stack.standardised(data[columns].to_numpy()) for columns in (names, ["l1", "l2", "l3"]))
    censored, y = y <= limit, np.where(y <= limit, limit - 0.2, y)
    given = [[j for j in range(3) if j != one] for one in range(3)]
    slope = [np.linalg.solve(noise[np.ix_(o, o)], noise[o, j]) for j, o in enumerate(given)]
    left = [np.sqrt(noise[j, j] - noise[j, o] @ slope[j]) for j, o in enumerate(given)]
    rng, kept = np.random.default_rng(0), []
    for draw in range(8000):
        f = (G @ y.T.ravel() + root @ rng.normal(size=3 * n)).reshape(3, n).T
        for j in (0, 1, 2, 0, 1, 2):
            mean = f[:, j] + (y[:, given[j]] - f[:, given[j]]) @ slope[j]
            below = norm.cdf((limit[:, j] - mean) / left[j])
            drawn = mean + left[j] * norm.ppf(rng.random(n) * below)
            y[:, j] = np.where(censored[:, j], drawn, y[:, j])
        if draw >= 500:
            kept.append(f)
    mean, spread = res.parts.stack.values(np.mean(kept, axis=0)), np.std(kept, axis=0) * res.parts.stack.scale
    found = res.predict(data, "latent", interval=0.95)
    for j, name in enumerate(names):
        assert np.abs((found[name, "estimate"] - mean[:, j]) / spread[:, j]).max() < 0.06
        np.testing.assert_allclose(found[name, "se"] / spread[:, j], 1.0, atol=0.05)


@pytest.mark.slow
def test_slopes_of_groups_have_the_evidence_of_a_dense_normal():
    rng = np.random.default_rng(2)
    n, levels = 90, 9
    z, g = rng.normal(size=n), np.resize(np.arange(levels), n)
    names = ["y1", "y2", "z[y1]", "z[y2]"]
    effects = rng.multivariate_normal(np.zeros(4), 0.2 * np.eye(4) + 0.1, levels)[g]
    y = effects[:, :2] + effects[:, 2:] * z[:, None] + 0.5 * rng.normal(size=(n, 2))
    data = pd.DataFrame({"y1": y[:, 0], "y2": 10.0 * y[:, 1], "z": z, "g": g.astype(str)})
    res = tg.fit("mvbind(y1, y2) ~ 0 + z + (1 + z | p | g)", data)
    p, linear = res.params, res.stacked.parts.gp.linear
    unit = np.array([*res.parts.stack.scale, *res.parts.stack.scale])
    sd = np.array([p[f"sd(re(g))[{name}]"] for name in names]) / unit
    R = np.eye(4)
    for j in range(4):
        for k in range(j):
            R[j, k] = R[k, j] = p[f"cor(re(g))[{names[k]}, {names[j]}]"]
    H = np.kron(np.eye(2), z[:, None] @ res.parts.stack.basis)
    Z = np.block(
        [
            [np.ones((n, 1)), np.zeros((n, 1)), z[:, None], np.zeros((n, 1))],
            [np.zeros((n, 1)), np.ones((n, 1)), np.zeros((n, 1)), z[:, None]],
        ]
    )
    same = np.tile(g[:, None] == g, (2, 2))
    noise = np.repeat([p["sigma[y1]"], p["sigma[y2]"]] / res.parts.stack.scale, n) ** 2
    V = same * (Z @ (R * np.outer(sd, sd)) @ Z.T) + (H * linear.sd**2) @ H.T + np.diag(noise)
    exact = multivariate_normal(np.zeros(2 * n), V).logpdf(
        res.parts.stack.standardised(data[["y1", "y2"]].to_numpy()).T.ravel()
    )
    assert res.log_evidence == pytest.approx(exact - n * np.log(res.parts.stack.scale).sum(), abs=1e-3)
    assert [name for name in p.index if name.startswith("sd(")] == [f"sd(re(g))[{name}]" for name in names]
    assert {term for term, _ in res.group_effects().index} == {f"re(g)[{name}]" for name in names}


@pytest.mark.slow
def test_correlations_of_slopes_are_left_out_by_two_bars():
    data = made()
    res = tg.fit("mvbind(y1, y2) ~ (1 + z || g) + (0 + x | g) | censor(l1, l2)", data, method=tg.EP(hyper="maximize"))
    names = [name for name in res.params.index if name.startswith(("sd(", "cor("))]
    assert [name for name in names if name.startswith("cor(")] == ["cor(re(0 + x | g))[x[y1], x[y2]]"]
    assert "sd(re(g))[z[y2]]" in names
    new = data.head(3)
    without = res.predict(new, "latent", exclude=["re(g)", "re(0 + x | g)"])
    np.testing.assert_allclose(without.iloc[0], without.iloc[2])
    assert not np.allclose(res.predict(new, "latent").iloc[0], res.predict(new, "latent").iloc[2])


# -- answers ----------------------------------------------------------------------------------------------------------


def test_predictions_have_a_column_for_each_response(res, data):
    new = pd.DataFrame({"x": [0.2, 0.8], "z": [0.0, 1.0]}, index=["p", "q"])
    plain, table = res.predict(new), res.predict(new, interval=0.9)
    assert list(plain.columns) == ["y1", "y2", "y3"]
    assert list(plain.index) == ["p", "q"]
    assert list(table["y2"].columns) == ["estimate", "se", "lower", "upper"]
    np.testing.assert_allclose(plain["y2"], table["y2", "estimate"])
    assert len(res.predict()) == len(data)


@pytest.mark.slow
def test_quantiles_are_those_of_draws(res):
    new = pd.DataFrame({"x": [0.2, 0.8], "z": [0.0, 1.0]})
    draws = res.sample(new, 20_000, rng=1)
    for q in (0.1, 0.5, 0.9):
        away = (np.quantile(draws, q, axis=0) - res.predict(new, "quantile", q=q)) / res.params.filter(
            like="sigma"
        ).values
        assert np.abs(away.to_numpy()).max() < 0.06
    left = draws[:, 0] - draws[:, 0].mean(axis=0)
    assert np.corrcoef(left.T)[0, 1] == pytest.approx(res.params["rescor[y1, y2]"], abs=0.05)


def test_what_is_known_of_a_row_is_kept(res, data):
    filled = res.impute()
    seen = data["y1"] > data["l1"]
    np.testing.assert_array_equal(filled.loc[seen, "y1"].round(12), data.loc[seen, "y1"].round(12))
    assert (filled.loc[data["y1"] <= data["l1"], "y1"] < data["l1"][0]).all()
    assert filled.notna().all(axis=None)


def test_the_summary_has_every_parameter(res):
    text = str(res.summary())
    for name in res.params.index:
        assert name in text
    assert set(res.correlations().index) == {n for n in res.params.index if n.startswith(("cor(", "rescor["))}
    assert list(res.correlations().columns) == ["estimate", "lower", "upper"]


@pytest.mark.slow
def test_groups_noise_and_log_normal_responses(data):
    amounts = data.assign(**{y: np.exp((data[y] - s) / u) for y, u, s in zip(["y1", "y2"], UNITS, SHIFT, strict=False)})
    amounts = amounts.assign(l1=np.exp(data["l1"]), l2=np.exp((data["l2"] - 50.0) / 10.0))
    formula = "mvbind(y1, y2) ~ gp(x) + (1 | g) | censor(l1, l2)"
    fit = tg.fit(formula, amounts, family="lognormal", sigma="~ z", rescor=True)
    names = fit.params.index
    for name in ("sd(re(g))[y1]", "cor(re(g))[y1, y2]", "log(sigma)[z[y1]]", "sigma[y2]", "rescor[y1, y2]"):
        assert name in names
    times = tg.fit(
        formula,
        amounts.assign(y1=60.0 * amounts["y1"], l1=60.0 * amounts["l1"]),
        family="lognormal",
        sigma="~ z",
        rescor=True,
    )
    assert times.params["Intercept[y1]"] == pytest.approx(fit.params["Intercept[y1]"] + np.log(60.0), abs=1e-3)
    assert times.params["sigma[y1]"] == pytest.approx(fit.params["sigma[y1]"], rel=1e-3)
    new = pd.DataFrame({"x": [0.5], "z": [0.0], "g": ["a"]})
    np.testing.assert_allclose(times.predict(new)["y1"], 60.0 * fit.predict(new)["y1"], rtol=1e-3)
    effects = fit.group_effects()
    assert set(effects.index.get_level_values(0)) == {"re(g)[y1]", "re(g)[y2]"}


def test_the_data_stay_as_they_are(data):
    before = data.copy(deep=True)
    tg.fit("mvbind(y1, y2) ~ z | censor(l1, l2)", data)
    pd.testing.assert_frame_equal(data, before)


# -- what rows and columns may be -------------------------------------------------------------------------------------


@pytest.mark.slow
def test_where_columns_are_measured_from_does_not_matter(data):
    formula = "mvbind(y1, y2) ~ z | censor(l1, l2)"
    plain = tg.fit(formula, data, rescor=True, sigma="~ z")
    moved = tg.fit(formula, data.assign(z=data["z"] + 2000.0), rescor=True, sigma="~ z")
    for name in ("z[y1]", "z[y2]", "sigma[y1]", "sigma[y2]", "rescor[y1, y2]", "log(sigma)[z[y1]]"):
        assert moved.params[name] == pytest.approx(plain.params[name], abs=1e-3 * plain.bse[name] + 1e-9), name
    assert moved.log_evidence == pytest.approx(plain.log_evidence, abs=1e-4)


def test_models_without_intercepts_go_through_the_origin():
    data = made(300, share=0.0)
    found = tg.fit("mvbind(y1, y2) ~ 0 + x", data).params
    for name in ("y1", "y2"):
        assert found[f"x[{name}]"] == pytest.approx(data["x"] @ data[name] / (data["x"] @ data["x"]), rel=1e-3)
    means = tg.fit("mvbind(y1, y2) ~ 0 + g", data).params
    assert means["g[a][y2]"] == pytest.approx(data.groupby("g")["y2"].mean()["a"], rel=0.01)


@pytest.mark.slow
def test_censored_values_have_truncated_normal_means():
    data = made(400, share=0.4, seed=3)
    res = tg.fit("mvbind(y1, y2) ~ z | censor(l1, None)", data, rescor=True)
    p = res.params
    mean1, mean2 = (p[f"Intercept[{y}]"] + p[f"z[{y}]"] * data["z"] for y in ("y1", "y2"))
    rho, s1, s2 = p["rescor[y1, y2]"], p["sigma[y1]"], p["sigma[y2]"]
    mean, sd = mean1 + rho * s1 / s2 * (data["y2"] - mean2), s1 * np.sqrt(1.0 - rho**2)
    a = (data["l1"] - mean) / sd
    exact = mean - sd * np.exp(norm.logpdf(a) - norm.logcdf(a))
    below = data["y1"] <= data["l1"]
    found = res.impute(interval=0.9)["y1"][below]
    assert np.abs((found["estimate"] - exact[below]) / sd).max() < 0.05
    again = res.impute(data[below].iloc[:5])["y1"]
    np.testing.assert_allclose(again, exact[below].iloc[:5], atol=0.05 * sd)
    tail = mean + sd * norm.ppf(0.05 * norm.cdf(a))
    assert np.abs((found["lower"] - tail[below]) / sd).max() < 0.25


@pytest.mark.slow
def test_intervals_of_missing_values_hold_them():
    data = made(400, share=0.0, seed=8)
    gone = np.random.default_rng(0).random(400) < 0.3
    for rescor in (True, False):
        res = tg.fit("mvbind(y1, y2) ~ z", data.assign(y2=data["y2"].mask(gone)), rescor=rescor)
        found = res.impute(interval=0.9)["y2"][gone]
        inside = (found["lower"] < data["y2"][gone]) & (data["y2"][gone] < found["upper"])
        assert 0.8 < inside.mean() < 0.97


@pytest.mark.slow
def test_new_rows_may_lack_a_response_altogether():
    data = made(200, share=0.0)
    res = tg.fit("mvbind(y1, y2) ~ z", data, rescor=True)
    given = res.impute(data[["z", "y1"]].head(4))
    missing = res.impute(data.assign(y2=np.nan).head(4))
    np.testing.assert_allclose(given, missing)
    nothing = res.impute(data[["z"]].head(4))
    np.testing.assert_allclose(nothing["y2"], res.predict(data.head(4))["y2"], rtol=1e-2)


@pytest.mark.slow
def test_rows_with_missing_covariates_and_limits(data):
    dropped = data.assign(z=data["z"].mask(np.arange(len(data)) < 10))
    with pytest.warns(UserWarning, match="10 of 120 rows are dropped"):
        one = tg.fit("mvbind(y1, y2) ~ z | censor(l1, l2)", dropped)
    other = tg.fit("mvbind(y1, y2) ~ z | censor(l1, l2)", data.iloc[10:])
    assert one.log_evidence == pytest.approx(other.log_evidence, abs=1e-6)
    assert np.isnan(one.predict().iloc[:10]).all(axis=None)
    with pytest.raises(DataError, match="l1"):
        tg.fit("mvbind(y1, y2) ~ z | censor(l1, None)", data.assign(l1=data["l1"].mask(data.index < 4)))


@pytest.mark.slow
def test_frequencies_are_copies(data):
    twice = tg.fit("mvbind(y1, y2) ~ z | censor(l1, l2)", data.assign(w=2.0), weights="w")
    copies = tg.fit("mvbind(y1, y2) ~ z | censor(l1, l2)", pd.concat([data, data], ignore_index=True))
    np.testing.assert_allclose(twice.params, copies.params, rtol=1e-4)
    assert twice.log_evidence == pytest.approx(copies.log_evidence, abs=1e-3)


def test_values_without_weight_are_counted_as_dropped(data):
    weighted = data.assign(w=np.arange(len(data)) % 2)
    res = tg.fit("mvbind(y1, y2) ~ z", weighted, weights="w", method=tg.EP(hyper="maximize"))
    assert res.counts["dropped"] == weighted.loc[weighted.w == 0, ["y1", "y2"]].notna().sum().sum()


@pytest.mark.slow
def test_names_that_contain_each_other(data):
    odd = data.rename(columns={"y1": "m", "y2": "x [m]"})
    res = tg.fit("mvbind(m, `x [m]`) ~ z + (1 | g) | censor(l1, l2)", odd, rescor=True)
    plain = tg.fit("mvbind(y1, y2) ~ z + (1 | g) | censor(l1, l2)", data, rescor=True)
    np.testing.assert_allclose(res.params, plain.params)
    assert list(res.params.index[:4]) == ["Intercept[m]", "z[m]", "Intercept[x [m]]", "z[x [m]]"]
    assert res.regression("m", "x [m]").shape == (4, 6)


@pytest.mark.slow
def test_the_scale_of_residuals_in_a_row(data):
    for rescor in (True, False):
        res = tg.fit("mvbind(y1, y2) ~ z | censor(l1, l2)", data, rescor=rescor, sigma="~ z")
        new = pd.DataFrame({"z": [data["z"].mean(), 2.0]})
        sigma = res.predict(new, "sigma", interval=0.95)
        assert sigma["y2", "estimate"][0] == pytest.approx(res.params["sigma[y2]"], rel=1e-6 if rescor else 0.02)
        draws = res.sample(new, 20_000, rng=2)
        np.testing.assert_allclose(draws.std(axis=0), res.predict(new, "sigma"), rtol=0.05)
    text = str(res.summary())
    assert "log(sigma):" in text


@pytest.mark.slow
def test_new_rows_leave_the_noise_as_it_is():
    rng = np.random.default_rng(0)
    data = pd.DataFrame({"z": rng.normal(size=200)})
    data["a"], data["b"] = 3.0 * data["z"] + 0.5 * rng.normal(size=200), 0.3 * data["z"] + rng.normal(size=200)
    fits = [
        tg.fit("mvbind(a, b) ~ z", data, sigma=sigma, rescor=rescor) for sigma, rescor in ((None, False), ("~ z", True))
    ]
    for res in fits:
        few, many = (res.impute(data[["z", "b"]].head(n), interval=0.9)["a"].iloc[0] for n in (2, 200))
        width = few["upper"] - few["lower"]
        assert many["upper"] - many["lower"] == pytest.approx(width, rel=0.05)
    assert width < 2.0 * 1.645 * fits[1].params["sigma[a]"] * 1.3


def test_figures_have_a_panel_for_each_response(res):
    panels = res.plot()
    assert [ax.get_ylabel() for ax in panels] == ["y1", "y2", "y3"]
    assert {ax.get_xlabel() for ax in panels} == {"x"}
    shown = panels[1].get_legend_handles_labels()[1]
    counts = (res.parts.read.ends[0] == res.parts.read.ends[1])[:, 1].sum()
    assert shown[0] == f"exact ({counts})"
    assert "95% band" in shown
    assert res.plot("z", interval=None)[0].get_xlabel() == "z"
    with pytest.raises(SpecError, match="'x', 'z'"):
        res.plot("g")
    with pytest.raises(SpecError, match="no column of numbers"):
        tg.fit("mvbind(y1, y2) ~ g", made(40)).plot()


@pytest.mark.slow
def test_errors_of_scales_grow_away_from_the_rows():
    found = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        z = rng.normal(size=150)
        shared = 0.5 * rng.multivariate_normal([0.0, 0.0], [[1.0, 0.7], [0.7, 1.0]], 150)
        y = z[:, None] + shared + 0.5 * np.exp(0.6 * z)[:, None] * rng.normal(size=(150, 2))
        data = pd.DataFrame({"a": y[:, 0], "b": y[:, 1], "z": z})
        res = tg.fit("mvbind(a, b) ~ z", data, rescor=True, sigma="~ z")
        at = np.array([-1.0, 0.0, 2.0])
        table = res.predict({"z": at}, "sigma", interval=0.9)["a"]
        truth = 0.5 * np.sqrt(1.0 + np.exp(1.2 * at))
        found.append((table["lower"] < truth) & (truth < table["upper"]))
    assert (np.mean(found, axis=0) > 0.75).all(), np.mean(found, axis=0)


@pytest.mark.slow
def test_later_changes_of_the_data_do_not_matter(data):
    mine = data.copy()
    res = tg.fit("mvbind(y1, y2) ~ z | censor(l1, l2)", mine)
    before = res.predict()
    mine.loc[:, "z"] = 0.0
    pd.testing.assert_frame_equal(res.predict(), before)


def test_no_new_rows_are_those_of_the_fit_however_that_is_said(data):
    res = tg.fit("mvbind(y1, y2) ~ z | censor(l1, l2)", data)
    for ask in (res.predict_median, res.predict_percentile):
        more = {} if ask == res.predict_median else {"p": 0.8}
        found = ask(None, **more)
        pd.testing.assert_frame_equal(found, ask(**more))
        assert found.notna().all(axis=None)  # also where a response is missing


def test_rows_without_covariates_are_told_of(data):
    with pytest.warns(UserWarning, match="10 of 120 rows are dropped: missing values in 'z'"):
        res = tg.fit("mvbind(y1, y2) ~ z | censor(l1, l2)", data.assign(z=data["z"].mask(data.index < 10)))
    assert res.counts["dropped"] == data[["y1", "y2"]].head(10).notna().sum().sum()


@pytest.mark.slow
def test_new_rows_need_no_weights(data):
    res = tg.fit("mvbind(y1, y2) ~ z | censor(l1, l2)", data.assign(w=2.0), weights="w")
    new = data.drop(columns="y2").head(3)
    assert res.predict(new).shape == (3, 2)
    assert res.impute(new).notna().all(axis=None)
    assert res.impute(new.head(0)).shape == (0, 2)


# -- formulas and refusals --------------------------------------------------------------------------------------------


def test_the_formula_of_the_stack():
    wide = read_wide("mvbind(a, log(b)) ~ z + gp(x) + (1 | g) | censor(la, None)", "~ z + gp(x)", rescor=True)
    assert wide.labels == ("a", "log(b)")
    assert wide.formulas == ("a ~ 1 | censor(la)", "log(b) ~ 1")
    assert wide.linear == "a ~ 1 + z"
    assert wide.stacked(1) == (
        "interval(response_lower, response_upper) ~ 0 + C(response) + C(response):(column0)"
        " + gp(x, by=response, cor=True, name='gp(x)') + (0 + C(response) | g) + (0 + C(response) | unit)"
    )
    assert (
        wide.stacked_scale(1)
        == "~ C(response) + C(response):(scale_column0) + gp(x, by=response, cor=True, name='gp(x)')"
    )


@pytest.mark.parametrize(
    ("formula", "words"),
    [
        ("mvbind(y1) ~ z", "two responses or more"),
        ("mvbind(y1, y1) ~ z", "occurs twice"),
        ("mvbind(y1, y2) + 1 ~ z", "must be the whole response"),
        ("mvbind(y1, y2) ~ z | censor(l1)", "one lower limit for each of 2 responses"),
        ("mvbind(y1, y2) ~ z | censor(y9=l1)", "no response 'y9'"),
        ("mvbind(y1, y2) ~ z | truncate(0)", "write one censor"),
        ("mvbind(y1, y2) ~ z | censor(l1, None, y1=l1)", "has a limit already"),
        ("mvbind(y1, y2) ~ (1 + z - x | g)", "taken away"),
        ("mvbind(y1, y2) ~", "missing right"),
        ("mvbind(y1, y2) ~ 0", "Nothing is left"),
        ("mvbind(y1, y2) ~ gp(x, by=g)", "Stack the rows"),
        ("mvbind(y1, y2) ~ .", "Write columns out"),
        ("mvbind(y1, y2) ~ (1 | unit)", "such as 'unit'"),
        ("mvbind(y1, y2) ~ nowhere", "no column 'nowhere'"),
    ],
)
def test_what_cannot_be_read_is_refused(data, formula, words):
    with pytest.raises(FormulaError, match=words):
        tg.fit(formula, data)


def test_what_does_not_go_is_refused(data, res):
    with pytest.raises(SpecError, match="mvbind"):
        tg.fit("y1 ~ z", data, rescor=True)
    with pytest.raises(SpecError, match="gaussian or lognormal"):
        tg.fit("mvbind(y1, y2) ~ z", data, rescor=True, family="student")
    with pytest.raises(SpecError, match="each response separately"):
        tg.fit("mvbind(y1, y2) ~ z", data, method="mle")
    with pytest.raises(SpecError, match="fixed="):
        tg.fit("mvbind(y1, y2) ~ z", data, fixed={"sigma": 1.0})
    with pytest.raises(DataError, match="y1 has no value"):
        tg.fit("mvbind(y1, y2) ~ z", data.assign(y1=np.nan))
    with pytest.raises(SpecError, match="what='cured' is not supported"):
        res.predict(what="cured")
    with pytest.raises(SpecError, match="choose one of 'y1', 'y2', 'y3'"):
        res.predict(response="y4")
    with pytest.raises(SpecError, match="Give response="):
        res.write_curves("curves.csv")
    with pytest.raises(DataError, match="lack the column 'z'"):
        res.predict(pd.DataFrame({"x": [0.5]}))
    with pytest.raises(SpecError, match="other responses"):
        res.regression("y1", "y1")
    with pytest.raises(SpecError, match="other responses"):
        res.regression("y1", ["y2", "y2"])
    with pytest.raises(DataError, match="'unit'"):
        tg.fit("mvbind(y1, y2) ~ z", data.assign(unit=1.0), weights="unit")
    with pytest.raises(SpecError, match="other responses"):
        res.regression("y1", [])
    with pytest.raises(SpecError, match="True or False"):
        tg.fit("mvbind(y1, y2) ~ z", data, rescor="yes")
    with pytest.raises(SpecError, match="rescor=True"):
        tg.fit("mvbind(y1, y2) ~ z", data.assign(w=1.0), rescor=True, weights="w")
    with pytest.raises(SpecError, match="names a column"):
        tg.fit("mvbind(y1, y2) ~ z", data, weights=np.ones(len(data)))
    with pytest.raises(SpecError, match="is also a term"):
        tg.fit("mvbind(y1, y2) ~ y2", data)
    with pytest.raises(DataError, match="has no uncensored value"):
        tg.fit("mvbind(y1, y2) ~ z | censor(l1, None)", data.assign(y1=data["l1"]))
    with pytest.raises(FormulaError, match="Leave out '0"):
        tg.fit("mvbind(y1, y2) ~ z", data, sigma="~ 0 + z")


@pytest.mark.slow
def test_curves_in_the_noise_of_each(data):
    res = tg.fit("mvbind(y1, y2) ~ gp(x) | censor(l1, l2)", data, sigma="~ gp(x)", method=tg.EP(hyper="maximize"))
    assert {"sd(sigma: gp(x))[y1]", "cor(sigma: gp(x))[y1, y2]", "sd(gp(x))[y2]"} <= set(res.params.index)
    scaled = tg.fit(
        "mvbind(y1, y2) ~ gp(x) | censor(l1, l2)",
        data.assign(y1=1e3 * data["y1"], l1=1e3 * data["l1"]),
        sigma="~ gp(x)",
        method=tg.EP(hyper="maximize"),
    )
    for name, factor in (("sd(sigma: gp(x))[y1]", 1.0), ("sd(gp(x))[y1]", 1e3), ("sigma[y1]", 1e3)):
        assert scaled.params[name] == pytest.approx(factor * res.params[name], rel=1e-3)


@pytest.mark.slow
def test_labels_of_rows_and_no_rows_matter_to_no_answer(data):
    res = tg.fit("mvbind(y1, y2) ~ gp(x) | censor(l1, l2)", data.set_index(np.zeros(len(data), dtype=int)))
    assert len(res.plot()) == 2
    assert res.sample(data.head(0), 3).shape == (3, 0, 2)
    with pytest.raises(SpecError, match=r"This model has 'gp\(x\)'\."):
        res.predict(data.head(2), exclude="re(g)")
    with pytest.raises(SpecError, match="id= requires one response"):
        tg.fit("mvbind(y1, y2) ~ z", data, id="g")
