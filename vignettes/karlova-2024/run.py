"""Compute the long tables of this page: `python vignettes/karlova-2024/run.py [table1 objectives gbsg credit]`.

About six minutes of one core; seeds are fixed. GBSG and the credit data arrive by `tobitgp.datasets.fetch`.
"""

from __future__ import annotations

import sys
from pathlib import Path

import printed
import survival
import synthetic

sys.path.insert(0, str(Path(__file__).parents[1]))

from papers import write  # in the folder above

TABLES = {
    "table1": lambda: synthetic.table({"[0, 2]": 15, "[0, 1]": 8}, {"[0, 2]": 5, "[0, 1]": 0}),
    "objectives": lambda: printed.table(4),
    "gbsg": survival.gbsg,
    "credit": lambda: survival.credit(4),
}

if __name__ == "__main__":
    write(TABLES, __file__, __doc__)
