"""Marginals under noise that is not Gaussian, against elliptical slice sampling of the exact posterior.

Murray, Adams and MacKay, "Elliptical slice sampling", AISTATS 2010. The densities below are scipy's, not the package's.
"""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import tobitgp as tg

pytestmark = pytest.mark.study

N, CHAINS, WARM_UP, DRAWS = 40, 100, 300, 2500
SD, LENGTHSCALE, SIGMA, DF = 1.0, 0.25, 0.5, 3.0
NOISE = {"weibull": stats.gumbel_l, "loglogistic": stats.logistic, "student": stats.t(DF)}
FAMILY = {name: name for name in NOISE} | {"student": tg.Student(DF)}
CASES = [(name, seed) for name in NOISE for seed in range(3)]


def covariance(x):
    gap = (x[:, None] - x) / LENGTHSCALE
    return SD**2 * np.exp(-0.5 * gap * gap)


def draw(name, seed):
    """Forty rows on the latent scale, right-censored at limits of their own: a fifth to four fifths of them."""
    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(size=N))
    f = np.linalg.cholesky(covariance(x) + 1e-10 * np.eye(N)) @ rng.standard_normal(N)
    y = f + SIGMA * NOISE[name].rvs(size=N, random_state=rng)
    limit = 0.4 + rng.standard_normal(N)
    return x, np.minimum(y, limit), y <= limit


def log_likelihood(name, f, y, event):
    """Of all rows together, for every chain: (chains,) from f (n, chains)."""
    z = (y[:, None] - f) / SIGMA
    seen = NOISE[name].logpdf(z[event]) - np.log(SIGMA)
    return seen.sum(axis=0) + NOISE[name].logsf(z[~event]).sum(axis=0)


def slice_sample(name, x, y, event, seed):
    """Mean and sd of f in every row, by chains that move together."""
    rng = np.random.default_rng(seed)
    root = np.linalg.cholesky(covariance(x) + 1e-10 * np.eye(N))
    f = root @ rng.standard_normal((N, CHAINS))
    level = log_likelihood(name, f, y, event)
    total, square = np.zeros(N), np.zeros(N)
    for step in range(WARM_UP + DRAWS):
        other = root @ rng.standard_normal((N, CHAINS))
        least = level - rng.exponential(size=CHAINS)
        angle = rng.uniform(0.0, 2.0 * np.pi, CHAINS)
        low, high = angle - 2.0 * np.pi, angle.copy()
        moving = np.arange(CHAINS)
        new, value = f.copy(), level.copy()
        while len(moving):
            a = angle[moving]
            new[:, moving] = f[:, moving] * np.cos(a) + other[:, moving] * np.sin(a)
            value[moving] = log_likelihood(name, new[:, moving], y, event)
            low[moving], high[moving] = np.where(a < 0.0, a, low[moving]), np.where(a < 0.0, high[moving], a)
            moving = moving[value[moving] <= least[moving]]
            angle[moving] = rng.uniform(low[moving], high[moving])
        f, level = new, value
        if step >= WARM_UP:
            total += f.mean(axis=1)
            square += np.square(f).mean(axis=1)
    mean = total / DRAWS
    return mean, np.sqrt(square / DRAWS - mean * mean)


@pytest.mark.parametrize(("name", "seed"), CASES)
def test_expectation_propagation(name, seed):
    x, y, event = draw(name, seed)
    data = pd.DataFrame({"x": x, "y": y if name == "student" else np.exp(y), "event": event.astype(int)})
    fixed = {"sd(gp(x))": SD, "lengthscale(gp(x))": LENGTHSCALE, "sigma": SIGMA}
    res = tg.fit(
        "y ~ 0 + gp(x, line=False) | censor(event=event)",
        data,
        family=FAMILY[name],
        method=tg.EP(inducing=None),
        fixed=fixed,
    )
    found = res.predict(data, "latent", se=True)
    mean, sd = slice_sample(name, x, y, event, seed)
    distance = (found["estimate"] - mean).abs() / sd
    ratio = found["se"] / sd
    assert res.converged
    assert distance.max() < 0.1
    assert ratio.between(0.85, 1.05).all()
