"""What a method of inference must say about rows, expectation propagation and Laplace's method."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import ClassVar, Literal, NamedTuple

import numpy as np

from tobitgp.data.arrays import KindRows
from tobitgp.errors import NumericalError, SpecError
from tobitgp.likelihoods.families import log_density_exact
from tobitgp.likelihoods.row_terms import Likelihood
from tobitgp.method_value import short_text
from tobitgp.typing import Array


class Marginals(NamedTuple):
    """Current posterior marginals and sites ``exp(lambda1 f - lambda2 f^2 / 2)`` of a chunk of rows, (n,) each."""

    m: Array  # mean of ``a_n' w``
    v_p: Array  # variance of ``a_n' w``
    d: Array  # residual variance of the features: f has variance ``v_p + d``
    lambda1: Array
    lambda2: Array


class Update(NamedTuple):
    """New sites, undamped, and each row's part ``D`` of the evidence at the current ones; (n,) each."""

    lambda1: Array
    lambda2: Array
    D: Array


class Slopes(NamedTuple):
    """Derivatives of the evidence."""

    g_d: Array  # (n,), in ``d``
    e: Array  # (K, n), in the noise parameters
    # Laplace's u (n,), the derivative of the log-determinant in m, and e_m (K, n), which times A S A' u adds to e.
    implicit: tuple[Array, Array] | None = None


@dataclass(frozen=True, slots=True)
class Traits:
    """What the rest of a fit asks of a method."""

    evidence_kind: str  # what its evidence is
    ascends: Literal["joint", "bound"] | None = None  # what no step may lose: the density at the mode, or a bound
    gaussian_only: bool = False  # whether it rests on Gaussian noise
    limits: bool = False  # whether every row needs its censoring limits
    accelerated: bool = True  # whether its steps gain by Anderson's method


GivenSettings = tuple[tuple[str, str], ...]  # settings of a public method that differ from the defaults, as text


class Method:
    """How the sites of rows are updated, a frozen value; see `tobitgp.EP` for ``site_tol`` and ``site_iterations``."""

    __slots__ = ()
    name: ClassVar[str]
    tol: float
    max_iterations: int
    damping: float
    given: GivenSettings  # what the user wrote

    def __post_init__(self) -> None:
        iterations = self.max_iterations
        if not is_number(self.tol) or not self.tol > 0:
            raise SpecError(f"site_tol={self.tol!r}: must be a positive number.")
        if not is_number(self.damping) or not 0 < self.damping <= 1:
            raise SpecError(f"damping={self.damping!r}: must be a number in (0, 1].")
        if isinstance(iterations, bool) or not isinstance(iterations, (int, np.integer)) or iterations < 1:
            raise SpecError(f"site_iterations={iterations!r}: must be a whole number of at least 1.")

    @property
    def traits(self) -> Traits:
        """Its own."""
        raise NotImplementedError

    @property
    def evidence_kind(self) -> str:
        """What its evidence is, as "ep"; of variational inference "elbo", or the name of another bound."""
        return self.traits.evidence_kind

    def written(self, **settings: object) -> str:
        """How the user writes the method, with settings changed."""
        texts = {**dict(self.given), **{name: short_text(value) for name, value in settings.items()}}
        inside = ", ".join(f"{name}={text}" for name, text in texts.items())
        return f"method=tg.{type(self).__name__.removesuffix('Updates')}({inside})"

    @property
    def side_noises(self) -> Literal["shared", "row"] | None:
        """Whether censored rows have separate noise, one for each side or for each row, before log sigma."""
        return None

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
        return 0.0 * d + sigma * sigma

    def exact_part(self, rows: KindRows, m: Array, d: Array, sigma: float) -> Array:
        """Evidence part D of conjugate rows, (n,): their log density, which needs no cavity (EP7)."""
        return rows.weight * log_density_exact(rows.limit, m, self.exact_variance(d, rows.noise(sigma)))

    def update(self, likelihood: Likelihood, rows: KindRows, q: Marginals, sigma: float) -> Update:
        """One site update of rows that are not conjugate."""
        raise NotImplementedError

    def slopes(self, likelihood: Likelihood, rows: KindRows, q: Marginals, sigma: float) -> Slopes:
        """Derivatives of the evidence at the fixed point, conjugate rows included."""
        raise NotImplementedError


def loosened(method: Method, tol: float) -> Method:
    """The method, its sites converged to ``tol`` where its own is finer."""
    return method if method.tol >= tol else replace(method, tol=tol)  # type: ignore[type-var]


def is_number(value: object) -> bool:
    """Whether a setting is a finite number."""
    return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)


_PATIENCE = 60
_IMPROPER = 1e12  # a cavity so many times wider than the posterior has lost its digits, or its variance


