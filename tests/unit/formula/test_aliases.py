"""Processes in the spelling of mgcv and bambi."""

import pytest

from tobitgp.formula import parse_formula

COLUMNS = ["y", "x", "z", "g", "a b"]


@pytest.mark.parametrize(
    ("written", "read_as"),
    [
        ('s(x, bs="gp")', 'gp(x, kernel="matern32")'),
        ('s(x, bs="gp", k=20)', 'gp(x, kernel="matern32")'),
        ('s(x, bs="gp", m=2)', 'gp(x, kernel="matern12")'),
        ('s(x, bs="gp", m=3)', 'gp(x, kernel="matern32")'),
        ('s(x, bs="gp", m=-4)', 'gp(x, kernel="matern52", line=False)'),
        ('s(x, z, bs="gp")', 'gp(x, z, kernel="matern32", ard=False)'),
        ('s(`a b`, bs="gp", by=g)', 'gp(`a b`, kernel="matern32", by=g)'),
        ("hsgp(x, m=10, c=2)", "gp(x)"),
        ("hsgp(x, m=10, L=3.5, centered=True, scale=False, drop_first=True, k=3)", "gp(x)"),
        ("hsgp(x, z, m=[10, 10], c=[1.5, 2], share_cov=True)", "gp(x, z, ard=False)"),
        ("hsgp(x, z, iso=False, by=g)", "gp(x, z, by=g)"),
        ('hsgp(x, cov="ExpQuad", by=None)', "gp(x)"),
        ('hsgp(log(x), cov="Matern32")', 'gp(log(x), kernel="matern32")'),
        ('hsgp(x, cov="Matern52", by=g)', 'gp(x, kernel="matern52", by=g)'),
    ],
)
def test_aliases_are_read_as_processes(written, read_as):
    (term,) = parse_formula(f"y ~ {written}", COLUMNS).gps
    (same,) = parse_formula(f"y ~ {read_as}", COLUMNS).gps
    assert (term.read_as, term.written) == (read_as, written)
    assert (same.read_as, same.written, same.note) == ("", "", "")
    assert term.name == same.name
    assert [(f.kernel, f.ard, [item.text for item in f.inputs]) for f in term.factors] == [
        (f.kernel, f.ard, [item.text for item in f.inputs]) for f in same.factors
    ]
    assert (term.by and term.by.text) == (same.by and same.by.text)
    assert f"{written} was read as {read_as}" in str(parse_formula(f"y ~ {written}", COLUMNS))


@pytest.mark.parametrize(
    ("written", "note"),
    [
        ('s(x, bs="gp", m=-3)', ""),
        ('s(x, bs="gp", m=-3, k=9)', "k= sets a basis that is not used here"),
        ('s(x, z, bs="gp")', "the linear trend that mgcv adds is written + x + z"),
        ("hsgp(x)", ""),
        ("hsgp(x, m=10, c=2)", "m= and c= set a basis that is not used here"),
        ("hsgp(x, drop_first=True, k=3, m=10)", "k=, m= and drop_first= set a basis that is not used here"),
    ],
)
def test_what_has_no_counterpart_is_said(written, note):
    spec = parse_formula(f"y ~ {written}", COLUMNS)
    assert spec.gps[0].note == note
    assert str(spec).endswith(note or spec.gps[0].read_as)
