"""Chains of base classes are short."""

import importlib
import inspect
from pathlib import Path

import tobitgp

PACKAGE = Path(tobitgp.__file__).parent
MOST = 3


def classes_of_the_package():
    for path in PACKAGE.rglob("*.py"):
        name = ".".join(("tobitgp", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__")
        if path.name != "__main__.py":
            found = inspect.getmembers(importlib.import_module(name), inspect.isclass)
            yield from (one for _, one in found if one.__module__ == name)


def test_no_class_has_more_than_three_of_the_package_in_its_chain():
    chains = {
        one: [base for base in one.__mro__ if base.__module__.startswith("tobitgp")] for one in classes_of_the_package()
    }
    assert len(chains) > 300
    assert {one: chain for one, chain in chains.items() if len(chain) > MOST} == {}
