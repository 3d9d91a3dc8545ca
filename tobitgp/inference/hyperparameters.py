"""Hyper-parameters: names, units, default priors, and what is free."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np

from tobitgp.formula.spec import GPFactor, GPTerm
from tobitgp.likelihoods import Family
from tobitgp.likelihoods.censoring_noise import SIDES
from tobitgp.priors.group_effects import EffectParameters
from tobitgp.priors.kernels import KERNELS, Covariance, KernelFactor
from tobitgp.priors.scale_priors import ScalePrior
from tobitgp.typing import Array, BoolArray


class HyperParameter(NamedTuple):
    """One hyper-parameter before it meets the data; the role "cor" is that of a correlation of random effects."""

    name: str  # as users write it
    # What it does; "arc" is the length-scale of a periodic kernel, in which a circle has the radius 1, "scale" a
    # coefficient of log sigma.
    role: str
    n_inputs: int = 1  # inputs among which distances are formed, in its process
    known: float | None = None  # value given in the formula, in the user's units
    of_noise: bool = False  # of a process in log sigma
    n_terms: int = 1  # processes that the mean is the sum of


SIGMA = HyperParameter("sigma", "sigma")
SIDE_NOISES = tuple(HyperParameter(name, name) for name in SIDES)
SHAPES = ("df", "Q")  # names of shapes of the noise, and their roles: log df, and Q as it is


def shape_parameters(family: Family) -> list[HyperParameter]:
    """The shape of the noise, where it is estimated."""
    name = family.distribution.shape_name
    return [HyperParameter(name, name)] if name is not None and family.estimate_shape else []


def term_covariance(term: GPTerm) -> Covariance:
    """Covariance of a term."""
    factors, start = [], 0
    for factor in term.factors:
        stop = start + len(factor.inputs)
        factors.append(KernelFactor(KERNELS[factor.kernel], slice(start, stop), factor.ard))
        start = stop
    return Covariance(tuple(factors))


def term_parameters(term: GPTerm, effects: Sequence[str]) -> list[HyperParameter]:
    """Hyper-parameters of a term, in the order of its block's theta; with the names of a random effect's columns.

    A parameter that is not alone in its role names its inputs, as in ``lengthscale(gp(x, z))[x]``, and its kernel where
    those are not enough.
    """
    if term.cor:
        return _curve_parameters(term, effects)
    if effects:
        sds = [f"sd({term.name})" + ("" if name == "Intercept" else f"[{name}]") for name in effects]
        pairs = [(a, b) for i, b in enumerate(effects) for a in effects[:i]] if term.correlated else []
        cors = [HyperParameter(f"cor({term.name})[{a}, {b}]", "cor") for a, b in pairs]
        return [*(HyperParameter(name, "group") for name in sds), *cors]
    found = [entry for factor in term.factors for entry in _factor_parameters(factor)]
    n_inputs = sum(len(f.inputs) for f in term.factors if KERNELS[f.kernel].stationary)
    out = [HyperParameter(f"sd({term.name})", "sd" if term.factors else "group", n_inputs)]
    places = [(word, inputs) for word, _, inputs, _, _ in found]
    for word, role, inputs, kernel, known in found:
        which = inputs if places.count((word, inputs)) == 1 else f"{inputs}, {kernel}"
        which = f"[{which}]" if sum(other == word for other, _ in places) > 1 else ""
        out.append(HyperParameter(f"{word}({term.name}){which}", role, n_inputs, known))
    return out


def _curve_parameters(term: GPTerm, levels: Sequence[str]) -> list[HyperParameter]:
    """Of correlated curves: an sd of each level, correlations, and what their kernel has."""
    kernel = term_parameters(replace(term, cor=False), ())[1:]
    pairs = [(a, b) for i, b in enumerate(levels) for a in levels[:i]]
    return [
        *(HyperParameter(f"sd({term.name})[{level}]", "sd") for level in levels),
        *(HyperParameter(f"cor({term.name})[{a}, {b}]", "cor") for a, b in pairs),
        *kernel,
    ]


def _factor_parameters(factor: GPFactor) -> Iterator[tuple[str, str, str, str, float | None]]:
    """Word, role, inputs, kernel and known value of each parameter."""
    kernel, together = KERNELS[factor.kernel], ", ".join(item.text for item in factor.inputs)
    if kernel.scaled:
        for text in [item.text for item in factor.inputs] if factor.ard else [together]:
            yield "lengthscale", "lengthscale", text, factor.kernel, None
    for role in kernel.shape:
        word, known = "lengthscale" if role == "arc" else role, factor.period if role == "period" else None
        yield word, role, together, factor.kernel, known


LOG_BOUND = np.log(1e4)  # twice that for length-scales, which long series may have
COEFFICIENTS = ("scale", "Q")  # roles of numbers of any sign
LOCATION = "location"  # the role of a coordinate of an inducing input
LEAST_DF = 1.05  # the t distribution has a mean for df > 1 only, and predictions average over df
_INSIDE = 1e-6  # of the width of a prior between two ends, where its density may be 0
_LEAST_NOISE = 1e-6  # relative, of one row: its square is some thousand times what doubles resolve


@dataclass(frozen=True)
class Parameters:
    """The k hyper-parameters of a model.

    Throughout inference ``theta = log(value / unit)``; psi of correlations, and ``value / unit`` of coefficients of log
    sigma.
    """

    names: tuple[str, ...]
    roles: tuple[str, ...]  # as of `HyperParameter`
    units: Array  # (k,), size of one standardised unit in the user's units
    prior_mean: Array  # (k,), of theta; near the median of a prior that is not normal
    prior_sd: Array  # (k,), of theta; an infinite sd means no prior
    free: BoolArray  # (k,)
    start: Array  # (k,), theta of fixed parameters, and where the user wants the others to start; NaN elsewhere
    effects: tuple[EffectParameters, ...] = ()  # of random effects with columns of their own
    # (q, q), coefficients of log sigma in the user's units from theta; None where these are theta times their units.
    scale_root: Array | None = None
    densities: tuple[ScalePrior | None, ...] = ()  # (k,), priors that are not normal in theta; empty without any

    shapes: ClassVar = {"names": "roles units prior_mean prior_sd free start"}

    def inconsistencies(self) -> Iterator[str]:
        """What does not belong together in parameters that were read from a file."""
        if len(self.densities) not in (0, len(self.names)):
            yield "its priors are not those of its parameters"

    @property
    def n_free(self) -> int:
        """Number of parameters to estimate."""
        return int(self.free.sum())

    @cached_property
    def least(self) -> Array:
        """Lower bounds (k_free,) of the free part of theta."""
        roles = np.array(self.roles)[self.free].tolist()
        bounds = {LOCATION: -np.inf, "df": np.log(LEAST_DF), "lengthscale": -2.0 * LOG_BOUND}
        return np.maximum([bounds.get(role, -LOG_BOUND) for role in roles], self._support[0])

    @cached_property
    def most(self) -> Array:
        """Upper bounds (k_free,) of the free part of theta."""
        usual = np.where(np.array(self.roles)[self.free] == LOCATION, np.inf, LOG_BOUND)
        return np.minimum(usual, self._support[1])

    @cached_property
    def _support(self) -> tuple[Array, Array]:
        """Ends (k_free,) between which priors let theta be."""
        low, high = np.full(len(self.names), -np.inf), np.full(len(self.names), np.inf)
        for i, prior in self._others:
            with np.errstate(divide="ignore"):
                low[i], high[i] = np.log(prior._support) - np.log(self.units[i])
        inside = _INSIDE * np.where(np.isfinite(high - low), high - low, 0.0)
        return (low + inside)[self.free], (high - inside)[self.free]

    @cached_property
    def _others(self) -> list[tuple[int, ScalePrior]]:
        """Places and priors of free parameters whose priors are not normal in theta."""
        return [(i, prior) for i, prior in enumerate(self.densities) if prior is not None and self.free[i]]

    def clip(self, free: Array) -> Array:
        """The free part of theta moved inside its bounds."""
        return np.clip(free, self.least, self.most)

    def with_locations(self, where: BoolArray) -> Parameters:
        """These and coordinates of inducing inputs, which are free, unbounded and without prior, at ``where`` (k,)."""
        place, here = np.cumsum(~where) - 1, np.flatnonzero(~where)
        others: tuple[Any, ...] = LOCATION, LOCATION, 1.0, 0.0, np.inf, True, np.nan
        fields = list(self.__dataclass_fields__)[: len(others)]
        names, roles, *rest = (
            np.where(where, other, np.array(getattr(self, name))[place])
            for name, other in zip(fields, others, strict=True)
        )
        effects = tuple(term._replace(first=int(here[term.first])) for term in self.effects)
        each = self.densities or (None,) * len(self.names)
        densities = tuple(None if new else each[i] for new, i in zip(where, place, strict=True))
        known: tuple[Any, ...] = *rest, effects, self.scale_root, densities
        return Parameters(tuple(names.tolist()), tuple(roles.tolist()), *known)

    def some(self, chosen: BoolArray) -> Parameters:
        """Some of them, chosen (k,): all or none of a term."""
        place, kept = np.cumsum(chosen) - 1, np.flatnonzero(chosen)
        effects = tuple(term._replace(first=int(place[term.first])) for term in self.effects if chosen[term.first])
        arrays = (self.units, self.prior_mean, self.prior_sd, self.free, self.start)
        names, roles = (tuple(of[i] for i in kept.tolist()) for of in (self.names, self.roles))
        root = self.scale_root if chosen[self.scales].all() else None
        densities = tuple(self.densities[i] for i in kept.tolist()) if self.densities else ()
        rest: tuple[Any, ...] = *(array[chosen] for array in arrays), effects, root, densities
        return Parameters(names, roles, *rest)

    @property
    def noise_free(self) -> bool:
        """Whether sigma is fixed at 0."""
        return self.roles[-1:] == (SIGMA.role,) and bool(np.isneginf(self.start[-1]))

    @property
    def proper(self) -> bool:
        """Whether every free parameter has a prior."""
        return bool(np.isfinite(self.prior_sd[self.free]).all())

    @cached_property
    def positive(self) -> BoolArray:
        """Which are positive numbers, (k,); the others are correlations, coefficients of log sigma, and Q."""
        return np.array([role not in ("cor", *COEFFICIENTS) for role in self.roles])

    @cached_property
    def correlations(self) -> BoolArray:
        """Which are correlations, (k,)."""
        return np.array([role == "cor" for role in self.roles])

    @cached_property
    def scales(self) -> slice:
        """Where coefficients of log sigma are."""
        first = self.roles.index("scale") if "scale" in self.roles else 0
        return slice(first, first + self.roles.count("scale"))

    def report(self, theta: Array) -> tuple[Array, Array]:
        """Logarithms of values in the user's units, Fisher's z of correlations, coefficients as they are, (k,).

        And slopes (k, k) in theta.
        """
        with np.errstate(divide="ignore"):
            out, J = theta + np.where(self.positive, np.log(self.units), 0.0), np.eye(len(theta))
        at = self.scales
        root = np.diag(self.units[at]) if self.scale_root is None else self.scale_root
        out[at], J[at, at] = root @ theta[at], root
        for term in self.effects:
            places = slice(term.first, term.cors.stop)
            own, J[places, places] = term.report(theta)
            out[places] += own - theta[places]
        return out, J

    def values(self, theta: Array) -> Array:
        """Natural-scale values (k,) in the user's units."""
        if self.positive.all():
            return np.exp(theta) * self.units
        return self._valued(self.report(theta)[0])

    def _valued(self, z: Array) -> Array:
        """Values from what is reported."""
        other = np.where(self.correlations, np.tanh(z), z)
        return np.where(self.positive, np.exp(np.where(self.positive, z, 0.0)), other)

    def value_slopes(self, theta: Array) -> Array:
        """Derivatives (k, k) of the values in theta."""
        z, J = self.report(theta)
        value = self._valued(z)
        return np.where(self.positive, value, np.where(self.correlations, 1.0 - value**2, 1.0))[:, None] * J

    @cached_property
    def _log_normal(self) -> tuple[BoolArray, Array, float]:
        """Which free parameters have a normal prior, the sds of these, 1 elsewhere, and the sum of their log norms."""
        has = self.free & np.isfinite(self.prior_sd) & ~self.correlations
        has[[i for i, _ in self._others]] = False
        sd = np.where(has, self.prior_sd, 1.0)
        return has, sd, float(np.log(sd).sum() + 0.5 * has.sum() * np.log(2.0 * np.pi))

    def log_prior(self, theta: Array) -> tuple[float, Array]:
        """Log prior density of theta over the free parameters, and its gradient (k,)."""
        has, sd, norm = self._log_normal
        # Theta is -inf where a side noise is fixed at 0, and an infinite sd is no prior.
        z = np.where(has, theta - self.prior_mean, 0.0) / sd
        value, slopes = -0.5 * float(z @ z) - norm, -z / sd
        for i, prior in self._others:
            more, slopes[i] = prior._log_density(float(theta[i] + np.log(self.units[i])))
            value += more
        for term in self.effects:
            if self.free[term.cors].any():
                more, slopes[term.cors] = term.log_prior(theta)
                value += more
        return value, slopes


