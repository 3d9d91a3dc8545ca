"""What holds for the tests and for the examples in docstrings alike."""

import gc
import os
import sys
import time

import numpy as np
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

MOST = 5.0  # seconds of the processor of a test without a mark, which should take half a second
YARDSTICK = 0.15  # seconds of yardstick() on the machine for which MOST was chosen


def pytest_addoption(parser):
    """Offer the tests without the compiled core."""
    parser.addoption("--pure", action="store_true", help="turn the compiled core off, and test what it does")


def pytest_configure(config):
    """Before anything is imported that would load it."""
    if config.getoption("--pure"):
        os.environ["TOBITGP_COMPILED"] = "0"
        if config.args_source is config.ArgsSource.TESTPATHS:
            config.args = list(WITHOUT_CORE)


def processor_seconds():
    """Of this process, its threads and the processes it waited for."""
    children = os.times()
    return time.process_time() + children.children_user + children.children_system


def yardstick():
    """Seconds of the processor of fixed work, which are more on a slow machine and on one busy with other work."""
    began, counts, values = time.process_time(), {}, np.arange(50.0)
    for number in range(150_000):
        counts[str(number % 1000)] = counts.get(str(number % 1000), 0) + number
    for _ in range(20_000):
        values = np.log1p(np.exp(values - values.max()))
    return time.process_time() - began


def pytest_collection():
    """Nothing that is collected becomes garbage: looking for it would take a third of the time."""
    gc.disable()


def pytest_collection_finish():
    """Nor does what was collected, so that no test waits until all of it is searched."""
    gc.freeze()
    gc.enable()


@pytest.hookimpl(tryfirst=True)  # before what is slow is left out
def pytest_collection_modifyitems(items):
    """Mark as slow the cases of a test that say so, and what is off the diagonal of a product of parameters.

    Of products of three parameters and more, a third is slow, in which the values of two occur together, and the rest
    are studies.
    """
    tests = {}
    for item in items:
        if not hasattr(item, "callspec"):
            continue
        slow = any(item.callspec.id in mark.args for mark in item.iter_markers("slow_cases"))
        if slow or any(item.callspec.id not in mark.args for mark in item.iter_markers("quick_cases")):
            item.add_marker("slow")
        if item.get_closest_marker("diagonal"):
            tests.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for members in tests.values():
        places = np.transpose([places_along(members, names) for names in axes(members[0])])
        steps = np.arange(places.max() + 1)[:, None] % (places.max(axis=0) + 1)
        diagonal = {tuple(step) for step in steps}
        for item, place in zip(members, places, strict=True):
            if tuple(place) not in diagonal:
                item.add_marker("slow")
                if len(place) > 2 and place.sum() % 3:
                    item.add_marker("study")


def axes(item):
    """Names of the parameters of a test that vary together."""
    names = [mark.args[0] for mark in item.iter_markers("parametrize")]
    together = [[part.strip() for part in each.split(",")] if isinstance(each, str) else each for each in names]
    alone = set(item.callspec.params).difference(*together)
    return [*together, *([name] for name in sorted(alone))]


def places_along(items, names):
    """Number of the values of an axis in each test, in order of occurrence."""
    numbers = {}
    return [numbers.setdefault(tuple(id(item.callspec.params[name]) for name in names), len(numbers)) for item in items]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item):
    """Note what the fixtures of a test take."""
    began = processor_seconds()
    result = yield
    item.user_properties.append(("setup", processor_seconds() - began))
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """Note what a test takes; one without a mark fails if that is much. Without the core or under a tracer all do."""
    began = processor_seconds()
    result = yield
    spent = processor_seconds() - began
    item.user_properties.append(("processor", spent))
    traced = item.config.getoption("--pure") or item.config.pluginmanager.hasplugin("_cov")
    marked = {"slow", "study"} & {mark.name for mark in item.iter_markers()}
    if spent > MOST and not traced and not marked and (usual := spent * YARDSTICK / yardstick()) > MOST:
        words = f"took {usual:.1f} s of the processor of a usual machine, {spent:.1f} s of this one"
        pytest.fail(f"{words}: mark it as slow, or make it smaller", pytrace=False)
    return result


@pytest.fixture(autouse=True)
def no_figures_left():
    """Figures that a test leaves open would count against another one: matplotlib warns of the twenty-first."""
    yield
    if pyplot := sys.modules.get("matplotlib.pyplot"):
        pyplot.close("all")
