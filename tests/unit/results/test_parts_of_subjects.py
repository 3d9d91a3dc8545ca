"""Rows that are parts of the time of subjects are no population to average over; a row for each subject is."""

import numpy as np
import pandas as pd
import pytest

import tobitgp as tg
from tobitgp.errors import SpecError

FAMILIES = [
    "weibull",
    pytest.param("ph", marks=pytest.mark.slow),
    tg.PH("piecewise", bands=3),
    tg.PH("weibull"),
    tg.PH("spline", df=2),
]


@pytest.fixture(scope="module")
def whole():
    rng = np.random.default_rng(4)
    data = pd.DataFrame({"who": np.arange(80), "start": 0.0, "z": rng.normal(size=80)})
    return data.assign(stop=np.exp(-0.5 * data.z) * rng.weibull(1.5, 80), event=rng.uniform(size=80) < 0.7)


def halves(whole):
    """Rows cut at the middle of their time."""
    middle = 0.5 * whole["stop"]
    return pd.concat([whole.assign(stop=middle, event=False), whole.assign(start=middle)], ignore_index=True)


@pytest.mark.parametrize("family", FAMILIES, ids=str)
def test_averages_over_parts_of_subjects_are_refused(whole, family, tmp_path):
    parts = halves(whole)
    res = tg.fit("Surv(start, stop, event) ~ z", parts, family=family, id="who")
    for ask in (
        lambda: res.standardise({"z": [0.0]}, "survival", 0.5),
        lambda: tg.contrast(res, {"z": 1.0}, {"z": 0.0}, "survival", 0.5),
        res.plot_survival,
        res.marginal_effects,
        lambda: res.marginal_effects("survival", at="mean", times=0.5),
        res.get_margeff,
        lambda: res.plot_effect("z", average=True),
    ):
        with pytest.raises(SpecError, match="parts of the time of subjects"):
            ask()
    res.save(tmp_path / "fit.tgp")
    for fit in (res, tg.load(tmp_path / "fit.tgp")):
        with pytest.raises(SpecError, match="requires independent rows"):
            fit.conformalise(whole)
        assert fit.standardise({"z": [0.0]}, "survival", 0.5, whole)["estimate"].between(0.0, 1.0).all()


@pytest.mark.parametrize("family", FAMILIES[2:], ids=str)
def test_a_row_for_each_subject_is_averaged_over(whole, family):
    res = tg.fit("Surv(start, stop, event) ~ z", whole, family=family, id="who")
    asked = {"z": [0.0]}, "survival", 0.5
    pd.testing.assert_frame_equal(res.standardise(*asked), res.standardise(*asked, whole), rtol=1e-12)


@pytest.mark.parametrize("family", FAMILIES[2:], ids=str)
def test_effects_at_a_row_for_each_subject_do_not_depend_on_cuts(whole, family):
    one, cut = (
        tg.fit("Surv(start, stop, event) ~ z", rows, family=family, id="who") for rows in (whole, halves(whole))
    )
    want = one.marginal_effects("survival", times=0.5)
    for res in (one, cut):
        pd.testing.assert_frame_equal(res.marginal_effects("survival", at=whole, times=0.5), want, rtol=1e-5)


def test_effects_on_the_incidence_of_causes_are_refused_over_parts(whole):
    rows = halves(whole.assign(cause=whole["event"] * (1 + (whole["z"] > 0.3))))
    rows["cause"] = rows["cause"].where(rows["event"], 0)
    res = tg.fit("Surv(start, stop, cause) ~ z", rows, family=tg.PH("piecewise", bands=3), id="who")
    asked = {"what": "risk", "times": 0.5, "cause": 1, "draws": 50}
    for ask in (lambda: res.marginal_effects(**asked), lambda: res.standardise({"z": [0.0]}, **asked)):
        with pytest.raises(SpecError, match="parts of the time of subjects"):
            ask()
    assert np.isfinite(res.marginal_effects(**asked, at=whole).to_numpy()).all()
    assert np.isfinite(res.standardise({"z": [0.0]}, **asked, df=whole).to_numpy()).all()
