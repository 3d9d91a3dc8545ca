"""Pareto smoothing: another program, and what must not change it."""

import numpy as np
import pytest
from scipy.stats import genpareto
from support.arviz import legacy, quietly

from tobitgp.numerics.sampling import fit_pareto, good_shape, smooth, tail_length

CASES = {
    "pareto": lambda rng: rng.exponential(size=(40, 1000)) * np.linspace(0.05, 1.5, 40)[:, None],
    "normal": lambda rng: 3.0 * rng.normal(size=(20, 4000)),
    "far": lambda rng: 400.0 * rng.normal(size=(20, 400)),
    "near": lambda rng: 1e-6 * rng.normal(size=(10, 1000)),
    "few": lambda rng: rng.normal(size=(10, 60)),
    "bounded": lambda rng: np.log(rng.uniform(0.5, 1.0, size=(10, 500))),
}


@pytest.mark.parametrize("case", CASES)
def test_it_equals_arviz(case, rng):
    log_ratio = CASES[case](rng)
    log_weight, k = quietly(legacy().psislw, log_ratio)
    found = smooth(log_ratio)
    assert np.allclose(found.log_weight, log_weight, rtol=0.0, atol=1e-10)
    assert np.allclose(found.k, k, rtol=1e-10, atol=1e-10)


def test_constants_and_order_do_not_matter(rng):
    log_ratio = rng.normal(size=(7, 800))
    found, order = smooth(log_ratio), rng.permutation(800)
    moved = smooth(log_ratio[:, order] + rng.normal(size=(7, 1)))
    assert np.allclose(moved.k, found.k, atol=1e-9)
    assert np.allclose(moved.log_weight, found.log_weight[:, order], atol=1e-9)
    assert np.allclose(np.exp(found.log_weight).sum(axis=1), 1.0, rtol=1e-12)


def test_rows_do_not_see_each_other(rng):
    log_ratio = rng.normal(size=(300, 400)) * rng.uniform(0.1, 3.0, size=(300, 1))
    together = smooth(log_ratio)
    for i in (0, 127, 128, 299):
        alone = smooth(log_ratio[i : i + 1])
        assert np.array_equal(alone.log_weight[0], together.log_weight[i])
        assert alone.k[0] == together.k[i]


def test_it_leaves_its_argument_alone(rng):
    log_ratio = rng.normal(size=(3, 200))
    before = log_ratio.copy()
    smooth(log_ratio)
    assert np.array_equal(log_ratio, before)


def test_weights_of_the_body_keep_their_ratios(rng):
    log_ratio = rng.normal(size=(1, 500))
    body = np.argsort(log_ratio[0])[: -tail_length(500)]
    change = smooth(log_ratio).log_weight[0, body] - log_ratio[0, body]
    assert np.ptp(change) < 1e-12


@pytest.mark.parametrize("k", [-0.3, 0.2, 0.6, 1.2])
def test_the_shape_of_a_known_distribution_is_found(k):
    values = np.sort(genpareto(k, scale=2.0).rvs(size=(50, 4000), random_state=1), axis=1)
    shape, scale = fit_pareto(values)
    assert shape.mean() == pytest.approx(k, abs=0.02)
    assert scale.mean() == pytest.approx(2.0, abs=0.1)


def test_smoothing_lowers_the_error_of_a_heavy_mean():
    """Weights of shape 0.7 have no variance; their smoothed mean is nearer to the truth, 1 / 0.3."""
    rng = np.random.default_rng(3)
    log_ratio = 0.7 * rng.exponential(size=(400, 1000))
    shift = log_ratio.max(axis=1, keepdims=True)
    raw = np.exp(log_ratio).mean(axis=1)
    body = np.argsort(log_ratio, axis=1)[:, 0]
    lines = np.arange(400)
    smoothed = smooth(log_ratio).log_weight
    total = np.exp(log_ratio[lines, body] - smoothed[lines, body]) / 1000
    assert np.isfinite(shift).all()
    assert np.mean((np.log(total) - np.log(1 / 0.3)) ** 2) < 0.9 * np.mean((np.log(raw) - np.log(1 / 0.3)) ** 2)


def test_equal_weights_need_no_smoothing():
    found = smooth(np.full((2, 100), -3.0))
    assert np.isneginf(found.k).all()
    assert np.allclose(np.exp(found.log_weight), 0.01)


def test_a_weight_that_outweighs_all_others_is_no_tail_to_fit():
    log_ratio = np.zeros((1, 100))
    log_ratio[0, 17] = 1e300
    found = smooth(log_ratio)
    assert found.k[0] == np.inf
    assert found.log_weight[0, 17] == 0.0


def test_few_draws_lower_the_shape_to_trust():
    assert [round(good_shape(S), 2) for S in (100, 1000, 10_000)] == [0.5, 0.67, 0.7]


def test_weights_of_counts_may_have_few_values():
    """A grid point of the shape is then exactly 0, an exponential distribution."""
    x = np.sort(np.where(np.arange(109) < 20, 0.2, 0.3))[None, :]
    found, near = fit_pareto(x), fit_pareto(x * (1.0 + 1e-12 * np.arange(109)))
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found, near, rtol=1e-6)
