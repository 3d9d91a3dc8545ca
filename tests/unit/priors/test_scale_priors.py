"""Priors of positive parameters (HYP13), against scipy's densities and posteriors written by hand."""

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad
from scipy.optimize import minimize

import tobitgp as tg
from tobitgp.errors import BoundaryWarning, SpecError

SCIPY = {
    "gamma": (tg.Gamma, (2.5, 3.0), stats.gamma(2.5, scale=1.0 / 3.0)),
    "inverse gamma": (tg.InverseGamma, (3.0, 2.0), stats.invgamma(3.0, scale=2.0)),
    "half-normal": (tg.HalfNormal, (0.7,), stats.halfnorm(scale=0.7)),
    "exponential": (tg.Exponential, (1.7,), stats.expon(scale=1.0 / 1.7)),
}
POWERS = {"sd": 1.0, "variance": 2.0, "precision": -2.0}
UPPER, LOWER, P = 1.5, 0.4, 0.1


def half_student(x):
    return np.log(2.0) + stats.t(3.0, scale=0.8).logpdf(x)


def by_scipy():
    """Each prior with its log density of the parameter itself, Jacobians by hand."""
    for make, numbers, known in SCIPY.values():
        for on, p in POWERS.items():
            yield make(*numbers, on=on), lambda v, p=p, k=known: k.logpdf(v**p) + np.log(abs(p)) + (p - 1) * np.log(v)
    for on, p in POWERS.items():
        density = lambda v, p=p: half_student(v**p) + np.log(abs(p)) + (p - 1.0) * np.log(v)  # noqa: E731
        yield tg.HalfStudent(3.0, 0.8, on=on), density
    yield tg.PC(upper=UPPER, probability=P), stats.expon(scale=-UPPER / np.log(P)).logpdf
    for d in (1, 3):
        rate = -np.log(P) * LOWER ** (0.5 * d)
        # Fuglstad and others (2019), theorem 2.6.
        yield (
            tg.PC(lower=LOWER, probability=P, inputs=d),
            lambda v, d=d, r=rate: np.log(0.5 * d * r) - (0.5 * d + 1.0) * np.log(v) - r * v ** (-0.5 * d),
        )
    yield tg.Beta(2.5, 1.5, lower=0.2, upper=3.0), stats.beta(2.5, 1.5, loc=0.2, scale=2.8).logpdf
    yield tg.Uniform(0.2, 3.0), stats.uniform(0.2, 2.8).logpdf


CASES = list(by_scipy())


@pytest.mark.parametrize(("prior", "density"), CASES, ids=lambda x: getattr(x, "_words", ""))
def test_densities_are_scipys_with_the_jacobian(prior, density):
    for value in (0.25, 0.9, 2.7):
        found, slope = prior._log_density(np.log(value))
        assert found == pytest.approx(density(value) + np.log(value), rel=1e-10, abs=1e-10)
        up, down = (prior._log_density(np.log(value) + step)[0] for step in (1e-5, -1e-5))
        assert slope == pytest.approx((up - down) / 2e-5, abs=1e-5)
    low, high = (min(max(end, 1e-8), 1e14) for end in prior._support)
    ends = np.log(low), np.log(high)
    mass = quad(lambda t: np.exp(prior._log_density(t)[0]), *ends, limit=400, points=(np.log(0.3), 0.0, np.log(2.9)))[0]
    assert mass == pytest.approx(1.0, abs=1e-5)
    for q in (0.1, 0.5, 0.8):
        end = np.log(prior._value_quantile(q))
        assert quad(lambda t: np.exp(prior._log_density(t)[0]), ends[0], end, limit=400)[0] == pytest.approx(
            q, abs=1e-5
        )


def test_tails_of_penalised_complexity_priors_are_those_asked_for():
    assert tg.PC(upper=UPPER, probability=P)._value_quantile(1.0 - P) == pytest.approx(UPPER, rel=1e-12)
    assert tg.PC(lower=LOWER, probability=P, inputs=2)._value_quantile(P) == pytest.approx(LOWER, rel=1e-12)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(3)
    x = np.sort(rng.uniform(0.0, 10.0, 40))
    return {"x": x, "y": 3.0 * np.sin(x) + rng.normal(size=40)}


NAMES = ["sd(gp(x))", "lengthscale(gp(x))", "sigma"]
FORMULA = "y ~ 0 + gp(x, line=False, approximation='dense')"
MAXIMUM = tg.EP(hyper="maximize")


def log_posterior(data, priors):
    """Exact log evidence of uncensored rows plus log densities of the priors, as a function of log parameters."""

    def value(theta):
        sd, lengthscale, sigma = np.exp(theta)
        x = data["x"]
        K = sd**2 * np.exp(-0.5 * ((x[:, None] - x) / lengthscale) ** 2) + sigma**2 * np.eye(len(x))
        evidence = stats.multivariate_normal(np.zeros(len(x)), K).logpdf(data["y"])
        return evidence + sum(density(np.exp(t)) + t for density, t in zip(priors, theta, strict=True))

    return value


