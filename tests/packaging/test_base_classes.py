"""Chains of base classes are short."""

import re
from pathlib import Path

import tobitgp

PACKAGE = Path(tobitgp.__file__).parent
OF_THE_CORE = PACKAGE / "compiled" / "interface.py"  # structures of C, which have names of their own
MOST = 3  # classes of the package, whose names are unique (test_unique_names.py)
DEFINITION = re.compile(r"^ *class (\w+)(?:\(([^()]*)\))?:", re.MULTILINE)


def bases_of_classes():
    for path in set(PACKAGE.rglob("*.py")) - {OF_THE_CORE}:
        for name, bases in DEFINITION.findall(path.read_text(encoding="utf-8")):
            yield name, [base.split("[")[0].split(".")[-1].strip() for base in bases.split(",")]


def test_no_class_has_more_than_three_of_the_package_in_its_chain():
    known = dict(bases_of_classes())

    def chain(name):
        return {name}.union(*(chain(base) for base in known[name] if base in known))

    chains = {name: chain(name) for name in known}
    assert chains["GPResults"] == {"GPResults", "Results"}
    assert len(chains) > 300
    assert {name: found for name, found in chains.items() if len(found) > MOST} == {}
