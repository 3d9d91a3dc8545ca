"""The log evidence plus log prior of hyper-parameters, its ascent to a maximum, and the curvature there."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from tobitgp.engines import LocalPartitions, map_independent
from tobitgp.errors import NumericalError
from tobitgp.inference.evidence import precisions_of
from tobitgp.inference.feature_posterior import FeaturePosterior, Settled
from tobitgp.inference.fixed_point import FeatureModel, Kept, settle
from tobitgp.inference.hyperparameters import Parameters
from tobitgp.inference.method import Method, loosened
from tobitgp.inference.partitioned import PartitionedRows
from tobitgp.inference.principal_axes import definite, principal_axes, principal_root
from tobitgp.inference.sites_near import SitesNear, mirrored
from tobitgp.likelihoods.row_terms import Likelihood
from tobitgp.priors.structure import Block, StructuredTerm
from tobitgp.typing import Array, BoolArray

INFEASIBLE = 1e12
_MANY_ROWS, _MOST_NUMBERS = 1000, 2_000_000  # rows, and these times parameters, of which sites are predicted
_MAY_FAIL, _TEN = 3, 10  # fixed points that may not converge, and one more in every ten evaluations


class EPFailure(Exception):
    """Expectation propagation, or sites of f and log sigma, did not converge, here not for the first time."""

    def __init__(self, theta: Array):
        super().__init__()
        self.theta = theta


def is_heavy(n: int, n_features: int) -> bool:
    """Whether one evaluation is long enough for threads to pay."""
    return n * n_features > 50_000


@dataclass(slots=True)
class Objective:
    """Log evidence plus log prior as a function of the free part of theta; starts from the sites last found."""

    data: PartitionedRows  # the rows, with the sites from which the next evaluation starts
    blocks: Sequence[Block]
    method: Method
    likelihood: Likelihood
    parameters: Parameters
    full: Array  # (k,), theta with the fixed entries in place
    on_step: Callable[[Objective, float], None] | None = None  # called with itself and every value found
    kept: Kept | None = None  # features that stay
    last: Settled | None = None
    evaluations: int = 0
    iterations: int = 0
    failures: int = 0  # evaluations of which the fixed point was given up
    failed_around: int = 0  # the same, of points that are only differenced
    near: SitesNear | None = None  # sites around where differences were last taken, if an iteration is long
    model: FeatureModel = field(init=False)

    def __post_init__(self) -> None:
        self.model = FeatureModel(self.data, self.blocks, self.likelihood, self.kept)

    @property
    def precisions(self) -> Array:
        """Site precisions (n,) last found, in the problem's order."""
        assert self.last is not None
        return precisions_of(self.last.data)

    @property
    def unreliable(self) -> bool:
        """Whether too many fixed points were given up for differences to say where a maximum is."""
        return self.failed_around > self._may_fail

    @property
    def is_slow(self) -> bool:
        """Whether an iteration takes so long that its start is worth a prediction."""
        if any(isinstance(block, StructuredTerm) and block.knots.structure.slow for block in self.blocks):
            return True
        few = _MANY_ROWS < self.data.n < _MOST_NUMBERS / max(int(self.parameters.free.sum()), 1)
        local = self.kept is None and isinstance(self.data.partitions, LocalPartitions)
        # Precisions next to 0 cannot be predicted.
        return few and local and self.likelihood.by_quadrature and self.likelihood.over(self.data.kinds).log_concave

    @property
    def _from_flat(self) -> bool:
        return self.kept is not None and self.kept.from_flat

    @property
    def _may_fail(self) -> int:
        return _MAY_FAIL + self.evaluations // _TEN

    def theta(self, free: Array) -> Array:
        """All of theta from its free part."""
        theta = self.full.copy()
        theta[self.parameters.free] = free
        return theta

    def refine(self, method: Method) -> None:
        """Let sites converge as far as the method's own tolerance from here on."""
        if method.tol < self.method.tol:
            self.method, self.last = method, None

    def settle_from(self, free: Array, data: PartitionedRows, *, slopes: bool = False, tol: float = 0.0) -> Settled:
        """Fixed point at ``free`` from the sites of the rows given, converged or not, to ``tol`` if that is coarser."""
        return settle(self.model, data, self.theta(free), loosened(self.method, tol), slopes=slopes)

    def retried(self, found: Settled, free: Array, data: PartitionedRows, *, slopes: bool = False) -> Settled:
        """The same from flat sites, where those given did not converge."""
        if data.warm and not found.converged and not self._from_flat:
            with contextlib.suppress(NumericalError):
                return self.settle_from(free, data.cold(), slopes=slopes)
        return found

    def density(self, found: Settled | FeaturePosterior) -> float:
        """Log posterior density up to a constant, (HYP1)."""
        return found.evidence + self.parameters.log_prior(found.theta)[0]

    def settle(self, free: Array, *, slopes: bool = False) -> Settled:
        """Fixed point at ``free`` from the last sites."""
        last = self.last
        if (
            last is not None
            and (last.gradient is not None or not slopes)
            and np.array_equal(last.theta, self.theta(free))
        ):
            return last
        start = self.data
        if self.near is not None and last is not None and np.array_equal(last.theta, self.theta(self.near.free)):
            start = self.near.at(free)
        found = self.settle_from(free, start, slopes=slopes)
        found = self.retried(found, free, self.data, slopes=slopes)
        self.evaluations += 1
        self.iterations += found.iterations
        if found.converged:
            self.data = found.data
        elif self.method.name == "ep" or self._from_flat:
            self.failures += 1
            if self.failures > self._may_fail:
                raise EPFailure(found.theta)
        self.last = found
        return found

    def value(self, free: Array, *, slopes: bool = False) -> float:
        """Log posterior density; ``-inf`` where the computation breaks down."""
        try:
            value = self.density(self.settle(free, slopes=slopes))
        except NumericalError:
            return -np.inf
        if self.on_step is not None:
            self.on_step(self, value)
        return value

    def value_and_gradient(self, free: Array) -> tuple[float, Array]:
        """Value and gradient (k_free,)."""
        value = self.value(free, slopes=True)
        if not np.isfinite(value) or self.last is None:
            return -INFEASIBLE, np.zeros_like(free)
        return value, self.gradient(self.last)

    def gradient(self, found: Settled) -> Array:
        """Gradient (k_free,) of the log posterior density, if slopes were requested."""
        assert found.gradient is not None
        return (found.gradient + self.parameters.log_prior(found.theta)[1])[self.parameters.free]


