"""gp(...): kernels in every spelling, periods, labels; products; groups and random intercepts."""

import math

import pytest

from tobitgp.formula import KERNEL_ALIASES, KERNEL_NAMES, Expression, GPTerm, parse_formula

COLUMNS = ["y", "x", "z", "w", "g", "h", "a b"]


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
    assert (spec.names("by"), spec.names("gp"), spec.plain) == (("g",), ("x",), ("z", "w", "h", "a b"))
    assert parse_formula("y ~ g + gp(x, by=g)", COLUMNS).names("linear") == ("g",)


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
    assert (spec.names("gp"), spec.names("by"), spec.plain) == (("z", "x"), ("g",), ("w", "h", "a b"))
    assert parse_formula("y ~ z + z:gp(x)", COLUMNS).plain == ("z",)


def test_places_of_factors():
    formula = "y ~ w + log(z):gp(x, `a b`):C(g)"
    term = parse_formula(formula, COLUMNS).gps[0]
    for item in (*term.inputs, term.by):
        assert formula[item.start : item.start + len(item.text)] == item.text


def test_products_stand_beside_their_parts():
    names = [term.name for term in parse_formula("y ~ gp(x) + gp(z) + gp(x):gp(z) + z:gp(x)", COLUMNS).gps]
    assert names == ["gp(x)", "gp(z)", "gp(x):gp(z)", "z:gp(x)"]


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
    assert (spec.names("re"), spec.names("by"), spec.plain) == (("g",), ("h",), ("z", "w", "a b"))
    both = parse_formula("y ~ g + re(g)", COLUMNS)
    assert both.names("linear") == both.names("re") == ("g",)
