import pytest

from tobitgp.formula import parse_formula
from tobitgp.formula.spec import MixtureTerm


@pytest.mark.parametrize(
    ("written", "numbers", "process"),
    [
        ("mixture(2)", (2,), False),
        ("mixture(k=3)", (3,), False),
        ("(mixture(2))", (2,), False),
        ("+mixture(2)", (2,), False),
        ("mixture(range(1, 7))", (1, 2, 3, 4, 5, 6), False),
        ("mixture(range(2, 9, 3))", (2, 5, 8), False),
        ("mixture(range(4, 0, -1))", (1, 2, 3, 4), False),
        ("mixture('dp')", (10,), True),
        ('mixture("dp", max_components=5)', (5,), True),
    ],
)
def test_numbers_of_components(written, numbers, process):
    spec = parse_formula(f"y ~ {written} | censor(0)", ["y"])
    assert spec.mixture == MixtureTerm(numbers, process, spec.mixture.start, spec.mixture.end)
    place = spec.formula[spec.mixture.start : spec.mixture.end]
    assert place.startswith("mixture(")
    assert parse_formula(f"y ~ {place}").mixture.numbers == numbers
    assert (spec.linear, spec.gps, spec.offsets, spec.names("linear")) == ("0", (), (), ())


def test_other_formulas_have_none():
    assert parse_formula("y ~ x").mixture is None


def test_words():
    assert "mixture    2 components" in str(parse_formula("y ~ mixture(2)"))
    assert "of 1, 2, 3, as the evidence" in str(parse_formula("y ~ mixture(range(1, 4))"))
    assert "at most 7 components" in str(parse_formula("y ~ mixture('dp', max_components=7)"))
    assert "linear" not in str(parse_formula("y ~ mixture(2)"))


def test_a_column_may_be_called_so():
    assert parse_formula("y ~ mixture", ["y", "mixture"]).names("linear") == ("mixture",)
