"""A loaded fit of several responses answers as the one that was saved; other files are refused."""

import io
import json
import zipfile

import numpy as np
import pandas as pd
import pytest
from support.hostile_files import find, in_class, zipped
from support.stored import again, assert_same, quiet_fit
from support.summary_texts import without_tests

import tobitgp as tg
from tobitgp.cli import main
from tobitgp.errors import DataError, SpecError

FORMULA = "mvbind(y, z) ~ gp(x) + bs(t, df=4) + C(k, Sum) + (1 + t | g) | censor(0.7, None)"


@pytest.fixture(scope="module")
def res(rich):
    return quiet_fit(FORMULA, rich.assign(z=rich["z"].where(rich["t"] < 1.8)), rescor=True, sigma="~ t + C(k)")


@pytest.fixture(scope="module")
def loaded(res, tmp_path_factory):
    return again(res, tmp_path_factory.mktemp("several"))


def test_tables(res, loaded):
    assert type(loaded) is tg.MultivariateResults
    assert repr(loaded) == repr(res)
    assert without_tests(loaded.summary()) == without_tests(res.summary())
    assert loaded.log_evidence == res.log_evidence
    assert_same(res.counts, loaded.counts)
    assert_same(res.group_effects(), loaded.group_effects())
    assert_same(res.regression("y", "z"), loaded.regression("y", "z"))


@pytest.mark.parametrize("what", ["median", "latent", "uncensored", "sigma"])
def test_predictions(res, loaded, rich, what):
    new = rich[["x", "t", "k", "g"]].iloc[::7]
    assert_same(res.predict(new, what, interval=0.9), loaded.predict(new, what, interval=0.9))
    assert np.array_equal(res.sample(new, 3), loaded.sample(new, 3))


def test_no_rows_are_held(loaded, rich):
    for ask in (loaded.predict, loaded.impute, loaded.plot, lambda: loaded.impute(rich)):
        with pytest.raises(SpecError, match="holds no training rows"):
            ask()


def test_log_times_weights_and_functions(rich, tmp_path):
    def double(v):
        return 2.0 * v

    data = rich.assign(other=np.exp(rich["z"]))
    options = {"family": "lognormal", "weights": "w", "functions": {"double": double}}
    res = quiet_fit("mvbind(y, other) ~ double(x) | censor(0.7, None)", data, **options)
    with pytest.raises(SpecError, match="double"):
        again(res, tmp_path)
    loaded = again(res, tmp_path, {"double": double})
    assert loaded.log_evidence == res.log_evidence
    assert_same(res.predict(data[["x"]]), loaded.predict(data[["x"]]))


def wide(at, value):
    """Another formula, sigma or rescor."""

    def change(document):
        find(document, "Stack")["wide"]["$wide"][at] = value
        return document

    return change


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (in_class("Stack", wide=3), "Stack.wide is of the type int"),
        (wide(2, 1), "not made of text"),
        (wide(2, False), "read otherwise"),
        (wide(1, "~ t"), "read otherwise"),
        (wide(0, FORMULA.replace("gp(x)", "gp(t)")), "read otherwise"),
        (wide(0, "y ~ x"), "cannot be loaded"),
        (in_class("MultivariateParts", dropped=-1), "do not belong together"),
        (in_class("MultivariateParts", dropped="1"), "dropped is of the type str"),
        (in_class("Stack", log_time=True), "do not belong together"),
        (in_class("Stack", scale=None), "is of the type NoneType"),
        (in_class("Stack", inputs=("x", 3)), "Stack.inputs is of the type"),
    ],
)
def test_documents(res, tmp_path, change, match):
    res.save(tmp_path / "fit.tgp")
    with zipfile.ZipFile(tmp_path / "fit.tgp") as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    document = change(json.loads(parts["fit.json"]))
    (tmp_path / "other.tgp").write_bytes(zipped({**parts, "fit.json": json.dumps(document).encode()}.items()))
    with pytest.raises(DataError, match=match):
        tg.load(tmp_path / "other.tgp")


def test_shapes_and_signs(res, tmp_path):
    res.save(tmp_path / "fit.tgp")
    with zipfile.ZipFile(tmp_path / "fit.tgp") as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    document = json.loads(parts["fit.json"])
    stored = find(document, "Stack") | {"exact": find(document, "MultivariateParts")["exact"]}
    for name in ("centre", "scale", "means", "constant", "scale_means", "exact"):
        at = f"arrays/{stored[name]['$array']}.npy"
        values = np.load(io.BytesIO(parts[at]))
        for wrong in (values[:-1], np.full_like(values, np.nan), -1.0 - np.abs(values)):
            if name in ("centre", "means", "constant", "scale_means") and (wrong < 0.0).all():
                continue
            file = io.BytesIO()
            np.save(file, wrong)
            (tmp_path / "other.tgp").write_bytes(zipped({**parts, at: file.getvalue()}.items()))
            with pytest.raises(DataError, match=r"shape|not finite|no sense|invalid|do not belong together"):
                tg.load(tmp_path / "other.tgp")


def test_the_command_line_predicts(res, rich, tmp_path):
    res.save(tmp_path / "fit.tgp")
    new = rich[rich["t"].between(0.2, 1.6)][["x", "t", "k", "g"]].head(6)
    new.to_csv(tmp_path / "new.csv", index=False)
    assert (
        main(
            ["predict", *(str(tmp_path / name) for name in ("fit.tgp", "new.csv")), "--out", str(tmp_path / "out.csv")]
        )
        == 0
    )
    found = pd.read_csv(tmp_path / "out.csv")
    np.testing.assert_allclose(found.to_numpy(dtype=float), res.predict(new).to_numpy(), rtol=1e-6)
