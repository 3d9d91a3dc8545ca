"""Numbers of n rows with their first two derivatives in the parameters of the rows: forward mode, second order.

numpy's functions accept jets, so that a formula is written once: arrays give values, and jets give values and
derivatives. A derivative that is 0 in all rows is left out, and one that is equal in all rows may be a number, so that
no operation is spent on them.

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

from tobitgp.errors import SpecError
from tobitgp.numerics import log_probabilities
from tobitgp.typing import Array, IntArray

Entry = Array | float
_NEAR_0 = 1e-3  # up to which a series stands for a difference that cancels
_ONE = 1.0  # told by its identity: products with it need no multiplication


@dataclass(frozen=True, slots=True, eq=False)
class Jet(NDArrayOperatorsMixin):
    """Numbers (n,) and their derivatives, (n,) or numbers each; none of them is changed in place."""

    value: Array
    slope: Mapping[int, Entry]  # by the parameter
    bend: Mapping[tuple[int, int], Entry]  # by two parameters i <= j

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        """A function of numpy that has a rule."""
        rule = _OF_NUMPY.get(ufunc)
        if rule is None:
            listed = ", ".join(sorted(known.__name__ for known in _OF_NUMPY))
            raise SpecError(f"{ufunc.__name__}() is not supported in derivatives. Use only these functions: {listed}.")
        return NotImplemented if method != "__call__" or kwargs else rule(*map(_as_jet, inputs))

    def of(self, value: Array, first: Entry, second: Entry) -> Jet:
        """A function of this number, from its value and its derivatives."""
        return chain([self], value, [first], {(0, 0): second})

    def take(self, rows: IntArray | slice) -> Jet:
        """Some of the rows."""
        slope = {i: _some(entry, rows) for i, entry in self.slope.items()}
        return Jet(self.value[rows], slope, {pair: _some(entry, rows) for pair, entry in self.bend.items()})


Number = TypeVar("Number", Array, Jet)


def variables(values: Sequence[Array]) -> list[Jet]:
    """The parameters of rows, (n,) each."""
    return [Jet(value, {j: _ONE}, {}) for j, value in enumerate(values)]


def chain(of: Sequence[Jet], value: Array, first: Sequence[Entry], second: Mapping[tuple[int, int], Entry]) -> Jet:
    """A function of several jets by the chain rule, from its value and its derivatives in them.

    ``second`` has those of pairs k <= l; where it is linear or constant in the last jets, derivatives may be left out.
    """
    slope, bend = dict[int, Entry](), dict[tuple[int, int], Entry]()
    for jet, by in zip(of, first, strict=False):
        _add(slope, jet.slope, by)
        _add(bend, jet.bend, by)
    for (k, l), by in second.items():
        for i, one in of[k].slope.items():
            part = by if one is _ONE else by * one
            for j, other in of[l].slope.items():
                if k == l and j < i:
                    continue
                product = part if other is _ONE else part * other
                if k < l and i == j:
                    product = 2.0 * product
                pair = (i, j) if i < j else (j, i)
                bend[pair] = bend[pair] + product if pair in bend else product
    return Jet(value, slope, bend)


def linear(of: Sequence[Jet], weights: Sequence[Array] | Array) -> Jet:
    """A weighted sum of several numbers."""
    value = sum((jet.value * weight for jet, weight in zip(of, weights, strict=True)), np.zeros(()))
    return chain(of, value, list(weights), {})


JetParts = Iterable[tuple[IntArray, Jet]]


def scatter(n: int, plus: JetParts, minus: JetParts = ()) -> Jet:
    """Sums over n rows of jets of some of the rows each, less those of others."""
    value, slope, bend = np.zeros(n), dict[int, Entry](), dict[tuple[int, int], Entry]()

    def spread(to: dict[Any, Any], part: Mapping[Any, Entry], rows: IntArray, put: np.ufunc) -> None:
        for key, entry in part.items():
            total = to.setdefault(key, np.zeros(n))
            total[rows] = put(total[rows], entry)

    for parts, put in ((plus, np.add), (minus, np.subtract)):
        for rows, part in parts:
            value[rows] = put(value[rows], part.value)
            spread(slope, part.slope, rows, put)
            spread(bend, part.bend, rows, put)
    return Jet(value, slope, bend)


def dense(jet: Jet, shape: tuple[int, int]) -> tuple[Array, Array]:
    """First (r, n) and second (r, r, n) derivatives of a jet in r parameters of n rows."""
    slope, bend = np.zeros(shape), np.zeros((shape[0], *shape))
    for i, entry in jet.slope.items():
        slope[i] = entry
    for (i, j), other in jet.bend.items():
        bend[i, j] = bend[j, i] = other
    return slope, bend


def _as_jet(x: Jet | Array | float) -> Jet:
    return x if isinstance(x, Jet) else Jet(np.asarray(x), {}, {})


def _some(entry: Entry, rows: IntArray | slice) -> Entry:
    return np.asarray(entry)[rows] if np.ndim(entry) else entry


def _add(to: dict[Any, Entry], part: Mapping[Any, Entry], by: Entry) -> None:
    """Add products of the derivatives of a part."""
    for key, entry in part.items():
        product = entry if by is _ONE else by if entry is _ONE else by * entry
        to[key] = to[key] + product if key in to else product


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
    share, other = special.expit(a.value - b.value), special.expit(b.value - a.value)
    gap = Jet(b.value, b.slope, {}) - Jet(a.value, a.slope, {})
    return chain([a, b, gap], np.logaddexp(a.value, b.value), [share, other], {(2, 2): share * other})


def log_complement(x: Jet) -> Jet:
    """``log(1 - exp(x))``."""
    odds = 1.0 / np.expm1(-x.value)
    return x.of(log_probabilities.log_complement(x.value), -odds, -odds * (1.0 + odds))


def _exp(x: Jet) -> Jet:
    y = np.exp(x.value)
    return x.of(y, y, y)


def _log(x: Jet) -> Jet:
    y = 1.0 / x.value
    return x.of(np.log(x.value), y, -y * y)


def _log1p(x: Jet) -> Jet:
    y = 1.0 / (1.0 + x.value)
    return x.of(np.log1p(x.value), y, -y * y)


def _expm1(x: Jet) -> Jet:
    y = np.exp(x.value)
    return x.of(np.expm1(x.value), y, y)


def _divide(a: Jet, b: Jet) -> Jet:
    y = 1.0 / b.value
    ratio = a.value * y
    return chain([a, b], ratio, [y, -ratio * y], {(0, 1): -y * y, (1, 1): 2.0 * ratio * y * y})


def _arctan2(y: Jet, x: Jet) -> Jet:
    by = 1.0 / (np.square(x.value) + np.square(y.value))
    a, b = x.value * by, y.value * by
    bend = {(0, 0): -2.0 * a * b, (0, 1): np.square(b) - np.square(a), (1, 1): 2.0 * a * b}
    return chain([y, x], np.arctan2(y.value, x.value), [a, -b], bend)


def log_bessel(s: Jet) -> Jet:
    """``log(I_0(sqrt(s)))``, smooth at 0."""
    r = np.sqrt(s.value)
    order_0 = special.i0e(r)
    value = r + np.log(order_0)
    near = s.value < _NEAR_0
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = special.i1e(r) / order_0
        first = np.where(near, 0.25 - s.value / 32.0 + s.value**2 / 192.0, 0.5 * ratio / r)
        second = (1.0 - 2.0 * ratio / r - np.square(ratio)) / (4.0 * s.value)
    return s.of(value, first, np.where(near, -1.0 / 32.0 + s.value / 96.0 - 11.0 * s.value**2 / 4096.0, second))


def _tanh(x: Jet) -> Jet:
    y = np.tanh(x.value)
    return x.of(y, 1.0 - y * y, -2.0 * y * (1.0 - y * y))


def _log_ndtr(x: Jet) -> Jet:
    value = special.log_ndtr(x.value)
    ratio = np.exp(-0.5 * x.value**2 - 0.5 * np.log(2.0 * np.pi) - value)
    return x.of(value, ratio, -ratio * (x.value + ratio))


_OF_NUMPY: Mapping[Any, Callable[..., Jet]] = {
    np.negative: lambda a: chain([a], -a.value, [-1.0], {}),
    np.add: lambda a, b: chain([a, b], a.value + b.value, [_ONE, _ONE], {}),
    np.subtract: lambda a, b: chain([a, b], a.value - b.value, [_ONE, -1.0], {}),
    np.multiply: lambda a, b: chain([a, b], a.value * b.value, [b.value, a.value], {(0, 1): _ONE}),
    np.exp: _exp,
    np.log: _log,
    np.log1p: _log1p,
    np.expm1: _expm1,
    np.true_divide: _divide,
    np.square: lambda a: a.of(a.value * a.value, 2.0 * a.value, 2.0),
    np.sqrt: lambda a: a.of(np.sqrt(a.value), 0.5 / np.sqrt(a.value), -0.25 * a.value**-1.5),
    np.tanh: _tanh,
    np.arctan2: _arctan2,
    np.logaddexp: lambda a, b: logaddexp(a, b),
    special.log_expit: lambda a: log_expit(a),
    special.gammaln: lambda a: gammaln(a),
    special.log_ndtr: _log_ndtr,
}
