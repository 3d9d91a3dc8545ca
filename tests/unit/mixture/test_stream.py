import numpy as np
import pytest

from tobitgp.errors import DataError
from tobitgp.mixture import SVBCM, VBCM, fit_mixture, mixture_of, partial_fit, start_stream

INF = np.inf


def two_groups(n, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.concatenate([rng.normal(-3, 1, n // 2), rng.normal(3, 1, n - n // 2)]))
    return np.where(y < -4, -INF, np.minimum(y, 4.0)), np.where(y > 4, INF, np.maximum(y, -4.0))


@pytest.mark.slow
@pytest.mark.parametrize("statistics", ["expected", "sampled"])
def test_steps_come_near_to_the_batch_optimum(statistics):
    rows = two_groups(200)
    whole = fit_mixture(*rows)
    method = SVBCM(batch_size=20, n_steps=800, polish=False, statistics=statistics)
    near = fit_mixture(*rows, method=method)
    assert whole.elbo - 1.0 < near.elbo < whole.elbo + 1e-6
    polished = fit_mixture(*rows, method=SVBCM(batch_size=20, n_steps=100))
    assert polished.elbo == pytest.approx(whole.elbo, abs=1e-3)


@pytest.mark.quick_cases("exponential")
@pytest.mark.parametrize("family", ["lognormal", "exponential", "poisson", "weibull"])
def test_every_family_takes_steps(family):
    rng = np.random.default_rng(1)
    y = rng.gamma(3.0, np.where(np.arange(200) < 100, 0.3, 3.0))
    y = np.ceil(y) if family == "poisson" else y
    rows = np.minimum(y, 10.0), np.where(y > 10.0, INF, y)
    whole = fit_mixture(*rows, family=family, method=VBCM(n_init=2))
    near = fit_mixture(*rows, family=family, method=SVBCM(n_steps=1000, polish=False))
    assert whole.elbo - 2.5 < near.elbo < whole.elbo + 0.5


@pytest.mark.slow
def test_weights_are_chances_to_be_drawn():
    rows = two_groups(100)
    method = SVBCM(n_steps=300, polish=False)
    once = fit_mixture(*rows, np.full(100, 3.0), method=method, rng=2)
    again = fit_mixture(*(np.repeat(end, 3) for end in rows), method=method, rng=2)
    np.testing.assert_allclose(once.parameters["mean"], again.parameters["mean"], atol=0.1)


def test_a_stream_ends_where_the_rows_are():
    lower, upper = two_groups(3000, seed=3)
    stream = start_stream(lower[:100], upper[:100], total=3000.0)
    first = stream.state
    for i in range(100, 3000, 50):
        stream = partial_fit(stream, lower[i : i + 50], upper[i : i + 50])
    assert stream.seen == 3000.0
    assert stream.step == 59
    values = mixture_of(stream).parameters
    np.testing.assert_allclose(values["mean"], [-3.0, 3.0], atol=0.2)
    np.testing.assert_allclose(values["sd"], 1.0, atol=0.2)
    assert first.components is not stream.state.components
    assert partial_fit(stream, np.array([-INF]), np.array([INF])) is stream


def test_a_stream_refuses_impossible_rows():
    y = np.random.default_rng(0).exponential(size=50)
    stream = start_stream(y, y, family="exponential", k=1)
    with pytest.raises(DataError, match="row 0"):
        partial_fit(stream, np.array([-1.0]), np.array([-1.0]))
