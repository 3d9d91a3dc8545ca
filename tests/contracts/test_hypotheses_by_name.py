"""Hypotheses accept the names that the table of coefficients prints, for every kind and whatever columns are called."""

import re
import warnings

import numpy as np
import pytest
from support.kinds import KINDS, N, rows

import tobitgp as tg

NAMES = {"z": "my z", "g": "the group"}
LEVELS = {"a": "a, b = c", "b": "x ~ y", "c": "it's [odd] `t`"}
OTHERS = {
    "formulas of the cured": (
        "Surv(until, dead) ~ z",
        {"family": "weibull", "cure": "~ z", "formulas": {"shape": "~ z"}},
    ),
    "regressions": ("low ~ mixture(2, z*k) | censor(limit)", {}),
}
CALLS = {name: (kind.formula, kind.options) for name, kind in KINDS.items()} | OTHERS
TESTED = [
    name for name in CALLS if name not in ("latent", "measured", "vectors", "mixture", "counts")
]  # which have no formula of columns


def renamed(text):
    for name, new in NAMES.items():
        text = re.sub(rf"\b{name}\b", f"`{new}`", text)
    return text


def called_otherwise(name):
    """A fit whose columns have names with spaces."""
    data = rows()[:N].rename(columns=NAMES)
    data["the group"] = data["the group"].map(LEVELS)
    formula, options = CALLS[name]
    options = {key: renamed(value) if key in ("sigma", "cure") else value for key, value in options.items()}
    if "formulas" in options:
        options["formulas"] = {key: renamed(text) for key, text in options["formulas"].items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return tg.fit(renamed(formula), data, **options)


def in_backticks(label):
    """The name with columns written as in formulas."""
    return re.sub("my z|the group", lambda found: f"`{found[0]}`", label)


@pytest.mark.quick_cases("noise scale", "box-cox", "spline", "lognormal", "causes")
@pytest.mark.parametrize("name", TESTED)
def test_names_of_the_table(name):
    res = called_otherwise(name)
    table = res.summary_frame()
    table.index = [f"{label[1]}[{label[0]}]" if isinstance(label, tuple) else label for label in table.index]
    z = table["z"].dropna()
    assert len(z)
    for label, value in z.items():
        for written in (label, f"`{label}`", in_backticks(label) if "`" not in label else label):
            test = res.wald_test(f"{written} = 0")
            assert (test.df, test.statistic) == (1, pytest.approx(value**2, rel=1e-6)), written
            np.testing.assert_allclose(res.t_test(written).tvalue, value, rtol=1e-6)
    if len(z) > 1:
        both = res.t_test(", ".join(f"{label} = 0" for label in z.index))
        np.testing.assert_allclose(both.tvalue, z, rtol=1e-6)
