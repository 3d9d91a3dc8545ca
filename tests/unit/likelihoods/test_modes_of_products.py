"""Rules for the product of a likelihood and a wide normal density."""

import numpy as np
from scipy.integrate import quad
from scipy.stats import norm, t

from tobitgp.likelihoods.noise import tilted_rules


def test_few_evaluations_find_the_modes_of_wide_products():
    y, sd, calls = np.array([-30.0, -2.0, 0.3, 8.0, 55.0]), np.array([9.0, 12.0, 30.0, 20.0, 15.0]), []

    def local(rows, f):
        calls.append(len(f))
        z = y[rows] - f if len(rows) == len(f) else np.repeat(y, len(f) // len(rows)) - f
        return t.logpdf(z, 4.0), 5.0 * z / (4.0 + z * z), -5.0 * (4.0 - z * z) / (4.0 + z * z) ** 2

    (rule,) = tilted_rules(local, np.zeros(5), sd, y[:, None], 0.7, log_concave=False)
    assert len(calls) <= 8  # of the grid, of Newton's method and at the modes
    log_p = t.logpdf(y[rule.line][:, None] - rule.f, 4.0) + rule.log_weight
    found = np.bincount(rule.line, np.exp(log_p).sum(axis=1), len(y))
    truth = [
        quad(lambda f, n=n: t.pdf(y[n] - f, 4.0) * norm.pdf(f, 0.0, sd[n]), -np.inf, np.inf, points=None, limit=500)[0]
        if n == 2
        else sum(
            quad(lambda f, n=n: t.pdf(y[n] - f, 4.0) * norm.pdf(f, 0.0, sd[n]), a, b, limit=500)[0]
            for a, b in [(-400.0, y[n] - 5.0), (y[n] - 5.0, y[n] + 5.0), (y[n] + 5.0, 400.0)]
        )
        for n in range(len(y))
    ]
    np.testing.assert_allclose(found, truth, rtol=1e-7)
