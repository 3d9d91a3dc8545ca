"""Integrals of many bells at once."""

import numpy as np
import pytest
from scipy.special import log_ndtr

from tobitgp.numerics.quadrature import integrals, log_integrals


@pytest.mark.parametrize("t", [1e-3, 0.3, 1.0, 4.0, 30.0, 1e3])
def test_a_step_of_any_width_far_out(t):
    """``E Phi(z - t X)`` is known."""
    z = np.linspace(-20.0, 6.0, 14) * np.hypot(1.0, t)
    c = np.clip(z * t / (1.0 + t * t), -38.0, 0.0)
    widths = np.full_like(z, t)

    def values(x, i):
        return (log_ndtr(z[i] - t * x) - 0.5 * x * x - 0.5 * np.log(2 * np.pi))[None]

    log_value = log_integrals(values, c - 9.0, np.full_like(c, 9.0), widths, (z / t)[:, None])[0]
    assert np.allclose(log_value, log_ndtr(z / np.hypot(1.0, t)), rtol=1e-12, atol=1e-10)
    value = integrals(lambda x, i: np.exp(values(x, i)), c - 9.0, np.full_like(c, 9.0), widths, (z / t)[:, None])[0]
    assert np.allclose(np.log(value), log_value, rtol=1e-12)


def test_rows_do_not_depend_on_one_another():
    rng = np.random.default_rng(0)
    t, z = 10.0 ** rng.uniform(-3, 3, 300), rng.normal(size=300)

    def run(at):
        def values(x, i):
            return (log_ndtr(z[at][i] - t[at][i] * x) - 0.5 * x * x)[None]

        far = np.full(len(at), 9.0)
        return log_integrals(values, -far, far, t[at], (z[at] / t[at])[:, None])[0]

    together, alone = run(np.arange(300)), np.concatenate([run(np.array([i])) for i in range(300)])
    assert np.allclose(together, alone, rtol=1e-13, atol=1e-13)


def test_no_rows():
    none = np.empty(0)
    assert integrals(lambda x, i: x[None], none, none, none, none[:, None]).shape == (1, 0)
    assert log_integrals(lambda x, i: x[None], none, none, none, none[:, None]).shape == (1, 0)
