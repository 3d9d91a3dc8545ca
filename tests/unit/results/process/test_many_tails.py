import numpy as np
import pytest
from tobitgp.results.process.many_tails import DENSITY, LOWER, UPPER, log_values

from tobitgp.distributions.gumbel import Gumbel
from tobitgp.distributions.logistic import Logistic
from tobitgp.distributions.student import Student
from tobitgp.results.process import many_tails


@pytest.mark.parametrize("of", [UPPER, LOWER, DENSITY])
@pytest.mark.parametrize("law", [Gumbel(), Logistic(), Student(3.0)], ids=lambda law: law.name)
@pytest.mark.parametrize("spread", [(0.2, 0.5), (0.4, 0.4), (0.05, 2.0)])
def test_interpolated_values_are_the_integrals(of, law, spread, rng):
    z, t = rng.uniform(-8.0, 4.0, (3000, 100)), rng.uniform(*spread, 3000)
    z[0, :3] = [-1e100, 1e5, 60.0]
    found = log_values(of, law, z, t)
    few = np.arange(0, 3000, 300)
    want = many_tails._exactly(of, law, z[few], t[few])
    size = np.maximum(np.abs(want), 0.05)
    np.testing.assert_array_less(np.abs(found[few] - want), 5e-8 * size + 1e-300)


def test_tables_are_made_where_they_serve(rng):
    z, t = rng.uniform(-8.0, 4.0, (3000, 100)), rng.uniform(0.2, 0.5, 3000)
    for law in (Gumbel(), Logistic(), Student(3.0)):
        for of in (UPPER, LOWER, DENSITY):
            assert many_tails._interpolated(of, law, many_tails._stretched(law, z), t) is not None
    assert many_tails._interpolated(UPPER, Gumbel(), z[:5], t[:5]) is None


def test_one_value_in_all_rows_makes_no_table(rng):
    t = rng.uniform(0.2, 0.5, 30_000)
    z = np.full((30_000, 1), 0.7)
    found = log_values(UPPER, Gumbel(), z, t)
    np.testing.assert_allclose(found[:50], many_tails._exactly(UPPER, Gumbel(), z[:50], t[:50]), rtol=1e-12)


def test_rows_are_held_in_parts_and_give_the_same(rng, monkeypatch):
    z, t = rng.uniform(-8.0, 4.0, (3000, 100)), rng.uniform(0.2, 0.5, 3000)
    whole = log_values(UPPER, Logistic(), z, t)
    monkeypatch.setattr(many_tails, "_HELD", 100_000)
    np.testing.assert_allclose(log_values(UPPER, Logistic(), z, t), whole, rtol=1e-13)
