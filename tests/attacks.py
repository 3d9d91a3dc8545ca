"""Run each kind of attack on the package, and count cases and failures: the table of the page on trust.

python tests/attacks.py                      all of them, some minutes each
python tests/attacks.py interrupts memory    some
python tests/attacks.py --list               their names, and what pytest is given

A case is a test, or each thing tried by a test that counts them (``support/tally.py``). Lines of
``docs/trust/attacks.csv`` are replaced.
"""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

ROOT = Path(__file__).resolve().parents[1]
TABLE = ROOT / "docs" / "trust" / "attacks.csv"


@dataclass(frozen=True)
class Attack:
    """What is tried, and the files, or the versions, that try it."""

    words: str
    tests: tuple[str, ...] = ()
    versions: tuple[str, ...] = ()

    @property
    def command(self) -> list[str]:
        """Arguments of Python."""
        if self.versions:
            return ["tests/versions.py", *self.versions]
        return ["-m", "pytest", *self.tests, "-m", ""]


ATTACKS = {
    "input": Attack(
        "bad input: tables, columns, options", ("tests/trust/test_bad_input.py", "tests/trust/test_odd_input.py")
    ),
    "formulas": Attack("formulas that try to execute, hang or fill memory", ("tests/trust/test_hostile_formulas.py",)),
    "output": Attack(
        "names that try to become code in tables, pages, pictures", ("tests/trust/test_hostile_output.py",)
    ),
    "files": Attack(
        "saved fits tampered with",
        (
            "tests/trust/test_hostile_files.py",
            "tests/trust/test_hostile_archives.py",
            "tests/unit/storage/test_refusals.py",
        ),
    ),
    "commands": Attack("the command line writes only where told", ("tests/trust/test_command_line.py",)),
    "numbers": Attack("hard numbers: sizes, offsets, shares, dtypes", ("tests/trust/test_hard_numbers.py",)),
    "random": Attack(
        "random formulas on random data", ("tests/trust/test_random_fits.py", "tests/trust/test_random_models.py")
    ),
    "convergence": Attack("fits that cannot converge", ("tests/trust/test_convergence.py",)),
    "processes": Attack(
        "other processes, threads and jobs",
        ("tests/trust/test_repeatability.py", "tests/trust/test_threads.py"),
    ),
    "interrupts": Attack("Ctrl-C in the midst of fits", ("tests/trust/test_interrupts.py",)),
    "memory": Attack("a thousand fits in one process", ("tests/trust/test_memory.py",)),
    "long runs": Attack("marginals against long elliptical slice sampling", ("tests/simulation/test_long_runs.py",)),
    "oldest": Attack("all quick tests on the oldest releases allowed", versions=("oldest",)),
    "newest": Attack(
        "all quick tests on the newest releases, pandas 3 among them", versions=("newest", "--with", "pandas>=3")
    ),
}


def run(attack: Attack) -> dict[str, object]:
    """Run one; its line of the table."""
    begun = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        more = ["-q", f"--junitxml={report}", *(["-n", "2"] if attack.versions else [])]
        environment = {"OPENBLAS_NUM_THREADS": "1", **os.environ}
        command = [sys.executable, *attack.command, *more]
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
        if not report.exists():
            raise SystemExit(done.stdout[-2000:] + done.stderr[-2000:])
        suite = ET.parse(report).getroot().find("testsuite")
        tests = [case for case in suite.iter("testcase") if case.find("skipped") is None]
    failed = int(suite.get("failures")) + int(suite.get("errors"))
    if failed:
        print(done.stdout[-3000:])
    return {
        "attack": attack.words,
        "cases": sum(map(_cases, tests)),
        "failures": failed,
        "seconds": round(time.perf_counter() - begun),
        "command": shlex.join(["python", *attack.command]),
    }


def _cases(test: ET.Element) -> int:
    """What a test says that it tried, or one."""
    said = test.find("properties/property[@name='cases']")
    return 1 if said is None else int(said.get("value", "1"))


def main() -> int:
    """Run attacks and write their lines; the result is the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="some of them; all without names")
    parser.add_argument("--list", action="store_true", help="print the names and stop")
    options = parser.parse_args()
    if unknown := set(options.names) - set(ATTACKS):
        parser.error(f"unknown: {', '.join(sorted(unknown))}; known: {', '.join(ATTACKS)}")
    failures = 0
    for name in options.names or ATTACKS:
        if options.list:
            print(f"{name}: {' '.join(ATTACKS[name].command)}")
            continue
        line = run(ATTACKS[name])
        print(name, line, flush=True)
        failures += int(str(line["failures"]))
        _write(line)
    return int(failures > 0)


def _write(line: dict[str, object]) -> None:
    """Put a line in its place in the table."""
    known = pd.read_csv(TABLE).to_dict("records") if TABLE.exists() else []
    lines = {row["attack"]: row for row in [*known, line]}
    order = [attack.words for attack in ATTACKS.values() if attack.words in lines]
    pd.DataFrame([lines[words] for words in order]).to_csv(TABLE, index=False)


if __name__ == "__main__":
    sys.exit(main())
