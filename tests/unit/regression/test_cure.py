"""The likelihood of cure models on arrays: its derivatives, and where the search ends."""

import numpy as np
import pytest
from scipy.special import expit, logit

import tobitgp as tg
from tobitgp.data.outcome import Outcome
from tobitgp.likelihoods import FAMILIES
from tobitgp.regression.cure_search import cure_problem, maximise_cure
from tobitgp.regression.row_search import cured_shares

NAN = np.full(2, np.nan)


def rows(n=300, rng=0, *, late=False):
    """Log times of a simulated set, and its columns."""
    data = tg.datasets.simulate_cure(n=n, rng=rng)
    entry = np.zeros(n)
    if late:
        entry = np.random.default_rng(rng).uniform(0.0, 0.5, n) * (np.arange(n) % 2)
        data, entry = data[data["time"] > entry], entry[data["time"] > entry]
    y, seen, m = np.log(data["time"].to_numpy()), data["event"].to_numpy() == 1, len(data)
    far, one = np.full(m, np.inf), np.ones((m, 1))
    with np.errstate(divide="ignore"):
        start = np.log(entry)
    known = Outcome(
        y, np.where(seen, y, np.inf), np.where(seen, 0.0, np.inf), start, far, far, 1.0 + (np.arange(m) % 3)
    )
    return known, np.column_stack([one, data["treated"]])


def problem(family="weibull", *, late=False, known=(NAN, NAN, NAN[:1]), offsets=None, **kwargs):
    seen, H = rows(late=late, **kwargs)
    zero, one = np.zeros(len(seen)), np.ones((len(seen), 1))
    row = FAMILIES[family]
    known = (*known[:2], np.zeros(1)) if row.known_sigma else known
    offsets = (zero, zero, zero) if offsets is None else offsets
    return cure_problem(seen, (H, H, one), offsets, row.distribution, known, free_shape=row.estimate_shape)


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("family", ["lognormal", "loglogistic", "weibull", "exponential", "gengamma"])
def test_derivatives_are_those_of_the_value(family, late):
    found, h = problem(family, late=late), 1e-5
    x = 0.1 * np.random.default_rng(1).normal(size=found.to_users.shape[1])
    here = found.evaluate(x)
    for j, step in enumerate(h * np.eye(len(x))):
        up, down = found.evaluate(x + step), found.evaluate(x - step)
        assert here.gradient[j] == pytest.approx((up.value - down.value) / (2 * h), rel=1e-6, abs=2e-4)
        assert here.hessian.corner[j] == pytest.approx((up.gradient - down.gradient) / (2 * h), rel=1e-5, abs=2e-3)


def test_every_start_ends_at_the_same_maximum():
    fit, ends = maximise_cure(problem(), scores=True, max_iter=100)
    assert fit.message == "converged"
    assert len(ends) == 3
    assert all(end.converged for end in ends)
    assert [end.log_likelihood for end in ends] == pytest.approx([fit.log_likelihood] * 3, abs=1e-9)
    weight = problem().seen.weight
    assert weight @ fit.scores == pytest.approx(np.zeros(5), abs=1e-6)


def test_known_parameters_stay():
    known = (np.array([np.nan, 0.3]), np.array([-0.8, np.nan]), np.array([np.log(0.8)]))
    fit, _ = maximise_cure(problem(known=known), scores=False, max_iter=100)
    assert fit.coefficients[1] == 0.3
    assert fit.gamma[[0, 2]].tolist() == [-0.8, np.log(0.8)]
    assert fit.free.tolist() == [True, False, False, True, False]
    free, _ = maximise_cure(problem(), scores=False, max_iter=100)
    assert fit.log_likelihood < free.log_likelihood


def test_an_offset_moves_the_intercepts():
    n = len(rows()[0])
    plain, _ = maximise_cure(problem(), scores=False, max_iter=100)
    offsets = (np.full(n, 0.7), np.full(n, -0.4), np.zeros(n))
    moved, _ = maximise_cure(problem(offsets=offsets), scores=False, max_iter=100)
    assert moved.log_likelihood == pytest.approx(plain.log_likelihood, abs=1e-9)
    assert plain.coefficients - moved.coefficients == pytest.approx([0.7, 0.0], abs=1e-6)
    assert plain.gamma - moved.gamma == pytest.approx([-0.4, 0.0, 0.0], abs=1e-6)


def test_the_tail_of_kaplan_and_meier_is_close_to_the_fraction():
    seen, _ = rows(n=5000)
    fit, ends = maximise_cure(problem(n=5000), scores=False, max_iter=100)
    assert cured_shares(seen)[0] == pytest.approx(ends[0].cured, abs=0.02)
    assert ends[0].cured == pytest.approx(0.5 * (expit(-0.8) + expit(0.2)), abs=0.03)
    assert fit.gamma[0] == pytest.approx(-0.8, abs=0.15)
    assert abs(logit(ends[0].cured)) < 1.0
