"""How often ``check`` flags right models, and finds what is wrong: ``docs/trust/diagnostics.csv``."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmarks.diagnostics import CASES, flagged

TABLE = pd.read_csv(Path(__file__).parents[2] / "docs" / "trust" / "diagnostics.csv", keep_default_na=False)
FAST = [case for case in CASES if case.kind == "regression" or case.wrong == "spread"]
SETS = 20


def test_the_table_has_every_case_and_says_what_check_is_held_to():
    told = TABLE[["kind", "truth", "model", "wrong"]].itertuples(index=False, name=None)
    assert list(told) == [(case.kind, case.truth, case.model, case.wrong) for case in CASES]
    right = TABLE[TABLE["wrong"] == ""]
    assert np.average(right["any"], weights=right["sets"]) < 0.05
    assert (TABLE.loc[TABLE["wrong"] == "spread", "spread"] > 0.9).all()


@pytest.mark.study
@pytest.mark.parametrize("case", FAST, ids=lambda case: f"{case.kind}: {case.truth}")
def test_shares_are_found_again(case):
    """On other data sets, within what so many and those of the table may differ by."""
    (row,) = TABLE[(TABLE["kind"] == case.kind) & (TABLE["truth"] == case.truth)].to_dict("records")
    asked = case.wrong or "any"
    found = np.mean([flagged(case, seed)[asked] for seed in range(1000, 1000 + SETS)])
    share = np.clip(row[asked], 0.02, 0.98)
    assert abs(found - row[asked]) < 3.5 * np.sqrt(share * (1.0 - share) * (1.0 / SETS + 1.0 / row["sets"]))
