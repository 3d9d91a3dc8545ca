import pytest
from support.reference import load

CASES = {
    "pyrene_summary": ("she_pyrene", "pyrene"),
    "oahu_summary": ("oahu_arsenic", "arsenic"),
    "arsenic21_summary": ("arsenic21", "arsenic"),
}


@pytest.fixture(scope="session")
def references():
    return load("nondetects.json")["cases"]


@pytest.fixture(scope="session")
def columns():
    return load("nondetect_data.json")


@pytest.fixture(params=CASES)
def case(request, references, columns):
    """Numbers of R of one sample, its values and its flags."""
    data, name = CASES[request.param]
    return references[request.param], columns[data][name], columns[data]["censored"]
