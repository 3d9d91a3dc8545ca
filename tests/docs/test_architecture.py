"""The page on the architecture: what it shows is what comes out, and it names every room."""

import doctest
import re
from pathlib import Path

CHECKOUT = Path(__file__).parents[2]
PAGE = (CHECKOUT / "docs" / "architecture.md").read_text(encoding="utf-8")


def test_the_way_of_one_number():
    shown = "".join(re.findall(r"^```pycon\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE))
    examples = doctest.DocTestParser().get_doctest(shown, {}, "docs/architecture.md", None, 0)
    assert len(examples.examples) > 10
    assert doctest.DocTestRunner().run(examples).failed == 0


def test_every_room_is_named():
    rooms = {path.parent.name for path in (CHECKOUT / "tobitgp").glob("*/__init__.py")} - {"numerics", "datasets"}
    assert {room for room in rooms if f"`{room}`" not in PAGE} == set()
