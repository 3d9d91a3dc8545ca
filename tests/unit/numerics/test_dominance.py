import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tobitgp.numerics.nonparametric import mass_below


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(0, 40), levels=st.integers(1, 50))
def test_it_is_the_sum_by_definition(seed, n, levels):
    rng = np.random.default_rng(seed)
    ranks, weight = rng.integers(0, levels, n), rng.integers(0, 5, n).astype(float)
    first, below = rng.integers(0, n + 1, 30), rng.integers(0, levels + 3, 30)
    want = [weight[:f][ranks[:f] < b].sum() for f, b in zip(first, below, strict=True)]
    assert np.array_equal(mass_below(ranks, weight, first, below), want)