def test_the_maximum_is_that_of_a_posterior_written_by_hand(data):
    given = [tg.HalfStudent(3.0, 0.8), tg.PC(lower=LOWER, probability=P, inputs=1), tg.Gamma(2.5, 3.0, on="precision")]
    own = log_posterior(data, [density for prior in given for known, density in CASES if known == prior])
    best = minimize(lambda t: -own(t), np.log([2.0, 1.5, 1.0]), method="BFGS", options={"gtol": 1e-6})
    res = tg.fit(FORMULA, data, priors=dict(zip(NAMES, given, strict=True)), method=MAXIMUM)
    np.testing.assert_allclose(res.params[NAMES], np.exp(best.x), rtol=1e-4)
    plain = log_posterior(data, [lambda v: -np.log(v)] * 3)
    assert res.log_evidence == pytest.approx(plain(best.x), abs=1e-5)
    step = 1e-3
    I = np.eye(3) * step
    H = [
        [(own(best.x + a + b) - own(best.x + a - b) - own(best.x - a + b) + own(best.x - a - b)) for a in I] for b in I
    ]
    error = np.sqrt(np.diag(np.linalg.inv(-np.array(H) / (4.0 * step**2))))
    np.testing.assert_allclose(res.bse[NAMES], np.exp(best.x) * error, rtol=2e-2)


@pytest.mark.parametrize("prior", [tg.InverseGamma(3.0, 2.0, on="variance"), tg.Beta(2.5, 1.5, lower=0.2, upper=3.0)])
def test_the_integrated_evidence_is_that_of_quadrature(data, prior):
    fixed = {"sd(gp(x))": 2.0, "lengthscale(gp(x))": 1.5}
    res = tg.fit(FORMULA, data, fixed=fixed, priors={"sigma": prior}, method=tg.EP(hyper="integrate"))
    density = next(density for known, density in CASES if known == prior)
    own = log_posterior(data, [lambda v: -np.log(v)] * 2 + [density])
    top = own(np.log([2.0, 1.5, 1.0]))
    mass = quad(lambda t: np.exp(own([np.log(2.0), np.log(1.5), t]) - top), np.log(0.3), np.log(2.99))[0]
    assert res.log_evidence_integrated == pytest.approx(top + np.log(mass), abs=2e-3)


def test_units_of_the_response_do_not_matter(data):
    plain = tg.fit(
        FORMULA, data, priors={"sigma": tg.Gamma(2.0, 4.0), "sd(gp(x))": tg.Exponential(0.5)}, method=MAXIMUM
    )
    scaled = tg.fit(
        FORMULA,
        data | {"y": 100.0 * data["y"]},
        priors={"sigma": tg.Gamma(2.0, 0.04), "sd(gp(x))": tg.Exponential(0.005)},
        method=MAXIMUM,
    )
    np.testing.assert_allclose(scaled.params[NAMES], plain.params[NAMES] * [100.0, 1.0, 100.0], rtol=1e-5)


def test_estimates_lie_between_the_ends_of_their_prior(data):
    free = tg.fit(FORMULA, data, priors={}, method=MAXIMUM)
    inside = tg.fit(FORMULA, data, priors={"sigma": tg.Uniform(0.01, 20.0)} | dict.fromkeys(NAMES[:2]), method=MAXIMUM)
    own = log_posterior(data, [lambda v: -np.log(v)] * 2 + [stats.uniform(0.01, 20.0).logpdf])
    best = minimize(lambda t: -own(t), np.log(inside.params[NAMES]), method="BFGS", options={"gtol": 1e-6}).x
    np.testing.assert_allclose(inside.params[NAMES], np.exp(best), rtol=1e-4)
    sigma = float(free.params["sigma"])
    for prior, end in ((tg.Uniform(1.2 * sigma, 2.0), 1.2 * sigma), (tg.Uniform(0.1, 0.8 * sigma), 0.8 * sigma)):
        with pytest.warns(BoundaryWarning, match="ended at a bound for sigma"):
            res = tg.fit(FORMULA, data, priors={"sigma": prior}, method=MAXIMUM)
        assert res.params["sigma"] == pytest.approx(end, rel=1e-4)
    averaged = tg.fit(FORMULA, data, priors={"lengthscale(gp(x))": tg.Beta(2.0, 2.0, lower=1.0, upper=1.6)})
    assert 1.0 < averaged.params["lengthscale(gp(x))"] < 1.6


def test_vague_priors_change_little(data):
    free = tg.fit(FORMULA, data, priors={}, method=MAXIMUM)
    vague = tg.fit(FORMULA, data, priors=dict.fromkeys(NAMES, tg.Gamma(1e-3, 1e-3)), method=MAXIMUM)
    np.testing.assert_allclose(vague.params[NAMES], free.params[NAMES], rtol=1e-2)


