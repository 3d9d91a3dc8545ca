"""A covariate may have the name of a parameter of the noise: every table shows its own numbers."""

import csv
import io
import re
import warnings

import numpy as np
import pandas as pd
import pytest

import tobitgp as tg
from tests.support.kinds import KINDS, N, fitted, kind, rows
from tobitgp.errors import DataError, SpecError, TobitGPError

MORE = {
    "gengamma": kind("pos ~ z + k", family="gengamma"),
    "free df": kind("low ~ z + k", family="student"),
    "exponential": kind("Surv(time, event) ~ z + g", family="exponential"),
    "known power": kind("pos ~ z + g", family=tg.BoxCox(power=0.5)),
    "exponential cure": kind("Surv(until, dead) ~ z", family="exponential", cure="~ 1"),
    "exponential start-stop": kind("Surv(time, event) ~ z", family="exponential", id="who"),
}
BASELINES = {"spline", "strata", "frailty", "start-stop", "shape"}  # names of their parameters are an error for columns


def quietly(of, data):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return of.fit(data)


ALL = {**KINDS, **MORE}
HAZARDS = {"hazard", "causes"}  # without parameters but coefficients, or with those of several fits
LABELS = [
    label
    for label, of in ALL.items()
    if re.search(r"~ z|~ x\*z", of.formula) and not {"method", "fixed"} & set(of.options) and label not in HAZARDS
]


def renamed(of, name):
    """The same fit, the covariate z in the formula of the location under another name."""
    left, right = of.formula.split(" ~ ")
    data = rows()[:N]
    formula = f"{left} ~ " + re.sub(r"\bz\b", f"`{name}`", right)
    return quietly(kind(formula, **of.options), data.assign(**{name: data.z}))


def texts(res):
    """Lines of the summary as lists of cells, without the formula."""
    lines = list(csv.reader(io.StringIO(res.summary().as_csv())))
    return [line for line in lines if not line[0].startswith("Formula")]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*The interval of df has no finite ends")
@pytest.mark.parametrize("label", LABELS)
def test_summary_has_the_numbers_of_the_column(label):
    of = ALL[label]
    plain = fitted(label) if label in KINDS else quietly(of, rows()[:N])
    for name in plain.parts.scale_names:
        if label in BASELINES:
            with pytest.raises(DataError, match=re.escape(name)):
                renamed(of, name)
        else:
            check_renamed(plain, renamed(of, name), name)


def check_renamed(plain, found, name):
    expected = [[re.sub(r"^z$|^z(?=:)|(?<=:)z$", name, line[0]), *line[1:]] for line in texts(plain)]
    assert texts(found) == expected
    np.testing.assert_array_equal(found.summary_frame().to_numpy(), plain.summary_frame().to_numpy())


@pytest.mark.slow
@pytest.mark.parametrize("label", ["regression", "gengamma", "exponential", "known power", "exponential start-stop"])
def test_refits_hold_the_right_parameter(label):
    """Influence, profiles of other parameters and draws of the bootstrap are those under another name."""
    of = ALL[label]
    name = quietly(of, rows()[:N]).parts.scale_names[-1]
    plain, found = renamed(of, "plain"), renamed(of, name)
    np.testing.assert_allclose(found.influence().to_numpy(), plain.influence().to_numpy(), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.profile_interval("Intercept"), plain.profile_interval("Intercept"), rtol=1e-9)
    if label != "exponential start-stop":
        one, two = (res.bootstrap(4, rng=1).summary_frame().to_numpy() for res in (found, plain))
        np.testing.assert_allclose(one, two, rtol=1e-9, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(("label", "name"), [("regression", "sigma"), ("gengamma", "Q"), ("box-cox", "power")])
def test_values_by_an_ambiguous_name_are_an_error(label, name):
    of = ALL[label]
    words = re.escape(f"names {name!r}, a linear column and another parameter. Rename the column.")
    with pytest.raises(SpecError, match=f"fixed= {words}"):
        renamed(kind(of.formula, **of.options, fixed={name: 0.5}), name)
    posterior = [{"start": {name: 0.5}}, {"priors": {name: None}}]
    if name == "power":  # the power takes neither, so these are of the coefficient
        posterior = [{"fixed": {name: 0.5}, "method": "ep"}]
    for more in posterior:
        with pytest.raises(TobitGPError, match="ename the column"):
            renamed(kind(of.formula, **of.options, **more), name)
    found = renamed(of, name)
    with pytest.raises(SpecError, match=words):
        found.profile_interval(name)
    with pytest.raises(SpecError, match=words):
        found.conf_int(method="profile")
    with pytest.raises(SpecError, match=words):
        found.to_arviz(10)


def test_a_stored_fit_keeps_both(tmp_path):
    found = renamed(KINDS["regression"], "sigma")
    found.save(tmp_path / "fit.tgp")
    again = tg.load(tmp_path / "fit.tgp")
    assert str(again.summary()) == str(found.summary())
    pd.testing.assert_frame_equal(again.summary_frame(), found.summary_frame())


def test_summary_of_a_column_called_sigma():
    """Its row of the text has the numbers of summary_frame(), and that of the noise comes after it."""
    rng = np.random.default_rng(4)
    data = pd.DataFrame({"sigma": rng.normal(size=60)})
    found = tg.fit("y ~ sigma", data.assign(y=3.0 * data.sigma + 0.5 * rng.normal(size=60)))
    shown = [line[1] for line in texts(found) if line[0] == "sigma"]
    assert shown == [f"{value:.4f}" for value in found.summary_frame().loc["sigma", "coef"]]


HAZARD_KINDS = [
    name for name, of in KINDS.items() if re.search(r"^Surv.*~ z\b", of.formula) and name not in {*BASELINES, "cured"}
]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["offset", "baseline"])
@pytest.mark.parametrize("label", HAZARD_KINDS)
def test_columns_named_like_parts_of_a_hazard(label, name):
    """The fit and its ratios have the numbers of the column z, under its own name."""
    plain, again = fitted(label), renamed(KINDS[label], name)
    np.testing.assert_allclose(again.params, plain.params, rtol=1e-6)
    if hasattr(plain, "hazard_ratios"):
        ratios, others = (res.hazard_ratios() for res in (plain, again))
        np.testing.assert_allclose(others, ratios, rtol=1e-6)
        assert [str(each).replace(name, "z") for each in others.index] == [str(each) for each in ratios.index]


def test_an_offset_beside_a_column_of_its_name():
    data = rows()[:N].assign(offset=lambda d: d.z, k=0.1)
    res = tg.fit("low ~ offset + offset(k)", data)
    terms = res.predict(what="terms").xs("estimate", axis=1, level=1)
    assert list(terms) == ["Intercept", "offset", "offset(k)"]
    assert (terms["offset(k)"] == 0.1).all()
    np.testing.assert_allclose(terms.sum(axis=1), res.predict(what="latent"), rtol=1e-12)
    without = res.predict(what="latent", exclude="offset(k)")
    np.testing.assert_allclose(without, terms["Intercept"] + terms["offset"], rtol=1e-12)
