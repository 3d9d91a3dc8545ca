"""Predictions of dask DataFrames are lazy, and those of their partitions."""

import numpy as np
import pandas as pd
import pytest
from pandas.testing import assert_frame_equal, assert_series_equal

import tobitgp as tg
from tobitgp.errors import DataError, SpecError

pytestmark = pytest.mark.diagonal

dd = pytest.importorskip("dask.dataframe")


@pytest.fixture(scope="module")
def frame():
    rng, n = np.random.default_rng(2), 40
    x, g = np.sort(rng.uniform(0, 6, n)), rng.choice(list("ab"), n)
    y = np.maximum(np.sin(x) + 0.3 * rng.normal(size=n), -0.3)
    return pd.DataFrame({"x": x, "g": g, "y": y, "low": -0.3}, index=[f"r{i:02d}" for i in range(n)])


@pytest.fixture(scope="module", params=["y ~ g + gp(x) | censor(low)", "y ~ g + x | censor(low)"])
def fit(request, frame):
    return tg.fit(request.param, frame)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"se": True},
        {"what": "observed", "interval": 0.9},
        {"what": "quantile", "q": [0.1, 0.5]},
        {"what": "prob", "below": 0.0},
        {"what": "conditional"},
        {"what": "terms", "se": True},
    ],
)
def test_partitions_are_predicted_when_asked_for(fit, frame, options):
    new = frame.assign(x=frame["x"].where(frame["x"] > 1.0))
    lazy = fit.predict(dd.from_pandas(new, npartitions=3), **options)
    assert lazy.npartitions == 3
    got, want = lazy.compute(scheduler="synchronous"), fit.predict(new, **options)
    got.index = got.index.astype(want.index.dtype)
    check = assert_series_equal if isinstance(want, pd.Series) else assert_frame_equal
    check(got, want, check_column_type=False) if isinstance(want, pd.DataFrame) else check(got, want)


def test_what_is_wrong_is_said_at_once(fit, frame):
    new = dd.from_pandas(frame, npartitions=2)
    with pytest.raises(SpecError, match="what="):
        fit.predict(new, "nothing")
    with pytest.raises(DataError, match="lack the column 'x'"):
        fit.predict(new.drop(columns="x"))


def test_components_of_vectors_are_lazy():
    data = tg.datasets.simulate_vectors(1)
    res = tg.fit("mvbind(y1, y2) ~ mixture(2) | censor(y1=limit1, y2=limit2)", data)
    found = res.predict(dd.from_pandas(data.head(20), npartitions=2), "component")
    assert_frame_equal(found.compute(), res.predict(data.head(20), "component"), check_column_type=False)
