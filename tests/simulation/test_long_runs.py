"""Posterior marginals of processes against long runs of elliptical slice sampling, on ten data sets."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import log_expit, log_ndtr, stdtr
from support.slice_sampling import monte_carlo_error, slice_sample

import tobitgp as tg

pytestmark = pytest.mark.study

LENGTH = 0.3
DISTRIBUTIONS = {  # log density, but for a constant, and log distribution function of the standard noise
    "gaussian": (None, log_ndtr),
    "student": (lambda z: -2.5 * np.log1p(z**2 / 4.0), lambda z: np.log(stdtr(4.0, z))),
    "logistic": (lambda z: log_expit(z) + log_expit(-z), log_expit),
}
FAMILIES = {"gaussian": "gaussian", "student": tg.Student(df=4), "logistic": "logistic"}
CASES = [  # family, noise scale, share censored on the left and on the right
    ("gaussian", 0.3, 0.25, 0.0),
    ("gaussian", 0.3, 0.5, 0.0),
    ("gaussian", 0.3, 0.75, 0.0),
    ("gaussian", 0.1, 0.5, 0.0),
    ("gaussian", 1.0, 0.5, 0.0),
    ("gaussian", 0.3, 0.3, 0.3),
    ("gaussian", 0.3, 0.0, 0.5),
    ("student", 0.3, 0.4, 0.0),
    ("logistic", 0.2, 0.4, 0.0),
    ("logistic", 0.2, 0.2, 0.4),
]


def problem(seed, family, sigma, left, right, n=40):
    rng = np.random.default_rng([seed, 77])
    x = np.sort(rng.uniform(size=n))
    K = np.exp(-0.5 * np.square((x[:, None] - x) / LENGTH))
    f = np.linalg.cholesky(K + 1e-9 * np.eye(n)) @ rng.normal(size=n)
    noise = {"gaussian": rng.normal, "student": lambda size: rng.standard_t(4, size), "logistic": rng.logistic}
    y = f + sigma * noise[family](size=n)
    l, u = np.quantile(y, left) if left else -np.inf, np.quantile(y, 1.0 - right) if right else np.inf
    return pd.DataFrame({"x": x, "y": y.clip(l, u), "l": l, "u": u}), K


def given_values(K, y, seen, sigma):
    """Mean and covariance of f given the values seen, under normal noise."""
    gain = np.linalg.solve(K[np.ix_(seen, seen)] + sigma**2 * np.eye(seen.sum()), K[seen]).T
    return gain @ y[seen], K - gain @ K[seen]


@pytest.mark.parametrize("seed", range(len(CASES)))
def test_marginals(seed):
    family, sigma, *shares = CASES[seed]
    data, K = problem(seed, family, sigma, *shares)
    log_density, log_cdf = DISTRIBUTIONS[family]
    y, below, above = data["y"].to_numpy(), (data["y"] <= data["l"]).to_numpy(), (data["y"] >= data["u"]).to_numpy()
    seen = ~below & ~above

    centre, spread = np.zeros(len(y)), K
    if family == "gaussian":  # the chain walks faster where the values seen are in its prior
        centre, spread = given_values(K, y, seen, sigma)

    def log_lik(step):
        z = (y - centre - step) / sigma
        values = 0.0 if family == "gaussian" else log_density(z[seen]).sum()
        return values + log_cdf(z[below]).sum() + log_cdf(-z[above]).sum()

    draws = centre + slice_sample(spread, log_lik, 40_000, np.random.default_rng(seed))
    mean, sd, error = draws.mean(axis=0), draws.std(axis=0), monte_carlo_error(draws)
    fixed = {"sd(gp(x))": 1.0, "lengthscale(gp(x))": LENGTH, "sigma": sigma}
    res = tg.fit(
        "y ~ 0 + gp(x, line=False) | censor(l, u)",
        data,
        family=FAMILIES[family],
        fixed=fixed,
        method=tg.EP(inducing=None),
    )
    found = res.predict(data, "latent", se=True)

    assert (error / sd).max() < 0.07  # the chain is long enough to tell
    assert np.abs((found["estimate"] - mean) / sd).max() < 0.05 + 4.0 * (error / sd).max()
    ratio = (found["se"] / sd).to_numpy()
    assert ratio.min() > 0.85
    assert ratio.max() < 1.05
    assert 0.93 < ratio[~seen].mean() < 1.03
    # Share of the exact posterior inside the 95% band, row by row.
    band = res.predict(data, "latent", interval=0.95)
    inside = ((band["lower"].to_numpy() <= draws) & (draws <= band["upper"].to_numpy())).mean(axis=0)
    assert 0.94 < inside.mean() < 0.96
    assert inside.min() > 0.91
