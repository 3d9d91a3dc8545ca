"""What well-formed formulas mean."""

import ast

import pytest

from tobitgp.errors import FormulaError
from tobitgp.formula import Expression, formula_functions, parse_formula
from tobitgp.formula.functions import FUNCTIONS, NOT_YET, PLACES, SPECIAL_TERMS
from tobitgp.formula.linear_terms import MAX_PRODUCTS

COLUMNS = ["y", "x", "z", "w", "g", "a b", "log", "class", "µ", "l", "u", "d", "time", "event", "gp", "censor", "inf"]


@pytest.mark.parametrize(
    ("terms", "linear"),
    [
        ("1", "1"),
        ("0", "0"),
        ("-1", "0"),
        ("gp(x)", "1"),
        ("0 + gp(x)", "0"),
        ("gp(x) - 1", "0"),
        ("gp(x) + 0", "0"),
        ("0 + x + 1", "1 + x"),
        ("-1 + x", "0 + x"),
        ("x - -1", "1 + x"),
        ("z + gp(x) + w", "1 + z + w"),
        ("z + (w + gp(x))", "1 + z + w"),
        ("(z + w):g", "1 + (z + w):g"),
        ("z*w - z:w", "1 + z*w - z:w"),
        ("z + (x - w)", "1 + z + (x - w)"),
        ("z - (x + w)", "1 + z - (x + w)"),
        ("(z + w + x)**2", "1 + (z + w + x)**2"),
        ("x/z", "1 + x/z"),
        ("log (x)", "1 + log(x)"),
        ("poly(x , 2)+C( g,Treatment( 'b' ))", "1 + poly(x , 2) + C( g,Treatment( 'b' ))"),
        ("`a b`", "1 + `a b`"),
        ("`x` + x", "1 + x + x"),
        ("log", "1 + `log`"),
        ("log(`log`)", "1 + log(`log`)"),
        ("µ + exp(µ)", "1 + `µ` + exp(`µ`)"),
        ("`class`", "1 + `class`"),
        ("gp + censor", "1 + gp + censor"),
        ("{x + 1}", "1 + {x + 1}"),
        ("I(x > 1)", "1 + I(x > 1)"),
        ("x +\n  z", "1 + x + z"),
        ("bs(x, df=4, knots=[1, -2.5])", "1 + bs(x, df=4, knots=[1, -2.5])"),
    ],
)
def test_linear_part_for_formulaic(terms, linear):
    assert parse_formula(f"y ~ {terms}", COLUMNS).linear == linear


def test_all_other_columns():
    columns = ["y", "x", "z", "a b", "log", "l", "w"]
    spec = parse_formula("y ~ . - z + gp(w) | censor(l)", columns)
    assert spec.linear == "1 + (x + `a b` + `log`) - z"
    assert spec.plain == ("x", "a b", "log")
    assert spec.names("linear") == ("x", "a b", "log")
    assert parse_formula("y ~ .:x", ["y", "x", "z"]).linear == "1 + (x + z):x"


@pytest.mark.parametrize(
    ("terms", "plain"),
    [
        ("gp(x)", ()),
        ("z + w + z", ("z", "w")),
        ("z + w - z", ("w",)),
        ("`a b`", ("a b",)),
        ("z:w", None),
        ("log(z)", None),
    ],
)
def test_plain_columns_are_recognised(terms, plain):
    assert parse_formula(f"y ~ {terms}", COLUMNS).plain == plain


def test_a_column_taken_out_is_not_used():
    assert parse_formula("y ~ x - z", COLUMNS).names() == ("y", "x")


@pytest.mark.parametrize(
    ("term", "inputs", "kernel", "ard", "name"),
    [
        ("gp(x)", ("x",), "rbf", True, "gp(x)"),
        ("gp( x,z )", ("x", "z"), "rbf", True, "gp(x, z)"),
        ("gp(x, kernel='exp_quad')", ("x",), "rbf", True, "gp(x)"),
        ('gp(x, z, kernel="matern52", ard=False)', ("x", "z"), "matern52", False, "gp(x, z)"),
        ("gp(x, name='trend')", ("x",), "rbf", True, "trend"),
        ("gp(log(x))", ("log(x)",), "rbf", True, "gp(log(x))"),
        ("gp(`a b`)", ("`a b`",), "rbf", True, "gp(a b)"),
        ("gp(sin(2*pi*x), cos(2*pi*x))", ("sin(2*pi*x)", "cos(2*pi*x)"), "rbf", True, "gp(sin(2*pi*x), cos(2*pi*x))"),
        ("gp(`inf`)", ("`inf`",), "rbf", True, "gp(inf)"),
    ],
)
def test_process_terms(term, inputs, kernel, ard, name):
    (found,) = parse_formula(f"y ~ z + {term}", COLUMNS).gps
    assert (tuple(item.text for item in found.inputs), found.factors[0].kernel, found.factors[0].ard, found.name) == (
        inputs,
        kernel,
        ard,
        name,
    )


