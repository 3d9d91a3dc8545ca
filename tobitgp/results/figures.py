"""Figures of a fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tobitgp.data.training_summary import NO_ROWS
from tobitgp.errors import SpecError
from tobitgp.results.fit import Fit
from tobitgp.results.paths import refuse_parts
from tobitgp.results.predict import check_flag, check_level, check_what
from tobitgp.results.survival import read_times
from tobitgp.results.terms import term_columns


def plot(results: Any, ax: Any = None, *, x: str | None = None, interval: float | None = 0.95) -> Any:
    """Draw the fit with its band, the data and their limits, a panel for each input of a ``gp()`` term.

    Random intercepts are left out.

    Parameters
    ----------
    ax : matplotlib axes, optional
        Axes to draw on if there is one panel; new axes by default.
    x : str, optional
        Input to show.
    interval : float or None
        Probability of the band, or None for no band.

    Returns
    -------
    matplotlib axes, or an array of them

    Raises
    ------
    SpecError
        If ``ax`` is not a matplotlib axes object, there are several panels for it, or ``x`` is not an input.

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


def plot_terms(results: Any, *, interval: float | None = 0.95, sharey: bool = True) -> Any:
    """Draw each term of f along each of its columns, with its band, on the scale of f.

    A column of numbers gives a curve with ticks at the data, a factor or group a point for each level, a process of two
    columns a surface, and a periodic term one period. Other columns of a term are held at their median or most frequent
    level, as the text above the panel states.

    Parameters
    ----------
    interval : float or None
        Probability of the bands.
    sharey : bool
        Give all curves and points one scale, so that terms can be compared.

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
    from tobitgp.report.term_figures import plot_terms

    strata = results.parts.strata
    terms = [term for term in term_columns(results.parts) if not (term[2] and strata.issuperset(term[2]))]
    return plot_terms(results, terms, interval=interval, sharey=check_flag("sharey", sharey))


EFFECTS = ("median", "mean", "quantile", "survival", "risk", "latent", "observed", "sigma", "cured")


def plot_effect(
    results: Fit,
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
    """Draw a prediction along one column, with its band, over the data.

    A column of numbers gives a curve, a factor a point with a bar for each level. Other columns are held at their
    median or most frequent level, as the text above the axes states; random effects are left out. Responses are drawn
    by type of censoring; if a probability is drawn, ticks at the bottom show the rows.

    Parameters
    ----------
    x : str, optional
        A column of the model; may be left out if there is only one.
    what : str
        ``"median"``, ``"mean"``, ``"quantile"``, ``"survival"`` or ``"risk"`` at ``times``, ``"latent"``,
        ``"observed"``, ``"sigma"`` or, for a cure model, ``"cured"``; with ``average`` a quantity of ``standardise()``.
    ax : matplotlib axes, optional
        Axes to draw on; new axes by default.
    times : float or list of float, optional
        Times of survival and risk, on the scale of the response: a curve for each.
    q : float or list of float, optional
        Orders of quantiles, between 0 and 1: a curve for each.
    by : str, optional
        A factor of up to eight levels: a curve for each.
    at : dict, optional
        Values at which to hold other columns.
    average : bool
        Average the prediction over the rows of the fit, with ``x`` set to each value, by ``standardise()``.
    interval : float or None
        Probability of the pointwise intervals.

    Returns
    -------
    matplotlib axes

    Raises
    ------
    SpecError
        If ``x`` or ``by`` is not a column, ``times`` or ``q`` are missing or unnecessary, more than eight curves are
        requested, the fit does not support the prediction, or the fit holds no training rows.

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
    from tobitgp.report.effect import EffectFigure, plot_effect

    if results.parts.covariates is None:
        raise SpecError(f"{NO_ROWS}, so there is nothing to draw; use predict() with new data.")
    if x is None:
        columns = list(map(str, results.parts.covariates.columns))
        if len(columns) != 1:
            raise SpecError(
                f"plot_effect() requires x=, the column along which to draw. This model has "
                f"{', '.join(columns) or 'none'}."
            )
        x = columns[0]
    if check_flag("average", average):
        refuse_parts(results, "use standardise() with df=")
    else:
        what = check_what(what, EFFECTS, " of an effect")
    if (times is None) == (what in ("survival", "risk") or (average and what == "rmst")):
        raise SpecError(f"what={what!r} {'requires' if times is None else 'takes no'} times=.")
    if not isinstance(at, Mapping | None):
        raise SpecError(f"at={at!r}: at must be a dict of columns and their values.")
    asked: dict[str, Any] = {} if times is None else {"times": read_times(times)}
    asked |= {} if q is None else {"q": q}
    if average and q is not None:
        raise SpecError("q= requires what='quantile' without average=.")
    level = check_level(interval)
    return plot_effect(EffectFigure(results, x, what, asked, by, dict(at or {}), average, level), ax)


