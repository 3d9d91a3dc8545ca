"""Results of one response over latent coordinates."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.diagnostics.elpd import Elpd
from tobitgp.diagnostics.residual_tests import Finding, RawTest
from tobitgp.diagnostics.training_draws import Draws
from tobitgp.numerics.sampling import Rng
from tobitgp.posterior.nodes import Nodes
from tobitgp.posterior.seen import LeftOutRows, conditional_mean, conditional_statistics
from tobitgp.results import figures, joint_draws
from tobitgp.results.joint import JointPosterior
from tobitgp.results.latent import without_errors
from tobitgp.results.latent.coordinates import CoordinateDesign
from tobitgp.results.latent.latent_draws import JointResponse, LatentDraws, response_nodes, seen_by_the_others
from tobitgp.results.latent.latent_parts import LatentResponse
from tobitgp.results.multivariate.value_draws import elpd_of_response
from tobitgp.results.residuals import Tails, pearson
from tobitgp.results.results import Results
from tobitgp.results.rows import Asked, Scored, ask, response_of_rows
from tobitgp.results.survival import Times
from tobitgp.results.why_not import unavailable
from tobitgp.results.words import Words
from tobitgp.typing import Array, Frame


class LatentResponseResults(Results):
    """One response over latent coordinates, ``res["y1"]``.

    Coordinates of a row follow from all of its responses. Residuals and scores judge a value by the other responses of
    its row.
    """

    _kind = "latent"
    _parts: LatentResponse
    _together: Any  # results of all responses
    _response: int

    @classmethod
    def of(cls, together: Any, response: int) -> LatentResponseResults:
        """Those of a response."""
        results = cls.__new__(cls)
        results._parts = together.parts.responses[response]
        results._together, results._response = together, response
        return results

    def __repr__(self) -> str:
        return f"{self._together.responses[self._response]} of {self._together!r}"

    def _values(self) -> Array:
        own: Array = self._together.parts.parameters
        return own[self._response : 3 * len(self._together.responses) : len(self._together.responses)]

    def _words(self, alpha: float, kind: Any = None) -> Words:
        raise unavailable(self, "summary() of a single response", "summary")

    # -- as all responses together ------------------------------------------------------------------------------------

    params = without_errors.params
    hyperparameters = without_errors.hyperparameters
    summary_frame = _parameter_frame = without_errors.summary_frame
    df_model = without_errors.df_model
    llf = without_errors.llf
    bse, tvalues, pvalues = (without_errors.undefined(name) for name in ("bse", "tvalues", "pvalues"))
    conf_int, cov_params = (without_errors.undefined(name) for name in ("conf_int", "cov_params"))
    t_test, wald_test, anova = (without_errors.undefined(name) for name in ("t_test", "wald_test", "anova"))
    _testable = without_errors.testable
    _columns = ()

    @property
    def method(self) -> str:
        """Name of the method that fitted."""
        return str(self._together.method)

    @property
    def converged(self) -> bool:
        """Whether the search ended at a maximum."""
        return bool(self._together.converged)

    @property
    def _search_message(self) -> str:
        return str(self._together._search_message)

    @property
    def evidence_kind(self) -> str:
        """What ``log_evidence`` is."""
        return str(self._together.evidence_kind)

    @property
    def log_evidence(self) -> float:
        """The bound of the values of all responses together, in nats."""
        return float(self._together.log_evidence)

    @property
    def fit_history(self) -> pd.DataFrame:
        """Starts of the search."""
        found: pd.DataFrame = self._together.fit_history
        return found

    def _criterion(self) -> tuple[str, str]:
        found: tuple[str, str] = self._together._criterion()
        return found

    # -- rows ---------------------------------------------------------------------------------------------------------

    def _posterior(self, asked: Asked, *, bands: bool) -> Nodes:
        assert isinstance(asked.design, CoordinateDesign)
        return response_nodes(self._parts, asked.design)

    def _by_the_others(self, asked: Asked) -> Nodes:
        """The distribution of rows given their other responses."""
        assert isinstance(asked.design, CoordinateDesign)
        return response_nodes(self._parts, asked.design.by_the_others())

    def _seen(self, rows: Scored) -> LeftOutRows:
        """Rows given their other responses, with the observed values and limits of this one."""
        return seen_by_the_others(self._by_the_others(rows.asked), rows.response.lower, rows.response.upper)

    def _log_noise(self, asked: Asked) -> tuple[Array, Array]:
        n = len(asked.design.H)
        return np.full(n, np.log(self._parts.sigma)), np.zeros(n)

    def _terms(self, asked: Asked) -> dict[str, Nodes]:
        nodes, level = self._posterior(asked, bands=True), self._values()[0]
        one = np.ones_like(nodes.mean)
        process = f"gp(latent({self._together.parts.dimensions}))"
        return {
            "Intercept": Nodes(nodes.weight, level * one, 0.0 * one, nodes.sigma),
            process: Nodes(nodes.weight, nodes.mean - level, nodes.sd, nodes.sigma),
        }

    def _conditional(self, new: Frame | None, level: float | None, *, se: bool) -> pd.DataFrame:
        rows = response_of_rows(self._parts, new, ask(self._parts, new))
        return rows.asked.table(conditional_statistics([self._seen(rows)], level, se))

    def _tails(self, asked: Asked) -> Tails:
        return Tails.of(self._by_the_others(asked).new, self._parts.rows.response)

    @property
    def _residuals(self) -> dict[str, Callable[[Asked], Array]]:
        def seen(asked: Asked) -> Array:
            return conditional_mean([self._seen(Scored(asked, self._parts.rows.response))])

        return {
            **super()._residuals,
            "response": lambda asked: seen(asked) - self._by_the_others(asked).new.mean(),
            "pearson": lambda asked: pearson(self._by_the_others(asked), seen(asked)),
        }

    def _likelihoods(self, rows: Scored) -> Array:
        seen = rows.response
        y = self._by_the_others(rows.asked).new
        return np.asarray(y.log_likelihood(seen.lower, seen.upper, seen.entry, seen.exit))

    def _times_left_out(self) -> Times:
        return Times.of(self._by_the_others(ask(self._parts)))

    def _expected(self) -> Array:
        return np.asarray(self._by_the_others(ask(self._parts)).mean[0])

    def _order(self, asked: Asked) -> Array:
        return np.asarray(self._by_the_others(asked).mean[0])

    # -- draws --------------------------------------------------------------------------------------------------------

    @property
    def _joint(self) -> JointPosterior:
        return JointResponse(self._parts)

    def _draws(self, draws: int, rng: Rng, question: str) -> Draws:
        made = self._together._draws(draws, rng, question)
        assert isinstance(made, LatentDraws)
        return made.of_response(self._response)

    def _make_elpd(self, by: str, draws: Any, rng: Rng, method: Any = "auto") -> Elpd:
        return elpd_of_response(self._together._make_elpd(by, draws, rng, method), self._parts.rows, self._response)

    def _findings(self, rng: Any) -> Iterator[Finding | RawTest]:
        yield from self._together._findings(rng)

    def _without_rows(self) -> LatentResponseResults:
        return LatentResponseResults.of(self._together._without_rows(), self._response)

    posterior = joint_draws.posterior
    plot_residuals = figures.plot_residuals