@pytest.mark.parametrize(
    ("part", "lower", "upper", "event"),
    [
        ("censor(0)", "0", None, None),
        ("censor(0, inf)", "0", "inf", None),
        ("censor(-inf, u)", "-inf", "u", None),
        ("censor(None, 5)", None, "5", None),
        ("censor(upper=u)", None, "u", None),
        ("censor(lower=log(l), upper=2*u)", "log(l)", "2*u", None),
        ("censor(event=d)", None, None, "d"),
        ("censor(event=d == 2)", None, None, "d == 2"),
        ("censor(`inf`)", "`inf`", None, None),
    ],
)
def test_censoring(part, lower, upper, event):
    found = parse_formula(f"y ~ gp(x) | {part}", COLUMNS).censoring
    texts = [item and item.text for item in (found.lower, found.upper, found.flag)]
    assert texts == [lower, upper, event]


@pytest.mark.parametrize(
    ("text", "kind", "value", "event"),
    [
        ("y", "value", "y", None),
        ("log(y)", "value", "log(y)", None),
        ("y / 2 + w", "value", "y / 2 + w", None),
        ("Surv(time, event)", "surv", "time", "event"),
        ("Surv(time, event == 2)", "surv", "time", "event == 2"),
        ("Surv(event=event, time=time)", "surv", "time", "event"),
    ],
)
def test_response(text, kind, value, event):
    found = parse_formula(f"{text} ~ gp(x)", COLUMNS).response
    assert (found.kind, found.value.text, found.flag and found.flag.text) == (kind, value, event)


@pytest.mark.parametrize(
    ("text", "kind", "codes", "value", "upper"),
    [
        ("Surv(time, d)", "surv", "event", "time", None),
        ("Surv(time, d, type='right')", "surv", "event", "time", None),
        ("Surv(time, d == 2, type='left')", "surv", "left", "time", None),
        ("Surv(l, time, d)", "surv", "event", "time", None),
        ("Surv(l, time, d, type='counting')", "surv", "event", "time", None),
        ("Surv(time, u, d, type='interval')", "surv", "survival", "time", "u"),
        ("Surv(time=l, time2=u, type='interval2')", "interval", None, "l", "u"),
        ('Surv(l, u, type="interval2")', "interval", None, "l", "u"),
        ("interval(l, u)", "interval", None, "l", "u"),
        ("interval(log(l), hi=inf)", "interval", None, "log(l)", "inf"),
    ],
)
def test_responses_with_their_own_censoring(text, kind, codes, value, upper):
    spec = parse_formula(f"{text} ~ gp(x)", COLUMNS)
    found = spec.response
    assert (found.kind, found.flag and found.flag.codes, found.value.text) == (kind, codes, value)
    assert (spec.upper_end and spec.upper_end.text) == upper
    assert found.label == text


@pytest.mark.parametrize(
    ("part", "codes", "flag", "upper"),
    [
        ("censor(nondetect=d)", "nondetect", "d", None),
        ("censor(status=d)", "status", "d", None),
        ("censor(status=d, upper=2 * u)", "status", "d", "2 * u"),
        ("censor(upper=u, status='interval')", "status", "'interval'", "u"),
        ("censor(status=-1)", "status", "-1", None),
        ("censor(status=d == 2)", "status", "d == 2", None),
    ],
)
def test_flags(part, codes, flag, upper):
    spec = parse_formula(f"y ~ gp(x) | {part}", COLUMNS)
    assert (spec.flag.codes, spec.flag.text) == (codes, flag)
    assert (spec.upper_end and spec.upper_end.text) == upper


@pytest.mark.parametrize(
    ("formula", "lower", "upper"),
    [
        ("y ~ x | truncate(l)", "l", None),
        ("y ~ x | truncate(0, u) | censor(l)", "0", "u"),
        ("y ~ x | censor(l) | truncate(upper=u)", None, "u"),
        ("Surv(l, time, d) ~ x", "l", None),
    ],
)
def test_truncation_in_any_order(formula, lower, upper):
    spec = parse_formula(formula, COLUMNS)
    assert [item and item.text for item in (spec.truncation.lower, spec.truncation.upper)] == [lower, upper]
    assert "could not have been seen" in str(spec)


def test_offsets_are_taken_out():
    spec = parse_formula("y ~ 0 + offset(log(w)) + gp(x) + offset(-z)", COLUMNS)
    assert spec.offsets == (Expression("log(w)", 15), Expression("-z", 40))
    assert spec.linear == "0"
    assert not spec.intercept


