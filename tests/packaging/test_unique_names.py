"""No name of a class or type has two meanings, and no two files of the package have one name."""

import ast
import re
from collections import Counter, defaultdict
from pathlib import Path

import tobitgp

PACKAGE = Path(tobitgp.__file__).parent

# Classes of the compiled core have the names of the structures in core.h that they mirror.
OF_THE_CORE = PACKAGE / "compiled" / "interface.py"


def named(path):
    """Names of the classes and type aliases that a file defines."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ClassDef):
            yield node.name
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        targets = getattr(node, "targets", [getattr(node, "target", None)])
        yield from (t.id for t in targets if isinstance(t, ast.Name) and re.fullmatch(r"[A-Z]\w*[a-z]\w*", t.id))


def test_the_name_of_a_class_or_type_has_one_meaning():
    places = defaultdict(list)
    for path in PACKAGE.rglob("*.py"):
        for name in named(path) if path != OF_THE_CORE else ():
            places[name].append(str(path.relative_to(PACKAGE)))
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def test_a_file_name_is_used_once():
    counts = Counter(path.name for path in PACKAGE.rglob("*.py"))
    assert {name for name, count in counts.items() if count > 1} == {"__init__.py"}
