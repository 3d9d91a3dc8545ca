"""Residuals, scores and terms of one response with normal noise over inputs that are not known exactly."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd

from tobitgp.posterior.nodes import Nodes
from tobitgp.posterior.seen import LeftOutRows, conditional_mean, conditional_statistics
from tobitgp.results.latent.without_errors import WithoutErrors
from tobitgp.results.residuals import Tails, pearson
from tobitgp.results.rows import Asked, Scored, ask, response_of_rows
from tobitgp.typing import Array, Frame


class JudgedRows(WithoutErrors):
    """Results of one response, whose values are judged by the nodes of their rows."""

    @property
    def _process(self) -> str:
        """Name of the process."""
        raise NotImplementedError

    def _posterior(self, asked: Asked, *, bands: bool) -> Nodes:
        raise NotImplementedError

    def _judge(self, asked: Asked) -> Nodes:
        """The response without noise in rows, without what their own values say."""
        return self._posterior(asked, bands=False)

    def _seen(self, rows: Scored) -> LeftOutRows:
        """Rows, and their observed values and limits."""
        raise NotImplementedError

    def _log_noise(self, asked: Asked) -> tuple[Array, Array]:
        n = len(asked.design.H)
        return np.full(n, np.log(self._parts.sigma)), np.zeros(n)

    def _terms(self, asked: Asked) -> dict[str, Nodes]:
        nodes, level = self._posterior(asked, bands=True), self._values()[0]
        one = np.ones_like(nodes.mean)
        return {
            "Intercept": Nodes(nodes.weight, level * one, 0.0 * one, nodes.sigma),
            self._process: Nodes(nodes.weight, nodes.mean - level, nodes.sd, nodes.sigma),
        }

    def _conditional(self, new: Frame | None, level: float | None, *, se: bool) -> pd.DataFrame:
        rows = response_of_rows(self._parts, new, ask(self._parts, new))
        return rows.asked.table(conditional_statistics([self._seen(rows)], level, se))

    def _likelihoods(self, rows: Scored) -> Array:
        seen = rows.response
        y = self._judge(rows.asked).new
        return np.asarray(y.log_likelihood(seen.lower, seen.upper, seen.entry, seen.exit))

    @property
    def _residuals(self) -> dict[str, Callable[[Asked], Array]]:
        def seen(asked: Asked) -> Array:
            return conditional_mean([self._seen(Scored(asked, self._parts.rows.response))])

        return {
            **super()._residuals,
            "response": lambda asked: seen(asked) - self._judge(asked).new.mean(),
            "pearson": lambda asked: pearson(self._judge(asked), seen(asked)),
        }

    def _tails(self, asked: Asked) -> Tails:
        return Tails.of(self._judge(asked).new, self._parts.rows.response)
