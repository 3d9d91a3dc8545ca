"""Where a search for hyper-parameters starts."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np

from tobitgp.inference.parameters import Parameters
from tobitgp.typing import Array, BoolArray


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
    given, reach = ~np.isnan(parameters.start), _reach(parameters.roles)
    candidates: list[Array] = []
    for level in _levels(short):
        theta = np.log([level[role] for role in parameters.roles]) + reach
        _add_start(candidates, parameters, given, theta, {i: tried[0] for i, tried in (periods or {}).items()})
    for tried in _combinations(periods or {}):
        for lengthscale in (0.5, 1.5):
            level = {**_REST, "lengthscale": lengthscale, "sigma": 0.3}
            _add_start(candidates, parameters, given, np.log([level[role] for role in parameters.roles]), tried)
    if len(candidates) == 1:
        return candidates
    ranked = sorted(candidates, key=value, reverse=True)
    return ranked[: max(n_starts, 1)]


_FEW = 4
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


def _reach(roles: Sequence[str]) -> Array:
    """What to add to logarithms of length-scales: rows lie further apart in many inputs than in a few.

    At length-scales that would do for one input all rows of many are strangers, and every start is on the same plain.
    """
    role = np.array(roles)
    term = np.cumsum(np.isin(role, ("sd", "group")))
    shares = (role == "lengthscale") & (term == term[:, None])
    return np.where(role == "lengthscale", 0.5 * np.log(np.maximum(shares.sum(axis=1) / _FEW, 1.0)), 0.0)


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
    candidate = parameters.clip(np.where(given, parameters.start, theta)[parameters.free])
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
