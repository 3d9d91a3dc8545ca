"""What importing the package costs and offers."""

from types import ModuleType

import pytest
from support.processes import printed_by

import tobitgp as tg

HEAVY = ["narwhals", "statsmodels", "lifelines", "matplotlib", "formulaic", "sklearn", "pooch", "requests"]
HEAVY += [f"scipy.{name}" for name in ("interpolate", "optimize", "spatial", "stats")]


def test_names_are_imported_at_their_first_use_without_heavy_friends():
    code = f"""
import sys, tobitgp
print({{m for m in sys.modules if m.partition('.')[0] in ('pandas', 'scipy')}})
tobitgp.fit, tobitgp.load
print([m for m in {HEAVY!r} if m in sys.modules])
"""
    assert printed_by("-c", code).split() == ["set()", "[]"]


def test_public_names_are_importable_and_documented():
    for name in tg.__all__:
        assert getattr(tg, name).__doc__, name


def test_formula_and_prior_agree_on_kernels():
    from tobitgp.formula import KERNEL_NAMES
    from tobitgp.priors.kernels import KERNELS

    assert set(KERNEL_NAMES) == set(KERNELS)


SAME_NAMES = """
import importlib, pkgutil, sys, types
import tobitgp as tg

def names():
    rooms = [tg, *(each for each in (getattr(tg, name) for name in tg.__all__) if isinstance(each, types.ModuleType))]
    return {f"{room.__name__}.{name}": getattr(room, name) for room in rooms for name in getattr(room, "__all__", ())}

before = names() if sys.argv[1] == "before" else {}
modules = [each.name for each in pkgutil.walk_packages(tg.__path__, "tobitgp.")]
for module in sys.argv[2] == "back" and modules[::-1] or modules:
    if not module.endswith((".__main__", ".core")):
        importlib.import_module(module)
after = names()
print([name for name, value in before.items() if after[name] is not value])
print(sorted(name for name, value in after.items() if isinstance(value, types.ModuleType)))
"""


@pytest.mark.slow
@pytest.mark.parametrize("order", ["forth", "back"])
@pytest.mark.parametrize("asked", ["before", "after"])
def test_no_module_takes_the_place_of_a_public_name(asked, order):
    changed, modules = printed_by("-c", SAME_NAMES, asked, order).splitlines()
    assert changed == "[]"
    assert modules == str(sorted(f"tobitgp.{name}" for name in tg.__all__ if isinstance(getattr(tg, name), ModuleType)))
