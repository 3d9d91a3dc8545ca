"""Coordinates of new rows from some of their responses, given a fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tobitgp.latent.collapsed_bound import ProcessPosterior, ResponseEnds, ResponseScales, row_terms
from tobitgp.latent.latent_search import BOUNDS, divergence
from tobitgp.latent.psi_statistics import InducingInputs, NormalInputs, PsiStatistics
from tobitgp.typing import Array

_CANDIDATES, _CANDIDATE_VAR, _STEPS = 2, 0.1, 500


@dataclass(frozen=True)
class LatentProcesses:
    """What is known of the processes of all responses, whose responses are in standard units."""

    inducing: InducingInputs
    scales: ResponseScales
    posterior: ProcessPosterior

    def moments(self, inputs: NormalInputs) -> tuple[Array, Array]:
        """Means and variances of the responses without noise, (n, D) each: (LAT8)."""
        mean, var = self.posterior.moments(PsiStatistics(inputs, self.inducing))
        return self.scales.level + self.scales.sd * mean, np.square(self.scales.sd) * var

    def objective(self, inputs: NormalInputs, responses: ResponseEnds) -> tuple[Array, Array, Array]:
        """The bound of every row (n,), and its derivatives in means and variances of its coordinates: (LAT11)."""
        psi, known = PsiStatistics(inputs, self.inducing), responses.known.astype(float)
        f, var = self.posterior.moments(psi)
        slope = self.scales.sd / self.scales.sigma
        tau = slope * slope
        terms = row_terms(responses, self.scales, f)
        value = (terms.value - 0.5 * tau * known * var).sum(axis=1) - divergence(inputs).sum(axis=1)
        pull = known * (slope * terms.mean + tau * f)
        of_second = -0.5 * tau[:, None] * self.inducing.upper(self.posterior.second) * self.inducing.multiplicity
        slopes = psi.slopes(pull @ self.posterior.unwhitened, known @ of_second)
        return value, slopes.mean - inputs.mean, slopes.var - 0.5 * (1.0 - 1.0 / inputs.var)

    def infer(self, responses: ResponseEnds) -> NormalInputs:
        """Coordinates q(x) of new rows, whose responses may be missing; searched from the best inducing inputs."""
        n, Q = len(responses.lower), self.inducing.z.shape[1]
        if not n:
            return NormalInputs(np.zeros((0, Q)), np.ones((0, Q)))
        at = np.vstack([np.zeros((1, Q)), self.inducing.z])
        var = np.full((n, Q), _CANDIDATE_VAR)
        worth = np.stack([self.objective(NormalInputs(np.tile(x, (n, 1)), var), responses)[0] for x in at], axis=1)
        best = np.argsort(-worth, axis=1)[:, :_CANDIDATES]
        found = [self._climb(NormalInputs(at[best[:, k]], var), responses) for k in range(best.shape[1])]
        value, inputs = found[0]
        for other, tried in found[1:]:
            better = (other > value)[:, None]
            value = np.maximum(value, other)
            inputs = NormalInputs(*(np.where(better, new, old) for new, old in zip(tried, inputs, strict=True)))
        return inputs

    def _climb(self, start: NormalInputs, responses: ResponseEnds) -> tuple[Array, NormalInputs]:
        """Maxima of all rows together, which do not depend on each other, and their values (n,)."""
        from scipy.optimize import minimize

        shape, size = start.mean.shape, start.mean.size

        def inputs_at(x: Array) -> NormalInputs:
            return NormalInputs(x[:size].reshape(shape), np.exp(x[size:]).reshape(shape))

        def minus(x: Array) -> tuple[float, Array]:
            inputs = inputs_at(x)
            value, of_mean, of_var = self.objective(inputs, responses)
            return -float(value.sum()), -np.concatenate([of_mean.ravel(), (of_var * inputs.var).ravel()])

        x: Array = np.concatenate([start.mean.ravel(), np.log(start.var).ravel()])
        bounds: list[tuple[float | None, float | None]] = [(None, None)] * size + [BOUNDS["var"]] * size
        options: Any = {"maxiter": _STEPS, "maxfun": 2 * _STEPS, "ftol": 1e-12, "gtol": 1e-6}
        found = minimize(minus, x, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
        inputs = inputs_at(found.x)
        return self.objective(inputs, responses)[0], inputs
