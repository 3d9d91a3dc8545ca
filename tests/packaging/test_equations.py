"""Tags of equations: each is defined once on a page of docs/theory, and what the package names exists."""

import re
from collections import Counter

import pytest
from support.equations import LETTERS, PAGES, ROOT, TAG, formulas, named_in, tags

FORM = re.compile(r"[A-Z]{2,3}[1-9]\d*")


def test_no_tag_is_defined_twice():
    assert [tag for tag, times in Counter(tag for tag, _ in tags()).items() if times > 1] == []


def test_tags_have_the_letters_of_the_table():
    assert len(LETTERS) == len(set(LETTERS))
    for tag, page in tags():
        assert FORM.fullmatch(tag), (tag, page)
        assert tag.rstrip("0123456789") in LETTERS, (tag, page)


def test_a_page_has_one_prefix():
    for page in PAGES:
        found = [tag for formula in formulas(page) for tag in TAG.findall(formula)]
        letters = {tag.rstrip("0123456789") for tag in found}
        assert len(letters) <= 1, page.name


@pytest.mark.parametrize("folder", ["tobitgp", "docs/theory"])
def test_every_tag_named_exists(folder):
    defined = {tag for tag, _ in tags()}
    paths = (ROOT / folder).rglob("*.py" if folder == "tobitgp" else "*.md")
    lacking = {str(path.relative_to(ROOT)): sorted(named_in(path.read_text()) - defined) for path in paths}
    assert {path: names for path, names in lacking.items() if names} == {}


def test_the_package_names_equations():
    assert len(set().union(*(named_in(path.read_text()) for path in (ROOT / "tobitgp").rglob("*.py")))) > 50


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_tagged_formulas_have_no_line_breaks(page):
    r"""Sphinx puts a formula with ``\\`` into an environment in which MathJax refuses tags; ``\cr`` is left alone."""
    assert [formula for formula in formulas(page) if TAG.search(formula) and r"\\" in formula] == []
