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

        Returns
        -------
        matplotlib axes

        See Also
        --------
        tobitgp.report.mixture_plots.plot_components : Says what is drawn.
        """
        from tobitgp.report.mixture_plots import plot_components

        return plot_components(self._pictured, training_ends(self._parts), ax)

    plot = plot_components

    def plot_evidence(self, ax: Any = None) -> Any:
        """Evidence of the numbers of components tried, or of one number the ascent of its bound.

        See :func:`tobitgp.report.mixture_plots.plot_mixture_evidence`.
        """
        from tobitgp.report.mixture_plots import plot_mixture_evidence

        return plot_mixture_evidence(self._pictured, ax)

    def plot_residuals(self, ax: Any = None) -> Any:
        """Quantile residuals against normal quantiles; see :func:`tobitgp.report.mixture_plots.plot_scores`."""
        from tobitgp.report.mixture_plots import plot_scores

        return plot_scores(self._pictured, ax)