def words_for_little_noise(parameters: Parameters, rows: float = 1.0) -> str:
    """What to look at where sigma is fixed so small that its square is lost to rounding in sums over so many rows."""
    at, least = parameters.roles.index("sigma"), _LEAST_NOISE * np.sqrt(max(rows, 1.0))
    if parameters.free[at] or parameters.noise_free or np.exp(parameters.start[at]) >= least:
        return ""
    least = float(least * parameters.units[at])
    unit = 10.0 ** np.floor(np.log10(least))
    enough = f"{np.ceil(least / unit) * unit:.1g}"
    return f"sigma, whose square is lost to rounding: fixed={{'sigma': {enough}}} or more keeps clear of that"


def default_prior(role: str, n_inputs: int, *, of_noise: bool = False, n_terms: int = 1) -> tuple[float, float]:
    """Weak log-normal prior on standardised data, mean and sd of the logarithm: the table below (HYP1).

    Processes share the variance of the response, however many they are. A process in log sigma is smoother: a short
    length-scale lets sigma vanish wherever the curve meets a row.
    """
    if role in COEFFICIENTS:
        return (0.0 if role == "scale" else 0.5), 1.0
    if role == "lengthscale":
        # Distances grow with the square root of the number of inputs, and some inputs may matter little.
        return 0.5 * float(np.log(n_inputs)), 0.5 if of_noise else 1.0
    median, spread = {
        "sd": (0.5, 0.7) if of_noise else (1.0 / np.sqrt(n_terms), 1.0),
        "group": (0.3, 0.7) if of_noise else (0.5, 1.0),
        "arc": (1.0, 0.7),
        "alpha": (1.0, 1.0),
        "period": (1.0, 1.0),
        "df": (6.0, 1.0),
        "sigma_lower": (0.5, 1.0),
        "sigma_upper": (0.5, 1.0),
        "sigma": (0.5, 1.0),
        "cor": (1.0, 0.6),  # of psi, whose prior is another, LKJ
    }[role]
    return float(np.log(median)), spread
