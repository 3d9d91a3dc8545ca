"""A formula of log sigma under a posterior, against densities, integrals and fits that know nothing of it."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.special import gamma, logsumexp
from support.cluster import local_client
from support.differences import derivative
from support.methods import having
from support.oracles import exact_evidence, gp_regression
from support.problems import GAUSSIAN, make_rows

import tobitgp as tg
from tobitgp.data.arrays import Instrument
from tobitgp.errors import DataError, SpecError
from tobitgp.likelihoods.censoring_noise import Spread
from tobitgp.likelihoods.expectations import CrossEntropy, DrawnMeans

pytestmark = pytest.mark.diagonal

METHODS = ["ep", "vi", "laplace"]
CURVE = {"sd(gp(x))": 0.9, "lengthscale(gp(x))": 0.25}
SCALE = {"log(sigma)[z]": 0.2, "sigma": 0.3}
AT = CURVE | SCALE
N = 48


def made(n=N, seed=4):
    rng = np.random.default_rng(seed)
    data = pd.DataFrame({"x": np.sort(rng.uniform(size=n)), "z": rng.normal(2.0, 3.0, n), "m": rng.normal(0, 0.3, n)})
    data["v"], data["g"] = rng.integers(1, 5, n) * 0.5, np.resize(list("abc"), n)
    data["u"] = rng.integers(0, 12, n).astype(str)
    data["w"] = np.resize([1.0, 2.0, 1.0, 3.0], n)
    data["full"] = np.sin(6 * data["x"]) + 0.2 * np.exp(0.2 * data["z"]) * rng.normal(size=n)
    data["y"] = data["full"].clip(lower=-0.4)
    kind = np.arange(n) % 4
    data["lo"] = np.where(kind == 1, -np.inf, data["full"] - 0.4 * (kind == 3))
    data["hi"] = np.where(kind == 2, np.inf, data["full"] + 0.4 * (kind == 3))
    data["inside"] = data["full"].clip(-1.4, 2.4)
    data["t"] = np.exp(data["full"].clip(upper=0.9))
    data["died"] = (data["full"] < 0.9).astype(int)
    data["entry"] = data["t"] * 0.4
    data["one"] = 1.0
    return data


@pytest.fixture(scope="module")
def data():
    return made()


def noise(at, data, column="z", rows=None):
    """Standard deviation of the noise of every row, or of others, from the mean of the column."""
    rows = data if rows is None else rows
    return (at["sigma"] * np.exp(at[f"log(sigma)[{column}]"] * (rows[column] - data[column].mean()))).to_numpy()


def kernel(a, b, at):
    """Covariance of the curve."""
    steps = (np.subtract.outer(np.asarray(a), np.asarray(b))) / at["lengthscale(gp(x))"]
    return at["sd(gp(x))"] ** 2 * np.exp(-0.5 * steps**2)


# -- derivatives ------------------------------------------------------------------------------------------------------

LEFT, SPANS = "y ~ m + gp(x, line=False) | censor(-0.4)", "interval(lo, hi) ~ m + gp(x, line=False)"
WINDOW, LATE = "inside ~ m + gp(x, line=False) | truncate(-1.5, 2.5)", "Surv(entry, t, died) ~ m + gp(x, line=False)"
CASES = [
    *((formula, "gaussian", method, "~ z", {}) for formula in (LEFT, SPANS, WINDOW) for method in METHODS),
    *((LEFT, "student", method, "~ z", {}) for method in METHODS),
    *(pytest.param(SPANS, "student", method, "~ z", {}, marks=pytest.mark.slow) for method in METHODS),
    *(pytest.param(LATE, "weibull", method, "~ z", {}, marks=pytest.mark.slow) for method in METHODS[:2]),
    (LATE, "weibull", "laplace", "~ z", {}),
    *((LEFT, "gaussian", method, "~ z + g + offset(m)", {"var_weights": "v", "weights": "w"}) for method in METHODS),
    pytest.param(SPANS, "student", "ep", "~ z + offset(m)", {"weights": "w"}, marks=pytest.mark.slow),
    (LEFT, "logistic", "ep", "~ z", {"weights": "w"}),
    *((LEFT, "gaussian", tg.VI(bound=bound), "~ z", {"weights": "w"}) for bound in ("monte_carlo", "karlova")),
    ("y ~ m + re(g) | censor(-0.4)", "gaussian", "ep", "~ z + x", {}),
    ("y ~ m | censor(-0.4)", "gaussian", "laplace", "~ z", {"var_weights": "v"}),
    ("y ~ gp(x, kernel='matern32', approximation='markov') | censor(-0.4)", "gaussian", "ep", "~ z", {}),
    ("y ~ gp(x, kernel='matern32', approximation='markov') | censor(-0.4)", "student", "laplace", "~ z", {}),
    ("y ~ gp(x, m, kernel='matern32', approximation='vecchia') | censor(-0.4)", "gaussian", "ep", "~ z", {}),
    ("y ~ m + gp(x, line=False) + re(g) + re(u) | censor(-0.4)", "gaussian", "ep", "~ z", {}),
    ("y ~ m + re(g) + re(u) | censor(-0.4)", "student", "laplace", "~ z", {}),
    ("y ~ m + gp(x, by=g) | censor(-0.4)", "gaussian", "vi", "~ z", {}),
    ("y ~ gp(x, by=g, cor=True) | censor(-0.4)", "gaussian", "ep", "~ z", {}),
    ("y ~ (1 + m | u) | censor(-0.4)", "gaussian", "ep", "~ z", {}),
    ("y ~ C(u) + gp(x, line=False) | censor(-0.4)", "gaussian", "ep", "~ z + g", {}),
]
VALUES = {
    **AT,
    "sd(re(g))": 0.3,
    "sd(gp(x, m))": 0.9,
    "lengthscale(gp(x, m))[x]": 0.3,
    "lengthscale(gp(x, m))[m]": 0.6,
    "sd(re(u))": 0.4,
    "sd(gp(x, by=g))": 0.8,
    "lengthscale(gp(x, by=g))": 0.3,
    **{f"sd(gp(x, by=g))[{level}]": 0.7 for level in "abc"},
    "cor(gp(x, by=g))[a, b]": 0.3,
    "cor(gp(x, by=g))[a, c]": 0.2,
    "cor(gp(x, by=g))[b, c]": 0.4,
    "sd(re(u))[m]": 0.2,
    "cor(re(u))[Intercept, m]": 0.3,
    "df": 5.0,
    "log(sigma)[x]": -0.4,
    "log(sigma)[g[T.b]]": 0.3,
    "log(sigma)[g[T.c]]": -0.2,
}


@pytest.mark.filterwarnings("ignore:bound='karlova' is not a bound")
@pytest.mark.parametrize(("formula", "family", "method", "sigma", "options"), CASES)
@pytest.mark.slow_cases(
    "inside ~ m + gp(x, line=False) | truncate(-1.5, 2.5)-gaussian-ep-~ z-options6",
    "Surv(entry, t, died) ~ m + gp(x, line=False)-weibull-laplace-~ z-options17",
    "y ~ m + re(g) + re(u) | censor(-0.4)-student-laplace-~ z-options31",
)
def test_derivatives_are_those_of_the_value(data, formula, family, method, sigma, options):
    settings = {"inducing": None} if "gp(x, line=False)" in formula else {}
    how = {"method": having(method, **settings)}
    model = tg.Model(formula, data, family=family, sigma=sigma, **options)
    names = list(model.fit(fixed=known(model, VALUES), **how).hyperparameters)
    at = {name: VALUES[name] for name in names}
    value, _, gradient = model.evidence(at, **how)
    assert list(gradient.index) == names
    assert value == pytest.approx(model.fit(fixed=at, **how).log_evidence, abs=1e-12)
    for name in names:

        def moved(s, name=name):
            return model.evidence({**at, name: at[name] + s}, gradient=False, **how).value

        expected = derivative(moved, 0.0, 1e-3 * abs(at[name]))
        assert gradient[name] == pytest.approx(expected, rel=2e-5, abs=2e-5), name


def known(model, values):
    """The values of the hyper-parameters that a model has."""
    with pytest.raises(SpecError) as caught:
        model.evidence({})
    text = str(caught.value)
    return {name: value for name, value in values.items() if f"'{name}'" in text}


# -- evidence ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_without_censoring_it_is_the_density_of_a_normal_vector(data, method):
    priors = {"Intercept": tg.Normal(0.1, 2.0), "m": tg.Normal(-0.2, 1.5)}
    model = tg.Model("full ~ m + gp(x, line=False)", data, sigma="~ z")
    found = model.evidence(AT, method=having(method, inducing=None), priors=priors).value
    H = np.column_stack([np.ones(N), data["m"]])
    S = kernel(data["x"], data["x"], AT) + H @ np.diag([4.0, 2.25]) @ H.T + np.diag(noise(AT, data) ** 2)
    expected = stats.multivariate_normal(H @ [0.1, -0.2], S).logpdf(data["full"])
    assert found == pytest.approx(expected, abs=1e-5)


def test_offsets_variance_weights_and_columns_of_the_scale_multiply(data):
    coefficients = {"log(sigma)[z]": 0.1, "log(sigma)[g[T.b]]": 0.4, "log(sigma)[g[T.c]]": -0.3}
    model = tg.Model("full ~ 0 + gp(x, line=False)", data, sigma="~ z + g + offset(m)", var_weights="v")
    found = model.evidence({**CURVE, **coefficients, "sigma": 0.3}, method=tg.EP(inducing=None)).value
    columns = np.column_stack([data["z"], data["g"] == "b", data["g"] == "c"]).astype(float)
    log_sd = np.log(0.3) + (columns - columns.mean(axis=0)) @ [*coefficients.values()] + data["m"]
    variance = np.exp(2.0 * log_sd) * data["v"].mean() / data["v"]
    S = kernel(data["x"], data["x"], CURVE) + np.diag(variance)
    assert found == pytest.approx(stats.multivariate_normal(None, S).logpdf(data["full"]), abs=1e-5)


def test_of_censored_rows_it_is_near_the_exact_one(data):
    """Rows divided by their noise have one noise scale."""
    few = data.iloc[::3]
    sd, low = noise(AT, few), np.where(few["y"] > -0.4, few["y"], -np.inf)
    K = kernel(few["x"], few["x"], AT) / np.outer(sd, sd)
    expected, error, _, _ = exact_evidence(K, 1.0, low / sd, few["y"].to_numpy() / sd)
    expected -= np.log(sd[few["y"] > -0.4]).sum()
    assert error < 2e-3
    model = tg.Model("y ~ 0 + gp(x, line=False) | censor(-0.4)", few, sigma="~ z")
    assert model.evidence(AT, method=tg.EP(inducing=None)).value == pytest.approx(expected, abs=0.06)
    assert model.evidence(AT, method=tg.VI(inducing=None)).value < expected
    assert model.evidence({**AT, "log(sigma)[z]": 0.0}, method=tg.EP(inducing=None)).value < expected - 0.3


def log_likelihoods(data, formula, family, sd):
    """Of every row, written out, its mean 0.2 + 0.5 m."""
    mean = (0.2 + 0.5 * data["m"]).to_numpy()
    distribution = {"gaussian": stats.norm, "student": stats.t(5.0), "weibull": stats.gumbel_l}[family]

    def log_mass(low, high):
        with np.errstate(divide="ignore"):
            return np.log(distribution.cdf((high - mean) / sd) - distribution.cdf((low - mean) / sd))

    def log_density(y):
        return distribution.logpdf((y - mean) / sd) - np.log(sd)

    if formula.startswith("Surv"):
        log_t, entry = np.log(data["t"].to_numpy()), np.log(data["entry"].to_numpy())
        value = np.where(data["died"], log_density(log_t) - log_t, distribution.logsf((log_t - mean) / sd))
        return value - distribution.logsf((entry - mean) / sd)
    if formula.startswith("interval"):
        low, high = data["lo"].to_numpy(), data["hi"].to_numpy()
        exact = low == high
        return np.where(exact, log_density(np.where(exact, low, 0.0)), log_mass(low, high))
    if "truncate" in formula:
        return log_density(data["inside"].to_numpy()) - log_mass(np.full(len(sd), -1.5), np.full(len(sd), 2.5))
    y = data["y"].to_numpy()
    return np.where(y > -0.4, log_density(y), log_mass(np.full(len(sd), -np.inf), y))


LINEAR = [(formula.replace(" + gp(x, line=False)", ""), family) for formula, family in (
    (LEFT, "gaussian"),
    (SPANS, "gaussian"),
    (WINDOW, "gaussian"),
    (LEFT, "student"),
    (SPANS, "student"),
    (LATE, "weibull"),
)]  # fmt: skip
LINE = {"Intercept": 0.2, "m": 0.5}


@pytest.mark.parametrize(("formula", "family"), LINEAR)
@pytest.mark.parametrize("method", METHODS)
def test_of_a_known_mean_it_is_the_likelihood(data, formula, family, method):
    at = {**LINE, **SCALE, **({"df": 5.0} if family == "student" else {})}
    rows = log_likelihoods(data, formula, family, noise(SCALE, data))
    found = tg.Model(formula, data, family=family, sigma="~ z").evidence(at, method=method).value
    assert found == pytest.approx(rows.sum(), abs=1e-6)
    mean = np.average(data["z"], weights=data["w"])
    rows = log_likelihoods(data, formula, family, 0.3 * np.exp(0.2 * (data["z"].to_numpy() - mean)))
    weighted = tg.Model(formula, data, family=family, sigma="~ z", weights="w").evidence(at, method=method).value
    assert weighted == pytest.approx(data["w"] @ rows, abs=1e-6)


@pytest.mark.parametrize(
    "likelihood", [GAUSSIAN, DrawnMeans(GAUSSIAN, 7), CrossEntropy()], ids=["all", "some", "cross"]
)
def test_expectations_of_a_row_are_those_under_its_own_noise(likelihood):
    """Every one as if all rows had that noise."""
    lower, upper = np.array([-0.2, -np.inf, 0.4, 0.3]), np.array([-0.2, 0.5, 0.4, np.inf])
    mean, var, spread = np.array([0.1, -0.4, 0.9, 0.2]), np.array([0.3, 0.1, 0.8, 0.5]), np.array([0.5, 2.0, 1.5, 0.3])
    for kind in ([0, 2], [1, 3]):
        rows = make_rows(lower[kind], upper[kind])
        rows = replace(rows, instrument=Instrument(np.full(2, -0.5), np.full(2, 0.6), 1.0))
        found = Spread(likelihood).expected(replace(rows, spread=spread[kind]), mean[kind], var[kind], 0.4)
        for i in range(2):
            each = likelihood.expected(rows, mean[kind], var[kind], 0.4 * spread[kind][i])
            for ours, theirs in zip(found, each, strict=True):
                np.testing.assert_allclose(ours[..., i], theirs[..., i], rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_a_known_coefficient_stands_for_variance_weights(data, method):
    frame = data.assign(l=np.log(data["v"]))
    s = 0.3 * np.sqrt(data["v"].mean()) * np.exp(-0.5 * frame["l"].mean())
    how = {"method": having(method, inducing=None)}
    weighted = tg.fit(LEFT, frame, var_weights="v", fixed={**CURVE, "sigma": 0.3}, **how)
    modelled = tg.fit(LEFT, frame, sigma="~ l", fixed={**CURVE, "log(sigma)[l]": -0.5, "sigma": s}, **how)
    assert modelled.log_evidence == pytest.approx(weighted.log_evidence, abs=1e-9)
    assert modelled.elbo == pytest.approx(weighted.elbo, abs=1e-9)
    linear = ["Intercept", "m"]
    np.testing.assert_allclose(modelled.params[linear], weighted.params[linear], atol=1e-8)
    np.testing.assert_allclose(modelled.bse[linear], weighted.bse[linear], atol=1e-8)
    new = frame.iloc[[3, 11, 30]].assign(v=[0.5, 2.0, 4.0], l=np.log([0.5, 2.0, 4.0]))
    for options in ({"what": "quantile", "q": [0.1, 0.9]}, {"what": "observed", "interval": 0.9}):
        np.testing.assert_allclose(modelled.predict(new, **options), weighted.predict(new, **options), atol=1e-7)
    np.testing.assert_allclose(modelled.residuals(), weighted.residuals(), atol=1e-7)
    np.testing.assert_allclose(modelled.loo().pointwise["elpd"], weighted.loo().pointwise["elpd"], atol=1e-7)


@pytest.mark.slow
def test_frequency_weights_are_copies(data):
    copies = data.loc[data.index.repeat(data["w"].astype(int))]
    how = {
        "sigma": "~ z",
        "method": tg.EP(hyper="maximize"),
        "fixed": {"lengthscale(gp(x))": 0.5},
    }  # curves may go through copies
    weighted, copied = tg.fit(LEFT, data, weights="w", **how), tg.fit(LEFT, copies, **how)
    assert weighted.log_evidence == pytest.approx(copied.log_evidence, abs=1e-4)
    np.testing.assert_allclose(weighted.params, copied.params, rtol=2e-3, atol=1e-3)


# -- estimates --------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("hyper", ["maximize", "integrate"])
def test_the_unit_of_a_column_does_not_matter(data, hyper):
    frame = data.assign(u=1e4 - 250.0 * data["z"])
    first, second = (
        tg.fit(LEFT, frame, sigma=sigma, method=tg.EP(hyper=hyper, inducing=None)) for sigma in ("~ z", "~ u")
    )
    assert second.log_evidence == pytest.approx(first.log_evidence, abs=1e-3)
    assert second.log_evidence_integrated == pytest.approx(first.log_evidence_integrated, abs=1e-3, nan_ok=True)
    scale = np.where(first.params.index == "log(sigma)[z]", -250.0, 1.0)
    assert (np.abs(second.params.to_numpy() * scale - first.params) < 5e-3 * first.bse).all()
    np.testing.assert_allclose(second.bse * np.abs(scale), first.bse, rtol=5e-3)
    new = frame.iloc[::9]
    np.testing.assert_allclose(
        second.predict(new, "quantile", q=[0.05, 0.5]), first.predict(new, "quantile", q=[0.05, 0.5]), atol=1e-3
    )


FLAT = [*LINEAR[:3], *LINEAR[5:]]


@pytest.mark.parametrize(("formula", "family"), FLAT)
@pytest.mark.parametrize("method", METHODS)
def test_without_priors_and_with_a_known_mean_the_mode_is_that_of_maximum_likelihood(data, formula, family, method):
    likely = tg.fit(formula, data, family=family, sigma="~ z", method="mle")
    fixed = likely.params[["Intercept", "m"]].to_dict()
    res = tg.fit(
        formula, data, family=family, sigma="~ z", method=having(method, hyper="maximize"), fixed=fixed, priors={}
    )
    slope = likely.params["log(sigma)[z]"]
    sigma = np.exp(likely.params["log(sigma)[Intercept]"] + slope * data["z"].mean())
    assert res.log_evidence == pytest.approx(likely.llf, abs=1e-5)
    assert abs(res.params["log(sigma)[z]"] - slope) < 2e-3 * res.bse["log(sigma)[z]"]
    assert abs(res.params["sigma"] - sigma) < 2e-3 * res.bse["sigma"]


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_many_rows_without_a_process_agree_with_maximum_likelihood(method):
    data = made(2500, seed=8)
    likely = tg.fit("y ~ x + m | censor(-0.4)", data, sigma="~ z + m")
    res = tg.fit("y ~ x + m | censor(-0.4)", data, sigma="~ z + m", method=having(method, hyper="integrate"), priors={})
    names = ["x", "m", "log(sigma)[z]", "log(sigma)[m]"]
    assert (np.abs(res.params[names] - likely.params[names]) < 0.06 * likely.bse[names]).all()
    np.testing.assert_allclose(res.bse[names], likely.bse[names], rtol=0.02)


@pytest.mark.slow
@pytest.mark.parametrize("prior", [None, tg.Normal(-0.3, 0.05)])
def test_at_the_maximum_the_prior_holds_the_likelihood(data, prior):
    """The default is normal(0, 1 / sd of the column)."""
    priors = None if prior is None else {"log(sigma)[z]": prior}
    res = tg.fit(LEFT, data, sigma="~ z", method=tg.EP(hyper="maximize", inducing=None), priors=priors)
    gradient = tg.Model(LEFT, data, sigma="~ z").evidence(res.hyperparameters, method=tg.EP(inducing=None)).gradient
    mean, sd = (0.0, 1.0 / data["z"].std(ddof=0)) if prior is None else (prior.mean, prior.sd)
    pull = (res.params["log(sigma)[z]"] - mean) / sd**2
    assert abs(pull) > 0.2
    assert gradient["log(sigma)[z]"] == pytest.approx(pull, abs=2e-3 / sd)
    shown = f"normal({mean:.3g}, {sd:.3g})"
    assert shown in str(res.summary())


@pytest.mark.slow
def test_the_evidence_without_hyper_parameters_is_an_integral(data):
    """On a grid of the coefficient and of log sigma, whose default prior has the median of a tenth of the response."""
    prior, formula = {"log(sigma)[z]": tg.Normal(0.1, 0.2), "sigma": tg.LogNormal(0.4, 0.6)}, "y ~ m | censor(-0.4)"
    res = tg.fit(formula, data, sigma="~ z", fixed=LINE, priors=prior, method=tg.EP(hyper="integrate"))
    a, b = np.linspace(-0.3, 0.6, 46), np.linspace(np.log(0.1), np.log(2.0), 46)
    z = (data["z"] - data["z"].mean()).to_numpy()
    log_p = np.array([[log_likelihoods(data, formula, "gaussian", np.exp(t + s * z)).sum() for t in b] for s in a])
    log_p += stats.norm(0.1, 0.2).logpdf(a)[:, None] + stats.norm(np.log(0.4), 0.6).logpdf(b)
    log_p += np.log((a[1] - a[0]) * (b[1] - b[0]))
    total = logsumexp(log_p)
    weight = np.exp(log_p - total)
    mean = float(weight.sum(axis=1) @ a)
    sd = float(np.sqrt(weight.sum(axis=1) @ (a - mean) ** 2))
    assert res.log_evidence_integrated == pytest.approx(total, abs=0.05)
    assert res.bse["log(sigma)[z]"] == pytest.approx(sd, rel=0.05)
    interval = res.conf_int().loc["log(sigma)[z]"].to_numpy(dtype=float)
    assert interval.mean() == pytest.approx(mean, abs=0.15 * sd)


@pytest.mark.slow
def test_a_scale_that_varies_is_found():
    data = made(300, seed=2)
    res = tg.fit(LEFT, data, sigma="~ z")
    assert res.params["log(sigma)[z]"] == pytest.approx(0.2, abs=3.0 * res.bse["log(sigma)[z]"])
    assert 0.005 < res.bse["log(sigma)[z]"] < 0.03
    assert tg.fit(LEFT, data).log_evidence < res.log_evidence - 20.0
    assert "~ z" in str(res.summary())


def test_a_formula_of_a_constant_changes_nothing(data):
    plain, constant = (tg.fit(LEFT, data, method=tg.EP(hyper="maximize"), sigma=sigma) for sigma in (None, "~ 1"))
    assert constant.log_evidence == pytest.approx(plain.log_evidence, abs=1e-10)
    assert list(constant.params.index) == list(plain.params.index)


@pytest.mark.parametrize("kernel", ["matern12", "matern32", "matern52"])
def test_a_chain_gives_the_numbers_of_dense_features(data, kernel):
    def fit(more="", **options):
        return tg.fit(f"y ~ gp(x, kernel='{kernel}'{more}) | censor(-0.4)", data, sigma="~ z", **options)

    chain = fit(", approximation='markov'", method=tg.EP(hyper="maximize"))
    dense = fit(fixed=chain.hyperparameters, method=tg.EP(inducing=None))
    assert chain.log_evidence == pytest.approx(dense.log_evidence, abs=1e-5)
    new = data.iloc[::7].assign(z=np.linspace(-4, 8, 7))
    np.testing.assert_allclose(
        chain.predict(new, "quantile", q=[0.1, 0.9]), dense.predict(new, "quantile", q=[0.1, 0.9]), atol=1e-4
    )


def test_the_compiled_core_changes_nothing(data, monkeypatch):
    from tobitgp.compiled import library

    formula = "y ~ m + gp(x, kernel='matern32', approximation='markov') + re(g) | censor(-0.4)"
    at = {**AT, "sd(re(g))": 0.3}
    fast = [tg.Model(f, data, sigma="~ z").evidence(v) for f, v in ((LEFT, AT), (formula, at))]
    monkeypatch.setattr(library, "load", lambda: None)
    slow = [tg.Model(f, data, sigma="~ z").evidence(v) for f, v in ((LEFT, AT), (formula, at))]
    for one, other in zip(fast, slow, strict=True):
        assert one.value == pytest.approx(other.value, abs=1e-9)
        np.testing.assert_allclose(one.gradient, other.gradient, rtol=1e-7, atol=1e-7)


# -- predictions ------------------------------------------------------------------------------------------------------


def regression(data, new, at):
    """Mean and sd of the curve at new rows, and the sd of the noise there, from values seen in full."""
    K, K_new = kernel(data["x"], data["x"], at), kernel(new["x"], data["x"], at)
    variance, k_new = noise(at, data) ** 2, np.full(len(new), at["sd(gp(x))"] ** 2)
    _, mean, sd = gp_regression(K, data["full"].to_numpy(), variance, K_new, k_new)
    return mean, sd, noise(at, data, rows=new)


def some_rows(data):
    return data.iloc[[2, 9, 20, 33, 41]].assign(z=[-6.0, 0.0, 2.0, 5.0, 9.0], x=[0.05, 0.3, 0.5, 0.77, 1.1])


@pytest.mark.parametrize("method", METHODS)
def test_new_rows_have_their_own_noise(data, method):
    new = some_rows(data)
    res = tg.fit("full ~ 0 + gp(x, line=False)", data, sigma="~ z", fixed=AT, method=having(method, inducing=None))
    mean, sd, own = regression(data, new, AT)
    total = np.hypot(sd, own)
    found = res.predict(new, "quantile", q=[0.05, 0.5, 0.9])
    np.testing.assert_allclose(found, mean[:, None] + total[:, None] * stats.norm.ppf([0.05, 0.5, 0.9]), atol=1e-5)
    below = res.predict(new, "prob", below=[0.0, 0.7])
    np.testing.assert_allclose(
        below, stats.norm.cdf((np.array([0.0, 0.7]) - mean[:, None]) / total[:, None]), atol=1e-5
    )
    latent = res.predict(new, "latent", se=True)
    np.testing.assert_allclose(latent, np.column_stack([mean, sd]), atol=1e-5)
    obs = res.get_prediction(new).conf_int(obs=True, alpha=0.1)
    np.testing.assert_allclose(obs, mean[:, None] + total[:, None] * stats.norm.ppf([0.05, 0.95]), atol=1e-5)
    exact = data["full"].to_numpy()
    mean, sd, own = regression(data, data, AT)
    np.testing.assert_allclose(res.residuals(), (exact - mean) / np.hypot(sd, own), atol=1e-4)


def test_clipped_means_have_their_own_noise(data):
    new = some_rows(data)
    with pytest.warns(UserWarning, match="No row is censored"):
        res = tg.fit(
            "full ~ 0 + gp(x, line=False) | censor(low)",
            data.assign(low=-9.0),
            sigma="~ z",
            fixed=AT,
            method=tg.EP(inducing=None),
        )
    mean, sd, own = regression(data, new, AT)
    s, low = np.hypot(sd, own), 0.3
    a = (low - mean) / s
    expected = low * stats.norm.cdf(a) + mean * stats.norm.sf(a) + s * stats.norm.pdf(a)
    np.testing.assert_allclose(res.predict(new.assign(low=low), "observed"), expected, atol=1e-5)


@pytest.mark.slow
def test_averaged_hyper_parameters_give_a_mixture(data):
    new = some_rows(data)
    res = tg.fit("full ~ 0 + gp(x, line=False)", data, sigma="~ z", method=tg.EP(hyper="integrate", inducing=None))
    fitted = res.parts.fitted
    assert len(fitted.points) > 5
    points = [dict(zip(fitted.parameters.names, fitted.parameters.values(p.theta), strict=True)) for p in fitted.points]
    assert np.ptp([at["log(sigma)[z]"] for at in points]) > 0.05
    for limit in (-0.2, 0.4):
        parts = [stats.norm.cdf((limit - m) / np.hypot(s, t)) for m, s, t in (regression(data, new, p) for p in points)]
        expected = fitted.weights @ np.array(parts)
        np.testing.assert_allclose(res.predict(new, "prob", below=limit), expected, atol=2e-5)
    medians = res.predict(new, "quantile", q=0.3).to_numpy()
    parts = [stats.norm.cdf((medians - m) / np.hypot(s, t)) for m, s, t in (regression(data, new, p) for p in points)]
    np.testing.assert_allclose(fitted.weights @ np.array(parts), 0.3, atol=1e-4)


@pytest.mark.parametrize("method", METHODS)
def test_survival_curves_have_the_shape_of_their_row(data, method):
    """Of Weibull times: ``exp(-(t / lambda) ** (1 / sigma))``."""
    formula = LATE.replace(" + gp(x, line=False)", "")
    res = tg.fit(formula, data, family="weibull", sigma="~ z", fixed={**LINE, **SCALE}, method=method)
    new, times = some_rows(data), np.array([0.2, 1.0, 2.5])
    scale, shape = np.exp(0.2 + 0.5 * new["m"].to_numpy()), 1.0 / noise(SCALE, data, rows=new)
    hazard = (times[:, None] / scale) ** shape
    np.testing.assert_allclose(res.predict_survival_function(new, times=times), np.exp(-hazard), rtol=1e-7)
    np.testing.assert_allclose(res.predict_cumulative_hazard(new, times=times), hazard, rtol=1e-7)
    np.testing.assert_allclose(res.predict_hazard(new, times=times), shape * hazard / times[:, None], rtol=1e-6)
    np.testing.assert_allclose(res.predict_median(new), scale * np.log(2.0) ** (1.0 / shape), rtol=1e-7)
    np.testing.assert_allclose(res.predict_expectation(new), scale * gamma(1.0 + 1.0 / shape), rtol=1e-6)
    np.testing.assert_allclose(res.predict_percentile(new, p=0.9), scale * (-np.log(0.9)) ** (1 / shape), rtol=1e-7)


@pytest.mark.slow
def test_marginal_effects_follow_the_scale(data):
    res = tg.fit("y ~ m + z + gp(x, line=False) | censor(-0.4)", data, sigma="~ z", method=tg.EP(hyper="maximize"))
    for question in ({"what": "observed"}, {"what": "prob", "below": 0.3}):
        effects, h = res.marginal_effects(**question), 1e-4
        for name in ("z", "m", "x"):
            high, low = (res.predict(data.assign(**{name: data[name] + s}), **question).mean() for s in (h, -h))
            assert effects.loc[name, "dydx"].item() == pytest.approx((high - low) / (2 * h), rel=1e-3, abs=1e-6)


@pytest.mark.parametrize("method", METHODS)
def test_leave_one_out_is_the_closed_form(data, method):
    res = tg.fit("full ~ 0 + gp(x, line=False)", data, sigma="~ z", fixed=AT, method=having(method, inducing=None))
    P = np.linalg.inv(kernel(data["x"], data["x"], AT) + np.diag(noise(AT, data) ** 2))
    expected = stats.norm(0.0, np.diag(P) ** -0.5).logpdf(P @ data["full"] / np.diag(P))
    np.testing.assert_allclose(res.loo(method="ep").pointwise["elpd"], expected, atol=1e-5)


def test_leave_one_out_of_censored_rows_is_that_of_fits_without_them(data):
    res = tg.fit("y ~ 0 + gp(x, line=False) | censor(-0.4)", data, sigma="~ z", fixed=AT, method=tg.EP(inducing=None))
    found = res.loo(method="ep").pointwise["elpd"].to_numpy()
    sd = noise(AT, data)
    for i in (3, 20, 40):
        shift = data["z"].mean() - data["z"].drop(i).mean()
        at = {**AT, "sigma": AT["sigma"] * np.exp(-0.2 * shift)}
        rest = tg.fit(
            "y ~ 0 + gp(x, line=False) | censor(-0.4)", data.drop(i), sigma="~ z", fixed=at, method=tg.EP(inducing=None)
        )
        mean, variance = (np.asarray(part).item() for part in rest.posterior(data.loc[[i]]))
        predictive = stats.norm(mean, np.hypot(np.sqrt(variance), sd[i]))
        expected = predictive.logpdf(data["y"][i]) if data["y"][i] > -0.4 else predictive.logcdf(-0.4)
        assert found[i] == pytest.approx(expected, abs=0.01)


def test_draws_have_the_noise_of_their_rows(data):
    new = some_rows(data)
    res = tg.fit("full ~ 0 + gp(x, line=False)", data, sigma="~ z", fixed=AT, method=tg.EP(inducing=None))
    mean, sd, own = regression(data, new, AT)
    drawn = res.sample(new, 20_000, what="uncensored", rng=1)
    assert (np.abs(drawn.mean(axis=1) - mean) < 5.0 * np.hypot(sd, own) / np.sqrt(20_000)).all()
    np.testing.assert_allclose(drawn.std(axis=1), np.hypot(sd, own), rtol=0.03)
    mean, sd, own = regression(data, data, AT)
    again = res.sample(draws=20_000, what="uncensored", rng=2)
    np.testing.assert_allclose(again.std(axis=1), np.hypot(sd, own), rtol=0.03)
    latent = res.sample(new, 20_000, what="latent", rng=3)
    np.testing.assert_allclose(latent.std(axis=1), regression(data, new, AT)[1], rtol=0.03)
    posterior = res.posterior(new)
    np.testing.assert_allclose(np.sqrt(np.diag(posterior.covariance)), regression(data, new, AT)[1], atol=1e-5)


@pytest.mark.parametrize(("formula", "family"), LINEAR)
def test_log_likelihoods_under_draws_are_those_of_the_rows(data, formula, family):
    at = {**LINE, **SCALE, **({"df": 5.0} if family == "student" else {})}
    res = tg.fit(formula, data, family=family, sigma="~ z", fixed=at, method="ep")
    drawn = res.log_likelihood_draws(3)
    expected = log_likelihoods(data, formula, family, noise(SCALE, data))
    np.testing.assert_allclose(drawn, np.broadcast_to(expected, drawn.shape), atol=1e-7)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("formula", ["full ~ m + gp(x, line=False)", "full ~ m"])
def test_without_censoring_the_posterior_is_exact(data, method, formula):
    found = tg.fit(formula, data, sigma="~ z", method=having(method, hyper="maximize")).k_hat()
    assert found.k == -np.inf


def test_weights_of_draws_are_those_of_the_joint_density(data):
    from tobitgp.numerics.sampling import smooth

    priors = {"Intercept": tg.Normal(0.0, 5.0), "m": tg.Normal(0.0, 5.0)}
    res = tg.fit("y ~ m | censor(-0.4)", data, sigma="~ z", method="laplace", fixed=SCALE, priors=priors)
    rng = np.random.default_rng(1)
    mean, V = res.params[["Intercept", "m"]].to_numpy(), res.cov_params().iloc[:2, :2].to_numpy()
    beta = rng.multivariate_normal(mean, V, size=40_000)
    f, y, sd = beta @ np.vstack([np.ones(N), data["m"]]), data["y"].to_numpy(), noise(SCALE, data)
    log_p = np.where(y > -0.4, stats.norm.logpdf(y, f, sd), stats.norm.logcdf(y, f, sd)).sum(axis=1)
    log_ratio = log_p - 0.5 * np.square(beta / 5.0).sum(axis=1) - stats.multivariate_normal(mean, V).logpdf(beta)
    assert res.k_hat(40_000).k == pytest.approx(smooth(log_ratio[None]).k[0], abs=0.08)


def test_bounds_are_compared_with_the_exact_posterior_of_these_rows(data):
    few = data.iloc[::3]
    res = tg.fit("y ~ 0 + gp(x, line=False) | censor(-0.4)", few, sigma="~ z", fixed=AT, method=tg.EP(inducing=None))
    table = tg.compare_bounds(res)
    sd, low = noise(AT, few), np.where(few["y"] > -0.4, few["y"], -np.inf)
    K = kernel(few["x"], few["x"], AT) / np.outer(sd, sd)
    expected = exact_evidence(K, 1.0, low / sd, few["y"].to_numpy() / sd)[0] - np.log(sd[few["y"] > -0.4]).sum()
    assert table.loc["exact", "value"] == pytest.approx(expected, abs=5e-3)
    assert table.loc["ep", "value"] == pytest.approx(res.log_evidence, abs=1e-6)


# -- files and partitions ---------------------------------------------------------------------------------------------


def assert_same_fit(there, here, new):
    assert there.log_evidence == pytest.approx(here.log_evidence, abs=1e-8)
    np.testing.assert_allclose(there.params, here.params, atol=1e-8)
    np.testing.assert_allclose(there.bse, here.bse, atol=1e-8)
    for options in ({"se": True}, {"what": "observed", "interval": 0.9}, {"what": "quantile", "q": [0.1, 0.9]}):
        np.testing.assert_allclose(there.predict(new, **options), here.predict(new, **options), atol=1e-7)


PARTED = "y ~ m + gp(x, line=False) + re(g) | censor(-0.4)"


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("sample", [500, 20_000])
def test_files_give_the_fit_of_memory(tmp_path, monkeypatch, method, sample):
    """Whether what is kept of them stays in memory or goes to disk."""
    pytest.importorskip("pyarrow")
    monkeypatch.setattr("tobitgp.inference.search.SAMPLE_ROWS", sample)
    data = made(1200, seed=6).astype({"g": str})
    options = {"sigma": "~ z + g + offset(m)", "method": having(method, hyper="maximize"), "var_weights": "v"}
    here = tg.fit(PARTED, data, **options)
    for i, rows in enumerate((slice(0, 351), slice(351, 700), slice(700, None))):
        data.iloc[rows].to_parquet(tmp_path / f"{i}.parquet")
    for limit in (None, 0):
        if limit is not None:
            monkeypatch.setattr("tobitgp.engines.partitions.LIMIT", limit)
        assert_same_fit(tg.fit(PARTED, tmp_path, **options), here, data.head(20))


@pytest.mark.slow
def test_a_cluster_gives_the_fit_of_memory(monkeypatch):
    """Sites and noise move on its workers; a partition may be empty."""
    dd = pytest.importorskip("dask.dataframe")
    monkeypatch.setattr("tobitgp.inference.search.SAMPLE_ROWS", 500)
    data = made(1200, seed=6).astype({"g": str, "u": str})
    options = {"sigma": "~ z + g + offset(m)", "method": tg.EP(hyper="maximize"), "var_weights": "v"}
    here = tg.fit(PARTED, data, **options)
    parts = dd.from_map(pd.DataFrame, [data.iloc[:0], data.iloc[:700], data.iloc[700:]], meta=data.iloc[:0])
    with local_client() as client:
        assert_same_fit(tg.fit(PARTED, parts, engine=client, **options), here, data.head(20))


def test_evidence_of_files_is_that_of_memory(data, tmp_path):
    pytest.importorskip("pyarrow")
    data.to_parquet(tmp_path / "rows.parquet")
    here = tg.Model(LEFT, data, sigma="~ z").evidence(AT)
    with tg.Model(LEFT, str(tmp_path / "rows.parquet"), sigma="~ z") as model:
        there = model.evidence(AT)
    assert there.value == pytest.approx(here.value, abs=1e-7)
    np.testing.assert_allclose(there.gradient, here.gradient, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("family", ["gaussian", pytest.param("student", marks=pytest.mark.slow)])
def test_a_search_by_a_sample_ends_at_the_maximum_of_all_rows(monkeypatch, family):
    data = made(900, seed=3)
    whole = tg.fit(LEFT, data, sigma="~ z", method=tg.EP(hyper="maximize"), family=family)
    monkeypatch.setattr("tobitgp.inference.search.SAMPLE_ROWS", 150)
    sampled = tg.fit(LEFT, data, sigma="~ z", method=tg.EP(hyper="maximize"), family=family)
    assert any("150 rows" in stage for stage in sampled.fit_history["stage"])
    assert sampled.log_evidence == pytest.approx(whole.log_evidence, abs=0.02)
    np.testing.assert_allclose(sampled.params, whole.params, rtol=0.02, atol=2e-3)


@pytest.mark.slow
def test_inducing_inputs_may_move(data):
    exact = tg.fit(LEFT, data, sigma="~ z", method=tg.EP(hyper="maximize", inducing=None))
    moved = tg.fit(LEFT, data, sigma="~ z", method=tg.EP(hyper="maximize", inducing=tg.Inducing(10)))
    assert moved.log_evidence == pytest.approx(exact.log_evidence, abs=0.1)
    assert moved.params["log(sigma)[z]"] == pytest.approx(exact.params["log(sigma)[z]"], abs=0.01)


# -- refusals ---------------------------------------------------------------------------------------------------------


def test_a_formula_without_an_intercept_goes_with_maximum_likelihood(data):
    for sigma in ("~ 0 + z", "~ z - 1", "~ 0 + g"):
        with pytest.raises(SpecError, match=r"without an intercept requires method='mle'.*Leave out '0 \+' or '- 1'"):
            tg.fit(LEFT, data, sigma=sigma)


def test_noises_of_the_sides_go_with_one_scale(data):
    with pytest.raises(SpecError, match="bound='local' require one noise scale"):
        tg.fit(LEFT, data, sigma="~ z", method=tg.VI(bound="local"))


def test_exponential_times_have_no_scale_to_model(data):
    for formula in ("t ~ gp(x, line=False)", "t ~ m"):
        with pytest.raises(SpecError, match=r"family='exponential' has sigma = 1, so sigma= cannot be used"):
            tg.fit(formula, data, sigma="~ z", family="exponential", method="ep")


@pytest.mark.parametrize("prior", [tg.LogNormal(1.0, 1.0), tg.LKJ(2.0), 3.0])
def test_a_coefficient_has_a_normal_prior(data, prior):
    with pytest.raises(SpecError, match=r"log\(sigma\)\[z\].*takes tg.Normal\(mean, sd\) or None"):
        tg.fit(LEFT, data, sigma="~ z", priors={"log(sigma)[z]": prior})
    with pytest.raises(SpecError, match=r"takes tg.LogNormal\(median, spread\), tg.Gamma"):
        tg.fit(LEFT, data, sigma="~ z", priors={"sigma": tg.Normal(0.0, 1.0)})


@pytest.mark.parametrize("value", ["much", np.nan, np.inf, None])
def test_a_coefficient_is_a_finite_number(data, value):
    for argument in ("fixed", "start"):
        with pytest.raises(SpecError, match=rf"{argument}={{'log\(sigma\)\[z\]': .*must be a finite number"):
            tg.fit(LEFT, data, sigma="~ z", **{argument: {"log(sigma)[z]": value}})
    with pytest.raises(SpecError, match="finite number"):
        tg.Model(LEFT, data, sigma="~ z").evidence({**AT, "log(sigma)[z]": value})


def test_names_that_are_none_are_refused(data):
    for argument in ("fixed", "start"):
        with pytest.raises(SpecError, match=r"Did you mean 'log\(sigma\)\[z\]'"):
            tg.fit(LEFT, data, sigma="~ z", **{argument: {"log(sigma)[Intercept]": 0.1}})
    with pytest.raises(SpecError, match=r"lacks 'log\(sigma\)\[z\]'"):
        tg.Model(LEFT, data, sigma="~ z").evidence({**CURVE, "sigma": 0.3})
    with pytest.raises(SpecError, match="names 'log"):
        tg.fit(LEFT, data, priors={"log(sigma)[z]": tg.Normal(0.0, 1.0)})


def test_columns_that_say_nothing_are_refused(data):
    for sigma, match in (("~ one", "constant"), ("~ z + I(2 * z)", "determined by 'z'")):
        with pytest.raises(DataError, match=match):
            tg.fit(LEFT, data, sigma=sigma)


def test_a_start_and_negative_values_are_taken(data):
    start = tg.fit(LEFT, data, sigma="~ z", method=tg.EP(hyper="maximize"), start={"log(sigma)[z]": -0.4})
    plain = tg.fit(LEFT, data, sigma="~ z", method=tg.EP(hyper="maximize"))
    assert start.log_evidence == pytest.approx(plain.log_evidence, abs=1e-4)
    held = tg.fit(LEFT, data, sigma="~ z", method=tg.EP(hyper="maximize"), fixed={"log(sigma)[z]": -0.4})
    assert held.params["log(sigma)[z]"] == pytest.approx(-0.4, abs=1e-12)
    assert held.log_evidence < plain.log_evidence
