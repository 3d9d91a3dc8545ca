"""Files of format 1, in which no process had a line and fields were fewer."""

import numpy as np
import pytest

import tobitgp as tg
from tobitgp.errors import DataError

ADDED = ("given", "dropped", "fixed")


def fields_of(document, name):
    """Fields of all objects of a class."""
    if isinstance(document, dict):
        if document.get("$class") == name:
            yield document["fields"]
        document = list(document.values())
    if isinstance(document, list):
        for item in document:
            yield from fields_of(item, name)


def as_format_1(document):
    """The document of a fit with ``gp(x, line=False)`` as it was when this was ``gp(x)``."""
    document["version"] = 1
    specification = document["specification"]
    specification["formula"] = specification["formula"].replace("gp(x, line=False)", "gp(x)")
    for model in fields_of(document, "GPModel"):
        for name in ADDED:
            del model[name]
    return document


def test_a_process_has_no_line(rewrite_curve, rich, tmp_path):
    res, rewrite = rewrite_curve
    loaded = tg.load(rewrite(as_format_1))
    assert [term.line for term in loaded.model.spec.gps] == [False]
    assert loaded.slopes().empty
    new = rich.drop(columns="y")
    assert np.array_equal(loaded.predict(new, interval=0.9), res.predict(new, interval=0.9))
    loaded.save(tmp_path / "again.tgp")
    assert np.array_equal(tg.load(tmp_path / "again.tgp").predict(new), res.predict(new))


def test_a_line_is_not_taken_from_a_fit(rewrite):
    def change(document):
        reads = document["specification"]["reads"]
        reads.remove("slope(gp(x))")
        return document

    with pytest.raises(DataError, match="lines"):
        tg.load(rewrite(change))


def test_what_has_no_default_is_needed(rewrite_curve):
    def change(document):
        for model in fields_of(as_format_1(document), "GPModel"):
            del model["effects"]
        return document

    with pytest.raises(DataError, match=r"GPModel has not exactly the fields .* fit the model again"):
        tg.load(rewrite_curve[1](change))
