"""Probability plots: their points by definition, their lines against lifelines, and what is refused."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from lifelines import LogNormalFitter, WeibullFitter
from scipy.special import expit, logit
from scipy.stats import gumbel_l, logistic, norm
from support.nondetects import cases as nondetect_cases
from support.nondetects import frame

import tobitgp as tg
from tobitgp.errors import DataError, SpecError
from tobitgp.survival import plot_probability

QUANTILES = {
    "weibull": gumbel_l.ppf,
    "exponential": gumbel_l.ppf,
    "lognormal": norm.ppf,
    "loglogistic": logistic.ppf,
    "gaussian": norm.ppf,
    "logistic": logistic.ppf,
    "gumbel": gumbel_l.ppf,
}


@pytest.fixture(scope="module")
def lung():
    return tg.datasets.load("lung")


@pytest.fixture(autouse=True)
def _no_figures():
    yield
    plt.close("all")


def drawn(ax):
    """Lines and points, in the order of the groups."""
    return ax.lines[::2], ax.lines[1::2]


@pytest.mark.parametrize("family", QUANTILES)
def test_points_are_means_of_the_kaplan_meier_estimates_around_events(lung, family):
    ax = plot_probability("Surv(time, event) ~ 1", lung, family)
    survival, times, heights = 1.0, [], []
    for t in np.unique(lung["time"][lung["event"] == 1]):
        d = ((lung["time"] == t) & (lung["event"] == 1)).sum()
        after = survival * (1.0 - d / (lung["time"] >= t).sum())
        times.append(t)
        heights.append(1.0 - 0.5 * (survival + after))
        survival = after
    _, (points,) = drawn(ax)
    np.testing.assert_array_equal(points.get_xdata(), times)
    np.testing.assert_allclose(points.get_ydata(), QUANTILES[family](heights), rtol=1e-9)
    labels = [float(label.get_text()) / 100.0 for label in ax.get_yticklabels()]
    np.testing.assert_allclose(ax.get_yticks(), QUANTILES[family](labels), rtol=1e-9)
    assert ax.get_xscale() == ("log" if family in [*QUANTILES][:4] else "linear")


def test_lines_and_bands_of_groups_are_those_of_lifelines(lung):
    """Lines are straight in the logarithm of time. Bands are those of survival by the delta method in its logit."""
    ax = plot_probability("Surv(time, event) ~ sex", lung, interval=0.9)
    lines, _ = drawn(ax)
    _, labels = ax.get_legend_handles_labels()
    for sex, line, label, band in zip((1, 2), lines, labels, ax.collections, strict=True):
        rows = lung[lung["sex"] == sex]
        fitter = WeibullFitter().fit(rows["time"], rows["event"])
        x = line.get_xdata()
        want = fitter.rho_ * (np.log(x) - np.log(fitter.lambda_))
        np.testing.assert_allclose(line.get_ydata(), want, atol=1e-3)
        assert label == f"{sex}: shape {fitter.rho_:.3g}, scale {fitter.lambda_:.4g}"
        cov = tg.fit("Surv(time, event) ~ 1", rows, family="weibull").cov_params().to_numpy()
        slope = np.array([-fitter.rho_ * np.ones_like(x), -want * fitter.rho_])  # of z in the location and sigma
        survival = np.exp(-np.exp(want))
        reach = (
            1.6448536269514722 * np.sqrt(np.einsum("it,ij,jt->t", slope, cov, slope)) * np.exp(want) / (1 - survival)
        )
        ends = [np.log(-np.log(expit(logit(survival) + sign * reach))) for sign in (1, -1)]
        low, high = band.get_paths()[0].get_extents().get_points()[:, 1]
        assert (low, high) == pytest.approx((ends[0].min(), ends[1].max()), rel=2e-3)
    assert ax.get_legend().get_title().get_text() == "sex"


def test_nondetects_by_turnbull_with_the_line_of_r():
    """Points at detects of the left-censored sample; the line has the estimates of R's ``NADA::cenmle``."""
    rows, known = frame("she_pyrene"), nondetect_cases()["pyrene_summary"]["mle"]
    ax = plot_probability("pyrene ~ 1 | censor(nondetect=censored)", rows, "lognormal")
    (line,), (points,) = drawn(ax)
    slope, intercept = np.polyfit(np.log(line.get_xdata()), line.get_ydata(), 1)
    assert (-intercept / slope, 1.0 / slope) == pytest.approx((known["meanlog"], known["sdlog"]), rel=1e-4)
    detects = np.unique(rows["pyrene"][rows["censored"] == 0])
    assert points.get_xdata()[0] == rows["pyrene"].min()  # a limit, below which there is some probability
    x, cdf = points.get_xdata()[1:], norm.cdf(points.get_ydata()[1:])
    assert set(x) <= set(detects)
    below = rows["censored"].to_numpy() == 1
    y = rows["pyrene"] + 1e-6 * below  # a detect at a limit lies in the interval up to the limit
    share, at = 1.0, {}
    for t in detects[::-1]:  # Kaplan and Meier of flipped values
        n = (y <= t).sum()
        less = share * (1.0 - ((y == t) & ~below).sum() / n)
        at[t], share = 0.5 * (share + less), less
    np.testing.assert_allclose(cdf, [at[t] for t in x], atol=1e-6)


