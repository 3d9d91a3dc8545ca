"""Files that are not what this package writes: one DataError each, and nothing is ever executed."""

import struct
import zipfile

import numpy as np
import pytest
from support.hostile_files import find, header, in_class, in_spec, npy, replaced, zipped

import tobitgp as tg
from tobitgp.errors import DataError


def refused(path, match):
    with pytest.raises(DataError, match=match) as caught:
        tg.load(path)
    assert str(path) in str(caught.value)


def set_field(*route, value):
    return lambda document: replaced(document, route, value)


def test_an_untouched_copy_is_read(rewrite, stored, rich):
    assert (tg.load(rewrite()).predict(rich) == stored[0].predict(rich)).all()


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (set_field("format", value="other"), "not a saved tobitgp fit"),
        (lambda d: [], "not a saved tobitgp fit"),
        (lambda d: {}, "not a saved tobitgp fit"),
        (set_field("version", value=4), r"newer tobitgp \('tobitgp .*', format 4\); .* install a newer one"),
        (
            set_field("version", value=1),
            r"earlier tobitgp \('tobitgp .*', format 1\).* fit the model again and save it",
        ),
        (set_field("version", value=2), "fit the model again and save it, or load the file with the version that"),
        (set_field("version", value=0), "which version"),
        (set_field("version", value=True), "which version"),
        (set_field("version", value="1"), "which version"),
        (set_field("written_by", value=3), "which version"),
        (set_field("more", value=3), "exactly the fields"),
        (set_field("fit", value=3), "nothing refers to"),
        (set_field("fit", value={"$dict": []}), "nothing refers to"),
        (set_field("fit", "$class", value="forest"), "unknown class 'forest'"),
        (set_field("fit", "$class", value="RegressionParts"), "RegressionParts has not exactly the fields"),
        (set_field("fit", "fields", value=[]), "exactly the fields"),
        (in_class("ProcessParts", spec={"$spec": 3}), "specification"),
        (in_class("ProcessParts", spec={"$spec": None}), "a formula that it does not hold"),
        (in_spec(formula=3), "not made of text: formula"),
        (in_spec(columns="y"), "not made of text: columns"),
        (in_spec(columns=["y"]), "no column"),
        (in_spec(formula="y ~ x"), "no column|read differently"),
        (in_spec(formula="y ~ __import__('os')"), "cannot be loaded"),
        (in_spec(learned=[]), "kind"),
        (in_spec(learned=["code"]), "'code' for kind"),
        (in_spec(learned=["value", "", ""]), "read differently"),
        (in_spec(reads=[]), "read differently"),
        (in_spec(scale=3), "not made of text: scale"),
        (in_spec(scale=["power", "~ z", ["z"], ["1 + z", "linear z"], "", ""]), "unknown parameter 'power'"),
        (in_spec(scale=["sigma", "~ z", ["z"], ["1 + z", "linear z"], "", ""]), "noise scale"),
        (in_class("FittedGP", more=1), "FittedGP has not exactly the fields"),
        (lambda d: (find(d, "FittedGP").pop("elbo"), d)[1], "FittedGP has not exactly the fields"),
        (in_class("FittedGP", elbo="high"), "FittedGP.elbo is of the type str, not float"),
        (in_class("FittedGP", elbo=True), "FittedGP.elbo is of the type bool"),
        (in_class("FittedGP", points=[]), "shape|together"),
        (in_class("FittedGP", n_linear=0), "together"),
        (in_class("FittedGP", method=None), "FittedGP.method"),
        (in_class("EP", damping=7.0), "EP has values that are not allowed"),
        (in_class("KernelFactor", kernel={"$kernel": "os.system"}), "unknown kernel 'os.system'"),
        (in_class("KernelFactor", kernel={"$kernel": ["rbf"]}), "unknown kernel"),
        (in_class("KernelFeatures", variance={"$float": "1e5"}), "unknown form"),
        (in_class("KernelFeatures", variance={"$eval": "1"}), "unknown form"),
        (in_class("KernelFeatures", variance={"$class": "Popen", "fields": {}}), "unknown class 'Popen'"),
        (in_class("KernelFeatures", variance={}), "no tag"),
        (in_class("KernelFeatures", variance={"a": 1, "b": 2}), "unknown form"),
        (in_class("KernelFeatures", Z={"$array": 0}), "not there or taken|not"),
        (in_class("KernelFeatures", Z={"$array": -1}), "not there or taken"),
        (in_class("KernelFeatures", Z={"$array": 9999}), "not there or taken"),
        (in_class("KernelFeatures", Z=None), "KernelFeatures.Z"),
        (in_class("GPModel", family={"$family": "cauchy"}), "unknown family"),
        (in_class("GPModel", terms=[{"$term": 4}]), "a process that the formula has not"),
        (in_class("GPModel", terms=[]), "processes"),
        (in_class("Facts", counts={"$dict": []}), "counts"),
        (in_class("Facts", counts={"$dict": [["a", 1], ["a", 2]]}), "twice"),
        (in_class("Facts", counts={"$dict": [[[], 1]]}), "neither text nor a number"),
        (in_class("Facts", counts={"$dict": [1]}), "pairs"),
        (in_class("ColumnFacts", example="os"), "is invalid"),
        (in_class("ColumnFacts", kind="other"), "ColumnFacts.kind"),
        (in_class("PlainLinear", columns=["a"]), "columns"),
        (in_class("PlainLinear", factors=None), "not those of the formula"),
        (in_class("PlainLinear", learned={"$dict": []}), "not complete"),
        (
            in_class("PlainLinear", learned={"$dict": [["bs(z, df=4)", {"$dict": [["knots", "os"]]}]]}),
            "cannot be loaded",
        ),
        (in_class("DesignState", levels={"$dict": []}), "columns|levels"),
        (lambda d: b"{", "cannot be loaded"),
        (lambda d: b"\xff", "cannot be loaded"),
        (lambda d: b"[" * 100_000, "cannot be loaded"),
        (lambda d: b'{"format": 1, "format": 2}', "twice"),
        (lambda d: b"NaN", "which is not JSON"),
        (lambda d: b'{"format": ' + b"9" * 5000 + b"}", "cannot be loaded"),
    ],
)
def test_documents(rewrite, change, match):
    refused(rewrite(change), match)


