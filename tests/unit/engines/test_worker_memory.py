"""Pages that a task frees stay until it ends, where dask has the system take them back at once."""

import os
import subprocess
import sys

import pytest

FAULTS = """
import resource

import numpy as np

from tobitgp.engines.worker_memory import keep_pages


def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(60):
        np.ones(250_000)  # 2 MB, almost 500 pages
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


def kept():
    with keep_pages():
        with keep_pages():
            faults()
        return faults()


print(faults(), kept(), faults())
"""


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="pages are counted on Linux")
def test_freed_pages_stay_within_a_task():
    environment = {**os.environ, "MALLOC_TRIM_THRESHOLD_": "65536"}
    found = subprocess.run([sys.executable, "-c", FAULTS], env=environment, capture_output=True, text=True, check=True)
    before, kept, after = map(int, found.stdout.split())
    assert kept < 1500
    assert min(before, after) > 15_000
