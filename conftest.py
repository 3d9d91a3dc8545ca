"""What holds for the tests and for the examples in docstrings alike."""

import os
import sys

import pytest

os.environ["MPLBACKEND"] = "Agg"


def pytest_addoption(parser):
    """Offer the tests without the compiled core."""
    parser.addoption("--pure", action="store_true", help="turn the compiled core off")


def pytest_configure(config):
    """Before anything is imported that would load it."""
    if config.getoption("--pure"):
        os.environ["TOBITGP_COMPILED"] = "0"


@pytest.fixture(autouse=True)
def no_figures_left():
    """Figures that a test leaves open would count against another one: matplotlib warns of the twenty-first."""
    yield
    if pyplot := sys.modules.get("matplotlib.pyplot"):
        pyplot.close("all")