def scale(at, value):
    """Another text of the formula of the noise scale: argument, formula, columns and reading."""

    def change(document):
        pair = next(pair for pair in find(document, "$spec") if pair[0] == "scale")
        pair[1][at] = value
        return document

    return change


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (set_field("fit", "$class", value="CureParts"), "exactly the fields"),
        (in_spec(scale=None), "has no formula"),
        (scale(1, 3), "not made of text"),
        (scale(2, "t"), "not made of text"),
        (scale(2, ["t"]), "cannot be loaded"),
        (scale(1, "~ t"), "read differently"),
        (scale(1, "~ gp(t)"), "read differently"),
        (scale(1, "~ y"), "cannot stand in the formula of its noise scale|no column"),
        (scale(1, "~ __import__('os')"), "cannot be loaded"),
        (in_spec(formula="y ~ gp(z) | censor(low, 1.6)"), "no column|read differently"),
        (in_class("DesignState", scale=None), "not those of the formula"),
        (in_class("DesignState", scale={"$scale": 3}), "unknown form"),
        (in_class("DesignState", scale={"$scale": [[3], None]}), "unknown form"),
        (in_class("DesignState", scale={"$class": "PartState", "fields": {}}), "unknown class"),
        (in_class("Maximum", more=1), "Maximum has not exactly the fields"),
        (in_class("Maximum", converged=1), "Maximum.converged"),
        (in_class("Maximum", gamma={"$float": "nan"}), "Maximum.gamma"),
        (in_class("Maximum", gamma={"$array": 0}), "not there or taken|shape|type"),
        (in_class("Maximum", shape=None), "shape of its noise"),
        (in_class("Maximum", shape={"$float": "nan"}), "shape of its noise"),
        (in_class("RegressionParts", family={"$family": "weibull"}), "shape"),
        (in_class("RegressionParts", family={"$family": {"$dict": [["student", -1.0]]}}), "a number from 0.2"),
        (in_class("RegressionParts", family={"$family": {"$dict": [["student", "many"]]}}), "a number from 0.2"),
        (in_class("RegressionParts", family={"$family": {"$dict": [["cauchy", 1.0]]}}), "unknown family"),
        (in_class("RegressionParts", family=None), "RegressionParts.family is of the type NoneType, not Family"),
        (in_class("RegressionParts", cov_type="HC7"), "together"),
        (in_class("RegressionParts", cov_type=3), "cov_type is of the type int"),
        (in_class("RegressionParts", llnull="low"), "llnull"),
        (in_class("RegressionParts", centre=None), "centre is of the type NoneType"),
    ],
)
def test_documents_of_regressions(rewrite_regression, change, match):
    refused(rewrite_regression(change), match)


def test_an_untouched_copy_of_a_regression_is_read(rewrite_regression, stored_regression, rich):
    assert (tg.load(rewrite_regression()).predict(rich) == stored_regression[0].predict(rich)).all()


@pytest.mark.parametrize("name", ["w_centre", "w_scale"])
def test_units_of_a_noise_scale_are_those_of_its_formula(rewrite_scale, stored_scale, rich, name):
    """A number for each column of log sigma but its intercept."""
    expected = stored_scale[0].predict(rich, "quantile", q=0.1)
    assert (tg.load(rewrite_scale()).predict(rich, "quantile", q=0.1) == expected).all()
    places = []
    tg.load(rewrite_scale(lambda document: places.append(find(document, "Units")[name]["$array"]) or document))
    wrong = {"has the shape": (np.ones(2), np.ones(0), np.ones((1, 1))), "not finite": (np.full(1, np.nan),)}
    for match, arrays in wrong.items():
        for values in arrays:
            changed = {f"arrays/{places[0]}.npy": npy(values)}
            refused(rewrite_scale(entries=lambda parts, changed=changed: parts | changed), match)


