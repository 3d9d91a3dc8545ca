"""The command line writes what it was told to write and nothing else; what fails leaves everything as it was."""

import json
import os
import re
from pathlib import Path

import pytest
from support import command_line, tally
from support.command_cases import FAILS, SLOW, TRIED, WORKS, make_data, make_place
from support.processes import environment, printed_by, run_python

pytestmark = pytest.mark.skipif(os.name != "posix", reason="pipes and limits of POSIX")

# Where programs like to write.
HOMES = ("HOME", "TMPDIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "MPLCONFIGDIR")
# What matplotlib asks for fonts, and older threadpoolctl and numpy for libraries and the processor.
ASKED = ("fc-list", "ldconfig", "lscpu")


def run(cases, root):
    """What became of each case, run in one process with every folder that programs like to write to its own."""
    tally.add(len(cases))
    (root / "data").mkdir()
    make_data(root / "data")
    for name in cases:
        make_place(root / "work" / name, root / "data")
    homes = {name: str(root / name) for name in HOMES}
    for place in homes.values():
        Path(place).mkdir()
    given = json.dumps({name: arguments for name, (arguments, _) in cases.items()})
    inherited = {name: value for name, value in environment().items() if not name.startswith("XDG_")}
    env = {**inherited, **homes, "PYTHONDONTWRITEBYTECODE": "1"}
    return json.loads(printed_by(command_line.__file__, root, input=given, env=env))


def strange(result, place, targets):
    """Events of a run that writing its targets does not explain."""
    paths = [str((place / target).resolve()) for target in targets]
    beside = [
        rf"{re.escape(os.path.dirname(path))}/\.{re.escape(os.path.basename(path))}\.\w{{8}}\.tmp" for path in paths
    ]
    cache = re.escape(str(place.parents[1] / "MPLCONFIGDIR")) + ".*"
    allowed = re.compile("|".join([*map(re.escape, (*paths, os.devnull)), *beside, cache]))
    return [
        (event, *places)
        for event, *places in result["events"]
        if not all(map(allowed.fullmatch, places))
        and not (event == "subprocess.Popen" and os.path.basename(places[0]) in ASKED)
    ]


def complaints(name, result, root, code, targets=(), tried=()):
    """What one case did that it must not: files changed that it does not name, events that nothing explains."""
    place, cache = root / "work" / name, str(root / "MPLCONFIGDIR")
    changed = [path for path in result["changed"] if not path.startswith(cache)]
    links = ["link.tgp"] if "old.tgp" in targets else []
    if result["code"] != code:
        yield f"code {result['code']}", result["err"]
    if changed != sorted(str(place / target) for target in (*targets, *links)):
        yield "changed", changed
    if found := strange(result, place, (*targets, *tried)):
        yield "did", found
    said = result["err"].splitlines()
    if code and not (said and said[0].startswith("tobitgp: ") and (len(said) == 1 or "^" in said[-1])):
        yield "said", result["err"]


def check(cases, results, root, code):
    """Compare what became of cases with the files that they name."""
    wrong = {}
    for name, (arguments, targets) in cases.items():
        tried = arguments[-1:] if name in TRIED else ()
        wrong[name] = list(complaints(name, results[name], root, code, targets, tried))
    assert {name: found for name, found in wrong.items() if found} == {}


@pytest.mark.slow
def test_what_works_writes_what_it_is_told_and_what_fails_nothing(tmp_path):
    """One process for both, since importing costs more than all cases together."""
    results = run(WORKS | FAILS, tmp_path)
    check(WORKS, results, tmp_path, 0)
    assert (tmp_path / "work" / "through a link" / "link.tgp").is_symlink()
    check(FAILS, results, tmp_path, 2)


@pytest.mark.slow
def test_what_works_slowly_writes_what_it_is_told(tmp_path):
    check(SLOW, run(SLOW, tmp_path), tmp_path, 0)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device that is always full")
def test_output_that_cannot_be_written_is_one_line(tmp_path):
    make_data(tmp_path)
    with open("/dev/full", "w") as full:
        done = run_python("-m", "tobitgp", "predict", tmp_path / "line.tgp", tmp_path / "d.csv", stdout=full)
    assert done.returncode == 2
    assert done.stderr == "tobitgp: No space left on device\n"
