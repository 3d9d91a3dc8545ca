"""Expectation propagation in f and log sigma together, against numbers of a dense implementation and differences."""

import numpy as np
import pytest
from support.two_latents import LEVEL, ORDER, THETA, dense_rows, grouped_rows, kinds, root, settle

from tobitgp.errors import NumericalError
from tobitgp.inference.pair_rules import RULES, cavities
from tobitgp.inference.pair_sites import PairRows, floored, gradient, times
from tobitgp.inference.partitioned import RowPartition, Sites
from tobitgp.likelihoods.families import FAMILIES, GaussianNoise
from tobitgp.priors.prior import DenseFeatures
from tobitgp.priors.structure import Inputs


def test_a_small_problem_has_the_evidence_and_moments_of_another_implementation():
    end, back = settle(dense_rows()), np.argsort(ORDER)
    assert end.converged
    assert end.evidence == pytest.approx(-7.145550234, abs=1e-8)
    of_f = [-0.9320659, -0.0872298, 0.8777722, 1.1867751, 0.2846168, -0.9940662]
    of_noise = [-0.9425525, -0.9640775, -0.9820373, -0.9906771, -0.9870412, -0.9725245]
    assert end.p.mean[back, 0] == pytest.approx(of_f, abs=1e-6)
    assert LEVEL + end.p.mean[back, 1] == pytest.approx(of_noise, abs=1e-6)


def test_floored_sites_have_a_fixed_point_of_their_own():
    end = settle(dense_rows(), floor=True)
    assert end.converged
    assert end.evidence == pytest.approx(-7.147613, abs=1e-6)
    assert np.linalg.eigvalsh(end.sites.lambda2).min() >= -1e-12


def test_the_posterior_is_close_to_importance_sampling():
    """A million draws gave log evidence -7.0507 with a standard error of .0027, and these means."""
    end, back = settle(dense_rows()), np.argsort(ORDER)
    assert end.evidence == pytest.approx(-7.0507, abs=0.13)
    assert end.p.mean[back, 0] == pytest.approx([-0.926, -0.085, 0.874, 1.178, 0.281, -0.987], abs=0.01)
    assert LEVEL + end.p.mean[back, 1] == pytest.approx([-0.935, -0.956, -0.974, -0.982, -0.979, -0.965], abs=0.01)
    assert end.bound(GaussianNoise(), np.exp(LEVEL)) < -7.0507
    assert end.effective == pytest.approx(np.sum(end.p.V * end.sites.lambda2), rel=1e-12)


def test_a_weight_of_two_is_two_rows():
    twice = [2.0, 1.0, 1.0, 2.0, 1.0, 1.0]
    end = settle(dense_rows(kinds(twice)))
    rows = dense_rows().rows
    copies = tuple(
        r[np.repeat(np.arange(3), kind.weight.astype(int))] for r, kind in zip(rows, kinds(twice), strict=True)
    )
    at = np.concatenate([np.repeat(np.arange(3), k.weight.astype(int)) + 3 * i for i, k in enumerate(kinds(twice))])
    part = RowPartition(copies, (Inputs(root(1.5, 0.3)[at]), Inputs(root(0.6, 0.5)[at])))
    blocks = DenseFeatures(6), DenseFeatures(6)
    long = settle(PairRows.of(part, blocks, frozenset({1}), windows=True, slopes=False))
    assert end.evidence == pytest.approx(long.evidence, abs=1e-7)


def test_floors_keep_the_slope_at_the_mean():
    rng = np.random.default_rng(2)
    L = rng.normal(size=(5, 2, 2))
    sites = Sites(rng.normal(size=(5, 2)), L + L.transpose(0, 2, 1))
    mean = rng.normal(size=(5, 2))
    found = floored(sites, mean)
    slope = [s.lambda1 - times(s.lambda2, mean) for s in (found, sites)]
    assert slope[0] == pytest.approx(slope[1], abs=1e-12)
    assert np.linalg.eigvalsh(found.lambda2).min() > -1e-12


def test_cavities_that_are_none_are_refused():
    V, mean = np.eye(2)[None], np.zeros((1, 2))
    with pytest.raises(NumericalError, match="cavity"):
        cavities(mean, V, Sites(np.zeros((1, 2)), 2.0 * V), np.ones(1))


# -- groups, residual variances, gradients ----------------------------------------------------------------------------


def test_groups_that_are_eliminated_give_what_their_columns_give():
    data = grouped_rows(THETA)
    assert data.layout.m == 2
    end = settle(data, sigma=0.4)
    A = [np.hstack([A.common, A.own.expanded().toarray()]) for A in data.A]
    B = np.eye(A[0].shape[1])
    for k in (0, 1):
        for l in (0, 1):
            B += A[k].T @ (end.sites.lambda2[:, k, l, None] * A[l])
    S = np.linalg.inv(B)
    w = S @ sum(A[k].T @ end.sites.lambda1[:, k] for k in (0, 1))
    assert end.p.q.log_det == pytest.approx(np.linalg.slogdet(B)[1], rel=1e-10)
    for k in (0, 1):
        assert end.p.mean[:, k] == pytest.approx(A[k] @ w, abs=1e-9)
        for l in (0, 1):
            assert end.p.V[:, k, l] == pytest.approx(np.einsum("ni,ij,nj->n", A[k], S, A[l]), abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("family", ["gaussian", "student"])
def test_gradients_are_those_of_differences(family):
    noise = [4.0] if family == "student" else []
    free = np.concatenate([THETA, np.log([*noise, 0.4])])

    def at(theta):
        likelihood = FAMILIES[family].likelihood.at(theta)
        return settle(grouped_rows(theta[:6]), likelihood=likelihood, sigma=np.exp(theta[-1])), likelihood

    end, likelihood = at(free)
    assert end.nats_left > 0.01  # so that what features leave counts
    found = gradient(end, RULES["ep"], likelihood, 0.4, len(noise))
    h = 1e-4 * np.eye(len(free))
    slopes = [(at(free + step)[0].evidence - at(free - step)[0].evidence) / 2e-4 for step in h]
    assert found == pytest.approx(slopes, abs=2e-5)
