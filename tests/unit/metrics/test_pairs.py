import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from support.survival import bounds, pairs

from tobitgp.metrics.concordance import later_masses, tied_mass


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 25))
def test_every_kind_of_row_is_ordered_as_defined(seed, n):
    rng = np.random.default_rng(seed)
    lower, upper = bounds(rng, n)
    score, weight = rng.integers(0, 5, n).astype(float), np.ones(n)
    higher, equal, less = later_masses(lower, upper, score, weight)
    found = [higher.sum(), less.sum(), equal.sum(), tied_mass(lower, upper, weight)]
    assert np.array_equal(found, pairs(lower, upper, score))


def test_zeros_of_either_sign_are_one_time():
    at = np.array([0.0, -0.0])
    assert tied_mass(at, at, np.ones(2)) == 1.0
    assert sum(mass.sum() for mass in later_masses(at, at, at, np.ones(2))) == 0.0


def test_weights_of_pairs_at_one_time_multiply():
    rng = np.random.default_rng(3)
    at, w = rng.integers(0, 6, 30).astype(float), rng.uniform(0.1, 0.9, 30)
    same = np.triu(at[:, None] == at, 1)
    assert np.isclose(tied_mass(at, at, w), w @ same @ w)
    assert tied_mass(at[:1], at[:1], w[:1]) == 0.0
    whole = rng.integers(0, 4, 30)
    each = np.repeat(at, whole)
    assert tied_mass(at, at, whole.astype(float)) == np.triu(each[:, None] == each, 1).sum()
