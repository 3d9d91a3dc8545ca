"""Files of fits of every kind with single bits flipped, or cut short: an error that names the file, or the same fit."""

import warnings

import numpy as np
import pytest
from support.hostile_files import load
from support.kinds import KINDS, N, rows

import tobitgp as tg

CUTS = 60


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Bytes of a saved fit of each kind, by its name."""
    folder, data, out = tmp_path_factory.mktemp("kinds"), rows().iloc[:N], {}
    for name, kind in KINDS.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            kind.fit(data).save(folder / "fit.tgp")
        out[name] = (folder / "fit.tgp").read_bytes()
        tg.load(folder / "fit.tgp")
    return out


def damaged(files, n, change):
    """Bytes of n files, of all kinds in turn, and these with a change."""
    rng, names = np.random.default_rng(48), list(files)
    for i in range(n):
        data = files[names[i % len(names)]]
        yield data, change(data, rng)


def outcome(data, changed, folder):
    path, again = folder / "damaged.tgp", folder / "again.tgp"
    path.write_bytes(changed)
    found = load(path)
    if found is None:
        return "refused"
    found.save(again)
    return "same" if again.read_bytes() == data else "other"


def flipped(data, rng):
    out, at = bytearray(data), int(rng.integers(len(data)))
    out[at] ^= 1 << int(rng.integers(8))
    return bytes(out)


@pytest.mark.parametrize(
    "flips", [pytest.param(100, marks=pytest.mark.slow), pytest.param(700, marks=pytest.mark.study)]
)
def test_a_flipped_bit_is_found_or_carries_nothing(flips, files, tmp_path, record_property):
    found = [outcome(data, changed, tmp_path) for data, changed in damaged(files, flips, flipped)]
    record_property("refused", found.count("refused"))
    record_property("same", found.count("same"))
    assert set(found) <= {"refused", "same"}
    assert found.count("refused") > 0.9 * flips


@pytest.mark.slow
def test_a_file_that_was_cut_short_is_refused(files, tmp_path):
    cut = damaged(files, CUTS, lambda data, rng: data[: int(rng.integers(len(data)))])
    assert {outcome(data, changed, tmp_path) for data, changed in cut} == {"refused"}
