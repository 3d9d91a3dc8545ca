"""The registry of noise families, and what a user may say instead of a name."""

import numpy as np
import pytest

from tobitgp.distributions.gumbel import Gumbel
from tobitgp.distributions.standard_noise import Distribution
from tobitgp.distributions.symmetric_noise import StudentNoise
from tobitgp.errors import SpecError
from tobitgp.likelihoods import FAMILIES, Family, Student, resolve_family


@pytest.mark.parametrize("name", FAMILIES)
def test_row_of_the_registry(name):
    family = FAMILIES[name]
    assert family.name == name
    assert resolve_family(name) is family
    assert isinstance(family.distribution, Distribution)
    for view in ("tilted", "tilted_slope", "newton", "point", "expected"):
        assert callable(getattr(family.likelihood, view))


@pytest.mark.parametrize(
    ("name", "distribution", "log_time"),
    [
        ("gaussian", "normal", False),
        ("student", "student", False),
        ("logistic", "logistic", False),
        ("gumbel", "gumbel", False),
        ("lognormal", "normal", True),
        ("loglogistic", "logistic", True),
        ("weibull", "gumbel", True),
        ("exponential", "gumbel", True),
        ("gengamma", "gengamma", True),
    ],
)
def test_distribution_of_each(name, distribution, log_time):
    family = FAMILIES[name]
    assert (family.distribution.name, family.log_time) == (distribution, log_time)
    assert family.known_sigma == (1.0 if name == "exponential" else None)
    assert family.estimate_shape == (name in ("student", "gengamma"))


def test_the_distribution_of_a_process_follows_its_parameters():
    theta = np.log([1.3, 0.5, 7.0, 0.2])
    assert FAMILIES["student"].distribution_at(theta).df == pytest.approx(7.0)
    assert FAMILIES["student"].likelihood.at(theta).distribution.df == pytest.approx(7.0)
    assert FAMILIES["weibull"].distribution_at(theta) == Gumbel()
    assert resolve_family(Student(df=3)).distribution_at(theta) == StudentNoise(3.0)


def test_known_degrees_of_freedom():
    for value in (Student(df=4), Student(4.0), Student(np.float64(4.0))):
        family = resolve_family(value)
        assert family == Family("student", StudentNoise(4.0))
        assert not family.estimate_shape
    assert Student(4) == Student(4.0)
    assert repr(Student(df=2.5)) == "Student(df=2.5)"


@pytest.mark.parametrize("df", [0, -1.0, 1e-300, 0.1, 1e300, np.nan, np.inf, "4", None, True])
def test_degrees_of_freedom_that_are_none(df):
    with pytest.raises(SpecError, match=r"a number from 0.2 to 1e\+10"):
        Student(df)


@pytest.mark.parametrize(
    ("given", "hint"),
    [
        ("normal", "it is called 'gaussian' here"),
        ("Tobit", "it is called 'gaussian' here"),
        ("t", "it is called 'student' here"),
        ("extreme", "it is called 'gumbel' here"),
        ("weibul", "did you mean 'weibull'"),
        ("Gaussian", "did you mean 'gaussian'"),
        ("poisson", "is not supported. Choose"),
        (None, "family=None is not supported. Choose"),
        (Student, "is not supported. Choose"),
        (StudentNoise(4.0), "is not supported. Choose"),
    ],
)
def test_what_is_no_family(given, hint):
    with pytest.raises(SpecError, match=r"Student\(df=4\) or GenGamma\(Q=1\)") as caught:
        resolve_family(given)
    assert hint in str(caught.value)
    assert all(repr(name) in str(caught.value) for name in FAMILIES)


@pytest.mark.parametrize(
    ("given", "where"),
    [
        ("Heckman", "sample selection has a second equation. Use R's sampleSelection"),
        ("hurdle", "two models together: statsmodels' Probit"),
        ("twopart", "two models together: .* R's mhurdle has both"),
        ("probit", "statsmodels' Probit, Logit"),
        ("clad", r"quantreg::crq\(method='Powell'\)"),
    ],
)
def test_models_of_econometrics_that_are_elsewhere(given, where):
    with pytest.raises(SpecError, match=f"family='{given}' is not available in tobitgp: .*{where}"):
        resolve_family(given)
