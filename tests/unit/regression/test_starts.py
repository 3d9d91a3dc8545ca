"""Where a small sample has several maxima, the highest is found."""

import numpy as np
import pytest
from support.responses import response
from support.working import standardised

from tobitgp.data.outcome import outcome
from tobitgp.distributions.symmetric_noise import NormalNoise, StudentNoise
from tobitgp.regression import location_scale_fit, maximise


def sample(seed, n=15, heavy=False):
    rng = np.random.default_rng(seed)
    z = rng.normal(size=n)
    noise = rng.standard_t(2, size=n) if heavy else rng.normal(size=n)
    y = 1.0 + z + np.exp(0.3 * z) * noise
    limit = np.quantile(y, 0.3)
    rows = response(np.where(y <= limit, -np.inf, y), np.maximum(y, limit))
    return outcome(rows), np.column_stack([np.ones(n), z])


@pytest.mark.parametrize(
    ("distribution", "free"), [(StudentNoise(), True), (StudentNoise(4.0), False), (NormalNoise(), False)]
)
def test_more_starts_find_higher_maxima(distribution, free, monkeypatch):
    samples = [sample(seed, heavy=bool(seed % 2)) for seed in range(12)]

    def fits():
        return [maximise(rows, H, W=H, distribution=distribution, estimate_shape=free) for rows, H in samples]

    every, with_several = location_scale_fit.starts, fits()
    monkeypatch.setattr(
        location_scale_fit, "starts", lambda working, distribution: [next(every(working, distribution))]
    )
    for several, one in zip(with_several, fits(), strict=True):
        assert several.converged >= one.converged
        if one.converged:
            assert several.log_likelihood >= one.log_likelihood - 1e-8


@pytest.mark.parametrize(("n", "number"), [(60, 2), (600, 1)])
def test_large_samples_start_once(n, number, rng):
    H = np.column_stack([np.ones(n), rng.normal(size=n)])
    y = rng.standard_t(3, size=n)
    working = standardised(outcome(response(y, y)), H, np.ones((n, 1)))
    assert len(location_scale_fit.Ascent(working, StudentNoise(3.0)).ends(50)) == number
    assert len(location_scale_fit.Ascent(working, NormalNoise()).ends(50)) == 1
