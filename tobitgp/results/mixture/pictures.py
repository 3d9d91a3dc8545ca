"""Pictures that a mixture draws of itself."""

from __future__ import annotations

from typing import Any

from tobitgp.results.mixture.parts import MixtureParts, training_ends


class MixturePictures:
    """Components, evidence and residuals."""

    _parts: MixtureParts

    @property
    def _pictured(self) -> Any:
        """The results themselves, as pictures see them."""
        return self

    def plot_components(self, ax: Any = None) -> Any:
        """The mixture and its components over the data.

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
            If ``ax`` is no matplotlib axes, or the fit holds no training rows.

        Examples
        --------
        >>> import tobitgp as tg
        >>> res = tg.fit("Surv(time, event) ~ mixture(2)", tg.datasets.load("lung"), family="weibull")
        >>> ax = res.plot_components()
        >>> len(ax.get_legend_handles_labels()[1])
        5
        """
        from tobitgp.report.mixture_plots import plot_components

        return plot_components(self._pictured, training_ends(self._parts), ax)

    plot = plot_components

    def plot_evidence(self, ax: Any = None) -> Any:
        """Evidence of the numbers of components tried, or of one number the ascent of its bound.

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
            If ``ax`` is no matplotlib axes.

        Examples
        --------
        >>> import tobitgp as tg
        >>> res = tg.fit("Surv(time, event) ~ mixture(2)", tg.datasets.load("lung"), family="weibull")
        >>> ax = res.plot_evidence()
        >>> ax.get_xlabel()
        'accepted pass of the last ascent'
        """
        from tobitgp.report.mixture_plots import plot_mixture_evidence

        return plot_mixture_evidence(self._pictured, ax)

    def plot_residuals(self, ax: Any = None) -> Any:
        """Quantile residuals against normal quantiles, with a 95% envelope.

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
            If ``ax`` is no matplotlib axes, or the fit holds no training rows.

        Examples
        --------
        >>> import tobitgp as tg
        >>> res = tg.fit("Surv(time, event) ~ mixture(2)", tg.datasets.load("lung"), family="weibull")
        >>> ax = res.plot_residuals()
        >>> ax.get_xlabel()
        'normal quantile'
        """
        from tobitgp.report.mixture_plots import plot_scores

        return plot_scores(self._pictured, ax)
