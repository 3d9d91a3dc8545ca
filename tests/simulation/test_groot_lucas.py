"""Groot and Lucas 2012, table 1: ten-fold error against the true function, 30 rows, 40% left-censored, 10 draws."""

import numpy as np
import pytest

import tobitgp as tg

DRAWS, FOLDS = 10, 10


def cross_validated_rmse(**options):
    """Mean over draws of the root mean squared error of held-out rows."""
    errors = []
    for seed in range(DRAWS):
        data = tg.datasets.simulate_groot_lucas(rng=seed)
        fold = np.random.default_rng(seed).permutation(len(data)) % FOLDS
        squares = []
        for k in range(FOLDS):
            res = tg.fit("y ~ gp(x, line=False) | censor(lower)", data[fold != k], **options)
            held = data[fold == k]
            squares.extend((res.predict(held, "latent") - held["f"]) ** 2)
        errors.append(np.sqrt(np.mean(squares)))
    return float(np.mean(errors))


@pytest.mark.study
@pytest.mark.parametrize("method", ["laplace", "ep", "vi"])
def test_the_tobit_gp_recovers_the_function(method):
    assert 0.5 <= cross_validated_rmse(method=method) <= 1.0


@pytest.mark.study
def test_limits_taken_as_values_do_not():
    assert 1.7 <= cross_validated_rmse(censored="ignore") <= 2.3
