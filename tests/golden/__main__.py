"""Record the public answers of many fits, and compare those of today with them.

python -m tests.golden make                           answers.json.gz anew, from the root of the repository
python -m tests.golden compare                        differences; exit status 1 if one is neither allowed nor defended
python -m tests.golden compare --only "mixture: *"    of some fits (both commands)

Recorded are the answers, and by how much the last digits of the data change them: every fit is made a second time from
columns multiplied by 1 + 2^-51. Differences that are meant are named in defended.toml, with their reasons.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import sys
import time
import tomllib
from fnmatch import fnmatchcase
from importlib.metadata import version
from pathlib import Path
from typing import Any

# Before numpy is loaded: sums in the same order on every machine.
os.environ |= {"OPENBLAS_NUM_THREADS": "1", "OPENBLAS_CORETYPE": "Haswell"}

HERE = Path(__file__).parent
FILE = HERE / "answers.json.gz"


def record(only: str, *, nudge: bool = False) -> dict[str, dict[str, Any]]:
    """Answers by fit, each plain."""
    from .answers import WITHOUT_FIT, ask, recorded
    from .fits import FITS

    def answers(name: str) -> dict[str, Any]:
        if name in WITHOUT_FIT:
            return recorded(name, WITHOUT_FIT[name])
        try:
            res, new, data, heard = FITS[name].run(nudge)
        except Exception as error:
            return {"fit": {"raises": type(error).__name__, "message": str(error)}}
        return {"warnings": ", ".join(heard)} | ask(res, new, data)

    names = [name for name in (*FITS, *WITHOUT_FIT) if fnmatchcase(name, only)]
    out = {}
    for i, name in enumerate(names):
        print(f"\r{i + 1}/{len(names)} {name:60}", end="", file=sys.stderr)
        out[name] = answers(name)
    print(f"\r{'':72}\r", end="", file=sys.stderr)
    return out


def versions() -> dict[str, str]:
    return {name: version(name) for name in ("numpy", "scipy", "pandas")}


def make(only: str) -> None:
    from .compare import floors

    answers = record(only)
    recorded = {"versions": versions(), "answers": answers, "floors": floors(answers, record(only, nudge=True))}
    FILE.write_bytes(gzip.compress(json.dumps(recorded, separators=(",", ":")).encode(), 9, mtime=0))
    asked = sum(map(len, answers.values()))
    print(f"{len(answers)} fits, {asked} answers, {FILE.stat().st_size / 1e6:.2f} MB")


def compare(only: str, show: int) -> bool:
    from .compare import Defended, differences, judge

    recorded = json.loads(gzip.decompress(FILE.read_bytes()))
    read = tomllib.loads((HERE / "defended.toml").read_text())
    defended = Defended(tuple(read.get("defended", ())), read.get("columns"), read.get("words"))
    if recorded["versions"] != versions():
        print(f"Recorded with {recorded['versions']}, today {versions()}.")
    old = {name: answers for name, answers in recorded["answers"].items() if fnmatchcase(name, only)}
    found = list(differences(old, record(only), defended))
    return judge(found, recorded["floors"], defended, show)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.golden")
    parser.add_argument("command", choices=["make", "compare"])
    parser.add_argument("--only", default="*", help="names of fits, as 'process: *'")
    parser.add_argument("--show", type=int, default=40, help="differences of each kind to print")
    args = parser.parse_args()
    fine = True
    if args.command == "make":
        make(args.only)
    else:
        fine = compare(args.only, args.show)
    print(f"{time.process_time():.0f} s of processor time")
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
