"""The summary of a regression fitted by maximum likelihood."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tobitgp.report.summary import (
    FitSummary,
    Section,
    build_summary,
    censoring_note,
    converged_row,
    count_rows,
    estimate_row,
    frame_rows,
    interval_headers,
    model_title,
    number,
    response_notes,
    times_note,
    weights_note,
)

if TYPE_CHECKING:
    from tobitgp.results.regression.results import RegressionResults

_PLAIN = 6  # columns that every table of estimates has; those after it are factors
_ROBUST = {
    "HC0": "heteroscedasticity-consistent (HC0)",
    "HC1": "heteroscedasticity-consistent (HC1)",
    "cluster": "clustered",
}


def summarise_regression(results: RegressionResults, alpha: float = 0.05) -> FitSummary:
    """Summary of a regression fitted by maximum likelihood."""
    scale = results.model.spec.scale
    formulas = {"Formula:": results.formula} | ({} if scale is None else {"log(sigma):": scale.formula})
    model = [
        ("Dep. variable:", results.model.endog_names),
        ("Family:", results.parts.family.name),
        ("Method:", "maximum likelihood"),
        ("Covariance:", results.cov_type),
        ("Df model:", f"{results.df_model:g}"),
        ("Df residuals:", f"{results.df_resid:g}"),
        ("Iterations:", str(results.parts.maximum.iterations)),
        converged_row(results.converged),
    ]
    data = [
        *count_rows(results),
        ("Log-likelihood:", f"{results.llf:.3f}"),
        ("LL-null:", number(results.llnull)),
        ("AIC:", f"{results.aic:.3f}"),
        ("BIC:", f"{results.bic:.3f}"),
    ]
    title = model_title(results, positive=results.parts.family.log_time)
    return build_summary(title, formulas, model, data, _sections(results, alpha), _notes(results))


def _sections(results: RegressionResults, alpha: float) -> list[Section]:
    """Tables of coefficients, of the factors by which they multiply times, and of the parameters of the noise."""
    frame, p, ends = results.summary_frame(alpha), len(results.model.exog_names), interval_headers(alpha)
    df_at_bound = results.parts.family.estimate_df and not results.parts.maximum.free[-1]
    coefficients, factors, noise = [], [], []
    for i, (name, row) in enumerate(frame_rows(frame)):
        if i >= p:
            noise.append(estimate_row(name, row[:_PLAIN], at_bound=df_at_bound and name == "df"))
            continue
        coefficients.append(estimate_row(name, row[:_PLAIN]))
        if len(row) > _PLAIN:
            factor, *interval = map(number, row[_PLAIN:])
            factors.append([name, factor, *(["(fixed)", ""] if row[1] == 0.0 else interval)])
    columns = ["std err", "z", "P>|z|", *ends]
    return [
        Section(["", "coef", *columns], coefficients),
        Section(["", "exp(coef)", *ends], factors),
        Section(["", "value", *columns], noise),
    ]


def _notes(results: RegressionResults) -> list[str]:
    """What a reader should know, most urgent first."""
    notes, message = [], results.parts.maximum.message
    if not results.converged:
        rest = "Read no number here as final."
        if results.parts.maximum.unidentified.any():
            rest = "All else is the limit, with its errors; the errors of what runs off are nan."
        notes.append(f"NOT CONVERGED: {message} {rest}")
    elif "df" in results.params.index and message != "converged":
        notes.append(message)
    if results.parts.family.log_time:
        notes.append("Coefficients and sigma are on the scale of the logarithm of the response.")
        notes.append("exp(coef) is the factor by which one unit of a column multiplies the response.")
    else:
        notes += times_note(results)
    notes += [*censoring_note(results), *response_notes(results), *weights_note(results)]
    errors = _ROBUST.get(results.cov_type, "from the observed information")
    notes.append(f"Standard errors are {errors}; intervals of sigma and df are formed on the log scale.")
    return notes
