"""The lines of the pictures carry the estimates they are said to carry."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lifelines import KaplanMeierFitter, NelsonAalenFitter
from support.reference import load
from support.survival import bounds

import tobitgp as tg
from tobitgp.diagnostics.calibration_figures import predicted_survival
from tobitgp.diagnostics.residual_tests import PredictedSurvival
from tobitgp.numerics.nonparametric import turnbull
from tobitgp.report.residual_figures import (
    distribution,
    plot_calibration,
    plot_calibration_at,
    plot_cox_snell,
    plot_predictive_check,
)


@pytest.mark.slow
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(2, 40))
def test_right_censored_rows_step_as_lifelines_says(seed, n):
    rng = np.random.default_rng(seed)
    time, event = rng.integers(1, 9, n).astype(float), rng.random(n) < 0.6
    weight = rng.integers(1, 4, n).astype(float)
    seen = distribution(time, np.where(event, time, np.inf), weight)
    fitter = KaplanMeierFitter().fit(time, event, weights=weight)
    for t in np.unique(time):
        after = seen.below[seen.x <= t][-1]
        np.testing.assert_allclose(1.0 - after, fitter.predict(t), atol=1e-12)
    assert (np.diff(seen.below) >= 0.0).all()
    assert (np.diff(seen.x) >= 0.0).all()


@pytest.mark.slow
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(2, 25))
def test_other_rows_rise_where_turnbull_puts_mass(seed, n):
    rng = np.random.default_rng(seed)
    lower, upper = bounds(rng, n)
    lower[0], upper[0] = -np.inf, 3.0
    seen, found = distribution(lower, upper, np.ones(n)), turnbull(lower, upper, np.ones(n), tol=1e-6)
    assert np.array_equal(seen.x, np.column_stack([found.left, found.right]).ravel())
    np.testing.assert_allclose(np.diff(seen.below)[::2], found.mass, atol=1e-9)
    np.testing.assert_allclose(np.diff(seen.below)[1::2], 0.0, atol=1e-12)
    assert abs(seen.below[-1] - 1.0) < 1e-9


def test_windows_of_thirty_days_have_the_distribution_of_r():
    lung = tg.datasets.load("lung").dropna(subset=["age", "sex", "ph_ecog"])
    end, seen = 30.0 * np.ceil(lung["time"].to_numpy() / 30.0), lung["event"].to_numpy() == 1
    begin = np.where(end == 30.0, -np.inf, end - 30.0)
    found = distribution(np.where(seen, begin, lung["time"]), np.where(seen, end, np.inf), np.ones(len(lung)))
    want = load("lung_interval.json")["turnbull"]
    after = [1.0 - found.below[found.x <= t][-1] for t in want["times"]]
    np.testing.assert_allclose(after, want["surv"], atol=1e-4)


def line(ax, label):
    (found,) = [one for one in ax.lines if one.get_label() == label]
    return found.get_xdata(), found.get_ydata()


@pytest.fixture(scope="module")
def weibull():
    return tg.fit("Surv(time, event) ~ age + sex", tg.datasets.load("lung"), family="weibull")


def test_calibration_draws_kaplan_and_meiers_estimate_of_predicted_probabilities(weibull):
    ends, event = predicted_survival(weibull), tg.datasets.load("lung")["event"].to_numpy() == 1
    x, y = line(weibull.plot_calibration(), "Kaplan-Meier")
    u = -np.expm1(ends.lower)
    fitter = KaplanMeierFitter().fit(u, event)
    np.testing.assert_allclose(1.0 - y[1::2], fitter.predict(x[1::2]).to_numpy(), atol=1e-9)
    assert np.abs(y - x).max() < 0.08


def test_cox_snell_draws_a_cumulative_hazard_near_the_diagonal(weibull):
    lung = tg.datasets.load("lung")
    ax = weibull.plot_cox_snell()
    x, y = line(ax, "Kaplan-Meier")
    residual = weibull.residuals("cox_snell").to_numpy()
    fitter = NelsonAalenFitter(nelson_aalen_smoothing=False).fit(residual, lung["event"])
    early = x < np.quantile(residual, 0.8)
    np.testing.assert_allclose(y[early], fitter.predict(x[early]), atol=0.03)
    assert set(np.round(x, 9)) <= set(np.round(residual, 9))
    assert ax.get_xlim() == ax.get_ylim()


def test_a_row_beyond_all_predictions_has_a_finite_place():
    """Its residual is above 709, of which no exponential is a number."""
    y = np.linspace(0.5, 2.0, 30)
    res = tg.fit("y ~ 1", {"y": np.append(y, 40.0)}, fixed={"Intercept": 1.2, "sigma": 0.8}, method="mle")
    assert res.residuals("cox_snell").max() > 709.0
    assert np.isfinite(res.plot_cox_snell().collections[0].get_paths()[0].vertices).all()


def test_a_wrong_family_leaves_the_band():
    rng = np.random.default_rng(0)
    y = np.exp(rng.standard_normal(400))
    right, wrong = (tg.fit("y ~ 1", {"y": y}, family=family, method="mle") for family in ("lognormal", "exponential"))
    for name in ("plot_calibration", "plot_cox_snell"):
        outside = []
        for res in (right, wrong):
            ax = getattr(res, name)()
            x, seen = line(ax, "seen")
            (low, high) = np.split(ax.collections[0].get_paths()[0].vertices[1:-2], 2)
            high = high[::-1]
            inside = (np.interp(x, low[:, 0], low[:, 1]) <= seen) & (seen <= np.interp(x, high[:, 0], high[:, 1]))
            outside.append(1.0 - inside[x < np.quantile(x, 0.95)].mean())
        assert outside[0] < 0.1 < 0.2 < outside[1]


def test_rows_censored_on_all_sides_are_drawn():
    lower = np.log([1.0, 0.9, 0.5, 0.7, 0.3, 0.3])
    upper = np.append(np.log([0.6, 0.4, 0.5, 0.2, 0.3]), -np.inf)
    for plot in (plot_calibration, plot_cox_snell):
        x, y = line(plot(PredictedSurvival(lower, upper, np.ones(6))), "Turnbull")
        assert np.isfinite(x).all()
        assert np.isfinite(y).all()
        assert len(x)


def test_many_rows_are_thinned(monkeypatch):
    from tobitgp.report import residual_figures

    monkeypatch.setattr(residual_figures, "_ROWS", 50)
    ends = np.log(np.random.default_rng(1).random(400))
    x, _ = line(plot_calibration(PredictedSurvival(ends, ends, np.ones(400))), "seen")
    assert len(np.unique(x)) == 50
    assert np.isin(np.round(np.log1p(-x), 9), np.round(ends, 9)).all()


def test_groups_hold_mean_predictions_and_kaplan_and_meiers_intervals():
    rng = np.random.default_rng(3)
    n, t = 95, 4.0
    survival = rng.random(n)
    time, event = np.ceil(8.0 * rng.random(n)), rng.random(n) < 0.7
    weight = rng.integers(1, 3, n).astype(float)
    ax = plot_calibration_at(t, survival, (time, event, weight, np.full(n, -np.inf)))
    (bars,) = ax.containers
    x, y = bars.lines[0].get_data()
    ends = np.array([part for part in bars.lines[2][0].get_segments()])[:, :, 1]
    # Tenths of the rows, each repeated by its weight; a row goes where its middle does.
    order = np.argsort(-survival, kind="stable")
    middle = [weight[order[:k]].sum() + 0.5 * weight[order[k]] for k in range(n)]
    groups = [
        order[np.searchsorted(np.arange(1, 10) / 10 * weight.sum(), middle, side="right") == k] for k in range(10)
    ]
    assert len(x) == 10
    for k, at in enumerate(groups):
        fitter = KaplanMeierFitter().fit(time[at], event[at], weights=weight[at])
        assert x[k] == pytest.approx(1.0 - np.average(survival[at], weights=weight[at]))
        assert y[k] == pytest.approx(1.0 - fitter.predict(t))
        interval = fitter.confidence_interval_.loc[:t].iloc[-1].to_numpy()
        np.testing.assert_allclose(np.sort(1.0 - ends[k]), interval, atol=1e-9)


def test_groups_without_events_are_points():
    time, event = np.full(20, 9.0), np.zeros(20, dtype=bool)
    ax = plot_calibration_at(4.0, np.linspace(0.1, 0.9, 20), (time, event, np.ones(20), np.full(20, -np.inf)))
    assert ax.containers[0].lines[0].get_ydata().tolist() == [0.0, 0.0]


def test_replicates_are_drawn_by_their_weighted_shares():
    rng = np.random.default_rng(4)
    y = rng.normal(size=60)
    lower, upper = y, np.where(np.arange(60) % 4 == 0, np.inf, y)
    weight, replicates = rng.integers(1, 4, 60).astype(float), rng.normal(size=(60, 3))
    ax = plot_predictive_check((lower, upper, weight), replicates, "dose")
    seen, *drawn = ax.lines
    np.testing.assert_array_equal(seen.get_ydata(), distribution(lower, upper, weight).below)
    assert len(drawn) == 3
    for one, values in zip(drawn, replicates.T, strict=True):
        x, below = one.get_data()
        np.testing.assert_allclose(below, [weight[values <= t].sum() / weight.sum() for t in x], atol=1e-12)
    assert ax.get_xlabel() == "dose"
    assert ax.get_xscale() == "linear"


def test_far_reaching_values_are_drawn_in_the_logarithm():
    y = np.geomspace(0.01, 100.0, 50)
    ax = plot_predictive_check((y, y, np.ones(50)), np.column_stack([y, y]), "dose")
    assert ax.get_xscale() == "log"
    assert ax.get_xlim()[0] > 0.0
