"""Options of a fit, checked: each gives its value, or one error that says what is allowed."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np

from tobitgp.data.beside import read_clusters
from tobitgp.errors import SpecError
from tobitgp.inference import EP, METHODS, VI, Laplace, Method
from tobitgp.typing import BoolArray, Frame, IntArray

MLE = "mle"


def choose_method(method: str | Method, bound: str | None = None) -> Method:
    """The method that ``method=`` and ``bound=`` of :func:`fit` stand for.

    Raises
    ------
    SpecError
        If there is no such method, or ``bound`` does not go with it.

    Examples
    --------
    >>> choose_method("auto").name
    'ep'
    """
    if isinstance(method, (EP, VI, Laplace)):
        if bound is not None:
            raise SpecError(
                "bound= goes with method='vi'; a method value carries its own settings, as tg.VI(bound=...)."
            )
        return method
    if not isinstance(method, str) or (method != "auto" and method not in METHODS):
        raise SpecError(f"method={method!r} is not offered; choose 'auto' or one of {', '.join(map(repr, METHODS))}.")
    if bound is not None and method != "vi":
        raise SpecError(f"bound={bound!r} goes with method='vi', not with method={method!r}.")
    return VI(bound=bound) if bound is not None else METHODS["ep" if method == "auto" else str(method)]()


def read_hyper(hyper: str) -> bool | None:
    """Whether to integrate: True, False, or None to let the size of the problem decide.

    Raises
    ------
    SpecError
        If it is something else.
    """
    choices = {"auto": None, "integrate": True, "maximize": False}
    if not isinstance(hyper, str) or hyper not in choices:
        raise SpecError(f"hyper={hyper!r} is not offered; choose one of {', '.join(map(repr, choices))}.")
    return choices[hyper]


def read_whole(name: str, value: Any) -> int:
    """A whole number of at least 1.

    Raises
    ------
    SpecError
        If it is something else.
    """
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        raise SpecError(f"{name}={value!r}: a whole number of at least 1 is needed.")
    return int(value)


def read_positive(name: str, value: Any) -> float:
    """A positive number.

    Raises
    ------
    SpecError
        If it is something else.
    """
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 < float(value) < np.inf:
        raise SpecError(f"{name}={value!r}: a positive number is needed.")
    return float(value)


def read_rng(rng: Any) -> int | np.random.Generator | None:
    """A seed, a Generator, or None.

    Raises
    ------
    SpecError
        If it is something else.
    """
    if rng is None or isinstance(rng, np.random.Generator):
        return rng
    if isinstance(rng, bool) or not isinstance(rng, (int, np.integer)) or rng < 0:
        raise SpecError(f"rng={rng!r}: None, a whole number, or a numpy Generator is needed.")
    return int(rng)


def read_groups(cov_type: Any, cov_kwds: Any, data: Frame, kept: BoolArray) -> IntArray | None:
    """Clusters of the rows used, where ``cov_type="cluster"`` asks for them.

    Raises
    ------
    SpecError
        If ``cov_kwds`` does not go with ``cov_type``.
    DataError
        If the groups cannot be used.
    """
    if cov_type != "cluster":
        if cov_kwds is not None:
            raise SpecError(f"cov_kwds= goes with cov_type='cluster', not with {cov_type!r}.")
        return None
    if not isinstance(cov_kwds, Mapping) or set(cov_kwds) != {"groups"}:
        raise SpecError("cov_type='cluster' needs cov_kwds={'groups': ...}, a column of the data or one group a row.")
    return read_clusters(cov_kwds["groups"], data, kept)


def refuse_with_mle(given: Mapping[str, Any], defaults: Mapping[str, Any]) -> None:
    """Refuse options that say how a process is fitted beside ``method="mle"``.

    Raises
    ------
    SpecError
        Naming the first.
    """
    for name, value in given.items():
        if isinstance(value, Mapping) and not value:
            continue
        if value is not defaults[name] and not (np.isscalar(value) and value == defaults[name]):
            raise SpecError(f"{name}= goes with Gaussian processes and their priors, not with method='mle'.")
