"""What some rows of a data frame have in common."""

from __future__ import annotations

from numbers import Real
from typing import Any

import pandas as pd

from tobitgp.typing import BoolArray

_MOST = 3


def in_common(frame: pd.DataFrame, rows: BoolArray) -> str | None:
    """Words for the values of one column that these rows have and no others.

    Shapes: rows (n,).
    """
    if not rows.any():
        return None
    for name in frame.columns:
        inside = frame.loc[rows, name].drop_duplicates().tolist()
        if len(inside) > _MOST or frame.loc[~rows, name].isin(inside).any():
            continue
        if isinstance(frame[name].dtype, pd.CategoricalDtype) or isinstance(inside[0], str):
            return f"of level{'s' * (len(inside) > 1)} {', '.join(map(repr, inside))} of {name!r}"
        if len(inside) < int(rows.sum()):
            return f"with {name!r} = {' or '.join(map(_shown, inside))}"
    return None


def _shown(value: Any) -> str:
    return f"{value:g}" if isinstance(value, Real) else str(value)
