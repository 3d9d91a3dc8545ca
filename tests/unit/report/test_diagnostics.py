"""Pictures of residuals and the search."""

import numpy as np
import pandas as pd
import pytest

import tobitgp as tg


def test_residuals(curve):
    axes = curve.plot_residuals()
    r = curve.residuals().to_numpy()
    for ax in axes:
        shown = np.concatenate([line.get_ydata() for line in ax.lines if "(" in str(line.get_label())])
        assert np.allclose(np.sort(shown), np.sort(r))
    labels = [text.get_text() for text in axes[1].get_legend().get_texts()]
    assert set(labels) == {"exact (18)", "left-censored (12)", "95% if the model is right"}
    axes[0].figure.canvas.draw()


def test_dropped_rows_are_not_drawn():
    data = tg.datasets.simulate_groot_lucas()
    data.loc[3, "y"] = np.nan
    with pytest.warns(UserWarning, match="dropped"):
        res = tg.fit("y ~ gp(x) | censor(lower)", data, method=tg.EP(hyper="maximize"))
    axes = res.plot_residuals()
    assert sum(len(line.get_xdata()) for line in axes[0].lines if "(" in str(line.get_label())) == len(data) - 1


def test_evidence(curve):
    import matplotlib.pyplot as plt

    _, given = plt.subplots()
    ax = curve.plot_evidence(given)
    assert ax is given
    history = curve.fit_history
    climbed = history[~history["stage"].str.startswith("screening")]
    assert np.allclose(ax.lines[0].get_ydata(), climbed["log_posterior"])
    assert [text.get_text() for text in ax.texts] == list(climbed["stage"])
    curve.plot_evidence().figure.canvas.draw()


def test_a_search_on_some_rows_is_left_out():
    rng = np.random.default_rng(2)
    data = pd.DataFrame({"x": rng.normal(size=1200)})
    data["y"] = data["x"] + rng.normal(size=1200)
    res = tg.fit("y ~ x", data, method="ep")
    assert "search" not in [text.get_text() for text in res.plot_evidence().texts]


@pytest.mark.parametrize(
    ("formula", "options", "words"),
    [
        ("Surv(time, event) ~ age", {"family": tg.PH("weibull")}, "mean up to the end of follow-up"),
        ("Surv(time, event) ~ age", {"family": tg.PH("spline", df=2, link="odds")}, "mean up to the end of follow-up"),
        ("Surv(time, event) ~ age", {"family": "weibull", "cure": "~ 1"}, "mean up to the end of follow-up"),
        ("Surv(time, event) ~ age", {"family": "weibull"}, "estimate"),
        ("time ~ age", {"family": "boxcox"}, "mean"),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_residuals_of_every_regression(formula, options, words):
    lung = tg.datasets.load("lung").head(60)
    res = tg.fit(formula, lung, **options)
    axes = res.plot_residuals()
    assert axes[0].get_xlabel() == words
    shown = np.concatenate([line.get_ydata() for line in axes[0].lines if "(" in str(line.get_label())])
    np.testing.assert_allclose(np.sort(shown), np.sort(res.residuals("quantile").dropna()))
