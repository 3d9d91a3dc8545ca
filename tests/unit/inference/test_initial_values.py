"""Where searches start."""

import numpy as np
import pytest

from tobitgp.inference.hyperparameters import LOG_BOUND, Parameters
from tobitgp.inference.multistart import neighbours, starts


def parameters(*inputs, given=None):
    """Of terms with so many length-scales each."""
    roles = [role for d in inputs for role in ("sd", *["lengthscale"] * d)] + ["sigma"]
    k, first = len(roles), np.full(len(roles), np.nan)
    for i, value in (given or {}).items():
        first[i] = value
    return Parameters(
        tuple(map(str, range(k))), tuple(roles), np.ones(k), np.zeros(k), np.ones(k), np.ones(k, bool), first
    )


def tried(*inputs, **options):
    return np.array(starts(parameters(*inputs, **options), 99, lambda theta: 0.0))


@pytest.mark.parametrize(("inputs", "factor"), [(1, 1.0), (4, 1.0), (16, 2.0), (64, 4.0)])
def test_length_scales_of_many_inputs_begin_further_out(inputs, factor):
    """Distances grow with the root of the number of inputs, and with them what length-scales tell anything."""
    found, few = np.exp(tried(inputs)), np.exp(tried(1))
    np.testing.assert_allclose(np.unique(found[:, 1:-1].round(12)), factor * np.unique(few[:, 1].round(12)))
    np.testing.assert_allclose(found[:, [0, -1]], few[:, [0, -1]])


def test_terms_count_their_own_inputs():
    found = tried(16, 1)
    np.testing.assert_allclose(found[:, 1] - found[:, 18], np.log(2.0))


def test_what_is_given_stays_but_for_the_bounds():
    found = tried(16, given={2: 0.3, 3: 99.0, 17: -99.0})
    assert (found[:, 2] == 0.3).all()
    assert (found[:, 3] == LOG_BOUND).all()
    assert (found[:, 17] == -LOG_BOUND).all()


def test_a_weak_signal_is_a_start_more_where_it_is_ahead():
    def flat(theta):
        return float(np.exp(theta[-1]))  # the more noise the better

    few, more = (starts(parameters(1), 2, value) for value in (lambda theta: 0.0, flat))
    assert (len(few), len(more)) == (2, 3)
    assert np.exp(more[0][-1]) > 0.4 > np.exp(few[0][-1])
    assert len(starts(parameters(1), 1, flat)) == 1


def test_neighbours_differ_in_length_scales_and_noise_alone():
    here = np.log([1.0, 0.3, 0.4])
    ratios = np.exp(np.array(neighbours(parameters(1), here)) - here)
    np.testing.assert_allclose(ratios[:, 0], 1.0)
    assert ratios[:, 1].min() < 1.0 < ratios[:, 1].max()
    assert (ratios[:, 2] <= 1.0).all()
    assert neighbours(parameters(), np.log([0.4])) == []
