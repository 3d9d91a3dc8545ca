"""The code of the README and of the guide runs as it stands, and the README prints what it shows."""

import re
import shlex
import subprocess
import sys
import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest

CHECKOUT = Path(__file__).parents[2]
README = (CHECKOUT / "README.md").read_text(encoding="utf-8")
PAGES = sorted([*(CHECKOUT / "docs" / "guide").glob("*.md"), *(CHECKOUT / "docs").glob("*.md")])
NUMBER = re.compile(r"-?\d+\.?\d*(?:e[-+]?\d+)?")


def blocks(text, language):
    fences = re.findall(r"^```([^\n]*)\n(?::tags:[^\n]*\n)?(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    return [code for of, code in fences if of == language]


def run(code, names):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        exec(compile(code, "page", "exec"), names)
    plt.close("all")


def codes(page):
    text = page.read_text(encoding="utf-8")
    return blocks(text, "{code-cell}") or blocks(text, "python")


@pytest.mark.slow
@pytest.mark.parametrize(
    "page", [page for page in PAGES if codes(page)], ids=lambda page: str(page.relative_to(CHECKOUT))
)
def test_code_of_pages_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {}
    for code in codes(page):
        run(code, names)


def test_readme_prints_what_it_shows(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    first, *others = blocks(README, "python")
    names = {}
    run(first, names)
    printed = capsys.readouterr().out
    (shown,) = [block for block in blocks(README, "") if block.startswith("GPResults")]
    assert NUMBER.sub("#", printed).split() == NUMBER.sub("#", shown).split()
    found, written = ([float(number) for number in NUMBER.findall(text)] for text in (printed, shown))
    np.testing.assert_allclose(found, written, rtol=5e-3, atol=2e-4)
    for code in others:
        run(code, names)


@pytest.mark.slow
def test_command_line_of_the_readme_runs(tmp_path):
    (block,) = [block for block in blocks(README, "") if "tobitgp fit" in block]
    for line in block.splitlines():
        program, *arguments = shlex.split(line)
        command = [sys.executable, *(arguments if program == "python" else ["-m", "tobitgp", *arguments])]
        subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, timeout=300)
    assert {path.name for path in tmp_path.iterdir()} == {"lung.csv", "lung.png", "lung.tgp", "predicted.csv"}


def test_the_readme_is_short():
    assert len(README.split()) <= 900
