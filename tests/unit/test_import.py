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


OWN = ["kinds.process", "kinds.cure", "kinds.parametric", "kinds.several_call", "latent", "mixture.array_fit"]
OWN += ["inference.search", "results.competing", "results.mixture", "results.vectors", "storage", "report"]
FIRST_FIT = """
import gc, sys, tobitgp as tg
data = {"x": [0.0, 1.0, 2.0, 3.0, 4.0], "y": [0.0, 0.8, 2.1, 2.7, 4.4], "e": [1, 1, 0, 1, 1], "t": [1, 3, 2, 4, 6]}
formula, options, unused = eval(sys.argv[1])
tg.fit(formula, data, **options)
print(gc.isenabled(), [m for m in unused if m in sys.modules])
"""


@pytest.mark.parametrize(
    ("formula", "options", "unused"),
    [
        ("y ~ x | censor(0)", {}, [*HEAVY, *OWN]),
        ("Surv(t, e) ~ x", {"family": "weibull"}, [*HEAVY, *OWN]),
        ("y ~ mixture(1)", {}, [*HEAVY, "kinds.process", "latent", "inference.search", "storage", "report"]),
        ("y ~ gp(x) | censor(0)", {}, [*HEAVY[:8], "scipy.stats", "latent", "kinds.mixture", "storage", "report"]),
    ],
)
def test_first_fit_imports_nothing_of_other_kinds(formula, options, unused):
    full = [name if name in HEAVY else f"tobitgp.{name}" for name in unused]
    assert printed_by("-c", FIRST_FIT, repr((formula, options, full))).split() == ["True", "[]"]


def test_imports_leave_garbage_collection_as_it_was():
    code = "import gc, tobitgp; gc.disable(); tobitgp.fit; print(gc.isenabled())"
    assert printed_by("-c", code).split() == ["False"]


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
