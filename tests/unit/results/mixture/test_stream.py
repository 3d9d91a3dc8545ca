from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import tobitgp as tg
from tobitgp.errors import DataError, FormulaError, NotFittedError, SpecError
from tobitgp.mixture import Dirichlet, DirichletProcess, mixture_of, partial_fit, start_stream
from tobitgp.mixture.fitted_mixture import order_components


def batches(rng, number=15):
    for _ in range(number):
        y = np.concatenate([rng.exponential(1.0, 60), rng.exponential(20.0, 60)])
        yield pd.DataFrame({"y": np.minimum(y, 30.0), "seen": (y < 30).astype(int), "w": 1.0})


def test_batches_by_formula_are_those_on_arrays(rng):
    frames = list(batches(rng))
    stream = tg.MixtureStream("Surv(y, seen) ~ mixture(2)", family="exponential", weights="w", rng=0)
    plain, generator = None, np.random.default_rng(0)
    for frame in frames:
        assert stream.partial_fit(frame) is stream
        lower, upper = frame["y"].to_numpy(), np.where(frame["seen"] == 1, frame["y"], np.inf)
        if plain is None:
            plain = start_stream(lower, upper, family="exponential", k=2, rng=generator)
        else:
            plain = partial_fit(plain, lower, upper, rng=generator)
    np.testing.assert_array_equal(stream.params, mixture_of(plain).values)
    assert list(stream.params.index) == ["weight[1]", "weight[2]", "rate[1]", "rate[2]"]
    assert (stream.nobs, stream.n_steps) == (1800.0, 15)
    assert stream.counts["right"] == sum((frame["seen"] == 0).sum() for frame in frames)
    assert stream.params["rate[1]"] > stream.params["rate[2]"]


@pytest.mark.slow
def test_it_comes_near_the_fit_of_all_rows(rng):
    frames = list(batches(rng, 60))
    stream = tg.MixtureStream("Surv(y, seen) ~ mixture(2)", family="exponential", total=7200.0)
    for frame in frames:
        stream.partial_fit(frame)
    whole = tg.fit("Surv(y, seen) ~ mixture(2)", pd.concat(frames, ignore_index=True), family="exponential")
    np.testing.assert_allclose(np.log(stream.params), np.log(whole.params), atol=0.15)
    x = np.array([0.5, 5.0, 40.0])
    np.testing.assert_allclose(stream.predictive.sf(x), whole.predictive.sf(x), atol=0.03)


def test_empty_components_of_a_process_come_last(rng):
    y = np.concatenate([rng.normal(-3, 1, 60), rng.normal(3, 1, 60)])
    stream = start_stream(y, y, k=3, weights=DirichletProcess(), method=tg.SVBCM(delay=1.0))
    location = stream.model.family.location(stream.model.view(stream.state).theta)
    np.testing.assert_array_equal(mixture_of(stream).order, np.argsort(location))
    middle = int(np.argsort(location)[1])
    counts, plain = np.where(np.arange(3) == middle, 0.4, 60.0), replace(stream.model, weights=Dirichlet())
    assert order_components(stream.model, stream.state, counts)[2] == middle
    assert order_components(plain, stream.state._replace(weights=np.ones(3)), counts)[1] == middle


def test_a_bad_batch_changes_nothing(rng):
    first, second = list(batches(rng, 2))
    stream = tg.MixtureStream("Surv(y, seen) ~ mixture(2)", family="exponential").partial_fit(first)
    before = stream.params
    with pytest.raises(DataError, match="negative"):
        stream.partial_fit(second.assign(y=-1.0))
    with pytest.raises(FormulaError, match="no column 'seen'"):
        stream.partial_fit(second[["y"]])
    pd.testing.assert_series_equal(stream.params, before)
    assert stream.n_steps == 1


def test_streams_that_make_no_sense():
    with pytest.raises(SpecError, match="one number"):
        tg.MixtureStream("y ~ mixture(range(1, 3))")
    with pytest.raises(SpecError, match="has no mixture"):
        tg.MixtureStream("y ~ x")
    with pytest.raises(SpecError, match="SVBCM"):
        tg.MixtureStream("y ~ mixture(2)", method=tg.VBCM())
    with pytest.raises(SpecError, match="not supported for mixtures"):
        tg.MixtureStream("y ~ mixture(2)", family="student")
    with pytest.raises(SpecError, match="total=-3"):
        tg.MixtureStream("y ~ mixture(2)", total=-3)
    with pytest.raises(SpecError, match="missing='foo'"):
        tg.MixtureStream("y ~ mixture(2)", missing="foo")
    with pytest.raises(SpecError, match="missing="):
        tg.MixtureStream("y ~ mixture(2)", missing=np.array([]))
    with pytest.raises(SpecError, match="weights=3"):
        tg.MixtureStream("y ~ mixture(2)", weights=3)
    for rng in ("a", -1, True, 1.5):
        with pytest.raises(SpecError, match=f"rng={rng!r}: must be None, a whole number"):
            tg.MixtureStream("y ~ mixture(2)", rng=rng)
    with pytest.raises(NotFittedError, match="partial_fit"):
        _ = tg.MixtureStream("y ~ mixture(2)").params
    assert "0 rows in 0 batches" in repr(tg.MixtureStream("y ~ mixture(2)"))


@pytest.mark.parametrize("seed", [0, 1, 2, 3])
@pytest.mark.parametrize("limit", [2.5, 3.5])
def test_a_few_batches_of_censored_rows_find_the_components(seed, limit):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(3000) < 0.5, rng.normal(-3.0, 1.0, 3000), rng.normal(3.0, 1.0, 3000))
    lower, upper = np.minimum(y, limit), np.where(y > limit, np.inf, y)
    stream = start_stream(lower[:300], upper[:300], k=2)
    for i in range(300, 3000, 300):
        stream = partial_fit(stream, lower[i : i + 300], upper[i : i + 300])
    mixture = mixture_of(stream)
    np.testing.assert_allclose(mixture.weights, 0.5, atol=0.05)
    np.testing.assert_allclose(mixture.parameters["mean"], [-3.0, 3.0], atol=0.25)
    np.testing.assert_allclose(mixture.parameters["sd"], 1.0, atol=0.2)
