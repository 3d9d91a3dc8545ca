"""Random intercepts, as re(g) and as (1 | g)."""

import pytest

from tobitgp.formula import GPTerm, parse_formula

COLUMNS = ["y", "x", "g", "h", "a b"]


@pytest.mark.parametrize(
    ("terms", "linear", "names"),
    [
        ("re(g)", "1", ["re(g)"]),
        ("(1 | g)", "1", ["re(g)"]),
        ("((1 | g))", "1", ["re(g)"]),
        ("x + (1|g)", "1 + x", ["re(g)"]),
        ("(1 | g) + x + (1 | h)", "1 + x", ["re(g)", "re(h)"]),
        ("0 + (1 | g)", "0", ["re(g)"]),
        ("(1 | `a b`)", "1", ["re(a b)"]),
        ("re(g, name='clinic')", "1", ["clinic"]),
        ("re(g, name=None)", "1", ["re(g)"]),
        ("(1 | g) | censor(0)", "1", ["re(g)"]),
        ("x + (1 | g) | censor(0)", "1 + x", ["re(g)"]),
        ("((1 | g)) | censor(0) | truncate(-1)", "1", ["re(g)"]),
        ("(1 | g) + (1 | h) | censor(0)", "1", ["re(g)", "re(h)"]),
    ],
)
def test_random_intercepts(terms, linear, names):
    spec = parse_formula(f"y ~ {terms}", COLUMNS)
    assert (spec.linear, [term.name for term in spec.gps]) == (linear, names)
    assert all(term.factors == () and term.inputs == () for term in spec.gps)
    assert (spec.censoring is not None) == ("censor" in terms)


def test_the_two_spellings_are_one_term():
    formula = "y ~ x + (1 | g)"
    (term,) = parse_formula(formula, COLUMNS).gps
    assert term == GPTerm((), "re(g)", term.by)
    assert formula[term.by.start] == term.by.text == "g"
    assert parse_formula("y ~ re(g)", COLUMNS).gps[0].by.text == "g"


def test_roles():
    spec = parse_formula("y ~ . + re(g) + gp(x, by=h)", COLUMNS)
    assert (spec.names("re"), spec.names("by"), spec.plain) == (("g",), ("h",), ("a b",))
    both = parse_formula("y ~ g + re(g)", COLUMNS)
    assert both.names("linear") == both.names("re") == ("g",)
