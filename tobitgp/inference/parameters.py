"""Hyper-parameters: names, units, priors, what is free; all positive, handled as logarithms."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tobitgp.formula.spec import GPFactor, GPTerm
from tobitgp.likelihoods.censoring_noise import SIDES
from tobitgp.priors.kernels import KERNELS, Covariance, KernelFactor
from tobitgp.typing import Array, BoolArray


class HyperParameter(NamedTuple):
    """One hyper-parameter before it meets the data."""

    name: str  # as users write it
    role: str  # what it does; "arc" is the length-scale of a periodic kernel, in which a circle has the radius 1
    n_inputs: int = 1  # inputs among which distances are formed, in its process
    known: float | None = None  # value given in the formula, in the user's units


SIGMA = HyperParameter("sigma", "sigma")
SIDE_NOISES = tuple(HyperParameter(name, name) for name in SIDES)
DF = HyperParameter("df", "df")


def term_covariance(term: GPTerm) -> Covariance:
    """Covariance of a term."""
    factors, start = [], 0
    for factor in term.factors:
        stop = start + len(factor.inputs)
        factors.append(KernelFactor(KERNELS[factor.kernel], slice(start, stop), factor.ard))
        start = stop
    return Covariance(tuple(factors))


def term_parameters(term: GPTerm) -> list[HyperParameter]:
    """Hyper-parameters of a term, in the order of its block's theta.

    A parameter that is not alone in its role names its inputs, as in ``lengthscale(gp(x, z))[x]``, and its kernel where
    those are not enough.
    """
    found = [entry for factor in term.factors for entry in _factor_parameters(factor)]
    words = [_word(role) for role, _, _, _ in found]
    n_inputs = sum(len(f.inputs) for f in term.factors if KERNELS[f.kernel].stationary)
    out = [HyperParameter(f"sd({term.name})", "sd" if term.factors else "group", n_inputs)]
    places = [(_word(role), inputs) for role, inputs, _, _ in found]
    for word, (role, inputs, kernel, known) in zip(words, found, strict=True):
        which = inputs if places.count((word, inputs)) == 1 else f"{inputs}, {kernel}"
        which = f"[{which}]" if words.count(word) > 1 else ""
        out.append(HyperParameter(f"{word}({term.name}){which}", role, n_inputs, known))
    return out


def _factor_parameters(factor: GPFactor) -> Iterator[tuple[str, str, str, float | None]]:
    """Role, inputs, kernel and known value of each parameter."""
    kernel, together = KERNELS[factor.kernel], ", ".join(item.text for item in factor.inputs)
    if kernel.scaled:
        for text in [item.text for item in factor.inputs] if factor.ard else [together]:
            yield "lengthscale", text, factor.kernel, None
    for role in kernel.shape:
        yield role, together, factor.kernel, factor.period if role == "period" else None


def _word(role: str) -> str:
    return "lengthscale" if role == "arc" else role


LOG_BOUND = np.log(1e4)
# Student's law has a mean for df > 1 only, and predictions average over df.
LEAST_DF = 1.05
# The square of a relative noise of 1e-6 is some thousand times what doubles resolve, of one row.
_LEAST_NOISE = 1e-6


@dataclass(frozen=True, slots=True)
class Parameters:
    """The k hyper-parameters of a model.

    ``theta = log(value / unit)`` throughout inference.
    """

    names: tuple[str, ...]
    roles: tuple[str, ...]  # "sd"
    units: Array  # (k,), size of one standardised unit in the user's units
    prior_mean: Array  # (k,), of theta; an infinite sd means no prior
    prior_sd: Array  # (k,), of theta; an infinite sd means no prior
    free: BoolArray  # (k,)
    start: Array  # (k,), theta of fixed parameters, and where the user wants the others to start; NaN elsewhere

    @property
    def n_free(self) -> int:
        """Number of parameters to estimate."""
        return int(self.free.sum())

    @property
    def least(self) -> Array:
        """Lower bounds (k_free,) of the free part of theta; the upper ones are ``LOG_BOUND``."""
        roles = np.array(self.roles)[self.free]
        return np.where(roles == "df", np.log(LEAST_DF), -LOG_BOUND)

    def clip(self, free: Array) -> Array:
        """The free part of theta moved inside its bounds."""
        return np.clip(free, self.least, LOG_BOUND)

    @property
    def proper(self) -> bool:
        """Whether every free parameter has a prior."""
        return bool(np.isfinite(self.prior_sd[self.free]).all())

    def values(self, theta: Array) -> Array:
        """Natural-scale values in the user's units, same shape as ``theta``."""
        return np.exp(theta) * self.units

    def log_prior(self, theta: Array) -> tuple[float, Array]:
        """Log prior density of theta over the free parameters, and its gradient (k,)."""
        has = self.free & np.isfinite(self.prior_sd)
        sd = np.where(has, self.prior_sd, 1.0)
        # Theta is -inf where a side noise is fixed at 0, and an infinite sd is no prior.
        z = np.where(has, theta - self.prior_mean, 0.0) / sd
        norm = np.where(has, np.log(sd) + 0.5 * np.log(2.0 * np.pi), 0.0)
        return -0.5 * float(z @ z) - float(norm.sum()), -z / sd


def words_for_little_noise(parameters: Parameters, rows: float = 1.0) -> str:
    """What to look at where sigma is fixed so small that rounding drowns its square, beside sums over so many rows."""
    at, least = parameters.roles.index("sigma"), _LEAST_NOISE * np.sqrt(max(rows, 1.0))
    if parameters.free[at] or np.exp(parameters.start[at]) >= least:
        return ""
    least = float(least * parameters.units[at])
    unit = 10.0 ** np.floor(np.log10(least))
    enough = f"{np.ceil(least / unit) * unit:.1g}"
    return f"sigma, whose square rounding drowns: fixed={{'sigma': {enough}}} or more keeps clear of that"


def default_prior(role: str, n_inputs: int) -> tuple[float, float]:
    """Weak log-normal prior on standardised data: mean and sd of the logarithm.

    ``n_inputs`` is the number of inputs of the term; the table below (HYP1) of the theory pages.
    """
    if role == "lengthscale":
        # Distances grow with the square root of the number of inputs, and some inputs may matter little.
        return float(np.log(0.7 * np.sqrt(n_inputs))), 0.7 if n_inputs == 1 else 1.0
    median, spread = {
        "sd": (1.5, 0.8),
        "group": (0.5, 1.0),
        "arc": (1.0, 0.7),
        "alpha": (1.0, 1.0),
        "period": (1.0, 1.0),
        "df": (6.0, 1.0),
        "sigma_lower": (0.5, 1.0),
        "sigma_upper": (0.5, 1.0),
        "sigma": (0.1, 1.0),
    }[role]
    return float(np.log(median)), spread
