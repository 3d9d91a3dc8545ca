"""The search for the true inputs of a curve, from several length-scales, with as many inducing inputs as it needs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from tobitgp.latent.collapsed_bound import ResponseEnds, ResponseScales
from tobitgp.latent.latent_search import LatentMaximum, LatentState, elbo, filled, maximise
from tobitgp.latent.psi_statistics import InducingInputs, InputPrior, NormalInputs
from tobitgp.typing import Array

LEAST, MOST = 20, 160  # inducing inputs, where their number is not given
START_SD, START_SIGMA, START_VAR = 0.9, 0.5, 0.5  # in units of the response, and of the prior
_SHORTER = 2.5  # than the length-scale of a start is that of the next
_PER_LENGTH = 1.5  # inducing inputs of a start on each length-scale
_RISE = 0.5  # nats that finer inducing inputs gain before the search goes on with them
_ROWS = 300  # of a rough fit
_SHORTEST, _LONGEST, _LENGTHS = 0.01, 0.5, 18  # length-scales of a rough fit, in ranges of the inputs
_SHARES = (0.1, 0.3, 0.5, 0.7, 0.9, 0.97, 0.99)  # of the process in the variance of a response


def search(
    responses: ResponseEnds,
    prior: InputPrior,
    m: int | None,
    *,
    n_starts: int,
    max_iter: int,
    tol: float,
    on_step: Callable[[int, float], None] | None = None,
) -> list[LatentMaximum]:
    """A maximum from each start, the best first, which has more inducing inputs if m is None and they raise it."""

    def climb(start: LatentState) -> LatentMaximum:
        return maximise(start, responses, max_iter=max_iter, tol=tol, on_step=on_step)

    most = len(np.unique(prior.mean))
    tried = [climb(start) for start in starts(responses, prior, m, most, n_starts)]
    best, *others = sorted(tried, key=lambda found: -found.elbo)
    finer = _finer(best.state, min(most, MOST)) if m is None else None
    while finer is not None and elbo(finer, responses) > best.elbo + _RISE:
        after = climb(finer)
        best = after._replace(iterations=best.iterations + after.iterations)
        finer = _finer(best.state, min(most, MOST))
    return [best, *others]


def starts(responses: ResponseEnds, prior: InputPrior, m: int | None, most: int, number: int) -> list[LatentState]:
    """Starts at the measured inputs: the scales of a rough fit, then shorter and shorter length-scales."""
    unit = ResponseScales(np.zeros(1), np.full(1, START_SD), np.full(1, START_SIGMA))
    rough = rough_fit(prior.mean[:, 0], filled(responses)[:, 0])
    return [
        _start(prior, m, most, lengthscale, scales)
        for lengthscale, scales in [rough, *((_SHORTER**-k, unit) for k in range(number - 1))]
    ]


def _start(prior: InputPrior, m: int | None, most: int, lengthscale: float, scales: ResponseScales) -> LatentState:
    """A start, with inducing inputs for its length-scale if m is None."""
    if m is None:
        m = int(np.clip(np.ceil(_PER_LENGTH * np.ptp(prior.mean) / lengthscale), LEAST, MOST))
    z = np.quantile(prior.mean[:, 0], np.linspace(0.0, 1.0, min(m, most)))[:, None]
    inputs = NormalInputs(np.zeros_like(prior.mean), np.full_like(prior.mean, START_VAR))
    return LatentState(inputs, InducingInputs(z, np.full(1, lengthscale)), scales, prior)


def rough_fit(x: Array, y: Array) -> tuple[float, ResponseScales]:
    """Length-scale and scales of the highest evidence on a grid, of some rows at inputs x that are sorted and known."""
    rows = np.unique(np.linspace(0, len(x) - 1, _ROWS).round().astype(int)) if len(x) > _ROWS else slice(None)
    x, y = x[rows], y[rows]
    share, level = np.array(_SHARES)[:, None], float(y.mean())
    best, found = -np.inf, (1.0, 1.0, 0.5)
    for lengthscale in np.ptp(x) * np.geomspace(_LONGEST, _SHORTEST, _LENGTHS):
        value, vectors = np.linalg.eigh(np.exp(-0.5 * np.square((x[:, None] - x) / lengthscale)))
        variances = share * np.maximum(value, 0.0) + 1.0 - share
        total = (np.square(vectors.T @ (y - level)) / variances).mean(axis=1)
        evidence = -0.5 * (len(x) * np.log(total) + np.log(variances).sum(axis=1))
        k = int(evidence.argmax())
        if evidence[k] > best:
            best, found = float(evidence[k]), (float(lengthscale), float(total[k]), _SHARES[k])
    lengthscale, variance, part = found
    scales = (np.full(1, level), np.full(1, np.sqrt(part * variance)), np.full(1, np.sqrt((1.0 - part) * variance)))
    return lengthscale, ResponseScales(*scales)


def _finer(state: LatentState, most: int) -> LatentState | None:
    """The same with an inducing input between each two, if so many are allowed."""
    z = np.sort(state.inducing.z[:, 0])
    m = min(2 * len(z) - 1, most)
    if m <= len(z):
        return None
    between = np.interp(np.linspace(0, len(z) - 1, m), np.arange(len(z)), z)[:, None]
    return replace(state, inducing=InducingInputs(between, state.inducing.lengthscale))
