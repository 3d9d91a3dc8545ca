"""A mixture of lifetimes as a fitter of lifelines."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from tobitgp.errors import SpecError
from tobitgp.lifelines.fitter_input import check_method
from tobitgp.lifelines.results_fitter import ResultsFitter
from tobitgp.mixture.array_fit import resolve_mixture_family

_MOST = 6


class MixtureFitter(ResultsFitter):
    """A mixture of lifetimes, by variational Bayes, which is a parametric univariate fitter of lifelines.

    Curves are those of the predictive distribution, and their intervals those of ``results_``. Functions of lifelines
    take it as their own fitters. :func:`tobitgp.fit` makes the fit.

    Parameters
    ----------
    components : int, range, ``"select"`` or ``"dp"``
        The number of components, or the numbers to choose from by the evidence (with ``method="em"``, by the BIC);
        ``"select"`` is ``range(1, 7)``, or fewer with fewer subjects. ``"dp"`` is a Dirichlet process.
    family : str
        Family of the components: ``"weibull"``, ``"lognormal"``, ``"exponential"``, ``"gamma"``,
        ``"inverse_gaussian"``, or another of :func:`tobitgp.fit`.
    method : {"vbcm", "svbcm", "em"} or a value such as ``tg.VBCM(n_init=20)``
        ``"em"`` is maximum likelihood, which has ``log_likelihood_``, ``AIC_`` and ``BIC_``.
    alpha, label, **fit_kwargs
        As for :class:`tobitgp.lifelines.DistributionFitter`.

    Attributes
    ----------
    results_ : MixtureResults
        The fit, with all its methods.

    Raises
    ------
    SpecError
        For an invalid number of components, or an ``alpha`` outside (0, 1).

    Notes
    -----
    ``initial_point`` and ``fit_options`` of ``fit()`` have no effect; give starts by ``start=`` here.

    References
    ----------
    Kohjima, Matsubayashi and Toda (2019), Variational Bayes for mixture models with censored data, ECML PKDD.

    Examples
    --------
    >>> import tobitgp as tg
    >>> lung = tg.datasets.load("lung")
    >>> model = tg.lifelines.MixtureFitter(2).fit(lung["time"], lung["event"], timeline=[100, 365])
    >>> model.survival_function_["Mixture_estimate"].round(3).to_dict()
    {100.0: 0.86, 365.0: 0.438}
    """

    _tied = 1

    def __init__(
        self,
        components: Any = 2,
        family: Any = "weibull",
        method: Any = "vbcm",
        alpha: float = 0.05,
        label: str | None = None,
        **fit_kwargs: Any,
    ):
        super().__init__("MixtureFitter", alpha, label)
        self._components = _read(components)
        resolve_mixture_family(family)
        check_method(method, mixture=True)
        self._family, self._fit_kwargs = family, {"method": method, **fit_kwargs}

    def _terms(self, n: int) -> str:
        found = range(1, min(_MOST, n) + 1) if self._components == "select" else self._components
        return f"mixture({found!r})"

    @property
    def components_(self) -> pd.DataFrame:
        """A row for each component: weight, parameters in units of the durations, numbers of subjects; (MIX1)."""
        found: pd.DataFrame = self.results_.components
        return found

    @property
    def selection_(self) -> pd.DataFrame:
        """A row for each number of components that was tried, best first, with evidence in nats or BIC: (MIX17)."""
        found: pd.DataFrame = self.results_.selection
        return found

    def plot_components(self, ax: Any = None) -> Any:
        """See :meth:`tobitgp.MixtureResults.plot_components`."""
        return self.results_.plot_components(ax)


def _read(components: Any) -> Any:
    """The number of components, the numbers to choose from, or a word."""
    if isinstance(components, str) and components in ("select", "dp"):
        return components
    whole = isinstance(components, int | np.integer) and not isinstance(components, bool)
    numbers = components if isinstance(components, range) else [components] if whole else []
    if not numbers or min(numbers) < 1:
        raise SpecError(
            f"components={components!r}: components must be a whole number from 1, a range, 'select' or 'dp'."
        )
    return components if isinstance(components, range) else int(components)
