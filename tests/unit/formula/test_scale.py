"""The formula of the log noise scale: the grammar of the linear part, without a response."""

from dataclasses import replace

import numpy as np
import pytest

from tobitgp.errors import FormulaError
from tobitgp.formula import ScaleSpec, parse_formula, parse_scale_formula

COLUMNS = ["y", "x", "z", "g", "l", "my date", "w"]

TERMS = ["1", "z", "0 + z", "z + x", "C(g, Sum) * z", "bs(z, df=4)", "`my date` + log(z)", "x + z - z", "(z + x)**2"]


@pytest.mark.parametrize("terms", TERMS)
def test_is_read_as_the_linear_part_is(terms):
    scale = parse_scale_formula(f"~ {terms}", COLUMNS)
    spec = parse_formula(f"y ~ {terms}", COLUMNS)
    assert isinstance(scale, ScaleSpec)
    assert (scale.linear, scale.plain, scale.intercept) == (spec.linear, spec.plain, spec.intercept)
    assert scale.names() == spec.names("linear")
    assert [item.text for item in scale.codings] == [item.text for item in spec.codings]
    assert {variable.role for variable in scale.variables} <= {"linear"}


def test_places_are_those_of_its_own_text():
    scale = parse_scale_formula("~ log(z) + `my date`", COLUMNS)
    assert [scale.formula[v.start :].startswith(n) for v, n in zip(scale.variables, ("z", "`my date`"), strict=True)]


def test_constant():
    scale = parse_scale_formula("~ 1")
    assert (scale.linear, scale.plain, scale.variables) == ("1", (), ())


def test_offsets_are_known_parts():
    scale = parse_scale_formula("~ 0 + offset(log(z))", COLUMNS)
    assert (scale.linear, [item.text for item in scale.offsets], scale.names("offset")) == ("0", ["log(z)"], ("z",))


def test_dates_and_own_functions():
    scale = parse_scale_formula("~ decimal_year(`my date`) + f(z)", COLUMNS, {"f": np.sin})
    assert [(v.name, v.date) for v in scale.variables] == [("my date", True), ("z", False)]
    assert scale.functions == (("f", np.sin),)


def test_dot_is_what_response_and_censoring_leave():
    spec = parse_formula("y ~ gp(x) | censor(l)", COLUMNS)
    scale = parse_scale_formula("~ . - w", COLUMNS, beside=spec)
    assert scale.plain == ("x", "z", "g", "my date")
    with pytest.raises(FormulaError, match="no columns are known"):
        parse_scale_formula("~ .")


@pytest.mark.parametrize(
    ("formula", "words"),
    [
        ("~ z", "~ z\n  log(sigma) intercept, z"),
        ("~ 1", "~ 1\n  log(sigma) intercept"),
        ("  ~ 0 + z + offset(x)", "~ 0 + z + offset(x)\n  log(sigma) no intercept, z\n  offset     x, coefficient 1"),
    ],
)
def test_prints_in_words(formula, words):
    assert str(parse_scale_formula(formula, COLUMNS)) == words


def test_prints_own_functions():
    assert str(parse_scale_formula("~ f(z)", functions={"f": np.sin})).endswith("f: passed by functions=")


def test_ends_of_an_interval_are_the_response_too():
    spec = parse_formula("interval(l, w) ~ x", COLUMNS)
    for name in ("l", "w"):
        with pytest.raises(FormulaError, match=f"The response {name!r} cannot be in the formula"):
            parse_scale_formula(f"~ {name}", COLUMNS, beside=spec)
    limits = parse_formula("y ~ x | censor(l)", COLUMNS)
    assert parse_scale_formula("~ l", COLUMNS, beside=limits).names() == ("l",)


@pytest.mark.parametrize(
    ("value", "remedy"),
    [(0.4, "a known scale is fixed={'sigma': 0.4}"), (None, "write sigma='~ z'"), (["z"], "write sigma='~ z'")],
)
def test_what_is_no_text(value, remedy):
    with pytest.raises(FormulaError, match="a formula in text") as caught:
        parse_scale_formula(value)
    assert remedy in str(caught.value)


PROCESSES = [
    ("gp(z)", "sigma: gp(z)"),
    ("x + gp(z, by=g)", "sigma: gp(z, by=g)"),
    ("z:gp(x)", "sigma: z:gp(x)"),
    ("re(g)", "sigma: re(g)"),
    ("(1 + z | g)", "sigma: re(g)"),
    ("s(z, bs='gp')", "sigma: gp(z)"),
    ("gp(z, name='wear')", "sigma: wear"),
]


@pytest.mark.parametrize(("terms", "name"), PROCESSES)
def test_processes_are_those_of_a_mean_with_names_of_their_own(terms, name):
    beside = parse_formula("y ~ gp(x) | censor(l)", COLUMNS)
    scale = parse_scale_formula(f"  ~ {terms}", COLUMNS, beside=beside)  # places are those beside a response
    (term,) = scale.gps
    (of_mean,) = parse_formula(f"y ~ {terms}", COLUMNS).gps
    assert term == replace(of_mean, name=name, line=False)
    assert f"  process    {name}: " in str(scale)
    spec = replace(beside, scale=scale)
    assert [gp.name for gp in spec.processes] == ["gp(x)", name]


@pytest.mark.parametrize(("terms", "words"), [("log(gp(z))", "must be a term"), ("-gp(z)", "taken out with '-'")])
def test_processes_stand_alone(terms, words):
    with pytest.raises(FormulaError, match=words):
        parse_scale_formula(f"~ {terms}", COLUMNS)


HOSTILE = [
    "~ __import__('os')",
    "~ z.__class__",
    "~ (lambda: z)()",
    "~ [z for z in x]",
    "~ z[0]",
    "~ " + "(" * 30 + "z",
]


@pytest.mark.parametrize("formula", [*HOSTILE, "~ " + " + ".join(["z"] * 1200), "~ z" * 10_000])
def test_the_same_bounds_hold(formula):
    with pytest.raises(FormulaError):
        parse_scale_formula(formula, COLUMNS)
