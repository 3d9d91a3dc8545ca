"""A Gaussian process as features: inducing inputs Z, ``A = K_NM L^-T`` with ``K_MM = L L'``, ``d = k_nn - |a_n|^2``.

These are (FEA2) of the theory pages.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tobitgp.errors import SpecError
from tobitgp.numerics.linear_algebra import inverse_factor, pivoted_cholesky, solve_upper, triangular_product
from tobitgp.priors.block import Features, Grouping, Inputs
from tobitgp.priors.kernels import Covariance
from tobitgp.typing import Array, IntArray

RELATIVE_RESIDUAL = 1e-10
DENSE_LIMIT = 5000
FREE_FEATURES = 32
FEW_ROWS = 512


@dataclass(frozen=True, slots=True)
class KernelBlock:
    """A zero-mean Gaussian process ``sd^2 k(x, x')``, one for every group where there are groups."""

    inputs: Inputs  # of the training rows
    covariance: Covariance
    Z: Array  # (M, d), inducing inputs
    grouping: Grouping | None = None

    @property
    def n_parameters(self) -> int:
        """One log sd and the logarithms of the covariance's parameters."""
        return 1 + self.covariance.n_parameters

    def at(self, theta: Array) -> KernelFeatures:
        """Fix ``theta = (log sd, log lengthscale, ...)``."""
        return self.at_with_kept(theta)[0]

    def at_with_kept(self, theta: Array) -> tuple[KernelFeatures, IntArray]:
        """Features at ``theta``, and which of the inducing inputs they use."""
        variance, parameters = float(np.exp(2.0 * theta[0])), np.exp(theta[1:])
        K = self.covariance.value(self.Z, self.Z, parameters)
        L, kept = pivoted_cholesky(K, RELATIVE_RESIDUAL * float(K.diagonal().max()))
        L *= np.sqrt(variance)
        return KernelFeatures(self.covariance, variance, parameters, self.Z[kept], L, self.grouping), kept


@dataclass(frozen=True, slots=True)
class GPPrior:
    """A Gaussian process term before its inducing inputs are chosen."""

    inputs: Inputs  # standardised, of the training rows
    covariance: Covariance
    inducing: str | int | Array | None = "auto"  # (M, d), greedy until little is left
    grouping: Grouping | None = None
    moves: bool = False  # whether the inducing inputs are to be moved from there to where they tell most

    @property
    def n_parameters(self) -> int:
        """One log sd and the logarithms of the covariance's parameters."""
        return 1 + self.covariance.n_parameters

    @property
    def has_level(self) -> bool:
        """Whether it holds a level, one of each group where there are groups, as their intercept would."""
        stationary = [factor.kernel.stationary for factor in self.covariance.factors]
        return bool(stationary) and all(stationary)

    def subset(self, rows: IntArray) -> GPPrior:
        """Return the term on some of the rows."""
        return replace(self, inputs=self.inputs.rows(rows))

    def choose(self, theta: Array, precision: Array, *, nats: float, cap: int) -> KernelBlock:
        """Block with inducing inputs fit for parameters ``theta`` and site precisions ``precision`` (n,)."""
        X = self.inputs.X
        if self.inducing is None:
            Z = all_inputs(X)
        elif isinstance(self.inducing, np.ndarray):
            Z = self.inducing
        else:
            fixed = isinstance(self.inducing, int)
            aim, most = (0.0, int(self.inducing)) if fixed else (nats, cap)
            Z = X[greedy_inducing(X, self.covariance, theta, precision, nats=aim, cap=most)]
        return KernelBlock(self.inputs, self.covariance, Z, self.grouping)


@dataclass(frozen=True, slots=True)
class KernelFeatures:
    """A kernel block at fixed parameters."""

    covariance: Covariance
    variance: float
    parameters: Array  # (k,), of the covariance
    Z: Array  # (M, d), inducing inputs
    L: Array  # (M, M), lower Cholesky factor of ``K_MM``
    grouping: Grouping | None = None
    T: Array = field(init=False, repr=False, compare=False)  # (M, M), ``sd^2 L^-1``

    def __post_init__(self) -> None:
        object.__setattr__(self, "T", self.variance * inverse_factor(self.L))

    @property
    def size(self) -> int:
        """Number of inducing inputs in use."""
        return len(self.Z)

    @property
    def n_sums(self) -> int:
        """Four; see ``backward``."""
        return 4

    def features(self, X: Array, *, slopes: bool = False) -> Features:
        """Whitened features of rows with inputs ``X`` (n, d), and what they leave of the prior variance."""
        K = self.covariance.value(X, self.Z, self.parameters)
        A = triangular_product(K.copy() if slopes else K, self.T, transposed=True)
        d = self.variance * self.covariance.diagonal(X) - np.einsum("nm,nm->n", A, A)
        return Features(A, np.maximum(d, 0.0, out=d), K if slopes else None)

    def backward(self, X: Array, features: Features, G_A: Array, g_d: Array) -> tuple[Array, ...]:
        """Sum over rows: the part through ``K_NM``, ``A' G`` for the part through ``K_MM``, and ``sum g_d k_nn``."""
        return self.sums(X, features, *self.slopes(features, G_A, g_d), g_d)

    def slopes(self, features: Features, G_A: Array, g_d: Array) -> tuple[Array, Array]:
        """``A' G`` (M, M), where ``G`` is dF/dA with ``d`` taken along (FEA6), and dF in the correlations ``K_NM``."""
        G = G_A - (2.0 * g_d)[:, None] * features.A
        AtG = features.A.T @ G
        return AtG, triangular_product(G, self.T, transposed=False)

    def sums(self, X: Array, features: Features, AtG: Array, G_K: Array, g_d: Array) -> tuple[Array, ...]:
        """What ``backward`` sums, from ``slopes``."""
        K = features.cache
        slopes = self.covariance.contract(X, self.Z, self.parameters, K, G_K)
        return np.einsum("nm,nm->", G_K, K), slopes, AtG, g_d @ self.covariance.diagonal(X)

    def finish(self, sums: tuple[Array, ...]) -> Array:
        """Gradient in (log sd, logarithms of the covariance's parameters)."""
        return self.gradient(sums, *self.slopes_between(sums[2]))

    def slopes_between(self, AtG: Array) -> tuple[Array, Array]:
        """Correlations ``K_MM`` between inducing inputs, and the gradient in them, (M, M).

        ``dF/dK_MM = -1/2 L^-T (A' G) L^-1``: F sees the features through ``A A'`` only, so ``A' G`` is symmetric
        at a fixed point (FEA7).
        """
        half = solve_upper(self.L, np.asfortranarray(0.5 * (AtG + AtG.T)))
        G_MM = -0.5 * self.variance * solve_upper(self.L, np.asfortranarray(half.T))
        return self.covariance.value(self.Z, self.Z, self.parameters), G_MM

    def gradient(self, sums: tuple[Array, ...], K_MM: Array, G_MM: Array) -> Array:
        """What ``finish`` gives, from ``slopes_between``."""
        through_nm, slopes, _, through_nn = sums
        by_sd = 2.0 * (through_nm + np.einsum("nm,nm->", G_MM, K_MM) + self.variance * through_nn)
        return np.append(by_sd, slopes + self.covariance.contract(self.Z, self.Z, self.parameters, K_MM, G_MM))


def greedy_inducing(
    X: Array, covariance: Covariance, theta: Array, weight: Array, *, nats: float, cap: int
) -> IntArray:
    """Choose training rows as inducing inputs, largest ``weight x residual variance`` first.

    Partial pivoted Cholesky of the kernel matrix, one column a step (FEA9), until the trace term ``1/2 sum weight d``,
    (FEA8), falls to ``nats`` or ``cap`` rows are chosen. The first 32 cost next to nothing and are taken unless the
    prior is already exact to a relative 1e-10. With ``T`` the trace term at the site precisions of Gaussian rows, the
    evidence lower bound loses at least T against the prior in full, and at most 2 T, on the average over responses
    drawn from that prior.

    Shapes: X (n, d), theta (k,), weight (n,); gives (M,). D. Burt, C. E. Rasmussen and M. van der Wilk, "Rates of
    convergence for sparse variational Gaussian process regression", ICML 2019.
    """
    variance, parameters = float(np.exp(2.0 * theta[0])), np.exp(theta[1:])
    n = len(X)
    limit = min(cap, n)
    A = np.empty((min(limit, 32), n))
    d = variance * covariance.diagonal(X)
    floor = RELATIVE_RESIDUAL * float(d.max())
    # A column at a time is slower than all of few.
    K = variance * covariance.value(X, X, parameters) if n <= FEW_ROWS else None
    chosen: list[int] = []
    while len(chosen) < limit:
        i = int(np.argmax(weight * d))
        m = len(chosen)
        if d[i] <= floor or (m >= FREE_FEATURES and 0.5 * float(weight @ d) <= nats):
            break
        if m == len(A):
            A = np.concatenate([A, np.empty((min(m, limit - m), n))])
        column = variance * covariance.value(X, X[i : i + 1], parameters)[:, 0] if K is None else K[:, i]
        column = column - A[:m, i] @ A[:m]
        column /= np.sqrt(d[i])
        A[m] = column
        d -= column * column
        np.maximum(d, 0.0, out=d)
        d[i] = 0.0
        chosen.append(i)
    return np.array(chosen or [0], dtype=np.intp)


def all_inputs(X: Array) -> Array:
    """Distinct training inputs, (M, d), for the numerically exact prior."""
    Z = np.unique(X, axis=0) if X.shape[1] else X[:1]
    if len(Z) > DENSE_LIMIT:
        raise SpecError(
            f"inducing=None builds a kernel matrix of {len(Z)} x {len(Z)} distinct rows; at most {DENSE_LIMIT} are "
            "allowed. Use inducing='auto', a number, or an array of locations."
        )
    return Z


@dataclass(frozen=True, slots=True, eq=False)
class Inducing:
    """Inducing inputs of a process that are moved to where they tell most.

    They ascend a lower bound on the evidence together with the hyper-parameters: as Basson et al. [1]_ choose those of
    their bound, and where the method has no bound of its own that of exact variational inference.

    Parameters
    ----------
    start : int or (M, d) array
        How many, to start from rows chosen one after another; or locations to start from, in the user's units.
    optimize : bool
        False leaves them where they start, as ``start`` itself would.

    Raises
    ------
    SpecError
        If ``start`` is neither a number of at least 1 nor an array of finite numbers, or ``optimize`` no bool.

    References
    ----------
    .. [1] M. Basson, T. M. Louw and T. R. Smith, "Variational Tobit Gaussian process regression", Statistics and
       Computing 33 (2023).

    Examples
    --------
    >>> import tobitgp as tg
    >>> data = tg.datasets.simulate_groot_lucas()
    >>> options = {"method": "vi", "hyper": "maximize"}
    >>> fixed = tg.fit("y ~ gp(x) | censor(lower)", data, inducing=9, **options)
    >>> moved = tg.fit("y ~ gp(x) | censor(lower)", data, inducing=tg.Inducing(9), **options)
    >>> moved.log_evidence > fixed.log_evidence
    True
    """

    start: Any
    optimize: bool = True

    def __post_init__(self) -> None:
        if not isinstance(self.optimize, bool):
            raise SpecError(f"tg.Inducing(optimize={self.optimize!r}): True or False is needed.")
        if not _is_whole(self.start) and not _is_located(self.start):
            raise SpecError(
                f"tg.Inducing({self.start!r}): a positive number of inputs, or an array of finite locations of shape "
                "(M, d), is needed."
            )


def _is_whole(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool) and int(value) >= 1


def _is_located(value: Any) -> bool:
    try:
        Z = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        return False
    return Z.ndim in (1, 2) and len(Z) > 0 and bool(np.isfinite(Z).all())


@dataclass(frozen=True, slots=True)
class MovingBlock:
    """A kernel block whose parameters are its own and then its inducing inputs, row by row."""

    block: KernelBlock  # with the inducing inputs (M, d) where they start

    @property
    def inputs(self) -> Inputs:
        """Of the training rows."""
        return self.block.inputs

    @property
    def n_parameters(self) -> int:
        """The block's own parameters and M d coordinates."""
        return self.block.n_parameters + self.block.Z.size

    def start(self, theta: Array) -> Array:
        """The block's own parameters ``theta`` (k,) with the inducing inputs it holds, (k + M d,)."""
        return np.append(theta, self.block.Z)

    def moved(self, theta: Array) -> KernelBlock:
        """The block with the inducing inputs that ``theta`` (k + M d,) holds."""
        return replace(self.block, Z=theta[self.block.n_parameters :].reshape(self.block.Z.shape))

    def at(self, theta: Array) -> MovingFeatures:
        """Fix the parameters and the inducing inputs."""
        at, kept = self.moved(theta).at_with_kept(theta[: self.block.n_parameters])
        return MovingFeatures(at, kept, len(self.block.Z))


@dataclass(frozen=True, slots=True)
class MovingFeatures:
    """A moving block at fixed parameters and inducing inputs."""

    fixed: KernelFeatures  # with the inducing inputs in use
    kept: IntArray  # (M,), which they are
    n_inducing: int  # inducing inputs among the parameters

    @property
    def size(self) -> int:
        """Number of inducing inputs in use."""
        return self.fixed.size

    @property
    def grouping(self) -> Grouping | None:
        """Groups with weights of their own."""
        return self.fixed.grouping

    @property
    def n_sums(self) -> int:
        """Those of a kernel block, and one for the inducing inputs."""
        return self.fixed.n_sums + 1

    def features(self, X: Array, *, slopes: bool = False) -> Features:
        """Those of the kernel block."""
        return self.fixed.features(X, slopes=slopes)

    def backward(self, X: Array, features: Features, G_A: Array, g_d: Array) -> tuple[Array, ...]:
        """Those of the kernel block, then the part (M, d) of the gradient in the inducing inputs through ``K_NM``."""
        fixed = self.fixed
        AtG, G_K = fixed.slopes(features, G_A, g_d)
        through_nm = fixed.covariance.contract_inputs(X, fixed.Z, fixed.parameters, features.cache, G_K)
        return *fixed.sums(X, features, AtG, G_K, g_d), through_nm

    def finish(self, sums: tuple[Array, ...]) -> Array:
        """Gradient in the block's own parameters, then in every coordinate of the inducing inputs.

        Each inducing input stands in a row and in a column of the symmetric ``K_MM``, so its part through there is
        that of a column twice: below (FEA7) of the theory pages.
        """
        *own, through_nm = sums
        fixed = self.fixed
        K_MM, G_MM = fixed.slopes_between(own[2])
        through_mm = fixed.covariance.contract_inputs(fixed.Z, fixed.Z, fixed.parameters, K_MM, 2.0 * G_MM)
        gradient = np.zeros((self.n_inducing, fixed.Z.shape[1]))
        gradient[self.kept] = through_nm + through_mm
        return np.append(fixed.gradient(tuple(own), K_MM, G_MM), gradient)
