"""Frames cut into partitions, and what a fit sees of them beside the same rows in memory."""

import itertools
import re
import warnings

import numpy as np
import pandas as pd

from tobitgp.data.arrays import join
from tobitgp.data.margins import part_blocks
from tobitgp.data.prepare import prepare, prepare_partitions
from tobitgp.data.sources import Given, Source
from tobitgp.engines import LocalPartitions
from tobitgp.formula import parse_formula
from tobitgp.inference.assembly import plan_rows
from tobitgp.inference.given_parameters import GivenParameters as Asked
from tobitgp.inference.partition_fit import assemble_partitions, gather_parts, know_rows
from tobitgp.likelihoods import resolve_family


def cut_source(frame, cuts, make=LocalPartitions):
    """A frame cut at some positions; equal ones leave an empty partition."""
    edges = [0, *cuts, len(frame)]
    parts = [frame.iloc[a:b] for a, b in itertools.pairwise(edges)]

    def choose(names):
        return make([Given(i, part[list(names)], f"partition {i}") for i, part in enumerate(parts)])

    return Source(tuple(frame.columns), choose)


def in_memory(formula, frame, *, family="gaussian", functions=None, options=None, **given):
    training = prepare(parse_formula(formula, list(frame), functions), frame, **(options or {}))
    asked = Asked.read(**given)
    blocks = (part_blocks(training.state, scale=scale) for scale in (False, True))
    rest = asked, training.labels, training.state.effect_columns, *blocks
    plan, rows = plan_rows(training.state.spec, training.response, training.design, resolve_family(family), *rest)
    return training, plan, plan.build(rows)


def partitioned(formula, source, *, family="gaussian", functions=None, options=None, store=None, **given):
    spec = parse_formula(formula, list(source.columns), functions)
    data = prepare_partitions(spec, source, store=store, **(options or {}))
    family, asked = resolve_family(family), Asked.read(**given)
    plan, model, none = assemble_partitions(data.state.spec, data, family, asked)
    assert none is None
    known = data.partitions.map(know_rows, family.log_time, store)
    whole = gather_parts(known, plan, limits=False, store=store)
    if store is not None:
        store.forget("known")
    return data, plan, model, whole


def assert_same(ours, theirs, tolerance=1e-12):
    """Nested arrays and numbers agree."""
    if isinstance(theirs, np.ndarray):
        assert ours.shape == theirs.shape
        scale = np.abs(theirs[np.isfinite(theirs)]).max(initial=1.0) if theirs.dtype.kind == "f" else 0.0
        np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance * scale)
    elif hasattr(theirs, "__dataclass_fields__"):
        for name in theirs.__dataclass_fields__:
            assert_same(getattr(ours, name), getattr(theirs, name), tolerance)
    elif isinstance(theirs, tuple | list):
        assert len(ours) == len(theirs)
        for a, b in zip(ours, theirs, strict=True):
            assert_same(a, b, tolerance)
    elif isinstance(theirs, float):
        np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)
    elif isinstance(theirs, int | str | bool | type(None)):
        assert ours == theirs


def sorted_rows(problem, inputs):
    """Columns of the rows of each kind, in an order of their own."""
    out, start = [], 0
    for rows in problem.rows:
        columns = [rows.lower, rows.upper, rows.limit, rows.sign, rows.weight, rows.width]
        columns += [] if rows.window is None else list(rows.window)
        columns += [] if rows.instrument is None else list(rows.instrument)
        span = slice(start, start + len(rows))
        for block in inputs:
            columns += list(block.X[span].T) + ([] if block.code is None else [block.code[span]])
        out.append(np.column_stack(columns))
        start += len(rows)
    return out


def parts_joined(whole):
    """Rows of each kind of all parts, after one another in the order of the data, with their inputs."""
    parts = whole.partitions.collect(lambda part: part)
    kinds = [join([part.rows[k] for part in parts]) for k in range(len(parts[0].rows))]
    inputs = []
    for b in range(len(parts[0].inputs)):
        partitions = []
        for k in range(len(kinds)):
            for part in parts:
                start = sum(len(rows) for rows in part.rows[:k])
                partitions.append(part.inputs[b].rows(slice(start, start + len(part.rows[k]))))
        inputs.append(join(partitions))
    return kinds, inputs


def quietly(call, *args, **kwargs):
    """The result without warnings, and their texts."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = call(*args, **kwargs)
    return result, [without_places(str(item.message)) for item in caught]


def without_places(text):
    """Words without the partitions that rows are in."""
    return re.sub(r" of partition \d+", "", text)


def example(n=60, seed=0):
    """Columns of every kind, with missing values and rows of weight 0."""
    rng = np.random.default_rng(seed)
    x, z = rng.uniform(0, 10, n), rng.normal(size=n)
    g = rng.choice(["b", "a", "c"], n)
    latent = np.sin(x) + 0.4 * z + 0.5 * (g == "a") + 0.3 * rng.normal(size=n)
    frame = pd.DataFrame(
        {
            "y": np.clip(latent, -0.6, 1.2),
            "t": np.exp(latent),
            "x": x,
            "z": z,
            "far": 1e8 + x,
            "g": g,
            "cat": pd.Categorical(rng.choice(["low", "high"], n), categories=["low", "mid", "high"]),
            "k": rng.integers(1, 4, n),
            "id": rng.integers(100, 106, n),
            "flag": rng.random(n) > 0.4,
            "event": rng.integers(0, 2, n),
            "w": rng.integers(0, 4, n).astype(float),
            "off": rng.normal(size=n),
            "low": np.where(rng.random(n) > 0.5, -0.6, -0.5),
            "when": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 2000, n), unit="D"),
            "text": [f"<{0.5}" if v < 0.5 else f"{v:.3f}" for v in latent],
        },
        index=[f"r{i}" for i in range(n)],
    )
    frame["hi"] = frame["t"] + rng.choice([0.0, 0.5, np.inf], n)
    frame["entry"] = 0.2 * frame["t"]
    holes = rng.choice(n, 6, replace=False)
    frame.loc[frame.index[holes[:2]], "z"] = np.nan
    frame.loc[frame.index[holes[2:4]], "y"] = np.nan
    frame.loc[frame.index[holes[4:]], "g"] = None
    return frame