@dataclass(frozen=True, slots=True)
class EPUpdates(Method):
    """Updates of expectation propagation: (EP1) to (EP9) of the theory pages; see `tobitgp.EP`."""

    tol: float = 1e-7
    max_iterations: int = 200
    damping: float = 1.0
    floored: bool = False
    given: GivenSettings = field(default=(), compare=False)
    name: ClassVar[str] = "ep"
    traits: ClassVar[Traits] = Traits("ep")

    def warm_up(self, likelihood: Likelihood, warm: bool) -> Method | None:
        """Nothing where flat sites will do; a rough run with floored sites where they may not."""
        return None if warm or likelihood.log_concave or self.floored else ROUGH

    def attempts(self, likelihood: Likelihood) -> tuple[Method, ...]:
        """Where sites may have negative precision, those first, and floored ones where they do not converge soon."""
        if likelihood.log_concave or self.floored:
            return (self,)
        return replace(self, max_iterations=min(self.max_iterations, _PATIENCE)), replace(self, floored=True)

    def exact_variance(self, d: Array, sigma: float | Array) -> Array:
        """Noise variance of exact rows: ``sigma^2 + d``."""
        return sigma * sigma + d

    def update(self, likelihood: Likelihood, rows: KindRows, q: Marginals, sigma: float) -> Update:
        """Match moments with the cavity, which leaves one of a row's ``weight`` copies out: (EP2), (EP4) and (EP6)."""
        c = rows.weight
        alpha, v_c, mu_c = cavity(q, c)
        if not (likelihood.log_concave or self.floored) and (v_c >= _IMPROPER * q.v_p).any():
            raise NumericalError("A cavity has no variance.")
        t = likelihood.tilted(rows, mu_c, v_c + q.d, sigma)
        D = t.log_Z + 0.5 * np.log1p(q.lambda2 / c * v_c) + 0.5 * v_c * alpha * alpha
        d2 = np.minimum(t.d2, 0.0) if self.floored else t.d2
        scale = c / (1.0 + d2 * v_c)
        return Update((t.d1 - mu_c * d2) * scale, -d2 * scale, c * D)

    def slopes(self, likelihood: Likelihood, rows: KindRows, q: Marginals, sigma: float) -> Slopes:
        """(EP8) and (EP9), with the tilted derivatives ``alpha`` and ``-lambda2 (1 - lambda2 v_p)`` of a copy."""
        c = rows.weight
        d1, v_c, mu_c = cavity(q, c)
        lambda2 = q.lambda2 / c
        d2 = -lambda2 * (1.0 - lambda2 * q.v_p)
        e = c * likelihood.tilted_slope(rows, mu_c, v_c + q.d, sigma, d1, d2)
        return Slopes(0.5 * c * (d1 * d1 + d2), e)


ROUGH = EPUpdates(tol=1e-2, max_iterations=30, floored=True)


def cavity(q: Marginals, weight: Array) -> tuple[Array, Array, Array]:
    """``alpha`` of one copy of each row, and variance and mean of ``a_n' w`` without it (EP1); (n,) each."""
    alpha = (q.lambda1 - q.lambda2 * q.m) / weight
    v_c = q.v_p / np.maximum(1.0 - q.lambda2 / weight * q.v_p, 1.0 / _IMPROPER)
    return alpha, v_c, q.m - v_c * alpha


@dataclass(frozen=True, slots=True)
class LaplaceUpdates(Method):
    """Updates of Laplace's method: (LA1) to (LA7) of the theory pages; see `tobitgp.Laplace`."""

    tol: float = 1e-7
    max_iterations: int = 200
    damping: float = 1.0
    given: GivenSettings = field(default=(), compare=False)
    name: ClassVar[str] = "laplace"
    traits: ClassVar[Traits] = Traits("laplace", "joint", accelerated=False)

    def warm_up(self, likelihood: Likelihood, warm: bool) -> Method | None:
        """A rough run of EP where there may be several modes, or a tail too steep for Newton's method to start in."""
        return None if warm or (likelihood.log_concave and not likelihood.steep) else ROUGH

    def update(self, likelihood: Likelihood, rows: KindRows, q: Marginals, sigma: float) -> Update:
        """``lambda2 = -l''(m)``, ``lambda1 = l'(m) + lambda2 m``; D is ``log p(m)``: (LA2) and (LA3)."""
        l = likelihood.newton(rows, q.m, sigma)
        lambda2 = -rows.weight * l.d2
        return Update(rows.weight * l.d1 + lambda2 * q.m, lambda2, rows.weight * l.log_Z)

    def slopes(self, likelihood: Likelihood, rows: KindRows, q: Marginals, sigma: float) -> Slopes:
        """Explicit and implicit derivatives: ``u`` of (LA5), and (LA7)."""
        l = likelihood.point(rows, q.m, sigma)
        c, half_v = rows.weight, 0.5 * q.v_p
        return Slopes(np.zeros_like(q.m), c * (l.s0 + half_v * l.s2), (c * half_v * l.d3, c * l.s1))
