"""A Gaussian process as features (FEA2): ``A = K_NM L^-T`` with inducing inputs and ``K_MM = L L'``; d is left."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tobitgp.compiled import library
from tobitgp.errors import SpecError
from tobitgp.method_value import MethodValue
from tobitgp.numerics.copies import made_anew
from tobitgp.numerics.linear_algebra import inverse_factor, pivoted_cholesky, solve_upper, triangular_product
from tobitgp.priors.kernels import Covariance
from tobitgp.priors.structure import Features, Grouping, Inputs
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
    moves: bool = False  # whether the inducing inputs are parameters too, after the others, row by row
    residual: float = RELATIVE_RESIDUAL  # of the largest variance, that inducing inputs may leave of each other

    @property
    def n_parameters(self) -> int:
        """One log sd, logarithms of the covariance's parameters, and M d coordinates where inducing inputs move."""
        return 1 + self.covariance.n_parameters + (self.Z.size if self.moves else 0)

    def inducing_at(self, theta: Array) -> Array:
        """Inducing inputs (M, d) where they move."""
        return theta[1 + self.covariance.n_parameters :].reshape(self.Z.shape)

    def at(self, theta: Array) -> KernelFeatures:
        """Fix ``theta = (log sd, log lengthscale, ...)``."""
        own, Z = theta[: 1 + self.covariance.n_parameters], self.inducing_at(theta) if self.moves else self.Z
        variance, parameters = float(np.exp(2.0 * own[0])), np.exp(own[1:])
        K = self.covariance.value(Z, Z, parameters)
        L, kept = pivoted_cholesky(K, self.residual * float(K.diagonal().max()))
        L *= np.sqrt(variance)
        made = self.covariance, variance, parameters, Z[kept], L, self.grouping
        return MovingFeatures(*made, kept=kept, n_inducing=len(Z)) if self.moves else KernelFeatures(*made)


@dataclass(frozen=True, slots=True)
class GPPrior:
    """A Gaussian process term before its inducing inputs are chosen."""

    inputs: Inputs  # standardised, of the training rows
    covariance: Covariance
    inducing: str | int | Array | None = "auto"  # (M, d), greedy until little is left
    grouping: Grouping | None = None
    moves: bool = False  # whether the inducing inputs are to be moved from there to where they tell most
    approximation: str = "low_rank"  # or "auto", "markov", "vecchia": what may stand for it
    neighbours: int | None = None  # of each place in Vecchia's prior, where it was given

    @property
    def n_parameters(self) -> int:
        """One log sd and the logarithms of the covariance's parameters."""
        return 1 + self.covariance.n_parameters

    @property
    def kernels(self) -> tuple[Inputs, Covariance, int]:
        """The inputs that its kernels are functions of, these kernels, and the place of their first parameter."""
        return self.inputs, self.covariance, 1

    def subset(self, rows: IntArray) -> GPPrior:
        """Return the term on some of the rows."""
        return replace(self, inputs=self.inputs.rows(rows))

    def covariance_of_rows(self, theta: Array) -> Array:
        """Prior covariance (n, n) of the term in the training rows, as it is within a group."""
        X = self.inputs.X
        return np.asarray(np.exp(2.0 * theta[0]) * self.covariance.value(X, X, np.exp(theta[1:])))

    def low_rank(self, theta: Array, precision: Array, *, nats: float, cap: int) -> tuple[Any, float]:
        """Block with inducing inputs fit for parameters ``theta`` and site precisions (n,), and the nats they leave.

        For locations given by the user, the gap is not computed.
        """
        X, left = self.inputs.X, 0.0
        if self.inducing is None:
            Z = all_inputs(X)
        elif isinstance(self.inducing, np.ndarray):
            Z = self.inducing
        else:
            aim, most = (0.0, self.inducing) if isinstance(self.inducing, int) else (nats, cap)
            chosen, left = greedy_inducing(X, self.covariance, theta, precision, nats=aim, cap=most)
            Z = X[chosen]
        return KernelBlock(self.inputs, self.covariance, Z, self.grouping), left