class Trap:
    sprung = False

    def __reduce__(self):
        return (spring, ())


def spring():
    Trap.sprung = True


@pytest.mark.parametrize(
    ("data", "match"),
    [
        (npy(np.array([Trap()], dtype=object)), "type object"),
        (npy(np.zeros(3, dtype=np.float32)), "type float32"),
        (npy(np.zeros(3, dtype=">f8")), "type >f8"),
        (npy(np.array(["a"])), "type <U1"),
        (npy(np.zeros(2, dtype=[("a", "f8")])), "type"),
        (npy(np.zeros(2))[:-1], "holds 15 bytes"),
        (npy(np.zeros(2)) + b"x", "holds 17 bytes"),
        (npy(np.zeros((7, 7, 7))), "shape|type|cannot"),
        (npy(np.zeros(2, dtype=bool)), "type|shape"),
        (header("{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,)}\n"), "holds 0 bytes"),
        (header("{'descr': '<f8', 'fortran_order': False, 'shape': (-1, -8)}\n"), "shape"),
        (header("{'descr': '<f8', 'fortran_order': False, 'shape': __import__('os')}\n"), "cannot be loaded"),
        (b"\x93NUMPY\x03\x00", "unknown version"),
        (b"", "cannot be loaded"),
        (b"PK", "cannot be loaded"),
    ],
)
def test_arrays(rewrite, data, match):
    for name in ("arrays/0.npy", "arrays/5.npy"):
        refused(rewrite(entries=lambda parts, name=name: {**parts, name: data}), match)
    assert not Trap.sprung


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda parts: {**parts, "../evil.npy": b""}, "unknown entry '../evil.npy'"),
        (lambda parts: {**parts, "/etc/passwd": b""}, "unknown entry"),
        (lambda parts: {**parts, "arrays/../fit.json": b""}, "unknown entry"),
        (lambda parts: {**parts, "fit.pickle": b""}, "unknown entry 'fit.pickle'"),
        (lambda parts: {**parts, f"arrays/{len(parts) - 1}.npy": npy(np.zeros(1))}, "nothing refers to"),
        (lambda parts: {name: data for name, data in parts.items() if name != "arrays/3.npy"}, "missing|unknown entry"),
        (lambda parts: {name: data for name, data in parts.items() if name != "fit.json"}, "missing|unknown entry"),
        (lambda parts: {}, "missing"),
        (lambda parts: dict(reversed(parts.items())), "missing or repeated"),
    ],
)
def test_entries(rewrite, change, match):
    refused(rewrite(entries=change), match)


def test_compressed_and_repeated_entries(rewrite, stored, tmp_path):
    refused(rewrite(compression=zipfile.ZIP_DEFLATED), "compressed or encrypted")
    refused(rewrite(compression=zipfile.ZIP_LZMA), "compressed or encrypted")
    path = tmp_path / "twice.tgp"
    path.write_bytes(zipped([("fit.json", "{}")] * 2))
    refused(path, "missing or repeated")


def test_bombs(stored, tmp_path):
    """Entries that share bytes, and ones that claim more than there are."""
    path = tmp_path / "bomb.tgp"
    data = bytearray(stored[1])
    at = data.rfind(b"PK\x01\x02")
    struct.pack_into("<II", data, at + 20, 2**31, 2**31)
    path.write_bytes(data)
    refused(path, "larger than the file")
    names = ["fit.json", *(f"arrays/{i}.npy" for i in range(299))]
    data = bytearray(zipped((name, b"x" * 100) for name in names))
    at = data.find(b"PK\x01\x02")
    for name in names:
        struct.pack_into("<II", data, at + 20, 40_000, 40_000)
        at += 46 + len(name)
    path.write_bytes(data)
    refused(path, "larger than the file")


def test_too_many_entries(rewrite, monkeypatch):
    monkeypatch.setattr("tobitgp.storage.archive.MAX_ENTRIES", 5)
    refused(rewrite(), "more than 5 entries")


@pytest.mark.parametrize("keep", [0, 1, 30, 1000, 5000, -1, -30])
def test_truncated(stored, tmp_path, keep):
    path = tmp_path / "short.tgp"
    path.write_bytes(stored[1][:keep])
    refused(path, "not a saved tobitgp fit, or the file is damaged")


def test_other_files(tmp_path):
    path = tmp_path / "other.tgp"
    path.write_text("x,y\n1,2\n")
    refused(path, "not a saved tobitgp fit")
    path.write_bytes(zipped([("sheet.xml", "<a/>")]))
    refused(path, "unknown entry 'sheet.xml'")
