"""Quantities of marginal effects: a functional of the response in rows, and whether its changes are proportional."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tobitgp.errors import SpecError
from tobitgp.posterior import questions
from tobitgp.posterior.nodes import Nodes
from tobitgp.posterior.questions import QUESTIONS, Question
from tobitgp.posterior.seen import imputed_mean, log_evidence
from tobitgp.results.averages import AT_TIMES
from tobitgp.results.counterfactuals import SLOPE, ChangedRows
from tobitgp.results.predict import check_what, read_questions, whats
from tobitgp.results.rows import Limits
from tobitgp.typing import Array

BETWEEN = ("truncated", "prob_uncensored")  # of responses between the limits: their mean, their probability
WHATS = ("latent", "median", "uncensored", "observed", *BETWEEN, "conditional", "quantile", "prob", "sigma")
ROUNDING = 4.0 * float(np.finfo(float).eps)  # of the numbers whose difference an effect is
METHODS = ("dydx", "eyex", "eydx", "dyex")


class Effect(NamedTuple):
    """An effect at every node, (J,) each; of a regression there is one."""

    value: Array
    variance: Array
    intensive: Array  # change of the mean between the limits times the probability of lying there; NaN if not asked
    weight: Array  # of the nodes
    lost: float = 0.0  # of the variance's form in what is not identified
    rounding: float = 0.0  # of the value, below which a difference of numbers says nothing

    def rounded(self) -> Effect:
        """The same with 0 for effects below rounding error."""
        value = np.where(np.abs(self.value) <= self.rounding, 0.0, self.value)
        return self._replace(
            value=value, variance=np.where(np.sqrt(self.variance) <= self.rounding, 0.0, self.variance)
        )

    def none(self) -> Effect:
        """No effect, where it has a value."""
        return self._replace(value=0.0 * self.value, variance=0.0 * self.variance, lost=0.0)


class EffectRequest(NamedTuple):
    """A number of the distribution of the response in rows that are still to be given."""

    what: str
    method: str
    value: float  # the order of a quantile, a limit, a time; NaN where there is none
    above: bool

    @property
    def of_log(self) -> bool:
        """Whether changes of the logarithm of the number count."""
        return self.method.startswith("ey")

    @property
    def by_share(self) -> bool:
        """Whether a column changes by shares of its value."""
        return self.method.endswith("ex")

    @property
    def split(self) -> bool:
        """Whether effects are split into those between the limits and those on who lies there."""
        return self.what == "observed" and self.method == "dydx"

    @property
    def limited(self) -> bool:
        """Whether the number depends on the limits of a row."""
        return self.what == "observed" or self.what in BETWEEN

    @property
    def averages(self) -> bool:
        """Whether the number is the average of those under the components of a posterior."""
        return not self.of_log and self.what not in ("median", "quantile", "sigma", "truncated")

    def moved_by(self, *, location: bool, scale: bool, positive: bool, symmetric: bool) -> bool:
        """Whether a column of the location, the noise scale or both can change the number; of noise about f."""
        if self.what in ("latent", "sigma"):
            return location if self.what == "latent" else scale
        middle = self.what == "median" or (self.what == "quantile" and self.value == 0.5)
        return location or not (symmetric and (middle or (self.what == "uncensored" and not positive)))

    def label(self, contrast: str) -> str:
        """Label of a contrast in a table."""
        return f"{self.method[:2]}/{self.method[2:]}" if contrast == SLOPE else contrast

    def question(self, positive: bool, rows: ChangedRows) -> Question:
        """The functional in rows."""
        n = len(rows.limits.lower)
        at = np.full(n, self.value)
        if self.what == "sigma":
            return Question(lambda y: np.log(y.scale), "log")
        if self.what == "conditional":
            assert rows.response is not None
            return questions.conditional(positive, *rows.response.within_window)
        if self.what in BETWEEN:
            return Question(lambda y, *ends: self.between(*y.inside(*ends)), at=tuple(rows.limits))
        if self.what == "quantile":
            return questions.quantile(positive, self.value)
        if self.what in ("prob", "survival", "risk"):
            return questions.probability(positive, at, above=self.above)
        if self.what == "rmst":
            free = np.full(n, np.inf)
            return questions.observed(positive, np.zeros(n), at, -free, free)
        return QUESTIONS[self.what](positive, *(rows.limits if self.what == "observed" else ()))

    def between(self, mass: Array, mean: Array) -> Array:
        """The requested one of the probability of lying between the limits and the mean there."""
        return mean if self.what == "truncated" else mass

    def scaled(self, number: Array) -> Array:
        """The number, or its logarithm."""
        if not self.of_log:
            return number
        wrong = int((~(np.atleast_2d(number) > 0.0)).any(axis=0).sum())
        if wrong:
            raise SpecError(
                f"method={self.method!r} takes the logarithm of the prediction, and what={self.what!r} is not "
                f"positive in {wrong} of the rows. Use method={'d' + self.method[1:]!r}, or a positive prediction."
            )
        return np.log(number)

    def of_row(self, question: Question) -> Callable[[Any], Array]:
        """The requested functional of the distributions in rows."""
        return lambda y: self.scaled(question.number(y))

    def of_points(self, question: Question, nodes: Nodes, J: int) -> Array:
        """The same at each of J design points, (J, n)."""
        if self.what == "sigma":
            return self.scaled(np.exp(by_point(nodes, np.log(nodes.sigma) + 0.0 * nodes.mean, J)))
        if self.what in BETWEEN:
            return self.scaled(self.between(*inside(nodes, Limits(*question.at), J)))
        return self.scaled(by_point(nodes, nodes.values(question), J))

    def of_all(self, question: Question, nodes: Nodes) -> Array:
        """The same for the average over design points, (n,)."""
        if self.what == "sigma":
            return self.scaled(np.exp(nodes.weight @ (np.log(nodes.sigma) + 0.0 * nodes.mean)))
        if self.what in BETWEEN:
            return self.scaled(self.between(*inside(nodes, Limits(*question.at), 1))[0])
        return self.scaled(nodes.value(question))


def inside(nodes: Nodes, limits: Limits, J: int) -> tuple[Array, Array]:
    """Probability of lying between the limits given the window, and the mean there, at J design points, (J, n) each."""
    each, means = [], []
    for j in range(len(nodes.weight)):
        rows = nodes.component(j, *limits.ends, limits.entry, limits.exit)
        each.append(np.exp(log_evidence(rows)))
        means.append(imputed_mean(rows))
    part, mean = np.stack(each), np.stack(means)
    mass = by_point(nodes, part, J)
    with np.errstate(invalid="ignore"):
        return mass, by_point(nodes, np.where(part > 0.0, part * mean, 0.0), J) / mass


def by_point(nodes: Nodes, values: Array, J: int) -> Array:
    """Values (C, n) of components averaged at each of J design points, (J, n)."""
    weight = nodes.weight.reshape(J, -1, 1)
    return np.asarray((weight * values.reshape(*weight.shape[:2], -1)).sum(axis=1) / weight.sum(axis=1))


def read_asked(positive: bool, what: Any, method: Any, q: Any, below: Any, above: Any, times: Any) -> EffectRequest:
    """The checked request."""
    if method not in METHODS:
        raise SpecError(f"method={method!r} is not supported; choose one of {', '.join(map(repr, METHODS))}.")
    offered = (*whats(WHATS), *(AT_TIMES if positive else ()))
    what = check_what(what, offered, " by marginal effects")
    if what in AT_TIMES:
        if not isinstance(times, (int, float, np.number)) or not 0.0 < times < np.inf:
            raise SpecError(f"what={what!r} requires times=, one positive time.")
        read_questions(what, q, below, above)
        return EffectRequest(what, method, float(times), what == "survival")
    if times is not None:
        raise SpecError(
            f"times= requires what={' or '.join(map(repr, AT_TIMES))} of positive times, not what={what!r}."
        )
    asks, listed = read_questions(what, q, below, above)
    if listed:
        raise SpecError("Marginal effects support one value at a time: q=, below= and above= must be single numbers.")
    value = float(next(iter(asks))) if what in ("quantile", "prob") else np.nan
    return EffectRequest(what, method, value, above is not None)
