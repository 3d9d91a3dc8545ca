"""When the environment is made, added to, made again or left alone; nothing is installed here."""

import importlib.util
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def bootstrap(monkeypatch, tmp_path):
    """The script as a module, in a checkout of its own, with a log in place of venv and pip."""
    spec = importlib.util.spec_from_file_location("bootstrap", ROOT / "bootstrap.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.log = []

    class Builder:
        def __init__(self, clear, **options):
            self.clear = clear

        def create(self, folder):
            module.log.append("clear" if self.clear else "create")
            programs = folder / ("Scripts" if module.os.name == "nt" else "bin")
            programs.mkdir(parents=True, exist_ok=True)
            (programs / ("python.exe" if module.os.name == "nt" else "python")).touch()

    def pip(command, **options):
        assert options["check"]
        groups = [option.removeprefix("--group=") for option in command if option.startswith("--group=")]
        module.log.append(" ".join(groups) or ("upgrade pip" if "--upgrade" in command else "run"))

    (tmp_path / "pyproject.toml").write_text("version = 1\n")
    monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(module.venv, "EnvBuilder", Builder)
    monkeypatch.setattr(module.subprocess, "run", pip)
    module.env = tmp_path / "env"
    return module


def steps(bootstrap, *groups):
    bootstrap.log.clear()
    bootstrap.make_environment(bootstrap.env, groups)
    return bootstrap.log.copy()


def test_made_once_then_left_alone(bootstrap):
    assert steps(bootstrap) == ["create", "upgrade pip", "run"]
    assert steps(bootstrap) == []


def test_tests_add_their_tools_and_the_demo_keeps_them(bootstrap):
    steps(bootstrap)
    assert steps(bootstrap, "dev") == ["upgrade pip", "dev"]
    assert steps(bootstrap, "docs") == ["upgrade pip", "docs"]
    assert steps(bootstrap, "dev") == steps(bootstrap, "docs") == steps(bootstrap) == []


def test_made_again_when_the_project_file_changes(bootstrap):
    steps(bootstrap, "dev")
    (bootstrap.ROOT / "pyproject.toml").write_text("version = 2\n")
    assert steps(bootstrap, "dev") == ["clear", "upgrade pip", "dev"]


def test_an_environment_made_by_hand_is_never_cleared(bootstrap):
    bootstrap.venv.EnvBuilder(clear=False).create(bootstrap.env)
    assert steps(bootstrap) == ["upgrade pip", "run"]


def test_an_interrupted_set_up_is_resumed(bootstrap, monkeypatch):
    def fail(command, **options):
        raise subprocess.CalledProcessError(1, command)

    with monkeypatch.context() as patch:
        patch.setattr(bootstrap.subprocess, "run", fail)
        with pytest.raises(subprocess.CalledProcessError):
            steps(bootstrap, "dev")
    assert steps(bootstrap, "dev") == ["upgrade pip", "dev"]
