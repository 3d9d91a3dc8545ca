"""Notes and titles of summaries, from what a fit states."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.special import chdtrc

from tobitgp.numerics.bordered import variances
from tobitgp.results.fit import Fit
from tobitgp.results.parameter_tables import parameter_frame
from tobitgp.results.words import (
    CENSORED,
    ROBUST,
    LabelledValues,
    Notes,
    SummaryTable,
    Words,
    not_converged,
    noted,
    rows_of,
    tail,
    untested,
)

# As names of distributions are written in the middle of a title, where not as families are named.
_SPELLINGS = {
    "boxcox": "Box-Cox",
    "gaussian": "Gaussian",
    "poisson": "Poisson",
    "weibull": "Weibull",
    "lognormal": "log-normal",
    "loglogistic": "log-logistic",
}


def row_notes(results: Fit, *, times: bool = False) -> Notes:
    """Notes on the rows: their censoring, weights, durations, truncation, and times that may be negative."""
    found = [*censoring_note(results), *weights_note(results), *response_notes(results)]
    return noted("rows", [*found, *(times_note(results) if times else ())])


class ParameterGroup(NamedTuple):
    """Parameters of one table by place, since names may occur twice, and those whose exponentials have a table."""

    heading: str
    places: Sequence[int]
    ratio: str = ""  # heading of the exponentials; none without
    ratios: Sequence[int] = ()
    tested: bool = True  # whether 0 is a value of these parameters, as of coefficients


DISTRIBUTION = "Distribution"  # heading of what is no coefficient


def likelihood_words(
    results: Fit,
    alpha: float,
    title: str,
    facts: LabelledValues,
    groups: Sequence[ParameterGroup],
    notes: Notes,
    *,
    formulas: Mapping[str, str] | None = None,
    errors: str = "from the observed information",
    tables: Sequence[SummaryTable] = (),
    of_ratios: str = "",
) -> Words:
    """Contents of the summary of a maximum of a likelihood, with the parts of its kind."""
    parts = results.parts
    rows = rows_of(parameter_frame(results, alpha), slice(6))
    bound = ~parts.maximum.free & np.isnan(parts.given_values)
    found = []
    for group in groups:
        unknown = {rows[i][0]: "(at bound)" for i in group.places if bound[i]}
        own = [rows[i] for i in group.places]
        estimates = ("coef", own) if group.tested else ("estimate", untested(own))
        found.append(SummaryTable(group.heading, estimates[1], estimates[0], unknown))
        with np.errstate(over="ignore"):
            ratios = [(name, np.exp(row[[0, 4, 5]])) for name, row in (rows[i] for i in group.ratios)]
        found.append(SummaryTable(group.ratio, ratios, "exp(coef)"))
    null = results.llnull if results._knows_null else np.nan
    details = [("Iterations:", str(parts.maximum.iterations))]
    details += [("Log-likelihood, intercept only:", f"{null:.3f}")] * bool(np.isfinite(null))
    return Words(
        title,
        facts,
        [*found, *tables],
        [*noted("warning", _message(results)), *notes, *noted("errors", _errors(results, errors))],
        formulas or {},
        details,
        _ratio_test(results, null),
        of_ratios=of_ratios,
        family=parts.family_words.partition(",")[0] + known_shape(parts.family),
    )


def _ratio_test(results: Fit, null: float) -> LabelledValues:
    """Likelihood-ratio test against an intercept only, where one is valid."""
    parts = results.parts
    free = dict(zip(parts.names[::-1], parts.maximum.free[::-1].tolist(), strict=True))  # columns precede parameters
    df, nested = len(parts.slopes), all(free[name] for name in parts.slopes)
    if not (df and nested and np.isfinite(null)) or results._of_sample or parts.cov_type != "nonrobust":
        return []
    chi2 = max(2.0 * (results.llf - null), 0.0)
    return [(f"LR chi2, df = {df}:", f"{chi2:.3f}"), ("P>chi2:", tail(float(chdtrc(df, chi2))))]


def known_shape(family: Any) -> str:
    """The shape of a family where it is known, as in ``" (df = 4)"``."""
    shape = None if family.estimate_shape else family.distribution.shape_name
    return "" if shape is None else f" ({shape} = {getattr(family.distribution, shape):.4g})"


def _message(results: Fit) -> list[str]:
    """Message of the search about its end, if that is not an ordinary maximum."""
    maximum = results.parts.maximum
    if results.converged:
        return [] if maximum.message == "converged" else [maximum.message]
    if variances(maximum.unidentified).any():
        rest = "All other estimates are limits with their standard errors; those of diverging parameters are NaN."
        return [f"NOT CONVERGED: {maximum.message} {rest}"]
    return [not_converged(maximum.message)]


def _errors(results: Fit, errors: str) -> list[str]:
    """Note on the source of standard errors and the scale of intervals."""
    parts = results.parts
    names = [name for name, log in zip(parts.scale_names, parts.positive, strict=True) if log]
    names = list(dict.fromkeys(name.partition("[")[0] for name in names))
    of = "; the interval of {} is" if len(names) == 1 else "; intervals of {} are"
    listed = " and ".join([*[", ".join(names[:-1])] * (len(names) > 1), *names[-1:]])
    logs = of.format(listed) + " formed on the log scale" if names else ""
    return [f"Standard errors are {ROBUST.get(results.parts.cov_type, errors)}{logs}."]


def ratio_words(results: Fit) -> str:
    """Note on the definition of hazard or odds ratios of a log-time family."""
    conditional = any(not term.factors for term in results.model.spec.gps)
    words = "Odds ratios of surviving any time are exp(coef / sigma)"
    if results.parts.family.distribution.exponential_hazard:
        words = "Hazard ratios are exp(-coef / sigma), the same at all times"
    given = " They are conditional on the random effects." if conditional else ""
    return f"{words}; those of processes compare the inputs named.{given}"


def power_notes(results: Any, powers: Sequence[float]) -> Notes:
    """On which scale estimates after a power transformation are, and what lies beyond the end of that scale."""
    notes = noted("scale", ["Coefficients and sigma are on the scale of (y^power - 1) / power."])
    mass, found = results.mass_beyond(), []
    if np.isfinite(mass) and mass > 1e-4:
        what = "the response is 0" if results.power > 0.0 else "the response has no finite value"
        found.append(f"The probability that {what} is {mass:.2g}, averaged over the rows.")
    if min(powers) < 0.0:
        found.append(
            "Means of the response are infinite because a power is negative; medians and quantiles are finite."
        )
    return [*notes, *noted("predictions", found)]


def scale_formula(results: Fit) -> dict[str, str]:
    """The formula of log sigma, where there is one."""
    scale = results.model.spec.scale
    return {} if scale is None else {"log(sigma):": scale.formula}


_OF_LINKS = {"hazard": "Proportional hazards", "odds": "Proportional odds", "probit": "Probit survival model"}


def hazard_title(link: str, added: str = "") -> str:
    """Title of a fit with a baseline and a link."""
    return f"{_OF_LINKS[link]} {added}".rstrip()


def model_title(results: Fit, model: str = "regression", *, positive: bool, added: str = "") -> str:
    """Title of a fit: "Censored regression", "Weibull survival model", "Censored log-normal regression".

    A family of ``positive`` responses is named, and is a survival model where the response is ``Surv(...)``.
    """
    spec, family = results.model.spec, results.parts.family.name
    name = _SPELLINGS.get(family, family)
    if positive and spec.response.kind == "surv":
        words = [name, "mixture" * (model == "mixture"), "survival model"]
    else:
        censored, truncated = bool(results.counts[CENSORED].any()), spec.truncation is not None
        sample = " and ".join(["censored"] * censored + ["truncated"] * truncated)
        if model == "regression" and not sample and not positive:
            sample = "linear"
        words = [sample, name if positive or model == "mixture" else "", model]
    title = " ".join(filter(None, [*words, added]))
    return title[0].upper() + title[1:]


def censoring_note(results: Fit) -> list[str]:
    """Note on censored rows that a fit without censoring dropped or ignored."""
    censored, facts = int(results.counts[CENSORED].sum()), results.parts.facts
    if not censored:
        return ["No row is censored."]
    if facts.any_censored:
        return []
    dropped = facts.n == int(results.counts["exact"])
    how = "were left out (censored='drop')" if dropped else "were taken at their limits (censored='ignore')"
    return [f"{censored} censored rows {how}."]


def weights_note(results: Fit) -> list[str]:
    """Note on variance weights."""
    if results.parts.state.var_weight is None:
        return []
    name, mean = results.parts.state.var_weight
    of = f" ({name})" if name else ""
    return [
        f"Noise variance sigma^2 / w, with w = var_weights{of} / {mean:.4g}, their mean; sigma applies to a row "
        f"of average weight."
    ]


def times_note(results: Fit) -> list[str]:
    """Note that times of ``Surv(time, event)`` may be negative, unless the formula takes their logarithm."""
    response, family = results.model.spec.response, results.parts.family.name
    if response.flag is None or response.flag.codes != "event" or re.search(r"\blog\w*\(", response.value.text):
        return []
    name = {"gaussian": "normal"}.get(family, family)
    return [f"Times are modelled as {name}, and may be negative; family='weibull' or 'lognormal' keeps them positive."]


def response_notes(results: Fit) -> list[str]:
    """Notes on the response of the estimates with ``truncate(...)``, and on the unit of differences of dates."""
    spec = results.model.spec
    y, days = spec.response.value.text, spec.response.duration
    notes = [f"{days} is a duration in days."] if days else []
    if spec.truncation is not None and spec.response.kind == "value":
        notes.append(f"Estimates are of {y} before truncation; predict(what='observed') is its mean in the window.")
    return notes
