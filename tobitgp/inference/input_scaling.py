"""How the inputs of a process are standardised, and how far apart neighbouring ones are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from tobitgp.data.linear_columns import INTERCEPT
from tobitgp.data.moments import Moments
from tobitgp.data.standardisation import Scaling
from tobitgp.errors import DataError
from tobitgp.formula.spec import GPTerm, ModelSpec
from tobitgp.inference.given_parameters import GivenParameters
from tobitgp.inference.hyperparameters import term_covariance
from tobitgp.priors.kernel_block import GPPrior
from tobitgp.typing import Array, IntArray


def input_scaling(spec: ModelSpec, t: int, X: Moments, constant: bool) -> list[Scaling]:
    """Scaling of each factor of a process with inputs of such moments.

    ``constant``: whether the linear columns hold a constant with a weak prior.

    Distances of inputs that share a length-scale are kept as they are; a slope keeps its unit.
    """
    found, term = [], spec.processes[t]
    factors = zip(term.factors, term_covariance(term).factors, around_means(spec, t, constant), strict=True)
    for written, factor, centred in factors:
        stationary = factor.kernel.stationary
        still = [item.text for item, sd in zip(written.inputs, X.spread[factor.columns], strict=True) if sd == 0.0]
        if centred and still and not stationary and X.weight > 0.0:
            what = f"The input {still[0]} of {term.name} is the same in every row"
            raise DataError(f"{what} and has no slope; leave it out.")
        found.append(Scaling(factor.columns, centred, factor.ard and stationary))
    return found


def around_means(spec: ModelSpec, t: int, constant: bool) -> list[bool]:
    """Whether the inputs of each factor of a process are measured from their means.

    Of a linear kernel ``(x - m)(x' - m)`` moving m moves a multiple of the product of the other factors into the term.
    Another term has to hold that, a constant where there are no others, or levels of the linear part; elsewhere zero
    has a meaning, and m is 0.
    """
    term, n_mean = spec.processes[t], len(spec.gps)
    noise = t >= n_mean
    beside = [other for u, other in enumerate(spec.processes) if u != t and (u >= n_mean) == noise]

    def is_held(i: int) -> bool:
        rest = {item.text for j, factor in enumerate(term.factors) if j != i for item in factor.inputs}
        if not rest and term.by is not None and any(other.group == term.group for other in beside if not other.factors):
            return False  # as in (z || g), whose levels and slopes are independent at zero
        if not rest:
            return noise or constant
        if term.held:
            return True
        same = (other for other in beside if {item.text for item in other.inputs} == rest)
        return any(term.group in (None, other.group) for other in same)

    kernels = [factor.kernel for factor in term_covariance(term).factors]
    return [kernel.stationary or is_held(i) for i, kernel in enumerate(kernels)]


def effect_scaling(
    term: GPTerm, columns: Sequence[str], hypers: Sequence[str], given: GivenParameters
) -> list[Scaling]:
    """Columns of a random effect, centred where a correlated intercept takes up their means.

    Not so where some values that depend on it are fixed: these are of the columns as they are.
    """
    slopes = {name for name, column in zip(hypers, columns, strict=False) if column != INTERCEPT}
    fixed = {name for name in hypers if name in given.fixed}
    centred = term.correlated and INTERCEPT in columns and (fixed <= slopes or len(fixed) == len(hypers))
    taken_away = [centred and name != INTERCEPT for name in columns]
    return [Scaling(slice(j, j + 1), own, by_spread=True) for j, own in enumerate(taken_away)]


FEW_DISTINCT = 4
NEIGHBOUR = 3  # of the distinct inputs in the same group
ORDERS = (0.1, 0.5, 0.9)  # of quantiles over rows
LENGTHS = 0.5  # distances to that neighbour in the shortest length-scale that is looked for
STARTS = 2.0  # distances to it in the length-scales from which a search starts
UNEVEN = 0.5  # distance to that neighbour, as a share of that of even inputs, below which half of the rows are dense
ALONE = 0.25  # the same of one of several inputs, which is looked at by itself
_ASKED, _ASKED_OF_MANY, _MANY = 4000, 500, 3  # rows, the fewer beside more inputs than that
_DIGITS = 9


class Spacing(NamedTuple):
    """Distances of neighbours among some inputs."""

    third: Array  # (3,), quantiles over rows of the distance to the third distinct neighbour
    least: float  # the least positive distance
    even: float  # distance to the third neighbour, were the inputs spread evenly over their range

    @property
    def shortest(self) -> float:
        """The shortest length-scale that rows can show where they are dense."""
        return max(LENGTHS * float(self.third[0]), self.least)

    @property
    def uneven(self) -> bool:
        """Whether half of the rows have neighbours much nearer than the range tells."""
        return bool(self.third[1] < UNEVEN * self.even)


def spacing(X: Array, code: IntArray | None = None) -> Spacing | None:
    """Distances of neighbours among inputs (n, d), in groups (n,) where there are any; None of fewer than four."""
    n, d = X.shape
    if not n:
        return None
    extent = np.ptp(X, axis=0)
    places = X if code is None else np.column_stack([X, (1.0 + 2.0 * float(extent.sum())) * code])
    points, counts = _distinct(places.round(_DIGITS))
    if len(points) < FEW_DISTINCT:
        return None
    most = _ASKED if d <= _MANY else _ASKED_OF_MANY
    asked = np.linspace(0, len(points) - 1, min(len(points), most)).astype(np.intp)
    from scipy.spatial import cKDTree

    # Boxes cut at their middles are built faster, and few points are asked for.
    found = np.asarray(
        cKDTree(points, leafsize=64, compact_nodes=False, balanced_tree=False).query(points[asked], k=NEIGHBOUR + 1)[0]
    )
    third = np.quantile(np.repeat(found[:, NEIGHBOUR], counts[asked]), ORDERS)
    sides = extent[extent > 0.0]
    per_group = max(len(points) / (1 if code is None else len(np.unique(code))), 1.0)
    even = (
        NEIGHBOUR / 2.0 * float(np.exp(np.log(sides).mean())) * per_group ** (-1.0 / len(sides)) if len(sides) else 0.0
    )
    return Spacing(third, float(found[:, 1].min()), even)


def _distinct(X: Array) -> tuple[Array, IntArray]:
    """Distinct rows (c, d) in ascending order, and how often each occurs."""
    first = X[:, 0]
    order = np.argsort(first)
    same = np.diff(first[order]) == 0.0
    tied = np.concatenate([[False], same]) | np.concatenate([same, [False]])
    alone = X.take(order[~tied], axis=0)
    ones = np.ones(len(alone), dtype=np.intp)
    if not tied.any():
        return alone, ones
    # Rows that are the only ones with their first value need no comparison, which takes longer than a sort of numbers.
    points, counts = np.unique(X[order[tied]], axis=0, return_counts=True)
    points, counts = np.concatenate([points, alone]), np.concatenate([counts, ones])
    order = np.argsort(points[:, 0], kind="stable")
    return points.take(order, axis=0), counts[order]


def spacing_of(gp: GPPrior) -> Spacing | None:
    """That of the inputs of a process with a single kernel that has length-scales; None of another."""
    inputs, covariance, _ = gp.kernels
    factors = covariance.factors
    if len(factors) != 1 or not factors[0].n_scales:
        return None
    return spacing(inputs.X, inputs.code)


def is_uneven(gp: GPPrior) -> bool:
    """Whether the inputs of a process are dense in places."""
    found = spacing_of(gp)
    return found is not None and found.uneven


def dense_inputs(gp: GPPrior) -> Iterator[tuple[slice, Spacing, bool]]:
    """Length-scales of inputs that are dense in places, among all of the process, and whether of all of a factor.

    Bursts along one input are not dense if other inputs scatter their rows.
    """
    inputs, covariance, begin = gp.kernels
    for factor, at in covariance.places:
        X, first = inputs.X[:, factor.columns], begin + at.start
        together = spacing(X, inputs.code) if factor.n_scales else None
        if together is not None and together.uneven:
            yield slice(first, first + factor.n_scales), together, True
        for j in range(X.shape[1] if factor.n_scales > 1 else 0):
            alone = spacing(X[:, [j]], inputs.code)
            if alone is not None and alone.third[1] < ALONE * alone.even:
                yield slice(first + j, first + j + 1), alone, False


def log_scales(gps: Sequence[GPPrior], size: int) -> list[Array]:
    """Log length-scales to start from where inputs are uneven, (size,) among all parameters, NaN elsewhere.

    Those of all factors are short at once, those of single inputs one after another.
    """
    base, alone = np.full((len(ORDERS), size), np.nan), []
    first = 0
    for gp in gps:
        for place, found, whole in dense_inputs(gp):
            at, values = slice(first + place.start, first + place.stop), np.log(STARTS * found.third)
            if whole:
                base[:, at] = values[:, None]
            else:
                alone.append((at, values))
        first += gp.n_parameters
    starts = [] if np.isnan(base).all() else [*base]
    for at, values in alone:
        one = base.copy()
        one[:, at] = values[:, None]
        starts += [*one]
    return starts
