"""The common result of all fits, which one function scores."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from benchmarks.problems import Draw


class Answer(NamedTuple):
    """A mixture of normals for f at the test inputs: ``mean`` and ``sd`` (J, n), ``weight`` (J,).

    ``seconds``, ``cpu`` (of the processor) and ``peak_mb`` are those of a program that measured itself; otherwise the
    worker measures.
    """

    mean: np.ndarray
    sd: np.ndarray
    weight: np.ndarray
    seconds: float | None = None
    cpu: float | None = None
    peak_mb: float | None = None


Fit = Callable[[Draw], Answer]


def normal(mean: np.ndarray, sd: np.ndarray) -> Answer:
    """Return one normal distribution at each test input, from (n,) arrays."""
    return Answer(mean[None], sd[None], np.ones(1))


def linear(draw: Draw, beta: np.ndarray, V: np.ndarray) -> Answer:
    """Predict by a linear model whose last coefficient is the intercept, with covariance ``V`` of the coefficients."""
    T = np.column_stack([draw.test[draw.inputs], np.ones(len(draw.test))])
    return normal(T @ beta, np.sqrt(np.einsum("ni,ij,nj->n", T, V, T)))