_WIDTHS = 0.02, 0.002, 0.0002  # of differences, in log parameters
_LOOSE = 1e-5  # how far sites converge where an iteration is long
_DROP, _AGREED = 2.0, 0.05  # nats over a step, above which these have to agree with the curvature to such a share
_NARROWINGS, _LEAST_SHARE, _MOST_SHARE = 12, 0.05, 0.5  # of steps
_SAME = 0.9  # of the gain that a wider difference promises
_PART = 0.2  # of a standard deviation
_SHORTEST = 0.1


def curvature(objective: Objective, free: Array, width: float) -> tuple[Array, Array]:
    """Hessian (k_free, k_free) of minus the objective by differences of its gradient (HYP2), and their steps (k_free,).

    A step is narrowed where the objective drops over it by more than it does near a maximum: a period of many cycles
    is known a thousand times better than a length-scale.
    """
    here, k = objective.density(objective.settle(free, slopes=True)), len(free)
    H, steps, wide = np.empty((k, k)), np.full(k, width), np.arange(k)
    data = objective.data
    for _ in range(_NARROWINGS):
        some = steps[wide, None] * np.eye(k)[wide]
        if objective.is_slow:
            above = _settled(objective, [*(free + some)], [data] * len(some), _LOOSE)
            starts = [data if one is None else mirrored(data, one.data) for one in above]
            below = _settled(objective, [*(free - some)], starts, _LOOSE)
            found = [*below, *above]
            if len(wide) == k:
                objective.near = SitesNear.between(free, data, steps, below, above)
        else:
            found = _settled(objective, [*(free - some), *(free + some)], [data] * (2 * len(some)))
        V, G = _density(objective, found, k)
        V, G = V.reshape(2, -1), G.reshape(2, -1, k)
        H[wide] = (G[0] - G[1]) / (2.0 * steps[wide, None])
        drop, quadratic = here - V.mean(axis=0), 0.5 * steps[wide] ** 2 * H[wide, wide]
        fits = (drop < _DROP) | (np.abs(drop - quadratic) < _AGREED * drop)
        if fits.all() or objective.unreliable:
            break
        wide, drop = wide[~fits], drop[~fits]
        steps[wide] *= np.clip(1.0 / np.sqrt(np.where(np.isfinite(drop), drop, np.inf)), _LEAST_SHARE, _MOST_SHARE)
    if not np.isfinite(H).all():
        raise NumericalError("No point next to the maximum has a posterior.")
    return 0.5 * (H + H.T), steps


