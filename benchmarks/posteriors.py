"""``python -m benchmarks.posteriors``: compare posteriors of whole models with the No-U-Turn sampler.

Hyper-parameters are averaged over, under priors that are given, so that both work on the same posterior. Long runs
take minutes, and numpyro and ArviZ, which live in an environment of their own: ``--sample FILE`` writes what they find,
and without it fits are compared with what ``tests/reference/posteriors.json`` holds.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

REFERENCE = Path(__file__).parents[1] / "tests" / "reference" / "posteriors.json"
LEVELS = np.r_[0.001, 0.005, np.arange(0.01, 1.0, 0.01), 0.995, 0.999].round(3)
PLACES = 20
SURVIVAL = (0.5, 1.0, 2.0, 4.0, 6.0)
INTERCEPT = (0.0, 3.0)
DF = 4  # of Student's noise, known
Prior = dict[str, tuple[float, float]]
Draw = Callable[[np.random.Generator], pd.DataFrame]


@dataclass(frozen=True)
class Problem:
    """A model and data: each curve has inputs or groups, each parameter the median and spread of a log-normal prior."""

    name: str
    words: str
    formula: str
    family: str
    priors: Prior
    terms: dict[str, list[str]]
    draw: Draw

    def data(self) -> pd.DataFrame:
        """Rows with their response between ``lo`` and ``hi``, equal where it is exact."""
        return self.draw(np.random.default_rng(PROBLEMS.index(self)))

    def places(self) -> pd.DataFrame:
        """The rows where posteriors are compared."""
        data = self.data()
        return data.iloc[np.linspace(0, len(data) - 1, PLACES).astype(int)]


def _curve(X: np.ndarray, length: float, rng: np.random.Generator) -> np.ndarray:
    squares = np.square(X[:, None] - X).sum(axis=-1) / length**2
    return np.linalg.cholesky(np.exp(-0.5 * squares) + 1e-9 * np.eye(len(X))) @ rng.normal(size=len(X))


def _clipped(frame: pd.DataFrame, y: np.ndarray, below: float = 0.0, above: float = 0.0) -> pd.DataFrame:
    """Censor rows below and above quantiles of y."""
    low, high = np.quantile(y, below), np.quantile(y, 1.0 - above)
    lo, hi = np.where(y <= low if below else False, -np.inf, y), np.where(y >= high if above else False, np.inf, y)
    return frame.assign(lo=np.minimum(lo, high), hi=np.maximum(hi, low))


def _line(n: int, noise: str, below: float = 0.0, above: float = 0.0) -> Draw:
    def draw(rng: np.random.Generator) -> pd.DataFrame:
        x = np.sort(rng.uniform(size=n))
        error = {
            "normal": lambda: 0.3 * rng.normal(size=n),
            "student": lambda: 0.2 * rng.standard_t(DF, size=n),
            "weibull": lambda: 0.7 * np.log(rng.exponential(size=n)),
        }[noise]()
        frame = _clipped(pd.DataFrame({"x": x}), _curve(x[:, None], 0.2, rng) + error, below, above)
        return frame.assign(lo=np.exp(frame["lo"]), hi=np.exp(frame["hi"])) if noise == "weibull" else frame

    return draw


def _plane(rng: np.random.Generator) -> pd.DataFrame:
    X = rng.uniform(size=(60, 2))
    y = _curve(X / [0.3, 0.8], 1.0, rng) + 0.25 * rng.normal(size=60)
    frame = _clipped(pd.DataFrame(X, columns=["x1", "x2"]), y, 0.35)
    width = 0.5  # every second row is known to a window
    windows = (np.arange(60) % 2 == 0) & np.isfinite(frame["lo"])
    floor = np.floor(frame["lo"] / width) * width
    return frame.assign(lo=np.where(windows, floor, frame["lo"]), hi=np.where(windows, floor + width, frame["hi"]))


def _groups(rng: np.random.Generator) -> pd.DataFrame:
    x, g = np.sort(rng.uniform(size=70)), rng.integers(8, size=70)
    y = _curve(x[:, None], 0.25, rng) + 0.6 * rng.normal(size=8)[g] + 0.4 * rng.normal(size=70)
    return _clipped(pd.DataFrame({"x": x, "g": [f"g{i:02d}" for i in g]}), y, 0.0, 0.7)


_CURVE = {"sd(gp(x))": (1.0, 0.8), "lengthscale(gp(x))": (0.2, 0.7)}
_SIGMA = {"sigma": (0.3, 1.0)}
_PLANE = {"sd(gp(x1, x2))": (1.0, 0.8)} | {f"lengthscale(gp(x1, x2))[{x}]": (0.5, 1.0) for x in ("x1", "x2")}
_TERMS = {"gp(x)": ["x"], "gp(x1, x2)": ["x1", "x2"], "re(g)": ["g"]}


def _problem(name: str, words: str, family: str, priors: Prior, draw: Draw, formula: str = "gp(x)") -> Problem:
    terms = {term: _TERMS[term] for term in formula.split(" + ")}
    return Problem(name, words, formula, family, priors | _SIGMA, terms, draw)


PROBLEMS = (
    _problem("half", "curve, half censored", "gaussian", _CURVE, _line(60, "normal", 0.5)),
    _problem("most", "curve, 80% censored", "gaussian", _CURVE, _line(60, "normal", 0.8)),
    _problem("weibull", "Weibull times, 45% censored", "weibull", _CURVE, _line(70, "weibull", 0.0, 0.45)),
    _problem("student", "Student noise, 60% censored on two sides", "student", _CURVE, _line(60, "student", 0.4, 0.2)),
    _problem("plane", "two inputs, intervals, 35% censored", "gaussian", _PLANE, _plane, "gp(x1, x2)"),
    _problem(
        "groups",
        "curve and groups, 70% censored",
        "gaussian",
        _CURVE | {"sd(re(g))": (0.5, 1.0)},
        _groups,
        "gp(x) + re(g)",
    ),
)


def fit(problem: Problem) -> Any:
    """Fit the same model with defaults."""
    import tobitgp as tg

    priors = {name: tg.LogNormal(*prior) for name, prior in problem.priors.items()}
    priors |= {"Intercept": tg.Normal(*INTERCEPT)}
    family = tg.Student(df=DF) if problem.family == "student" else problem.family
    return tg.fit(f"interval(lo, hi) ~ {problem.formula}", problem.data(), family=family, priors=priors)


def compare(problem: Problem, long: dict[str, Any]) -> pd.DataFrame:
    """A row for f and each parameter: error of means in sds, ratios of sds, probability that intervals hold.

    Parameters are compared by their logarithms, f in ``PLACES`` rows. Reported intercepts hold the level of the curve,
    which those of the sampler do not.
    """
    res, places = fit(problem), problem.places()
    found = res.predict(places, "latent", se=True)
    ends = [res.predict(places, "latent", interval=level)[["lower", "upper"]] for level in (0.95, 0.5)]
    rows = {"f": _agreement(found["estimate"], found["se"], ends, long)}
    for name, chain in long["parameters"].items():
        tables = [np.log(res.conf_int(1.0 - level).loc[[name]]) for level in (0.95, 0.5)]
        middle = tables[1].mean(axis=1)
        sd = res.bse[[name]] / res.params[[name]]
        rows[name] = _agreement(middle, sd, tables, {k: [v] for k, v in chain.items()})
    if "survival" in long:
        rows["survival"] = _survival(res, places, long["survival"])
    table = pd.DataFrame.from_dict(rows, orient="index").rename_axis("quantity").reset_index()
    table.insert(0, "problem", problem.words)
    return table.assign(rhat=long["rhat"], ess=min(long["ess_bulk"], long["ess_tail"]))


def _agreement(mean: Any, sd: Any, ends: list[Any], long: dict[str, Any]) -> dict[str, float]:
    centre, spread, quantiles = (np.asarray(long[key]) for key in ("mean", "sd", "quantiles"))

    def probability(table: Any) -> np.ndarray:
        pairs = zip(np.asarray(table), quantiles, strict=True)
        return np.array([np.ptp(np.interp(pair, q, LEVELS, 0.0, 1.0)) for pair, q in pairs])

    held = [probability(table) for table in ends]
    ratio = np.asarray(sd) / spread
    return {
        "error": float(np.abs((np.asarray(mean) - centre) / spread).max()),
        "least_sd": float(ratio.min()),
        "most_sd": float(ratio.max()),
        "held_95": float(held[0].mean()),
        "least_95": float(held[0].min()),
        "held_50": float(held[1].mean()),
    }


def _survival(res: Any, places: pd.DataFrame, long: dict[str, Any]) -> dict[str, float]:
    """Compare probabilities of survival above 0.001 with those of the sampler."""
    found = res.predict(places, "prob", above=list(SURVIVAL), se=True).swaplevel(axis=1)
    mean, sd = np.array(long["mean"]), np.array(long["sd"])
    seen = mean > 1e-3
    ratio = (found["se"].to_numpy() / sd)[seen]
    error = np.abs((found["estimate"].to_numpy() - mean) / sd)[seen].max()
    return {"error": float(error), "least_sd": float(ratio.min()), "most_sd": float(ratio.max())}


def main() -> None:
    """Sample, or compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample", type=Path, help="run the sampler and write what it finds to this file")
    parser.add_argument("--problems", nargs="*", default=[p.name for p in PROBLEMS])
    parser.add_argument("--out", type=Path, default=Path("docs") / "trust" / "posteriors.csv")
    options = parser.parse_args()
    chosen = [p for p in PROBLEMS if p.name in options.problems]
    known: dict[str, Any] = {}
    if options.sample and options.sample.exists():
        known = json.loads(options.sample.read_text())
    if options.sample:
        from benchmarks.sampler import sample

        for problem in chosen:
            known[problem.name] = sample(problem)
            options.sample.write_text(json.dumps(known))
    else:
        long = json.loads(REFERENCE.read_text())
        table = pd.concat([compare(problem, long[problem.name]) for problem in chosen])
        table.round(3).to_csv(options.out, index=False)
        print(table.to_string(index=False, float_format="{:.3f}".format))


if __name__ == "__main__":
    main()
