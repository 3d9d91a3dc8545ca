"""What holds for the tests and for the examples in docstrings alike."""

import os
import sys
import time

import pytest

os.environ["MPLBACKEND"] = "Agg"

# What `pytest --pure` runs if no path is named: inference and priors are all that calls the compiled core
# (tests/packaging/test_without_core.py), so it is enough to test them, their results against exact evidence, slopes and
# posteriors, and fits of many kinds by the public functions. Everything else runs the same instructions either way.
WITHOUT_CORE = (
    "tests/unit/inference",
    "tests/unit/priors",
    "tests/unit/posterior",
    "tests/contracts/test_engine_invariances.py",
    "tests/contracts/test_evidence_accuracy.py",
    "tests/contracts/test_evidence_gradients.py",
    "tests/contracts/test_exact_gp.py",
    "tests/contracts/test_inducing_gradients.py",
    "tests/contracts/test_kernel_contracts.py",
    "tests/contracts/test_new_distribution.py",
    "tests/contracts/test_new_kernel.py",
    "tests/contracts/test_noise_evidence.py",
    "tests/contracts/test_structures.py",
    "tests/contracts/test_truncated_processes.py",
    "tests/contracts/test_matrix.py",
    "tests/contracts/test_invariances.py",
    "tests/reference",
)

MOST = 10.0  # seconds of the processor of a test without a mark, which should take one: some machines are slow


def pytest_addoption(parser):
    """Offer the tests without the compiled core."""
    parser.addoption("--pure", action="store_true", help="turn the compiled core off, and test what it does")


def pytest_configure(config):
    """Before anything is imported that would load it."""
    if config.getoption("--pure"):
        os.environ["TOBITGP_COMPILED"] = "0"
        if config.args_source is config.ArgsSource.TESTPATHS:
            config.args = list(WITHOUT_CORE)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """Note what a test takes."""
    began = time.process_time()
    result = yield
    item.user_properties.append(("processor", time.process_time() - began))
    return result


def pytest_terminal_summary(terminalreporter, config):
    """List tests that are slow and do not say so; without the core or under a tracer all are."""
    if config.getoption("--pure") or config.pluginmanager.hasplugin("_cov"):
        return
    for report in terminalreporter.getreports("passed"):
        spent = dict(report.user_properties).get("processor", 0.0)
        if spent > MOST and not {"slow", "study"} & set(report.keywords):
            terminalreporter.write_line(f"{spent:.0f} s of the processor, not marked as slow: {report.nodeid}")


@pytest.fixture(autouse=True)
def no_figures_left():
    """Figures that a test leaves open would count against another one: matplotlib warns of the twenty-first."""
    yield
    if pyplot := sys.modules.get("matplotlib.pyplot"):
        pyplot.close("all")
