"""Derivatives by jets beside those of 50-digit arithmetic."""

import mpmath as mp
import numpy as np
import pytest

from tobitgp.errors import SpecError
from tobitgp.numerics.jets import (
    Jet,
    chain,
    gammaln,
    linear,
    log_bessel,
    log_complement,
    log_expit,
    logaddexp,
    scatter,
    variables,
)

N = 7
A = np.random.default_rng(3).normal(size=N)


def expit(x):
    return 1 / (1 + mp.exp(-x))


# Formulas of three parameters, as they are written for jets, and for numbers of mpmath.
FORMULAS = {
    "sum": (lambda x, y, z: x + 2.0 - A * y - z + y, lambda x, y, z, a: x + 2 - a * y - z + y),
    "product": (lambda x, y, z: x * y * z - x * x * y, lambda x, y, z, a: x * y * z - x * x * y),
    "location and scale": (
        lambda x, y, z: np.exp((A - x) * np.exp(-y)) + z,
        lambda x, y, z, a: mp.exp((a - x) * mp.exp(-y)) + z,
    ),
    "log": (lambda x, y, z: np.log(np.exp(x) + y * y) * z, lambda x, y, z, a: mp.log(mp.exp(x) + y * y) * z),
    "log1p": (lambda x, y, z: np.log1p(np.exp(x + y) * A * A), lambda x, y, z, a: mp.log1p(mp.exp(x + y) * a * a)),
    "expit": (lambda x, y, z: log_expit(x * y) - log_expit(-z), lambda x, y, z, a: mp.log(expit(x * y) / expit(-z))),
    "gamma": (lambda x, y, z: gammaln(np.exp(x) + np.exp(y)), lambda x, y, z, a: mp.loggamma(mp.exp(x) + mp.exp(y))),
    "sum of exponentials": (
        lambda x, y, z: logaddexp(x * y, z - x),
        lambda x, y, z, a: mp.log(mp.exp(x * y) + mp.exp(z - x)),
    ),
    "complement": (
        lambda x, y, z: log_complement(-np.exp(x * z) - y * y),
        lambda x, y, z, a: mp.log1p(-mp.exp(-mp.exp(x * z) - y * y)),
    ),
    "bessel": (
        lambda x, y, z: log_bessel(x * x + y * y) + log_bessel(1e-4 * z * z) + log_bessel(900.0 + z * z),
        lambda x, y, z, a: (
            mp.log(mp.besseli(0, mp.sqrt(x * x + y * y)))
            + mp.log(mp.besseli(0, mp.sqrt(mp.mpf(1e-4)) * z))
            + mp.log(mp.besseli(0, mp.sqrt(900 + z * z)))
        ),
    ),
    "direction": (lambda x, y, z: np.arctan2(x * z, y), lambda x, y, z, a: mp.atan2(x * z, y)),
    "weighted sum": (
        lambda x, y, z: linear([x, y, x * z], [A, A * A, 1.0 + A]),
        lambda x, y, z, a: a * x + a * a * y + (1 + a) * x * z,
    ),
}


def entry(jet, *parameters):
    part = jet.slope if len(parameters) == 1 else jet.bend
    return np.broadcast_to(part.get(parameters[0] if len(parameters) == 1 else parameters, 0.0), jet.value.shape)


@pytest.mark.parametrize("which", FORMULAS)
def test_derivatives_are_those_of_many_digits(which):
    of_jets, of_numbers = FORMULAS[which]
    x = 0.8 * np.random.default_rng(8).normal(size=(3, N))
    jet = of_jets(*variables(list(x)))
    with mp.workdps(50):
        for row in range(N):
            at, a = tuple(mp.mpf(value) for value in x[:, row]), mp.mpf(A[row])

            def of(*x, a=a):
                return of_numbers(*x, a)

            assert jet.value[row] == pytest.approx(float(of(*at)), rel=1e-13, abs=1e-14)
            for i in range(3):
                order = [int(k == i) for k in range(3)]
                assert entry(jet, i)[row] == pytest.approx(float(mp.diff(of, at, tuple(order))), rel=1e-12, abs=1e-13)
                for j in range(i, 3):
                    twice = tuple(one + (k == j) for k, one in enumerate(order))
                    assert entry(jet, i, j)[row] == pytest.approx(float(mp.diff(of, at, twice)), rel=1e-12, abs=1e-13)


