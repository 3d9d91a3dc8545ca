"""Summary and pictures of mixtures."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

import tobitgp as tg
from tobitgp.numerics.nonparametric import kaplan_meier


@pytest.fixture(scope="module")
def y():
    rng = np.random.default_rng(4)
    return np.concatenate([rng.normal(-3.0, 1.0, 90), rng.normal(3.0, 1.0, 60)])


@pytest.fixture(scope="module")
def res(y):
    return tg.fit("y ~ mixture(range(1, 4)) | censor(-4, 4)", {"y": np.clip(y, -4, 4)})


@pytest.fixture(scope="module")
def lung():
    return tg.fit("Surv(time, event) ~ mixture(2)", tg.datasets.load("lung"), family="weibull")


def words(summary):
    return " ".join(str(summary).split())


def line(ax, label):
    (found,) = [one for one in ax.get_lines() if one.get_label() == label]
    return found.get_xdata(), found.get_ydata()


def labels(ax):
    return ax.get_legend_handles_labels()[1]


def test_the_summary_says_what_was_fitted(res):
    text = words(res.summary())
    for part in (
        "Censored Gaussian mixture",
        "Components: 2, best of 1 to 3",
        f"No. observations: {res.nobs:.10g}",
        f"left-censored: {res.counts['left']}",
        f"Log evidence: {res.log_evidence:.3f}",
        "by linear response",
        "ELBO + log K!",
        "concentration of the weights 1",
    ):
        assert part in text
    assert f"ELBO: {res.elbo:.3f}" in words(res.summary(details=True))
    assert f"{res.params['mean[1]']:.4f} {res.bse['mean[1]']:.4f}" in text
    assert "[0.05 0.95]" in words(res.summary(alpha=0.1))


def test_the_summary_of_plain_variational_errors_says_so(res):
    text = words(res.summary(kind="vb"))
    assert f"{res.params['sd[1]']:.4f} {res.summary_frame(kind='vb').loc['sd[1]', 'std err']:.4f}" in text
    assert "too small if rows are censored" in text


def test_every_format(res):
    summary = res.summary()
    assert "mean[1]" in summary.as_html()
    assert "mean[1]" in summary.as_latex()
    assert "mean[1]" in summary.as_csv()


@pytest.mark.slow
def test_notes_of_families_and_methods(y):
    em = words(tg.fit("y ~ mixture(2)", {"y": y}, method="em").summary())
    assert "observed information" in em
    assert "No sd is far below the distance between the rows next to its mean" in em
    floor = words(tg.fit("y ~ mixture(2)", {"y": y}, method=tg.EMCM(floor=0.001)).summary())
    assert "Variances are held above 0.001" in floor
    assert "AIC" in em
    assert "No row is censored" in em
    assert "of the logarithm" in words(tg.fit("y ~ mixture(1)", {"y": np.exp(y)}, family="lognormal").summary())


@pytest.mark.slow
def test_empty_components_of_a_process_stand_in_no_table(y):
    text = words(tg.fit("y ~ mixture('dp', max_components=5)", {"y": y}).summary())
    assert "2 used, at most 5" in text
    assert "3 components have fewer than 0.5 rows" in text
    assert "mean[2]" in text
    assert "mean[3]" not in text


@pytest.mark.slow
def test_components_of_a_process_have_one_number_everywhere(y):
    """Starts leave empty components between, below and above those of the rows; numbers go by those that hold rows."""
    res = tg.fit("y ~ mixture('dp', max_components=6)", {"y": y})
    assert res.components["rows"].ge(0.5).tolist() == [True, True, False, False, False, False]
    assert res.params["mean[1]"] < 0 < res.params["mean[2]"]
    shares = res.predict({"y": [-3.0, 3.0]}, "component")
    assert shares.columns.tolist() == [1, 2, 3, 4, 5, 6]
    assert shares.idxmax(axis=1).tolist() == [1, 2]
    drawn = [label for label in labels(res.plot_components()) if label.startswith("component")]
    assert [label.split(" (")[0] for label in drawn] == ["component 1", "component 2"]


def test_a_weibull_summary_names_its_shapes(lung):
    assert "Shapes are point estimates" in words(lung.summary())


def test_components_add_up_over_a_histogram(res, y):
    ax = res.plot_components()
    x, total = line(ax, "mixture")
    np.testing.assert_allclose(total, res.predictive.pdf(x))
    parts = [line(ax, label)[1] for label in labels(ax) if label.startswith("component")]
    assert len(parts) == 2
    np.testing.assert_allclose(sum(parts), total)
    area = sum(bar.get_width() * bar.get_height() for bar in ax.patches)
    np.testing.assert_allclose(area, (np.abs(y) < 4).mean())
    assert f"left-censored ({res.counts['left']})" in labels(ax)
    assert ax.get_xlabel() == "y"
    assert res.plot(ax=plt.subplots()[1]).get_ylabel() == "density"


def test_components_add_up_beside_kaplan_and_meier(lung):
    ax = lung.plot_components()
    assert ax.get_xlabel() == "time"
    x, total = line(ax, "mixture")
    np.testing.assert_allclose(total, lung.predictive.sf(x))
    parts = [line(ax, label)[1] for label in labels(ax) if label.startswith("component")]
    np.testing.assert_allclose(sum(parts), total)
    data = tg.datasets.load("lung")
    times, survival = kaplan_meier(data["time"].to_numpy(float), data["event"].to_numpy() == 1, np.ones(len(data)))
    steps = line(ax, "Kaplan-Meier (165 of 228 seen)")
    np.testing.assert_allclose(steps[0], [0.0, *times])
    np.testing.assert_allclose(steps[1], [1.0, *survival])


def test_counts_have_bars_a_count_wide(rng):
    y = rng.poisson(3.0, 200).astype(float)
    res = tg.fit("y ~ mixture(1) | censor(1)", {"y": np.maximum(y, 1.0)}, family="poisson")
    ax = res.plot_components()
    heights = {round(bar.get_x() + 0.5): bar.get_height() for bar in ax.patches}
    for value in (2, 3, 4):
        np.testing.assert_allclose(heights[value], (y == value).mean())
    x, total = line(ax, "mixture")
    np.testing.assert_allclose(total, res.predictive.pdf(x))
    assert np.array_equal(x, x.round())


def test_interval_rows_are_bars_at_the_foot(rng):
    y = rng.exponential(2.0, 60)
    data = {"lo": np.floor(y), "hi": np.floor(y) + 1.0}
    ax = tg.fit("interval(lo, hi) ~ mixture(1)", data, family="exponential").plot_components()
    assert "left-censored" not in " ".join(labels(ax))
    assert any(label.startswith("interval") for label in labels(ax))


def test_evidence_of_the_numbers_tried(res, lung):
    ax = res.plot_evidence()
    np.testing.assert_allclose(ax.get_lines()[0].get_ydata(), res.selection.sort_index()["value"])
    assert labels(ax) == ["best: 2 components"]
    ax = lung.plot_evidence()
    np.testing.assert_allclose(ax.get_lines()[0].get_ydata(), lung.fit_history["elbo"])


def test_survival_and_hazard_with_bands(lung):
    ax = lung.plot_survival(interval=0.9)
    x, survival = line(ax, "mixture")
    np.testing.assert_allclose(survival, lung.parts.fit.plug_in().sf(x))
    assert "90% band" in labels(ax)
    assert any("Kaplan-Meier" in label for label in labels(ax))
    x, hazard = line(lung.plot_hazard(interval=None), "mixture")
    np.testing.assert_allclose(hazard, lung.predictive.hazard(x))


def test_residuals_are_drawn_in_order(res):
    ax = res.plot_residuals()
    np.testing.assert_allclose(ax.get_lines()[-1].get_ydata(), np.sort(res.residuals("quantile")))


@pytest.mark.slow
def test_rankings_are_drawn_as_given(y):
    found = tg.select("y ~ mixture(range(1, 4))", {"y": y})
    ax = found.plot_evidence()
    np.testing.assert_allclose(ax.get_lines()[0].get_xdata(), [1, 2, 3])
    np.testing.assert_allclose(ax.get_lines()[0].get_ydata(), found.table["value"].sort_index())
    assert ax.get_ylabel() == "log evidence (elbo)"
    named = tg.select({"two": "y ~ mixture(2)", "line": "y ~ 1"}, {"y": y}, by="bic")
    ax = named.plot_evidence()
    assert [text.get_text() for text in ax.get_yticklabels()] == ["two", "line"]
    np.testing.assert_allclose(ax.get_lines()[0].get_xdata(), named.table["value"][["two", "line"]])
    assert ax.get_xlabel() == "BIC"
