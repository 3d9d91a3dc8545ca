"""Functions that search.py and uneven.py share: fits at their maxima, and the table of their losses."""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import tobitgp as tg

FAR = 1.0  # nats
Columns = dict[str, np.ndarray]
Row = dict[str, Any]


def fit(frame: pd.DataFrame, formula: str, **options: Any) -> tuple[Any, float]:
    """A fit at the maximum, and the log posterior density there."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        res = tg.fit(formula, frame, **{"method": tg.EP(hyper="maximize"), **options})
    fitted = res.parts.fitted
    return res, fitted.evidence + fitted.parameters.log_prior(fitted.points[0].theta)[0]


def arguments(doc: str | None, out: Path) -> argparse.Namespace:
    """The command line of a battery."""
    parser = argparse.ArgumentParser(description=doc)
    parser.add_argument("--out", type=Path, default=out)
    parser.add_argument("--before", type=Path)
    parser.add_argument("--default-only", action="store_true")
    parser.add_argument("--named", default="", help="only data sets with this in their names")
    return parser.parse_args()


def tabulate(runs: Iterable[Callable[[], Row]], keys: list[str], options: argparse.Namespace) -> pd.DataFrame:
    """Print each row once it is there, join those of an older version by the keys, and write the table."""
    rows = []
    for run in runs:
        rows.append(run())
        print({k: round(v, 2) if isinstance(v, float) else v for k, v in rows[-1].items()}, flush=True)
    table = pd.DataFrame(rows)
    if options.before:
        before = pd.read_csv(options.before)
        shown = [name for name in (*keys, "seconds", "value", "coverage") if name in before]
        table = table.merge(before[shown], on=keys, suffixes=("", "_before"))
        table["best"] = table[["best", "value_before"]].max(axis=1)
        table["lost_before"] = table["best"] - table["value_before"]
    if not options.default_only:
        table["lost"] = table["best"] - table["value"]
        print(f"{(table['lost'] > FAR).sum()} of {len(table)} fits end more than {FAR:g} nat below the best.")
    table.round(4).to_csv(options.out, index=False)
    return table
