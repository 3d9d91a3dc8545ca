"""Fits of every family of components can be copied by pickle, and so be sent to other processes."""

import copy
import pickle

import numpy as np
import pytest
from support.mixtures import DRAWS, RAYLEIGH

import tobitgp as tg
from tobitgp.mixture import MIXTURE_FAMILIES

RNG = np.random.default_rng(5)
OTHERS = {
    "von_mises": (MIXTURE_FAMILIES["von_mises"], RNG.uniform(-3.0, 3.0, 40)),
    "bernoulli": (MIXTURE_FAMILIES["bernoulli"], RNG.integers(0, 2, 40)),
    "binomial": (tg.Binomial(9), RNG.integers(0, 10, 40)),
    "negative binomial": (tg.NegativeBinomial(2), RNG.integers(0, 10, 40)),
    "pareto": (tg.Pareto(0.5), 0.5 + RNG.exponential(size=40)),
}
CASES = {name: (MIXTURE_FAMILIES[name], draw(RNG, 40)) for name, draw in DRAWS.items()} | OTHERS


@pytest.mark.parametrize("name", CASES)
def test_a_copy_is_the_fit(name):
    family, y = CASES[name]
    res = tg.fit("y ~ mixture(1)", {"y": y}, family=family, method=tg.EMCM(n_init=1))
    for again in (pickle.loads(pickle.dumps(res)), copy.deepcopy(res)):
        assert str(again.summary()) == str(res.summary())
        assert again.predictive.sf(1.0) == res.predictive.sf(1.0)


def test_all_named_families_are_here():
    assert {family.name for family, _ in CASES.values()} >= set(MIXTURE_FAMILIES)


def test_a_family_of_a_user_is_copied_by_its_functions():
    """As any other object with functions: those that were defined by a name."""
    with pytest.raises((pickle.PicklingError, AttributeError), match="lambda"):
        pickle.dumps(RAYLEIGH)
    named = tg.ExponentialFamily(
        "exponential rates",
        statistic=np.abs,
        log_partition=minus_log,
        natural=[(-np.inf, 0.0)],
        support=(0.0, np.inf),
    )
    again = pickle.loads(pickle.dumps(named))
    y = np.random.default_rng(6).exponential(2.0, 50)
    first, second = (tg.fit("y ~ mixture(1)", {"y": y}, family=each) for each in (named, again))
    assert first.params.equals(second.params)


def minus_log(eta):
    return -np.log(-eta)
