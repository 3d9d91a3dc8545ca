"""gp(...): kernels in every spelling, periods, groups, labels."""

import math

import pytest

from tobitgp.formula import KERNEL_ALIASES, KERNEL_NAMES, Expression, parse_formula

COLUMNS = ["y", "x", "z", "g", "a b"]


def only(term):
    (found,) = parse_formula(f"y ~ {term}", COLUMNS).gps
    return found


@pytest.mark.parametrize("kernel", KERNEL_NAMES)
def test_every_kernel_is_read(kernel):
    assert only(f"gp(x, kernel='{kernel}')").factors[0].kernel == kernel


@pytest.mark.parametrize(
    ("written", "kernel"),
    [
        ("exp_quad", "rbf"),
        ("ExpQuad", "rbf"),
        ("SE", "rbf"),
        ("RBF", "rbf"),
        ("SquaredExponential", "rbf"),
        ("exponential", "matern12"),
        ("Matern12", "matern12"),
        ("matern15", "matern32"),
        ("Matern32", "matern32"),
        ("matern25", "matern52"),
        ("Matern52", "matern52"),
        ("RationalQuadratic", "rq"),
        ("RatQuad", "rq"),
        ("Periodic", "periodic"),
        ("Linear", "linear"),
    ],
)
def test_kernels_as_other_programs_call_them(written, kernel):
    assert only(f"gp(x, kernel='{written}')").factors[0].kernel == kernel


def test_aliases_stand_for_kernels_and_are_none_themselves():
    assert set(KERNEL_ALIASES.values()) <= set(KERNEL_NAMES)
    assert not set(KERNEL_ALIASES) & set(KERNEL_NAMES)
    assert all(alias == alias.lower() for alias in KERNEL_ALIASES)


@pytest.mark.parametrize(
    ("options", "period"),
    [
        ("period=12", 12.0),
        ("period=365.25 / 7", 365.25 / 7),
        ("period=2*pi", 2 * math.pi),
        ("period=1e-3, kernel='periodic'", 1e-3),
        ("kernel='periodic'", None),
        ("kernel='periodic', period=None", None),
    ],
)
def test_periods(options, period):
    (factor,) = only(f"gp(x, {options})").factors
    assert (factor.kernel, factor.period) == ("periodic", period)


def test_a_known_period_is_part_of_the_label():
    both = "y ~ gp(x) + gp( x,period = 365.25 / 7 ) + gp(x, by=g, period=12) + gp(x, period=2*pi, name='year')"
    names = [term.name for term in parse_formula(both, COLUMNS).gps]
    assert names == ["gp(x)", "gp(x, period=365.25 / 7)", "gp(x, by=g, period=12)", "year"]
    assert only("gp(x, kernel='periodic')").name == only("gp(x, kernel='rq', period=None)").name == "gp(x)"


def test_groups():
    term = only("gp(x, by=g)")
    assert (term.name, term.by) == ("gp(x, by=g)", Expression("g", 13))
    assert only("gp(x, z, by=`a b`, kernel='rq')").name == "gp(x, z, by=a b)"
    assert only("gp(x, by=g, name='site')").name == "site"
    assert only("gp(x, by=None, name=None)") == only("gp(x)")
    names = [term.name for term in parse_formula("y ~ gp(x) + gp(x, by=g)", COLUMNS).gps]
    assert names == ["gp(x)", "gp(x, by=g)"]


def test_groups_have_a_role_of_their_own():
    spec = parse_formula("y ~ . + gp(x, by=g)", COLUMNS)
    assert (spec.names("by"), spec.names("gp"), spec.plain) == (("g",), ("x",), ("z", "a b"))
    assert parse_formula("y ~ g + gp(x, by=g)", COLUMNS).names("linear") == ("g",)
