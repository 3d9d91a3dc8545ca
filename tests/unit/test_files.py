"""Files that are written as a whole or not at all."""

import os
import stat
from pathlib import Path

import pytest

from tobitgp.files import whole_file


def write(path, content=b"new"):
    with whole_file(path) as file:
        file.write(content)


def test_an_older_file_is_replaced_and_keeps_its_permissions(tmp_path):
    path = tmp_path / "a"
    path.write_text("old and long")
    path.chmod(0o600)
    write(path)
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [*tmp_path.iterdir()] == [path]


def test_a_link_stays_one(tmp_path):
    (tmp_path / "link").symlink_to("a")
    write(tmp_path / "link")
    write(tmp_path / "link", b"newer")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "a").read_bytes() == b"newer"


def test_what_breaks_leaves_everything_as_it_was(tmp_path):
    (tmp_path / "a").write_text("old")

    def breaks():
        with whole_file(tmp_path / "a") as file:
            file.write(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        breaks()
    assert (tmp_path / "a").read_text() == "old"
    assert [*tmp_path.iterdir()] == [tmp_path / "a"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes of POSIX")
def test_devices_and_pipes_are_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="not an ordinary file"):
        write(tmp_path / "pipe")
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
    assert [*tmp_path.iterdir()] == [tmp_path / "pipe"]


def test_what_a_killed_process_left_is_used_again(tmp_path):
    def killed():
        with whole_file(tmp_path / "a") as file:
            file.write(b"half")
            raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "unlink", lambda *_, **__: None)
        with pytest.raises(KeyboardInterrupt):
            killed()
    (left,) = tmp_path.iterdir()
    write(tmp_path / "a")
    assert sorted(tmp_path.iterdir()) == sorted([left, tmp_path / "a"])  # which somebody may be writing now
    os.utime(left, (0.0, 0.0))
    write(tmp_path / "a", b"newer")
    assert [*tmp_path.iterdir()] == [tmp_path / "a"]


@pytest.mark.parametrize("name", ["a" * 250, "\N{GREEK SMALL LETTER ALPHA}" * 125])
def test_long_names_are_written(tmp_path, name):
    write(tmp_path / name)
    assert (tmp_path / name).read_bytes() == b"new"
