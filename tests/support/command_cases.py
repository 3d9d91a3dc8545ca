"""Commands for the command line, what each names, and the folders that they run in."""

import os
from pathlib import Path

import numpy as np
import pandas as pd

import tobitgp as tg

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
    "many partitions": (["fit", "y ~ gp(x)", "../../data/many/*.parquet", "--report", "a.html", "--quiet"], ["a.html"]),
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
    "one bad partition": ["fit", "y ~ gp(x)", "../../data/broken", "--save", "old.tgp", "--report", "old.html"],
    "no folder": [*LINE, "--save", "nowhere/a.tgp"],
    "below a file": [*LINE, "--save", "old.tgp/a.tgp"],
    "is a folder": [*LINE, "--save", "sub"],
    "long target": [*LINE, "--save", "a" * 300],
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
    partition = folder / "broken" / "1.parquet"
    partition.write_bytes(partition.read_bytes()[:-9])
    tg.fit("y ~ x | censor(-0.5)", data).save(folder / "line.tgp")
    tg.fit("y ~ gp(x) | censor(-0.5)", data, method=tg.EP(hyper="maximize")).save(folder / "curve.tgp")
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
