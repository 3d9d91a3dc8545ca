"""dir() of a fit lists public names that it has; a notebook shows its summary."""

import pytest
from support.kinds import KINDS, fitted

import tobitgp as tg
from tobitgp.errors import SpecError, UnavailableError


def has(res, name):
    try:
        getattr(res, name)
    except UnavailableError:
        return False
    except SpecError:  # of what depends on the call, as the selection among numbers of components
        return True
    return True


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.filterwarnings("ignore")
def test_it_lists_what_it_has(kind):
    res = fitted(kind)
    listed = dir(res)
    assert len(listed) == len(set(listed)) > 40
    assert [name for name in listed if name.startswith("_") or not has(res, name)] == []
    assert {"params", "summary", "predict", "check", "save"} <= set(listed)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.filterwarnings("ignore")
def test_a_notebook_shows_the_summary(kind):
    res = fitted(kind)
    assert res._repr_html_() == res.summary().as_html()


def test_the_package_lists_its_public_names():
    assert dir(tg) == sorted([*tg.__all__, "__version__"])
