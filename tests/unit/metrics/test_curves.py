import numpy as np
import pandas as pd
import pytest
from lifelines import CoxPHFitter, KaplanMeierFitter
from scipy.stats import weibull_min

import tobitgp as tg
from tobitgp.errors import DataError, SpecError
from tobitgp.metrics import (
    brier_score,
    calibration_slope,
    cumulative_dynamic_auc,
    integrated_brier_score,
    survival_at,
)
from tobitgp.metrics.survival_curves import read_curves

FRAME = pd.DataFrame({"a": [0.9, 0.5], "b": [0.8, 0.7]}, index=[1.0, 3.0])


def test_values_at_times_of_the_frame_are_its_own(rng):
    frame = pd.DataFrame(-np.sort(-rng.random((20, 7)), axis=0), index=np.sort(rng.exponential(1.0, 20)))
    for kind in ("linear", "step"):
        found = read_curves(frame, 7, kind).at(frame.index.to_numpy(), slice(None), "time")
        assert np.array_equal(found, frame.to_numpy())


def test_between_times_linear_is_closer_for_smooth_curves_and_steps_are_exact_for_steps(rng):
    distribution, times = weibull_min(1.5, scale=10.0), np.linspace(1.0, 30.0, 15)
    smooth = pd.DataFrame({0: distribution.sf(times)}, index=times)
    own = rng.uniform(0.0, 30.0, 200)
    linear, step = (
        read_curves(smooth, 1, kind).at(own, slice(None), "time")[:, 0] - distribution.sf(own)
        for kind in ("linear", "step")
    )
    assert np.abs(linear).max() < 0.03 < 0.1 < np.abs(step).max()
    fitter = KaplanMeierFitter().fit(np.ceil(own))
    steps = read_curves(fitter.survival_function_, 1, "step").at(own, slice(None), "time")[:, 0]
    np.testing.assert_allclose(steps, fitter.survival_function_at_times(own), atol=1e-12)


def test_curves_of_lifelines_are_read_at_each_rows_own_time():
    rossi = tg.datasets.load("rossi")[["week", "event", "age", "prio"]]
    cox = CoxPHFitter().fit(rossi, "week", "event")
    frame = cox.predict_survival_function(rossi)
    want = [frame.loc[week, row] for row, week in rossi["week"].items()]
    assert survival_at(frame, rossi["week"]).tolist() == want


def test_a_curve_begins_at_one_and_ends_with_the_frame():
    found = survival_at(FRAME, [0.5, 0.0])
    np.testing.assert_allclose(found, [0.95, 1.0])
    assert survival_at(FRAME, [0.5, 2.9], interpolation="step").tolist() == [1.0, 0.8]
    with pytest.raises(DataError, match=r"Time 3\.1 is outside the times 0 to 3 of survival_frame"):
        survival_at(FRAME, [1.0, 3.1])


def test_the_order_of_times_is_that_of_the_index_and_bands_are_passed_over():
    assert survival_at(FRAME.iloc[::-1], [2.0, 2.0]).tolist() == survival_at(FRAME, [2.0, 2.0]).tolist()
    bands = pd.concat({name: FRAME + shift for name, shift in [("mean", 0.0), ("lower", -0.1)]}, axis=1).swaplevel(
        axis=1
    )
    assert survival_at(bands, [2.0, 2.0]).tolist() == survival_at(FRAME, [2.0, 2.0]).tolist()


def test_ends_of_intervals_may_be_open():
    assert survival_at(FRAME, [-np.inf, np.inf]).tolist() == [1.0, 0.0]


def test_columns_in_another_order_than_the_rows_are_refused():
    with pytest.raises(DataError, match="time and the columns of survival_frame hold the same row labels"):
        survival_at(FRAME, pd.Series([1.0, 2.0], index=["b", "a"]))


def test_one_time_is_enough():
    assert survival_at(pd.DataFrame({0: [1.0]}, index=[0.0]), [0.0]).tolist() == [1.0]


@pytest.mark.parametrize(
    ("frame", "error", "message"),
    [
        (FRAME.to_numpy(), SpecError, "must be a DataFrame with times in the index .* not ndarray"),
        (FRAME.set_axis(["x", "y"]), DataError, "The index of survival_frame holds 'x': values must be numbers"),
        (FRAME.set_axis([1.0, np.nan]), DataError, "The index of survival_frame is missing in row 1"),
        (FRAME.set_axis([1.0, 1.0]), DataError, "The index of survival_frame holds 1 more than once"),
        (FRAME.set_axis([-1.0, 1.0]), DataError, "The index of survival_frame holds -1: times must be 0 or more"),
        (FRAME + 1.0, DataError, "survival_frame= holds 1.9 at time 1.0 in column 'a': values must be probabilities"),
        (
            1.0 - FRAME,
            DataError,
            r"rises at time 3 in column 'a' and 1 more\. Survival must not rise.*not the incidence",
        ),
        (FRAME.assign(b=[0.8, 0.81]), DataError, r"rises at time 3 in column 'b'\. Survival"),
        (FRAME[::-1].assign(b=[0.81, 0.8]), DataError, r"rises at time 3 in column 'b'\. Survival"),
        (
            FRAME * np.nan,
            DataError,
            "survival_frame= holds nan at time 1.0 in column 'a': values must be probabilities",
        ),
        (FRAME.astype(str) + "x", DataError, "survival_frame= must contain numbers"),
        (FRAME[["a"]], DataError, "time has 2 rows, but must have 1"),
    ],
)
def test_bad_frames_are_named(frame, error, message):
    with pytest.raises(error, match=message):
        survival_at(frame, [2.0, 2.0])


def test_incidences_in_the_place_of_survival_are_refused_by_every_metric():
    rows = ([1.0, 2.0, 2.5, 4.0], [1, 1, 0, 0])
    S = pd.DataFrame({name: [0.9, 0.8 - 0.1 * k, 0.4] for k, name in enumerate("abcd")}, index=[1.0, 2.0, 3.0])
    asked = {
        "brier": lambda S: brier_score(rows, rows, S),
        "integrated": lambda S: integrated_brier_score(rows, rows, S),
        "area": lambda S: cumulative_dynamic_auc(rows, rows, S),
        "slope": lambda S: calibration_slope(([1.0, 2.0, 2.5, 3.0], rows[1]), S, 2.5),
        "at": lambda S: survival_at(S, [2.0] * 4),
    }
    late = S.assign(c=[0.9, 0.5, 0.5 + 1e-3])
    for ask in asked.values():
        ask(S.assign(c=[0.9, 0.4 - 1e-9, 0.4]))  # rounding
        for wrong, words in ((1.0 - S, "at time 2 in column 'a' and 3 more"), (late, "at time 3 in column 'c'")):
            with pytest.raises(DataError, match=f"survival_frame= rises {words}"):
                ask(wrong)


def test_an_unknown_interpolation_is_refused():
    with pytest.raises(SpecError, match=r'interpolation=.cubic.: must be "linear" or "step"'):
        survival_at(FRAME, [2.0, 2.0], interpolation="cubic")
