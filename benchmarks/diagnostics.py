"""``python -m benchmarks.diagnostics``: how often ``check`` flags right models and wrong ones, as a small CSV file.

Of a right model that share is the size of a diagnostic, of a wrong one its power.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed

import tobitgp as tg

ROWS = 200
KEYS = ["kind", "truth", "model"]
TESTS = ("calibration", "symmetry", "tails", "spread", "pattern", "influence", "structure")
STREAM = 34  # thresholds were chosen on the data sets of another
Data = dict[str, np.ndarray]


@dataclass(frozen=True)
class Case:
    """A case: the data and the fitted model. ``wrong`` says what the model lacks; otherwise it is right."""

    kind: str
    truth: str
    model: str
    draw: Callable[[np.random.Generator], Data]
    options: dict[str, Any] = field(default_factory=dict)
    wrong: str = ""


def columns(rng: np.random.Generator, n: int = ROWS) -> Data:
    """Two normal columns, one of 0 and 1, and what they add up to."""
    x, z, arm = rng.normal(size=n), rng.normal(size=n), rng.integers(0, 2, n).astype(float)
    return {"x": x, "z": z, "arm": arm, "f": 1.0 + x - 0.5 * z + 0.5 * arm}


def many_columns(rng: np.random.Generator) -> Data:
    """Ten columns, one of which matters."""
    x = rng.normal(size=(ROWS, 10))
    return {f"x{i}": x[:, i] for i in range(10)} | {"f": 1.0 + x[:, 0]}


def curve(rng: np.random.Generator, scale: float = 0.2, n: int = ROWS) -> Data:
    """A curve drawn from the prior along x."""
    x = rng.uniform(size=n)
    return {"x": x, "f": _drawn(rng, x[:, None], scale)}


def surface(rng: np.random.Generator) -> Data:
    """A surface drawn from the prior."""
    x = rng.uniform(size=(ROWS, 2))
    return {"x": x[:, 0], "z": x[:, 1], "f": _drawn(rng, x, 0.3)}


def additive(rng: np.random.Generator) -> Data:
    """Two curves, and groups of ten rows."""
    x, z, g = rng.uniform(size=ROWS), rng.uniform(size=ROWS), np.arange(ROWS) // 10
    f = _drawn(rng, x[:, None], 0.2) + _drawn(rng, z[:, None], 0.5) + 0.5 * rng.normal(size=ROWS // 10)[g]
    return {"x": x, "z": z, "g": g.astype(str), "f": f}


def _drawn(rng: np.random.Generator, x: np.ndarray, scale: float) -> np.ndarray:
    squares = np.square(x[:, None] - x).sum(axis=2)
    K = np.exp(-0.5 * squares / scale**2)
    return np.linalg.cholesky(K + 1e-9 * np.eye(len(x))) @ rng.normal(size=len(x))


def normal(rng: np.random.Generator, n: int) -> np.ndarray:
    """Normal noise."""
    return rng.normal(size=n)


def heavy(rng: np.random.Generator, n: int) -> np.ndarray:
    """Student noise, three degrees of freedom, variance 1."""
    return rng.standard_t(3, n) / np.sqrt(3.0)


def skew(rng: np.random.Generator, n: int) -> np.ndarray:
    """Exponential noise, variance 1."""
    return rng.exponential(size=n) - 1.0


def two_humps(rng: np.random.Generator, n: int) -> np.ndarray:
    """Noise that leaves out its middle, variance 1."""
    return 0.9 * rng.choice([-1.0, 1.0], n) + np.sqrt(1.0 - 0.81) * rng.normal(size=n)


def gumbel(rng: np.random.Generator, n: int) -> np.ndarray:
    """Logarithms of exponential times."""
    return np.log(rng.exponential(size=n))


def seen(
    draw: Callable[..., Data], noise: Any = normal, sd: float = 0.4, censored: float = 0.0, *, rising: bool = False
) -> Callable[[np.random.Generator], Data]:
    """Rows with noise, left-censored at a quantile; ``rising`` from .1 to .8 along x."""

    def rows(rng: np.random.Generator) -> Data:
        data = draw(rng)
        n = len(data["f"])
        scale = 0.1 + 0.7 * (np.argsort(np.argsort(data["x"])) / (n - 1)) if rising else sd
        y = data.pop("f") + scale * noise(rng, n)
        low = np.quantile(y, censored) if censored else y.min() - 1.0
        return data | {"y": np.maximum(y, low), "low": np.full(n, low)}

    return rows


def two_limits(noise: Any) -> Callable[[np.random.Generator], Data]:
    """A fifth of the rows at either limit."""

    def rows(rng: np.random.Generator) -> Data:
        data = columns(rng)
        y = data.pop("f") + noise(rng, ROWS)
        low, high = np.quantile(y, [0.2, 0.8])
        return data | {"y": np.clip(y, low, high), "low": np.full(ROWS, low), "high": np.full(ROWS, high)}

    return rows


def times(draw: Callable[..., Data], noise: Any, sd: float, *, late: bool = False) -> Callable[..., Data]:
    """Times right-censored at random, about 40% of them; ``late`` those who entered after a while."""

    def rows(rng: np.random.Generator) -> Data:
        data = draw(rng)
        time = np.exp(data.pop("f") + sd * noise(rng, len(data["x"])))
        end = rng.exponential(2.0 * np.median(time), len(time))
        entry = rng.uniform(0.0, 0.5 * np.median(time), len(time)) if late else np.zeros(len(time))
        data |= {"entry": entry, "time": np.minimum(time, entry + end), "event": 1.0 * (time <= entry + end)}
        alive = time > entry
        return {name: column[alive] for name, column in data.items()}

    return rows


def visits(rng: np.random.Generator) -> Data:
    """Log-normal times known to lie between visits."""
    data = columns(rng)
    time = np.exp(0.5 * data.pop("f") + 0.5 * rng.normal(size=ROWS))
    at = rng.uniform(size=ROWS)
    before = np.floor(time + at) - at
    return data | {"left": np.maximum(before, 0.0), "right": before + 1.0}


def outlier(draw: Callable[..., Data]) -> Callable[[np.random.Generator], Data]:
    """Move one row by eight standard deviations."""

    def rows(rng: np.random.Generator) -> Data:
        data = seen(draw)(rng)
        data["y"][0] += 8.0 * 0.4
        return data

    return rows


def groups(
    at: tuple[float, ...], *, censored: float = 0.0, noise: Any = normal, log: bool = False
) -> Callable[[np.random.Generator], Data]:
    """A mixture of equal shares, censored at random times or at a limit."""

    def rows(rng: np.random.Generator) -> Data:
        y = rng.choice(at, ROWS) + noise(rng, ROWS)
        if log:
            end = rng.exponential(2.0 * np.exp(np.median(y)), ROWS)
            return {"time": np.minimum(np.exp(y), end), "event": 1.0 * (np.exp(y) <= end)}
        low = np.quantile(y, censored) if censored else y.min() - 1.0
        return {"y": np.maximum(y, low), "low": np.full(ROWS, low)}

    return rows


LINEAR, CURVED = "y ~ x + z + arm | censor(low)", "y ~ gp(x) | censor(low)"
AFT, AFT_CURVE = "Surv(time, event) ~ x + z + arm", "Surv(time, event) ~ gp(x)"
LATE = "Surv(entry, time, event) ~ x + z + arm"
TEN = "y ~ " + " + ".join(f"x{i}" for i in range(10)) + " | censor(low)"
BOTH = "y ~ x + z + arm | censor(low, high)"
MIXED, MIXED_TIMES = "y ~ mixture(2) | censor(low)", "Surv(time, event) ~ mixture(2)"
WEIBULL = {"family": "weibull"}


def rough(rng: np.random.Generator) -> Data:
    """A curve of short length-scale."""
    return curve(rng, 0.04)


CASES = [
    Case("regression", "normal", LINEAR, seen(columns)),
    Case("regression", "normal, 50% censored", LINEAR, seen(columns, censored=0.5)),
    Case("regression", "normal, ten columns, 20% censored", TEN, seen(many_columns, censored=0.2)),
    Case("regression", "normal, 40% at two limits", BOTH, two_limits(normal)),
    Case("regression", "Weibull times, 40% censored", AFT, times(columns, gumbel, 0.7), WEIBULL),
    Case("regression", "Weibull times, delayed entry", LATE, times(columns, gumbel, 0.7, late=True), WEIBULL),
    Case("regression", "log-normal, intervals", "interval(left, right) ~ x + z + arm", visits, {"family": "lognormal"}),
    Case("process", "smooth curve", CURVED, seen(curve)),
    Case("process", "smooth curve, 50% censored", CURVED, seen(curve, censored=0.5)),
    Case("process", "rough curve", CURVED, seen(rough)),
    Case("process", "surface, 30% censored", "y ~ gp(x, z) | censor(low)", seen(surface, censored=0.3)),
    Case("process", "two curves and groups", "y ~ gp(x) + gp(z) + re(g) | censor(low)", seen(additive)),
    Case("process", "Weibull times, 40% censored", AFT_CURVE, times(curve, gumbel, 0.5), WEIBULL),
    Case("mixture", "two groups", MIXED, groups((0.0, 3.0))),
    Case("mixture", "two groups, 30% censored", MIXED, groups((0.0, 3.0), censored=0.3)),
    Case("mixture", "Weibull times, 40% censored", MIXED_TIMES, groups((0.0, 2.5), noise=gumbel, log=True), WEIBULL),
    Case("process", "sd from .1 to .8", CURVED, seen(curve, rising=True), wrong="spread"),
    Case("process", "sd from .1 to .8, 30% censored", CURVED, seen(curve, rising=True, censored=0.3), wrong="spread"),
    Case("process", "t3 noise", CURVED, seen(curve, heavy), wrong="tails"),
    Case("process", "t3 noise, 30% censored", CURVED, seen(curve, heavy, censored=0.3), wrong="tails"),
    Case("process", "exponential noise", CURVED, seen(curve, skew), wrong="symmetry"),
    Case("process", "noise in two humps", CURVED, seen(curve, two_humps), wrong="calibration"),
    Case("process", "a row 8 sd off", CURVED, outlier(curve), wrong="influence"),
    Case("regression", "sd from .1 to .8", LINEAR, seen(columns, rising=True), wrong="spread"),
    Case("regression", "t3 noise", LINEAR, seen(columns, heavy), wrong="tails"),
    Case("regression", "exponential noise, 30% censored", LINEAR, seen(columns, skew, censored=0.3), wrong="symmetry"),
    Case("regression", "a curve", "y ~ x | censor(low)", seen(curve), wrong="pattern"),
    Case("regression", "a curve, 50% censored", "y ~ x | censor(low)", seen(curve, censored=0.5), wrong="pattern"),
    Case("regression", "two humps at two limits", BOTH, two_limits(two_humps), wrong="calibration"),
    Case("regression", "log-normal times as Weibull", AFT, times(columns, normal, 0.7), WEIBULL, wrong="calibration"),
    Case("regression", "a row 8 sd off", LINEAR, outlier(columns), wrong="influence"),
    Case("mixture", "three groups as two", MIXED, groups((0.0, 4.0, 8.0)), wrong="calibration"),
    Case(
        "mixture",
        "three groups as two, 30% censored",
        MIXED,
        groups((0.0, 4.0, 8.0), censored=0.3),
        wrong="calibration",
    ),
]


def flagged(case: Case, seed: int) -> dict[str, Any]:
    """Return whether each diagnostic of one data set is flagged. Those along columns are combined."""
    data = case.draw(np.random.default_rng([seed, STREAM]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        verdicts = tg.fit(case.model, data, **case.options).check().table["verdict"]
    names = {str(name).split(" in ")[0] for name in verdicts.index[verdicts != "good"]}
    found = {test: float(test in names) for test in TESTS}
    return found | {"others": float(bool(names - set(TESTS))), "any": float(bool(names))}


def row(case: Case, found: list[dict[str, Any]]) -> pd.DataFrame:
    """Shares of the data sets."""
    shares = pd.DataFrame(found).mean().round(3)
    about = {name: getattr(case, name) for name in (*KEYS, "wrong")}
    return pd.DataFrame([about | shares.to_dict() | {"sets": len(found)}])


def main() -> None:
    """Run every case that is not in the table yet, and write the table after each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", type=int, default=100, help="data sets of a right model, half as many of a wrong one")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path("docs/trust/diagnostics.csv"), help="delete it to begin anew")
    options = parser.parse_args()
    found = pd.read_csv(options.out, keep_default_na=False) if options.out.exists() else pd.DataFrame(columns=KEYS)
    done = set(found[KEYS].itertuples(index=False, name=None))
    for case in CASES:
        if (case.kind, case.truth, case.model) not in done:
            times = options.sets // 2 if case.wrong else options.sets
            rows = Parallel(n_jobs=options.jobs)(delayed(flagged)(case, seed) for seed in range(times))
            found = pd.concat([found, row(case, rows)])
            found.to_csv(options.out, index=False)


if __name__ == "__main__":
    main()
