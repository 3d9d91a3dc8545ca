"""Summaries of cure models."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tobitgp.errors import SpecError
from tobitgp.report import summary
from tobitgp.report.summaries import ROBUST
from tobitgp.report.summary import FitSummary, Section, number

if TYPE_CHECKING:
    from tobitgp.results.cure.results import CureResults

_PLAIN, _FIFTH = 6, 0.2
_MANY = 20_000  # rows above which the two hardly differ


def summarise_cure(results: CureResults, alpha: float = 0.05) -> FitSummary:
    """Summary of a cure model."""
    spec = results.model.spec.scale
    assert spec is not None
    model = [
        ("Dep. variable:", results.model.endog_names),
        ("Family:", results.parts.family.name),
        ("Method:", "maximum likelihood"),
        ("Covariance:", results.cov_type),
        ("Df model:", f"{results.df_model:g}"),
        ("Iterations:", str(results.parts.maximum.iterations)),
    ]
    numbers: dict[str, float | str] = {"Log-likelihood:": results.llf, "AIC:": results.aic, "BIC:": results.bic}
    title = summary.model_title(results, positive=True, added="with a cured fraction")
    written = {"logit(cured):": spec.formula}
    return summary.build_summary(
        results, title, model, numbers, _sections(results, alpha), _notes(results, alpha), written
    )


def _sections(results: CureResults, alpha: float) -> list[Section]:
    """Tables of the times of those not cured, of being cured, of the noise, and of the cured fraction."""
    frame, ends = results.summary_frame(alpha), summary.interval_headers(alpha)
    p, q = len(results.model.exog_names), len(results.parts.scale_columns)
    held = "(at bound)" if results.parts.maximum.message != "converged" else "nan"
    unknown = {results.parts.shape_name: held}
    rows = [
        summary.estimate_row(name, row[:_PLAIN], unknown=unknown.get(name, "nan"))
        for name, row in summary.frame_rows(frame)
    ]
    factors = [[name, *map(number, row[_PLAIN:])] for name, row in summary.frame_rows(frame.iloc[:p])]
    odds = [[name, *map(number, np.exp(row[[0, 4, 5]]))] for name, row in summary.frame_rows(frame.iloc[p : p + q])]
    columns, fraction = ["std err", "z", "P>|z|", *ends], []
    try:
        found = results.cured_fraction(interval=1.0 - alpha)
        fraction = [["all rows" if results.parts.one_fraction else "mean over the rows", *map(number, found)]]
    except SpecError:
        pass
    return [
        Section(["", "coef", *columns], rows[:p]),
        Section(["", "exp(coef)", *ends], factors),
        Section(["", "log odds", *columns], rows[p : p + q]),
        Section(["", "odds ratio", *ends], [row for row in odds if row[0] != "cured[Intercept]"]),
        Section(["", "value", *columns], rows[p + q :]),
        Section(["", "cured fraction", "std err", *ends], fraction),
    ]


def _notes(results: CureResults, alpha: float) -> list[str]:
    """What a reader should know, most urgent first."""
    notes = []
    if not results.converged:
        notes.append(f"NOT CONVERGED: {results.parts.maximum.message} Read no number here as final.")
    elif results.parts.maximum.message != "converged":
        notes.append(results.parts.maximum.message)
    notes.append(
        "cured[...] are log odds of being cured, where times are infinite; the other coefficients are of log times of "
        "those not cured."
    )
    notes += [*_profile_note(results, alpha), *summary.response_notes(results)]
    errors = ROBUST.get(results.cov_type, "from the observed information")
    notes.append(f"Standard errors are {errors}; the interval of sigma is formed on the log scale.")
    return notes


def _profile_note(results: CureResults, alpha: float) -> list[str]:
    """The profile interval of one cured fraction, where it differs from Wald's by more than a fifth of its length."""
    rows = results.parts.training
    if not results.converged or rows is None or len(rows.response.lower) > _MANY:
        return []
    try:
        ends = np.array(results.profile_cured(interval=1.0 - alpha))
    except SpecError:
        return []
    wald = results.cured_fraction(interval=1.0 - alpha)[["lower", "upper"]].to_numpy()
    if np.abs(ends - wald).max() <= _FIFTH * np.ptp(wald):
        return []
    return [
        f"The profile likelihood gives the cured fraction the interval {ends[0]:.4f} to {ends[1]:.4f}, which is to be "
        "preferred."
    ]
