"""Figure of the components of a mixture of regressions. matplotlib is loaded when one is drawn."""

from __future__ import annotations

from typing import Any

from tobitgp.errors import SpecError
from tobitgp.formula.functions import nearest
from tobitgp.report.axes import (
    LEVELS,
    Level,
    closing_what_fails,
    draw_rows,
    finish,
    given_or_new,
    log_scale,
    response_name,
)
from tobitgp.report.plots import rows_above_zero
from tobitgp.report.term_figures import (
    drawn_along,
    factor_columns,
    grid_frame,
    held_words,
    label_axis,
    place,
    say_above,
)


@closing_what_fails
def plot_component_curves(results: Any, x: str | None, ax: Any = None) -> Any:
    """Draw the median of each component along a column over the rows, in the colour of their likeliest component."""
    covariates = results.model.data.frame
    if covariates is None:
        raise SpecError("This fit holds no training rows, so there is nothing to draw. Use predict() with new data.")
    columns = drawn_along(results, covariates)
    if x is None and not columns:
        raise SpecError("plot_components() requires a column of numbers, and this model has none.")
    if x is not None and x not in columns:
        listed = ", ".join(map(repr, columns)) or "none"
        raise SpecError(
            f"x={x!r}: x must be a column of numbers of this model{nearest(str(x), columns)}. The model has {listed}."
        )
    column = columns[0] if x is None else x
    ax = given_or_new(ax)
    likeliest = results.predict(what="component").dropna().to_numpy().argmax(axis=1)
    colours = [LEVELS[k % len(LEVELS)] for k in range(results.n_components)]
    levels = [Level(f"component {k + 1}", likeliest == k, colour) for k, colour in enumerate(colours)]
    draw_rows(ax, place(covariates[column]), results.parts.rows.response, levels)
    grid = grid_frame(covariates, column, factors=factor_columns(results))
    at = place(grid[column])
    for k, (curve, colour) in enumerate(zip(results._component_medians(grid), colours, strict=True)):
        ax.plot(at, curve, color=colour, linewidth=1.8, label=f"component {k + 1}", zorder=3)
    if results.parts.family.log_time and rows_above_zero(results):
        log_scale(ax)
    finish(ax, column, response_name(results.model))
    label_axis(ax, column, at)
    say_above(ax, held_words(grid.drop(columns=[column])))
    return ax
