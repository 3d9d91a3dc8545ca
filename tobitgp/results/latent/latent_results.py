"""Results of responses whose processes have latent coordinates for inputs."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import pandas as pd

from tobitgp.diagnostics.training_draws import Draws
from tobitgp.numerics.sampling import Rng
from tobitgp.results.latent import latent_questions, without_errors
from tobitgp.results.latent.latent_draws import LatentDraws
from tobitgp.results.latent.latent_parts import LatentParts
from tobitgp.results.latent.latent_response import LatentResponseResults
from tobitgp.results.multivariate import together_questions
from tobitgp.results.multivariate.together_results import TogetherResults
from tobitgp.results.words import Words
from tobitgp.typing import Array


class LatentResults(TogetherResults):
    """Fit of several responses over latent coordinates, by :func:`tobitgp.fit` of ``mvbind(y1, y2) ~ gp(latent(2))``.

    The model is a Bayesian Gaussian-process latent variable model [1]_. Likelihoods of censored values are bounded from
    below by parabolas [2]_. The prior of the coordinates of a row is standard normal. Coordinates have no units, and
    their signs and order are conventions: the first has the shortest length-scale, and the response that depends most
    on a coordinate increases with it.

    Parameters
    ----------
    parts : LatentParts
        Data and estimates of the fit.

    Attributes
    ----------
    responses : tuple of str
        As written in ``mvbind(...)``.

    References
    ----------
    .. [1] M. Titsias and N. Lawrence, "Bayesian Gaussian process latent variable model", AISTATS 2010.
    .. [2] M. Basson, T. M. Louw and T. R. Smith, "Variational Tobit Gaussian process regression", Statistics and
       Computing 33 (2023), Eq. 46.

    Examples
    --------
    >>> import tobitgp as tg
    >>> data = tg.datasets.simulate_latent(1)
    >>> res = tg.fit("mvbind(y1, y2, y3, y4, y5) ~ gp(latent(2)) | censor(y1=limit1, y2=limit2)", data)
    >>> res
    LatentResults: mvbind(y1, y2, y3, y4, y5) ~ gp(latent(2)) | censor(y1=limit1, y2=limit2)
      5 responses, 300 values: 276 exact, 24 left-censored
      bound -311.69 (local), converged
    """

    _kind = "latent"
    _parts: LatentParts

    def __init__(self, parts: LatentParts):
        self._parts, self.responses = parts, parts.labels

    @cached_property
    def _each(self) -> tuple[LatentResponseResults, ...]:
        return tuple(LatentResponseResults.of(self, j) for j in range(len(self.responses)))

    def __repr__(self) -> str:
        found = "converged" if self.converged else "NOT converged"
        return f"{super().__repr__()}\n  bound {self.elbo:.2f} ({self.evidence_kind}), {found}"

    @property
    def _column_texts(self) -> tuple[str, ...]:
        """What mentions the columns that new data need."""
        return (self.formula,)

    def _words(self, alpha: float, kind: Any = None) -> Words:
        from tobitgp.report.several_summary import latent_words

        return latent_words(self)

    # -- the fit ------------------------------------------------------------------------------------------------------

    params = without_errors.params
    hyperparameters = without_errors.hyperparameters
    summary_frame = _parameter_frame = without_errors.summary_frame
    df_model = without_errors.df_model
    llf = without_errors.llf
    converged, method = without_errors.converged, without_errors.method
    elbo, log_evidence = without_errors.elbo, without_errors.log_evidence
    fit_history = without_errors.fit_history
    _findings = without_errors.findings
    _search_message = without_errors.search_message("latent coordinates")
    bse, tvalues, pvalues = (without_errors.undefined(name) for name in ("bse", "tvalues", "pvalues"))
    conf_int, cov_params = (without_errors.undefined(name) for name in ("conf_int", "cov_params"))
    t_test, wald_test, anova = (without_errors.undefined(name) for name in ("t_test", "wald_test", "anova"))

    def _values(self) -> Array:
        return self._parts.parameters

    _testable = without_errors.testable
    _columns = ()

    @property
    def evidence_kind(self) -> str:
        """Kind of ``elbo``: ``"elbo"``, or ``"local"`` with parabolas below likelihoods of censored values."""
        return "local" if self.counts[1:4].any() else "elbo"

    def _draws(self, draws: int, rng: Rng, question: str) -> Draws:
        return LatentDraws.of(self._parts, draws, rng, question)

    def _without_rows(self) -> LatentResults:
        return LatentResults(self._parts.without_rows())

    def relevance(self) -> pd.DataFrame:
        """Measure how much the responses depend on each dimension.

        Returns
        -------
        DataFrame
            A row for each dimension. ``lengthscale`` is in units of the coordinates, whose prior has the standard
            deviation 1; ``relevance`` is its inverse square, as a share of the largest; ``information`` is the mean
            over rows of KL(q(x) || N(0, 1)) in nats. It is 0 for a dimension about which no row has information.

        References
        ----------
        Titsias and Lawrence (2010), section 3.2; (LAT10) of the theory pages.

        Examples
        --------
        >>> import tobitgp as tg
        >>> data = tg.datasets.simulate_latent(1)
        >>> res = tg.fit("mvbind(y1, y2, y3, y4, y5) ~ gp(latent(2)) | censor(y1=limit1, y2=limit2)", data)
        >>> res.relevance()[["lengthscale", "information"]].round(1).to_numpy().tolist()
        [[2.8, 1.1], [3.8, 0.9]]
        """
        lengths = self._parts.processes.inducing.lengthscale
        inverse = lengths**-2.0
        columns = {
            "lengthscale": lengths,
            "relevance": inverse / inverse.max(),
            "information": self._parts.information,
        }
        index = pd.RangeIndex(1, self._parts.dimensions + 1, name="dimension")
        return pd.DataFrame(columns, index=index)

    # -- questions ----------------------------------------------------------------------------------------------------

    latent = latent_questions.latent
    posterior = together_questions.posterior
    _impute = latent_questions.impute
    _draw_together, _draw_conditional = latent_questions.draw, latent_questions.draw_conditional
    _moments_together = latent_questions.moments

    def plot_latent(self, dimensions: tuple[int, int] = (1, 2), *, by: Any = None, ax: Any = None) -> Any:
        """Draw the rows at two latent coordinates, with bars of one standard deviation.

        Parameters
        ----------
        dimensions : pair of int
            Numbers of the two dimensions, as in :meth:`latent`.
        by : sequence, optional
            A label or a number of each row of the data, shown by colour. The legend has the name of a Series.
        ax : matplotlib axes, optional
            Axes to draw on; new axes by default.

        Returns
        -------
        matplotlib axes

        Raises
        ------
        SpecError
            If the fit does not have these dimensions or has no training rows, or ``by`` has another length.

        References
        ----------
        (LAT2) of the theory pages.

        Examples
        --------
        >>> import tobitgp as tg
        >>> data = tg.datasets.simulate_latent(1)
        >>> res = tg.fit("mvbind(y1, y2, y3, y4, y5) ~ gp(latent(2)) | censor(y1=limit1, y2=limit2)", data)
        >>> ax = res.plot_latent()
        """
        from tobitgp.report.several_summary import draw_latent

        return draw_latent(self, dimensions, by, ax)

    plot = plot_latent
