"""Set up everything on a fresh machine that has Python 3.11 or newer, then do one job.

python bootstrap.py demo    fit a bundled real data set, print the summary, write the plot
python bootstrap.py test    check format, lint, types and import contracts, and run the tests
python bootstrap.py docs    build the site into out/site, every vignette executed

The environment is a folder, .venv beside this file unless --env names another. It is made when it is missing and made
again when pyproject.toml, the sources of the compiled core, the Python or the place of the checkout have changed;
otherwise the job starts at once.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent

GROUPS = {"demo": (), "test": ("dev",), "docs": ("docs",)}  # of pyproject.toml
WORKERS = ("-n", "auto", "--maxprocesses", "4", "--dist", "worksteal")
CHECKS = (
    ("-m", "ruff", "format", "--check", "."),
    ("-m", "ruff", "check", "."),
    ("-m", "mypy"),
    ("-c", "from importlinter.cli import lint_imports_command as main; main()"),
    ("-m", "pytest", "-q", *WORKERS, "-m", "not study"),
    ("-m", "pytest", "-q", *WORKERS, "--pure"),
)
SITE = (
    ("-m", "sphinx", "-W", "--keep-going", "-E", "-j", "auto", "-c", "docs", "-d", "out/doctrees", ".", "out/site"),
)
BYTECODE = {"PYTHONDONTWRITEBYTECODE": ""}  # hundreds of processes import the package, and would compile it
COMMANDS = {"test": CHECKS, "docs": SITE}  # as `make check` and `make docs`


def main() -> int:
    """Make the environment, then do the job in it; the result is the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("job", choices=list(GROUPS))
    parser.add_argument("--env", type=Path, default=ROOT / ".venv", help="folder of the environment (default: .venv)")
    options = parser.parse_args()
    if sys.version_info < (3, 11):  # noqa: UP036, this file is what an older Python meets first
        return _fail("tobitgp needs Python 3.11 or newer; this is " + sys.version.split()[0] + ".")

    folder = options.env.resolve()
    try:
        programs = make_environment(folder, GROUPS[options.job])
    except (subprocess.CalledProcessError, OSError) as error:
        return _fail(
            f"Setting up {folder} failed: {error}\n"
            "Delete that folder and try again; Debian and Ubuntu need the package python3-venv first."
        )
    if options.job == "demo":
        return subprocess.run([programs / "tobitgp", "demo"]).returncode
    for command in COMMANDS[options.job]:
        print("+ python", *command, flush=True)
        environ = {"OPENBLAS_NUM_THREADS": "1", **os.environ, **BYTECODE}
        if code := subprocess.run([programs / "python", *command], cwd=ROOT, env=environ).returncode:
            return code
    return 0


def make_environment(folder: Path, groups: tuple[str, ...]) -> Path:
    """Bring the virtual environment in ``folder`` up to date and return where its programs are.

    A folder that this script did not make is added to, never cleared.
    """
    programs = folder / ("Scripts" if os.name == "nt" else "bin")
    python = programs / ("python.exe" if os.name == "nt" else "python")
    core = ROOT / "tobitgp" / "compiled"
    sources = [ROOT / "pyproject.toml", *sorted([*core.glob("*.[ch]"), *core.glob("*.py")])]
    facts = b"".join(path.read_bytes() for path in sources) + f"{sys.version}{ROOT}{folder}".encode()
    wanted = hashlib.sha256(facts).hexdigest()
    stamp = folder / "made-by-bootstrap"
    ours = stamp.is_file()
    found = stamp.read_text().split() if ours and python.exists() else []
    current = found[:1] == [wanted]
    held = found[1:] if current else []
    if current and set(groups) <= set(held):
        return programs

    print(f"Setting up {folder} (the first time this takes a few minutes) ...", flush=True)
    if not current and (ours or not python.exists()):
        venv.EnvBuilder(clear=ours, with_pip=True, symlinks=os.name != "nt").create(folder)
    pip = [str(python), "-m", "pip", "--quiet", "--disable-pip-version-check", "install"]
    subprocess.run([*pip, "--upgrade", "pip>=25.1"], cwd=ROOT, check=True)
    subprocess.run([*pip, *(f"--group={group}" for group in groups), "--editable", "."], cwd=ROOT, check=True)
    stamp.write_text(" ".join([wanted, *sorted({*held, *groups})]) + "\n")
    return programs


def _fail(message: str) -> int:
    print(message, file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
