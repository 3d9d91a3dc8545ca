"""Terms that are left out: of new rows as of the fit's own, whatever else uses their columns."""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.kinds import KINDS as KINDS_OF_FIT
from support.kinds import N, fitted, rows
from support.methods import with_settings

import tobitgp as tg
from tobitgp.errors import DataError, SpecError

TIMES = ("weibull", "entry", "cured", "box-cox", "hazard", "spline", "smooth hazard")
UPPER = {"what": "quantile", "q": 0.95}
KINDS: list[tuple[str, str, dict[str, Any]]] = [
    ("y ~ z + (1 + z | g)", "z", {}),
    ("y ~ z + (1 + z | g) + (1 + x | h)", "re(g)", {}),
    ("y ~ x + (0 + x | h)", "x", {}),
    ("y ~ x + (1 + log(x + 5) | h)", "x", {}),
    ("y ~ z + x:gp(z)", "z", {}),
    ("y ~ z + gp(x, by=g)", "z", {}),
    ("y ~ x + z", "x", {"sigma": "~ gp(x)"}),
    ("y ~ x + z", "x", {"sigma": "~ x"}),
    ("y ~ x + z", "x", {"sigma": "~ (1 | g)"}),
    ("y ~ x + z + offset(0.1 * x)", "x", {}),
    ("y ~ z + x", "z", {}),
]


@pytest.fixture(scope="module")
def data() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    n = 60
    g, h = rng.integers(0, 5, n), rng.integers(0, 4, n)
    z, x = rng.normal(size=(2, n))
    y = 0.5 * z + g - z * np.sin(g) + x * h + 0.3 * np.exp(0.5 * x) * rng.normal(size=n)
    return pd.DataFrame({"z": z, "x": x, "g": g.astype(str), "h": h.astype(str), "y": y})


@pytest.mark.slow
@pytest.mark.parametrize(("formula", "exclude", "options"), KINDS)
def test_given_rows_are_those_of_the_fit(
    data: pd.DataFrame, formula: str, exclude: str, options: dict[str, Any]
) -> None:
    res = tg.fit(formula, data, **with_settings(options, hyper="maximize"))
    for asked in (UPPER, {"what": "latent"}):
        own, given = res.predict(exclude=exclude, **asked), res.predict(data, exclude=exclude, **asked)
        np.testing.assert_allclose(given, own, rtol=1e-8, atol=1e-8)


@pytest.mark.slow
def test_the_mean_lacks_coefficient_times_column(data: pd.DataFrame) -> None:
    res = tg.fit("y ~ z + (1 + z | g)", data, method=tg.EP(hyper="maximize"))
    without = res.predict(data, what="latent", exclude="z")
    np.testing.assert_allclose(without, res.predict(data, what="latent") - res.params["z"] * data["z"], atol=1e-10)


@pytest.mark.slow
def test_several_responses_keep_the_slopes_of_groups(data: pd.DataFrame) -> None:
    rng = np.random.default_rng(2)
    both = data.assign(y2=data["y"] + 0.3 * rng.normal(size=len(data)))
    res = tg.fit("mvbind(y, y2) ~ z + (1 + z | g)", both, rescor=True, method=tg.EP(hyper="maximize"))
    median, quantile = (res.predict(both, **asked) for asked in ({"what": "median"}, {"what": "quantile", "q": 0.5}))
    np.testing.assert_allclose(median["y"], quantile["y"], atol=1e-3)
    np.testing.assert_allclose(res.predict(both, "latent")["y"], res.predict(what="latent")["y"], atol=1e-8)


ELSEWHERE = ("several", "causes", "shape")  # whose linear terms cannot be left out, or are in another formula too
OTHERS = [name for name, kind in KINDS_OF_FIT.items() if re.search("~ z( |$)", kind.formula) and name not in ELSEWHERE]


