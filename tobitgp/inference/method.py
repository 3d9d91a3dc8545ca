"""What a method of inference must say about rows; everything else is shared."""

from __future__ import annotations

import math
from dataclasses import replace
from numbers import Real
from typing import Literal, NamedTuple, Protocol

import numpy as np

from tobitgp.data.problem import Rows
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


def check_settings(method: Method) -> None:
    """Refuse settings with which no iteration makes sense."""
    name = type(method).__name__
    if not _is_number(method.tol) or not method.tol > 0:
        raise SpecError(f"tg.{name}(tol={method.tol!r}): a positive number is needed.")
    if not _is_number(method.damping) or not 0 < method.damping <= 1:
        raise SpecError(f"tg.{name}(damping={method.damping!r}): a number in (0, 1] is needed.")
    sweeps = method.max_sweeps
    if isinstance(sweeps, bool) or not isinstance(sweeps, (int, np.integer)) or sweeps < 1:
        raise SpecError(f"tg.{name}(max_sweeps={sweeps!r}): a whole number of at least 1 is needed.")


def loosened(method: Method, tol: float) -> Method:
    """The method, its sites converged to ``tol`` where its own is finer."""
    return method if method.tol >= tol else replace(method, tol=tol)  # type: ignore[type-var]


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)


class Method(Protocol):
    """A method of inference: a small frozen value with its settings."""

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def evidence_kind(self) -> str: ...  # noqa: D102
    @property
    def ascends(self) -> Literal["joint", "bound"] | None: ...  # noqa: D102
    @property
    def tol(self) -> float: ...  # noqa: D102
    @property
    def max_sweeps(self) -> int: ...  # noqa: D102
    @property
    def damping(self) -> float: ...  # noqa: D102

    @property
    def gaussian_only(self) -> bool:
        """Whether it rests on Gaussian noise."""
        ...

    @property
    def side_noises(self) -> Literal["shared", "row"] | None:
        """Whether censored rows have noise of their own, one for each side or for each row, before log sigma."""
        ...

    @property
    def limits(self) -> bool:
        """Whether every row needs the limits of its instrument."""
        ...

    def pilot(self) -> Method:
        """Whose evidence chooses the hyper-parameters: its own, where that is fit to be maximised."""
        ...

    def view(self, likelihood: Likelihood) -> Likelihood:
        """The likelihood as this method takes it."""
        ...

    def warm_up(self, likelihood: Likelihood, warm: bool) -> Method | None:
        """What to run first, from flat sites or, where ``warm``, from those of an earlier posterior."""
        ...

    def attempts(self, likelihood: Likelihood) -> tuple[Method, ...]:
        """What to run, each where the one before does not converge."""
        ...

    def exact_variance(self, d: Array, sigma: float | Array) -> Array:
        """Noise variance with which conjugate rows enter, (n,)."""
        ...

    def update(self, likelihood: Likelihood, rows: Rows, q: Marginals, sigma: float) -> Update:
        """One site update of rows that are not conjugate."""
        ...

    def exact_part(self, rows: Rows, m: Array, d: Array, sigma: float) -> Array:
        """Evidence part D of conjugate rows, (n,)."""
        ...

    def slopes(self, likelihood: Likelihood, rows: Rows, q: Marginals, sigma: float) -> Slopes:
        """Derivatives of the evidence at the fixed point, conjugate rows included."""
        ...