@dataclass(frozen=True, slots=True)
class KernelFeatures:
    """A kernel block at fixed parameters."""

    covariance: Covariance
    variance: float
    parameters: Array  # (k,), of the covariance
    Z: Array  # (M, d), inducing inputs in use
    L: Array  # (M, M), lower Cholesky factor of ``K_MM``
    grouping: Grouping | None = None
    T: Array = field(init=False, repr=False, compare=False)  # (M, M), ``sd^2 L^-1``
    __reduce__ = made_anew

    def __post_init__(self) -> None:
        object.__setattr__(self, "T", self.variance * inverse_factor(self.L))

    @property
    def size(self) -> int:
        """Number of inducing inputs in use."""
        return len(self.Z)

    def features(self, X: Array, *, slopes: bool = False) -> Features:
        """Whitened features of rows with inputs ``X`` (n, d), and what they leave of the prior variance."""
        K = self.covariance.value(X, self.Z, self.parameters)
        A = triangular_product(K.copy() if slopes else K, self.T, transposed=True)
        d = self.variance * self.covariance.diagonal(X) - np.einsum("nm,nm->n", A, A)
        return Features(A, np.maximum(d, 0.0, out=d), K if slopes else None)

    def residuals(self, X: Array, A: Array, rows: slice) -> Array:
        """Covariances (n, k) with some rows in what features ``A`` (n, M) leave."""
        return self.variance * self.covariance.value(X, X[rows], self.parameters) - A @ A[rows].T

    def mean(self, X: Array, w: Array) -> Array:
        """A matrix of covariances times a vector."""
        return self.covariance.value(X, self.Z, self.parameters) @ (self.T.T @ w)

    def backward(self, X: Array, features: Features, G_A: Array, g_d: Array) -> tuple[Array, ...]:
        """Sums of rows: through ``K_NM`` by log sd and by the rest, ``A' G`` for ``K_MM`` (FEA6), through ``k_nn``."""
        G, K = G_A - (2.0 * g_d)[:, None] * features.A, features.cache
        AtG = features.A.T @ G
        G_K = triangular_product(G, self.T, transposed=False)
        slopes = self.covariance.contract(X, self.Z, self.parameters, K, G_K)
        sums = np.einsum("nm,nm->", G_K, K), slopes, AtG, g_d @ self.covariance.diagonal(X)
        return sums + self._input_slopes(X, K, G_K)

    def _input_slopes(self, X: Array, K: Array, G: Array) -> tuple[Array, ...]:
        return ()

    def finish(self, sums: Sequence[Array]) -> Array:
        """Gradient in (log sd, logarithms of the covariance's parameters)."""
        through_nm, slopes, AtG, through_nn = sums
        K, G = self._slopes_between(AtG)
        by_sd = 2.0 * (through_nm + np.einsum("nm,nm->", G, K) + self.variance * through_nn)
        return np.append(by_sd, slopes + self.covariance.contract(self.Z, self.Z, self.parameters, K, G))

    def _slopes_between(self, AtG: Array) -> tuple[Array, Array]:
        """Correlations ``K_MM``, and ``dF/dK_MM = -1/2 L^-T (A' G) L^-1``; A'G is symmetric at a fixed point (FEA7)."""
        half = solve_upper(self.L, np.asfortranarray(0.5 * (AtG + AtG.T)))
        G_MM = -0.5 * self.variance * solve_upper(self.L, np.asfortranarray(half.T))
        return self.covariance.value(self.Z, self.Z, self.parameters), G_MM


@dataclass(frozen=True, slots=True, kw_only=True)
class MovingFeatures(KernelFeatures):
    """A kernel block at fixed parameters and inducing inputs, these among the parameters."""

    kept: IntArray  # (M,), which inducing inputs are in use
    n_inducing: int

    def _input_slopes(self, X: Array, K: Array, G: Array) -> tuple[Array, ...]:
        return (self.covariance.contract_inputs(X, self.Z, self.parameters, K, G),)

    def finish(self, sums: Sequence[Array]) -> Array:
        """Gradient in the block's own parameters, then in every coordinate of the inducing inputs."""
        *own, through_nm = sums
        K, G = self._slopes_between(own[2])
        gradient = np.zeros((self.n_inducing, self.Z.shape[1]))
        # An inducing input is in a row and in a column of the symmetric K_MM: below (FEA7).
        through_mm = self.covariance.contract_inputs(self.Z, self.Z, self.parameters, K, 2.0 * G)
        gradient[self.kept] = through_nm + through_mm
        return np.append(KernelFeatures.finish(self, own), gradient)