def test_tables_summaries_and_files_show_them(data, tmp_path):
    priors = {
        "sigma": tg.Gamma(2.0, 4.0, on="variance"),
        "sd(gp(x))": tg.PC(upper=5.0),
        "lengthscale(gp(x))": tg.Beta(2.0, 2.0, 0.1, 9.0),
    }
    res = tg.fit(FORMULA, data, priors=priors, method=MAXIMUM)
    res.save(tmp_path / "fit.tgp")
    for each in (res, tg.load(tmp_path / "fit.tgp")):
        assert each.priors["distribution"].to_dict() == {
            "sd(gp(x))": "PC(P(> 5) = 0.05)",
            "lengthscale(gp(x))": "beta(2, 2, 0.1, 9)",
            "sigma": "gamma(2, 4) on variance",
        }
        assert each.priors.loc["sigma", "location"] == pytest.approx(stats.gamma(2.0, scale=0.25).median() ** 0.5)
        for words in each.priors["distribution"]:
            assert words in str(each.summary())


@pytest.fixture(scope="module")
def grouped():
    rng = np.random.default_rng(8)
    g, z = np.repeat(np.arange(12), 6), rng.normal(size=72)
    b = rng.multivariate_normal([0.0, 0.0], [[1.0, 0.5], [0.5, 1.0]], size=12)
    return {"y": b[g, 0] + b[g, 1] * z + 0.5 * rng.normal(size=72), "z": z, "g": [f"g{i}" for i in g]}


COR = "cor(re(g))[Intercept, z]"


def test_a_single_correlation_takes_a_beta_prior(grouped):
    def fit(prior):
        return tg.fit("y ~ z + (1 + z | g)", grouped, priors={COR: prior}, method=MAXIMUM)

    for beta, eta in ((tg.Beta(3.0, 3.0, lower=-1.0), 3.0), (tg.Uniform(-1.0, 1.0), 1.0)):
        np.testing.assert_allclose(fit(beta).params, fit(tg.LKJ(eta)).params, rtol=1e-5)
    skew = fit(tg.Beta(2.0, 6.0, lower=-1.0))
    assert skew.params[COR] < fit(tg.Beta(2.0, 2.0, lower=-1.0)).params[COR] - 0.02
    assert skew.priors.loc[COR, "distribution"] == "beta(2, 6)"
    [term] = skew.parts.fitted.parameters.effects
    psi = 0.3
    by_hand = stats.beta(2.0, 6.0, loc=-1.0, scale=2.0).logpdf(np.tanh(psi)) + np.log(1.0 - np.tanh(psi) ** 2)
    theta = np.zeros(term.cors.stop)
    theta[term.cors] = psi
    value, slope = term.log_prior(theta)
    assert value == pytest.approx(by_hand, rel=1e-12)
    theta[term.cors] = psi + 1e-6
    assert slope[0] == pytest.approx((term.log_prior(theta)[0] - value) / 1e-6, abs=1e-4)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: tg.Gamma(0.0, 1.0), "Gamma(shape=0.0)"),
        (lambda: tg.InverseGamma(1.0, np.inf), "InverseGamma(scale=inf)"),
        (lambda: tg.HalfStudent("3", 1.0), "HalfStudent(df='3')"),
        (lambda: tg.Exponential(True), "Exponential(rate=True)"),
        (lambda: tg.HalfNormal(1.0, on="log"), "on='log'"),
        (tg.PC, "requires one end"),
        (lambda: tg.PC(upper=1.0, lower=1.0), "requires one end"),
        (lambda: tg.PC(upper=1.0, probability=1.0), "probability=1.0"),
        (lambda: tg.PC(upper=1.0, inputs=2), "inputs"),
        (lambda: tg.PC(lower=1.0, inputs=0), "inputs=0"),
        (lambda: tg.Beta(0.5, 1.0), "Beta(a=0.5)"),
        (lambda: tg.Uniform(2.0, 1.0), "lower=2.0"),
    ],
)
def test_settings_outside_their_range_are_errors(make, words):
    with pytest.raises(SpecError) as error:
        make()
    assert words in str(error.value)


def test_priors_of_other_parameters_are_errors(data, grouped):
    with pytest.raises(SpecError, match="a linear coefficient takes"):
        tg.fit("y ~ x + gp(x)", data, priors={"x": tg.Gamma(1.0, 1.0)})
    with pytest.raises(SpecError, match="the parameter is positive"):
        tg.fit(FORMULA, data, priors={"sigma": tg.Uniform(-1.0, 1.0)})
    for prior in (tg.Gamma(1.0, 1.0), tg.Beta(2.0, 2.0)):
        with pytest.raises(SpecError, match=r"a correlation takes tg\.LKJ\(eta\), tg\.Beta\(a, b, lower=-1\)"):
            tg.fit("y ~ z + (1 + z | g)", grouped, priors={COR: prior})
    with pytest.raises(SpecError, match=r"tg\.Gamma\(shape, rate\)"):
        tg.fit(FORMULA, data, priors={"sigma": tg.Normal(0.0, 1.0)})
