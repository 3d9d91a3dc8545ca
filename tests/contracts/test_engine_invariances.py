"""What must not matter: order of rows, size of chunks, memory, where the sites start, how copies are written down."""

import numpy as np
import pytest
from support.problems import CENSORING, VARIANTS, Data, gp, make_problem, marginals, simulate, solve, tight

from tobitgp.inference import fixed_point, partitioned, site_updates
from tobitgp.inference.evidence import evidence_gradient

pytestmark = pytest.mark.diagonal

SAME = 1e-7  # sites settle to 1e-7 and the evidence is flat there
MOMENTS = 1e-6  # where a row is far beyond its limit, a small change of site moves the mean by more
THETA = np.log([1.2, 0.6, 0.4])


@pytest.fixture(params=VARIANTS)
def name(request):
    return request.param


@pytest.fixture(params=CENSORING)
def data(request):
    return simulate(request.param, n=16, seed=3)


def settled(data, name, theta=THETA, start=None):
    problem = data.problem()
    found = solve(problem, [gp(problem, "matern52")], theta, tight(name), start)
    gradient = evidence_gradient(found, tight(name))
    return found, gradient, *marginals(found, problem)


def assert_same(first, second, order=slice(None)):
    assert first[0].evidence == pytest.approx(second[0].evidence, abs=SAME)
    np.testing.assert_allclose(first[1], second[1], rtol=0, atol=MOMENTS)
    for here, there in zip(first[2:], second[2:], strict=True):
        np.testing.assert_allclose(here, there[order], rtol=0, atol=MOMENTS)


def test_order_of_rows(data, name, rng):
    order = rng.permutation(16)
    assert_same(settled(data.take(order), name), settled(data, name), order)


@pytest.mark.usefixtures("pure")
@pytest.mark.parametrize("copies", [2, 1, 0])
@pytest.mark.parametrize("rows", [1, 5])
def test_size_of_chunks_and_kept_features(data, name, rows, copies, monkeypatch):
    whole = settled(data, name)
    monkeypatch.setattr(site_updates, "CHUNK_ROWS", rows)
    monkeypatch.setattr(fixed_point, "CACHE_BYTES", copies * 16 * whole[0].layout.row_features * 8)
    monkeypatch.setattr(fixed_point, "SOUGHT_BYTES", 0)
    partitions = settled(data, name)
    assert len(chunks(partitions[0])) > len(chunks(whole[0]))
    assert {(bool(chunk.kept), chunk.for_slopes) for chunk in chunks(partitions[0])} == {(copies > 0, copies > 1)}
    assert_same(partitions, whole)


def chunks(posterior):
    return [chunk for state in posterior.rows.items for chunk in state.chunks]


@pytest.mark.parametrize("rows", [3, 7])
def test_size_of_parts(data, name, rows, monkeypatch):
    whole = settled(data, name)
    monkeypatch.setattr(partitioned, "PART_ROWS", rows)
    partitions = settled(data, name)
    assert len(partitions[0].rows) > len(whole[0].rows) == 1
    assert_same(partitions, whole)


def test_warm_and_cold_start(data, name):
    elsewhere = settled(data, name, THETA + np.array([0.5, -0.3, 0.6]))[0]
    assert_same(settled(data, name, start=elsewhere.sites), settled(data, name))


def test_a_warm_start_keeps_its_sites(data, name):
    found = settled(data, name)[0]
    before = found.sites.copy()
    settled(data, name, THETA + 0.3, start=found.sites)
    np.testing.assert_array_equal(found.sites.lambda1, before.lambda1)
    np.testing.assert_array_equal(found.sites.lambda2, before.lambda2)


def test_weight_two_is_a_row_written_twice(data, name):
    once = Data(data.X, data.lower, data.upper, np.where(np.arange(16) < 8, 2.0, 1.0))
    twice = data.take(np.r_[0:16, 0:8])
    problem = twice.problem()
    written = solve(problem, [gp(problem, "matern52", Z=data.X)], THETA, tight(name))
    weighted = settled(once, name)
    assert weighted[0].evidence == pytest.approx(written.evidence, abs=SAME)
    for here, there in zip(weighted[2:], marginals(written, problem), strict=True):
        np.testing.assert_allclose(here, there[:16], rtol=0, atol=MOMENTS)


def test_inducing_at_all_rows_is_the_dense_prior(data, name, rng):
    problem = data.problem()
    Z = rng.permutation(np.concatenate([data.X, data.X[:5], [[9.0]]]))
    sparse = solve(problem, [gp(problem, "matern52", Z=Z)], THETA, tight(name))
    assert sparse.evidence == pytest.approx(settled(data, name)[0].evidence, abs=SAME)


def test_mirror(data, name):
    mirrored = Data(data.X, -data.upper, -data.lower, data.weight)
    here, there = settled(data, name), settled(mirrored, name)
    assert here[0].evidence == pytest.approx(there[0].evidence, abs=SAME)
    np.testing.assert_allclose(here[2], -there[2], rtol=0, atol=MOMENTS)
    np.testing.assert_allclose(here[3], there[3], rtol=0, atol=MOMENTS)


def test_units(data, name):
    """Scaling the response by a changes the evidence by log a for every exact row, and nothing else."""
    a = 7.0
    scaled = Data(data.X, a * data.lower, a * data.upper, data.weight)
    here = settled(data, name)
    problem = scaled.problem()
    # The stopping rule is in units of sigma, so even the sweeps are the same.
    there = solve(problem, [gp(problem, "matern52")], THETA + np.log([a, 1.0, a]), tight(name))
    exact = (data.lower == data.upper).sum()
    assert there.evidence == pytest.approx(here[0].evidence - exact * np.log(a), abs=SAME)
    np.testing.assert_allclose(marginals(there, problem)[0], a * here[2], rtol=0, atol=a * MOMENTS)


@pytest.mark.parametrize("name", [name for name in VARIANTS if name != "vi local"])
def test_rows_that_say_nothing(name):
    """An interval as wide as the world adds no evidence; a parabola beneath its log probability does."""
    data = simulate("left", n=10, seed=3)
    bare = settled(data, name)
    X = np.concatenate([data.X, [[0.1]]])
    problem = make_problem(X, np.append(data.lower, -1e6), np.append(data.upper, 1e6))
    more = solve(problem, [gp(problem, "matern52", Z=data.X)], THETA, tight(name))
    assert more.evidence == pytest.approx(bare[0].evidence, abs=SAME)
