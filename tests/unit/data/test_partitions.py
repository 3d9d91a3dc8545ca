"""Partitioned data give what the same rows in memory do."""

import mmap
import os

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.partitions import (
    assert_same,
    cut_source,
    example,
    in_memory,
    partitioned,
    parts_joined,
    quietly,
    sorted_rows,
)

from tobitgp.data.sources import Given, Source
from tobitgp.engines import LocalPartitions, Store
from tobitgp.inference.assembly import block_inputs

CASES = {
    "linear": ("y ~ x + z | censor(-0.6, 1.2)", {}),
    "process": ("y ~ z + gp(x) | censor(low, 1.2)", {}),
    "zero mean": ("y ~ 0 + gp(x) + offset(off) | censor(low)", {}),
    "far": ("y ~ far + gp(far, x, ard=False) | censor(-0.6)", {}),
    "levels": ("y ~ C(g, Sum) + cat:z + C(k) + flag + gp(x, by=cat) | censor(-0.6)", {}),
    "groups": ("y ~ z + re(id) + re(g) + gp(x, by=k) | censor(-0.6)", {}),
    "splines": ("y ~ bs(log(x + 1), knots=[1, 2]) + poly(z, 2, raw=True) + I(x * z) | censor(-0.6)", {}),
    "dates": ("y ~ gp(decimal_year(when)) + z:gp(x) + gp(x, kernel='periodic', period=2) | censor(-0.6)", {}),
    "weights": ("y ~ z + gp(x) | censor(-0.6, 1.2)", {"options": {"weights": "w"}}),
    "precisions": ("y ~ z + gp(x) | censor(-0.6, 1.2)", {"options": {"weights": "w", "var_weights": "t"}}),
    "survival": ("Surv(t, event) ~ z + gp(x)", {"family": "weibull"}),
    "entry": ("Surv(entry, t, event) ~ z + gp(x)", {"family": "lognormal"}),
    "interval": ("interval(t, hi) ~ z + gp(x)", {"family": "lognormal"}),
    "open": ("interval(0 * t, hi) ~ z + gp(x)", {"family": "lognormal", "options": {"log_time": True}}),
    "text": ("text ~ gp(x) + g", {}),
    "truncated": ("y ~ gp(x) | censor(-0.6) | truncate(upper=2)", {}),
    "dropped": ("y ~ gp(x) + g | censor(-0.6)", {"options": {"censored": "drop"}}),
    "ignored": ("y ~ gp(x) + g | censor(-0.6)", {"options": {"censored": "ignore"}}),
    "fixed": ("y ~ z + g + gp(x) | censor(-0.6)", {"fixed": {"z": 0.4}}),
    "sides": ("y ~ z + gp(x) | censor(-0.6, 1.2)", {"side_noises": "shared"}),
    "own": ("y ~ half(z) + gp(half(x)) | censor(-0.6)", {"functions": {"half": lambda v: v / 2}}),
}


@pytest.fixture(scope="module")
def frame():
    return example()


@pytest.mark.parametrize("cuts", [(), (20, 40), (0, 7, 7, 31, 60)])
@pytest.mark.parametrize("name", CASES)
def test_partitions_give_the_rows_that_memory_does(frame, name, cuts):
    formula, options = CASES[name]
    (training, plan, model), theirs = quietly(in_memory, formula, frame, **options)
    (data, plan_too, sample, whole), ours = quietly(partitioned, formula, cut_source(frame, cuts), **options)
    assert ours == theirs
    assert data.counts == training.counts
    assert data.columns == training.design.columns
    assert (data.state.levels, data.state.group_levels) == (training.state.levels, training.state.group_levels)
    assert_same(data.state.coded, training.state.coded)
    assert_same(plan_too.standard, plan.standard)
    assert_same(sample.problem, model.problem)
    assert_same(sample.linear, model.linear)
    assert_same(sample.parameters, model.parameters)
    assert [gp.grouping for gp in sample.prior.gps] == [gp.grouping for gp in model.prior.gps]
    assert (whole.n, whole.weight) == (model.problem.n, pytest.approx(model.problem.weight.sum()))
    kinds, inputs = parts_joined(whole)
    assert_same(kinds, list(model.problem.rows))
    assert_same(inputs, list(block_inputs(model.problem, model.terms, model.linear, model.lines)))


@pytest.mark.parametrize("name", ["levels", "groups", "dates", "weights", "survival", "text"])
def test_facts_are_those_of_memory(frame, name):
    from tobitgp.results.views import keep_covariates

    formula, options = CASES[name]
    (training, _, _), _ = quietly(in_memory, formula, frame, **options)
    (data, *_), _ = quietly(partitioned, formula, cut_source(frame, (11, 40)), **options)
    names = list(training.state.input_names)
    theirs = training.facts(names, keep_covariates(training, frame))
    ours = data.facts(names)
    assert list(ours.columns) == list(theirs.columns)
    assert ours.mean_limits == pytest.approx(theirs.mean_limits, nan_ok=True)
    for name, column in theirs.columns.items():
        assert ours.columns[name].example == column.example
        assert_same(ours.columns[name], column)
    assert (ours.n, ours.nobs, ours.counts, ours.limits_known) == (
        theirs.n,
        theirs.nobs,
        theirs.counts,
        theirs.limits_known,
    )


