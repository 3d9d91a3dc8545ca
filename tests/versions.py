"""Run tests with the oldest, or the newest, releases that pyproject.toml allows, in an environment of their own.

python tests/versions.py oldest                        the quick tests
python tests/versions.py newest tests/unit/data -x     what pytest is to be given, in place of all tests
python tests/versions.py newest --with "pandas>=3"     a release that the newest of another dependency keeps out
python tests/versions.py oldest --show                 the releases alone

Oldest is the last patch of each minimum, as ``numpy>=1.26`` means 1.26.*; a minimum of three numbers is taken as it
stands. Choose the Python by calling the script with it: the oldest releases need 3.11. The environment is a temporary
folder that goes at the end; ``--env FOLDER`` keeps one.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import tomllib
import venv
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TOOLS = (
    "pytest>=8",
    "pytest-xdist>=3.6",
    "pytest-cov>=5",
    "hypothesis>=6.100",
    "mpmath>=1.3",
    "hatchling>=1.27",
    "maketables>=0.2",
    "polars>=1.20",
    "duckdb>=1.1",
)
EXTRAS = "parquet,dask,arviz,sklearn"
# Old releases warn of what has changed below them since, and say nothing of this package.
CALM = ("-W", "ignore::DeprecationWarning", "-W", "ignore::PendingDeprecationWarning", "-W", "ignore::FutureWarning")


def oldest() -> Iterator[str]:
    """Constraints of pip, one for each dependency and extra."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for line in chain(project["dependencies"], *project["optional-dependencies"].values()):
        name, least = re.fullmatch(r"([\w-]+)(?:\[.*\])?>=([\d.]+)", line).groups()
        yield f"{name}=={least}" + ("" if least.count(".") > 1 else ".*")


def main() -> int:
    """Make the environment and run pytest in it; the result is the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("which", choices=["oldest", "newest"])
    parser.add_argument("--with", dest="more", action="append", default=[], help="a constraint of pip's more")
    parser.add_argument("--env", type=Path, help="keep the environment in this folder")
    parser.add_argument("--show", action="store_true", help="print the constraints and stop")
    options, tests = parser.parse_known_args()
    constraints = "\n".join([*(oldest() if options.which == "oldest" else []), *options.more]) + "\n"
    if options.show:
        print(constraints, end="")
        return 0
    with tempfile.TemporaryDirectory() as scratch:
        folder = (options.env or Path(scratch) / "venv").resolve()
        listed = Path(scratch) / "constraints.txt"
        listed.write_text(constraints, encoding="utf-8")
        venv.EnvBuilder(with_pip=True, symlinks=os.name != "nt").create(folder)
        python = str(folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python"))
        pip = [python, "-m", "pip", "--quiet", "install", "--upgrade", "--prefer-binary", "-c", str(listed)]
        subprocess.run([*pip, "--editable", f"{ROOT}[{EXTRAS}]", *TOOLS], check=True)
        subprocess.run([python, "-m", "pip", "list"], check=True)
        calm = CALM if options.which == "oldest" else ()
        environment = {"OPENBLAS_NUM_THREADS": "1", **os.environ}
        return subprocess.run([python, "-m", "pytest", "-q", *calm, *tests], cwd=ROOT, env=environment).returncode


if __name__ == "__main__":
    sys.exit(main())
