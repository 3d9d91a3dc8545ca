"""A stream for None that no user's seed has, and the same one each time."""

import numpy as np
import pandas as pd
import pytest

import tobitgp as tg
from tobitgp.errors import SpecError
from tobitgp.numerics.sampling import draw_quantiles, generator, open_uniform, random_points


def test_none_is_the_same_each_time_and_nobody_elses():
    own = generator(None).random(1000)
    np.testing.assert_array_equal(own, generator(None).random(1000))
    seeds = [np.random.default_rng(seed) for seed in range(50)]
    children = [child for stream in seeds[:5] for child in stream.spawn(5)]
    assert all(np.intersect1d(own, stream.random(1000)).size == 0 for stream in seeds + children)


def test_a_seed_is_what_numpy_makes_of_it_but_for_residuals():
    np.testing.assert_array_equal(generator(3).random(5), np.random.default_rng(3).random(5))
    assert np.intersect1d(random_points(3, 100), np.random.default_rng(3).random(100)).size == 0
    stream = np.random.default_rng(3)
    assert generator(stream) is stream


class Zeros(np.random.Generator):
    """A stream of nothing but the number that has no quantile."""

    def random(self, size=None, dtype=np.float64, out=None):
        return np.zeros(size)


def test_open_uniform_numbers_are_those_of_the_stream_but_for_zero():
    np.testing.assert_array_equal(
        open_uniform(np.random.default_rng(3), (5, 2)), np.random.default_rng(3).random((5, 2))
    )
    np.testing.assert_array_equal(open_uniform(Zeros(np.random.PCG64(0)), (3,)), np.full(3, 2.0**-54))


@pytest.mark.parametrize("rng", [-1, True, 2.0, "3", np.random.RandomState(0)])
def test_what_is_no_seed_is_refused(rng):
    with pytest.raises(SpecError, match="rng="):
        generator(rng)


def test_draws_do_not_repeat_the_numbers_that_made_the_data():
    """Noise of ``default_rng(0)``, and draws of the model that must know nothing of it."""
    noise = np.random.default_rng(0).standard_normal(400)
    data = pd.DataFrame({"y": 2.0 + noise})
    res = tg.fit("y ~ 1", data)
    drawn = res.sample(data, draws=3).to_numpy()
    assert np.abs([np.corrcoef(noise, column)[0, 1] for column in drawn.T]).max() < 0.2


def test_quantiles_of_draws_are_infinite_beside_infinite_draws():
    draws = np.array([-np.inf, -np.inf, 0.0, 1.0, np.inf, np.inf])
    found = draw_quantiles(np.stack([draws, np.arange(6.0)]), [0.1, 0.3, 0.5, 0.7, 0.8, 0.9])
    np.testing.assert_array_equal(found[:, 0], [-np.inf, -np.inf, 0.5, np.inf, np.inf, np.inf])
    np.testing.assert_allclose(found[:, 1], [0.5, 1.5, 2.5, 3.5, 4.0, 4.5], rtol=1e-12)


@pytest.mark.parametrize("orders", [[0.5, 0.05, 0.95], [0.0, 1.0, 0.25]])
@pytest.mark.parametrize("size", [1, 2, 5, 1000])
def test_quantiles_of_draws_are_those_of_numpy(orders: list[float], size: int) -> None:
    draws = np.random.default_rng(1).normal(size=(3, 2, size))
    np.testing.assert_array_equal(draw_quantiles(draws, orders), np.quantile(draws, orders, axis=-1))
    rising = draw_quantiles(draws, orders, np.exp)
    np.testing.assert_allclose(rising, np.quantile(np.exp(draws), orders, axis=-1), rtol=1e-14)


def test_quantiles_next_to_infinite_draws() -> None:
    draws = np.array([[1.0, 2.0, np.inf, np.inf], [-np.inf, -np.inf, 3.0, 4.0], [1.0, np.nan, 2.0, 3.0]])
    found = draw_quantiles(draws, [0.5, 0.9, 0.1, 1.0 / 3.0])
    np.testing.assert_array_equal(found[:, 0], [np.inf, np.inf, 1.3, 2.0])
    np.testing.assert_allclose(found[1:, 1], [3.7, -np.inf, -np.inf])
    assert np.isnan(found[:, 2]).all()
