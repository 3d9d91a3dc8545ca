"""WRTDS' local regression, which flow-normalised trends are compared with: nine points of EGRET 3.0.12."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmarks.wrtds import as_samples, fit_at

HERE = Path(__file__).parent
RIVER = HERE.parents[1] / "vignettes" / "river-trends"
CASES = json.loads((HERE / "nondetects.json").read_text())["cases"]
POINTS, ANNUAL = CASES["choptank_wrtds_points"], CASES["choptank_flow_normalised"]
DATA = json.loads((HERE / "nondetect_data.json").read_text())["choptank_nitrate"]


@pytest.fixture(scope="module")
def samples():
    low = np.array(DATA["conc_low"], dtype=float)
    return as_samples(DATA["dec_year"], DATA["log_q"], low, DATA["conc_high"])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:weights=")  # local weights, whose standard errors are not used
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


def test_recorded_trends_are_near_those_of_egret():
    """Another model: within 6% in every year that is not at the ends, and 15% of the change."""
    ours = pd.read_csv(RIVER / "annual.csv", index_col="water_year")
    egret = pd.Series(ANNUAL["fn_conc"], index=ANNUAL["year"])
    apart = (ours["flow_normalised"] / egret - 1).loc[1982:2009]
    assert apart.abs().max() < 0.06
    changes = [series[2010] - series[1985] for series in (ours["flow_normalised"], egret)]
    assert abs(changes[0] / changes[1] - 1) < 0.15
    np.testing.assert_allclose(ours["discharge"], ANNUAL["discharge"], rtol=1e-4)


def test_samples_that_were_left_out_are_predicted_better_than_by_wrtds():
    held = pd.read_csv(RIVER / "held_out.csv", index_col="row")
    assert len(held) == 606
    assert (held[["slow", "slow and serial"]].sum() > held["wrtds"].sum()).all()
    rest = held.drop(held["wrtds"].nsmallest(3).index).sum()
    assert rest["slow"] > rest["wrtds"]
