"""The compiled core with warnings as errors, and under the sanitisers for addresses and undefined behaviour."""

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.processes import environment, printed_by

ROOT = Path(__file__).parents[2]
GCC = shutil.which("gcc")

pytestmark = pytest.mark.skipif(GCC is None or sys.platform != "linux", reason="needs gcc")


@pytest.fixture(scope="module")
def hook():
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_no_warnings(hook, tmp_path):
    hook.compile_core(ROOT / "tobitgp" / "compiled", tmp_path / "core.so", "-Werror")
    assert (tmp_path / "core.so").exists()


@pytest.mark.slow
def test_contract_under_sanitisers(hook, tmp_path):
    """The contract tests again in a copy of the package whose core stops at the first error."""
    package = tmp_path / "tobitgp"
    shutil.copytree(ROOT / "tobitgp", package, ignore=shutil.ignore_patterns("__pycache__", "core.so"))
    watch = ("-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-DTOBITGP_SANITIZED")
    hook.build(package / "compiled", *watch)
    asan = subprocess.run([GCC, "-print-file-name=libasan.so"], capture_output=True, text=True, check=True)
    watched = environment(
        PYTHONPATH=os.pathsep.join([str(tmp_path), str(ROOT / "tests")]),
        LD_PRELOAD=asan.stdout.strip(),
        ASAN_OPTIONS="detect_leaks=0",  # the interpreter's own
        TOBITGP_COMPILED="1",
    )
    code = "from tobitgp.compiled import library; print(library.load()._name)"
    loaded = printed_by("-c", code, env=watched, cwd=tmp_path)
    assert Path(loaded.strip()).is_relative_to(tmp_path)
    tests = ROOT / "tests" / "contracts" / "test_compiled.py"
    words = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", ROOT / "pyproject.toml", tests)
    assert " passed" in printed_by(*words, env=watched, cwd=tmp_path)