def test_relative_precision_where_values_are_tiny_or_huge():
    (x,) = variables([np.array([-700.0, -40.0, 40.0, 700.0])])
    share = log_expit(x)
    np.testing.assert_allclose(share.slope[0], [1.0, 1.0, np.exp(-40.0), np.exp(-700.0)], rtol=1e-15)
    np.testing.assert_allclose(share.bend[0, 0], -np.exp([-700.0, -40.0, -40.0, -700.0]), rtol=1e-15)
    both = logaddexp(x, 0.0 * x)
    np.testing.assert_allclose(both.slope[0], np.exp([-700.0, -40.0, 0.0, 0.0]), rtol=1e-15)
    (x,) = variables([np.array([-700.0, -1e-8, -1e-100])])
    with np.errstate(divide="ignore"):
        left = log_complement(x)
    np.testing.assert_allclose(left.slope[0], [-np.exp(-700.0), -1e8 + 0.5, -1e100], rtol=1e-15)
    np.testing.assert_allclose(left.value, [-np.exp(-700.0), np.log(1e-8), np.log(1e-100)], rtol=1e-9)


def test_derivatives_that_are_0_are_not_there():
    x, y, z = variables([np.ones(4)] * 3)
    found = (np.arange(4.0) - x) * np.exp(-y)
    assert set(found.slope) == {0, 1}
    assert set(found.bend) == {(0, 1), (1, 1)}
    assert x.slope == {0: 1.0}
    assert (x + z).bend == {}
    assert set((log_expit(z) + found).bend) == {(0, 1), (1, 1), (2, 2)}


def test_nothing_is_changed_in_place():
    x, y = variables([np.ones(3), 2.0 * np.ones(3)])
    a = x * y
    before = {key: np.array(value) for key, value in {**a.slope, **a.bend}.items()}
    rows = np.arange(3)
    scatter(3, [(rows, a), (rows, a)], minus=[(rows, a + a * x)])
    for key, value in {**a.slope, **a.bend}.items():
        np.testing.assert_array_equal(value, before[key])


def test_rows_are_taken_and_put_together():
    x = list(np.random.default_rng(5).normal(size=(2, 6)))

    def of(x, y):
        return np.exp(x) * y + x

    whole, rows = of(*variables(x)), np.array([4, 0, 3])
    rest = np.setdiff1d(np.arange(6), rows)
    some = of(*variables([each[rows] for each in x]))
    taken = whole.take(rows)
    others = whole.take(rest)
    together = scatter(6, [(rows, some), (rest, others), (rest, others)], minus=[(rest, others)])
    for pair in ((taken, some), (together, whole)):
        np.testing.assert_allclose(pair[0].value, pair[1].value, rtol=1e-14)
        for part in ("slope", "bend"):
            one, other = (getattr(jet, part) for jet in pair)
            assert set(one) == set(other)
            for key, value in other.items():
                np.testing.assert_allclose(one[key], value, rtol=1e-14)


def test_functions_without_a_rule_are_refused():
    (x,) = variables([np.ones(3)])
    for call in (lambda: np.sin(x), lambda: np.add.reduce(x), lambda: np.exp(x, out=np.ones(3))):
        with pytest.raises((TypeError, SpecError)):
            call()


def test_a_function_of_three_numbers():
    """``a b c`` by its own derivatives beside products."""
    x = variables(list(np.random.default_rng(2).normal(size=(3, 5))))
    a, b, c = (np.exp(one) * other for one, other in zip(x, (x[1], x[2], x[0]), strict=True))
    want = a * b * c
    second = {(0, 1): c.value, (0, 2): b.value, (1, 2): a.value}
    first = [b.value * c.value, a.value * c.value, a.value * b.value]
    found = chain([a, b, c], a.value * b.value * c.value, first, second)
    assert isinstance(found, Jet)
    for part in ("slope", "bend"):
        for key, value in getattr(want, part).items():
            np.testing.assert_allclose(getattr(found, part)[key], value, rtol=1e-12)
