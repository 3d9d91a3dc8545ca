"""Fits after a power transformation in files: what was changed there is refused."""

import io
import json
import zipfile

import pytest
from support.hostile_files import zipped
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


def part(name, value):
    def change(document):
        document["parts"][name] = value(document["parts"][name])

    return change


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (part("powers", lambda values: values[1:]), "do not belong together"),
        (part("weights", lambda values: [0.0 * x for x in values]), "make no sense"),
        (part("weights", lambda values: "heavy"), "do not belong together"),
        (part("jacobians", lambda values: [None, *values[1:]]), "make no sense"),
        (part("best", lambda k: 99), "make no sense"),
        (part("best", lambda k: -1), "make no sense"),
        (part("se", lambda x: "none"), "make no sense"),
        (lambda document: document["parts"].pop("se"), "powers"),
        (lambda document: document.update(rows=[]), "nothing refers to"),
        (lambda document: document.update(rows=None), "has no fits|have no fits"),
    ],
)
def test_changed_documents(res, tmp_path, change, match):
    refused(res, tmp_path, change, match)


def test_changed_profile(regression, tmp_path):
    def change(document):
        stored = dict(document["parts"]["$dict"])
        next(pair for pair in document["parts"]["$dict"] if pair[0] == "profile")[1] = stored["covariance"]

    refused(regression, tmp_path, change, ".")


def refused(res, folder, change, match):
    """A file whose document was changed cannot be loaded."""
    place = folder / "fit.tgp"
    res.save(place)
    with zipfile.ZipFile(io.BytesIO(place.read_bytes())) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    document = json.loads(entries["fit.json"])
    change(document)
    place.write_bytes(zipped({**entries, "fit.json": json.dumps(document).encode()}.items()))
    with pytest.raises(DataError, match=match):
        tg.load(place)
