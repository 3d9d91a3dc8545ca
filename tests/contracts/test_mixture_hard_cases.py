"""Rows on which a mixture might break: nothing is NaN, nothing warns, no objective falls."""

import numpy as np
import pytest
from support.hard_mixtures import HARD, ask_everything
from support.mixtures import NAMES

from tobitgp.mixture import EMCM, SVBCM, VBCM, DirichletProcess, fit_mixture

pytestmark = pytest.mark.diagonal

METHODS = {
    "vbcm": {"method": VBCM(n_init=2, max_iter=200, check=True)},
    "em": {"method": EMCM(n_init=2, max_iter=200, check=True)},
    "svbcm": {"method": SVBCM(n_steps=30, max_iter=200, statistics="sampled")},
    "dp": {"method": VBCM(n_init=1, max_iter=200, check=True), "weights": DirichletProcess()},
}
families = pytest.mark.parametrize("name", NAMES)
cases = pytest.mark.parametrize("case", HARD, ids=lambda case: case.__name__)
seeds = pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.study) for seed in (2, 3, 4))])


def attempt(name, case, how, seed):
    rng = np.random.default_rng([seed, NAMES.index(name), HARD.index(case)])
    lower, upper, weight = case(rng, name)
    says = (weight > 0.0) & ~(np.isneginf(lower) & np.isposinf(upper))
    if name != "gaussian":
        says &= (lower > -1.0 if name == "poisson" else lower > 0.0) | np.isfinite(upper)
    k = min(int(rng.integers(2, 6)), int(says.sum()))
    fit = fit_mixture(lower, upper, weight, family=name, k=k, rng=seed, **METHODS[how])
    ask_everything(fit, lower, upper, weight)


@families
@cases
@pytest.mark.slow_cases("units-poisson")
def test_a_fit_answers(name, case):
    attempt(name, case, list(METHODS)[(NAMES.index(name) + HARD.index(case)) % len(METHODS)], 0)


@pytest.mark.slow
@families
@cases
@seeds
@pytest.mark.parametrize("how", METHODS)
def test_every_method_answers(name, case, how, seed):
    attempt(name, case, how, seed)
