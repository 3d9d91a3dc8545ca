"""How the inputs of a process are standardised: whether they are measured from their means, and in which units."""

from __future__ import annotations

from collections.abc import Sequence

from tobitgp.data.linear_columns import INTERCEPT
from tobitgp.data.moments import Moments
from tobitgp.data.standardisation import Scaling
from tobitgp.errors import DataError
from tobitgp.formula.spec import GPTerm, ModelSpec
from tobitgp.inference.hyperparameters import Given, term_covariance


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
            raise DataError(f"{what} and has no slope; leave it out")
        found.append(Scaling(factor.columns, centred, factor.ard and stationary))
    return found


def around_means(spec: ModelSpec, t: int, constant: bool) -> list[bool]:
    """Whether the inputs of each factor of a process are measured from their means.

    Of a linear kernel ``(x - m)(x' - m)`` moving m moves a multiple of the product of the other factors into the term.
    Another term has to hold that, a constant where there are no others; elsewhere zero has a meaning, and m is 0.
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
        same = (other for other in beside if {item.text for item in other.inputs} == rest)
        return any(term.group in (None, other.group) for other in same)

    kernels = [factor.kernel for factor in term_covariance(term).factors]
    return [kernel.stationary or is_held(i) for i, kernel in enumerate(kernels)]


def effect_scaling(term: GPTerm, columns: Sequence[str], hypers: Sequence[str], given: Given) -> list[Scaling]:
    """Columns of a random effect, centred where a correlated intercept takes up their means.

    Not so where some values that depend on it are fixed: these are of the columns as they are.
    """
    slopes = {name for name, column in zip(hypers, columns, strict=False) if column != INTERCEPT}
    fixed = {name for name in hypers if name in given.fixed}
    centred = term.correlated and INTERCEPT in columns and (fixed <= slopes or len(fixed) == len(hypers))
    taken_away = [centred and name != INTERCEPT for name in columns]
    return [Scaling(slice(j, j + 1), own, by_spread=True) for j, own in enumerate(taken_away)]
