"""What `pytest --pure` runs is the tests of all that calls the compiled core, of which the rest is independent."""

import re
import runpy
from pathlib import Path

import tobitgp

CHECKOUT = Path(__file__).parents[2]
CHOSEN = runpy.run_path(str(CHECKOUT / "conftest.py"))["WITHOUT_CORE"]


def asks_for_the_core(path):
    """Whether a module imports it, or a part of it, wherever in its text."""
    return re.search(r"^\s*(from|import) tobitgp\.compiled\b", path.read_text(encoding="utf-8"), re.M) is not None


def test_every_subpackage_that_calls_the_core_is_tested_without_it():
    package = Path(tobitgp.__file__).parent
    folders = {path.relative_to(package).parts[0] for path in package.rglob("*.py") if asks_for_the_core(path)}
    folders -= {"compiled"}
    assert folders == {"inference", "priors"}, "the reason in conftest.py is no longer true"
    assert {f"tests/unit/{name}" for name in folders} <= set(CHOSEN)


def test_what_is_chosen_exists_and_holds_the_questions_of_all_kinds():
    assert all((CHECKOUT / path).exists() for path in CHOSEN)
    assert {"tests/contracts/test_matrix.py", "tests/contracts/test_invariances.py"} <= set(CHOSEN)
