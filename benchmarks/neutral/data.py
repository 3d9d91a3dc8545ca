"""Right-censored data sets: which columns are used, and how they are made ready."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

MOST_ROWS = 1000
FEW_ROWS = 10  # of a level of a factor, that joins the commonest
FEW_VALUES = 6  # up to which a number has no curve


class Problem(NamedTuple):
    """A data set of SurvSet, or of lifelines where it says so, and the columns of it that are not used."""

    name: str
    dropped: str = ""
    library: str = "SurvSet"

    def frame(self) -> pd.DataFrame:
        """Complete rows, `MOST_ROWS` at most: time, event, numbers and factors, the last as text.

        A time of 0 is half the smallest above it. A factor that a column of numbers says too is left out.
        """
        whole = _of_lifelines(self.name) if self.library == "lifelines" else _of_survset(self.name)
        same = [name for name in whole if name.startswith("fac_") and f"num_{name[4:]}" in whole]
        whole = whole.drop(columns=[*same, *self.dropped.split()]).dropna()
        rows = np.random.default_rng(0).permutation(len(whole))[:MOST_ROWS]
        frame = whole.iloc[np.sort(rows)].reset_index(drop=True)
        time = frame["time"].astype(float)
        frame["time"] = time.where(time > 0.0, 0.5 * time[time > 0.0].min())
        frame["event"] = (frame["event"] > 0).astype(int)  # any event of competing ones
        for name in factors(frame):
            frame[name] = _with_rows(frame[name].astype(str))
        return frame[[name for name in frame if frame[name].nunique() > 1]]


def _of_survset(name: str) -> pd.DataFrame:
    from SurvSet.data import SurvLoader

    found: pd.DataFrame = SurvLoader().load_dataset(name)["df"]
    return found.drop(columns="pid")


def _of_lifelines(name: str) -> pd.DataFrame:
    """Its columns named as those of SurvSet; all are numbers."""
    from lifelines import datasets

    found: pd.DataFrame = getattr(datasets, f"load_{name}")()
    found = found.rename(columns={"week": "time", "arrest": "event"})
    return found.rename(columns={column: f"num_{column}" for column in found if column not in ("time", "event")})


def _with_rows(factor: pd.Series[Any]) -> pd.Series[Any]:
    rows = factor.map(factor.value_counts())
    return factor.where(rows >= FEW_ROWS, factor.mode()[0])


def factors(frame: pd.DataFrame) -> list[str]:
    """Columns of levels."""
    return [name for name in frame if name.startswith("fac_")]


def numbers(frame: pd.DataFrame) -> list[str]:
    """Columns of numbers."""
    return [name for name in frame if name.startswith("num_")]


def curved(frame: pd.DataFrame) -> list[str]:
    """Columns of numbers with values enough for a curve."""
    return [name for name in numbers(frame) if frame[name].nunique() > FEW_VALUES]


def numeric(frame: pd.DataFrame) -> pd.DataFrame:
    """Times, events, numbers and a column of 0 and 1 for each level of a factor but its first."""
    return pd.get_dummies(frame, columns=factors(frame), drop_first=True, dtype=float)


PROBLEMS = (
    Problem("veteran"),
    Problem("cancer", "fac_inst num_meal_cal"),
    Problem("e1684"),
    Problem("Melanoma"),
    Problem("pharmacoSmoking", "fac_ageGroup2 fac_ageGroup4"),
    Problem("stagec"),
    Problem("d.oropha.rec", "fac_inst"),
    Problem("rossi", library="lifelines"),
    Problem("Pbc3", "fac_unit"),
    Problem("prostate", "num_sdate"),
    Problem("whas500", "num_week fac_year"),
    Problem("follic", "fac_rt"),
    Problem("uis"),
    Problem("cost"),
    Problem("GBSG2"),
    Problem("colon", "fac_node4"),
    Problem("LeukSurv", "fac_district"),
    Problem("grace"),
    Problem("rdata", "fac_agegr"),
    Problem("actg", "fac_tx"),
    Problem("TRACE"),
    Problem("dataDIVAT2"),
    Problem("Aids2"),
    Problem("rott2"),
    Problem("UnempDur"),
    Problem("nwtco", "fac_in_subcohort"),
    Problem("Framingham", "fac_month"),
    Problem("flchain", "fac_chapter num_flc_grp num_sample_yr"),
)
