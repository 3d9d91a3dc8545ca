import numpy as np
import pytest
from hypothesis import settings

from tobitgp.compiled import library
from tobitgp.engines import single_blas_thread

# The same examples every time: a failure elsewhere is a failure here.
settings.register_profile("fixed", derandomize=True, deadline=None)
settings.load_profile("fixed")


@pytest.fixture
def rng():
    return np.random.default_rng(20260720)


@pytest.fixture(scope="session", autouse=True)
def one_blas_thread():
    """Threads of BLAS cost far more than they bring at the sizes of the tests."""
    with single_blas_thread():
        yield


@pytest.fixture
def pure(monkeypatch):
    """No compiled core, whether there is one or not."""
    monkeypatch.setattr(library, "load", lambda: None)
