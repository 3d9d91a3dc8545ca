"""Rows cut into parts and brought back in order."""

import numpy as np
import pytest
from support.problems import gp, make_problem, simulate, solve

from tobitgp.inference import METHODS, partitioned
from tobitgp.inference.evidence import sites_of
from tobitgp.inference.partitioned import Sites, cut, examples
from tobitgp.priors.structure import Inputs


@pytest.fixture
def problem():
    data = simulate("mixed", n=50, seed=1)
    return make_problem(data.X, data.lower, data.upper, np.arange(1.0, 51.0), code=(np.arange(50) % 3,))


@pytest.mark.parametrize("rows", [100, 20, 7, 1])
def test_parts_hold_every_row_once(problem, rows, monkeypatch):
    monkeypatch.setattr(partitioned, "PART_ROWS", rows)
    whole = cut(problem, [Inputs(problem.X[0], problem.code[0])], Sites(np.arange(50.0), -np.arange(50.0)))
    assert (whole.n, whole.weight, len(whole.partitions)) == (50, problem.weight.sum(), max(1, round(50 / rows)))
    assert max(map(len, whole.partitions.items)) <= 50 / len(whole.partitions) + len(problem.rows)
    for part in whole.partitions.items:
        at = part.sites.lambda1.astype(int)
        np.testing.assert_array_equal(part.sites.lambda2, -at)
        np.testing.assert_array_equal(part.inputs[0].X, problem.X[0][at])
        np.testing.assert_array_equal(part.inputs[0].code, problem.code[0][at])
        np.testing.assert_array_equal(np.concatenate([r.weight for r in part.rows]), problem.weight[at])
    seen = np.concatenate([part.sites.lambda1 for part in whole.partitions.items])
    np.testing.assert_array_equal(np.sort(seen), np.arange(50.0))


@pytest.mark.parametrize("rows", [100, 7, 3])
def test_sites_come_back_in_the_order_of_the_problem(problem, rows, monkeypatch):
    block = gp(problem)
    want = solve(problem, [block], np.log([1.2, 0.6, 0.4]), METHODS["ep"](tol=1e-11)).sites
    monkeypatch.setattr(partitioned, "PART_ROWS", rows)
    found = solve(problem, [block], np.log([1.2, 0.6, 0.4]), METHODS["ep"](tol=1e-11))
    got = sites_of(found)
    np.testing.assert_allclose(got.lambda1, want.lambda1, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(got.lambda2, want.lambda2, rtol=1e-7, atol=1e-9)


def test_an_example_of_every_kind(problem):
    assert [len(r) for r in examples(problem.rows)] == [1] * len(problem.rows)
    assert [r.kind for r in examples(problem.rows)] == [r.kind for r in problem.rows]
    assert examples([problem.rows[0][:0]]) == ()


def test_an_example_shows_windows_that_bend():
    X = np.zeros((4, 1))
    problem = make_problem(X, np.zeros(4), np.zeros(4), window=(-1.0, np.inf))
    exits = problem.rows[0].window.exit
    assert np.isinf(examples(problem.rows)[0].window.exit).all()
    exits[2] = 3.0
    assert examples(problem.rows)[0].window.exit.tolist() == [3.0]
