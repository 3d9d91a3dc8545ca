"""The registry of noise families, and what a user may say instead of a name."""

import numpy as np
import pandas as pd
import pytest

import tobitgp as tg
from tobitgp.errors import SpecError
from tobitgp.likelihoods import FAMILIES, Family, Student, laws, resolve_family

NAMES = {"gaussian", "student", "logistic", "gumbel", "lognormal", "loglogistic", "weibull", "exponential"}
UNDER_GP = {"gaussian", "lognormal"}


def test_the_families_of_the_contract():
    assert set(FAMILIES) == NAMES
    assert {name for name, family in FAMILIES.items() if family.gp_likelihood is not None} == UNDER_GP


@pytest.mark.parametrize("name", FAMILIES)
def test_row_of_the_registry(name):
    family = FAMILIES[name]
    assert family.name == name
    assert resolve_family(name) is family
    assert type(family.law) is type(laws.LAWS[family.law.name])
    if family.gp_likelihood is not None:
        for view in ("tilted", "tilted_slope", "newton", "point", "expected"):
            assert callable(getattr(family.likelihood, view))


@pytest.mark.parametrize(
    ("name", "law", "log_time"),
    [
        ("gaussian", "normal", False),
        ("student", "student", False),
        ("logistic", "logistic", False),
        ("gumbel", "gumbel", False),
        ("lognormal", "normal", True),
        ("loglogistic", "logistic", True),
        ("weibull", "gumbel", True),
        ("exponential", "gumbel", True),
    ],
)
def test_law_of_each(name, law, log_time):
    family = FAMILIES[name]
    assert (family.law.name, family.log_time) == (law, log_time)
    assert family.known_sigma == (1.0 if name == "exponential" else None)
    assert family.estimate_df == (name == "student")


@pytest.mark.parametrize("name", sorted(NAMES - UNDER_GP))
def test_without_a_likelihood_under_a_gp(name):
    with pytest.raises(SpecError, match=f"'{name}' is not offered under a Gaussian process yet; .*'lognormal'"):
        _ = FAMILIES[name].likelihood


def test_a_fit_says_so_too():
    data = pd.DataFrame({"x": np.arange(9.0), "y": np.arange(9.0) % 4})
    with pytest.raises(SpecError, match="not offered under a Gaussian process"):
        tg.fit("y ~ gp(x)", data, family="logistic")


def test_known_degrees_of_freedom():
    for value in (Student(df=4), Student(4.0), Student(np.float64(4.0))):
        family = resolve_family(value)
        assert family == Family("student", laws.Student(4.0))
        assert not family.estimate_df
    assert Student(4) == Student(4.0)
    assert repr(Student(df=2.5)) == "Student(df=2.5)"


@pytest.mark.parametrize("df", [0, -1.0, np.nan, np.inf, "4", None, True])
def test_degrees_of_freedom_that_are_none(df):
    with pytest.raises(SpecError, match="a positive number"):
        Student(df)


@pytest.mark.parametrize(
    ("given", "hint"),
    [
        ("normal", "it is called 'gaussian' here"),
        ("Tobit", "it is called 'gaussian' here"),
        ("t", "it is called 'student' here"),
        ("extreme", "it is called 'gumbel' here"),
        ("weibul", "did you mean 'weibull'; choose"),
        ("Gaussian", "did you mean 'gaussian'; choose"),
        ("poisson", "is not offered; choose"),
        (None, "family=None is not offered; choose"),
        (Student, "is not offered; choose"),
        (laws.Student(4.0), "is not offered; choose"),
    ],
)
def test_what_is_no_family(given, hint):
    with pytest.raises(SpecError, match=r"or Student\(df=4\) where") as caught:
        resolve_family(given)
    assert hint in str(caught.value)
    assert all(repr(name) in str(caught.value) for name in FAMILIES)
