"""What a method of inference must say about rows; everything else is shared."""

from __future__ import annotations

import math
from dataclasses import replace
from numbers import Real
from typing import ClassVar, Literal, NamedTuple

import numpy as np

from tobitgp.data.arrays import Rows
from tobitgp.errors import SpecError
from tobitgp.likelihoods.base import Likelihood
from tobitgp.typing import Array


class Marginals(NamedTuple):
    """Current posterior marginals and sites of a chunk of rows, (n,) each.

    ``m`` and ``v_p`` are mean and variance of ``a_n' w``, ``d`` the residual variance of the features, so that
    f has variance ``v_p + d``; ``lambda1`` and ``lambda2`` define the site ``exp(lambda1 f - lambda2 f^2 / 2)``.
    """

    m: Array
    v_p: Array
    d: Array
    lambda1: Array
    lambda2: Array


class Update(NamedTuple):
    """New sites, undamped, and each row's part ``D`` of the evidence at the current ones; (n,) each."""

    lambda1: Array
    lambda2: Array
    D: Array


class Slopes(NamedTuple):
    """Derivatives of the evidence in ``d`` (``g_d``, (n,)) and in the K noise parameters (``e``, (K, n)).

    ``implicit`` is Laplace's ``(u, e_m)``: ``u = v_p l3 / 2`` (n,) is the derivative of the log-determinant in m, and
    ``e_m`` (K, n) multiplies ``A S A' u`` and adds to ``e``.
    """

    g_d: Array
    e: Array
    implicit: tuple[Array, Array] | None = None


class Method:
    """A method of inference: a small frozen value with its settings."""

    __slots__ = ()
    name: ClassVar[str]
    tol: float
    max_sweeps: int
    damping: float

    def __post_init__(self) -> None:
        name, sweeps = type(self).__name__, self.max_sweeps
        if not _is_number(self.tol) or not self.tol > 0:
            raise SpecError(f"tg.{name}(tol={self.tol!r}): a positive number is needed.")
        if not _is_number(self.damping) or not 0 < self.damping <= 1:
            raise SpecError(f"tg.{name}(damping={self.damping!r}): a number in (0, 1] is needed.")
        if isinstance(sweeps, bool) or not isinstance(sweeps, (int, np.integer)) or sweeps < 1:
            raise SpecError(f"tg.{name}(max_sweeps={sweeps!r}): a whole number of at least 1 is needed.")

    @property
    def evidence_kind(self) -> str:
        """What its evidence is."""
        return self.name

    @property
    def ascends(self) -> Literal["joint", "bound"] | None:
        """What no step of it may lose: the joint density at the mode, a bound, or nothing."""
        return None

    @property
    def gaussian_only(self) -> bool:
        """Whether it rests on Gaussian noise."""
        return False

    @property
    def side_noises(self) -> Literal["shared", "row"] | None:
        """Whether censored rows have noise of their own, one for each side or for each row, before log sigma."""
        return None

    @property
    def limits(self) -> bool:
        """Whether every row needs its censoring limits."""
        return False

    def pilot(self) -> Method:
        """Whose evidence chooses the hyper-parameters: its own, where that is fit to be maximised."""
        return self

    def view(self, likelihood: Likelihood) -> Likelihood:
        """The likelihood as this method takes it."""
        return likelihood

    def warm_up(self, likelihood: Likelihood, warm: bool) -> Method | None:
        """What to run first, from flat sites or, where ``warm``, from those of an earlier posterior."""
        return None

    def attempts(self, likelihood: Likelihood) -> tuple[Method, ...]:
        """What to run, each where the one before does not converge."""
        return (self,)

    def exact_variance(self, d: Array, sigma: float | Array) -> Array:
        """Noise variance with which conjugate rows enter, (n,)."""
        raise NotImplementedError

    def update(self, likelihood: Likelihood, rows: Rows, q: Marginals, sigma: float) -> Update:
        """One site update of rows that are not conjugate."""
        raise NotImplementedError

    def exact_part(self, rows: Rows, m: Array, d: Array, sigma: float) -> Array:
        """Evidence part D of conjugate rows, (n,)."""
        raise NotImplementedError

    def slopes(self, likelihood: Likelihood, rows: Rows, q: Marginals, sigma: float) -> Slopes:
        """Derivatives of the evidence at the fixed point, conjugate rows included."""
        raise NotImplementedError


def loosened(method: Method, tol: float) -> Method:
    """The method, its sites converged to ``tol`` where its own is finer."""
    return method if method.tol >= tol else replace(method, tol=tol)  # type: ignore[type-var]


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)
