"""The page on the architecture shows what comes out and names every subpackage; files that pages name are there."""

import doctest
import re
from pathlib import Path

CHECKOUT = Path(__file__).parents[2]
PAGE = (CHECKOUT / "docs" / "architecture.md").read_text(encoding="utf-8")


def test_the_walk_through_prints_what_it_shows():
    shown = "".join(re.findall(r"^```pycon\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE))
    examples = doctest.DocTestParser().get_doctest(shown, {}, "docs/architecture.md", None, 0)
    assert len(examples.examples) > 10
    assert doctest.DocTestRunner().run(examples).failed == 0


def test_every_subpackage_is_named():
    names = {path.parent.name for path in (CHECKOUT / "tobitgp").glob("*/__init__.py")} - {"numerics", "datasets"}
    assert {name for name in names if f"`{name}`" not in PAGE} == set()


def test_files_that_pages_name_are_there():
    pages = [*CHECKOUT.glob("*.md"), *(CHECKOUT / "docs").rglob("*.md"), *(CHECKOUT / "benchmarks").rglob("*.md")]
    named = {path for page in pages for path in re.findall(r"tobitgp/[\w/]+\.py", page.read_text(encoding="utf-8"))}
    assert len(named) > 40
    assert {path for path in named if not (CHECKOUT / path).exists()} == set()
