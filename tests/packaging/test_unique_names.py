"""No class name has two meanings, and no two files of the package have one name."""

import re
from collections import Counter, defaultdict
from pathlib import Path

import tobitgp

PACKAGE = Path(tobitgp.__file__).parent

# Classes of the compiled core have the names of the structures in core.h that they mirror.
OF_THE_CORE = PACKAGE / "compiled" / "interface.py"

# Names that still have two meanings. The list may only become shorter.
AMBIGUOUS = {
    "Asked",
    "Drawn",
    "Effect",
    "Estimates",
    "Fitter",
    "Group",
    "Kind",
    "Rows",
}


def test_a_class_name_has_one_meaning():
    places = defaultdict(list)
    for path in PACKAGE.rglob("*.py"):
        if path == OF_THE_CORE:
            continue
        for name in re.findall(r"^ *class (\w+)", path.read_text(encoding="utf-8"), re.MULTILINE):
            places[name].append(str(path.relative_to(PACKAGE)))
    twice = {name: found for name, found in places.items() if len(found) > 1}
    assert {name: found for name, found in twice.items() if name not in AMBIGUOUS} == {}
    assert sorted(AMBIGUOUS - set(twice)) == [], "these have one meaning now: take them off the list"


def test_a_file_name_is_used_once():
    counts = Counter(path.name for path in PACKAGE.rglob("*.py"))
    assert {name for name, count in counts.items() if count > 1} == {"__init__.py"}
