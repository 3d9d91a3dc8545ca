"""Names of files and of what is public."""

import ast
from collections import Counter
from pathlib import Path

import tobitgp as tg

PACKAGE = Path(tg.__file__).parent


def test_no_file_name_is_used_twice():
    names = Counter(path.name for path in PACKAGE.rglob("*.py"))
    assert {name for name, number in names.items() if number > 1} == {"__init__.py", "__main__.py"}


def test_type_checkers_see_the_public_names():
    """Where they come from, too."""
    stub = ast.parse((PACKAGE / "__init__.pyi").read_text(encoding="utf-8"))
    seen = {
        each.asname: (node.module, each.name)
        for node in stub.body
        if isinstance(node, ast.ImportFrom)
        for each in node.names
    }
    homes = {name: (f"tobitgp.{tg._HOMES[name]}" if name in tg._HOMES else "tobitgp", name) for name in tg.__all__}
    assert seen == homes
    assert len(tg.__all__) == len(set(tg.__all__))
