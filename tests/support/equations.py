"""Tags of equations: those that docs/theory defines, and those that a text names."""

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted((ROOT / "docs" / "theory").glob("*.md"))
TAG = re.compile(r"\\tag\{([^}]*)\}")
_FORMULAS = re.compile(r"^\$\$\n(.*?)^\$\$", re.MULTILINE | re.DOTALL)


def formulas(page: Path) -> list[str]:
    """Displayed formulas of a page."""
    return _FORMULAS.findall(page.read_text(encoding="utf-8"))


def tags() -> Iterator[tuple[str, str]]:
    """Each tag with the name of its page."""
    for page in PAGES:
        for formula in formulas(page):
            yield from ((tag, page.name) for tag in TAG.findall(formula))


def _letters_in_the_table() -> list[str]:
    table = (ROOT / "docs" / "theory" / "index.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([A-Z, ]+) \|", table, re.MULTILINE)
    return [letters for row in rows for letters in row.split(", ")]


LETTERS = _letters_in_the_table()
# Letters with a number after them, as (EP5) or "(EP3) to (EP5)"; other capitals are no tags.
_NAMED = re.compile(rf"(?<![\w/])({'|'.join(LETTERS)})([1-9]\d*)(?!\w)")


def named_in(text: str) -> set[str]:
    """Tags that a text names, whether they exist or not."""
    return {"".join(match) for match in _NAMED.findall(text)}
