"""A small table with a little of everything, whose columns are spoilt one at a time."""

import numpy as np
import pandas as pd
import pytest

CURVE = "y ~ gp(x) | censor(l)"
LINE = "y ~ x + z | censor(l)"
REGRESSION_AND_PROCESS = pytest.mark.parametrize("formula", [LINE, CURVE])


def rows(n=30, **columns):
    """A frame with a little of everything; ``columns`` replace or add."""
    rng = np.random.default_rng(5)
    x, z = rng.uniform(0, 3, n), rng.normal(size=n)
    y = np.sin(2 * x) + 0.3 * z + 0.2 * rng.normal(size=n)
    frame = pd.DataFrame({"x": x, "z": z, "y": np.maximum(y, -0.3), "l": -0.3, "u": 5.0, "g": list("abc") * (n // 3)})
    frame = frame.assign(time=np.exp(y), event=rng.integers(0, 2, n), lo=y, hi=y + 0.5)
    return frame.assign(**columns)


def column(name, **values):
    """The column ``name`` of `rows`, with some rows replaced: ``r3=np.nan`` is row 3."""
    out = rows()[name].astype(object if any(isinstance(v, str) for v in values.values()) else float)
    for row, value in values.items():
        out[int(row[1:])] = value
    return out


def columns(**replaced):
    """The columns of `rows` as arrays that may differ in length or shape."""
    return {name: values.to_numpy() for name, values in rows().items()} | replaced
