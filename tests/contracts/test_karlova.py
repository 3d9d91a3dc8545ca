"""The closed form of Karlova et al. (2024): the formula, and the table that shows that it bounds nothing."""

import re

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm
from support.differences import derivative
from support.printed import as_printed, divergence_as_printed
from support.problems import dense, make_problem, solve, with_instrument
from support.sequential_ep import sequential_ep

import tobitgp as tg
from tobitgp.errors import SpecError
from tobitgp.inference import VIUpdates
from tobitgp.likelihoods.expectations import cross_entropy
from tobitgp.likelihoods.families import GaussianNoise

pytestmark = pytest.mark.diagonal

rng = np.random.default_rng(0)
CASES = [
    (y, lower, upper, mean, np.exp(2.0 * log_s), np.exp(log_sigma))
    for y, mean, log_s, log_sigma in rng.uniform([-1, -2, -2, -2], [1.5, 2, 0.5, 0.5], (8, 4))
    for lower, upper in ((-1.0, 1.5), (-np.inf, 1.5), (-1.0, np.inf), (-np.inf, np.inf))
]


def each(*values):
    return [np.array([float(v)]) for v in values]


@pytest.mark.parametrize("case", CASES)
def test_inside_the_window_it_is_the_integral(case):
    """Eq. 18 by quadrature, and the atoms of Eq. 17 as they are printed."""
    y, lower, upper, mean, var, sigma = case
    s = np.sqrt(var)
    places = (max(lower, mean - 12 * s), min(upper, mean + 12 * s))
    inside = quad(lambda x: norm.pdf(x, mean, s) * norm.logpdf(x, y, sigma), *places, epsabs=1e-13, limit=200)[0]
    atoms = 0.0
    for end, z in ((lower, (lower - y) / sigma), (upper, (y - upper) / sigma)):
        if np.isfinite(end):
            atoms += norm.logcdf(z) * norm.pdf((end - mean) / s)
    assert cross_entropy(*each(*case[:5]), sigma).value[0] == pytest.approx(inside + atoms, abs=1e-9)


@pytest.mark.parametrize("case", CASES)
def test_derivatives(case):
    y, lower, upper, mean, var, sigma = case

    def value(m=mean, v=var, scale=sigma):
        return cross_entropy(*each(y, lower, upper, m, v), scale).value[0]

    E = cross_entropy(*each(*case[:5]), sigma)
    h = 1e-3 * np.sqrt(var)
    near = {"rel": 1e-6, "abs": 1e-6}
    assert E.d1[0] == pytest.approx(derivative(lambda x: value(m=x), mean, h), **near)
    assert E.d2[0] == pytest.approx(2.0 * derivative(lambda x: value(v=x), var, 1e-3 * var), **near)
    assert E.s0[0, 0] == pytest.approx(derivative(lambda x: value(scale=np.exp(x)), np.log(sigma), 1e-3), **near)


