"""What a family of components must say; everything else is shared."""

from __future__ import annotations

from typing import Literal, NamedTuple, Protocol

from tobitgp.mixture.checks import Support
from tobitgp.mixture.law import Law
from tobitgp.mixture.rows import Rows, Units
from tobitgp.typing import Array, BoolArray


class Sums(NamedTuple):
    """What a pass over the rows brings, additive over rows."""

    log_norm: float  # ``sum_n w_n log sum_k exp(gamma_nk)``
    counts: Array  # (K,), expected number of rows of each component
    statistics: Array  # (S, K), expected statistics of the family, weighted by responsibility


class Terms(NamedTuple):
    """Some rows under each component."""

    log_p: Array  # (K, n), log density of exact rows
    statistics: tuple[Array, ...]  # (K, n), what the update of the components needs


class Family(Protocol):
    r"""A family of components :math:`f(y | \theta_k)` with prior and posterior of P hyper-parameters each.

    Under a posterior with hyper-parameters q the expected log density of a row is that of the *plug-in* parameters
    theta(q) plus an offset that is the same for all rows, :math:`E \log f(y|\theta_k) = \log f(y|\bar\theta_k) +
    \mathrm{offset}_k`, exact or integrated over an interval: (MIX3) of the theory pages. So maximum likelihood and
    variational Bayes share ``terms``.
    """

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def support(self) -> Support: ...  # noqa: D102
    @property
    def logarithm(self) -> bool: ...  # noqa: D102
    @property
    def free_of(self) -> Literal["location and scale", "scale", "nothing"]: ...  # noqa: D102
    @property
    def parameters(self) -> tuple[str, ...]: ...  # noqa: D102
    @property
    def hyperparameters(self) -> tuple[str, ...]: ...  # noqa: D102

    @property
    def positive(self) -> tuple[bool, ...]: ...  # noqa: D102

    def terms(self, rows: Rows, theta: Array) -> Terms:
        """Log density or mass of rows and their statistics under plug-in parameters (D, K)."""
        ...

    def reference(self, k: int) -> Array:
        """Parameters (D, K) about which statistics of a start are taken."""
        ...

    def location(self, theta: Array) -> Array:
        """What grows with the means of the components, (K,)."""
        ...

    def spread(self, values: Array) -> Array:
        """Values (n,) on a scale on which distances between components are of one size."""
        ...

    def default_prior(self, typical: float, k: float) -> Array:
        """Hyper-parameters (P,) of one of k components, on the scale that is modelled, for rows of a typical size."""
        ...

    def prior_to_working(self, prior: Array, units: Units) -> Array:
        """A prior (P,) given in the user's units."""
        ...

    def plug_in(self, q: Array) -> tuple[Array, Array]:
        """Plug-in parameters (D, K) and offsets (K,) of posteriors (P, K)."""
        ...

    def posterior(self, prior: Array, theta: Array, sums: Sums) -> Array:
        """New posteriors (P, K) from sums taken at theta."""
        ...

    def cautious(self, prior: Array, theta: Array, sums: Sums) -> Array:
        """As `posterior`, by steps that cannot lower the bound."""
        ...

    def divergence(self, q: Array, prior: Array) -> Array:
        """Kullback-Leibler divergences KL[q || prior], (K,)."""
        ...

    def between(self, old: Array, new: Array, step: float) -> Array | None:
        """Posteriors on the straight line through old and new in natural parameters; None where there is none."""
        ...

    def gradient(self, q: Array, prior: Array, sums: Sums) -> Array:
        """Derivative of the bound in q, (P, K), from sums taken at its plug-in parameters."""
        ...

    def information(self, q: Array) -> Array:
        """Curvature of KL[q || .] at q, (P, P, K): Fisher's information of q."""
        ...

    def estimates(self, q: Array, units: Units) -> tuple[Array, Array]:
        """The user's parameters (R, K) of posteriors, and their derivatives in q, (R, P, K)."""
        ...

    def interval(self, values: Array, error: Array, level: float) -> tuple[Array, Array]:
        """Ends (R, K) of central intervals for the user's parameters (R, K) with standard errors (R, K)."""
        ...

    def maximum(self, theta: Array, sums: Sums, floor: float, cautious: bool = False) -> Array:
        """New point estimates (D, K) from sums taken at theta; where cautious, never of a lower likelihood."""
        ...

    def score(self, theta: Array, sums: Sums) -> Array:
        """Derivative of the log likelihood in theta, (D, K)."""
        ...

    def possible(self, theta: Array, floor: float) -> bool:
        """Whether point estimates lie where they may."""
        ...

    def held(self, theta: Array, floor: float) -> BoolArray:
        """Which point estimates (D, K) stand at a bound."""
        ...

    def point_estimates(self, theta: Array, units: Units) -> tuple[Array, Array]:
        """The user's parameters (R, K) of point estimates, and their derivatives in theta, (R, D, K)."""
        ...

    def predictive(self, q: Array, units: Units) -> Law:
        """Law of a new value under each component, its parameters integrated out."""
        ...

    def point_law(self, theta: Array, units: Units) -> Law:
        """Law of a new value under each component at given parameters."""
        ...
