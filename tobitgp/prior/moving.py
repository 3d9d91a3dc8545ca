"""Inducing inputs that move: a kernel block that counts their locations among its parameters."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tobitgp.errors import SpecError
from tobitgp.prior.block import Features, Grouping, Inputs
from tobitgp.prior.kernel import KernelBlock, KernelFeatures
from tobitgp.typing import Array, IntArray


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
