"""Kaplan and Meier's estimate in a group of rows at one time."""

import numpy as np
import pytest
from lifelines import KaplanMeierFitter

from tobitgp.report.residual_figures import _event_by


@pytest.mark.parametrize("time", [0.05, 1.0, 3.0, 40.0])
def test_it_is_lifelines_with_ties_and_weights(time):
    rng = np.random.default_rng(4)
    y, event = rng.exponential(4.0, 150).round(1) + 0.1, rng.random(150) < 0.6
    weight = rng.integers(1, 4, 150).astype(float)
    fitted = KaplanMeierFitter().fit(y, event, weights=weight)
    ends = fitted.confidence_interval_survival_function_
    upper, lower = 1.0 - ends[ends.index <= time].iloc[-1].to_numpy()
    found = _event_by(time, (y, event, weight), np.arange(150))
    wanted = (1.0 - fitted.predict(time), *(np.clip([lower, upper], 0.0, 1.0) if time > 0.1 else (0.0, 0.0)))
    np.testing.assert_allclose(found, wanted, atol=1e-12)
