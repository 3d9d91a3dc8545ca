"""Build hook: compile the optional core where there is a C compiler; without one the package is pure Python."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FLAGS = ("-std=c11", "-O3", "-fPIC", "-fopenmp-simd", "-fno-math-errno", "-Wall", "-Wextra")


class CompiledCore(BuildHookInterface):
    """Put the shared library beside its sources, and say in the wheel's name what machine it is for."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, or say why not."""
        if self.target_name != "wheel":
            return
        try:
            library = build(Path(self.root) / "tobitgp" / "compiled")
        except (OSError, subprocess.CalledProcessError) as error:
            self.app.display_warning(f"tobitgp is built without its compiled core: {error}")
            return
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data |= {"pure_python": False, "tag": f"py3-none-{platform}"}
        build_data["artifacts"].append(str(library.relative_to(self.root)))


def build(folder: Path) -> Path:
    """Compile the core beside its sources; where that fails none is left of another time."""
    library = folder / ("core" + (sysconfig.get_config_var("SHLIB_SUFFIX") or ".so"))
    try:
        compile_core(folder, library)
    except (OSError, subprocess.CalledProcessError):
        library.unlink(missing_ok=True)
        raise
    return library


def compile_core(folder: Path, library: Path, *more: str) -> None:
    """Compile the C files of a folder into a shared library, with more flags."""
    compiler = shlex.split(os.environ.get("CC", "cc"))
    if shutil.which(compiler[0]) is None:
        raise FileNotFoundError(f"there is no C compiler {compiler[0]!r}")
    with tempfile.TemporaryDirectory() as scratch:
        built = Path(scratch) / library.name
        sources = sorted(map(str, folder.glob("*.c")))
        subprocess.run([*compiler, *FLAGS, *more, *sources, "-shared", "-o", str(built), "-lm"], check=True)
        shutil.move(built, library)
