"""The objectives of the paper as functions to maximise: a Gaussian q, kernel and noise together, by L-BFGS.

q(f) = N(C mu, C W W' C') with C C' = K. Its divergence from the prior is (|W|^2 + |mu|^2 - n) / 2 - sum log W_ii; as
printed in Eqs. 10, 38 and 42, both log-determinants negated, the sum has the other sign.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import minimize
from scipy.special import ndtr
from synthetic import CASES, FORMULA, RANGES, maximised, train_and_test

import tobitgp as tg
from tobitgp.likelihoods.expectations import cross_entropy

OBJECTIVES = {
    "Eq. 22, divergence corrected": (False, False),
    "Eq. 10, divergence corrected": (True, False),
    "Eq. 10 as printed": (True, True),
}


@dataclass(frozen=True)
class Objective:
    """One objective on one data set; the vector holds mu, the lower triangle of W with log diagonal, and log sd,
    log length-scale, log sigma."""

    x: Any
    y: Any
    lower: Any
    upper: Any
    line_two: bool  # the sign of Eq. 10's second line
    log_dets: bool  # the signs of Eq. 38's log-determinants

    def value(self, vector: Any) -> tuple[float, Any]:
        """The objective, and its gradient: in q exact, in the two kernel parameters by central differences."""
        mu, W, kernel, log_sigma = self._split(vector)
        value, g_mu, g_W, g_sigma = self._at(mu, W, kernel, log_sigma)
        diagonal = np.diag(W)
        toward = -1.0 if self.log_dets else 1.0
        value += toward * np.log(diagonal).sum() - 0.5 * ((W * W).sum() + mu @ mu - len(mu))
        g_W = np.tril(g_W - W)
        g_W[np.diag_indices_from(W)] = np.diag(g_W) * diagonal + toward
        steps = 1e-5 * np.eye(2)
        shifted = [[self._at(mu, W, kernel + sign * s, log_sigma)[0] for sign in (1, -1)] for s in steps]
        g_kernel = [(up - down) / 2e-5 for up, down in shifted]
        return value, np.concatenate([g_mu - mu, g_W[np.tril_indices_from(W)], g_kernel, [g_sigma]])

    def predict(self, vector: Any, x_new: Any) -> tuple[Any, Any, float]:
        """Mean and sd of f at new inputs, and sigma."""
        mu, W, kernel, log_sigma = self._split(vector)
        C = self._factor(kernel)
        a = np.linalg.solve(C, self._covariance(self.x, x_new, kernel)).T
        var = np.exp(2.0 * kernel[0]) - (a * a).sum(axis=1) + ((a @ W) ** 2).sum(axis=1)
        return a @ mu, np.sqrt(np.maximum(var, 1e-12)), float(np.exp(log_sigma))

    def start(self, mean: Any, cov: Any, sd: float, lengthscale: float, sigma: float) -> Any:
        """Return the vector of a posterior from another method."""
        kernel = np.log([sd, lengthscale])
        C = self._factor(kernel)
        half = np.linalg.solve(C, cov)
        W = np.linalg.cholesky(np.linalg.solve(C, half.T) + 1e-9 * np.eye(len(mean)))
        W[np.diag_indices_from(W)] = np.log(np.diag(W))
        return np.concatenate([np.linalg.solve(C, mean), W[np.tril_indices_from(W)], kernel, [np.log(sigma)]])

    def _at(self, mu: Any, W: Any, kernel: Any, log_sigma: float) -> tuple[float, Any, Any, float]:
        """Sum over the rows, with derivatives in mu, W and log sigma."""
        C = self._factor(kernel)
        T, sigma = C @ W, np.exp(log_sigma)
        m, var = C @ mu, (T * T).sum(axis=1)
        E = cross_entropy(self.y, self.lower, self.upper, m, var, sigma)
        value, d1, dv, ds = E.value, E.d1, 0.5 * E.d2, E.s0[0]
        if self.line_two:
            extra = self._twice_line_two(m, var, sigma)
            value, d1, dv, ds = (a + b for a, b in zip((value, d1, dv, ds), extra, strict=True))
        return float(value.sum()), C.T @ d1, 2.0 * C.T @ (dv[:, None] * T), float(ds.sum())

    def _twice_line_two(self, m: Any, var: Any, sigma: float) -> tuple[Any, Any, Any, Any]:
        """Return the difference that the other sign of the second line makes in Eq. 22, with its derivatives."""
        s = np.sqrt(var)
        a, b = (self.lower - m) / s, (self.upper - m) / s
        inside, square = ndtr(b) - ndtr(a), ((self.y - m) ** 2 + var) / sigma**2
        phi_a, phi_b = (np.exp(-0.5 * c * c) / np.sqrt(2.0 * np.pi) for c in (a, b))
        finite_a, finite_b = (np.where(np.isfinite(c), c, 0.0) for c in (a, b))
        d1 = -2.0 * (self.y - m) * inside / sigma**2 - square * (phi_b - phi_a) / s
        dv = inside / sigma**2 - 0.5 * square * (finite_b * phi_b - finite_a * phi_a) / var
        return square * inside, d1, dv, -2.0 * square * inside

    def _split(self, vector: Any) -> tuple[Any, Any, Any, float]:
        n = len(self.x)
        W = np.zeros((n, n))
        W[np.tril_indices(n)] = vector[n:-3]
        W[np.diag_indices(n)] = np.exp(np.diag(W))
        return vector[:n], W, vector[-3:-1], vector[-1]

    def _factor(self, kernel: Any) -> Any:
        K = self._covariance(self.x, self.x, kernel)
        return np.linalg.cholesky(K + 1e-6 * np.exp(2.0 * kernel[0]) * np.eye(len(self.x)))

    @staticmethod
    def _covariance(x: Any, x_new: Any, kernel: Any) -> Any:
        sd, lengthscale = np.exp(kernel)
        return sd**2 * np.exp(-0.5 * ((x[:, None] - x_new[None, :]) / lengthscale) ** 2)


def maximise(objective: Objective, start: Any, steps: int = 200) -> Any:
    """L-BFGS from a start; sd, length-scale and sigma stay between 1e-3 and 1e3."""
    ends = [(-20.0, 20.0) if k >= len(start) - 3 else (None, None) for k in range(len(start))]
    ends[-3:] = [(np.log(1e-3), np.log(1e3))] * 3

    def minus(vector: Any) -> tuple[float, Any]:
        value, gradient = objective.value(vector)
        return -value, -gradient

    with np.errstate(over="ignore", invalid="ignore"):
        return minimize(minus, start, jac=True, method="L-BFGS-B", bounds=ends, options={"maxiter": steps}).x


def table(draws: int) -> Iterator[dict[str, Any]]:
    """Each objective on the first draws of Table 1, from the answer of exact VI and from a prior with sigma .5."""
    for case in CASES:
        for seed in range(1, draws + 1):
            train, test = train_and_test(case, RANGES["[0, 2]"], seed)
            res = tg.fit(FORMULA, train, **maximised(tg.VI()))
            q, at = res.posterior(train), res.hyperparameters
            rows = train[["x", "y", "lower", "upper"]].to_numpy().T
            found = at["sd(gp(x))"], at["lengthscale(gp(x))"], at["sigma"]
            for name, signs in OBJECTIVES.items():
                objective = Objective(*rows, *signs)
                starts = {
                    "VI": objective.start(np.asarray(q.mean), np.asarray(q.covariance), *found),
                    "prior": np.concatenate([np.zeros(len(train) * (len(train) + 3) // 2), np.log([3.0, 0.3, 0.5])]),
                }
                for which, start in starts.items():
                    end = maximise(objective, start)
                    line = {"case": case, "seed": seed, "objective": name, "from": which, "elbo": res.log_evidence}
                    yield line | {"value": objective.value(end)[0], **_scores(objective, end, test)}


def _scores(objective: Objective, vector: Any, test: pd.DataFrame) -> dict[str, float]:
    mean, sd, sigma = objective.predict(vector, test["x"].to_numpy())
    clipped = np.clip(mean, test["lower"], test["upper"])
    nlpd = tg.metrics.nlpd(test["y"], mean, np.hypot(sd, sigma), lower=test["lower"], upper=test["upper"])
    return {"sigma": sigma, "mae": float(np.abs(clipped - test["y"]).mean()), "nlpd": float(nlpd)}