def greedy_inducing(
    X: Array, covariance: Covariance, theta: Array, weight: Array, *, nats: float, cap: int
) -> tuple[IntArray, float]:
    """Choose training rows as inducing inputs, largest ``weight x residual variance`` first, and the nats they leave.

    Pivoted Cholesky (FEA9) until the trace term ``1/2 sum weight d`` (FEA8) falls to ``nats``: the evidence lower bound
    loses once to twice that (Burt, Rasmussen and van der Wilk 2019). The first 32 cost next to nothing, and are taken.
    """
    order = np.lexsort((weight, *X.T))  # of two rows that would help as much, the same whatever their order
    chosen, left = _pivots(X[order], covariance, theta, weight[order], nats, cap)
    return order[chosen], left


def _pivots(
    X: Array, covariance: Covariance, theta: Array, weight: Array, nats: float, cap: int
) -> tuple[IntArray, float]:
    """The same, the first row where several would help as much."""
    n = len(X)
    limit = min(cap, n)
    if library.load() is not None and covariance.compiled is not None:
        return _compiled_greedy(X, covariance, theta, weight, nats, limit)
    variance, parameters = float(np.exp(2.0 * theta[0])), np.exp(theta[1:])
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
    return np.array(chosen or [0], dtype=np.intp), 0.5 * float(weight @ d)


def _compiled_greedy(
    X: Array, covariance: Covariance, theta: Array, weight: Array, nats: float, limit: int
) -> tuple[IntArray, float]:
    """The same by the compiled core."""
    arrays: list[Array] = [np.ascontiguousarray(values) for values in (X, theta, weight)]
    chosen, left = np.empty(limit, dtype=np.int32), ctypes.c_double()
    block = library.Block(kind=covariance.compiled, inputs=X.shape[1], X=library.address(arrays[0]))
    block.each = covariance.factors[0].ard if covariance.factors else False
    block.theta = library.address(arrays[1])
    found = library.load().choose_inducing(
        ctypes.byref(block),
        len(X),
        ctypes.c_void_p(library.address(arrays[2])),
        ctypes.c_double(nats),
        limit,
        min(FREE_FEATURES, limit),
        ctypes.c_void_p(library.address(chosen)),
        ctypes.byref(left),
    )
    if found < 0:
        raise MemoryError
    return chosen[:found].astype(np.intp), left.value


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
class Inducing(MethodValue):
    """Inducing inputs of a process that are moved to where they tell most.

    They ascend a lower bound on the evidence together with the hyper-parameters, as those of Basson et al. [1]_ do;
    where the method has no bound, that of exact variational inference.

    Parameters
    ----------
    start : int or (M, d) array
        Number of inducing inputs, which start at rows chosen one after another; or locations to start from, in the
        user's units.
    optimize : bool
        Optimise the locations. False keeps them at their start, as ``inducing=start`` does.

    Raises
    ------
    SpecError
        If ``start`` is neither a number of at least 1 nor an array of finite numbers, or ``optimize`` is not a bool.

    References
    ----------
    .. [1] M. Basson, T. M. Louw and T. R. Smith, "Variational Tobit Gaussian process regression", Statistics and
       Computing 33 (2023).

    Examples
    --------
    >>> import tobitgp as tg
    >>> data = tg.datasets.simulate_groot_lucas()
    >>> formula, moving = "y ~ gp(x) | censor(lower)", tg.Inducing(9)
    >>> fixed = tg.fit(formula, data, method=tg.VI(hyper="maximize", inducing=9))
    >>> moved = tg.fit(formula, data, method=tg.VI(hyper="maximize", inducing=moving))
    >>> moved.log_evidence > fixed.log_evidence
    True
    """

    start: Any
    optimize: bool = True

    def __post_init__(self) -> None:
        if not isinstance(self.optimize, bool):
            raise SpecError(f"tg.Inducing(optimize={self.optimize!r}): must be True or False.")
        start = read_inducing(self.start)
        if start is None or isinstance(start, str):
            raise SpecError(
                f"tg.Inducing({self.start!r}): must be a positive number of inputs, or an array of finite locations of "
                "shape (M, d)."
            )


def read_inducing(choice: Any) -> int | Array | str | None:
    """A positive number of inducing inputs, finite locations of one or two dimensions, or "auto"; None for all else."""
    if isinstance(choice, (int, np.integer)) and not isinstance(choice, bool):
        return int(choice) if choice >= 1 else None
    if isinstance(choice, str):
        return choice if choice == "auto" else None
    try:
        Z = np.asarray(choice, dtype=float)
    except (TypeError, ValueError):
        return None
    return Z if Z.ndim in (1, 2) and Z.size and np.isfinite(Z).all() else None
