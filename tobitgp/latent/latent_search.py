"""The search for latent coordinates, inducing inputs and parameters by the collapsed bound, from several starts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tobitgp.latent.collapsed_bound import (
    CollapsedBound,
    ResponseEnds,
    ResponseScales,
    collapsed_bound,
    posterior_weights,
)
from tobitgp.latent.psi_statistics import STANDARD, InducingInputs, InputPrior, NormalInputs, PsiStatistics
from tobitgp.numerics.normal_functions import middles
from tobitgp.typing import Array

START_VAR = 0.05  # of coordinates, whose prior variance is 1
START_SIGMA, START_SD = 0.2, 0.9  # in units of a response's standard deviation
BOUNDS = {  # of logarithms
    "var": (-14.0, 3.0),
    "lengthscale": (-3.0, 5.0),
    "sd": (-7.0, 4.0),
    "sigma": (-7.0, 4.0),
}
TOLERANCE = 1e-7  # of the bound's relative change


@dataclass(frozen=True)
class LatentState:
    """What the search moves."""

    inputs: NormalInputs  # of q(X), less the mean of the prior and in units of its standard deviation
    inducing: InducingInputs
    scales: ResponseScales
    prior: InputPrior = STANDARD

    @property
    def psi(self) -> PsiStatistics:
        """Statistics of the rows."""
        return PsiStatistics(self.prior.placed(self.inputs), self.inducing)

    def packed(self) -> Array:
        """All as one vector, logarithms of what is positive."""
        logs = (np.log(self.inducing.lengthscale), self.scales.level, np.log(self.scales.sd), np.log(self.scales.sigma))
        parts = (self.inputs.mean, np.log(self.inputs.var), self.inducing.z, *logs)
        return np.concatenate([part.ravel() for part in parts])

    def at(self, x: Array) -> LatentState:
        """A state of the same shapes from a vector."""
        n_q, m_q, Q, D = self.inputs.mean.shape, self.inducing.z.shape, self.inputs.mean.shape[1], len(self.scales.sd)
        sizes = np.cumsum([n_q[0] * Q, n_q[0] * Q, m_q[0] * Q, Q, D, D])
        mean, log_var, z, log_l, level, log_sd, log_sigma = np.split(x, sizes)
        inputs = NormalInputs(mean.reshape(n_q), np.exp(log_var).reshape(n_q))
        inducing = InducingInputs(z.reshape(m_q), np.exp(log_l))
        return LatentState(inputs, inducing, ResponseScales(level, np.exp(log_sd), np.exp(log_sigma)), self.prior)

    def limits(self) -> list[tuple[float | None, float | None]]:
        """Ends between which each number is searched."""
        x, Q, D = self.packed(), self.inputs.mean.shape[1], len(self.scales.sd)
        free: list[tuple[float | None, float | None]] = [(None, None)] * len(x)
        n = self.inputs.mean.size
        free[n : 2 * n] = [BOUNDS["var"]] * n
        end = len(x) - 2 * D
        free[end - D - Q : end - D] = [BOUNDS["lengthscale"]] * Q
        free[end:] = [BOUNDS["sd"]] * D + [BOUNDS["sigma"]] * D
        return free


class LatentMaximum(NamedTuple):
    """A maximum of the bound."""

    state: LatentState
    elbo: float
    converged: bool
    iterations: int


def divergence(inputs: NormalInputs) -> Array:
    """KL(q(x) || N(0, 1)) of every coordinate in nats, (n, Q): (LAT10)."""
    return np.asarray(0.5 * (inputs.var + np.square(inputs.mean) - 1.0 - np.log(inputs.var)))


def elbo(state: LatentState, responses: ResponseEnds) -> float:
    """The bound on the log evidence in nats."""
    bound = collapsed_bound(state.psi, responses, state.scales)
    return bound.value - float(divergence(state.inputs).sum())


def maximise(
    start: LatentState,
    responses: ResponseEnds,
    *,
    max_iter: int,
    tol: float = TOLERANCE,
    on_step: Callable[[int, float], None] | None = None,
) -> LatentMaximum:
    """A maximum of the bound near a start, by L-BFGS-B."""
    from scipy.optimize import minimize

    last: list[Array | None] = [None]  # where Newton's method of the next evaluation starts
    steps = [0]

    def minus(x: Array) -> tuple[float, Array]:
        state = start.at(x)
        bound = collapsed_bound(state.psi, responses, state.scales, last[0])
        last[0] = bound.weights.w
        value, slope = bound.value, _slope(state, bound)
        value -= float(divergence(state.inputs).sum())
        n = state.inputs.mean.size
        slope[:n] -= state.inputs.mean.ravel()
        slope[n : 2 * n] -= 0.5 * (state.inputs.var.ravel() - 1.0)
        return -value, -slope

    def step(intermediate_result: object) -> None:
        steps[0] += 1
        if on_step is not None:
            on_step(steps[0], -float(intermediate_result.fun))  # type: ignore[attr-defined]

    found = minimize(
        minus,
        start.packed(),
        jac=True,
        method="L-BFGS-B",
        bounds=start.limits(),
        callback=step,
        options={"maxiter": max_iter, "maxfun": 2 * max_iter + 20, "ftol": tol, "gtol": 1e-6, "maxcor": 20},
    )
    return LatentMaximum(start.at(found.x), -float(found.fun), bool(found.status == 0), int(found.nit))


def _slope(state: LatentState, bound: CollapsedBound) -> Array:
    """Derivatives in the packed vector."""
    psi, sd = bound.psi, state.prior.sd
    of_var = psi.var * np.square(sd) * state.inputs.var
    parts = (psi.mean * sd, of_var, psi.z, psi.log_lengthscale, *bound.scales)
    return np.concatenate([part.ravel() for part in parts])


def filled(responses: ResponseEnds) -> Array:
    """Values (n, D) with limits and middles where censored, and means where nothing is known."""
    values = np.column_stack([middles(*ends) for ends in zip(*(end.T for end in responses), strict=True)])
    return np.where(np.isnan(values), np.nanmean(values, axis=0), values)


def starts(responses: ResponseEnds, q: int, m: int, number: int, rng: np.random.Generator) -> list[LatentState]:
    """Starts: principal components of filled data, then the same turned and moved at random."""
    Y = filled(responses)
    Y = (Y - Y.mean(axis=0)) / np.maximum(Y.std(axis=0), 1e-12)
    U, _, _ = np.linalg.svd(Y, full_matrices=False)
    skewed = np.where((U**3).sum(axis=0) < 0.0, -1.0, 1.0)  # so that the signs of responses do not show
    scores = (U * skewed)[:, :q] * np.sqrt(len(Y))
    if scores.shape[1] < q:
        scores = np.column_stack([scores, 0.3 * rng.standard_normal((len(Y), q - scores.shape[1]))])
    D = Y.shape[1]
    scales = ResponseScales(np.zeros(D), np.full(D, START_SD), np.full(D, START_SIGMA))
    made = []
    for k in range(number):
        mean = scores.copy()
        if k:
            turn, _ = np.linalg.qr(rng.standard_normal((q, q)))
            mean = mean @ turn + 0.5 * rng.standard_normal(mean.shape)
            mean /= mean.std(axis=0)
        z = mean[rng.permutation(len(mean))[:m]] + 0.1 * rng.standard_normal((min(m, len(mean)), q))
        inputs = NormalInputs(mean, np.full_like(mean, START_VAR))
        made.append(LatentState(inputs, InducingInputs(z, np.full(q, np.sqrt(q))), scales))
    return made


def search(
    responses: ResponseEnds,
    q: int,
    m: int,
    *,
    n_starts: int,
    max_iter: int,
    tol: float,
    rng: np.random.Generator,
    on_step: Callable[[int, float], None] | None = None,
) -> list[LatentMaximum]:
    """A maximum from each start, the best first, its dimensions in order and with their signs."""
    tried = [
        maximise(start, responses, max_iter=max_iter, tol=tol, on_step=on_step)
        for start in starts(responses, q, m, n_starts, rng)
    ]
    best, *others = sorted(tried, key=lambda found: -found.elbo)
    return [best._replace(state=oriented(best.state, responses)), *others]


def oriented(state: LatentState, responses: ResponseEnds) -> LatentState:
    """The same with the most relevant dimension first; the response that follows a dimension most rises with it."""
    order = np.argsort(state.inducing.lengthscale, kind="stable")
    q = posterior_weights(state.psi, responses, state.scales)
    f = q.moments(state.psi)[0] * state.scales.sd / np.hypot(state.scales.sd, state.scales.sigma)
    joint = state.inputs.mean.T @ (f - f.mean(axis=0))
    sign = np.sign(joint[np.arange(len(joint)), np.abs(joint).argmax(axis=1)])[order]
    sign = np.where(sign == 0.0, 1.0, sign)
    mean, var = sign * state.inputs.mean[:, order], state.inputs.var[:, order]
    inducing = InducingInputs(sign * state.inducing.z[:, order], state.inducing.lengthscale[order])
    return LatentState(NormalInputs(mean, var), inducing, state.scales)
