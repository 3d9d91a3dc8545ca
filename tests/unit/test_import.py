"""What importing the package costs and offers."""

from support.processes import printed_by

import tobitgp as tg

HEAVY = ["narwhals", "statsmodels", "lifelines", "matplotlib", "formulaic", "sklearn", "pooch", "requests"]
HEAVY += [f"scipy.{name}" for name in ("interpolate", "optimize", "spatial", "stats")]


def test_names_are_imported_at_their_first_use_without_heavy_friends():
    code = "import sys, tobitgp; print({m for m in sys.modules if m.partition('.')[0] in ('pandas', 'scipy')})"
    assert printed_by("-c", code).strip() == "set()"
    code = f"import sys, tobitgp; tobitgp.fit, tobitgp.load, print([m for m in {HEAVY!r} if m in sys.modules])"
    assert printed_by("-c", code).strip() == "[]"


def test_public_names_are_importable_and_documented():
    for name in tg.__all__:
        assert getattr(tg, name).__doc__, name


def test_formula_and_prior_agree_on_kernels():
    from tobitgp.formula import KERNEL_NAMES
    from tobitgp.priors.kernels import KERNELS

    assert set(KERNEL_NAMES) == set(KERNELS)
