"""Data as mgcv's ``gamSim`` simulates them, and censored regression by plain maximum likelihood."""

import numpy as np
import pandas as pd
import scipy.optimize
from scipy.interpolate import BSpline
from scipy.special import log_ndtr, roots_hermitenorm
from scipy.stats import norm

F = {
    "x0": lambda x: 2 * np.sin(np.pi * x),
    "x1": lambda x: np.exp(2 * x),
    "x2": lambda x: 0.2 * x**11 * (10 * (1 - x)) ** 6 + 10 * (10 * x) ** 3 * (1 - x) ** 10,
    "x3": lambda x: 0.0 * x,
}
BY = {"1": F["x0"], "2": lambda x: np.exp(2 * x) - 3.75887, "3": F["x2"]}


def gam_sim_1(n, scale, rng):
    """``gamSim(1)``: four additive functions of uniform inputs, the last of them zero."""
    data = pd.DataFrame(rng.uniform(size=(n, 4)), columns=list(F))
    data["f"] = sum(F[name](data[name]) for name in F)
    data["y"] = data["f"] + rng.normal(0, scale, n)
    return data


def gam_sim_4(n, scale, rng):
    """``gamSim(4)``: a function of x2 for each level of a factor."""
    data = pd.DataFrame({"x2": rng.uniform(size=n), "fac": rng.choice(list(BY), n)})
    data["f"] = by_factor(data)
    data["y"] = data["f"] + rng.normal(0, scale, n)
    return data


def by_factor(data):
    return np.select([data["fac"] == level for level in BY], [f(data["x2"]) for f in BY.values()])


def splines(x, df):
    """Cubic splines on [0, 1] with even knots, without the one that makes up the constant."""
    inner = np.linspace(0, 1, df - 1)
    knots = np.r_[np.zeros(3), inner, np.ones(3)]
    return BSpline.design_matrix(np.clip(np.asarray(x), 0, 1 - 1e-12), knots, 3).toarray()[:, 1:]


def log_density(lower, upper, mean, sigma):
    """Log density of exact rows, log probability of the others; arrays that broadcast."""
    a, b = (lower - mean) / sigma, (upper - mean) / sigma
    flip = a > 0
    a, b = np.where(flip, -b, a), np.where(flip, -a, b)
    high = log_ndtr(b)
    with np.errstate(divide="ignore", invalid="ignore"):
        mass = high + np.log1p(-np.exp(log_ndtr(a) - high))
    exact = np.broadcast_to(lower == upper, mass.shape)
    return np.where(exact, norm.logpdf(np.where(exact, a, 0.0)) - np.log(sigma), mass)


def maximum_likelihood(H, lower, upper, groups=None, nodes=25):
    """Censored normal regression on columns H, with normal intercepts of groups by Gauss-Hermite quadrature.

    Returns the estimates, coefficients, then log sigma and, with groups, the log of their sd, and minus the log
    likelihood as a function of them.
    """
    p = H.shape[1]
    z, weight = roots_hermitenorm(nodes)
    log_weight = np.log(weight / weight.sum())

    def minus(theta):
        mean, sigma = H @ theta[:p], np.exp(theta[p])
        if groups is None:
            return -log_density(lower, upper, mean, sigma).sum()
        rows = log_density(lower[:, None], upper[:, None], mean[:, None] + np.exp(theta[p + 1]) * z, sigma)
        each = np.zeros((groups.max() + 1, nodes))
        np.add.at(each, groups, rows)
        return -np.logaddexp.reduce(each + log_weight, axis=1).sum()

    middle = np.where(np.isinf(lower), upper, np.where(np.isinf(upper), lower, 0.5 * (lower + upper)))
    first = np.linalg.lstsq(H, middle, rcond=None)[0]
    spread = np.log(np.std(middle - H @ first))
    start = np.r_[first, spread, [] if groups is None else spread - 1.0]
    near = scipy.optimize.minimize(minus, start, method="L-BFGS-B", options={"maxiter": 2000, "maxfun": 200_000})
    return scipy.optimize.minimize(minus, near.x, method="BFGS", options={"gtol": 1e-4}).x, minus


def standard_errors(minus, at, step=1e-4):
    """From the curvature of a log likelihood, by central differences."""
    k = len(at)
    E = step * np.eye(k)
    curve = [
        [
            minus(at + E[i] + E[j]) - minus(at + E[i] - E[j]) - minus(at - E[i] + E[j]) + minus(at - E[i] - E[j])
            for j in range(k)
        ]
        for i in range(k)
    ]
    return np.sqrt(np.diag(np.linalg.inv(np.array(curve) / (4 * step**2))))
