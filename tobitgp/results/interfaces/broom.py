"""Tables of a fit with the column names of R's package broom."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from tobitgp.data.arrays import CensoredResponse
from tobitgp.formula.linear_terms import mentions
from tobitgp.formula.spec import CODES, Expression, ModelSpec
from tobitgp.results.predict import check_probability
from tobitgp.results.why_not import WHY_NOT, known_facts, reason_of
from tobitgp.typing import IntArray

TIDY = ("term", "estimate", "std.error", "statistic", "p.value", "conf.low", "conf.high")


def tidy(results: Any, *, conf_level: float = 0.95, exponentiate: bool = False) -> pd.DataFrame:
    """Parameters in the columns of broom's ``tidy()``.

    Parameters
    ----------
    conf_level : float
        Probability of the intervals.
    exponentiate : bool
        Whether coefficients and their limits are exponentials: ratios of hazards or times.

    Returns
    -------
    DataFrame
        A row for each parameter; columns ``term, estimate, std.error, statistic, p.value, conf.low, conf.high`` in the
        user's units, NaN where a fit has no such number. Standard errors are those of the coefficients themselves.

    Raises
    ------
    SpecError
        If ``conf_level`` does not lie between 0 and 1.

    References
    ----------
    D. Robinson, A. Hayes and S. Couch, *broom: convert statistical objects into tidy tibbles*, methods of ``survreg``
    and ``coxph``; (REG8) and (PRE3) of the theory pages.

    Examples
    --------
    >>> import tobitgp as tg
    >>> res = tg.fit("durable ~ age | censor(0)", tg.datasets.load("tobin"), fixed={"sigma": 5.0})
    >>> res.tidy()[["term", "estimate", "std.error", "p.value"]].round(2)
            term  estimate  std.error  p.value
    0  Intercept      5.12       9.04     0.57
    1        age     -0.14       0.19     0.46
    2      sigma      5.00       0.00      NaN
    """
    level = check_probability("conf_level", conf_level)
    if reason_of(WHY_NOT["bse"], known_facts(results)) is None:
        frame = results._parameter_frame(1.0 - level).iloc[:, : len(TIDY) - 1]
    else:
        frame = results.params.to_frame().reindex(columns=range(len(TIDY) - 1))
        frame[0] = results.params
    out = frame.set_axis(list(TIDY[1:]), axis=1).set_axis(pd.Index(results._names, name="term")).reset_index()
    if exponentiate:
        columns, p = ["estimate", "conf.low", "conf.high"], len(results._columns)
        out.loc[: p - 1, columns] = np.exp(out.loc[: p - 1, columns])
    return out


def glance(results: Any) -> pd.DataFrame:
    """The fit in one row, in the columns of broom's ``glance()``, the same for every kind.

    Returns
    -------
    DataFrame
        One row; columns ``nobs`` and ``nevent`` (all and uncensored observations, by their weights; the second is NaN
        of a weighted fit without its rows), ``df`` (estimated parameters), ``df.residual``, ``logLik``, ``AIC``,
        ``BIC`` in nats and on the scale of deviances, ``sigma`` on the scale of the location, ``logEvidence`` in nats,
        ``method`` and ``converged``; NaN where a fit has no such number.

    References
    ----------
    D. Robinson, A. Hayes and S. Couch, *broom: convert statistical objects into tidy tibbles*, methods of ``lm``,
    ``survreg`` and ``coxph``; (REG2) of the theory pages.

    Examples
    --------
    >>> import tobitgp as tg
    >>> res = tg.fit("durable ~ age | censor(0)", tg.datasets.load("tobin"))
    >>> res.glance()[["nobs", "nevent", "df", "df.residual", "logLik", "AIC"]].round(2)
       nobs  nevent   df  df.residual  logLik    AIC
    0  20.0     7.0  3.0         17.0  -29.23  64.46
    """

    def known(name: str) -> float:
        return float(getattr(results, name, np.nan))

    variance = known("scale") if "sigma" in results._names else np.nan
    values = {
        "nobs": results.nobs,
        "nevent": _number_uncensored(results),
        "df": results._n_units - known("df_resid"),
        "df.residual": known("df_resid"),
        "logLik": known("llf"),
        "AIC": known("aic"),
        "BIC": known("bic"),
        "sigma": float(np.sqrt(variance)),
        "logEvidence": known("log_evidence"),
        "method": results.method,
        "converged": results.converged,
    }
    return pd.DataFrame([values])


def _number_uncensored(results: Any) -> float:
    """Weights of the uncensored rows, summed, of all responses."""
    if hasattr(results, "responses"):
        return float(sum(_number_uncensored(results[name]) for name in results.responses))
    facts, training = results.parts.facts, results.parts.training
    if training is not None:
        return float(training.response.weight[training.response.lower == training.response.upper].sum())
    return float(facts.counts["exact"]) if facts.nobs == facts.n else np.nan


def augment(results: Any) -> pd.DataFrame:
    """Response and covariates of the training rows used, with fitted values and residuals, as broom's ``augment()``.

    Returns
    -------
    DataFrame
        Indexed by the labels of the data: the response and the columns of its censoring, named as in the formula,
        covariates, ``.fitted``, the mean of the response before censoring or, where times have no mean, its median,
        ``.se.fit``, both in units of the response, ``.resid``, the response less its mean or martingale residuals,
        dimensionless numbers, and ``.std.resid``, quantile residuals in standard deviations. Censored values are
        their limits, and flags are the codes of the formula, such as 1 for an event. Several responses follow each
        other, named in the column ``response``, with their values in ``value``.

    Raises
    ------
    SpecError
        If the fit holds no training rows.

    References
    ----------
    D. Robinson, A. Hayes and S. Couch, *broom: convert statistical objects into tidy tibbles*, method of ``survreg``;
    (PRE1) and (REG12) of the theory pages.

    Examples
    --------
    >>> import tobitgp as tg
    >>> res = tg.fit("durable ~ age | censor(0)", tg.datasets.load("tobin"))
    >>> res.augment().head(2).round(2)
       durable   age  .fitted  .se.fit  .resid  .std.resid
    0      0.0  57.7    -3.91     3.41   -2.53        0.43
    1      0.7  50.9    -2.80     2.34    3.50        0.59
    """
    if hasattr(results, "responses"):
        fits = {name: results[name] for name in results.responses}
        values = {name: {fit.parts.spec.response.value.label: "value"} for name, fit in fits.items()}
        each = [_augmented(fit).rename(columns=values[name]).assign(response=name) for name, fit in fits.items()]
        return pd.concat(each)
    return _augmented(results)


def _augmented(results: Any) -> pd.DataFrame:
    """The same of one response."""
    has_mean = reason_of(WHY_NOT["resid"], known_facts(results)) is None
    fitted = results.predict(what="uncensored" if has_mean else "median", se=True)
    columns = {
        ".fitted": fitted["estimate"],
        ".se.fit": fitted["se"],
        ".resid": results.residuals("response" if has_mean else "martingale"),
        ".std.resid": results.residuals("quantile"),
    }
    rows = results.parts.rows
    found = pd.DataFrame({name: column.to_numpy()[rows.kept] for name, column in columns.items()}, index=rows.labels)
    covariates, response = results.parts.covariates, response_columns(results.parts)
    if covariates is not None:
        found = pd.concat([covariates.set_axis(rows.labels), found], axis=1)
    own = {name: values for name, values in response.items() if name not in found}
    return pd.concat([pd.DataFrame(own, index=rows.labels), found], axis=1)


_INTERVAL = 2  # among the kinds of ``CODES``


def response_columns(parts: Any) -> dict[str, Any]:
    """Columns (n,) of the rows used: values or limits, ends of intervals, entries, and codes of events or censoring."""
    found = _of_spec(parts.spec, parts.rows.response)
    if not hasattr(parts, "fits"):
        return found
    del found[parts.spec.response.flag.expression.label]  # whether it is the first of several causes
    causes = np.array([parts.censored, *parts.fits], dtype=object)[parts.seen.code]
    return {**found, parts.column: pd.Series(causes).infer_objects().to_numpy()}


def _of_spec(spec: ModelSpec, seen: CensoredResponse) -> dict[str, Any]:
    """The columns of one response."""
    response, kind = spec.response, _kinds(seen)
    found: dict[Expression | None, Any] = {}
    if response.kind == "surv" and spec.truncation is not None:
        found[spec.truncation.lower] = seen.entry
    if response.kind == "interval":
        found |= {response.value: seen.lower, response.upper: seen.upper}
    else:
        found[response.value] = np.where(kind < 0, seen.upper, seen.lower)
        found[spec.upper_end] = np.where(kind == _INTERVAL, seen.upper, np.nan)
    if spec.flag is not None:
        code = {of: code for code, of in CODES[spec.flag.codes].items()}
        found[spec.flag.expression] = np.array([code[k] for k in kind.tolist()], dtype=np.intp)
    columns = [variable.name for variable in spec.variables]
    named = {of.label: values for of, values in found.items() if of is not None}
    return {name: values for name, values in named.items() if any(mentions(name, column) for column in columns)}


def _kinds(seen: CensoredResponse) -> IntArray:
    """How each row is censored, as the kinds of ``CODES`` have it."""
    exact, below, above = seen.lower == seen.upper, np.isneginf(seen.lower), np.isposinf(seen.upper)
    return np.select([exact, below, above], [0, -1, 1], _INTERVAL).astype(np.intp)
