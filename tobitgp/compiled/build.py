"""Compile the core, and check whether a library was compiled from these sources.

A manifest next to the library holds checksums of its file, of its sources and of :mod:`tobitgp.compiled.interface`.
Only the standard library is imported, since the build of the package runs this file alone.
"""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import shutil
import subprocess
import sysconfig
import tempfile
from pathlib import Path

NAME = "core" + (sysconfig.get_config_var("SHLIB_SUFFIX") or ".so")
MANIFEST = "core.json"
FLAGS = ("-std=c11", "-O3", "-fPIC", "-fopenmp-simd", "-fno-math-errno", "-Wall", "-Wextra")


def build(folder: Path, *more: str) -> list[Path]:
    """Compile the core of a folder next to its sources, with more flags; if that fails, existing files are kept.

    Returns the files that were written.
    """
    library, manifest = folder / NAME, folder / MANIFEST
    compile_core(folder, library, *more)
    sums = {"interface": _interface(folder), "sources": _sources(folder), "library": _checksum(library)}
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        new = Path(scratch) / MANIFEST
        new.write_text(json.dumps(sums, indent=1) + "\n", encoding="utf-8")
        os.replace(new, manifest)
    return [library, manifest]


def compile_core(folder: Path, library: Path, *more: str) -> None:
    """Compile the C files of a folder into a shared library, with more flags.

    Raises OSError without a compiler, and CalledProcessError if the compilation fails.
    """
    try:
        compiler = shlex.split(os.environ.get("CC", "")) or ["cc"]
    except ValueError as error:
        raise OSError(f"CC={os.environ['CC']!r}: is not a valid command ({error}).") from None
    if shutil.which(compiler[0]) is None:
        raise FileNotFoundError(f"There is no C compiler {compiler[0]!r}.")
    sources = sorted(map(str, folder.glob("*.c")))
    if not sources:
        raise FileNotFoundError(f"There are no C sources in {folder}. Install tobitgp from its sources with pip.")
    with tempfile.TemporaryDirectory(dir=library.parent) as scratch:
        built = Path(scratch) / library.name
        subprocess.run([*compiler, *FLAGS, *more, *sources, "-shared", "-o", str(built), "-lm"], check=True)
        os.replace(built, library)


def what_is_wrong(folder: Path) -> str | None:
    """Why the library of a folder cannot be used; None if it was compiled from these sources."""
    try:
        sums = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        known = {name: str(sums[name]) for name in ("interface", "sources", "library")}
        if _checksum(folder / NAME) != known["library"]:
            return "its file is not the one that was compiled, or is incomplete"
        same = known["interface"] == _interface(folder) and _sources(folder) in ("", known["sources"])
    except (OSError, ValueError, KeyError, TypeError):
        return f"there is no {MANIFEST} that says what it was compiled from"
    return None if same else "it was compiled from other sources"


def _interface(folder: Path) -> str:
    return _checksum(folder / "interface.py")


def _sources(folder: Path) -> str:
    """Checksum of the C sources, empty where there are none, as in an installed package."""
    files = sorted([*folder.glob("*.c"), *folder.glob("*.h")])
    return _checksum(*files) if files else ""


def _checksum(*files: Path) -> str:
    """Checksum of names and contents."""
    found = hashlib.sha256()
    for file in files:
        content = file.read_bytes()
        found.update(f"{file.name} {len(content)}\n".encode() + content)
    return found.hexdigest()
