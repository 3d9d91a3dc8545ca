"""Results of one response of several."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, NoReturn

import numpy as np
import pandas as pd
from scipy.special import ndtri

from tobitgp.diagnostics.elpd import Elpd
from tobitgp.diagnostics.k_hat import KHat
from tobitgp.diagnostics.residual_tests import Finding
from tobitgp.diagnostics.training_draws import Draws
from tobitgp.errors import SpecError
from tobitgp.kinds.process_nodes import answer, log_noise_moments
from tobitgp.numerics.sampling import Rng
from tobitgp.posterior.questions import Question
from tobitgp.results.multivariate.response_view import ResponseModel
from tobitgp.results.multivariate.value_draws import ValueDraws, elpd_of_response
from tobitgp.results.parameter_estimates import Transformed
from tobitgp.results.process.process_results import GPResults
from tobitgp.results.rows import Asked
from tobitgp.results.why_not import unavailable
from tobitgp.results.words import Words
from tobitgp.typing import Array


class ResponseResults(GPResults):
    """One response of a fit of several, ``res["y1"]``: with the methods of a process for that response.

    Predictions of new rows ignore the other responses. A training value is compared with its prediction from all other
    values, including those of its row if residuals are correlated.
    """

    _together: Any  # results of all responses
    _response: int

    @classmethod
    def of(cls, together: Any, response: int) -> ResponseResults:
        """Results of one response."""
        results = cls.__new__(cls)
        results._parts = together.parts.responses[response]
        results._together, results._response = together, response
        return results

    @property
    def _model(self) -> ResponseModel:
        model = self._parts.gp
        assert isinstance(model, ResponseModel)
        return model

    @property
    def _suffix(self) -> str:
        return f"[{self._together.responses[self._response]}]"

    @property
    def _names(self) -> list[str]:
        return [*self._columns, *self._rest_names]

    @property
    def _rest_names(self) -> list[str]:
        names = self._together.parts.estimates.rest_names
        return [name.removesuffix(self._suffix) for name in names if name.endswith(self._suffix)]

    @cached_property
    def _rest(self) -> Transformed:
        names = self._together.parts.estimates.rest_names
        own = self._together._rest.some(np.array([name.endswith(self._suffix) for name in names]))
        return replace(own, theta_cross=np.zeros((len(own.theta), len(self._columns))))

    @property
    def hyperparameters(self) -> dict[str, float]:
        """Parameters of this response other than linear coefficients, in its units."""
        return dict(zip(self._rest_names, self._rest.value.tolist(), strict=True))

    @property
    def sites(self) -> NoReturn:
        """Not defined for one response: see ``res.stacked.sites``."""
        raise unavailable(self._together, "res.sites", "sites")

    def __repr__(self) -> str:
        return f"{self._suffix[1:-1]} of {self._together!r}"

    def _words(self, alpha: float, kind: Any = None) -> Words:
        raise unavailable(self, "summary() of a single response", "summary")

    def group_effects(self, term: str | None = None, *, interval: float | None = 0.95) -> pd.DataFrame:
        """Random effects on this response, as :meth:`GPResults.group_effects`."""
        table = self._together.group_effects(interval=interval)
        every, end = table.index.get_level_values(0), self._suffix
        named = [re.sub(rf"({re.escape(end)})(\]?)$", r"\2", name) for name in every]
        known = dict.fromkeys(new.partition("[")[0] for new, name in zip(named, every, strict=True) if new != name)
        if term is not None and term not in known:
            raise SpecError(f"term={term!r} is not a random effect. This model has {', '.join(map(repr, known))}.")
        chosen = [term or each for each in known]
        mine = [new != name and new.partition("[")[0] in chosen for new, name in zip(named, every, strict=True)]
        index = pd.MultiIndex.from_arrays([named, table.index.get_level_values(1)], names=table.index.names)
        return table.set_axis(index)[mine]

    # -- the noise ----------------------------------------------------------------------------------------------------

    def _log_noise(self, asked: Asked) -> tuple[Array, Array]:
        estimates = self._together.parts.estimates
        if not estimates.correlated:
            return log_noise_moments(self._parts, asked.design)
        beside = log_noise_moments(self._together.parts.stacked, self._model.stacked_design(asked.design))
        sigma, error = estimates.residual_sds(self._response, asked.design, *beside)
        return np.log(sigma * self._model.unit), error

    def _answer(
        self, asked: Asked, questions: Sequence[Question], level: float | None, *, se: bool
    ) -> list[dict[str, Array]]:
        found = answer(self._parts, asked, questions, level, se=se)
        if not self._together.parts.estimates.correlated or not (se or level is not None):
            return found
        return [self._with_noise(asked, *each, level) for each in zip(questions, found, strict=True)]

    def _with_noise(
        self, asked: Asked, question: Question, found: dict[str, Array], level: float | None
    ) -> dict[str, Array]:
        """Statistics of a quantile, with the standard error of the scale of correlated residuals."""
        nodes = self._posterior(asked, bands=True)
        order = question.pivot(nodes.noises[0], np.ones(1))[0] if question.response and question.pivot else 0.0
        if not np.any(order):
            return found
        log_sigma, error = self._log_noise(asked)
        f = np.sqrt(nodes.weight @ (nodes.sd**2 + (nodes.mean - nodes.weight @ nodes.mean) ** 2))
        se = np.sqrt(f**2 + (order * np.exp(log_sigma) * error) ** 2)
        y = np.log(found["estimate"]) if nodes.log else found["estimate"]
        out = {"estimate": y, "se": found["estimate"] * se if nodes.log else se}
        if level is not None:
            reach = float(ndtri(0.5 + 0.5 * level)) * se
            out |= {"lower": y - reach, "upper": y + reach}
        return {k: np.exp(v) if nodes.log and k != "se" else v for k, v in out.items()}

    # -- what all values make together --------------------------------------------------------------------------------

    def _draws(self, draws: int, rng: Rng, question: str) -> Draws:
        made = self._together._draws(draws, rng, question)
        assert isinstance(made, ValueDraws)
        return made.of_response(self._response)

    def _make_elpd(self, by: str, draws: Any, rng: Rng, method: Any = "auto") -> Elpd:
        return elpd_of_response(self._together._make_elpd(by, draws, rng, method), self._parts.rows, self._response)

    def _k_hat(self, draws: int, rng: Rng) -> KHat:
        found: KHat = self._together._k_hat(draws, rng)
        return found

    def _findings(self, rng: Any) -> Iterator[Finding]:
        yield from self._together._findings(rng)

    @property
    def log_evidence(self) -> float:
        """That of the values of all responses together, in nats."""
        return float(self._together.log_evidence)

    def _without_rows(self) -> ResponseResults:
        return ResponseResults.of(self._together._without_rows(), self._response)
