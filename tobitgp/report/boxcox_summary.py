"""Summaries of fits after a power transformation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tobitgp.report import summary
from tobitgp.report.summaries import curve_names, slope_rows
from tobitgp.report.summary import FitSummary, Section, number

if TYPE_CHECKING:
    from tobitgp.results.likelihood.boxcox_results import BoxCoxResults
    from tobitgp.results.process.boxcox_process_results import BoxCoxGPResults

_PLAIN = 6


def summarise_boxcox_process(results: BoxCoxGPResults, alpha: float = 0.05) -> FitSummary:
    """Summary of a process, or a regression with priors, after a power transformation."""
    model = [
        ("Dep. variable:", results.model.endog_names),
        ("Family:", "boxcox"),
        ("Method:", results.method),
        ("Powers averaged:", str(len(results.parts.powers))),
    ]
    numbers: dict[str, float | str] = {"Log evidence:": results.log_evidence}
    if np.isfinite(results.log_evidence_integrated):
        numbers["Log evidence, integrated:"] = results.log_evidence_integrated
    frame, p, ends = results.summary_frame(alpha), len(results.model.exog_names), summary.interval_headers(alpha)
    best = results.parts.fits[results.parts.best]
    called = curve_names(best)
    rows = [summary.estimate_row(called.get(name, name), row[:_PLAIN]) for name, row in summary.frame_rows(frame)]
    slopes = [summary.estimate_row(name, row) for name, row in slope_rows(best, alpha)]
    power = results.power_interval(1.0 - alpha)
    held = "(fixed)" if power["se"] == 0.0 else number(power["se"])
    rows.append(["power", number(power["estimate"]), held, "", "", number(power["lower"]), number(power["upper"])])
    columns = ["std err", "z", "P>|z|", *ends]
    sections = [Section(["", "coef", *columns], rows[:p] + slopes), Section(["", "value", *columns], rows[p:])]
    notes = [] if results.converged else ["NOT CONVERGED: read no number here as final."]
    notes += scale_notes(results)
    notes.append(
        f"Coefficients and hyper-parameters are those at the power {results.power:.3g}; predictions average over the "
        "powers."
    )
    title = summary.model_title(results, "Gaussian process" if results.parts.spec.gps else "regression", positive=True)
    return summary.build_summary(results, title, model, numbers, sections, notes)


def scale_notes(results: BoxCoxResults | BoxCoxGPResults) -> list[str]:
    """On which scale estimates are, and what lies beyond the end of the transformed one."""
    notes = ["Coefficients and sigma are on the scale of (y^power - 1) / power."]
    mass = results.mass_beyond()
    if np.isfinite(mass) and mass > 1e-4:
        what = "the response is 0" if results.power > 0.0 else "the response has no finite value"
        notes.append(f"The probability that {what} is {mass:.2g}, averaged over the rows.")
    powers = results.parts.powers if hasattr(results.parts, "powers") else [results.power]
    if min(powers) < 0.0:
        notes.append("Means of the response are infinite, since a power is negative; medians and quantiles are not.")
    return notes
