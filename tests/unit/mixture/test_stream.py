import numpy as np
import pytest

from tobitgp.errors import DataError
from tobitgp.mixture import (
    SVBCM,
    VBCM,
    DirichletProcess,
    fit_mixture,
    linear_response,
    mixture_of,
    partial_fit,
    start_stream,
)

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


FIRST = {
    "one row": ([3.0], [3.0]),
    "equal rows": ([3.0] * 5, [3.0] * 5),
    "right-censored": ([3.0, 5.0], [INF, INF]),
    "one right-censored": ([8.0], [INF]),
    "left-censored": ([-INF] * 3, [1.0, 2.0, 2.0]),
    "one interval": ([1.0], [4.0]),
    "both sides": ([-INF, 8.0], [1.0, INF]),
}


@pytest.mark.parametrize("first", FIRST)
@pytest.mark.parametrize("family", ["gaussian", "lognormal", "exponential", "poisson", "weibull"])
def test_a_stream_answers_whatever_its_first_batch_is(family, first):
    rng = np.random.default_rng(0)
    for k, weights in ((1, None), (3, None), (4, DirichletProcess())):
        stream = start_stream(*map(np.array, FIRST[first]), family=family, k=k, weights=weights)
        assert np.isfinite(mixture_of(stream).values).all()
        for _ in range(2):
            y = np.ceil(rng.gamma(2.0, np.where(rng.random(40) < 0.5, 0.5, 4.0)))
            stream = partial_fit(stream, np.minimum(y, 8.0), np.where(y > 8.0, INF, y), rng=rng)
        assert np.isfinite(mixture_of(stream).values).all()
        assert stream.step == 3
        assert np.isfinite(stream.estimate)
        assert 0.1 < mixture_of(stream).predictive().cdf(3.0) < 0.95


def test_while_rows_are_few_a_stream_is_the_fit_of_all_of_them():
    lower, upper = two_groups(64, seed=5)
    stream = start_stream(lower[:4], upper[:4])
    for i in range(4, 64, 4):
        stream = partial_fit(stream, lower[i : i + 4], upper[i : i + 4])
    whole = fit_mixture(lower, upper, method=VBCM(n_init=4))
    assert stream.estimate * 64 == pytest.approx(whole.elbo, abs=1e-3)
    np.testing.assert_allclose(mixture_of(stream).values, whole.values, atol=0.01)


@pytest.mark.slow
@pytest.mark.parametrize(("size", "n"), [(1, 700), (50, 1200)])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_averaging_steps_end_within_a_standard_error_of_the_batch_result(size, n, seed):
    lower, upper = two_groups(n, seed)
    stream = start_stream(lower[:size], upper[:size], method=SVBCM(delay=0, forgetting=1))
    for i in range(size, n, size):
        stream = partial_fit(stream, lower[i : i + size], upper[i : i + size])
    assert stream.first is None
    whole = fit_mixture(lower, upper, method=VBCM(n_init=2))
    error = np.sqrt(np.diag(linear_response(whole, lower, upper)))
    assert (np.abs(mixture_of(stream).values - whole.values) < error).all()


def test_single_rows_are_not_taken_for_rounded():
    y = np.random.default_rng(6).normal(0.0, 1.0, 700)
    stream = start_stream(y[:600], y[:600], k=1, method=SVBCM(delay=0, forgetting=1))
    for one in y[600:, None]:
        stream = partial_fit(stream, one, one)
    assert mixture_of(stream).parameters["sd"][0] == pytest.approx(y.std(), rel=0.01)


def test_censored_rows_are_not_kept_for_ever():
    stream = start_stream(np.ones(10), np.full(10, INF), family="exponential", k=1)
    for _ in range(5):
        stream = partial_fit(stream, np.full(1000, 1.0), np.full(1000, INF))
    assert stream.first is None
    assert stream.seen == 5010.0


def test_a_stream_refuses_impossible_rows():
    y = np.random.default_rng(0).exponential(size=50)
    stream = start_stream(y, y, family="exponential", k=1)
    with pytest.raises(DataError, match="row 0"):
        partial_fit(stream, np.array([-1.0]), np.array([-1.0]))
