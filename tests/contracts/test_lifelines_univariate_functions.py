"""lifelines' own functions take univariate fitters, and give what they give for lifelines' fitters."""

import copy
import pickle
import subprocess
import sys
import warnings
from pathlib import Path

import lifelines
import matplotlib.pyplot as plt
import numpy as np
import pytest
from lifelines.plotting import add_at_risk_counts, cdf_plot, loglogs_plot, qq_plot, rmst_plot
from lifelines.statistics import survival_difference_at_fixed_point_in_time_test
from lifelines.utils import find_best_parametric_model, median_survival_times, restricted_mean_survival_time
from scipy.integrate import quad
from scipy.stats import weibull_min
from support.lifelines_fitters import durations, exact, lifetimes

import tobitgp as tg

SCRIPT = Path(__file__).parents[2] / "docs" / "migration" / "lifelines_script.py"
FAMILIES = {
    "weibull": "WeibullFitter",
    "lognormal": "LogNormalFitter",
    "loglogistic": "LogLogisticFitter",
    "exponential": "ExponentialFitter",
}


@pytest.fixture(autouse=True)
def _new_figure():
    plt.close("all")
    yield
    plt.close("all")


def pair(family="weibull", part=slice(None), **options):
    """A fit here, and lifelines'."""
    data = durations()[part]
    return (
        tg.lifelines.DistributionFitter(family).fit(data["time"], data["event"], label="m", **options),
        exact(FAMILIES[family])().fit(data["time"], data["event"], label="m", **options),
    )


def mixture(part=slice(None), method="vbcm", **options):
    data = durations()[part]
    return tg.lifelines.MixtureFitter(2, "exponential", method).fit(data["time"], data["event"], label="mix", **options)


def drawn(ax):
    """Lines of an axes."""
    return [line.get_xydata() for line in ax.get_lines()]


def same_lines(ours, theirs, **tolerance):
    assert len(drawn(ours)) == len(drawn(theirs)) > 0
    for found, expected in zip(drawn(ours), drawn(theirs), strict=True):
        np.testing.assert_allclose(found, expected, **tolerance)


def axes():
    return plt.subplots(1, 2, figsize=(10, 4))[1]


def test_median_survival_times():
    ours, theirs = pair()
    assert median_survival_times(ours) == pytest.approx(median_survival_times(theirs), rel=1e-9)
    model = mixture()
    assert model.results_.predictive.sf([median_survival_times(model)])[0] == pytest.approx(0.5, abs=1e-9)


def test_restricted_mean_survival_time():
    ours, theirs = pair()
    found, expected = (restricted_mean_survival_time(one, t=12.0, return_variance=True) for one in (ours, theirs))
    np.testing.assert_allclose(found, expected, rtol=1e-8)
    model = mixture()
    q = model.results_.variational
    share = (q["alpha"] / q["alpha"].sum()).to_numpy()
    area = quad(lambda t: share @ (1.0 + t / q["b"].to_numpy()) ** -q["a"].to_numpy(), 0.0, 12.0)[0]
    assert restricted_mean_survival_time(model, t=12.0) == pytest.approx(area, rel=1e-8)


@pytest.mark.filterwarnings("ignore:Output seems independent of input")
@pytest.mark.parametrize("family", FAMILIES)
def test_qq_plot(family):
    for one, ax in zip(pair(family), (first := axes()), strict=True):
        qq_plot(one, ax=ax)
    found, expected = (np.asarray(ax.collections[0].get_offsets()) for ax in first)
    assert len(found) > 50
    np.testing.assert_allclose(found, expected, rtol=1e-8)


@pytest.mark.filterwarnings("ignore:Output seems independent of input")
@pytest.mark.parametrize("family", FAMILIES)
def test_cdf_plot(family):
    for one, ax in zip(pair(family), (both := axes()), strict=True):
        cdf_plot(one, ax=ax)
    same_lines(*both, rtol=1e-8)


