"""A loaded fit of proportional hazards answers as the one that was saved; other files are refused."""

import json
import zipfile

import numpy as np
import pytest
from support.hostile_files import in_class, in_spec, zipped
from support.stored import again, assert_same, quiet_fit
from support.summary_texts import without_tests

import tobitgp as tg
from tobitgp.errors import DataError, SpecError

FITS = {
    "process": ("Surv(y, seen) ~ gp(x) + tv(t) + C(k, Sum) + (1 | g)", "ph"),
    "strata": ("Surv(y, seen) ~ bs(z, df=4) + strata(g)", tg.PH("piecewise", bands=3)),
    "over bands": ("Surv(y, seen) ~ tv(t) + z", tg.PH("piecewise", bands=3)),
    "given": ("Surv(low, y, seen) ~ `a b` + offset(0.1 * z)", tg.PH(bands=[0.8, 1.0, 1.3], kernel="rbf")),
}


@pytest.fixture(scope="module")
def data(rich):
    return rich.assign(low=0.9 * rich["y"])


@pytest.fixture(scope="module", params=FITS)
def res(request, data):
    formula, family = FITS[request.param]
    return quiet_fit(formula, data, family=family, method=tg.EP(hyper="auto" if family != "ph" else "maximize"))


@pytest.fixture(scope="module")
def loaded(res, tmp_path_factory):
    return again(res, tmp_path_factory.mktemp("hazards"))


@pytest.mark.filterwarnings(
    "ignore:(Times up to|Some times are infinite|No one was under observation|The standard errors of)"
)
def test_answers(res, loaded, data):
    new = data.iloc[::9]
    assert type(loaded) is tg.HazardResults
    assert without_tests(loaded.summary()) == without_tests(res.summary())
    assert repr(loaded) == repr(res)
    assert_same(res.predict(new, interval=0.9), loaded.predict(new, interval=0.9))
    for ask in ("predict_survival_function", "predict_hazard"):
        one, two = (getattr(of, ask)(new, [0.5, 1.2], interval=0.9) for of in (res, loaded))
        assert_same(one, two)
    rows = {"terms": None} if "gp(x)" not in res.formula else {"at": {"x": [1.0]}, "reference": {"x": 2.0}}
    assert_same(res.hazard_ratios(**rows), loaded.hazard_ratios(**rows))
    for name in ("log_evidence", "llf", "df_model"):
        assert np.array_equal(getattr(res, name), getattr(loaded, name), equal_nan=True)


def test_no_rows_are_held(loaded):
    for ask in (loaded.predict, loaded.residuals, loaded.check, loaded.plot, loaded.proportionality, loaded.loo):
        with pytest.raises(SpecError, match="holds no training rows"):
            ask()


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (in_class("HazardParts", written={"$hazards": 1}), "not made of text"),
        (in_class("HazardParts", written={"$hazards": "Surv(y, seen) ~ z"}), "read otherwise"),
        (in_class("PH", baseline="step"), "PH.baseline is of the type str"),
        (in_class("PH", baseline="spline", bands=None, kernel="matern32"), "cells"),
        (in_class("PH", kernel="rough"), "kernel='rough'"),
        (in_class("PH", bands="all"), "PH.bands is of the type str"),
        (in_class("HazardParts", family={"$class": "PH", "fields": {}}), "PH has not exactly the fields"),
        (in_class("HazardParts", cells=None), "HazardParts.cells is of the type"),
        (in_spec(formula="y ~ x"), "cannot be loaded"),
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


@pytest.mark.parametrize("wrong", [[0.0], [0.0, -1.0], [-1.0, 2.0], [0.0, np.nan]])
def test_bands_that_are_none(res, tmp_path, wrong):
    from dataclasses import replace

    from tobitgp.results.hazards.hazard_results import HazardResults

    HazardResults(replace(res.parts, cuts=np.array(wrong))).save(tmp_path / "fit.tgp")
    with pytest.raises(DataError, match="bands of time are none"):
        tg.load(tmp_path / "fit.tgp")