def refined_root(objective: Objective, free: Array, root: Array) -> Array:
    """The root of the inverse curvature, (k_free, k_open), by steps of a part of a standard deviation to one side."""
    here = objective.gradient(objective.settle(free, slopes=True))
    points = [*(free + _PART * root.T)]
    found = _settled(objective, points, [objective.data] * len(points))
    H = (here - _density(objective, found, len(free))[1]) @ root / _PART
    if not np.isfinite(H).all():
        raise NumericalError("A point next to the maximum has no posterior.")
    return np.asarray(root @ principal_root(0.5 * (H + H.T)), dtype=np.float64)


def _settled(
    objective: Objective, points: Sequence[Array], starts: Sequence[PartitionedRows], tol: float = 0.0
) -> list[Settled | None]:
    """Fixed points at several points, each from some sites and converged to ``tol`` at most; None without any."""
    n_features = 0 if objective.last is None else objective.last.row_features

    def at(place: tuple[Array, PartitionedRows]) -> Settled | None:
        try:
            return objective.settle_from(*place, slopes=True, tol=tol)
        except NumericalError:
            return None

    places = list(zip(points, starts, strict=True))
    found = map_independent(at, places, heavy=is_heavy(objective.data.n, n_features))
    for i, (one, (point, start)) in enumerate(zip(found, places, strict=True)):
        if one is not None and not one.converged:
            found[i] = one = objective.retried(one, point, start, slopes=True)
            if not one.converged:  # nor would the rest be
                break
    objective.evaluations += len(points)
    objective.iterations += sum(one.iterations for one in found if one is not None)
    objective.failed_around += sum(not one.converged for one in found if one is not None)
    return list(found)


def _density(objective: Objective, found: Sequence[Settled | None], k: int) -> tuple[Array, Array]:
    """Values (n,) and gradients (n, k) there; -inf and NaN where there is none."""
    none = -np.inf, np.full(k, np.nan)
    ends = [none if one is None else (objective.density(one), objective.gradient(one)) for one in found]
    return np.array([value for value, _ in ends]), np.array([gradient for _, gradient in ends])


def whitening(objective: Objective, free: Array) -> Array:
    """Matrix T (k_free, k_free) such that in ``free + T z`` the curvature at ``free`` is about one."""
    return np.linalg.inv(np.linalg.cholesky(definite(curvature(objective, free, _WIDTHS[0])[0]))).T


@dataclass(frozen=True, slots=True)
class ClimbEnd:
    """Where a climb ended."""

    objective: Objective
    free: Array  # (k_free,)
    value: float

    @property
    def theta(self) -> Array:
        """All parameters (k,)."""
        return self.objective.theta(self.free)

    @property
    def posterior(self) -> FeaturePosterior:
        """The posterior there."""
        return self.objective.settle(self.free).posterior


@dataclass(frozen=True, slots=True)
class EvidenceMaximum(ClimbEnd):
    """Where a search ended."""

    root: Array  # (k_free, k_open), ``T`` with ``T T'`` the inverse curvature along its principal axes
    gain_left: float  # nats a Newton step would still gain
    smooth: bool = True  # whether differences say where the maximum is


class Climbed(Protocol):
    """What a climb needs of a function: bounds, values, and what was found last, if anything."""

    @property
    def parameters(self) -> Parameters:
        """With the bounds of the free ones."""

    @property
    def last(self) -> Settled | Array | None:
        """What was found last."""

    def value_and_gradient(self, free: Array) -> tuple[float, Array]:
        """Value and gradient (k_free,)."""


def climb(
    objective: Climbed, free: Array, scale: Array | None = None, *, tol: float, max_iter: int, relative: float = 1e-10
) -> Array:
    """Where L-BFGS-B leads from ``free`` (k_free,), in coordinates in which the curvature is about one."""
    from scipy.optimize import minimize

    T = np.eye(len(free)) if scale is None else scale
    origin, least, most, clip = free, objective.parameters.least, objective.parameters.most, objective.parameters.clip
    # Where every variable has two bounds, L-BFGS-B starts with a full step of steepest descent.
    most = most if np.isinf(most).any() else np.full(len(free), np.inf)

    def negative(z: Array) -> tuple[float, Array]:
        point = clip(origin + T @ z)
        value, gradient = objective.value_and_gradient(point)
        return -value, -(T.T @ gradient)

    best = minimize(
        negative,
        np.zeros(T.shape[1]),
        jac=True,
        method="L-BFGS-B",
        bounds=list(zip(least - origin, most - origin, strict=True)) if scale is None else None,
        options={"gtol": tol, "ftol": relative, "maxiter": max_iter, "maxls": 25},
    )
    if objective.last is None:
        raise NumericalError("No point of the search has a posterior.")
    return clip(origin + T @ best.x)


