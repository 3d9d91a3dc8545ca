"""What holds for the tests and for the examples in docstrings alike."""

import os
import sys

import pytest

os.environ["MPLBACKEND"] = "Agg"


@pytest.fixture(autouse=True)
def no_figures_left():
    """Figures that a test leaves open would count against another one: matplotlib warns of the twenty-first."""
    yield
    if pyplot := sys.modules.get("matplotlib.pyplot"):
        pyplot.close("all")
