import pytest
from support.hostile_files import FITS, Saved


@pytest.fixture(scope="session", params=FITS)
def saved(request, tmp_path_factory):
    """A fit of each kind, and the bytes of its file."""
    return Saved(request.param, tmp_path_factory.mktemp(request.param))