def ascend_with(objective: Objective, free: Array, inverse: Array, *, tol: float, max_iter: int) -> EvidenceMaximum:
    """BFGS steps from an inverse curvature known beforehand, until less than ``tol`` nats are left or none gains."""
    value, gradient = objective.value_and_gradient(free)
    length = 1.0
    for _ in range(max_iter):
        if 0.5 * float(gradient @ inverse @ gradient) < tol or length < _SHORTEST:
            break
        trial = objective.parameters.clip(free + length * (inverse @ gradient))
        new_value, new_gradient = objective.value_and_gradient(trial)
        step, change = trial - free, gradient - new_gradient
        along = float(step @ change) if new_value > -INFEASIBLE else 0.0
        if along > 0.0:
            left = np.eye(len(free)) - np.outer(step, change) / along
            inverse = left @ inverse @ left.T + np.outer(step, step) / along
        if new_value > value:
            free, value, gradient, length = trial, new_value, new_gradient, 1.0
        elif along <= 0.0:  # nothing was learnt of the curvature
            length *= 0.5
    return EvidenceMaximum(objective, free, value, principal_axes(inverse), 0.5 * float(gradient @ inverse @ gradient))


def polish(objective: Objective, free: Array, *, tol: float, max_iter: int) -> EvidenceMaximum:
    """Newton steps with a differenced Hessian until the gain left, (HYP3), is below ``tol`` nats."""
    value, gradient = objective.value_and_gradient(free)
    if not len(free):
        return EvidenceMaximum(objective, free, value, np.zeros((0, 0)), 0.0)
    # Where no step gains, the density is more curved than over the usual difference; but that says more of it around.
    # If a narrower one promises as much and no step gains, the density jumps or ends there.
    gain, places = np.inf, [free]
    roots: list[Array] = []
    for width in _WIDTHS:
        before = gain
        free, value, gradient, root, gain = _newton(objective, free, value, gradient, width, tol=tol, max_iter=max_iter)
        jumps = gain > _SAME * before and np.array_equal(free, places[-1])
        roots, places = [*roots, root], [*places, free]
        if gain < tol or jumps or objective.unreliable:
            break
    if np.array_equal(free, places[1]) or objective.unreliable:
        root = roots[0]
    else:
        root = _newton_step(objective, free, gradient, _WIDTHS[0])[0]
    return EvidenceMaximum(objective, free, value, root, gain, gain < tol or not (jumps or objective.unreliable))


def _newton(
    objective: Objective, free: Array, value: float, gradient: Array, width: float, *, tol: float, max_iter: int
) -> tuple[Array, float, Array, Array, float]:
    """Newton steps from one point until little is left to gain or no step gains: place, value, gradient, root, gain."""
    root, step, near = _newton_step(objective, free, gradient, width)
    for _ in range(max_iter):
        if 0.5 * float(gradient @ step) < tol or objective.unreliable:
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
        far = bool((np.abs(trial - free) > 10.0 * near).any()) or bool(
            (_stuck(objective, trial, new_gradient) != _stuck(objective, free, gradient)).any()
        )
        free, value, gradient = trial, new_value, new_gradient
        if far:
            root, step, near = _newton_step(objective, free, gradient, width)
        else:
            step = root @ (root.T @ gradient)
    return free, value, gradient, root, 0.5 * float(gradient @ step)


def _stuck(objective: Objective, free: Array, gradient: Array) -> BoolArray:
    """Parameters pushed against a bound."""
    return ((free <= objective.parameters.least) & (gradient < 0)) | (
        (free >= objective.parameters.most) & (gradient > 0)
    )


def _newton_step(objective: Objective, free: Array, gradient: Array, width: float) -> tuple[Array, Array, Array]:
    """Root of the inverse curvature, none of parameters pushed against a bound, Newton's step and those of differences.

    Both are (k_free,).
    """
    loose = ~_stuck(objective, free, gradient)
    root = np.zeros((len(free), int(loose.sum())))
    H, steps = curvature(objective, free, width)
    root[loose] = principal_root(H[np.ix_(loose, loose)])
    return root, root @ (root.T @ gradient), steps