def test_places_survive_other_alphabets():
    formula = "log(µ) ~ gp(`größe`, z) + C(g) | censor(ü)"
    spec = parse_formula(formula)
    used = [item for item in (spec.response.value, *spec.gps[0].inputs, spec.censoring.lower, *spec.codings)]
    for item in used:
        assert formula[item.start : item.start + len(item.text)] == item.text
    assert spec.names() == ("µ", "ü", "g", "größe", "z")


def test_variables_by_role():
    spec = parse_formula("log(y) ~ x:z + C(g) + gp(x) + offset(w) | censor(l, u)")
    by_role = {role: spec.names(role) for role in ("response", "limit", "linear", "gp", "offset")}
    assert by_role == {
        "response": ("y",),
        "limit": ("l", "u"),
        "linear": ("x", "z", "g"),
        "gp": ("x",),
        "offset": ("w",),
    }
    assert [item.text for item in spec.codings] == ["g"]


def test_printed_in_words():
    text = str(parse_formula("log(y) ~ 0 + z + gp(x, w, kernel='matern32', name='trend') + offset(u) | censor(l, inf)"))
    assert text.splitlines()[1:] == [
        "  response   log(y)",
        "  censoring  log(y) <= l is left-censored there; no upper limit",
        "  linear     no intercept, z",
        "  offset     u, coefficient 1",
        "  process    trend: zero-mean Gaussian process over x, w, kernel matern32, a length-scale for each input",
    ]
    assert "right-censored at time where event is 0" in str(parse_formula("Surv(time, event) ~ 1"))
    assert "right-censored at y where d is 0" in str(parse_formula("y ~ 1 | censor(event=d)"))


@pytest.mark.parametrize(
    ("formula", "words"),
    [
        ("interval(l, u) ~ 1", "a value above l and up to u"),
        ("interval(l, u) ~ 1", "equal ends are exact, a missing or infinite end is open"),
        ("Surv(y, d, type='left') ~ 1", "left-censored at y where d is 0"),
        (
            "Surv(y, u, d, type='interval') ~ 1",
            "right-censored at y (0), exact (1), left-censored (2), between y and u",
        ),
        ("y ~ 1 | censor(nondetect=d)", "left-censored at y where d is 1"),
        ("Cen(y, d) ~ 1", "left-censored at y where d is 1"),
        ("y ~ 1 | censor(l, nondetect=d)", "left-censored at l where d is 1, whatever y holds there"),
        ("y ~ 1 | censor(status=d, upper=u)", "right-censored (right, 1), between y and u (interval, 2)"),
        ("y ~ 1 | truncate(0)", "rows with y <= 0 could not have been seen"),
    ],
)
def test_every_spelling_is_printed_in_words(formula, words):
    assert words in str(parse_formula(formula))


def test_parsing_needs_no_columns():
    assert parse_formula("y ~ z + gp(x)").names() == ("y", "z", "x")
    with pytest.raises(FormulaError, match="no columns are known"):
        parse_formula("y ~ .")


def test_products_up_to_the_bound_are_read():
    names = "abcdefgh"
    assert len(names) ** 4 <= MAX_PRODUCTS
    assert parse_formula(f"y ~ ({'+'.join(names)})**4").linear.endswith("**4")


def test_many_plain_terms_are_read():
    names = [f"v{i}" for i in range(900)]
    assert len(parse_formula("y ~ " + " + ".join(names)).plain) == 900


def test_registry_is_documented_and_disjoint():
    described = formula_functions()
    assert set(FUNCTIONS) | set(SPECIAL_TERMS) | set(PLACES) == set(described)
    assert not set(NOT_YET) & set(described)
    assert all(described.values())


def test_specs_are_values():
    assert parse_formula("y ~ z + gp(x)") == parse_formula("y ~ z + gp(x)")
    assert hash(parse_formula("y ~ z + gp(x)")) == hash(parse_formula("y ~ z + gp(x)"))


def test_a_parser_that_miscounts_its_depth_is_asked_again(monkeypatch):
    """As CPython 3.11 may where threads parse at once."""
    calls = []

    def parse(*arguments, **options):
        calls.append(arguments)
        if len(calls) == 1:
            raise SystemError("AST constructor recursion depth mismatch (before=57, after=51)")
        return compile(*arguments, "<unknown>", options["mode"], ast.PyCF_ONLY_AST)

    monkeypatch.setattr(ast, "parse", parse)
    assert parse_formula("y ~ x", ["y", "x"]).linear == "1 + x"
    assert len(calls) == 3
