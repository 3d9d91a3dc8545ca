"""Pictures of terms, residuals and the search."""

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

import tobitgp as tg
from tobitgp.errors import SpecError


@pytest.fixture(autouse=True)
def agg():
    import matplotlib.pyplot as plt

    backend = mpl.get_backend()
    mpl.use("Agg")
    yield
    plt.close("all")
    mpl.use(backend)


def test_a_panel_for_each_term(lung):
    axes = lung.plot_terms()
    assert [ax.get_ylabel() for ax in axes] == ["ph_ecog", "C(sex)", "gp(age)", "gp(wt_loss)"]
    assert [ax.get_xlabel() for ax in axes] == ["ph_ecog", "sex", "age", "wt_loss"]
    age = axes[2].lines[1]
    grid = lung.model.data.frame.iloc[[0] * len(age.get_xdata())].assign(age=age.get_xdata())
    assert np.allclose(age.get_ydata(), lung.predict(grid, "terms")[("gp(age)", "mean")])
    points = axes[1].lines[1]
    effect = lung.params["C(sex)[T.2]"]
    assert np.allclose(points.get_ydata(), [0.0, effect])
    assert [label.get_text() for label in axes[1].get_xticklabels()] == ["1", "2"]
    axes[0].figure.canvas.draw()


def test_one_panel_and_no_band(curve):
    ax = curve.plot_terms(interval=None)
    assert not ax.collections
    assert ax.get_ylabel() == "gp(x)"
    ax.figure.canvas.draw()


def test_interactions_say_what_is_held():
    rng = np.random.default_rng(1)
    data = pd.DataFrame({"x": rng.normal(size=40), "z": rng.normal(size=40), "g": rng.choice(["a", "b"], 40)})
    data["y"] = data["x"] * (data["g"] == "b") + rng.normal(size=40)
    axes = tg.fit("y ~ x:g + gp(x, z)", data, fixed={"sigma": 1.0}).plot_terms()
    assert [ax.get_ylabel() for ax in axes] == ["x:g", "x:g", "gp(x, z)", "gp(x, z)"]
    titles = [ax.get_title(loc="left") for ax in axes]
    assert titles[0].startswith("at g = ")
    assert "z = " not in titles[0]
    assert titles[2].startswith("at z = ")
    axes[0].figure.canvas.draw()


def test_awkward_names_are_drawn(awkward):
    for ax in np.atleast_1d(awkward.plot_terms()):
        assert ax.get_ylabel()


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
        res = tg.fit("y ~ gp(x) | censor(lower)", data, hyper="maximize")
    axes = res.plot_residuals()
    assert sum(len(line.get_xdata()) for line in axes[0].lines if "(" in str(line.get_label())) == len(data) - 1


def test_evidence(curve):
    import matplotlib.pyplot as plt

    _, given = plt.subplots()
    ax = curve.plot_evidence(given)
    assert ax is given
    assert np.allclose(ax.lines[0].get_ydata(), curve.fit_history["log_posterior"])
    assert [text.get_text() for text in ax.texts] == list(curve.fit_history["stage"])
    curve.plot_evidence().figure.canvas.draw()


def test_a_search_on_some_rows_is_left_out():
    rng = np.random.default_rng(2)
    data = pd.DataFrame({"x": rng.normal(size=1200)})
    data["y"] = data["x"] + rng.normal(size=1200)
    res = tg.fit("y ~ x", data)
    assert "search" not in [text.get_text() for text in res.plot_evidence().texts]


def test_nothing_to_draw(curve):
    parts = curve.parts
    with pytest.raises(SpecError, match="no training rows"):
        tg.GPResults(parts.spec, parts.training, parts.gp, parts.fitted).plot_terms()
    data = tg.datasets.simulate_groot_lucas()
    with pytest.raises(SpecError, match="no term"):
        tg.fit("y ~ 1", data, fixed={"sigma": 1.0}).plot_terms()
