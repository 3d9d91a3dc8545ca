"""Build hook: compile the optional core where there is a C compiler; without one the package is pure Python."""

from __future__ import annotations

import importlib.util
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_CORE = Path(__file__).parent / "tobitgp" / "compiled"
_SPEC = importlib.util.spec_from_file_location("tobitgp_compiled_build", _CORE / "build.py")
assert _SPEC is not None
assert _SPEC.loader is not None
_BUILD = importlib.util.module_from_spec(_SPEC)  # without the package, whose dependencies the build does not have
_SPEC.loader.exec_module(_BUILD)
build, compile_core = _BUILD.build, _BUILD.compile_core


class CompiledCore(BuildHookInterface):
    """Put the shared library beside its sources, and say in the wheel's name what machine it is for."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, or say why not."""
        if self.target_name != "wheel":
            return
        try:
            made = build(Path(self.root) / "tobitgp" / "compiled")
        except (OSError, subprocess.CalledProcessError) as error:
            self.app.display_warning(f"tobitgp is built without its compiled core: {error}")
            return
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data |= {"pure_python": False, "tag": f"py3-none-{platform}"}
        build_data["artifacts"] += [str(path.relative_to(self.root)) for path in made]