def test_intervals_are_drawn_at_their_right_ends(lung):
    rows = lung.assign(lo=np.floor(lung["time"] / 90) * 90)
    rows["hi"] = (rows["lo"] + 90).where(rows["event"] == 1, np.inf)
    _, (points,) = drawn(plot_probability("interval(lo, hi) ~ 1", rows, "lognormal"))
    curve = tg.survival.turnbull("interval(lo, hi) ~ 1", rows)["survival"]
    right = curve.index.get_level_values("right")
    for x, z in zip(points.get_xdata(), points.get_ydata(), strict=True):
        assert norm.sf(z) == pytest.approx(curve[right == x].iloc[0], abs=1e-9)
    assert len(points.get_xdata()) >= 8


def test_frequency_weights_and_given_axes(lung):
    _, ax = plt.subplots()
    rows = lung.assign(w=1 + lung.index % 3)
    assert plot_probability("Surv(time, event) ~ 1", rows, "lognormal", weights="w", ax=ax) is ax
    repeated = rows.loc[rows.index.repeat(rows["w"])]
    fitter = LogNormalFitter().fit(repeated["time"], repeated["event"])
    (line,), (points,) = drawn(ax)
    want = (np.log(line.get_xdata()) - fitter.mu_) / fitter.sigma_
    np.testing.assert_allclose(line.get_ydata(), want, atol=1e-3)
    _, (other,) = drawn(plot_probability("Surv(time, event) ~ 1", repeated, "lognormal", interval=None))
    np.testing.assert_allclose(points.get_xydata(), other.get_xydata(), rtol=1e-9)


@pytest.mark.parametrize(
    ("formula", "given", "error", "words"),
    [
        ("Surv(time, event) ~ 1", {"family": "gengamma"}, SpecError, "family='gengamma'"),
        ("Surv(time, event) ~ age", {}, SpecError, "has 42 groups"),
        ("Surv(time, event) ~ lone", {}, DataError, "'a' has fewer than two distinct points"),
        ("Surv(time, event) ~ sex", {"interval": 95}, SpecError, "interval=95"),
    ],
)
def test_what_is_not_drawn(lung, formula, given, error, words):
    with pytest.raises(error, match=words):
        plot_probability(formula, lung.assign(lone=np.where(lung.index == 0, "a", "b")), **given)
    assert plt.get_fignums() == []


def test_names_of_groups_are_text(lung):
    ax = plot_probability(
        "Surv(time, event) ~ g", lung.assign(g=pd.Categorical(np.where(lung["sex"] == 1, "$a$", "_b")))
    )
    assert [label.split(":")[0] for label in ax.get_legend_handles_labels()[1]] == [r"\$a\$", " _b"]
    ax.figure.canvas.draw()
