"""Rows of data, (lower, upper] each, and small tables of results: printed in markdown, kept as CSV."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

Row = Mapping[str, object]
Ends = tuple[np.ndarray, np.ndarray]


def show(title: str, rows: Sequence[Row], folder: Path | None = None, name: str = "") -> None:
    """Print a table, and write ``name.csv`` into a folder where one is given."""
    columns = list(rows[0])
    print(f"\n**{title}**\n\n| {' | '.join(columns)} |\n|{'---|' * len(columns)}")
    for row in rows:
        print(f"| {' | '.join(str(row[column]) for column in columns)} |", flush=True)
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / f"{name}.csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, columns)
            writer.writeheader()
            writer.writerows(rows)


def mean_and_error(values: np.ndarray) -> tuple[float, float]:
    """Mean of replicates and its standard error."""
    return float(np.mean(values)), float(np.std(values, ddof=1) / np.sqrt(len(values)))


def shown(values: np.ndarray, digits: int = 4) -> str:
    """A mean and, in brackets, its standard error."""
    mean, error = mean_and_error(values)
    return f"{mean:.{digits}f} ({error:.{digits}f})"
