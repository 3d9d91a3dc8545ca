"""arviz, whose import warns of its own future, and whose names differ between generations."""

import warnings

import pytest


def load():
    """The package; tests that need it are skipped without."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip("arviz", exc_type=ImportError)


def generation(arviz):
    return int(arviz.__version__.split(".")[0])


def legacy():
    """arviz before 1.0, for numbers to compare with to the last digits."""
    arviz = load()
    if generation(arviz) >= 1:
        pytest.skip("the functions on plain arrays have other names, and other settings, from arviz 1.0 on")
    return arviz


def quietly(function, *arguments, **options):
    """What a function of arviz returns, whatever it warns of."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*arguments, **options)
