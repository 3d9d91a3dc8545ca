"""Settings of searches that have the local bound alone, and no priors of parameters."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tobitgp.errors import SpecError
from tobitgp.inference.search_settings import Step
from tobitgp.method_settings import VI
from tobitgp.method_value import given_settings, short_text
from tobitgp.options import FitOptions
from tobitgp.typing import Array

INDUCING, STARTS, MOST_ITERATIONS, TOLERANCE = 20, 2, 1000, 1e-8
_USED = ("bound", "hyper", "inducing", "n_starts", "max_iter", "tol")


def local_bound(asked: FitOptions, term: str) -> VI:
    """Settings of the search; what a fit with such a term has no use for raises an error."""
    method = asked.method if isinstance(asked.method, VI) else VI(bound="local")
    if method is not asked.method and asked.method != "auto":
        raise SpecError(f"method={asked.method!r}: {term} is fitted by tg.VI(bound='local') only.")
    if method.bound not in ("exact", "local"):
        raise SpecError(f"bound={method.bound!r}: {term} has bound='local' only.")
    if method.hyper == "integrate":
        raise SpecError(f"hyper='integrate': {term} has hyper='maximize' only.")
    for name, value in given_settings(method).items():
        if name not in _USED:
            raise SpecError(
                f"{name}={short_text(value)}: {term} has no use for it. Leave it out. Settings of the search are "
                "inducing=, n_starts=, max_iter= and tol=."
            )
    if asked.cov_type != "nonrobust":
        raise SpecError(f"cov_type={asked.cov_type!r}: {term} has no covariance of estimates. Leave it out.")
    for name, given in asked.named(("fixed", "start", "priors")).items():
        if given:
            raise SpecError(f"{name}= is not for {term}. Leave it out.")
    return method


def units(values: Array) -> tuple[Array, Array]:
    """Means and standard deviations (D,) of values and limits (n, D), NaN where nothing is known."""
    known = np.sort(values, axis=0)  # whose rounding no order of rows changes
    return np.nanmean(known, axis=0), np.nanstd(known, axis=0)


def reporter(on_step: Callable[[Step], None] | None, n: int) -> Callable[[int, float], None] | None:
    """What the search tells after each iteration."""
    if on_step is None:
        return None
    return lambda number, value: on_step(Step("latent", number, value, rows=n))
