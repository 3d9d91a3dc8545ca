"""How well a fit predicts rows that it has not seen: leave-one-out, and the widely applicable criterion.

(CHK3), (CHK4) and (CHK8) of the theory pages.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tobitgp.errors import SpecError
from tobitgp.numerics.psis import good_shape, smooth
from tobitgp.results.process.cavity import average_left_out, predict_left_out
from tobitgp.results.process.draws import refuse_side_noises
from tobitgp.results.regression.parts import TobitParts
from tobitgp.results.trust.elpd import LOO, WAIC, collect
from tobitgp.results.trust.posterior_draws import Draws, training_rows
from tobitgp.results.views import Parts, Source
from tobitgp.typing import Array

METHODS = ("auto", "psis", "ep")
DRAWS, LEAST_DRAWS = 4000, 25
LEAST_SHARE = 0.5
NEGLIGIBLE = 0.01  # nats that a row owes to itself, of which no tail matters
LARGEST_VARIANCE = 0.4
_LOWEST = -1e300  # of a log likelihood, so that differences stay finite


def loo_by_draws(draws: Draws, parts: Source) -> LOO:
    """Leave-one-out by Pareto-smoothed importance sampling of a posterior's draws.

    The log weights of row n are minus its log likelihood. With frequency weights one copy of a row is left out.
    """
    found = []
    for _, value in draws.log_likelihoods():
        log_p = np.maximum(value, _LOWEST)
        weights = smooth(-log_p)
        elpd = _log_sum(weights.log_weight + log_p)
        found.append((elpd, _log_sum(log_p) - np.log(draws.size) - elpd, weights.k))
    elpd, p, k = (np.concatenate(column) for column in zip(*found, strict=True))
    good = good_shape(draws.size)
    remedy = (
        f"Their Pareto k is above {good:.2g}: without the row the posterior is another one. {_way_out(parts)}, or "
        "leave rows out for real by tg.cross_validate()."
    )
    return collect(LOO, "psis", parts, elpd, p, {"k": k}, (k <= good) | (p < NEGLIGIBLE), remedy, draws.size)


def _way_out(parts: Source) -> str:
    """What to try where importance weights fail."""
    if isinstance(parts, Parts):
        return "Use loo(method='ep'), which has no weights, or noise with heavier tails (family='student')"
    if isinstance(parts, TobitParts):
        return "Look at k_hat() and at these rows, fit a posterior (method='ep') for its loo(method='ep')"
    return "Look for components that few rows hold, try fewer of them"


def loo_by_cavities(parts: Parts) -> LOO:
    """Leave-one-out from the sites of a process, averaged over its hyper-parameters."""
    training_rows(parts, "loo()")
    refuse_side_noises(parts, "loo()")
    found = average_left_out(parts.fitted.weights, predict_left_out(parts))
    remedy = (
        "Without them the hyper-parameters are others: less than half of the worth of their design points is left. "
        "Look at these rows, or leave rows out for real by tg.cross_validate()."
    )
    kind, share = parts.fitted.method.name, found.share
    return collect(
        LOO, kind, parts, found.elpd, found.within - found.elpd, {"share": share}, share >= LEAST_SHARE, remedy, None
    )


def waic_by_draws(draws: Draws, parts: Source) -> WAIC:
    """The widely applicable information criterion, on the scale of log densities."""
    found = []
    for _, value in draws.log_likelihoods():
        log_p = np.maximum(value, _LOWEST)
        variance = log_p.var(axis=1)
        found.append((_log_sum(log_p) - np.log(draws.size) - variance, variance))
    elpd, p = (np.concatenate(column) for column in zip(*found, strict=True))
    remedy = (
        f"The posterior variance of their log likelihood is above {LARGEST_VARIANCE:g}, too much for the criterion; "
        "use loo()."
    )
    return collect(WAIC, "waic", parts, elpd, p, {}, p <= LARGEST_VARIANCE, remedy, draws.size)


def loo_of(draws: Callable[[], Draws], parts: Source, method: Any) -> LOO:
    """Leave-one-out by the method asked for; draws are made where they are needed."""
    chosen = check_method(method, sites=isinstance(parts, Parts))
    return loo_by_cavities(parts) if chosen == "ep" and isinstance(parts, Parts) else loo_by_draws(draws(), parts)


def check_method(method: Any, *, sites: bool) -> str:
    """How to leave rows out, ``"psis"`` or ``"ep"``."""
    if not isinstance(method, str) or method not in METHODS:
        raise SpecError(f"method={method!r} is not offered; choose one of {', '.join(map(repr, METHODS))}.")
    if method == "ep" and not sites:
        raise SpecError("method='ep' takes the sites of a Gaussian process out, and this fit has none; use 'psis'.")
    return ("ep" if sites else "psis") if method == "auto" else method


def _log_sum(values: Array) -> Array:
    """Log of sums of exponentials over the columns."""
    top = values.max(axis=1)
    return np.asarray(top + np.log(np.exp(values - top[:, None]).sum(axis=1)))
