"""Hypotheses about scales and other positive parameters, which are tested on the log scale; (REG10)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tobitgp.errors import SpecError
from tobitgp.numerics.bordered import dense
from tobitgp.results.fit import Fit
from tobitgp.results.parameter_estimates import CovKind, Linear, Transformed, nan_at_bounds
from tobitgp.typing import Array


class WithScales(NamedTuple):
    """Coefficients that hypotheses are about, and then logarithms of positive parameters."""

    linear: Any
    columns: list[str]
    logs: list[bool]  # of the columns, which are logarithms


def with_scales(results: Fit, kind: CovKind | None) -> WithScales:
    """Testable parameters of a fit, including positive ones."""
    linear, columns = results._testable(kind)
    rest = results._estimates(kind)[1]
    if not isinstance(rest, Transformed):
        return WithScales(linear, list(columns), [False] * len(columns))
    p = len(results._columns)
    names, tested = np.array(results._names[p:], dtype=object), rest.tested
    positive = rest.positive & ~np.isin(names, columns)
    cross = np.hstack([rest.theta_cross, rest.theta_covariance[:, tested]])[positive]
    own = nan_at_bounds(rest.theta_covariance, rest.fixed)[np.ix_(positive, positive)]
    covariance = [np.block([[dense(V), cross.T], [cross, own]]) for V in linear.covariance]
    m, J = int(positive.sum()), len(linear.mean)
    lost = None if linear.unidentified is None else np.pad(dense(linear.unidentified), (0, m))
    mean = np.hstack([linear.mean, np.tile(rest.theta[positive], (J, 1))])
    fixed = np.append(linear.fixed, rest.fixed[positive])
    found = Linear(linear.weight, mean, covariance, fixed, lost)
    return WithScales(found, [*columns, *names[positive]], [False] * len(columns) + [True] * m)


def on_log_scale(
    columns: Sequence[str], logs: Sequence[bool], R: Array, null: Array, names: Sequence[str]
) -> tuple[Array, Array, list[str]]:
    """Hypotheses about values of positive parameters, or ratios of two, as ones about their logarithms."""
    R, null, out, positive = R.copy(), null.copy(), list(names), np.array(logs)
    for k, name in enumerate(names):
        at = np.flatnonzero(R[k] * positive).tolist()
        if not at:
            continue
        weights, value = R[k][at], null[k]
        one, two = len(at) == 1 and weights[0] * value > 0.0, len(at) == 2 and weights.prod() < 0.0 and value == 0.0
        if (R[k][~positive] != 0.0).any() or not (one or two):
            listed = " and ".join(repr(columns[j]) for j in at)
            raise SpecError(
                f"The hypothesis {name!r}: {listed} must be positive, and {'is' if len(at) == 1 else 'are'} tested on "
                "the log scale. Give one parameter a positive value, e.g. 'sigma = 1', or compare two, e.g. 'a = 2*b'."
            )
        null[k] = np.log(value / weights[0]) if one else np.log(-weights[1] / weights[0])
        R[k] = 0.0
        R[k, at] = [1.0] if one else [1.0, -1.0]
        out[k] = " - ".join(f"log({columns[j]})" for j in at) + f" = {null[k] + 0.0:.4g}"
    return R, null, out
