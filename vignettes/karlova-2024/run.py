"""Compute every long table of this page: `python vignettes/karlova-2024/run.py [table1 objectives gbsg credit]`.

About five minutes of one core; seeds are fixed. GBSG and the credit data arrive by `tobitgp.datasets.fetch`.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import pandas as pd
import printed
import survival
import synthetic

HERE = Path(__file__).parent
TABLES = {
    "table1": lambda: synthetic.table({"[0, 2]": 15, "[0, 1]": 8}, {"[0, 2]": 5, "[0, 1]": 0}),
    "objectives": lambda: printed.table(4),
    "gbsg": survival.gbsg,
    "credit": lambda: survival.credit(4),
}


def main(names: list[str]) -> None:
    """Write one CSV file for each table named, or for all."""
    warnings.simplefilter("ignore")  # of closed forms that bound nothing, and of fits that end at an edge: the point
    for name in names or TABLES:
        pd.DataFrame(TABLES[name]()).to_csv(HERE / f"{name}.csv", index=False, float_format="%.6g")
        print(f"{name}.csv written")


if __name__ == "__main__":
    main(sys.argv[1:])
