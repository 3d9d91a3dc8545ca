"""Figures of a fit: curves, terms and residuals."""

from __future__ import annotations

from typing import Any

from tobitgp.results.terms import term_columns


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
    of two columns a surface. What else a term depends on is held at its median, or most frequent level, which a
    line above the panel says.

    Parameters
    ----------
    interval : float or None
        Probability of the bands.

    Returns
    -------
    matplotlib axes, or an array of them
        One for each panel.

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


def plot_residuals(results: Any) -> Any:
    """Quantile residuals against the fit, and against normal quantiles with a 95% envelope.

    Censored rows stand at a random point of their mass, and are drawn as triangles.

    Returns
    -------
    array of matplotlib axes
        Two.

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
