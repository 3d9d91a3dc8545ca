"""Tags of equations: each is defined once on a page of docs/theory, and what the package names exists."""

import re
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted((ROOT / "docs" / "theory").glob("*.md"))
FORMULAS = re.compile(r"^\$\$\n(.*?)^\$\$", re.MULTILINE | re.DOTALL)
TAG = re.compile(r"\\tag\{([^}]*)\}")
FORM = re.compile(r"[A-Z]{2,3}[1-9]\d*")


def letters_in_the_table():
    rows = re.findall(r"^\| ([A-Z, ]+) \|", (ROOT / "docs" / "theory" / "index.md").read_text(), re.MULTILINE)
    return [letters for row in rows for letters in row.split(", ")]


LETTERS = letters_in_the_table()
# Letters with a number after them, as (EP5) or "(EP3) to (EP5)"; other capitals are no tags.
NAMED = re.compile(rf"(?<![\w/])({'|'.join(LETTERS)})([1-9]\d*)(?!\w)")


def formulas(page):
    return FORMULAS.findall(page.read_text())


def tags():
    return [(tag, page.name) for page in PAGES for formula in formulas(page) for tag in TAG.findall(formula)]


def named_in(path):
    return {"".join(match) for match in NAMED.findall(path.read_text())}


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
    lacking = {str(path.relative_to(ROOT)): sorted(named_in(path) - defined) for path in paths}
    assert {path: names for path, names in lacking.items() if names} == {}


def test_the_package_names_equations():
    assert len(set().union(*map(named_in, (ROOT / "tobitgp").rglob("*.py")))) > 50


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_tagged_formulas_have_no_line_breaks(page):
    r"""Sphinx puts a formula with ``\\`` into an environment in which MathJax refuses tags; ``\cr`` is left alone."""
    assert [formula for formula in formulas(page) if TAG.search(formula) and r"\\" in formula] == []
