"""What is no file, or has no end, is refused in words at once."""

import os

import pytest

import tobitgp as tg
from tobitgp.errors import DataError, SpecError


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="devices of POSIX")
def test_devices_are_not_read():
    with pytest.raises(DataError, match="device"):
        tg.load("/dev/zero")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes of POSIX")
def test_pipes_are_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.tgp")
    with pytest.raises(DataError, match="pipe"):
        tg.load(tmp_path / "pipe.tgp")


@pytest.mark.parametrize("name", ["a\0b.tgp", "", 3, b"a.tgp"])
def test_impossible_names(name):
    res = tg.fit("durable ~ age | censor(0)", tg.datasets.load("tobin"))
    for call in (tg.load, res.save):
        with pytest.raises(SpecError, match="name of a file"):
            call(name)


def test_names_that_are_too_long(tmp_path):
    res = tg.fit("durable ~ age | censor(0)", tg.datasets.load("tobin"))
    for call in (tg.load, res.save):
        with pytest.raises(DataError, match="cannot be"):
            call(tmp_path / ("a" * 300))