def test_without_limits_it_is_the_expected_log_likelihood():
    E = cross_entropy(*each(0.2, -np.inf, np.inf, 0.1, 0.3), 0.4)
    problem = make_problem(np.zeros((1, 1)), [0.2], [0.2])
    want = GaussianNoise().expected(problem.rows[0], *each(0.1, 0.3), 0.4)
    for a, b in zip(E, want, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


# One row, K = 1, sigma = .3, limits -1 and 1: log evidence, the maximum of the exact bound over Gaussians, and that of
# Eq. 22 with the right divergence. A bound must not exceed the first.
TABLE = {
    "left-censored": (-np.inf, -1.0, -1.777412, -1.817153, -1.536855),
    "right-censored": (1.0, np.inf, -1.777412, -1.817153, -1.536855),
    "observed": (0.2, 0.2, -0.980376, -0.980376, -1.000801),
}


def one_row(row):
    lower, upper = TABLE[row][:2]
    return with_instrument(make_problem(np.zeros((1, 1)), [lower], [upper], H=np.ones((1, 1))), -1.0, 1.0)


@pytest.mark.parametrize("row", TABLE)
def test_one_row(row):
    problem, (lower, upper, *printed) = one_row(row), TABLE[row]
    S = np.sqrt(1.0 + 0.09)
    density = norm.logpdf(lower, 0.0, S) if lower == upper else norm.logcdf(-1.0 / S)
    found = [solve(problem, [dense(problem)], [np.log(0.3)], VIUpdates(bound=b)).evidence for b in ("exact", "karlova")]
    np.testing.assert_allclose([density, *found], printed, atol=2e-6)
    assert found[0] <= density + 1e-12
    assert (found[1] > density) == (row != "observed")


@pytest.mark.slow
def test_an_observed_row_may_exceed_too():
    """Prior variance 1e4, sigma .05: log evidence -5.524, and a Gaussian outside the window makes more than -3.54."""
    mean, var = each(5.0, 0.5)
    rows = cross_entropy(*each(0.2, -1.0, 1.0), mean, var, 0.05).value[0]
    assert rows == pytest.approx(0.0, abs=1e-3)
    best = max(
        cross_entropy(*each(0.2, -1.0, 1.0, m, s * s), 0.05).value[0]
        - 0.5 * ((s * s + m * m) / 1e4 - 1.0 - np.log(s * s / 1e4))
        for m in np.linspace(1.0, 200.0, 100)
        for s in np.geomspace(0.1, 100.0, 100)
    )
    assert best > -3.6 > norm.logpdf(0.2, 0.0, 100.0)


def test_as_printed_it_is_unbounded():
    """Eq. 10: the sign of its second line lets any wide Gaussian win; Eqs. 38 and 42: the log-determinants' signs."""
    wide = [as_printed(*each(-1.0, -1.0, 1.0, -1.0, s * s), 0.3)[0] for s in (0.5, 2.0)]
    right = [cross_entropy(*each(-1.0, -1.0, 1.0, -1.0, s * s), 0.3).value[0] for s in (0.5, 2.0)]
    assert (np.array(wide) > np.array(right)).all()
    far = each(-1.0, -1.0, 1.0, 0.0, 0.5)
    assert as_printed(*far, 0.01)[0] > 1e3
    A, K, mean = np.diag([0.5, 2.0]), np.array([[1.0, 0.3], [0.3, 1.5]]), np.array([0.2, -0.4])
    solved = np.linalg.solve(K, A)
    right = 0.5 * (np.linalg.slogdet(K)[1] - np.linalg.slogdet(A)[1] - 2 + np.trace(solved))
    right += 0.5 * mean @ np.linalg.solve(K, mean)
    log_dets = np.linalg.slogdet(A)[1] - np.linalg.slogdet(K)[1]
    assert divergence_as_printed(A, K, mean) == pytest.approx(right + log_dets)


SD, LENGTHSCALE, SIGMA = 6.0, 0.12, 0.3


def objective(data, mean, covariance):
    """Eq. 22 of the data as given less the divergence of Eq. 38, with both signs corrected (errata K1, K2)."""
    x, y, lower, upper = (data[name].to_numpy() for name in ("x", "y", "lower", "upper"))
    s = np.sqrt(np.diag(covariance))
    a, b = (lower - mean) / s, (upper - mean) / s
    square = ((y - mean) ** 2 + s**2) / (2 * SIGMA**2)
    rows = -(np.log(np.sqrt(2 * np.pi) * SIGMA) + square) * (norm.cdf(b) - norm.cdf(a))
    rows += (norm.logcdf((y - upper) / SIGMA) + (upper + mean - 2 * y) * s / (2 * SIGMA**2)) * norm.pdf(b)
    rows += (norm.logcdf((lower - y) / SIGMA) - (lower + mean - 2 * y) * s / (2 * SIGMA**2)) * norm.pdf(a)
    K = SD**2 * np.exp(-0.5 * ((x[:, None] - x) / LENGTHSCALE) ** 2)
    A = np.linalg.solve(K, covariance)
    return rows.sum() - 0.5 * (np.trace(A) - len(x) - np.linalg.slogdet(A)[1] + mean @ np.linalg.solve(K, mean)), K


@pytest.mark.filterwarnings("ignore::tobitgp.errors.ApproximationWarning")
@pytest.mark.parametrize("c", [1.0, 2.6])
def test_in_the_unit_of_the_data_it_is_the_objective_of_the_paper(c):
    """The value at the fit's posterior, and its derivatives in the mean along prior covariances, are those printed."""
    data = tg.datasets.simulate_karlova("symmetric", rng=4).iloc[::2].reset_index(drop=True)
    res = tg.fit(
        "y ~ 0 + gp(x, line=False) | censor(lower, upper)",
        data / {"x": 1.0, "y": c, "f": c, "y_star": c, "lower": c, "upper": c},
        method=tg.VI(bound="karlova", unit=1.0 / c, site_tol=1e-10),
        fixed={"sd(gp(x))": SD / c, "lengthscale(gp(x))": LENGTHSCALE, "sigma": SIGMA / c},
        priors={},
    )
    mean, covariance = (np.asarray(part) for part in res.posterior())
    mean, covariance = c * mean, c * c * covariance
    value, K = objective(data, mean, covariance)
    assert res.log_evidence == pytest.approx(value, abs=1e-8)
    slopes = [derivative(lambda h, k=k: objective(data, mean + h * k, covariance)[0], 0.0, 1e-4) for k in K]
    assert np.max(np.abs(slopes)) < 1e-3


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"bound": "karlova", "unit": 0.0}, "unit=0.0: unit must be a positive number"),
        ({"bound": "karlova", "unit": "mg"}, "unit='mg': unit must be a positive number"),
        ({"unit": 1.0}, "unit=1.0: only bound='karlova' depends on a unit. Leave unit= out."),
    ],
)
def test_a_unit_that_means_nothing(settings, said):
    with pytest.raises(SpecError, match=re.escape(said)):
        tg.VI(**settings)


