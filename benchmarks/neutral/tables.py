"""From scores of folds to those of data sets, mean ranks, and differences from Cox's model."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from benchmarks.neutral.methods import FAMILIES

SCORES = {"log_loss": -1.0, "brier": -1.0, "log_density": 1.0, "concordance": 1.0}  # and whether more is better
REFERENCE = "lifelines Cox"
KINDS = {"lines": "lines, ep", "curves": "curves", "lines and curves": "lines and curves"}
FLOOR = "Kaplan-Meier"


def with_picks(folds: pd.DataFrame) -> pd.DataFrame:
    """Folds with, for each kind of formula, the family that has the highest evidence there."""
    return pd.concat([folds, *_picks(folds)], ignore_index=True)


def _picks(folds: pd.DataFrame) -> Iterator[pd.DataFrame]:
    for kind, name in KINDS.items():
        names = [f"tobitgp {family}, {name}" for family in FAMILIES]
        rows = folds[folds["method"].isin(names)]
        groups = rows.groupby(["data", "fold"], sort=False)
        picked = rows.loc[groups["log_evidence"].idxmax()].reset_index(drop=True)
        seconds = groups["seconds"].sum().reset_index(drop=True)
        yield picked.assign(method=f"tobitgp {kind}, family by evidence", seconds=seconds)


def of_sets(folds: pd.DataFrame) -> pd.DataFrame:
    """Means over the folds that all methods have; a fit that failed has the scores of Kaplan and Meier's curve."""
    whole = folds.pivot_table(index=["data", "fold"], columns="method", values="rows").dropna().index
    rows = folds.set_index(["data", "fold"]).loc[whole].reset_index()
    floor = rows[rows["method"] == FLOOR].set_index(["data", "fold"])
    failed = rows["brier"].isna()
    for score in SCORES:
        rows.loc[failed, score] = floor.loc[rows.loc[failed, ["data", "fold"]].apply(tuple, axis=1), score].to_numpy()
    groups = rows.groupby(["data", "method"], sort=False)
    numbers = groups[[*SCORES, "seconds", "df_model"]].mean()
    about = groups.agg(rows=("rows", "first"), events=("events", "first"), folds=("fold", "nunique"))
    return about.join(numbers).reset_index()


def ranks(sets: pd.DataFrame) -> pd.DataFrame:
    """Mean rank of each method by each score, 1 the best; seconds, and log losses beside Cox's model."""
    out = {}
    for score, sign in SCORES.items():
        table = sets.pivot_table(index="data", columns="method", values=score) * -sign
        out[score] = table.rank(axis=1).mean()
    loss = sets.pivot_table(index="data", columns="method", values="log_loss")
    ahead = -loss.sub(loss[REFERENCE], axis=0)
    out["ahead"], out["error"] = ahead.mean(), ahead.std(ddof=1) / np.sqrt(len(ahead))
    out["better"] = (ahead > 0).sum()
    out["seconds"] = sets.groupby("method")["seconds"].median()
    return pd.DataFrame(out).sort_values("log_loss")


def markdown(frame: pd.DataFrame) -> str:
    """A table in markdown, blank where there is no number."""
    lines = [f"| {' | '.join(map(str, frame.columns))} |", "|---" * len(frame.columns) + "|"]
    return "\n".join(lines + [f"| {' | '.join(row)} |" for row in frame.fillna("").astype(str).to_numpy()])


def rank_table(sets: pd.DataFrame) -> str:
    """Mean ranks in markdown."""
    found = ranks(sets)
    shown = found[[*SCORES]].map(lambda value: "" if np.isnan(value) else f"{value:.1f}")
    shown.columns = ["log loss", "Brier", "log density", "concordance"]
    pairs = zip(found["ahead"] + 0.0, found["error"], strict=True)
    shown["log loss ahead of Cox"] = [f"{ahead:.4f} ({error:.4f})" for ahead, error in pairs]
    shown["sets"] = found["better"].astype(str)
    shown["CPU s"] = found["seconds"].map("{:.2f}".format)
    shown.loc[REFERENCE, ["log loss ahead of Cox", "sets"]] = ""
    return markdown(shown.reset_index())


def score_table(sets: pd.DataFrame, score: str, names: list[str]) -> str:
    """Return a table of one score, by method and data set."""
    table = sets.pivot_table(index="data", columns="method", values=score, sort=False)[names]
    about = sets.groupby("data", sort=False)[["rows", "events"]].first()
    return markdown(about.join(table.map("{:.4f}".format)).reset_index())
