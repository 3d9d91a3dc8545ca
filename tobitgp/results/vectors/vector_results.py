"""A fitted mixture of vectors as its users see it."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd

from tobitgp.diagnostics.check import vague_components
from tobitgp.diagnostics.residual_tests import Finding, RawTest
from tobitgp.errors import BoundaryWarning, SpecError, user_level
from tobitgp.kinds.mixture import MixtureParts
from tobitgp.mixture.vector_information import parameter_intervals
from tobitgp.numerics.sampling import Rng
from tobitgp.results import figures
from tobitgp.results.interfaces import classical_tests, row_values
from tobitgp.results.mixture.mixture_results import NO_LINEAR, MixtureResults, selection_table
from tobitgp.results.multivariate.of_responses import drawn_for_each
from tobitgp.results.multivariate.together_results import TogetherResults
from tobitgp.results.parameter_estimates import CovKind, Linear
from tobitgp.results.vectors import vector_questions
from tobitgp.results.vectors.vector_draws import VectorDraws
from tobitgp.results.vectors.vector_parts import VectorParts
from tobitgp.results.words import Words
from tobitgp.typing import Array

_SHAPES = ("calibration", "symmetry", "tails")  # tests for which more components help
_REMEDY = "Try more components, mixture(range(1, 7)), or write logarithms of the responses."
_PANELS = drawn_for_each(figures.plot_quantile_residuals)


@dataclass(frozen=True, slots=True)
class VectorEstimates:
    """The p parameters of a mixture of vectors."""

    value: Array  # (p,)
    V: Array  # (p, p)
    k: int
    responses: int

    cross: ClassVar[float] = 0.0

    def errors(self) -> Array:
        """Standard errors, (p,); 0 for the weight of a single component."""
        return np.sqrt(np.diag(self.V))

    def z_values(self) -> Array:
        """NaN: zero is not a value to test."""
        return np.full(len(self.value), np.nan)

    p_values = z_values

    def covariance(self) -> Array:
        """The matrix V."""
        return self.V

    def interval(self, alpha: float) -> Array:
        """Ends (p, 2)."""
        return parameter_intervals(self.value, self.errors(), self.k, self.responses, 1.0 - alpha)


class MarginalMixtureResults(MixtureResults):
    """The mixture of one response of vectors, ``res["y1"]``: the likelihood is that of all responses."""

    _kind = "mixture of vectors"
    _together: Any
    _response: int

    @classmethod
    def of(cls, together: Any, response: int) -> Self:
        """Results of one response."""
        results = cls(together.parts.responses[response])
        results._together, results._response = together, response
        return results

    def __repr__(self) -> str:
        return f"{self._together.responses[self._response]} of {self._together!r}"

    @property
    def _with_covariance(self) -> MixtureParts:
        self._parts = self._together._with_covariance.responses[self._response]
        return self._parts

    def _row_tests(self, rng: Any) -> Iterator[Finding | RawTest]:
        for found in super()._row_tests(rng):
            if isinstance(found, RawTest) and found.name in _SHAPES:
                found = found._replace(remedy=_REMEDY)
            yield found

    @property
    def df_model(self) -> float:
        """Number of parameters of the mixture of vectors, weights counted once less."""
        return float(self._together.df_model)

    @property
    def _n_units(self) -> float:
        return float(self._together.nobs)


class VectorMixtureResults(TogetherResults):
    """A mixture of normal vectors, some of whose coordinates are censored or missing, fitted by EM [1]_.

    Made by :func:`tobitgp.fit` from ``mvbind(y1, y2) ~ mixture(3)``. Each component has a mean vector and a full
    covariance matrix. Components are ordered by the mean of the first response. ``res["y1"]`` is the mixture of one
    response.

    Parameters
    ----------
    parts : VectorParts
        The data and the estimates of the fit.

    Attributes
    ----------
    responses : tuple of str
        As written in ``mvbind(...)``.

    References
    ----------
    .. [1] G. Lee and C. Scott, "EM algorithms for multivariate Gaussian mixture models with truncated and censored
       data", Computational Statistics & Data Analysis 56 (2012).

    Examples
    --------
    >>> import tobitgp as tg
    >>> data = tg.datasets.simulate_vectors(1)
    >>> res = tg.fit("mvbind(y1, y2) ~ mixture(2) | censor(y1=limit1, y2=limit2)", data)
    >>> res
    VectorMixtureResults: mvbind(y1, y2) ~ mixture(2) | censor(y1=limit1, y2=limit2)
      2 responses in 200 rows: 280 values exact, 120 left-censored
      2 components, log likelihood -521.76, converged
    >>> res.means.round(1).to_numpy().tolist()
    [[-0.1, 0.0], [3.9, 2.0]]
    """

    _kind = "mixture of vectors"
    _parts: VectorParts
    _columns = ()

    def __init__(self, parts: VectorParts):
        self._parts, self.responses = parts, parts.labels

    @cached_property
    def _each(self) -> tuple[MarginalMixtureResults, ...]:
        return tuple(MarginalMixtureResults.of(self, j) for j in range(len(self.responses)))

    def __repr__(self) -> str:
        number = f"{self.n_components} component{'s' * (self.n_components > 1)}"
        found = "converged" if self.converged else "NOT converged"
        return f"{super().__repr__()}\n  {number}, log likelihood {self.llf:.2f}, {found}"

    @property
    def _values_in_words(self) -> str:
        _, _, counts = super()._values_in_words.partition(": ")
        return f"{len(self.responses)} responses in {self.nobs:.10g} rows: {counts.replace(' exact', ' values exact')}"

    @property
    def _column_texts(self) -> tuple[str, ...]:
        """Texts that mention the columns required in new data."""
        return (self.formula,)

    def _words(self, alpha: float, kind: Any = None) -> Words:
        from tobitgp.report.vector_summary import vector_words

        return vector_words(self, alpha)

    # -- parameters ---------------------------------------------------------------------------------------------------

    @property
    def params(self) -> pd.Series[float]:
        """``weight[1]``, ``mean[y1][1]``, ``sd[y1][1]``, ``cor[y1, y2][1]``: a Series by name, in the user's units."""
        return pd.Series(self._parts.values_of_parameters, index=self._names)

    @property
    def hyperparameters(self) -> dict[str, float]:
        """All of ``params`` as a dict, in the user's units."""
        return dict(zip(self._names, self._parts.values_of_parameters.tolist(), strict=True))

    @property
    def weights(self) -> pd.Series[float]:
        """Weights of the components, a Series by their number; dimensionless numbers, (MOV1) of the theory pages."""
        return pd.Series(self._parts.fit.weights, self._numbers, name="weight")

    @property
    def means(self) -> pd.DataFrame:
        """Mean vectors: a row for each component, a column for each response, in its units; (MOV1)."""
        return pd.DataFrame(self._parts.fit.means, self._numbers, list(self.responses))

    @property
    def covariances(self) -> pd.DataFrame:
        """Covariance matrices, rows ``(component, response)``, in the units of two responses; (MOV1)."""
        index = pd.MultiIndex.from_product([self._numbers, self.responses], names=["component", "response"])
        values = self._parts.fit.covariances.reshape(len(index), len(self.responses))
        return pd.DataFrame(values, index, list(self.responses))

    @property
    def components(self) -> pd.DataFrame:
        """A row for each component: weight, means and standard deviations of the responses in their units, rows.

        Examples
        --------
        >>> import tobitgp as tg
        >>> data = tg.datasets.simulate_vectors(1)
        >>> res = tg.fit("mvbind(y1, y2) ~ mixture(2) | censor(y1=limit1, y2=limit2)", data)
        >>> list(res.components)
        ['weight', 'mean[y1]', 'mean[y2]', 'sd[y1]', 'sd[y2]', 'rows']
        """
        fit = self._parts.fit
        sd = np.sqrt(np.diagonal(fit.covariances, axis1=1, axis2=2))
        columns = {"weight": fit.weights}
        for kind, values in (("mean", fit.means), ("sd", sd)):
            columns |= {f"{kind}[{name}]": values[:, j] for j, name in enumerate(self.responses)}
        return pd.DataFrame(columns | {"rows": fit.counts}, index=self._numbers)

    @property
    def _numbers(self) -> pd.RangeIndex:
        return pd.RangeIndex(1, self.n_components + 1, name="component")

    @property
    def _with_covariance(self) -> VectorParts:
        """Parts that hold their covariance; says once what has no errors."""
        if self._parts.covariance is None:
            self._parts = self._parts.with_covariance()
            V = self._parts.covariance
            assert V is not None
            held = np.repeat(self._parts.fit.held[None], len(V) // self.n_components, axis=0).ravel()
            unknown = np.isnan(np.diag(V)) & ~held
            if unknown.any():
                names = ", ".join(np.array(self._names)[unknown])
                warnings.warn(
                    f"The rows do not determine {names}: standard errors and intervals of these are NaN. Fit fewer "
                    "components.",
                    BoundaryWarning,
                    stacklevel=user_level(),
                )
        return self._parts

    @property
    def _linear(self) -> Linear:
        return NO_LINEAR

    @property
    def _rest(self) -> VectorEstimates:
        V = self._with_covariance.covariance
        assert V is not None
        return VectorEstimates(self._parts.values_of_parameters, V, self.n_components, len(self.responses))

    def _testable(self, kind: CovKind | None) -> tuple[Linear, list[str]]:
        _, rest = self._estimates(kind)
        return Linear(np.ones(1), rest.value[None], rest.V[None], np.diag(rest.V) == 0.0), self._names

    def _term_tests(self) -> Iterator[Any]:
        raise SpecError("A mixture has no terms to test. Use wald_test() for hypotheses about its parameters.")

    # -- the fit ------------------------------------------------------------------------------------------------------

    @property
    def nobs(self) -> float:
        """Number of vectors: frequency weights of the rows of which something is known, summed."""
        return self._parts.total

    @property
    def n_components(self) -> int:
        """Components of the fit."""
        return self._parts.fit.k

    @property
    def df_model(self) -> float:
        """Number of parameters, weights counted once less."""
        return float(self._parts.fit.n_free)

    @property
    def llf(self) -> float:
        """Log likelihood of the vectors in nats: (MOV1) of the theory pages."""
        return self._parts.fit.log_likelihood

    @property
    def method(self) -> str:
        """Name of the method that fitted: ``"em"``."""
        return self._parts.method.name

    @property
    def evidence_kind(self) -> str:
        """Criterion of comparisons of the fit: ``"loglik"``."""
        return "loglik"

    @property
    def cov_type(self) -> str:
        """Where standard errors come from: ``"nonrobust"``, the observed information."""
        return "nonrobust"

    @property
    def converged(self) -> bool:
        """Whether the best ascent came to a standstill."""
        return self._parts.fit.converged

    @property
    def _search_message(self) -> str:
        if self.converged:
            return "converged"
        passes, most = len(self._parts.fit.trace) - 1, self._parts.method.max_iter
        return f"No convergence after {passes} passes. Try method=tg.EMCM(max_iter={4 * most})."

    @property
    def fit_history(self) -> pd.DataFrame:
        """The best ascent: the log likelihood in nats after each pass, columns ``pass`` and ``log_likelihood``."""
        trace = self._parts.fit.trace
        return pd.DataFrame({"pass": np.arange(len(trace)), "log_likelihood": trace})

    @property
    def selection(self) -> pd.DataFrame:
        """The numbers of components that ``mixture(range(...))`` tried, best first.

        ``value`` is the BIC of (MOV1), on the scale of deviances.

        Raises
        ------
        SpecError
            If one number was given.

        Examples
        --------
        >>> import tobitgp as tg
        >>> data = tg.datasets.simulate_vectors(1)
        >>> res = tg.fit("mvbind(y1, y2) ~ mixture(range(1, 4)) | censor(y1=limit1, y2=limit2)", data)
        >>> res.selection.index.tolist()[0]
        2
        """
        return selection_table(self)

    def _criterion(self) -> tuple[str, str]:
        return "Log likelihood", f"{self.llf:.2f}"

    def _findings(self, rng: Any) -> Iterator[Finding | RawTest]:
        yield vague_components(self._parts.fit.exact_counts.min(axis=0))

    @property
    def _drawn(self) -> tuple[str, ...]:
        return vector_questions.DRAWN

    def _draws(self, draws: int, rng: Rng, question: str) -> VectorDraws:
        return VectorDraws.of(self._with_covariance, draws, rng, question)

    def _without_rows(self) -> VectorMixtureResults:
        return VectorMixtureResults(self._with_covariance.without_rows())

    # -- questions ----------------------------------------------------------------------------------------------------

    covariance_type = property(row_values.covariance_type)
    bic_llf = property(classical_tests.bic_llf)
    _of_rows: ClassVar[Mapping[str, Any]] = {"component": vector_questions.components}
    _impute = vector_questions.impute
    _draw_together, _draw_conditional = vector_questions.draw_new, vector_questions.draw_conditional

    def plot_residuals(self, ax: Any = None, *, response: str | None = None) -> Any:
        """See :meth:`tobitgp.MixtureResults.plot_residuals`: a panel for every response.

        ``response=`` names a single one.
        """
        return _PANELS(self, ax, response=response)

    def plot_components(self, pair: tuple[str, str] | None = None, *, ax: Any = None) -> Any:
        """Draw the rows in two responses, with ellipses that contain 50% and 95% of each component.

        Rows have the colour of their most probable component. Rows with a censored or missing value are drawn as open
        points at ``impute()``.

        Parameters
        ----------
        pair : two str, optional
            Names of the responses; by default the first two.
        ax : matplotlib axes, optional
            Axes to draw on; new axes by default.

        Returns
        -------
        matplotlib axes

        Raises
        ------
        SpecError
            If there are no such responses, or the fit holds no training rows.

        References
        ----------
        (MOV1) and (MOV8) of the theory pages.

        Examples
        --------
        >>> import tobitgp as tg
        >>> data = tg.datasets.simulate_vectors(1)
        >>> res = tg.fit("mvbind(y1, y2) ~ mixture(2) | censor(y1=limit1, y2=limit2)", data)
        >>> ax = res.plot_components(("y2", "y1"))
        """
        from tobitgp.report.vector_summary import plot_vectors

        return plot_vectors(self, pair, ax)

    plot = plot_components