def test_records_of_figure_1_are_integrals_of_clipped_values():
    """The posterior by sequential EP, and the mean of a record by quadrature between and at the limits."""
    data = tg.datasets.simulate_karlova("symmetric", rng=1)
    y, lower, upper = (data[name].to_numpy() for name in ("y", "lower", "upper"))
    sign = np.where(y <= lower, -1, np.where(y >= upper, 1, 0))
    assert min((sign == side).sum() for side in (-1, 0, 1)) > 2
    res = tg.fit(
        "y ~ 0 + gp(x, line=False, approximation='dense') | censor(lower, upper)",
        data,
        method=tg.EP(site_tol=1e-10),
        fixed={"sd(gp(x))": SD, "lengthscale(gp(x))": LENGTHSCALE, "sigma": SIGMA},
    )
    x = data["x"].to_numpy()
    own = sequential_ep(SD**2 * np.exp(-0.5 * ((x[:, None] - x) / LENGTHSCALE) ** 2), y, sign, SIGMA)
    expected = []
    for m, s, low, high in zip(own.mean, np.sqrt(own.var + SIGMA**2), lower, upper, strict=True):
        inside = quad(lambda v, m=m, s=s: v * norm.pdf(v, m, s), low, high, epsabs=1e-12)[0]
        expected.append(inside + low * norm.cdf(low, m, s) + high * norm.sf(high, m, s))
    found = res.predict(what="observed")
    np.testing.assert_allclose(found, expected, atol=1e-6)
    clipped = np.clip(res.predict(what="latent"), lower, upper)
    assert np.abs(found - clipped).max() > 0.05  # the drawing of the mean of f, clipped, is another curve