def plot_forest(
    results: Fit, hazard_ratios: bool | None = None, terms: Any = None, *, alpha: float = 0.05, ax: Any = None
) -> Any:
    """Forest plot: coefficients or hazard ratios with their intervals, a row for each.

    Factors have a row without a bar for their reference level. A process has a row for each of its inputs, which
    compares the 90% quantile of the training inputs with the 10% quantile. The numbers are printed on the right.

    Parameters
    ----------
    hazard_ratios : bool, optional
        Hazard ratios (odds ratios of log-logistic times) on a logarithmic axis, or coefficients. By default models of
        hazards show ratios, all others coefficients.
    terms : str or list of str, optional
        Terms of the formula, or columns of the linear part; by default all except random effects and the intercept.
    alpha : float
        Significance level: intervals have probability ``1 - alpha``.
    ax : matplotlib axes, optional
        Axes to draw on; new axes by default.

    Returns
    -------
    matplotlib axes

    Raises
    ------
    SpecError
        As for ``hazard_ratios()``, or if ``ax`` is not a matplotlib axes object.

    Warns
    -----
    ApproximationWarning
        As for ``hazard_ratios()``, if ratios are drawn. Ratios that are 0 or infinite are drawn at the edge of the
        axis.

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

    ratios = results._shows_ratios if hazard_ratios is None else hazard_ratios
    return plot_forest(results, ratios, terms, alpha=alpha, ax=ax)


def forest_rows(results: Fit, terms: Any, alpha: float, *, ratios: bool) -> list[Any]:
    """Rows of a forest plot from its top."""
    from tobitgp.report.forest import forest_rows

    return forest_rows(results, terms, alpha, ratios=ratios)


def plot_residuals(results: Any) -> Any:
    """Draw quantile residuals against the fit, and against normal quantiles with a 95% envelope.

    Residuals of censored rows are drawn at random from their range of probability, and shown as triangles.

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
    from tobitgp.report.residual_figures import plot_residuals

    return plot_residuals(results)


def plot_evidence(results: Fit, ax: Any = None) -> Any:
    """Draw the log posterior density of the hyper-parameters after each stage of the search.

    For a mixture, draw the evidence for each number of components tried, or, for a single number, the ascent of the
    bound.

    Parameters
    ----------
    ax : matplotlib axes, optional
        Axes to draw on; new axes by default.

    Returns
    -------
    matplotlib axes

    Raises
    ------
    SpecError
        If ``ax`` is not a matplotlib axes object, or the fit has no history.

    Examples
    --------
    >>> import tobitgp as tg
    >>> res = tg.fit("durable ~ age | censor(0)", tg.datasets.load("tobin"), method=tg.EP(hyper="maximize"))
    >>> ax = res.plot_evidence()
    >>> ax.get_ylabel()
    'log posterior density'
    """
    from tobitgp.report.mixture_summary import plot_mixture_evidence
    from tobitgp.report.residual_figures import plot_evidence

    draw: Any = plot_evidence if results.parts.spec.mixture is None else plot_mixture_evidence
    return draw(results, ax)


def plot_history(results: Fit, ax: Any = None) -> Any:
    """Draw the path of the bound, or of the log likelihood by maximum likelihood, as in ``fit_history``.

    With ``method="svbcm"``, draw the path along the stochastic steps and a line at the value after the passes.

    Parameters
    ----------
    ax : matplotlib axes, optional
        Axes to draw on; new axes by default.

    Returns
    -------
    matplotlib axes

    Raises
    ------
    SpecError
        If ``ax`` is not a matplotlib axes object.

    References
    ----------
    Kohjima, Matsubayashi and Toda (2019), Variational Bayes for mixture models with censored data, ECML PKDD,
    figure 5.

    Examples
    --------
    >>> import tobitgp as tg
    >>> data = tg.datasets.simulate_kohjima("gmm")
    >>> res = tg.fit("y ~ mixture(2) | censor(lower, upper)", data, method=tg.SVBCM(n_steps=200))
    >>> ax = res.plot_history()
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('stochastic step', 'ELBO')
    """
    from tobitgp.report.mixture_summary import plot_mixture_history

    return plot_mixture_history(results, ax)


def plot_components(results: Fit, ax: Any = None) -> Any:
    """Draw the mixture and its components over the data.

    Parameters
    ----------
    ax : matplotlib axes, optional
        Axes to draw on; new axes by default.

    Returns
    -------
    matplotlib axes

    Raises
    ------
    SpecError
        If ``ax`` is not a matplotlib axes object, or the fit holds no training rows.

    Examples
    --------
    >>> import tobitgp as tg
    >>> res = tg.fit("Surv(time, event) ~ mixture(2)", tg.datasets.load("lung"), family="weibull")
    >>> ax = res.plot_components()
    >>> len(ax.get_legend_handles_labels()[1])
    5
    """
    from tobitgp.report import mixture_summary

    return mixture_summary.plot_components(results, results._training_ends(), results._parts.rows.response, ax)


def plot_quantile_residuals(results: Fit, ax: Any = None) -> Any:
    """Draw quantile residuals against normal quantiles, with a 95% envelope.

    Parameters
    ----------
    ax : matplotlib axes, optional
        Axes to draw on; new axes by default.

    Returns
    -------
    matplotlib axes

    Raises
    ------
    SpecError
        If ``ax`` is not a matplotlib axes object, or the fit holds no training rows.

    Examples
    --------
    >>> import tobitgp as tg
    >>> res = tg.fit("Surv(time, event) ~ mixture(2)", tg.datasets.load("lung"), family="weibull")
    >>> ax = res.plot_residuals()
    >>> ax.get_xlabel()
    'normal quantile'
    """
    from tobitgp.report.mixture_summary import plot_scores

    return plot_scores(results, ax)