def test_cdf_plot_and_qq_plot_of_left_censored_durations():
    data = durations()
    for ax, fitter in zip(both := axes(), (tg.lifelines.DistributionFitter(), exact("WeibullFitter")()), strict=True):
        fitter.fit_left_censoring(data["time"], data["event"])
        cdf_plot(fitter, ax=ax)
        qq_plot(fitter, ax=ax)
    same_lines(*both, rtol=1e-7)


@pytest.mark.parametrize("call", [qq_plot, cdf_plot])
def test_lifelines_draws_no_quantiles_of_distributions_that_it_does_not_know(call):
    for model in (mixture(), tg.lifelines.DistributionFitter("gamma").fit([1.0, 2.0, 4.0])):
        with pytest.raises(NotImplementedError, match="Distribution not implemented in SciPy"):
            call(model)
    plt.close("all")
    data = durations()
    with pytest.raises(NotImplementedError):  # of lifelines' own fitter too
        call(lifelines.GeneralizedGammaFitter().fit(data["time"], data["event"]))


def test_rmst_plot():
    groups = pair(part=slice(0, 60)), pair(part=slice(60, None))
    for k, ax in enumerate(both := axes()):
        rmst_plot(groups[0][k], model2=groups[1][k], t=12.0, ax=ax)
    same_lines(*both, rtol=1e-8)
    found, expected = (ax.texts[0].get_text() for ax in both)
    assert found == expected
    assert "RMST(m)" in found
    rmst_plot(mixture(), t=12.0, ax=plt.figure().add_subplot())
    rmst_plot(groups[0][0], ax=plt.figure().add_subplot())  # to infinity


def test_add_at_risk_counts():
    for one, ax in zip(pair(), (both := axes()), strict=True):
        one.plot_survival_function(ax=ax)
        add_at_risk_counts(one, ax=ax)
    counts = [[tick.get_text() for tick in ax.figure.axes[2 + k].get_xticklabels()] for k, ax in enumerate(both)]
    assert counts[0] == counts[1]
    assert any("120" in text for text in counts[0])
    ax = mixture().plot_survival_function(at_risk_counts=True, ax=plt.figure().add_subplot())
    assert len(ax.figure.axes) == 2


def test_loglogs_plot():
    for one, ax in zip(pair(), (both := axes()), strict=True):
        loglogs_plot(one, ax=ax, show_censors=True)
    same_lines(*both, rtol=1e-8, atol=1e-8)
    line = drawn(mixture(timeline=[1.0, 4.0]).plot_loglogs(ax=plt.figure().add_subplot()))[0]
    expected = np.log(-np.log(mixture().results_.predictive.sf([1.0, 4.0])))
    np.testing.assert_allclose(line, np.column_stack([np.log([1.0, 4.0]), expected]), atol=1e-9)


CURVES = ("survival_function", "cumulative_hazard", "hazard", "density", "cumulative_density")


@pytest.mark.parametrize("curve", CURVES)
def test_curves_are_drawn_with_their_intervals(curve):
    for one, ax in zip(pair(), (both := axes()), strict=True):
        getattr(one, f"plot_{curve}")(ax=ax, ci_only_lines=True)
    same_lines(*both, rtol=1e-7, atol=1e-9)
    model = mixture()
    ax = getattr(model, f"plot_{curve}")(ax=plt.figure().add_subplot())
    np.testing.assert_allclose(drawn(ax)[0][:, 1], getattr(model, f"{curve}_")["mix"])


@pytest.mark.slow
def test_the_best_parametric_model():
    data = lifetimes(n=100)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        best, score = find_best_parametric_model(
            data["time"],
            data["event"],
            additional_models=[
                tg.lifelines.DistributionFitter("gamma"),
                tg.lifelines.MixtureFitter(2, method="em"),
            ],
        )
    assert isinstance(best, tg.lifelines.MixtureFitter)
    assert score == best.AIC_


