"""Vignettes are read on the site: code that is shown fits its column."""

import re
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]
COLUMN = 96  # characters, docs/_static/site.css
PAGES = [str(page.relative_to(CHECKOUT)) for page in sorted((CHECKOUT / "vignettes").rglob("*.md"))]


@pytest.mark.parametrize("page", PAGES)
def test_code_fits_the_column(page):
    text = (CHECKOUT / page).read_text(encoding="utf-8")
    shown = re.findall(r"```\{code-cell\}\n(?!:tags:)(.*?)\n```", text, flags=re.S)
    assert [line for cell in shown for line in cell.splitlines() if len(line) > COLUMN] == []


def test_there_are_vignettes():
    assert len(PAGES) > 10
