"""Pictures that every kind of results draws of itself."""

from __future__ import annotations

from typing import Any

from tobitgp.results.terms import term_columns


class Pictures:
    """Fit, terms and residuals."""

    _parts: Any

    @property
    def _drawn(self) -> Any:
        """The results themselves, as pictures see them."""
        return self

    def plot(self, ax: Any = None, *, x: str | None = None, interval: float | None = 0.95) -> Any:
        """Fit, data, limits and band, a panel for each input of a ``gp()`` term, without random intercepts.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Only where there is one panel.
        x : str, optional
            Input to show.
        interval : float or None
            Probability of the band.

        Returns
        -------
        matplotlib axes, or an array of them

        See Also
        --------
        tobitgp.report.plots.plot_fit : Says what is drawn.
        """
        from tobitgp.report.plots import plot_fit

        return plot_fit(self._drawn, term_columns(self._parts), ax, x=x, interval=interval)

    def plot_terms(self, *, interval: float | None = 0.95) -> Any:
        """Each term of f along its columns, with its band; see :func:`tobitgp.report.terms.plot_terms`."""
        from tobitgp.report.terms import plot_terms

        return plot_terms(self._drawn, term_columns(self._parts), interval=interval)

    def plot_residuals(self) -> Any:
        """Quantile residuals in two panels; see :func:`tobitgp.report.diagnostics.plot_residuals`."""
        from tobitgp.report.diagnostics import plot_residuals

        return plot_residuals(self._drawn)