@pytest.mark.parametrize("seed", [None, 3])
@pytest.mark.parametrize("size", [1, 10, 25, 59])
def test_the_sample_is_the_subset_that_memory_draws(frame, size, seed):
    from tobitgp.inference.given_parameters import GivenParameters as Asked
    from tobitgp.inference.partition_fit import assemble_partitions
    from tobitgp.likelihoods import FAMILIES

    formula = "y ~ z + re(g) + gp(x) | censor(-0.6, 1.2)"
    (_, _, model), _ = quietly(in_memory, formula, frame)
    (data, *_), _ = quietly(partitioned, formula, cut_source(frame, (9, 30, 30)))
    _, sample, _ = assemble_partitions(data.state.spec, data, FAMILIES["gaussian"], Asked.read(), size=size, rng=seed)
    if size >= model.problem.n:
        size = model.problem.n
    subset, _ = model.problem.subset(size, seed)
    assert_same(sample.problem.rows, subset.rows)
    assert_same(sample.problem.X, subset.X)
    assert_same(sample.problem.H, subset.H)
    assert_same(sample.problem.units, subset.units)


@pytest.mark.slow
@given(cuts=st.lists(st.integers(0, 60), max_size=6))
def test_cuts_do_not_matter(cuts):
    frame = example(seed=4)
    formula = "y ~ g + bs(x, knots=[5]) + re(id) + gp(x, z) | censor(low, 1.2)"
    (_, _, model), _ = quietly(in_memory, formula, frame)
    (_, _, sample, whole), _ = quietly(partitioned, formula, cut_source(frame, sorted(cuts)))
    assert_same(sample.problem, model.problem)
    for ours, theirs in zip(
        sorted_rows(sample.problem, block_inputs(sample.problem, sample.terms, sample.linear, sample.lines)),
        sorted_rows(model.problem, block_inputs(model.problem, model.terms, model.linear, model.lines)),
        strict=True,
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)
    assert whole.n == model.problem.n


def mapped(array):
    while isinstance(array, np.ndarray):
        array = array.base
    return isinstance(array, mmap.mmap)


def test_arrays_in_files_are_the_same_and_go_away(frame):
    formula, source = "y ~ g + gp(x) | censor(low, 1.2)", cut_source(frame, (20, 40))
    (_, _, model, whole), _ = quietly(partitioned, formula, source)
    store = Store(limit=0)
    (_, _, model_too, stored), _ = quietly(partitioned, formula, source, store=store)
    assert_same(model_too.problem, model.problem)
    assert_same(parts_joined(stored), parts_joined(whole))
    assert all(mapped(part.rows[0].lower) for part in stored.partitions.items)
    assert not (store.folder / "known").exists()
    if os.name == "posix":
        assert not list((store.folder / "parts").iterdir())  # so that a process that is killed leaves none
    with pytest.raises(ValueError, match="read-only"):
        stored.partitions.items[0].rows[0].lower[:] = 0.0
    store.close()
    assert not store.folder.exists()


def test_columns_that_miss_all_of_a_partition_take_their_type_from_the_others(frame):
    frame = frame.astype({"g": object})
    frame.iloc[:20, frame.columns.get_loc("g")] = None
    frame.iloc[20:40, frame.columns.get_loc("z")] = np.nan
    partitions = cut_source(frame, (20, 40))
    (_, _, model), _ = quietly(in_memory, "y ~ g + z | censor(-0.6)", frame)
    (_, _, sample, _), _ = quietly(partitioned, "y ~ g + z | censor(-0.6)", partitions)
    assert_same(sample.problem, model.problem)


def test_a_response_may_be_numbers_in_one_partition_and_text_in_another():
    values = [1.5, 2.0, 0.7, 1.1, "<0.5", "2.5", "<0.5", 3.0]
    frame = pd.DataFrame({"y": pd.Series(values, dtype=object), "x": np.arange(8.0)})
    (_, _, model), _ = quietly(in_memory, "y ~ x", frame)
    parts = [frame.iloc[:4].astype({"y": float}), frame.iloc[4:]]

    def choose(names):
        return LocalPartitions([Given(i, part[list(names)], f"partition {i}") for i, part in enumerate(parts)])

    (_, _, sample, _), _ = quietly(partitioned, "y ~ x", Source(tuple(frame.columns), choose))
    assert_same(sample.problem, model.problem)
