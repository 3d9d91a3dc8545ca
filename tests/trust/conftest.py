import pytest
from support import tally
from support.hostile_files import FITS, Saved


@pytest.fixture(autouse=True)
def cases(record_property):
    """Leave the number of cases in reports."""
    tally.begin()
    yield
    record_property("cases", max(tally.tried, 1))


@pytest.fixture(scope="session", params=FITS)
def saved(request, tmp_path_factory):
    """A fit of each kind, and the bytes of its file."""
    return Saved(request.param, tmp_path_factory.mktemp(request.param))
