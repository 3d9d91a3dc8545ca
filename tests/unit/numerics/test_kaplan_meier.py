import numpy as np
from lifelines import KaplanMeierFitter

from tobitgp.numerics.nonparametric import kaplan_meier, risk_sets


def test_it_is_that_of_lifelines(rng):
    time = np.ceil(rng.exponential(10.0, 200))
    seen = rng.random(200) < 0.6
    weight = rng.integers(1, 4, 200).astype(float)
    times, survival = kaplan_meier(time, seen, weight)
    fitter = KaplanMeierFitter().fit(time, seen, weights=weight)
    np.testing.assert_allclose(survival, fitter.survival_function_at_times(times), rtol=1e-12)
    assert np.array_equal(times, np.unique(time))


def test_late_rows_are_at_risk_from_their_entry_on(rng):
    entry = np.round(rng.exponential(5.0, 200))
    time = entry + np.ceil(rng.exponential(10.0, 200))
    seen, weight = rng.random(200) < 0.6, rng.integers(1, 4, 200).astype(float)
    times, survival = kaplan_meier(time, seen, weight, entry)
    fitter = KaplanMeierFitter().fit(time, seen, weights=weight, entry=entry)
    np.testing.assert_allclose(survival, fitter.survival_function_at_times(times), rtol=1e-10)
    theirs = fitter.confidence_interval_.loc[times].to_numpy().T
    inside = (survival > 0.0) & (survival < 1.0)
    np.testing.assert_allclose(
        np.array(risk_sets(time, seen, weight, entry).interval())[:, inside], theirs[:, inside], rtol=1e-8
    )


def test_events_come_before_censoring_at_the_same_time():
    times, survival = kaplan_meier(np.array([1.0, 1.0]), np.array([True, False]), np.ones(2))
    assert (times.tolist(), survival.tolist()) == ([1.0], [0.5])
