"""Record the public answers of many fits, and compare those of today with them.

python -m tests.golden make                           answers.json.gz anew, from the root of the repository
python -m tests.golden append                         fits that answers.json.gz lacks, and nothing else
python -m tests.golden compare                        differences; exit status 1 if one is neither allowed nor defended
python -m tests.golden compare --only "mixture: *"    of some fits

Recorded are the answers, and by how much the last digits of the data change them: every fit is made twice more, from
columns multiplied by 1 + 2^-51 and 1 + 5 * 2^-52. Differences that are meant are named in defended.toml, with reasons.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import sys
import time
from collections.abc import Container
from fnmatch import fnmatchcase
from importlib.metadata import version
from pathlib import Path
from typing import Any

# Before numpy is loaded: sums in the same order on every machine.
for name, value in {"OPENBLAS_NUM_THREADS": "1", "OPENBLAS_CORETYPE": "Haswell"}.items():
    os.environ.setdefault(name, value)

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))  # for what tests share
FILE = HERE / "answers.json.gz"
NUDGES = 1 + 2.0**-51, 1 + 5 * 2.0**-52


def record(only: str, *, nudge: float = 1.0, without: Container[str] = ()) -> dict[str, dict[str, Any]]:
    """Answers by fit, each plain."""
    from .answers import WITHOUT_FIT, ask, halves, recorded
    from .fits import FITS

    def answers(name: str) -> dict[str, Any]:
        if name in WITHOUT_FIT:
            return recorded(name, lambda: WITHOUT_FIT[name](*halves(nudge)))
        try:
            res, new, data, heard = FITS[name].run(nudge)
        except Exception as error:
            return {"fit": {"raises": type(error).__name__, "message": str(error)}}
        return {"warnings": ", ".join(heard)} | ask(res, new, data)

    names = [name for name in (*FITS, *WITHOUT_FIT) if fnmatchcase(name, only) and name not in without]
    return {name: answers(name) for name in names}


def versions() -> dict[str, str]:
    return {name: version(name) for name in ("numpy", "scipy", "pandas")}


def make(old: dict[str, Any] | None = None) -> None:
    """Record all fits, or those that an old record lacks."""
    from .compare import Defended, floors

    known = old or {"answers": {}, "floors": {}}
    answers = record("*", without=known["answers"])
    nudged = [record("*", nudge=factor, without=known["answers"]) for factor in NUDGES]
    floor = floors(answers, nudged, Defended.read(HERE / "defended.toml"))
    answers, floor = known["answers"] | answers, known["floors"] | floor
    recorded = {"versions": versions(), "answers": answers, "floors": floor}
    FILE.write_bytes(gzip.compress(json.dumps(recorded, separators=(",", ":")).encode(), 9, mtime=0))
    asked = sum(map(len, answers.values()))
    print(f"{len(answers)} fits, {asked} answers, {FILE.stat().st_size / 1e6:.2f} MB")


def read() -> dict[str, Any]:
    return json.loads(gzip.decompress(FILE.read_bytes()))


def compare(only: str, show: int) -> bool:
    from .compare import Defended, differences, judge

    recorded = read()
    defended = Defended.read(HERE / "defended.toml")
    if recorded["versions"] != versions():
        print(f"Recorded with {recorded['versions']}, today {versions()}.")
    old = {name: answers for name, answers in recorded["answers"].items() if fnmatchcase(name, only)}
    found = list(differences(old, record(only), defended))
    return judge(found, recorded["floors"], defended, show)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.golden")
    parser.add_argument("command", choices=["make", "append", "compare"])
    parser.add_argument("--only", default="*", help="names of fits, as 'process: *'")
    parser.add_argument("--show", type=int, default=40, help="differences of each kind to print")
    args = parser.parse_args()
    if args.command != "compare" and args.only != "*":
        parser.error("--only is for compare: the file holds all fits")
    fine = True
    if args.command != "compare":
        make(read() if args.command == "append" else None)
    else:
        fine = compare(args.only, args.show)
    print(f"{time.process_time():.0f} s of processor time")
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
