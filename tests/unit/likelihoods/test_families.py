"""The registry of noise families."""

import pytest

from tobitgp.likelihoods import FAMILIES


@pytest.mark.parametrize("name", FAMILIES)
def test_row_of_the_registry(name):
    family = FAMILIES[name]
    assert family.name == name
    for view in ("tilted", "tilted_slope", "newton", "point", "expected"):
        assert callable(getattr(family.likelihood, view))


def test_log_time_families():
    assert {name for name, family in FAMILIES.items() if family.log_time} == {"lognormal"}
