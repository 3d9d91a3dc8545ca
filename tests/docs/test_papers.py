"""The page that names a test for each result of the papers names tests that exist."""

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
PAGE = TESTS.parent / "docs" / "trust" / "papers.md"
ROWS = re.findall(r"`((?:contracts|docs|trust|unit)/\S+?\.py)(?:::(\w+))?` \|$", PAGE.read_text(), flags=re.MULTILINE)


def test_every_row_names_a_test():
    table = [line for line in PAGE.read_text().splitlines() if line.startswith("| ") and "| Place |" not in line]
    assert len(ROWS) == len(table) > 30


@pytest.mark.parametrize(("file", "name"), ROWS)
def test_the_test_is_there(file, name):
    text = (TESTS / file).read_text()
    assert f"def {name}(" in text if name else "def test_" in text