@pytest.mark.slow
@pytest.mark.parametrize("name", OTHERS)
def test_every_kind_leaves_a_column_out_as_if_it_were_zero(name: str) -> None:
    data = rows()
    training, new = data.iloc[:N], data.iloc[N:]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        res = KINDS_OF_FIT[name].fit(training)
        zero = new.assign(z=0.0)
        needed = "sigma" in KINDS_OF_FIT[name].options
        given = new if needed else new.drop(columns="z")
        np.testing.assert_allclose(res.predict(given, exclude="z"), res.predict(zero), rtol=1e-8, atol=1e-8)
        if name in TIMES:
            for question in (res.predict_survival_function, res.predict_cumulative_hazard, res.predict_hazard):
                np.testing.assert_allclose(
                    question(given, [0.5, 1.0], exclude="z"), question(zero, [0.5, 1.0]), rtol=1e-7, atol=1e-9
                )


@pytest.mark.parametrize("name", KINDS_OF_FIT)
@pytest.mark.filterwarnings("ignore")
def test_the_curve_without_a_term_is_the_sum_of_the_others(name: str) -> None:
    res, new = fitted(name), rows().iloc[N:]
    try:
        terms = res.predict(new, "terms").xs("estimate", axis=1, level=-1)
        latent = res.predict(new, "latent")
    except SpecError as refusal:
        pytest.skip(str(refusal))
    if isinstance(latent, pd.DataFrame):
        pytest.skip("Several responses have terms of their own, which exclude= does not name one by one.")
    np.testing.assert_allclose(terms.sum(axis=1), latent, rtol=1e-8, atol=1e-10)
    own = [name for name in terms if not name.startswith(("Intercept", "baseline"))]
    if name == "strata":  # each has its own baseline
        own.remove("C(g)")
    for left_out in own:
        without = res.predict(new, "latent", exclude=left_out)
        np.testing.assert_allclose(without, terms.drop(columns=left_out).sum(axis=1), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("name", ["process", "measured"])
def test_draws_without_a_term_are_about_the_sum_of_the_others(name: str) -> None:
    res, new = fitted(name), rows().iloc[N:]
    drawn = res.sample(new, 4000, what="latent", exclude="gp(x)", rng=1)
    expected = res.predict(new, "terms").xs("estimate", axis=1, level=-1).iloc[:, :-1].sum(axis=1)
    np.testing.assert_allclose(drawn.mean(axis=1), expected, atol=4.0 * drawn.std(axis=1).max() / 4000**0.5 + 1e-12)


REGRESSIONS = {
    "terms": ("low ~ mixture(2, z + g) | censor(limit)", {}, "z", ["z"]),
    "formulas": ("low ~ mixture(2, z + g)", {"formulas": {"odds": "~ k"}, "sigma": "~ x"}, ["z", "g"], ["z", "g"]),
    "offset": ("low ~ mixture(2, g + offset(0.1 * z)) | censor(limit)", {}, "offset", ["z"]),
    "shape": ("Surv(time, event) ~ z", {"family": "weibull", "formulas": {"shape": "~ g"}}, "z", ["z"]),
    "cured": ("Surv(until, dead) ~ z", {"family": tg.PH("spline", df=1), "cure": "~ g"}, "z", ["z"]),
}


@pytest.mark.quick_cases("shape")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", REGRESSIONS)
def test_columns_of_excluded_terms_alone_are_not_needed(name: str) -> None:
    formula, options, exclude, unused = REGRESSIONS[name]
    data = rows()
    res, new = tg.fit(formula, data.iloc[:N], **options), data.iloc[N:]
    given = new.drop(columns=unused)
    np.testing.assert_allclose(res.predict(given, exclude=exclude), res.predict(new, exclude=exclude), rtol=1e-12)
    missing = new.assign(**dict.fromkeys(unused, None))
    np.testing.assert_allclose(res.predict(missing, exclude=exclude), res.predict(new, exclude=exclude), rtol=1e-12)
    if unused == ["z"]:
        zero = res.predict(new.assign(z=0.0))
        np.testing.assert_allclose(res.predict(given, exclude=exclude), zero, rtol=1e-8)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_column_of_other_formulas_is_still_needed() -> None:
    data = rows()
    res = tg.fit("low ~ mixture(2, z)", data.iloc[:N], formulas={"odds": "~ z"})
    with pytest.raises(DataError, match="lack the column 'z'"):
        res.predict(data.iloc[N:].drop(columns="z"), exclude="z")
