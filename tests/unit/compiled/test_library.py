"""A library that is not of these sources, or not of this machine, is left alone."""

import ctypes
import shutil
import subprocess
import threading
from pathlib import Path

import pytest

from tobitgp.compiled import build, library

HERE = Path(library.__file__).parent

pytestmark = pytest.mark.skipif(library.load() is None, reason="the core is not compiled, or turned off")


@pytest.fixture
def folder(tmp_path):
    """The core and its sources, to be spoilt."""
    return Path(shutil.copytree(HERE, tmp_path / "compiled", ignore=shutil.ignore_patterns("__pycache__")))


def test_a_copy_of_the_folder_is_loaded(folder):
    assert isinstance(library.open_core(folder), ctypes.CDLL)


def test_without_a_library_there_is_nothing_to_say(folder):
    (folder / build.NAME).unlink()
    assert library.open_core(folder) is None


def _shorter(folder):
    path = folder / build.NAME
    path.write_bytes(path.read_bytes()[:-100])


def _empty(folder):
    (folder / build.NAME).write_bytes(b"")


def _other_header(folder):
    header = folder / "core.h"
    header.write_text(header.read_text() + "\n")


def _other_interface(folder):
    interface = folder / "interface.py"
    interface.write_text(interface.read_text() + "\n")


def _no_manifest(folder):
    (folder / build.MANIFEST).unlink()


def _broken_manifest(folder):
    (folder / build.MANIFEST).write_text("[1]")


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (_shorter, "incomplete"),
        (_empty, "incomplete"),
        (_other_header, "other sources"),
        (_other_interface, "other sources"),
        (_no_manifest, build.MANIFEST),
        (_broken_manifest, build.MANIFEST),
    ],
)
def test_what_was_not_compiled_from_these_sources_is_not_used(folder, spoil, words):
    spoil(folder)
    with pytest.warns(RuntimeWarning, match=words) as said:
        assert library.open_core(folder) is None
    assert len(said) == 1
    assert "python -m tobitgp.compiled.compile" in str(said[0].message)


@pytest.mark.parametrize("content", [b"\xcf\xfa\xed\xfe" + bytes(5000), b"\x7fELF" + bytes(60)])
def test_a_library_of_another_machine_is_not_used(folder, content, monkeypatch):
    (folder / build.NAME).write_bytes(content)
    monkeypatch.setattr(library, "what_is_wrong", lambda folder: None)
    with pytest.warns(RuntimeWarning, match="cannot be loaded on this machine"):
        assert library.open_core(folder) is None


def test_an_installed_package_has_no_sources(folder):
    for path in [*folder.glob("*.c"), *folder.glob("*.h")]:
        path.unlink()
    assert isinstance(library.open_core(folder), ctypes.CDLL)


@pytest.mark.parametrize("command", ["no-such-compiler", "false", "'", "false -x"])
def test_a_failed_compilation_leaves_what_was_there(folder, monkeypatch, command):
    before = [(folder / name).read_bytes() for name in (build.NAME, build.MANIFEST)]
    monkeypatch.setenv("CC", command)
    with pytest.raises((OSError, subprocess.CalledProcessError)):
        build.build(folder)
    assert before == [(folder / name).read_bytes() for name in (build.NAME, build.MANIFEST)]
    assert build.what_is_wrong(folder) is None
    assert {path.name for path in folder.iterdir()} == {path.name for path in HERE.iterdir()} - {"__pycache__"}


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
@pytest.mark.parametrize("command", ["", "  "])
def test_an_empty_cc_is_none(folder, monkeypatch, command):
    monkeypatch.setenv("CC", command)
    (folder / build.NAME).write_bytes(b"")
    build.build(folder, "-O0")
    assert isinstance(library.open_core(folder), ctypes.CDLL)


def test_threads_load_one_library(monkeypatch):
    found, begin = [], threading.Barrier(8)
    library._load.cache_clear()
    opened = library.open_core
    monkeypatch.setattr(library, "open_core", lambda folder: found.append(opened(folder)) or found[-1])

    def load():
        begin.wait()
        library.load()

    threads = [threading.Thread(target=load) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 1
