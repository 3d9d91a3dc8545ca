"""The summary of a censored regression."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from tobitgp.report.summary import (
    WIDTH,
    coefficient_row,
    formula_rows,
    noise_note,
    number,
    only_truncated,
    response_notes,
    side_by_side,
    times_note,
)
from tobitgp.typing import Array

if TYPE_CHECKING:
    from tobitgp.results.regression.results import TobitResults

_PLAIN = 6  # columns that every table of estimates has; those after it are factors
_ROBUST = {
    "HC0": "heteroscedasticity-consistent (HC0)",
    "HC1": "heteroscedasticity-consistent (HC1)",
    "cluster": "clustered",
}


def summarise_tobit(results: TobitResults, alpha: float = 0.05) -> Any:
    """Summary of a regression fitted by maximum likelihood."""
    from tobitgp.report.tables import FitSummary, column_widths, make_table, total_width

    head = side_by_side(_model_lines(results), _data_lines(results))
    estimates = _estimates(results, alpha)
    widths = [total_width(column_widths(rows)) for rows in (head, *([h, *rows] for h, rows in estimates))]
    width = max(WIDTH, *widths)
    scale = results.model.spec.scale
    written = formula_rows(results.formula, width)
    written += formula_rows(scale.formula, width, "log(sigma):") if scale is not None else []
    tables = [
        make_table(
            written, "l", title=f"{'Truncated' if only_truncated(results) else 'Censored'} Regression", width=width
        ),
        make_table(head, "rlr", width=width, widen=(1, 3)),
    ]
    tables += [make_table(rows, "r" * (len(headers) - 1), headers=headers, width=width) for headers, rows in estimates]
    return FitSummary(tables, _notes(results), width)


def _model_lines(results: TobitResults) -> list[tuple[str, str]]:
    maximum = results.parts.maximum
    return [
        ("Dep. variable:", results.model.endog_names),
        ("Family:", results.parts.family.name),
        ("Method:", "maximum likelihood"),
        ("Covariance:", results.cov_type),
        ("Df model:", f"{results.df_model:g}"),
        ("Df residuals:", f"{results.df_resid:g}"),
        ("Iterations:", str(maximum.iterations)),
        ("Converged:", "yes" if results.converged else "NO, see notes"),
    ]


def _data_lines(results: TobitResults) -> list[tuple[str, str]]:
    counts = results.counts
    lines = [("No. observations:", f"{results.nobs:.10g}"), ("  exact:", str(counts["exact"]))]
    lines += [(f"  {kind}-censored:", str(counts[kind])) for kind in ("left", "right", "interval")]
    lines.append(("Rows dropped:", str(counts["dropped"])))
    lines += [("Log-likelihood:", f"{results.llf:.3f}"), ("LL-null:", number(results.llnull))]
    return [*lines, ("AIC:", f"{results.aic:.3f}"), ("BIC:", f"{results.bic:.3f}")]


def _estimates(results: TobitResults, alpha: float) -> list[tuple[list[str], list[list[str]]]]:
    """Header and rows of the tables of coefficients, of their exponentials, and of the parameters of the noise."""
    frame, p = results.summary_frame(alpha), len(results.model.exog_names)
    ends = [f"[{0.5 * alpha:.3g}", f"{1.0 - 0.5 * alpha:.3g}]"]
    header = ["", "coef", "std err", "z", "P>|z|", *ends]
    held = results.parts.family.estimate_df and not results.parts.maximum.free[-1]
    noise = [_noise_row(name, row[:_PLAIN], held=held and name == "df") for name, row in _rows(frame[p:])]
    tables = [
        (header, [coefficient_row(name, row[:_PLAIN]) for name, row in _rows(frame[:p])]),
        (["", "exp(coef)", *ends], _ratios(frame[:p])),
        (["", "value", *header[2:]], noise),
    ]
    return [(headers, rows) for headers, rows in tables if rows]


def _rows(frame: pd.DataFrame) -> Iterator[tuple[str, Array]]:
    return zip(map(str, frame.index), frame.to_numpy(), strict=True)


def _ratios(frame: pd.DataFrame) -> list[list[str]]:
    """Cells of the factors by which coefficients multiply times; none for other families."""
    fixed = frame["std err"].to_numpy() == 0.0
    rows = [[name, *map(number, row[_PLAIN:])] for name, row in _rows(frame) if len(row) > _PLAIN]
    return [[*row[:2], "(fixed)", ""] if known else row for row, known in zip(rows, fixed, strict=False)]


def _noise_row(name: str, row: Array, *, held: bool) -> list[str]:
    """Cells of a parameter of the noise; ``held`` where it stands at a bound."""
    value, error, z, tail, lower, upper = row
    if error == 0.0 or np.isnan(error):
        return [name, number(value), "(at bound)" if held else "nan" if error else "(fixed)", "", "", "", ""]
    tests = ["", ""] if np.isnan(z) else [f"{z:.3f}", f"{tail:.3f}"]
    return [name, number(value), number(error), *tests, number(lower), number(upper)]


def _notes(results: TobitResults) -> list[str]:
    notes = []
    message = results.parts.maximum.message
    if not results.converged:
        rest = "Read no number here as final."
        if results.parts.maximum.unidentified.any():
            rest = "All else is the limit, with its errors; the errors of what runs off are nan."
        notes.append(f"NOT CONVERGED: {message} {rest}")
    elif "df" in results.params.index and results.parts.maximum.message != "converged":
        notes.append(message)
    if results.parts.family.log_time:
        notes.append("Coefficients and sigma are on the scale of the logarithm of the response.")
        notes.append("exp(coef) is the factor by which one unit of a column multiplies the response.")
    else:
        notes += times_note(results.model.spec, results.parts.family.name)
    if not results.counts[["left", "right", "interval"]].any():
        notes.append("No row is censored.")
    notes += response_notes(results.model.spec)
    notes += noise_note(results.parts.state)
    errors = _ROBUST.get(results.cov_type, "from the observed information")
    notes.append(f"Standard errors are {errors}; intervals of sigma and df are formed on the log scale.")
    return notes
