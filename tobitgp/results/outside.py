"""Names under which maketables looks for the numbers of a fit."""

from __future__ import annotations

from typing import Any

import pandas as pd


class PluginHooks:
    """The plug-in protocol of maketables 0.2; :mod:`tobitgp.report.maketables` has what it hands on."""

    @property
    def _fit(self) -> Any:
        return self

    @property
    def __maketables_coef_table__(self) -> pd.DataFrame:
        from tobitgp.report.maketables import coef_table

        return coef_table(self._fit)

    def __maketables_stat__(self, key: str) -> float | int | str | None:
        from tobitgp.report.maketables import stat

        return stat(self._fit, key)

    @property
    def __maketables_depvar__(self) -> str:
        return str(self._fit.model.endog_names)

    @property
    def __maketables_vcov_info__(self) -> dict[str, str]:
        from tobitgp.report.maketables import error_type

        return {"vcov_type": error_type(self._fit)}

    @property
    def __maketables_stat_labels__(self) -> dict[str, str]:
        from tobitgp.report.maketables import STAT_LABELS

        return dict(STAT_LABELS)

    @property
    def __maketables_default_stat_keys__(self) -> list[str]:
        from tobitgp.report.maketables import default_stats

        return default_stats(self._fit)

    def to_maketables(self) -> PluginHooks:
        """The fit as ``maketables.ETable`` shows it with its counts of censored rows and its evidence or likelihood.

        ``ETable([res])`` works too, but takes whatever has ``params``, ``bse`` and ``pvalues`` for a fit of
        statsmodels, and shows coefficients and the number of observations alone.

        Returns
        -------
        object with maketables' hooks
            To be put in the list of ``ETable``.

        Examples
        --------
        >>> import tobitgp as tg
        >>> res = tg.fit("durable ~ age | censor(0)", tg.datasets.load("tobin"), fixed={"sigma": 5.0})
        >>> view = res.to_maketables()
        >>> view.__maketables_stat__("left"), view.__maketables_coef_table__["b"].round(2).to_dict()
        (13, {'Intercept': 5.12, 'age': -0.14, 'sigma': 5.0})
        """
        return _View(self._fit)


class _View(PluginHooks):
    def __init__(self, fit: Any):
        self._held = fit

    @property
    def _fit(self) -> Any:
        return self._held
