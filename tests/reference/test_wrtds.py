"""WRTDS' local regression, which flow-normalised trends are compared with: nine points of EGRET 3.0.12."""

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks.wrtds import as_samples, fit_at

HERE = Path(__file__).parent
POINTS = json.loads((HERE / "nondetects.json").read_text())["cases"]["choptank_wrtds_points"]
DATA = json.loads((HERE / "nondetect_data.json").read_text())["choptank_nitrate"]


@pytest.fixture(scope="module")
def samples():
    low = np.array(DATA["conc_low"], dtype=float)
    return as_samples(DATA["dec_year"], DATA["log_q"], low, DATA["conc_high"])


@pytest.mark.slow
@pytest.mark.parametrize("k", range(9))
def test_points_of_the_local_regression(samples, k):
    at = POINTS["points"][k]
    edge = fit_at(samples, at["DecYear"], at["LogQ"])
    assert edge.location == pytest.approx(POINTS["yhat"][k], abs=1e-9)
    assert edge.scale == pytest.approx(POINTS["se"][k], abs=1e-8)
    assert edge.mean == pytest.approx(POINTS["conc"][k], abs=1e-8)
    plain = fit_at(samples, at["DecYear"], at["LogQ"], edge=False)
    assert plain.location == pytest.approx(POINTS["yhat_no_edge"][k], abs=1e-9)
    assert plain.scale == pytest.approx(POINTS["se_no_edge"][k], abs=1e-8)
