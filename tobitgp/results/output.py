"""Figures, files, pages and other programs' tables of a fit."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pandas as pd

from tobitgp.data.training_summary import NO_ROWS
from tobitgp.errors import DataError, SpecError
from tobitgp.results.predict import check_flag, check_level, check_what
from tobitgp.results.survival import read_times
from tobitgp.results.terms import term_columns

if TYPE_CHECKING:
    from tobitgp.results.results import Results


def plot(results: Any, ax: Any = None, *, x: str | None = None, interval: float | None = 0.95) -> Any:
    """Fit, data, limits and band, a panel for each input of a ``gp()`` term, without random intercepts.

    Parameters
    ----------
    ax : matplotlib axes, optional
        To draw on, where there is one panel; new ones without.
    x : str, optional
        Input to show.
    interval : float or None
        Probability of the band.

    Returns
    -------
    matplotlib axes, or an array of them

    Raises
    ------
    SpecError
        If ``ax`` is no matplotlib axes, there are several panels for it, or ``x`` is no input.

    Examples
    --------
    >>> import tobitgp as tg
    >>> res = tg.fit("durable ~ age | censor(0)", tg.datasets.load("tobin"), method="ep", fixed={"sigma": 5.0})
    >>> ax = res.plot()
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('age', 'durable')
    """
    from tobitgp.report.plots import plot_fit

    return plot_fit(results, term_columns(results.parts), ax, x=x, interval=interval)


def plot_terms(results: Any, *, interval: float | None = 0.95) -> Any:
    """Each term of f along each of its columns, with its band.

    A column of numbers gives a curve over ticks at the data, a factor or a group a point for each level, a process
    of two columns a surface. What else a term depends on is held at its median, or most frequent level, as a line
    above the panel says.

    Parameters
    ----------
    interval : float or None
        Probability of the bands.

    Returns
    -------
    matplotlib axes, or an array of them, one for each panel

    Raises
    ------
    SpecError
        If there is no term to draw, the fit holds no training rows, or for an interval outside (0, 1).

    Examples
    --------
    >>> import tobitgp as tg
    >>> res = tg.fit("durable ~ age + quant | censor(0)", tg.datasets.load("tobin"))
    >>> [ax.get_xlabel() for ax in res.plot_terms()]
    ['age', 'quant']
    """
    from tobitgp.report.terms import plot_terms

    return plot_terms(results, term_columns(results.parts), interval=interval)


EFFECTS = ("median", "mean", "quantile", "survival", "risk", "latent", "observed", "sigma", "cured")


def plot_effect(
    results: Results,
    x: str | None = None,
    what: str = "median",
    ax: Any = None,
    *,
    times: Any = None,
    q: float | Sequence[float] | None = None,
    by: str | None = None,
    at: Mapping[str, Any] | None = None,
    average: bool = False,
    interval: float | None = 0.95,
) -> Any:
    """A predicted number along one column, with its band, over what is known of the rows.

    A column of numbers gives a curve, a factor a point with a bar for each level. Other columns are held at their
    median, or most frequent level, as a line above the axes says; random effects are left out. Responses of the rows
    are drawn by kind of censoring; where a probability is drawn, ticks at the bottom stand for them.

    Parameters
    ----------
    x : str, optional
        A column of the model; its only one without.
    what : str
        ``"median"``, ``"mean"``, ``"quantile"``, ``"survival"`` or ``"risk"`` at ``times``, ``"latent"``,
        ``"observed"``, ``"sigma"`` or, of a cure model, ``"cured"``; with ``average`` one that :meth:`standardise` has.
    ax : matplotlib axes, optional
        To draw on; new ones without.
    times : float or list of float, optional
        Of survival and risk, on the scale of the response: a curve for each.
    q : float or list of float, optional
        Orders of quantiles, between 0 and 1: a curve for each.
    by : str, optional
        A factor of up to eight levels: a curve for each.
    at : dict, optional
        Values at which other columns are held instead.
    average : bool
        Average the number over the rows of the fit, all of which are given a value of ``x``, by :meth:`standardise`.
    interval : float or None
        Probability of the pointwise intervals.

    Returns
    -------
    matplotlib axes

    Raises
    ------
    SpecError
        If ``x`` or ``by`` is no column, ``times`` or ``q`` are lacking or needless, more than eight curves are asked
        for, the kind of fit has no such prediction, or the fit holds no training rows.

    References
    ----------
    F. E. Harrell (2015), *Regression Modeling Strategies*, 2nd ed., section 5.1: partial effects, rms' ``Predict()``.

    Examples
    --------
    >>> import tobitgp as tg
    >>> res = tg.fit("Surv(time, event) ~ gp(age) + C(sex)", tg.datasets.load("lung"), family="weibull")
    >>> ax = res.plot_effect("age", "survival", times=[180, 365])
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('age', 'P(time > t)')
    """
    from tobitgp.report.effect import Effect, plot_effect

    if results.parts.covariates is None:
        raise SpecError(f"{NO_ROWS}, so there is nothing to draw; use predict() with new data.")
    if x is None:
        columns = list(map(str, results.parts.covariates.columns))
        if len(columns) != 1:
            raise SpecError(
                f"plot_effect() takes the column along which to draw; this model has {', '.join(columns) or 'none'}."
            )
        x = columns[0]
    if not check_flag("average", average):
        what = check_what(what, EFFECTS, " of an effect")
    if (times is None) == (what in ("survival", "risk") or (average and what == "rmst")):
        raise SpecError(f"what={what!r} {'needs' if times is None else 'takes no'} times=.")
    if not isinstance(at, Mapping | None):
        raise SpecError(f"at={at!r}: a dict of columns and their values is needed.")
    asked: dict[str, Any] = {} if times is None else {"times": read_times(times)}
    asked |= {} if q is None else {"q": q}
    if average and q is not None:
        raise SpecError("q= goes with what='quantile' without average=.")
    level = check_level(interval)
    return plot_effect(Effect(results, x, what, asked, by, dict(at or {}), average, level), ax)


def plot_forest(
    results: Results, hazard_ratios: bool = False, terms: Any = None, *, alpha: float = 0.05, ax: Any = None
) -> Any:
    """Coefficients or hazard ratios with their intervals, a row for each.

    Factors have a row without a bar for their reference level. A process has a row for each of its inputs: its value
    below which 90% of the training inputs lie against that below which 10% lie. Numbers stand at the right.

    Parameters
    ----------
    hazard_ratios : bool
        Hazard ratios (odds ratios of log-logistic times) on a logarithmic axis, not coefficients.
    terms : str or list of str, optional
        Terms of the formula, or columns of the linear part; without all but random effects and the intercept.
    alpha : float
        Probability left out of the intervals, between 0 and 1.
    ax : matplotlib axes, optional
        To draw on; new ones without.

    Returns
    -------
    matplotlib axes

    Raises
    ------
    SpecError
        As of :meth:`hazard_ratios`, or if ``ax`` is no matplotlib axes.

    References
    ----------
    Lewis and Clarke (2001), Forest plots: trying to see the wood and the trees, *BMJ* 322, 1479-1480.

    Examples
    --------
    >>> import tobitgp as tg
    >>> res = tg.fit("Surv(time, event) ~ age + C(sex)", tg.datasets.load("lung"), family="weibull")
    >>> ax = res.plot_forest(hazard_ratios=True)
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['age', 'C(sex): 1 (reference)', 'C(sex): 2']
    """
    from tobitgp.report.forest import plot_forest

    return plot_forest(results, hazard_ratios, terms, alpha=alpha, ax=ax)


def plot_residuals(results: Any) -> Any:
    """Quantile residuals against the fit, and against normal quantiles with a 95% envelope.

    Censored rows stand at a random point of their mass, and are drawn as triangles.

    Returns
    -------
    array of two matplotlib axes

    Raises
    ------
    SpecError
        If the fit holds no training rows.

    Examples
    --------
    >>> import tobitgp as tg
    >>> res = tg.fit("durable ~ age | censor(0)", tg.datasets.load("tobin"), fixed={"sigma": 5.0})
    >>> axes = res.plot_residuals()
    >>> [ax.get_xlabel() for ax in axes]
    ['estimate', 'normal quantile']
    """
    from tobitgp.report.residuals import plot_residuals

    return plot_residuals(results)


def plot_evidence(results: Results, ax: Any = None) -> Any:
    """Log posterior density of the hyper-parameters after each stage of the search.

    Of a mixture the evidence of the numbers of components tried, or of one number the ascent of its bound.

    Parameters
    ----------
    ax : matplotlib axes, optional
        To draw on; new ones without.

    Returns
    -------
    matplotlib axes

    Raises
    ------
    SpecError
        If ``ax`` is no matplotlib axes, or the fit has no history.

    Examples
    --------
    >>> import tobitgp as tg
    >>> res = tg.fit("durable ~ age | censor(0)", tg.datasets.load("tobin"), hyper="maximize")
    >>> ax = res.plot_evidence()
    >>> ax.get_ylabel()
    'log posterior density'
    """
    from tobitgp.report.mixture import plot_mixture_evidence
    from tobitgp.report.residuals import plot_evidence

    draw: Any = plot_evidence if results.parts.spec.mixture is None else plot_mixture_evidence
    return draw(results, ax)


PAGES = (".html", ".htm")


def save(results: Results, path: str | os.PathLike[str]) -> None:
    """Write the fit to one file, without its table of rows; :func:`tobitgp.load` reads it.

    The loaded fit answers about new rows as this one, bit for bit; what needs the training rows themselves, as
    ``residuals()``, does not work there. The same fit always gives the same bytes.

    Parameters
    ----------
    path : str or path
        Conventionally ending in ``.tgp``. An existing file is replaced, at once and as a whole.

    Raises
    ------
    DataError
        If the file cannot be written.
    SpecError
        If the fit holds something that has no place in the format.

    Examples
    --------
    >>> import tempfile
    >>> import tobitgp as tg
    >>> res = tg.fit("durable ~ age | censor(0)", tg.datasets.load("tobin"))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     res.save(f"{folder}/durable.tgp")
    ...     again = tg.load(f"{folder}/durable.tgp")
    >>> bool((again.predict({"age": [30.0]}) == res.predict({"age": [30.0]})).all())
    True
    """
    from tobitgp.storage import save

    save(results.parts, path)


def report(results: Results, path: str | os.PathLike[str], *, title: str | None = None) -> None:
    """Write one page of HTML: what was modelled, tables, figures, diagnostics, versions.

    The page needs no other file and no network. Of a fit without training rows it says what it cannot show.

    Parameters
    ----------
    path : str or path
        Ends in ``.html`` or ``.htm``. An existing file is replaced, at once and as a whole.
    title : str, optional
        The formula without.

    Raises
    ------
    SpecError
        If the name ends otherwise.
    DataError
        If the file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import tobitgp as tg
    >>> res = tg.fit("durable ~ age | censor(0)", tg.datasets.load("tobin"))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     res.report(f"{folder}/durable.html", title="Durable goods")
    ...     "<h1>Durable goods</h1>" in Path(folder, "durable.html").read_text(encoding="utf-8")
    True
    """
    from tobitgp.files import whole_file
    from tobitgp.report.page import make_page

    try:
        target = Path(path).expanduser()
    except TypeError:
        raise SpecError(f"report() writes a file, and {path!r} names none.") from None
    if title is not None and not isinstance(title, str):
        raise SpecError(f"title={title!r}: text is needed.")
    if target.suffix.lower() not in PAGES:
        raise SpecError(f"report() writes HTML, and {str(target)!r} ends otherwise; name a file that ends in .html.")
    if "\0" in str(target):
        raise DataError(f"{str(target)!r} cannot be written: a name holds no null character.")
    try:
        with whole_file(target) as file:
            file.write(make_page(cast(Any, results), title).encode("utf-8"))
    except OSError as error:
        raise DataError(f"{str(target)!r} cannot be written: {error.strerror or error}.") from error


STAT_LABELS = {
    "N": "Observations",
    "exact": "Exact",
    "left": "Left-censored",
    "right": "Right-censored",
    "interval": "Interval-censored",
    "log_evidence": "Log evidence",
    "evidence_kind": "Evidence kind",
    "elbo": "ELBO",
    "log_evidence_integrated": "Log evidence, integrated",
    "llf": "Log likelihood",
    "aic": "AIC",
    "bic": "BIC",
    "df_model": "Df model",
    "family": "Family",
    "method": "Method",
    "se_type": "S.E. type",
}
_OF_ROWS = ("N", "exact", "left", "right", "interval")


def default_stats(results: Results) -> list[str]:
    """Numbers below the coefficients unless others are asked for: counts, and the evidence or the likelihood."""
    return [*_OF_ROWS, *(("llf", "aic") if results.evidence_kind == "loglik" else ("log_evidence", "evidence_kind"))]


def error_type(results: Results) -> dict[str, str]:
    """Where the standard errors come from."""
    return {"vcov_type": str(getattr(results, "cov_type", "posterior sd"))}


def response(results: Results) -> str:
    """Name of the response."""
    return results.model.endog_names


def stat_labels(results: Results) -> dict[str, str]:
    """What the numbers below the coefficients are called."""
    return dict(STAT_LABELS)


def coef_table(results: Results) -> pd.DataFrame:
    """Estimates by name: columns ``b, se, t, p, ci95l, ci95u, ci90l, ci90u``.

    NaN where a number has no meaning: standard errors of fixed parameters, ``t`` and ``p`` of hyper-parameters.
    """
    wide, narrow = results.summary_frame(0.05), results.summary_frame(0.1)
    error = wide["std err"]
    columns = {
        "b": wide["coef"],
        "se": error.where(error > 0.0),
        "t": wide["z"],
        "p": wide["P>|z|"],
        "ci95l": wide["lower"],
        "ci95u": wide["upper"],
        "ci90l": narrow["lower"],
        "ci90u": narrow["upper"],
    }
    return pd.DataFrame(columns).rename_axis("Coefficient")


def stat(results: Results, key: str) -> float | int | str | None:
    """A number or word below the coefficients, None where there is no such thing."""
    words = {"family": results.parts.family.name, "method": results.method, "evidence_kind": results.evidence_kind}
    words |= {"se_type": error_type(results)["vcov_type"]}
    if key in words:
        return str(words[key])
    if key == "N":
        return results.nobs
    if key in _OF_ROWS:
        return int(results.counts[key])
    value = getattr(results, key, np.nan) if key in STAT_LABELS else np.nan
    return float(value) if np.isfinite(value) else None


def to_maketables(results: Results) -> Any:
    """The fit as ``maketables.ETable`` shows it with its counts of censored rows and its evidence or likelihood.

    ``ETable([res])`` takes a fit for one of statsmodels, and shows coefficients and the number of observations alone.

    Returns
    -------
    object with maketables' hooks, to be put in the list of ``ETable``

    Examples
    --------
    >>> import tobitgp as tg
    >>> res = tg.fit("durable ~ age | censor(0)", tg.datasets.load("tobin"), fixed={"sigma": 5.0})
    >>> view = res.to_maketables()
    >>> view.__maketables_stat__("left"), view.__maketables_coef_table__["b"].round(2).to_dict()
    (13, {'Intercept': 5.12, 'age': -0.14, 'sigma': 5.0})
    """
    return _Hooks(results)


class _Hooks:
    """A fit with nothing but maketables' hooks."""

    def __init__(self, results: Results):
        self._results = results

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__maketables_"):
            return getattr(self._results, name)
        raise AttributeError(name)
