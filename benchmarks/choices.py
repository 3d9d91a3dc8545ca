"""``python -m benchmarks.choices``: measure what choices cost, and print the table of docs/guide/large-data.md.

Each row has the processor seconds of a fit, or of a prediction, and their ratio to those of the fit that it is compared
with. All run in one process, with 2,000 rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

import tobitgp as tg
from benchmarks.aims.clocks import clock
from benchmarks.commands import command

ROWS = 2000


def rows(n: int, seed: int = 0) -> pd.DataFrame:
    """Draw three responses that share a curve, 40% left-censored, with three inputs and 100 groups."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 3))
    frame = pd.DataFrame(X, columns=["x1", "x2", "x3"]).assign(g=rng.integers(0, 100, n))
    f = np.sin(6.0 * X[:, 0]) + X[:, 1]
    for name in ("y1", "y2", "y3"):
        y = f + 0.5 * rng.normal(size=n)
        low = np.quantile(y, 0.4)
        frame[name], frame[f"low{name[1]}"] = np.maximum(y, low), low
    return frame


def fits(n: int) -> dict[tuple[str, str], tuple[Callable[[], Any], Callable[[], Any]]]:
    """Return pairs of calls: the choice, and what it is compared with. Keys are their labels."""
    data = rows(n)

    def fit(terms: str, **options: Any) -> Callable[[], Any]:
        return lambda: tg.fit(f"y1 ~ {terms} | censor(low1)", data, **options)

    def together(names: str) -> Callable[[], Any]:
        limits = ", ".join(f"{name}=low{name[1]}" for name in names.split(", "))
        return lambda: tg.fit(f"mvbind({names}) ~ gp(x1) | censor({limits})", data)

    curve, surface, mixture = fit("gp(x1)"), fit("gp(x1, x2)"), fit("mixture(2)")
    res = curve()
    new = data[["x1"]]

    def predict() -> Any:
        return res.predict(new)

    def draw() -> Any:
        return res.sample(new, draws=1000, rng=0)

    return {
        ('`method=tg.EP(hyper="maximize")`', "`gp(x1)`, default"): (
            fit("gp(x1)", method=tg.EP(hyper="maximize")),
            curve,
        ),
        ('`method="laplace"`', "`gp(x1)`, default"): (fit("gp(x1)", method="laplace"), curve),
        ('`method="vi"`', "`gp(x1)`, default"): (fit("gp(x1)", method="vi"), curve),
        ("`x1`, maximum likelihood", "`gp(x1)`, default"): (fit("x1"), curve),
        ("`gp(x1) + re(g)`, 100 groups", "`gp(x1)`"): (fit("gp(x1) + re(g)"), curve),
        ("`gp(x1) + gp(x2) + gp(x3)`", "`gp(x1)`"): (fit("gp(x1) + gp(x2) + gp(x3)"), curve),
        ("`gp(x1, x2)`", "`gp(x1)`"): (surface, curve),
        ("`truncate(low)`, the 60% of the rows above", "`censor(low)`"): (
            lambda: tg.fit("y1 ~ gp(x1) | truncate(low1)", data[data["y1"] > data["low1"]]),
            curve,
        ),
        ('`approximation="vecchia"`', "`gp(x1, x2)`, default"): (
            fit('gp(x1, x2, approximation="vecchia")'),
            surface,
        ),
        ("two responses", "one response"): (together("y1, y2"), curve),
        ("three responses", "one response"): (together("y1, y2, y3"), curve),
        ("`mixture(10)`", "`mixture(2)`"): (fit("mixture(10)"), mixture),
        ("`mixture(range(1, 6))`", "`mixture(2)`"): (fit("mixture(range(1, 6))"), mixture),
        ("`predict(new, interval=0.95)`", "`predict(new)`"): (lambda: res.predict(new, interval=0.95), predict),
        ("`sample(new, draws=1000)`", "`predict(new)`"): (draw, predict),
        ("`sample(new, draws=1000)`", "`gp(x1)`, the fit"): (draw, curve),
    }


def main(n: int = ROWS) -> None:
    """Print a row for each choice."""
    print("| Choice | Compared with | CPU s | Times |\n|---|---|---|---|", flush=True)
    found: dict[Callable[[], Any], float] = {}
    for (choice, other), calls in fits(n).items():
        found |= {call: clock(call).cpu for call in calls if call not in found}
        own, base = (found[call] for call in calls)
        print(f"| {choice} | {other} | {own:.2g} | {own / base:.2g} |", flush=True)


if __name__ == "__main__":
    command("benchmarks.choices", __doc__).parse_args()
    main()
