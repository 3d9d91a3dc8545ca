"""The command line writes what it was told to write and nothing else; what fails leaves everything as it was."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from support import command_line, tally

import tobitgp as tg

pytestmark = pytest.mark.skipif(os.name != "posix", reason="pipes and limits of POSIX")

LINE = ["fit", "y ~ x | censor(-0.5)", "../../data/d.csv", "--quiet"]
CURVE = ["fit", "y ~ gp(x) | censor(-0.5)", "../../data/d.csv", "--hyper", "maximize", "--quiet"]
MIXED = ["fit", "t ~ mixture(2)", "../../data/d.csv", "--family", "lognormal", "--quiet"]
LINES, CURVES, MIXTURES = (f"../../data/{name}.tgp" for name in ("line", "curve", "mixture"))
NEW = "../../data/d.csv"

# Arguments, and the files that they name.
WORKS = {
    "help": (["--help"], []),
    "version": (["--version"], []),
    "help of fit": (["fit", "--help"], []),
    "fit": (LINE, []),
    "fit a curve": (CURVE, []),
    "fit and save": ([*LINE, "--save", "a.tgp"], ["a.tgp"]),
    "all of a regression": ([*LINE, "--save", "a.tgp", "--plot", "a.svg"], ["a.tgp", "a.svg"]),
    "all of a curve": ([*CURVE, "--save", "a", "--plot", "a.png"], ["a", "a.png"]),
    "all of a mixture": ([*MIXED, "--save", "a.tgp", "--plot", "a.PDF"], ["a.tgp", "a.PDF"]),
    "a report": ([*LINE, "--report", "a.html"], ["a.html"]),
    "dates": (["fit", "y ~ decimal_year(day)", "../../data/d.csv", "--save", "sub/a.tgp"], ["sub/a.tgp"]),
    "parquet": (["fit", "y ~ x", "../../data/d.parquet", "--save", "a.tgp"], ["a.tgp"]),
    "a folder": (["fit", "y ~ gp(x)", "../../data/many", "--hyper", "maximize", "--save", "a.tgp"], ["a.tgp"]),
    "replace": ([*LINE, "--save", "old.tgp", "--plot", "old.png"], ["old.tgp", "old.png"]),
    "through a link": ([*LINE, "--save", "link.tgp"], ["old.tgp"]),
    "predict": (["predict", LINES, NEW], []),
    "predict a band": (["predict", CURVES, NEW, "--interval", "0.9", "--out", "a.csv"], ["a.csv"]),
    "predict to parquet": (["predict", MIXTURES, NEW, "--se", "--out", "a.parquet"], ["a.parquet"]),
    "compare": (["compare", LINES, LINES, "--by", "aic"], []),
    "compare curves": (["compare", CURVES, CURVES], []),
}
SLOW = {
    "demo": (["demo"], ["tobitgp-demo.png"]),
    "demo to a file": (["demo", "--plot", "a.png"], ["a.png"]),
    "all reports": ([*CURVE, "--report", "a.html", "--save", "a.tgp", "--plot", "a.png"], ["a.html", "a.tgp", "a.png"]),
    "report of a mixture": ([*MIXED, "--report", "a.html"], ["a.html"]),
    "many pieces": (["fit", "y ~ gp(x)", "../../data/many/*.parquet", "--report", "a.html", "--quiet"], ["a.html"]),
}
OLD = ["--save", "old.tgp", "--plot", "old.png", "--report", "old.html"]
FAILS = {
    "broken formula": ["fit", "y ~ gp(x", NEW, *OLD],
    "no column": ["fit", "y ~ nothing", NEW, *OLD],
    "escape": ["fit", "y ~ open('escaped', 'w')", NEW, *OLD],
    "escape in the scale": ["fit", "y ~ x", NEW, "--sigma", "~ open('escaped', 'w')", *OLD],
    "no file": ["fit", "y ~ x", "nothing.csv", *OLD],
    "no name": ["fit", "y ~ x", "", *OLD],
    "long name": ["fit", "y ~ x", "a" * 300 + ".csv", *OLD],
    "no table": ["fit", "y ~ x", "../../data/noise.csv", *OLD],
    "no parquet": ["fit", "y ~ x", "../../data/noise.parquet", *OLD],
    "no zip": ["fit", "y ~ x", "../../data/noise.csv.zip", *OLD],
    "cut gzip": ["fit", "y ~ x", "../../data/cut.csv.gz", *OLD],
    "cut xz": ["fit", "y ~ x", "../../data/noise.csv.xz", *OLD],
    "empty": ["fit", "y ~ x", "../../data/empty.csv", *OLD],
    "bad rows": ["fit", "interval(x, y) ~ z", NEW, *OLD],
    "text": ["fit", "y ~ gp(g)", NEW, *OLD],
    "crossed limits": ["fit", "y ~ x | censor(1, upper=0)", NEW, *OLD],
    "no row left": ["fit", "y ~ x + gap", NEW, *OLD],
    "no start": ["fit", "y ~ gp(x)", NEW, "--start", "sigmo=1", *OLD],
    "one bad piece": ["fit", "y ~ gp(x)", "../../data/broken", "--save", "old.tgp", "--report", "old.html"],
    "no folder": [*LINE, "--save", "nowhere/a.tgp"],
    "below a file": [*LINE, "--save", "old.tgp/a.tgp"],
    "is a folder": [*LINE, "--save", "sub"],
    "long target": [*LINE, "--save", "a" * 300],
    "nearly too long": [*LINE, "--save", "a" * 250],
    "a pipe": [*LINE, "--save", "pipe.tgp"],
    "a picture to a pipe": [*LINE, "--plot", "pipe.png"],
    "a page to a pipe": [*LINE, "--report", "pipe.html"],
    "a table to a pipe": ["predict", LINES, NEW, "--out", "pipe.csv"],
    "no such suffix": [*LINE, "--save", "a.tgp", "--plot", "a.exe"],
    "over the data": [*LINE, "--save", NEW],
    "over the data by a link": [*LINE, "--save", "data.csv"],
    "both to one": [*LINE, "--save", "a.png", "--plot", "../both to one/a.png"],
    "over what is predicted": ["predict", LINES, NEW, "--out", NEW],
    "no fit": ["predict", NEW, NEW, "--out", "old.csv"],
    "a cut fit": ["predict", "../../data/cut.tgp", NEW, "--out", "old.csv"],
    "a foreign fit": ["predict", "../../data/foreign.tgp", NEW, "--out", "old.csv"],
    "no such fit": ["predict", "nothing.tgp", NEW, "--out", "old.csv"],
    "predict without column": ["predict", LINES, "../../data/other.csv", "--out", "old.csv"],
    "predict what": ["predict", LINES, NEW, "--what", "quantile", "--out", "old.csv"],
    "predict terms of a mixture": ["predict", MIXTURES, NEW, "--what", "terms", "--out", "old.csv"],
    "compare other kinds": ["compare", LINES, CURVES],
    "compare with noise": ["compare", LINES, "../../data/noise.csv"],
    "full to save": [*LINE, "--save", "old.tgp"],
    "full to draw": [*LINE, "--plot", "old.png"],
    "full to report": [*LINE, "--report", "old.html"],
    "full to predict": ["predict", LINES, NEW, "--out", "old.csv"],
    "full to predict parquet": ["predict", LINES, NEW, "--out", "old.parquet"],
}
UNWRITABLE = [folder for folder in ("/proc", "/sys") if Path(folder).is_dir()]
FAILS |= {f"to {folder[1:]}": [*LINE, "--save", f"{folder}/a.tgp"] for folder in UNWRITABLE}
TRIED = {name for name in FAILS if name.startswith(("full ", "nearly ", "to "))}  # only writing tells
FAILS = {name: (arguments, []) for name, arguments in FAILS.items()}


def make_data(folder):
    rng = np.random.default_rng(0)
    data = pd.DataFrame({"x": rng.uniform(0, 5, 40), "z": rng.normal(size=40), "gap": np.nan, "g": "a"})
    data["day"] = pd.date_range("2020-01-01", periods=40)
    data["y"] = np.maximum(np.sin(data["x"]) + 0.3 * rng.normal(size=40), -0.5)
    data["t"] = np.exp(data["y"])
    data.to_csv(folder / "d.csv", index=False)
    data.to_parquet(folder / "d.parquet")
    data.to_csv(folder / "whole.csv.gz", index=False)
    (folder / "cut.csv.gz").write_bytes((folder / "whole.csv.gz").read_bytes()[:-40])
    for name in ("noise.csv", "noise.parquet", "noise.csv.zip", "noise.csv.xz"):
        (folder / name).write_bytes(b"\xff\xfe\x00" + rng.bytes(400))
    (folder / "empty.csv").touch()
    (folder / "other.csv").write_text("a,b\n1,2\n")
    for name in ("many", "broken"):
        (folder / name).mkdir()
        data.head(20).to_parquet(folder / name / "0.parquet")
        data.tail(20).to_parquet(folder / name / "1.parquet")
    piece = folder / "broken" / "1.parquet"
    piece.write_bytes(piece.read_bytes()[:-9])
    tg.fit("y ~ x | censor(-0.5)", data).save(folder / "line.tgp")
    tg.fit("y ~ gp(x) | censor(-0.5)", data, hyper="maximize").save(folder / "curve.tgp")
    tg.fit("t ~ mixture(2)", data, family="lognormal").save(folder / "mixture.tgp")
    (folder / "cut.tgp").write_bytes((folder / "line.tgp").read_bytes()[:-200])
    pd.DataFrame({"a": [1]}).to_csv(folder / "foreign.tgp", compression="zip")


def make_place(folder, data):
    """A folder that holds older files, a pipe, and links to one of them and to the data."""
    (folder / "sub").mkdir(parents=True)
    for suffix in ("tgp", "png", "html", "csv", "parquet"):
        (folder / f"old.{suffix}").write_text(f"old {suffix}")
        os.mkfifo(folder / f"pipe.{suffix}")
    (folder / "link.tgp").symlink_to("old.tgp")
    (folder / "data.csv").symlink_to(data / "d.csv")


def run(cases, root):
    """What became of each case, run in one process with every folder that programs like to write to its own."""
    tally.add(len(cases))
    (root / "data").mkdir()
    make_data(root / "data")
    for name in cases:
        make_place(root / "work" / name, root / "data")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("XDG_")}
    for name in ("HOME", "TMPDIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "MPLCONFIGDIR"):
        (root / name).mkdir()
        environment[name] = str(root / name)
    environment |= {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, command_line.__file__, str(root)]
    given = json.dumps({name: arguments for name, (arguments, _) in cases.items()})
    done = subprocess.run(command, input=given, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def strange(result, place, targets):
    """Events of a run that writing its targets does not explain."""
    paths = [str((place / target).resolve()) for target in targets]
    beside = [
        rf"{re.escape(os.path.dirname(path))}/\.{re.escape(os.path.basename(path))}\.\w{{8}}\.tmp" for path in paths
    ]
    cache = re.escape(str(place.parents[1] / "MPLCONFIGDIR")) + ".*"
    allowed = re.compile("|".join([*map(re.escape, paths), *beside, cache]))
    return [
        (event, *places)
        for event, *places in result["events"]
        if not all(map(allowed.fullmatch, places)) and "fc-list" not in str(places)  # how matplotlib finds fonts
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


def test_what_works_writes_what_it_is_told_and_what_fails_nothing(tmp_path):
    """One process for both, since importing costs more than all cases together."""
    results = run(WORKS | FAILS, tmp_path)
    check(WORKS, results, tmp_path, 0)
    assert (tmp_path / "work" / "through a link" / "link.tgp").is_symlink()
    check(FAILS, results, tmp_path, 2)


@pytest.mark.slow
def test_what_works_slowly_writes_what_it_is_told(tmp_path):
    check(SLOW, run(SLOW, tmp_path), tmp_path, 0)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device that is always full")
def test_output_that_cannot_be_written_is_one_line(tmp_path):
    make_data(tmp_path)
    words = [sys.executable, "-m", "tobitgp", "predict", str(tmp_path / "line.tgp"), str(tmp_path / "d.csv")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with open("/dev/full", "w") as full:
        done = subprocess.run(words, env=environment, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == "tobitgp: No space left on device\n"
