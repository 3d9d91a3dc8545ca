"""What type checkers see of the public names."""

import ast
from pathlib import Path

import tobitgp as tg

PACKAGE = Path(tg.__file__).parent


def test_type_checkers_see_the_public_names():
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
