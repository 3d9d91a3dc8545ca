"""Arguments of distributions, read and checked."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from tobitgp.errors import DataError, SpecError, TobitGPError
from tobitgp.typing import Array


def read_numbers(name: str, value: Any, error: type[TobitGPError] = DataError) -> Array:
    """A float array, copied."""
    try:
        given = np.asarray(value)
        if given.dtype.kind not in "iufO" or any(
            isinstance(v, (str, bool, type(None))) for v in given.flat if given.dtype == "O"
        ):
            raise TypeError
        return np.array(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise error(f"{name}={value!r}: must be a number or an array of numbers.") from None


def read_parameters(
    mean: ArrayLike, sd: ArrayLike, lower: ArrayLike | None, upper: ArrayLike | None
) -> tuple[Array, Array, Array, Array]:
    """Parameters as read-only arrays; a limit of None is infinite."""
    limits = (-np.inf if lower is None else lower, np.inf if upper is None else upper)
    given = dict(zip(("mean", "sd", "lower", "upper"), (mean, sd, *limits), strict=True))
    arrays = {name: read_numbers(name, value, SpecError) for name, value in given.items()}
    shape: tuple[int, ...] = ()
    for name, values in arrays.items():
        shape = broadcast(shape, name, values.shape, SpecError)
        values.setflags(write=False)
    m, s, l, u = arrays.values()
    _require("mean", m, np.isfinite(m), "mean is finite")
    _require("sd", s, np.isfinite(s) & (s > 0.0), "sd is positive and finite")
    _require("lower", l, l < np.inf, "lower is a number, or -inf for no limit")
    _require("upper", u, u > -np.inf, "upper is a number, or inf for no limit")
    _require("lower", l, l < u, "lower lies below upper")
    return m, s, l, u


def broadcast(
    shape: tuple[int, ...], name: str, other: tuple[int, ...], error: type[TobitGPError] = DataError
) -> tuple[int, ...]:
    """The common shape, or an error of the class given that says whose shape does not fit."""
    try:
        return np.broadcast_shapes(shape, other)
    except ValueError:
        raise error(f"{name} has shape {other}, which does not broadcast with the parameters' {shape}.") from None


def read_size(size: Any, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Shape of a sample; None is the parameters' own."""
    if size is None:
        return shape
    parts = size if isinstance(size, tuple) else (size,)
    if any(isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 0 for n in parts):
        raise SpecError(f"size={size!r}: must be None, a whole number, or a tuple of whole numbers.")
    wanted = tuple(int(n) for n in parts)
    if broadcast(wanted, "size", shape, SpecError) != wanted:
        raise SpecError(f"size={size!r}: the parameters have shape {shape}, which does not broadcast to it.")
    return wanted


def _require(name: str, values: Array, good: Any, rule: str) -> None:
    """Raise with the first value that breaks the rule."""
    if not np.all(good):
        bad = np.broadcast_to(values, np.shape(good))[~np.asarray(good)].flat[0]
        raise SpecError(f"{name}={bad:g}: {rule}.")


_SECTIONS = """\
Parameters
----------
{argument}

Returns
-------
float or array
    {given}

Raises
------
{error}"""
# Shared parts of the methods' docstrings.
_SHARED = {
    "each": "Returns\n-------\nfloat or array\n    Of the shape of the parameters.",
    "value": _SECTIONS.format(
        argument="x : float or array\n    In the units of the variable; broadcasts with the parameters.",
        given="With the shape of x and the parameters, broadcast.",
        error="DataError\n    If x is not numeric or does not broadcast.",
    ),
    "order": _SECTIONS.format(
        argument="q : float or array\n    Probabilities, which broadcast with the parameters; "
        "NaN is returned for those outside 0 to 1.",
        given="With the shape of q and the parameters, broadcast, in the units of the variable.",
        error="DataError\n    If q is not numeric or does not broadcast.",
    ),
    "example": "Examples\n--------\n>>> from tobitgp.distributions import CensoredNormal\n"
    ">>> distribution = CensoredNormal(0.3, 0.7, lower=-0.6, upper=1.1)",
    "other": _SECTIONS.format(
        argument="other : distribution of the same class\n    Its parameters broadcast with these.",
        given="With the shape of all parameters; inf where values of this distribution are impossible under the other.",
        error="SpecError\n    If other is of another class or does not broadcast.",
    ),
}
_Question = TypeVar("_Question", bound=Callable[..., Any])


def documented(*names: str) -> Callable[[_Question], _Question]:
    """Put the sections that docstrings share before the example in them, or at their ends."""

    def with_sections(question: _Question) -> _Question:
        text = inspect.cleandoc(question.__doc__ or "")
        place = min((at for at in (text.find("Examples\n"), text.find(">>>")) if at >= 0), default=len(text))
        sections = "\n\n".join(_SHARED[name] for name in names)
        gap = "\n" if text[place:].startswith(">>>") else "\n\n"
        question.__doc__ = f"{text[:place].rstrip()}\n\n{sections}{gap}{text[place:]}".rstrip()
        return question

    return with_sections
