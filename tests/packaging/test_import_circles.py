"""No circle of imports between files, and no branch on a kind of fit outside kinds."""

import ast
import re
from graphlib import TopologicalSorter
from pathlib import Path

import tobitgp

PACKAGE = Path(tobitgp.__file__).parent
FILES = {
    ".".join(("tobitgp", *path.relative_to(PACKAGE).with_suffix("").parts)): path for path in PACKAGE.rglob("*.py")
}
IMPORT = re.compile(r"^ *(?:from [\w.]+ import \([^)]*\)|(?:from [\w.]+ )?import [\w.][^\n]*)", re.MULTILINE)
MODULES = {name.removesuffix(".__init__"): path for name, path in FILES.items()}


def imported(path: Path) -> set[str]:
    """Files that a file imports anywhere, below TYPE_CHECKING and in functions too."""
    found = set()
    for statement in IMPORT.findall(path.read_text(encoding="utf-8")):
        (node,) = ast.parse(statement.strip()).body
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}: imports are absolute"
            names = (f"{node.module}.{alias.name}" for alias in node.names)
            found |= {name if name in MODULES else str(node.module) for name in names}
    return found & set(MODULES)


def test_no_files_import_each_other_in_a_circle():
    graph = {name: imported(path) - {name} for name, path in MODULES.items()}
    TopologicalSorter(graph).prepare()  # raises CycleError, which lists the files


def test_only_kinds_ask_which_kind_a_fit_is():
    branch = re.compile(r"isinstance\([^)]*(Parts|Results)\b")
    outside = [path for path in PACKAGE.rglob("*.py") if "kinds" not in path.relative_to(PACKAGE).parts]
    assert [str(path) for path in outside if branch.search(path.read_text(encoding="utf-8"))] == []
