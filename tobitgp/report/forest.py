"""Forest plots: coefficients or ratios with their intervals, a row for each. matplotlib is loaded when one is drawn."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from tobitgp.errors import SpecError
from tobitgp.report.axes import BLUE, GREY, INK, as_label, closing_what_fails, given_or_new
from tobitgp.results.counterfactuals import column_levels
from tobitgp.results.fit import Fit
from tobitgp.results.hazard_ratios import HIGH, LOW, chosen_terms, of_columns, of_process
from tobitgp.results.not_finite import warn_of_intervals, warn_of_ratios
from tobitgp.results.parameter_estimates import Linear
from tobitgp.results.predict import check_alpha, check_flag
from tobitgp.results.ratios import Compared
from tobitgp.results.terms import Term
from tobitgp.results.words import HAZARD

_HEIGHT = 0.34  # of a row, in inches
_WIDEST = 36  # letters in a line of a label, of which there are two
_DRAWN = 1e-300, 1e300  # least and largest ratio that an axis takes
_REFERENCE = " (reference)"
_WORDS = {True: "hazard ratio", False: "odds ratio"}


class Row(NamedTuple):
    """A row of a figure; a reference level has no ends."""

    label: str
    value: float
    low: float = np.nan
    high: float = np.nan

    @property
    def is_reference(self) -> bool:
        """Whether it is a reference level."""
        return self.label.endswith(_REFERENCE)


@closing_what_fails
def plot_forest(results: Fit, hazard_ratios: bool, terms: Any = None, *, alpha: float = 0.05, ax: Any = None) -> Any:
    """Draw a row for each coefficient, reference level and process."""
    alpha, ratios = check_alpha(alpha), check_flag("hazard_ratios", hazard_ratios)
    kind = results._ratio_kind() if ratios else None
    rows = results._forest(terms, alpha, ratios=ratios)
    if not rows:
        raise SpecError("This model has no coefficient to draw.")
    if ratios:
        numbers = pd.DataFrame([row[1:] for row in rows], index=[row.label for row in rows])
        warn_of_ratios(results, "plot_forest()", numbers)
    shown = [row for row in rows if not row.is_reference]
    ends = pd.DataFrame([row[2:] for row in shown], index=[row.label for row in shown])
    warn_of_intervals(results, "plot_forest()", ends.where(ends.isna(), 1.0) if ratios else ends)
    ax = given_or_new(ax, (7.2, 1.1 + _HEIGHT * len(rows)))
    name = "coefficient" if kind is None else _WORDS[kind.name == HAZARD]
    _draw(ax, rows, f"{name}, {100 * (1 - alpha):g}% interval", log=ratios)
    return ax


def forest_rows(results: Fit, terms: Any, alpha: float, *, ratios: bool) -> list[Row]:
    """Rows of a figure from its top."""
    kind = results._ratio_kind() if ratios else None

    def rows_of(compared: Compared) -> Iterator[Row]:
        of = compared.contrasts
        found: Linear = results._differences(of) if kind is None else results._log_ratios(of, kind.sign)
        values = np.column_stack([found.coefficients(), found.interval(alpha)])
        with np.errstate(over="ignore"):
            values = np.exp(values) if ratios else values
        yield from (Row(label, *each) for label, each in zip(compared.labels, values, strict=True))

    return list(_rows(results, terms, rows_of, 1.0 if ratios else 0.0))


def _rows(results: Fit, terms: Any, rows_of: Any, none: float) -> Iterator[Row]:
    """Rows of a figure from its top; a reference level is placed at no effect."""
    columns, chosen = chosen_terms(results, terms)
    inside = {j for term in chosen for j in term.columns}
    for term in chosen:
        if term.block is not None:
            for compared in of_process(results, term, (HIGH,), LOW, {}):
                yield from rows_of(compared)
        elif term.columns:
            compared = of_columns(results, term.columns)
            prefix = f"{term.name}["
            level = _reference_level(results, term)
            if level is not None:
                yield Row(f"{term.name}: {level}{_REFERENCE}", none)
                shown = [name.removeprefix(prefix).removeprefix("T.").removesuffix("]") for name in compared.labels]
                compared = compared._replace(labels=[f"{term.name}: {name}" for name in shown])
            yield from rows_of(compared)
    alone = [j for j in columns if j not in inside]
    if alone:
        yield from rows_of(of_columns(results, alone))


def _reference_level(results: Fit, term: Term) -> Any:
    """Level of a factor that has no column, None for other terms."""
    name = term.name.removeprefix("C(").removesuffix(")").strip("`")
    if name not in results.parts.facts.columns:
        return None
    levels, columns = column_levels(results.parts, name), [results._columns[j] for j in term.columns]
    if levels is None or not all(column.startswith(f"{term.name}[T.") for column in columns):
        return None
    shown = [f"{level:g}" if isinstance(level, float) else str(level) for level in levels]
    lacking = [level for level in shown if f"{term.name}[T.{level}]" not in columns]
    return lacking[0] if len(lacking) == 1 else None


def _draw(ax: Any, rows: list[Row], name: str, *, log: bool) -> None:
    """Draw rows from the top down, with their numbers at the right."""
    from matplotlib.ticker import MaxNLocator

    y = np.arange(len(rows))[::-1]
    value, low, high = (np.array(each) for each in zip(*((row.value, row.low, row.high) for row in rows), strict=True))
    bars = np.isfinite(low)
    ax.axvline(1.0 if log else 0.0, color=GREY, linewidth=0.9, linestyle=(0, (4, 3)), zorder=1)
    ax.hlines(y[bars], low[bars], high[bars], color=BLUE, linewidth=1.6, zorder=2)
    ax.plot(value[bars], y[bars], "s", color=BLUE, markersize=6, zorder=3)
    ax.plot(value[~bars], y[~bars], "s", color="white", markeredgecolor=GREY, markersize=5, zorder=3)
    if log:
        low, value, high = (np.clip(each, *_DRAWN) for each in (low, value, high))
        ax.set_xscale("log")
        _label_ratios(ax, np.append(low[bars], value), np.append(high[bars], value))
    else:
        ax.xaxis.set_major_locator(MaxNLocator(5))
    ax.set_yticks(y, ["\n".join(textwrap.wrap(as_label(row.label), _WIDEST)[:2]) for row in rows])
    ax.set(ylim=(-0.6, len(rows) - 0.4), xlabel=name)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(axis="y", length=0)
    for place, row in zip(y, rows, strict=True):
        text = "reference" if np.isnan(row.low) else _numbers(row, log=log)
        look = {"color": INK if np.isfinite(row.low) else GREY, "fontsize": "small", "va": "center"}
        ax.annotate(text, (1.02, place), xycoords=("axes fraction", "data"), annotation_clip=False, **look)


def _numbers(row: Row, *, log: bool) -> str:
    """An estimate with its interval: of usual ratios as many decimals as tell its ends apart."""
    form = ".3g"
    if log and row.low >= 0.05 and row.high < 1000.0:
        form = f".{2 + sum(row.high - row.low < width for width in (0.1, 0.01))}f"
    value, low, high = (_plain(f"{number:{form}}") for number in (row.value, row.low, row.high))
    return f"{value} ({low} to {high})"


def _plain(text: str) -> str:
    """Thousands without a power of ten, which is left to millions and thousandths."""
    return f"{float(text):.0f}" if any(f"e+0{power}" in text for power in range(3, 6)) else text


def _label_ratios(ax: Any, low: Any, high: Any) -> None:
    """Round numbers as ticks of a logarithmic axis."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    first, last = float(np.nanmin(low)) / 1.05, float(np.nanmax(high)) * 1.05
    decades = 10.0 ** np.arange(np.floor(np.log10(first)) - 1.0, np.ceil(np.log10(last)) + 1.0)
    for steps in ((1.0,), (1.0, 2.0, 5.0), (1.0, 1.5, 2.0, 3.0, 5.0, 7.0), tuple(np.arange(10.0, 100.0) / 10.0)):
        ticks = np.outer(decades, steps).ravel()
        ticks = ticks[(ticks >= first) & (ticks <= last)]
        if len(ticks) >= 3:
            break
    ax.set_xlim(first, last)
    ax.xaxis.set_major_locator(FixedLocator(ticks[:: -(-len(ticks) // 6) or 1].tolist()))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
    ax.xaxis.set_minor_locator(NullLocator())
