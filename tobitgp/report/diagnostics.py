"""Pictures that check a fit: its residuals, its search. matplotlib is loaded when one is drawn."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import betaincinv, ndtri

from tobitgp.errors import SpecError
from tobitgp.report.axes import closing_what_fails, given_or_new
from tobitgp.report.colours import BLUE, GREEN, GREY, INK, ORANGE, VERMILION
from tobitgp.report.grid import curve_words
from tobitgp.report.protocols import Drawn, Fit
from tobitgp.report.text import as_label
from tobitgp.typing import Array

_DRAWN_ROWS = 5000


@closing_what_fails
def plot_residuals(results: Drawn) -> Any:
    """Draw quantile residuals against the fit, and against normal quantiles with a 95% envelope.

    Censored rows stand at a random point of their mass, and are drawn as triangles.
    """
    import matplotlib.pyplot as plt

    kept, response = results.parts.rows.kept, results.parts.rows.response
    r = results.residuals("quantile").to_numpy()[kept]
    fit = results.predict(None, "latent", interval=None, se=False).to_numpy()[kept]
    left, right = np.isneginf(response.lower), np.isposinf(response.upper)
    exact = response.lower == response.upper
    kinds = (
        ("exact", exact, "o", INK),
        ("left-censored", left, "v", VERMILION),
        ("right-censored", right, "^", GREEN),
        ("interval", ~(exact | left | right), "s", ORANGE),
    )
    _, axes = plt.subplots(1, 2, figsize=(8.4, 3.9), layout="constrained", sharey=True)
    order = np.argsort(r, kind="stable")
    normal = np.empty(len(r))
    normal[order] = ndtri((np.arange(len(r)) + 0.5) / len(r))
    axes[0].axhline(0.0, color=GREY, linewidth=0.9)
    draw_envelope(axes[1], len(r))
    look = {"linestyle": "none", "markeredgecolor": "white", "markeredgewidth": 0.4}
    look |= {"alpha": 0.8 if len(r) < 500 else 0.4, "rasterized": len(r) > _DRAWN_ROWS}
    for label, rows, marker, colour in kinds:
        if rows.any():
            size = 4.5 if marker == "o" else 5.5
            for ax, x in zip(axes, (fit, normal), strict=True):
                ax.plot(
                    x[rows], r[rows], marker, color=colour, markersize=size, label=f"{label} ({rows.sum()})", **look
                )
    axes[0].set_xlabel(as_label(curve_words(results)))
    axes[0].set_ylabel("quantile residual")
    axes[1].set_xlabel("normal quantile")
    axes[1].legend(fontsize="small", framealpha=0.9, edgecolor="none", loc="upper left")
    for ax in axes:
        ax.spines[["top", "right"]].set_visible(False)
    return axes


def draw_envelope(ax: Any, n: int) -> None:
    """Line of equality, and where each order statistic of n normal values lies with probability 95%."""
    k = np.unique(np.round(np.geomspace(1, n, min(n, 100))).astype(int))
    k = np.unique(np.concatenate([k, n + 1 - k])).astype(np.float64)
    x: Array = ndtri((k - 0.5) / n)
    low, high = (ndtri(betaincinv(k, n + 1.0 - k, p)) for p in (0.025, 0.975))
    ax.fill_between(x, low, high, color=GREY, alpha=0.18, linewidth=0, label="95% if the model is right")
    ax.plot(x[[0, -1]], x[[0, -1]], color=GREY, linewidth=0.9)


@closing_what_fails
def plot_evidence(results: Fit, ax: Any = None) -> Any:
    """Draw the log posterior density of the hyper-parameters after each stage of the fit."""
    history = results.fit_history
    history = history[~history["stage"].str.startswith(("another", "highest", "screening"))]
    history = history.assign(total=history["evaluations"].cumsum())
    if "approach" in set(history["stage"]):
        # The first search then saw some of the rows, and its density is no part of this curve.
        history = history[history["stage"] != "search"]
    if not len(history):
        raise SpecError("This fit has no history to draw.")
    ax = given_or_new(ax, (6.4, 4.0))
    ax.plot(history["total"], history["log_posterior"], "o-", color=BLUE, linewidth=1.4, markersize=5)
    for k, row in enumerate(history.itertuples()):
        side, reach = ("right", -4) if k == len(history) - 1 > 0 else ("left", 4)
        look = {"textcoords": "offset points", "ha": side, "fontsize": "small", "color": INK}
        ax.annotate(str(row.stage), (row.total, row.log_posterior), xytext=(reach, -14), **look)
    ax.margins(x=0.1, y=0.25)
    ax.ticklabel_format(axis="y", useOffset=False)
    ax.set_xlabel("evaluations")
    ax.set_ylabel("log posterior density")
    ax.spines[["top", "right"]].set_visible(False)
    return ax
