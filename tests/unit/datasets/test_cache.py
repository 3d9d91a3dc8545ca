import gzip
import hashlib
import os
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from support.datasets import published_by, serve

from tobitgp.datasets import cache, fetch
from tobitgp.datasets.cache import cache_folder
from tobitgp.datasets.downloads import SOURCES
from tobitgp.errors import DataError

TWO_PARTS = {"train.csv": b"time,event\n1.5,1\n", "test.csv.gz": b"time,event\n2.5,0\n3.5,1\n"}


def sha256(content):
    return hashlib.sha256(content).hexdigest()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty cache that does not exist yet, outside a checkout, and no proxy before this machine."""
    monkeypatch.setattr(cache, "CHECKOUT", tmp_path / "site-packages" / "datasets")
    monkeypatch.setenv("TOBITGP_DATA", str(tmp_path / "new" / "cache"))
    monkeypatch.setenv("NO_PROXY", "*")
    return tmp_path / "new" / "cache"


@pytest.fixture
def fair(folder, monkeypatch):
    """Affairs as if only a server had it: (answers, what was asked, folder); an answer may be exchanged."""
    answers = {"/fair_pt.csv": published_by("statsmodels")}
    with serve(answers) as (address, asked):
        source = replace(SOURCES["affairs"], urls=(f"{address}/fair_pt.csv",), installed=None)
        monkeypatch.setitem(SOURCES, "affairs", source)
        yield answers, asked, folder


@pytest.fixture
def parts(folder, monkeypatch):
    """A set of two parts, one of them packed, made of two files."""
    digests = {file: sha256(content) for file, content in TWO_PARTS.items()}
    with serve({"/a": b"train", "/b": b"test"}) as (address, asked):

        def tidy(raw):
            assert list(raw) == [b"train", b"test"]
            return [TWO_PARTS["train.csv"], gzip.compress(TWO_PARTS["test.csv.gz"])]

        source = replace(SOURCES["gbsg"], tables=digests, urls=(f"{address}/a", f"{address}/b"), tidy=tidy, needs=None)
        monkeypatch.setitem(SOURCES, "gbsg", source)
        yield asked, folder


def test_the_first_call_downloads_and_the_next_ones_read(fair):
    _, asked, folder = fair
    first = fetch("affairs")
    second = fetch("affairs")
    assert first.shape == (601, 9)
    assert first.equals(second)
    assert first is not second
    assert asked == ["/fair_pt.csv"]
    assert [path.name for path in folder.iterdir()] == ["affairs.csv"]


@pytest.mark.parametrize(("name", "rows"), [("gbsg", 2232), ("credit_risk", 1000)])
def test_a_checkout_has_the_files_whose_licence_permits_it(tmp_path, monkeypatch, name, rows):
    """Their digests are those of the published data; no network, and nothing is stored."""
    monkeypatch.setenv("TOBITGP_DATA", str(tmp_path / "cache"))
    assert len(fetch(name)) == rows
    assert not (tmp_path / "cache").exists()


def test_two_parts_are_one_frame(parts):
    asked, folder = parts
    frame = fetch("gbsg")
    assert frame.to_dict("list") == {
        "time": [1.5, 2.5, 3.5],
        "event": [1, 0, 1],
        "split": ["train", "test", "test"],
    }
    assert list(frame.index) == [0, 1, 2]
    assert asked == ["/a", "/b"]
    assert fetch("gbsg").equals(frame)
    assert asked == ["/a", "/b"]
    assert gzip.decompress((folder / "test.csv.gz").read_bytes()) == TWO_PARTS["test.csv.gz"]


def test_a_part_that_is_there_stays_as_it_is(parts):
    asked, folder = parts
    folder.mkdir(parents=True)
    packed = gzip.compress(TWO_PARTS["test.csv.gz"], 1, mtime=1234)
    (folder / "test.csv.gz").write_bytes(packed)
    assert len(fetch("gbsg")) == 3
    assert len(asked) == 2
    assert (folder / "test.csv.gz").read_bytes() == packed
    assert (folder / "train.csv").read_bytes() == TWO_PARTS["train.csv"]


def test_no_network_is_one_short_error(folder, monkeypatch):
    with serve({}) as (address, _):
        pass  # nobody listens there any more
    monkeypatch.setitem(SOURCES, "housing", replace(SOURCES["housing"], urls=(f"{address}/BostonHousing.csv",)))
    with pytest.raises(DataError) as caught:
        fetch("housing")
    message = str(caught.value)
    for part in (address, str(folder), "boston_housing.csv", "TOBITGP_DATA", "ConnectionError"):
        assert part in message
    assert "\n" not in message
    assert caught.value.__suppress_context__
    assert not folder.exists()


@pytest.mark.parametrize("status", [403, 404, 500])
def test_a_server_that_refuses_is_named(fair, status):
    answers, _, folder = fair
    answers["/fair_pt.csv"] = status
    with pytest.raises(DataError, match=f"fair_pt.csv \\(HTTP status {status}\\)"):
        fetch("affairs")
    assert not folder.exists()


def test_a_changed_publication_is_refused(fair):
    answers, _, folder = fair
    answers["/fair_pt.csv"] = answers["/fair_pt.csv"].replace(b"37.0", b"38.0", 1)
    with pytest.raises(DataError, match=r"'affairs' has changed at its source, http.*SHA-256 \w{64}, expected is 44a8"):
        fetch("affairs")
    assert not folder.exists()


def test_a_table_that_came_out_otherwise_is_refused(fair, monkeypatch):
    """A publication whose own digest nobody knows is found out by its table."""
    answers, _, folder = fair
    monkeypatch.setitem(SOURCES, "affairs", replace(SOURCES["affairs"], raw_sha256=None))
    answers["/fair_pt.csv"] = answers["/fair_pt.csv"].replace(b"37.0", b"38.0", 1)
    with pytest.raises(DataError, match=r"'affairs' has changed at its source.*expected is e84b.*Nothing was stored"):
        fetch("affairs")
    assert not folder.exists()


@pytest.mark.parametrize("page", [b"<html><body>Log in to this network</body></html>", b"", b"\xff\xfe\x00"])
@pytest.mark.parametrize("name", ["affairs", "flchain", "housing", "beijing_so2", "gbsg"])
def test_a_page_in_place_of_the_data_is_refused(folder, monkeypatch, name, page):
    if name == "gbsg":
        pytest.importorskip("h5py")
    with serve({"/page": page}) as (address, _):
        source = SOURCES[name]
        urls = (f"{address}/page",) * len(source.urls)
        monkeypatch.setitem(SOURCES, name, replace(source, urls=urls, raw_sha256=None, installed=None))
        with pytest.raises(DataError, match=rf"/page .* data set '{name}'|'{name}' has changed") as refused:
            fetch(name)
    assert ("web page" in str(refused.value)) == (b"<html" in page)
    assert not folder.exists()


@pytest.mark.parametrize("content", [b"", b"affairs,gender\n1,male\n"])
def test_another_file_in_the_cache_is_refused(fair, content):
    _, asked, folder = fair
    folder.mkdir(parents=True)
    (folder / "affairs.csv").write_bytes(content)
    with pytest.raises(
        DataError, match=r"affairs.csv' is not the file.*SHA-256 \w{64}, expected.* Delete it"
    ) as caught:
        fetch("affairs")
    assert sha256(content) in str(caught.value)
    assert str(folder) in str(caught.value)
    assert asked == []
    (folder / "affairs.csv").unlink()
    assert len(fetch("affairs")) == 601


@pytest.mark.parametrize(
    "damage", [lambda packed: packed[:20], lambda packed: b"no archive", lambda packed: packed[:-9] + b"123456789"]
)
def test_a_damaged_archive_in_the_cache_is_refused(parts, damage):
    _, folder = parts
    fetch("gbsg")
    path = folder / "test.csv.gz"
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(DataError, match=r"test.csv.gz' is not the file"):
        fetch("gbsg")


def test_a_full_disk_leaves_nothing_behind(fair, monkeypatch):
    def refuse(_):
        raise OSError(28, "No space left on device")

    _, _, folder = fair
    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(DataError, match=r"cannot be stored in .*: No space left on device.*TOBITGP_DATA"):
        fetch("affairs")
    assert list(folder.iterdir()) == []


def test_a_folder_that_cannot_be_made_is_named(fair, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(DataError, match=r"'affairs' cannot be stored in .*new/cache': Permission denied"):
        fetch("affairs")


def test_a_file_where_the_folder_should_be_is_named(fair, tmp_path):
    (tmp_path / "new").write_text("")
    with pytest.raises(DataError, match=r"new/cache/affairs.csv' cannot be read: Not a directory"):
        fetch("affairs")


def test_an_installed_package_saves_the_download(folder):
    assert len(fetch("affairs")) == 601
    assert not folder.exists()


def test_another_version_of_an_installed_file_is_passed_over(fair, monkeypatch):
    _, asked, _ = fair
    other = replace(SOURCES["affairs"], installed="statsmodels/datasets/fair/fair.csv")
    monkeypatch.setitem(SOURCES, "affairs", other)
    assert len(fetch("affairs")) == 601
    assert asked == ["/fair_pt.csv"]


def test_a_missing_package_is_told_before_the_download(parts, monkeypatch):
    asked, _ = parts
    monkeypatch.setitem(SOURCES, "gbsg", replace(SOURCES["gbsg"], needs="a_reader_of_hdf"))
    with pytest.raises(DataError, match="pip install a_reader_of_hdf") as caught:
        fetch("gbsg")
    assert str(cache_folder()) in str(caught.value)
    assert SOURCES["gbsg"].urls[0] in str(caught.value)
    assert asked == []


def test_the_variable_names_the_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("TOBITGP_DATA", "~/data")
    assert cache_folder() == tmp_path / "data"
    monkeypatch.setenv("TOBITGP_DATA", "")
    assert cache_folder().name == "tobitgp"
    monkeypatch.delenv("TOBITGP_DATA")
    assert cache_folder().name == "tobitgp"


@pytest.mark.slow
def test_two_processes_at_once_do_no_harm(folder):
    """Both are let through only when both have asked, so both download, and both write."""
    script = (
        "import sys; from dataclasses import replace; from tobitgp.datasets import fetch;"
        "from tobitgp.datasets.downloads import SOURCES; import pooch, requests;"
        "SOURCES['affairs'] = replace(SOURCES['affairs'], urls=(sys.argv[1],), installed=None);"
        "print('ready', flush=True); sys.stdin.readline(); print(fetch('affairs').shape)"
    )
    answers = {"/fair_pt.csv": published_by("statsmodels")}
    with serve(answers, gate=threading.Barrier(2, timeout=25)) as (address, asked):
        command = [sys.executable, "-c", script, f"{address}/fair_pt.csv"]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        running = [subprocess.Popen(command, **pipes) for _ in range(2)]
        assert [process.stdout.readline() for process in running] == ["ready\n"] * 2
        for process in running:
            process.stdin.write("go\n")
            process.stdin.flush()
        done = [process.communicate() for process in running]
    assert done == [("(601, 9)\n", "")] * 2
    assert len(asked) == 2
    assert [path.name for path in folder.iterdir()] == ["affairs.csv"]
    assert sha256((folder / "affairs.csv").read_bytes()) == SOURCES["affairs"].tables["affairs.csv"]
