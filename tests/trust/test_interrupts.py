"""Ctrl-C ends the process by KeyboardInterrupt and leaves neither files nor workers."""

import os
import signal
import subprocess
import sys
import time

import pytest
from support.processes import environment

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")

DATA = """
import numpy as np, pandas as pd, tobitgp as tg
rng = np.random.default_rng(1)
x = rng.uniform(0, 9, (30_000, 2))
data = pd.DataFrame({"x": x[:, 0], "z": x[:, 1], "y": np.maximum(np.sin(x).sum(axis=1) + rng.normal(size=30_000), 0)})
FORMULA = "y ~ gp(x, z, kernel='matern12') | censor(0)"
def began(*rest):
    print("begun", flush=True)
"""
JOBS = {
    "in memory": "while True: tg.fit(FORMULA, data, progress=began)",
    "in partitions": """
import tobitgp.engines.partitions as spill
spill.LIMIT = 1000
data.to_parquet("d.parquet", row_group_size=3000)
while True: tg.fit(FORMULA, "d.parquet", progress=began)
""",
    "in two processes": """
began()
tg.cross_validate(FORMULA, data.head(4000), folds=40, n_jobs=2)
""",
    "select": """
began()
tg.select({"inducing": list(range(100, 160)), "formula": FORMULA}, data.head(8000))
""",
}


def heed_interrupts():
    """Shells start what runs in the background deaf to Ctrl-C, tests among it, and children inherit that."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def of_group(group):
    """Processes of a process group that still run, by number."""
    listed = subprocess.run(["ps", "-eo", "pid,pgid,stat"], capture_output=True, text=True, check=True).stdout
    rows = [line.split() for line in listed.splitlines()[1:]]
    return [pid for pid, pgid, stat in rows if int(pgid) == group and not stat.startswith("Z")]


@pytest.mark.slow
@pytest.mark.parametrize("job", JOBS)
def test_an_interrupt_leaves_nothing(job, tmp_path):
    work, temporary = tmp_path / "work", tmp_path / "tmp"
    work.mkdir()
    temporary.mkdir()
    if job == "in partitions":
        pytest.importorskip("pyarrow")
    process = subprocess.Popen(
        [sys.executable, "-c", DATA + JOBS[job]],
        cwd=work,
        env=environment(TMPDIR=str(temporary), JOBLIB_TEMP_FOLDER=str(temporary)),
        start_new_session=True,
        preexec_fn=heed_interrupts,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout.readline() == "begun\n", process.stderr.read()
        time.sleep(2)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        _, said = process.communicate(timeout=90)
        assert process.returncode == -signal.SIGINT, said
        assert "KeyboardInterrupt" in said
        for _ in range(100):
            if not of_group(process.pid):
                break
            time.sleep(0.1)
        assert not of_group(process.pid)
    finally:
        if of_group(process.pid):
            os.killpg(process.pid, signal.SIGKILL)
    assert list(temporary.iterdir()) == []
    assert {path.name for path in work.iterdir()} <= {"d.parquet"}
