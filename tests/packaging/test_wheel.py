"""What is installed is what was tested: the wheel works away from the checkout."""

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

from tobitgp.datasets import available, load

pytestmark = pytest.mark.slow  # the core is compiled
ROOT = Path(__file__).parents[2]


def run(*command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    # without hatchling in this environment pip fetches it, as it does for anyone who installs from a clone
    isolation = ["--no-build-isolation"] if importlib.util.find_spec("hatchling") else []
    run(sys.executable, "-m", "pip", "wheel", "--no-deps", *isolation, "--wheel-dir", folder, ROOT)
    (path,) = folder.glob("tobitgp-*.whl")
    return path


@pytest.fixture(scope="module")
def clean_python(wheel, tmp_path_factory):
    """Interpreter of a new environment that holds the wheel and borrows this one's dependencies, not its tobitgp."""
    folder = tmp_path_factory.mktemp("clean") / "env"
    venv.EnvBuilder(symlinks=sys.platform != "win32").create(folder)
    python = folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    run(sys.executable, "-m", "pip", "--python", python, "install", "--no-index", "--no-deps", wheel)

    here = sysconfig.get_paths()
    packages = (importlib.util.find_spec(name) for name in ("numpy", "pandas", "lifelines"))
    borrowed = {here["purelib"], here["platlib"], *(str(Path(spec.origin).parents[1]) for spec in packages)}
    purelib = run(python, "-c", "import sysconfig; print(sysconfig.get_paths()['purelib'])").strip()
    # a path line, unlike a site folder, does not bring the .pth file by which the checkout is installed
    (Path(purelib) / "dependencies.pth").write_text("\n".join(sorted(borrowed)) + "\n")
    return python


def test_wheel_holds_package_data_and_licence_and_nothing_else(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    assert "tobitgp/datasets/tobin.csv" in names
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert {name.split("/")[0].split("-")[0] for name in names} == {"tobitgp"}
    sources = {path.relative_to(ROOT).as_posix() for path in (ROOT / "tobitgp").rglob("*.py")}
    assert sources <= set(names)
    assert not any(name.endswith((".c", ".h")) for name in names)


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_the_installed_core_is_compiled_and_can_be_turned_off(wheel, clean_python, tmp_path):
    assert not wheel.name.endswith("none-any.whl")
    script = "import tobitgp; tobitgp.show_versions()"
    assert "core          compiled" in run(clean_python, "-I", "-c", script, cwd=tmp_path)
    off = {**os.environ, "TOBITGP_COMPILED": "0"}
    assert "core          pure Python" in run(clean_python, "-I", "-c", script, cwd=tmp_path, env=off)


def test_without_a_compiler_the_same_command_gives_the_pure_package(tmp_path):
    if importlib.util.find_spec("hatchling") is None:
        pytest.skip("pip would fetch hatchling")
    clone = tmp_path / "clone"
    shutil.copytree(
        ROOT, clone, ignore=shutil.ignore_patterns(".git", ".venv", "out", "core.so", "core.json", "docs", "*cache*")
    )
    off = {**os.environ, "CC": "no-such-compiler"}
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--no-deps",
        "--no-build-isolation",
        "--wheel-dir",
        tmp_path,
        clone,
    ]
    run(*command, env=off)
    (path,) = tmp_path.glob("tobitgp-*.whl")
    assert path.name.endswith("py3-none-any.whl")
    assert not any("core." in name for name in zipfile.ZipFile(path).namelist())


def test_every_data_set_loads_from_the_installed_wheel(clean_python, tmp_path):
    script = (
        "import json, tobitgp.datasets as d\n"
        "frames = {name: d.load(name) for name in d.available()}\n"
        "shapes = {name: list(frame.shape) for name, frame in frames.items()}\n"
        "print(json.dumps({'file': d.__file__, 'shapes': shapes}))\n"
    )
    found = json.loads(run(clean_python, "-I", "-c", script, cwd=tmp_path))
    assert Path(found["file"]).is_relative_to(clean_python.parents[1])
    assert not Path(found["file"]).is_relative_to(ROOT)
    assert found["shapes"] == {name: list(load(name).shape) for name in available()}


def test_the_readme_runs_without_optional_packages(clean_python, tmp_path):
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    code = "\n".join(re.findall(r"```python\n(.*?)```", text, re.DOTALL))
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    names = {re.match(r"[\w-]+", each)[0] for packages in extras.values() for each in packages}
    assert {"lifelines", "pyarrow", "dask"} <= names
    blocked = sorted(names - {"scikit-learn"} | {"sklearn"})
    script = f"import sys, matplotlib\nmatplotlib.use('Agg')\nsys.modules |= dict.fromkeys({blocked})\n{code}"
    assert "leave-one-out" in run(clean_python, "-I", "-c", script, cwd=tmp_path)
