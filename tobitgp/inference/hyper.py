"""Hyper-parameters by maximising the evidence times their prior, and the curvature found there."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tobitgp.engines import map_independent
from tobitgp.errors import NumericalError
from tobitgp.inference.gradient import evidence_gradient
from tobitgp.inference.method import Method
from tobitgp.inference.parameters import LOG_BOUND, Parameters
from tobitgp.inference.parts import Whole
from tobitgp.inference.passes import ended
from tobitgp.inference.posterior import Posterior
from tobitgp.inference.settle import settle
from tobitgp.likelihoods.base import Likelihood
from tobitgp.prior.block import Block
from tobitgp.typing import Array, BoolArray

# Differences of gradients, in log parameters.
_STEPS = (0.02, 0.002, 0.0002)
_INFEASIBLE = 1e12
_SHORTEST = 0.1
_HEAVY = 50_000


def is_heavy(n: int, n_features: int) -> bool:
    """Whether one evaluation is long enough for threads to pay."""
    return n * n_features > _HEAVY


@dataclass(slots=True)
class Objective:
    """Log evidence plus log prior as a function of the free part of theta; starts from the sites last found.

    Attributes
    ----------
    whole, blocks, method, likelihood, parameters
        What is evaluated; the rows with the sites from which the next evaluation starts.
    full : (k,) array
        Theta with the fixed entries in place.
    on_step : callable or None
        Called with every value found.
    last : Posterior or None
    evaluations, sweeps : int
        Counters for the trace of a fit.
    """

    whole: Whole
    blocks: Sequence[Block]
    method: Method
    likelihood: Likelihood
    parameters: Parameters
    full: Array
    on_step: Callable[[float], None] | None = None
    last: Posterior | None = None
    evaluations: int = 0
    sweeps: int = 0

    @property
    def features(self) -> int:
        """Number of features of a row where it was last evaluated."""
        return 0 if self.last is None else self.last.layout.row_features

    def theta(self, free: Array) -> Array:
        """All of theta from its free part."""
        theta = self.full.copy()
        theta[self.parameters.free] = free
        return theta

    def settle(self, free: Array, whole: Whole) -> Posterior:
        """Posterior at ``free`` from the sites of the rows given; from flat ones where those lead nowhere."""
        arguments = (self.blocks, self.theta(free), self.method, self.likelihood)
        posterior = settle(whole, *arguments)
        return settle(whole.cold(), *arguments) if whole.warm and not posterior.converged else posterior

    def density(self, posterior: Posterior) -> float:
        """Log posterior density up to a constant."""
        return posterior.evidence + self.parameters.log_prior(posterior.theta)[0]

    def gradient(self, posterior: Posterior) -> Array:
        """Gradient (k_free,) of the log posterior density."""
        gradient = evidence_gradient(posterior, self.method)
        return (gradient + self.parameters.log_prior(posterior.theta)[1])[self.parameters.free]

    def posterior(self, free: Array) -> Posterior:
        """Posterior at ``free`` from the last sites."""
        if self.last is not None and self.last.converged and np.array_equal(self.last.theta, self.theta(free)):
            return self.last
        posterior = self.settle(free, self.whole)
        self.evaluations += 1
        self.sweeps += posterior.sweeps
        if posterior.converged:
            self.whole = self.whole.starting(posterior.rows.map(ended))
        self.last = posterior
        return posterior

    def value(self, free: Array) -> float:
        """Log posterior density; ``-inf`` where the computation breaks down."""
        try:
            value = self.density(self.posterior(free))
        except NumericalError:
            return -np.inf
        if self.on_step is not None:
            self.on_step(value)
        return value

    def value_and_gradient(self, free: Array) -> tuple[float, Array]:
        """Value and gradient (k_free,)."""
        value = self.value(free)
        if not np.isfinite(value) or self.last is None:
            return -_INFEASIBLE, np.zeros_like(free)
        return value, self.gradient(self.last)


@dataclass(frozen=True, slots=True)
class Maximum:
    """Where a search ended.

    Attributes
    ----------
    free : (k_free,) array
    value : float
    root : (k_free, k_open) array
        ``T`` with ``T T'`` the inverse curvature along its principal axes; no axis for parameters at their bounds.
    gain_left : float
        Nats a Newton step would still gain.
    """

    free: Array
    value: float
    root: Array
    gain_left: float


def starts(
    parameters: Parameters,
    n_starts: int,
    value: Callable[[Array], float],
    *,
    short: bool = False,
    periods: Mapping[int, Array] | None = None,
) -> list[Array]:
    """Free parts of theta to start from, best first.

    A coarse grid over a common length-scale and the noise level is screened with the objective; what the user gave
    stays.

    Parameters
    ----------
    parameters : Parameters
    n_starts : int
    value : callable
        Objective at a free theta.
    short : bool
        Try short length-scales too: signals with tens of periods. Worth it for single inputs only, where rows are dense
        enough to show them.
    periods : mapping of int to array, optional
        Logarithms of the periods to try, by position in theta.
    """
    given = ~np.isnan(parameters.start)
    candidates: list[Array] = []
    for level in _levels(short):
        theta = np.log([level[role] for role in parameters.roles])
        _add_start(candidates, parameters, given, theta, {i: tried[0] for i, tried in (periods or {}).items()})
    for tried in _combinations(periods or {}):
        for lengthscale in (0.5, 1.5):
            level = {**_REST, "lengthscale": lengthscale, "sigma": 0.3}
            _add_start(candidates, parameters, given, np.log([level[role] for role in parameters.roles]), tried)
    if len(candidates) == 1:
        return candidates
    ranked = sorted(candidates, key=value, reverse=True)
    return ranked[: max(n_starts, 1)]


_REST = {
    "sd": 1.0,
    "group": 0.5,
    "arc": 2.0,
    "alpha": 1.0,
    "period": 1.0,
    "df": 4.0,
    "sigma_lower": 0.5,
    "sigma_upper": 0.5,
}


def _levels(short: bool) -> Iterator[dict[str, float]]:
    """Values of every role to screen, standardised."""
    scales = [*itertools.product((0.15, 0.5, 1.5), (0.1, 0.4)), *(((0.015, 0.2), (0.05, 0.2)) if short else ())]
    for lengthscale, sigma in scales:
        yield {**_REST, "lengthscale": lengthscale, "sigma": sigma}


def _combinations(periods: Mapping[int, Array]) -> Iterator[dict[int, float]]:
    """A value for each unknown period: all of one, the strongest of several together."""
    few = {i: tried if len(periods) == 1 else tried[:4] for i, tried in periods.items()}
    for values in itertools.product(*few.values()) if few else ():
        yield dict(zip(few, values, strict=True))


def _add_start(
    candidates: list[Array], parameters: Parameters, given: BoolArray, theta: Array, periods: Mapping[int, float]
) -> None:
    for i, log_period in periods.items():
        theta[i] = log_period
    candidate = np.where(given, parameters.start, theta)[parameters.free]
    if not any(np.array_equal(candidate, other) for other in candidates):
        candidates.append(candidate)


def other_octaves(parameters: Parameters, theta: Array, periods: Iterable[int]) -> Iterator[Array]:
    """Free parts of theta at simple multiples of the periods found, the curves over a short distance kept.

    A multiple of the period explains a signal too, and a part of it some of one.
    """
    for i in periods:
        for factor in (1.0 / 3.0, 0.5, 2.0, 3.0):
            other = theta.copy()
            other[i] += np.log(factor)
            # A period follows its kernel's length-scale, which is in radii of the circle.
            if parameters.free[i - 1]:
                other[i - 1] -= np.log(factor)
            yield parameters.clip(other[parameters.free])


def climb(objective: Objective, free: Array, scale: Array | None = None, *, tol: float, max_iter: int) -> Array:
    """L-BFGS-B from ``free``, in coordinates where the curvature is about one.

    Parameters
    ----------
    objective : Objective
    free : (k_free,) array
    scale : (k_free, k_free) array, optional
        Matrix T with ``free = free_0 + T z``; the identity without it.
    tol : float
        Largest entry of the gradient in z at which to stop.
    max_iter : int

    Raises
    ------
    NumericalError
        If the computation breaks down at every point.
    """
    from scipy.optimize import minimize

    T = np.eye(len(free)) if scale is None else scale
    origin, least, clip = free, objective.parameters.least, objective.parameters.clip

    def negative(z: Array) -> tuple[float, Array]:
        point = clip(origin + T @ z)
        value, gradient = objective.value_and_gradient(point)
        return -value, -(T.T @ gradient)

    best = minimize(
        negative,
        np.zeros(len(free)),
        jac=True,
        method="L-BFGS-B",
        # Only lower bounds: where every variable has two, L-BFGS-B starts with a full step of steepest descent.
        bounds=[(low - at, None) for low, at in zip(least, origin, strict=True)] if scale is None else None,
        options={"gtol": tol, "ftol": 1e-10, "maxiter": max_iter, "maxls": 25},
    )
    if objective.last is None:
        raise NumericalError("No point of the search has a posterior.")
    return clip(origin + T @ best.x)


def curvature(objective: Objective, free: Array, width: float) -> Array:
    """Hessian (k_free, k_free) of minus the objective by central differences of its gradient; not yet made definite."""
    k = len(free)
    points = [free + sign * width * e for e in np.eye(k) for sign in (1.0, -1.0)]
    whole = objective.whole

    def gradient(point: Array) -> tuple[Array, int]:
        posterior = objective.settle(point, whole)
        return objective.gradient(posterior), posterior.sweeps

    found = map_independent(gradient, points, heavy=is_heavy(whole.n, objective.features))
    objective.evaluations += len(points)
    objective.sweeps += sum(sweeps for _, sweeps in found)
    G = np.array([g for g, _ in found])
    H = (G[1::2] - G[::2]) / (2.0 * width)
    return 0.5 * (H + H.T)


def whitening(objective: Objective, free: Array) -> Array:
    """Matrix T (k_free, k_free) such that in ``free + T z`` the curvature at ``free`` is about one."""
    H = definite(curvature(objective, free, _STEPS[0]))
    return np.linalg.inv(np.linalg.cholesky(H)).T


def definite(H: Array, floor: float = 0.05) -> Array:
    """Nearest matrix with eigenvalues of at least ``floor``: a direction left open gets the sd ``1 / sqrt(floor)``."""
    if not len(H):
        return H
    values, vectors = np.linalg.eigh(H)
    return (vectors * np.maximum(values, floor)) @ vectors.T


def principal_root(H: Array) -> Array:
    """``T`` with ``T T' = H^-1`` along the principal axes of ``H``, signs fixed by each axis's largest entry."""
    if not len(H):
        return H
    values, vectors = np.linalg.eigh(H)
    signs = np.sign(vectors[np.abs(vectors).argmax(axis=0), np.arange(len(H))])
    return vectors * (signs / np.sqrt(values))


def ascend_with(objective: Objective, free: Array, inverse: Array, *, tol: float, max_iter: int) -> Maximum:
    """Quasi-Newton steps from a curvature known beforehand, until the gain left is below ``tol`` nats.

    The curvature follows what the steps find (Broyden, Fletcher, Goldfarb and Shanno), those that do not gain too;
    where they tell nothing of it the next is half as long. Whether enough was gained is for the caller to see.

    Parameters
    ----------
    objective : Objective
    free : (k_free,) array
    inverse : (k_free, k_free) array
        Of minus the Hessian.
    tol : float
    max_iter : int
        Evaluations after the first.
    """
    value, gradient = objective.value_and_gradient(free)
    length = 1.0
    for _ in range(max_iter):
        if 0.5 * float(gradient @ inverse @ gradient) < tol or length < _SHORTEST:
            break
        trial = objective.parameters.clip(free + length * (inverse @ gradient))
        new_value, new_gradient = objective.value_and_gradient(trial)
        step, change = trial - free, gradient - new_gradient
        along = float(step @ change) if new_value > -_INFEASIBLE else 0.0
        if along > 0.0:
            left = np.eye(len(free)) - np.outer(step, change) / along
            inverse = left @ inverse @ left.T + np.outer(step, step) / along
        if new_value > value:
            free, value, gradient, length = trial, new_value, new_gradient, 1.0
        elif along <= 0.0:
            length *= 0.5
    root = principal_root(np.asarray(np.linalg.inv(inverse), dtype=np.float64))
    return Maximum(free, value, root, 0.5 * float(gradient @ inverse @ gradient))


def polish(objective: Objective, free: Array, *, tol: float, max_iter: int) -> Maximum:
    """Newton steps with a differenced Hessian until the gain left is below ``tol`` nats.

    Where no step gains, the density is more curved here than over the usual difference, and finer ones are tried; the
    curvature reported is that of the usual one, which says more of the density around. A parameter that is pushed
    against its bound stays there and has no curvature.
    """
    value, gradient = objective.value_and_gradient(free)
    if not len(free):
        return Maximum(free, value, np.zeros((0, 0)), 0.0)
    gain = np.inf
    for width in _STEPS:
        free, value, gradient, root, gain = _newton(objective, free, value, gradient, width, tol=tol, max_iter=max_iter)
        if gain < tol:
            break
    if width != _STEPS[0]:
        root = _newton_step(objective, free, gradient, _STEPS[0])[0]
    return Maximum(free, value, root, gain)


def _newton(
    objective: Objective, free: Array, value: float, gradient: Array, width: float, *, tol: float, max_iter: int
) -> tuple[Array, float, Array, Array, float]:
    """Newton steps from one point until little is left to gain or no step gains: place, value, gradient, root, gain."""
    root, step = _newton_step(objective, free, gradient, width)
    for _ in range(max_iter):
        if 0.5 * float(gradient @ step) < tol:
            break
        length = min(1.0, 1.0 / np.abs(step).max())
        while length > 1e-3:
            trial = objective.parameters.clip(free + length * step)
            new_value, new_gradient = objective.value_and_gradient(trial)
            if new_value > value - 1e-9:
                break
            length *= 0.5
        else:
            break
        far = np.abs(trial - free).max() > 10.0 * width or bool(
            (_stuck(objective, trial, new_gradient) != _stuck(objective, free, gradient)).any()
        )
        free, value, gradient = trial, new_value, new_gradient
        if far:
            root, step = _newton_step(objective, free, gradient, width)
        else:
            step = root @ (root.T @ gradient)
    return free, value, gradient, root, 0.5 * float(gradient @ step)


def _stuck(objective: Objective, free: Array, gradient: Array) -> BoolArray:
    """Parameters pushed against a bound."""
    return ((free <= objective.parameters.least) & (gradient < 0)) | ((free >= LOG_BOUND) & (gradient > 0))


def _newton_step(objective: Objective, free: Array, gradient: Array, width: float) -> tuple[Array, Array]:
    """Root of the inverse curvature, and Newton's step (k_free,)."""
    loose = ~_stuck(objective, free, gradient)
    root = np.zeros((len(free), int(loose.sum())))
    root[loose] = principal_root(definite(curvature(objective, free, width)[np.ix_(loose, loose)]))
    return root, root @ (root.T @ gradient)
