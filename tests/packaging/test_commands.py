"""One list of commands: `make check` and `python bootstrap.py test` run the same, `make docs` and its `docs` too."""

import os
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
    # A make that runs the tests hands its own variables down.
    plain = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKEOVERRIDES", "MFLAGS")}
    dry_run = subprocess.run(command, cwd=ROOT, env=plain, capture_output=True, text=True, check=True).stdout
    made = [tuple(shlex.split(line)) for line in dry_run.splitlines()]
    commands = runpy.run_path(str(ROOT / "bootstrap.py"))["COMMANDS"][job]
    assert made == [("python", *words) for words in commands]
