"""One list of checks: `make check` and `python bootstrap.py test` run the same commands."""

import runpy
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
def test_make_check_and_bootstrap_agree():
    command = ["make", "--no-print-directory", "--dry-run", "check", "PYTHON=python"]
    dry_run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    made = [tuple(shlex.split(line)) for line in dry_run.splitlines()]
    checks = runpy.run_path(str(ROOT / "bootstrap.py"))["CHECKS"]
    assert made == [("python", *words) for words in checks]
