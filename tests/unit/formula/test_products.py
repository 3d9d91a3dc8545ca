"""Products with a process in them."""

import pytest

from tobitgp.formula import parse_formula

COLUMNS = ["y", "x", "z", "w", "g", "a b"]


def only(term):
    spec = parse_formula(f"y ~ {term}", COLUMNS)
    assert spec.linear == "1"
    return spec.gps[0]


def factors(term):
    return [(*(item.text for item in factor.inputs), factor.kernel) for factor in only(term).factors]


@pytest.mark.parametrize(
    ("term", "found", "by", "name"),
    [
        ("gp(x):gp(z)", [("x", "rbf"), ("z", "rbf")], None, "gp(x):gp(z)"),
        ("gp( x ) : gp(z , w)", [("x", "rbf"), ("z", "w", "rbf")], None, "gp(x):gp(z, w)"),
        ("gp(x):(gp(z):gp(w))", [("x", "rbf"), ("z", "rbf"), ("w", "rbf")], None, "gp(x):gp(z):gp(w)"),
        ("gp(x, period=7):gp(x)", [("x", "periodic"), ("x", "rbf")], None, "gp(x, period=7):gp(x)"),
        (
            "gp(x):gp(x, kernel='matern52'):gp(x, kernel='periodic')",
            [("x", "rbf"), ("x", "matern52"), ("x", "periodic")],
            None,
            'gp(x):gp(x, kernel="matern52"):gp(x, kernel="periodic")',
        ),
        ("gp(x):C(g)", [("x", "rbf")], "g", "gp(x):C(g)"),
        ("C( `a b` ):gp(x)", [("x", "rbf")], "`a b`", "C(a b):gp(x)"),
        ("gp(x, by=g):gp(z)", [("x", "rbf"), ("z", "rbf")], "g", "gp(x, by=g):gp(z)"),
        ("z:gp(x)", [("z", "linear"), ("x", "rbf")], None, "z:gp(x)"),
        ("gp(x):`a b`", [("x", "rbf"), ("`a b`", "linear")], None, "gp(x):a b"),
        ("log( z ):gp(x)", [("log( z )", "linear"), ("x", "rbf")], None, "log( z ):gp(x)"),
        ("{z > 1}:gp(x)", [("z > 1", "linear"), ("x", "rbf")], None, "{z > 1}:gp(x)"),
        ("I(g == 'a'):gp(x)", [("I(g == 'a')", "linear"), ("x", "rbf")], None, "I(g == 'a'):gp(x)"),
        ("z:w:gp(x)", [("z", "linear"), ("w", "linear"), ("x", "rbf")], None, "z:w:gp(x)"),
        ("z:gp(x):C(g)", [("z", "linear"), ("x", "rbf")], "g", "z:gp(x):C(g)"),
        ("gp(x, name='a'):gp(z)", [("x", "rbf"), ("z", "rbf")], None, "a"),
        ("z:gp(x, name='slope')", [("z", "linear"), ("x", "rbf")], None, "slope"),
    ],
)
def test_products(term, found, by, name):
    assert factors(term) == found
    assert (only(term).by and only(term).by.text, only(term).name) == (by, name)


def test_columns_of_a_product_are_inputs():
    spec = parse_formula("y ~ . + log(z):gp(x):C(g)", COLUMNS)
    assert (spec.names("gp"), spec.names("by"), spec.plain) == (("z", "x"), ("g",), ("w", "a b"))
    assert parse_formula("y ~ z + z:gp(x)", COLUMNS).plain == ("z",)


def test_places_of_factors():
    formula = "y ~ w + log(z):gp(x, `a b`):C(g)"
    term = parse_formula(formula, COLUMNS).gps[0]
    for item in (*term.inputs, term.by):
        assert formula[item.start : item.start + len(item.text)] == item.text


def test_products_stand_beside_their_parts():
    names = [term.name for term in parse_formula("y ~ gp(x) + gp(z) + gp(x):gp(z) + z:gp(x)", COLUMNS).gps]
    assert names == ["gp(x)", "gp(z)", "gp(x):gp(z)", "z:gp(x)"]
