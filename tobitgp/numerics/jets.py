r"""Numbers of n rows with their first two derivatives in the parameters of the rows: forward mode, second order.

numpy's functions take jets as they take arrays, so that a formula is written once: of arrays it gives values, of jets
derivatives too, by the chain rule. Those that are 0 in all rows are left out, and those that are equal in all rows may
be numbers, so that an operation costs no more than the derivatives that there are.

References
----------
Griewank and Walther (2008), *Evaluating Derivatives*, 2nd ed., SIAM, chapters 3 and 7.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from scipy import special

from tobitgp.typing import Array, IntArray

Entry = Array | float


@dataclass(frozen=True, slots=True, eq=False)
class Jet(NDArrayOperatorsMixin):
    """Numbers (n,) and their derivatives, (n,) or numbers each; none of them is changed in place."""

    value: Array
    slope: Mapping[int, Entry]  # by the parameter
    bend: Mapping[tuple[int, int], Entry]  # by two parameters i <= j

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        """A function of numpy that has a rule."""
        rule = _OF_NUMPY.get(ufunc)
        return NotImplemented if rule is None or method != "__call__" or kwargs else rule(*map(_as_jet, inputs))

    def of(self, value: Array, first: Entry, second: Entry) -> Jet:
        """A function of this number, from its value and its derivatives."""
        return chain([self], value, [first], {(0, 0): second})

    def take(self, rows: IntArray) -> Jet:
        """Some of the rows."""
        slope = {i: _some(entry, rows) for i, entry in self.slope.items()}
        return Jet(self.value[rows], slope, {pair: _some(entry, rows) for pair, entry in self.bend.items()})


Number = TypeVar("Number", Array, Jet)


def variables(values: Sequence[Array]) -> list[Jet]:
    """The parameters of rows, (n,) each."""
    return [Jet(value, {j: 1.0}, {}) for j, value in enumerate(values)]


def chain(of: Sequence[Jet], value: Array, first: Sequence[Entry], second: Mapping[tuple[int, int], Entry]) -> Jet:
    """A function of several numbers, from its value, its slopes in them, and its bends in those at places k <= l."""
    slope, bend = dict[int, Entry](), dict[tuple[int, int], Entry]()
    for jet, by in zip(of, first, strict=True):
        for i, entry in jet.slope.items():
            _add(slope, i, _product(by, entry))
        for pair, entry in jet.bend.items():
            _add(bend, pair, _product(by, entry))
    for (k, l), by in second.items():
        for i, one in of[k].slope.items():
            part = _product(by, one)
            for j, other in of[l].slope.items():
                if k < l:
                    _add(bend, (min(i, j), max(i, j)), _product(part, other if i != j else 2.0 * other))
                elif i <= j:
                    _add(bend, (i, j), _product(part, other))
    return Jet(value, slope, bend)


def scatter(n: int, parts: Iterable[tuple[IntArray, Jet]]) -> Jet:
    """Sums over n rows of jets of some of the rows each."""
    value, slope, bend = np.zeros(n), dict[int, Entry](), dict[tuple[int, int], Entry]()

    def spread(to: dict[Any, Entry], part: Mapping[Any, Entry], rows: IntArray) -> None:
        for key, entry in part.items():
            total = to.setdefault(key, np.zeros(n))
            assert isinstance(total, np.ndarray)
            total[rows] += entry

    for rows, part in parts:
        value[rows] += part.value
        spread(slope, part.slope, rows)
        spread(bend, part.bend, rows)
    return Jet(value, slope, bend)


def _as_jet(x: Jet | Array | float) -> Jet:
    return x if isinstance(x, Jet) else Jet(np.asarray(x), {}, {})


def _some(entry: Entry, rows: IntArray) -> Entry:
    return np.asarray(entry)[rows] if np.ndim(entry) else entry


def _product(a: Entry, b: Entry) -> Entry:
    if isinstance(b, float) and b == 1.0:
        return a
    return b if isinstance(a, float) and a == 1.0 else a * b


def _add(to: dict[Any, Entry], key: Any, entry: Entry) -> None:
    to[key] = to[key] + entry if key in to else entry


# -- functions --------------------------------------------------------------------------------------------------------


def log_expit(x: Jet) -> Jet:
    """``log(1 / (1 + exp(-x)))``."""
    p = special.expit(-x.value)
    return x.of(special.log_expit(x.value), p, -p * special.expit(x.value))


def gammaln(x: Jet) -> Jet:
    """Logarithm of the gamma function."""
    return x.of(special.gammaln(x.value), special.psi(x.value), special.polygamma(1, x.value))


def logaddexp(a: Jet, b: Jet) -> Jet:
    """``log(exp a + exp b)``: the share of each is its slope, and only what they differ in bends their sum."""
    share, other, gap = special.expit(a.value - b.value), special.expit(b.value - a.value), a - b
    return chain([a, b, gap], np.logaddexp(a.value, b.value), [share, other, 0.0], {(2, 2): share * other})


def _exp(x: Jet) -> Jet:
    y = np.exp(x.value)
    return x.of(y, y, y)


def _expm1(x: Jet) -> Jet:
    y = np.exp(x.value)
    return x.of(np.expm1(x.value), y, y)


def _log(x: Jet) -> Jet:
    y = 1.0 / x.value
    return x.of(np.log(x.value), y, -y * y)


def _log1p(x: Jet) -> Jet:
    y = 1.0 / (1.0 + x.value)
    return x.of(np.log1p(x.value), y, -y * y)


_OF_NUMPY: Mapping[Any, Callable[..., Jet]] = {
    np.negative: lambda a: chain([a], -a.value, [-1.0], {}),
    np.add: lambda a, b: chain([a, b], a.value + b.value, [1.0, 1.0], {}),
    np.subtract: lambda a, b: chain([a, b], a.value - b.value, [1.0, -1.0], {}),
    np.multiply: lambda a, b: chain([a, b], a.value * b.value, [b.value, a.value], {(0, 1): 1.0}),
    np.exp: _exp,
    np.expm1: _expm1,
    np.log: _log,
    np.log1p: _log1p,
}
