"""One list of commands: `make check` and `python bootstrap.py test` run the same, `make docs` and its `docs` too."""

import runpy
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
@pytest.mark.parametrize(("target", "job"), [("check", "test"), ("docs", "docs")])
def test_make_and_bootstrap_agree(target, job):
    command = ["make", "--no-print-directory", "--dry-run", target, "PYTHON=python"]
    dry_run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    made = [tuple(shlex.split(line)) for line in dry_run.splitlines()]
    commands = runpy.run_path(str(ROOT / "bootstrap.py"))["COMMANDS"][job]
    assert made == [("python", *words) for words in commands]
