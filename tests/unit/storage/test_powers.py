"""Fits after a power transformation in files: what was changed there is refused."""

import io
import json
import zipfile

import numpy as np
import pytest
from support.hostile_files import find, npy, zipped
from support.stored import again, assert_same, quiet_fit

import tobitgp as tg
from tobitgp.errors import DataError


@pytest.fixture(scope="module")
def res(rich):
    return quiet_fit("y ~ x + g | censor(0.7, None)", rich, family="boxcox", method="ep", sigma="~ t")


@pytest.fixture(scope="module")
def regression(rich):
    return quiet_fit("y ~ x + g | censor(0.7, None)", rich, family="boxcox")


@pytest.mark.filterwarnings("ignore:what='uncensored' is not finite")  # of powers below 0
@pytest.mark.slow
def test_same_answers(res, regression, rich, tmp_path):
    new = rich[["x", "g", "t"]].iloc[::9]
    for one in (res, regression):
        loaded = again(one, tmp_path)
        assert type(loaded) is type(one)
        assert repr(loaded) == repr(one)
        for what in ("median", "latent", "uncensored"):
            assert_same(one.predict(new, what, interval=0.9), loaded.predict(new, what, interval=0.9))
        assert_same(one.fit_history, loaded.fit_history)
        assert "nan" not in str(loaded.fit_history)


def powers(name, value):
    """Another value of a part, an array's by a function of it."""
    return lambda document, arrays: find(document, "PowerProcessParts").update({name: value})


def powers_array(name, change):
    return lambda document, arrays: change(arrays, find(document, "PowerProcessParts")[name]["$array"])


def shorter(arrays, at):
    arrays[at] = arrays[at][1:]


def none(arrays, at):
    arrays[at] = 0.0 * arrays[at]


def unknown(arrays, at):
    arrays[at][0] = np.nan


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (powers_array("powers", shorter), "PowerProcessParts.powers has the shape"),
        (powers_array("weights", none), "are invalid"),
        (powers_array("jacobians", unknown), "jacobians holds numbers that are not finite"),
        (powers("weights", "heavy"), "weights is of the type str"),
        (powers("best", 99), "are invalid"),
        (powers("best", -1), "are invalid"),
        (powers("se", "none"), "se is of the type str"),
        (powers("fits", []), "fits is of|nothing refers to|shape"),
        (lambda document, _: find(document, "PowerProcessParts").pop("se"), "exactly the fields"),
    ],
)
def test_changed_documents(res, tmp_path, change, match):
    refused(res, tmp_path, change, match)


def test_changed_profile(regression, tmp_path):
    def change(document, arrays):
        at = find(document, "BoxCoxParts")["profile"]["$array"]
        arrays[at] = arrays[at][:, :1]

    refused(regression, tmp_path, change, "profile has the shape")


def refused(res, folder, change, match):
    """A file whose document or arrays were changed cannot be loaded."""
    place = folder / "fit.tgp"
    res.save(place)
    with zipfile.ZipFile(io.BytesIO(place.read_bytes())) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    document = json.loads(entries.pop("fit.json"))
    arrays = [np.load(io.BytesIO(data)) for data in entries.values()]
    change(document, arrays)
    changed = {f"arrays/{i}.npy": npy(values) for i, values in enumerate(arrays)}
    place.write_bytes(zipped([("fit.json", json.dumps(document).encode()), *changed.items()]))
    with pytest.raises(DataError, match=match):
        tg.load(place)
