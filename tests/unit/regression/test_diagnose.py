"""Likelihoods without a maximum end, and say why."""

import re

import numpy as np
import pytest
from support.distributions import DISTRIBUTIONS
from support.responses import response

from tobitgp.data.outcome import outcome
from tobitgp.regression import maximise

INF = np.inf
N = 40
RNG = np.random.default_rng(5)
X = RNG.normal(size=N)
H = np.column_stack([np.ones(N), X])
Y = H.sum(axis=1) + RNG.normal(size=N)
UP = X > 0.0
D = np.column_stack([H, UP.astype(float)])
ONE = np.ones((N, 1))

CASES = {
    "all left": (np.full(N, -INF), np.zeros(N), H, "left-censored.*minus infinity"),
    "all right": (Y, np.full(N, INF), H, "right-censored.*plus infinity"),
    "separation, left": (np.where(UP, -INF, Y), np.where(UP, -5.0, Y), D, "'c2' separates.*Leave it out"),
    "separation, right": (Y, np.where(UP, INF, Y), D, "'c2' separates.*Leave it out"),
    "perfect fit": (1.0 + 2.0 * X, 1.0 + 2.0 * X, H, "sigma goes to 0.*exact rows: 40"),
    "one exact row": (np.append([3.0], np.full(N - 1, -INF)), np.append([3.0], np.full(N - 1, 5.0)), ONE, "sigma goes"),
    "one interval": (np.zeros(N), np.ones(N), ONE, "sigma goes to 0"),
    "limits that contradict": (np.where(UP, 1.0, -INF), np.where(UP, INF, -1.0), ONE, "determine sigma.*Fix sigma"),
    "signs only": (np.where(Y > 0, 0.0, -INF), np.where(Y > 0, INF, 0.0), H, "determine sigma.*probit"),
}


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
@pytest.mark.parametrize("case", CASES)
def test_no_maximum(case, distribution):
    lower, upper, columns, words = CASES[case]
    names = [f"c{j}" for j in range(columns.shape[1])]
    fit = maximise(
        outcome(response(lower, upper)), columns, distribution=DISTRIBUTIONS[distribution], names=names, scores=True
    )
    assert not fit.converged
    assert np.isfinite(fit.parameters).all()
    assert np.isfinite(fit.log_likelihood)
    assert re.search(words, fit.message)


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_a_stratum_with_one_exact_row(distribution):
    alone = (np.argmax(Y) == np.arange(N)).astype(float)
    rows = response(np.where(Y > 0.0, Y, -INF), np.maximum(Y, 0.0))
    fit = maximise(
        outcome(rows),
        np.column_stack([H, alone]),
        W=np.column_stack([np.ones(N), alone]),
        distribution=DISTRIBUTIONS[distribution],
    )
    assert not fit.converged
    assert "sigma of the 1 row, told from the others by column 1, goes to 0" in fit.message


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_rows_in_the_far_tail_of_their_window(distribution):
    y = np.random.default_rng(3).gamma(0.5, size=300)
    fit = maximise(outcome(response(y, y, entry=0.0)), np.ones((300, 1)), distribution=DISTRIBUTIONS[distribution])
    assert not fit.converged
    assert "through their window" in fit.message


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_what_has_a_maximum_after_all(distribution):
    lower, upper = np.full(N, -INF), np.zeros(N)
    lower[0] = upper[0] = 3.0
    assert maximise(
        outcome(response(lower, upper)), H, distribution=DISTRIBUTIONS[distribution]
    ).converged  # one exact row, kept up by limits
    signs = CASES["signs only"]
    assert maximise(
        outcome(response(*signs[:2])), H, distribution=DISTRIBUTIONS[distribution], fixed_gamma=np.zeros(1)
    ).converged  # a probit
    windows = response(np.floor(Y), np.floor(Y) + 1.0)
    assert maximise(outcome(windows), H, distribution=DISTRIBUTIONS[distribution]).converged


def test_columns_go_by_number_without_names():
    lower, upper, columns, _ = CASES["separation, right"]
    assert "column 2 separates" in maximise(outcome(response(lower, upper)), columns).message


def test_the_limit_of_iterations():
    fit = maximise(outcome(response(np.where(Y > 1, Y, -INF), np.maximum(Y, 1))), H, max_iter=1)
    assert not fit.converged
    assert "tg.MLE(max_iter=" in fit.message
