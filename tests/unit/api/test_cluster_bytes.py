"""What passes between a fit and its cluster, and what a worker holds, are as the page on clusters says."""

import pickle

import numpy as np
import pandas as pd
import pytest
from support.cluster import local_client

import tobitgp as tg
from benchmarks.cluster import held_by_formula, held_bytes, sent_by_formula, state_by_formula
from benchmarks.problems import surface
from tobitgp.engines import DaskPartitions

HEADERS = 1500  # bytes of a pickled message in addition to its arrays, at most
PARTS = 4


@pytest.fixture(scope="module")
def client():
    with local_client() as client:
        yield client


def pickled(value):
    return len(pickle.dumps(value, protocol=5))


def of_arrays(value):
    """Bytes of the arrays in a message."""
    buffers = []
    headers = len(pickle.dumps(value, protocol=5, buffer_callback=buffers.append))
    assert headers < HEADERS
    return sum(buffer.raw().nbytes for buffer in buffers)


def fit_counted(monkeypatch, client, rows):
    """Messages: function, arguments, values of partitions; and the bytes held for each row."""
    import dask.dataframe as dd

    monkeypatch.setattr("tobitgp.inference.search.SAMPLE_ROWS", 500)
    messages, held, by_key = [], [], {}
    submit, gather = DaskPartitions._submit, DaskPartitions._gather

    def submitted(self, run, function, args):
        values, futures = [], submit(self, run, function, args)
        messages.append((getattr(function, "__name__", ""), args, values))
        by_key.update((future.key, values) for future in futures)
        return futures

    def gathered(self, futures):
        found = gather(self, futures)
        for future, value in zip(futures, found, strict=True):
            by_key.get(future.key, []).append(value)
        return found

    monkeypatch.setattr(DaskPartitions, "_submit", submitted)
    monkeypatch.setattr(DaskPartitions, "_gather", gathered)

    def watch(stage, evaluations, value):
        if stage.startswith("fixed features"):
            held.append(sum(client.run(held_bytes).values()) / rows)

    draw = surface(rows)(0)
    tg.fit(draw.formula, dd.from_pandas(draw.train, npartitions=PARTS), method="laplace", progress=watch)
    return messages, min(held)


def named(messages, name):
    return [(args, found) for function, args, found in messages if function == name]


@pytest.mark.slow
def test_messages_and_memory_are_those_of_the_formulas(monkeypatch, client):
    rows, share = 16_000, 0.4  # of the rows of the surface is censored
    messages, held = fit_counted(monkeypatch, client, rows)
    visits = [args[0] for args, _ in named(messages, "visit") if hasattr(args[0].factor, "W")]
    M = len(visits[0].w)
    formula = sent_by_formula(M, 2)
    for q in visits:
        assert of_arrays((q,)) == formula["visit, to each worker"]
    begun = next(args for args, _ in named(messages, "begin") if len(args) == 2)
    assert of_arrays(begun) == formula["begin, to each worker"]
    of_parts = next(found for _, found in named(messages, "site_sums"))
    assert len(of_parts) == PARTS
    for found in of_parts:
        assert of_arrays(found) == formula["site_sums, from each partition"]
    least = held_by_formula(2, 1, M, share)
    assert least <= held <= least + 2 * state_by_formula(share)
    most = 8 * (M**2 + M) + HEADERS
    assert most < 8 * rows / PARTS  # so that nothing has a number for each row
    for name, _, found in messages:
        if name not in ("part_cells", "take_rows", "pick_rows"):
            assert max(map(pickled, found), default=0) <= most, name


@pytest.mark.slow
def test_maximum_likelihood_brings_the_rows_here(monkeypatch, client):
    """Once: 7 numbers of the response, p columns, an offset and a label for each row."""
    import dask.dataframe as dd

    brought, gather = [], DaskPartitions._gather

    def gathered(self, futures):
        found = gather(self, futures)
        brought.extend(map(pickled, found))
        return found

    monkeypatch.setattr(DaskPartitions, "_gather", gathered)
    rows, p = 6000, 4
    rng = np.random.default_rng(0)
    data = {f"x{j}": rng.normal(size=rows) for j in range(1, p)} | {"y": np.maximum(rng.normal(size=rows), -0.5)}
    frame = dd.from_pandas(pd.DataFrame(data), npartitions=2)
    tg.fit("y ~ x1 + x2 + x3 | censor(-0.5)", frame, method="mle")
    largest = sorted(brought)[-2:]
    assert sum(largest) / rows == pytest.approx(8 * (7 + p + 1 + 1), rel=0.1)