def test_a_difference_of_survival_at_one_time():
    first, second = pair(part=slice(0, 60)), pair(part=slice(60, None))
    ours, theirs = (
        survival_difference_at_fixed_point_in_time_test(8.0, a, b) for a, b in zip(first, second, strict=True)
    )
    assert ours.p_value == pytest.approx(theirs.p_value, rel=1e-7)
    assert ours.test_statistic == pytest.approx(theirs.test_statistic, rel=1e-7)
    a, b = mixture(slice(0, 60)), mixture(slice(60, None))
    test = survival_difference_at_fixed_point_in_time_test(8.0, a, b)
    found = [one.results_.predict(what="prob", above=8.0, se=True).iloc[0] for one in (a, b)]
    logs = [np.log(-np.log(one["estimate"])) for one in found]
    variance = sum((one["se"] / np.log(one["estimate"])) ** 2 for one in found)
    assert test.test_statistic == pytest.approx((logs[0] - logs[1]) ** 2 / variance, rel=1e-6)


def test_fitters_are_copied_and_pickled():
    model = mixture()
    for again in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert again.median_survival_time_ == model.median_survival_time_


@pytest.mark.slow
def test_a_script_for_lifelines_runs_with_another_import(capsys):
    text = SCRIPT.read_text(encoding="utf-8")
    line = next(line for line in text.split("\n") if line.startswith("from lifelines import"))
    found = []
    for imported in (line, line.replace("lifelines", "tobitgp.lifelines")):
        names = {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of lifelines' own fitters
            exec(compile(text.replace(line, imported), str(SCRIPT), "exec"), names)
        found.append((names, capsys.readouterr().out))
    (theirs, table), (ours, again) = found
    assert again == table.replace("<lifelines.", "<tobitgp.lifelines.")
    assert ours["best"].label == theirs["best"].label
    for name in ("medians", "areas", "difference", "alive", "limits", "late"):
        np.testing.assert_allclose(ours[name], theirs[name], rtol=3e-5)
    np.testing.assert_allclose(list(ours["aic"].values()), list(theirs["aic"].values()), rtol=1e-7)
    assert np.log(ours["p_value"]) == pytest.approx(np.log(theirs["p_value"]), rel=1e-4)


@pytest.mark.slow
def test_lifelines_is_imported_when_it_is_used():
    check = "import sys, tobitgp; assert 'lifelines' not in sys.modules; tobitgp.lifelines; sys.modules['lifelines']"
    subprocess.run([sys.executable, "-c", check], check=True)
    missing = "import sys; sys.modules['lifelines'] = None; import tobitgp as tg; tg.lifelines"
    done = subprocess.run([sys.executable, "-c", missing], capture_output=True, text=True, check=False)
    assert "ImportError: Install lifelines 0.30 or newer" in done.stderr


def test_the_curve_of_a_known_mixture_is_found():
    """Simulated lives of two kinds: the fit is near the truth, a single Weibull distribution is not."""
    rng = np.random.default_rng(4)
    early = rng.random(1500) < 0.3
    life = np.where(early, rng.weibull(1.5, 1500), 30.0 * rng.weibull(3.0, 1500))
    grid = np.linspace(0.5, 40.0, 20)
    truth = 0.3 * weibull_min(1.5).sf(grid) + 0.7 * weibull_min(3.0, scale=30.0).sf(grid)
    end = rng.uniform(5.0, 50.0, 1500)
    time, event = np.minimum(life, end), life <= end
    two = tg.lifelines.MixtureFitter(2).fit(time, event, timeline=grid)
    one = tg.lifelines.DistributionFitter().fit(time, event, timeline=grid)
    assert np.abs(two.survival_function_.iloc[:, 0] - truth).max() < 0.03
    assert np.abs(one.survival_function_.iloc[:, 0] - truth).max() > 0.08
