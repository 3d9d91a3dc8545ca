"""What a user gives for the parameters of a process, by their names: values, starts and priors."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal

import numpy as np
from scipy.special import ndtr

from tobitgp.errors import DataError, SpecError
from tobitgp.inference.hyperparameters import COEFFICIENTS, SIGMA, HyperParameter, Parameters, default_prior
from tobitgp.likelihoods import Family
from tobitgp.likelihoods.censoring_noise import SIDES
from tobitgp.priors.bounded_priors import Beta, Uniform
from tobitgp.priors.coefficients import FLAT
from tobitgp.priors.group_effects import ETA, EffectParameters, psi_of
from tobitgp.priors.hyperpriors import LKJ, LogNormal, Normal, Usual, UsualSlope
from tobitgp.priors.scale_priors import ScalePrior
from tobitgp.typing import Array

_QUANTILES = ndtr([-1.0, 0.0, 1.0]).tolist()
VAGUE = 3.0  # spread of a logarithm from which on a prior is no place to start from
FARTHEST = 50.0 * float(np.log(10.0))


@dataclass(frozen=True, slots=True)
class GivenParameters:
    """What a user asks of the parameters of a process."""

    inducing: Any  # (M, d), locations in the user's units
    fixed: dict[str, Any]  # natural scale, the user's units
    start: dict[str, Any]  # natural scale, the user's units
    priors: dict[str, Any] | None  # none: weak priors on all; an empty dict: on none; an entry of None drops one
    side_noises: Literal["shared", "row"] | None

    @classmethod
    def read(
        cls,
        inducing: Any = "auto",
        fixed: Mapping[str, float] | None = None,
        start: Mapping[str, float] | None = None,
        priors: Mapping[str, LKJ | LogNormal | Normal | ScalePrior | float | None] | None = None,
        side_noises: Literal["shared", "row"] | None = None,
    ) -> GivenParameters:
        """Copies of what was given."""
        fixed, start = read_mapping("fixed", fixed) or {}, read_mapping("start", start) or {}
        return cls(inducing, fixed, start, read_mapping("priors", priors), side_noises)

    def check(self, columns: Sequence[str], names: Sequence[str], slopes: Sequence[str], family: Family) -> None:
        """Raise an error for unknown names, and for values of slopes of lines, which take priors only."""
        for i, column in enumerate(columns):
            if column in names or column in columns[:i]:
                what = "a hyper-parameter" if column in names else "another linear column"
                raise DataError(f"The linear column {column!r} has the name of {what}; rename the column.")
        arguments = {"fixed": self.fixed, "start": self.start, "priors": self.priors or {}}
        for argument, given in arguments.items():
            check_names(argument, given, [*columns, *names, *(slopes if argument == "priors" else ())])
        linear = [c for c in columns if c in self.start]
        if linear:
            raise SpecError(
                f"start= is for hyper-parameters, and {linear[0]!r} is a linear coefficient, which is solved for. "
                "Use fixed= or priors=."
            )
        if family.known_sigma is not None and any(SIGMA.name in given for given in arguments.values()):
            raise SpecError(f"family={family.name!r} has sigma = {family.known_sigma:g}; leave sigma out.")

    def gives(self, name: str) -> bool:
        """Whether a user gave the prior of a parameter."""
        prior = (self.priors or {}).get(name)
        return prior is not None and not isinstance(prior, Usual | UsualSlope)

    def fixes(self, name: str) -> bool:
        """Whether a user gave the value of a parameter."""
        return name in self.fixed

    def drops(self, name: str) -> bool:
        """Whether the prior of a parameter is dropped."""
        return self.priors is not None and (not self.priors or (name in self.priors and self.priors[name] is None))


def check_unambiguous(what: str, asked: Iterable[Any], names: Collection[Any]) -> None:
    """Raise an error for names that a linear column and another parameter share."""
    for name in asked:
        if list(names).count(name) > 1:
            raise SpecError(f"{what} names {name!r}, a linear column and another parameter. Rename the column.")


def check_names(argument: str, given: Mapping[str, Any], known: Collection[str], what: str = "parameter") -> None:
    """Raise an error for ambiguous keys of a dict argument, and for unknown ones, with the nearest known one."""
    check_unambiguous(f"{argument}=", given, known)
    for name in given:
        if name not in known:
            near = difflib.get_close_matches(str(name), list(known), n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise SpecError(
                f"{argument}= names {name!r}, which is not a {what} of this model.{hint} It has: {', '.join(known)}."
            )


def read_mapping(argument: str, given: Any) -> dict[str, Any] | None:
    """A copy of a dict argument, None where there is none."""
    if given is None:
        return None
    if not isinstance(given, Mapping):
        of = f"= is a {type(given).__name__}" if "\n" in repr(given) else f"={given!r}"
        fit = ", or a fit by a posterior of the same terms" * (argument == "start")
        raise SpecError(f"{argument}{of}: must be a dict keyed by parameter name, e.g. {{'sigma': ...}}{fit}.")
    return dict(given)


def is_zero(value: Any) -> bool:
    """Whether a number that was given is 0."""
    return isinstance(value, Real) and not isinstance(value, bool) and float(value) == 0.0


def _log_ratio(argument: str, name: str, value: Any, unit: float) -> float:
    """Logarithm of a value over its unit, where squares of both stay numbers."""
    if not isinstance(value, Real) or not 0 < float(value) < np.inf:
        raise SpecError(f"{argument}={{{name!r}: {value!r}}}: must be a positive number.")
    ratio = np.log(float(value)) - np.log(unit)
    if abs(ratio) > FARTHEST:
        raise SpecError(
            f"{argument}={{{name!r}: {value!r}}}: on the scale of these data 1 is {unit:.3g}. The value must be within "
            f"a factor 1e{FARTHEST / np.log(10.0):.0f} of that."
        )
    return float(ratio)


def slope_sds(spreads: Mapping[str, float], given: GivenParameters, size: float) -> Array:
    """Prior sds (L,) of slopes for inputs of sd 1, by name with the sds of their inputs; ``size`` by default."""
    sds = []
    for name, spread in spreads.items():
        prior = (given.priors or {}).get(name)
        if prior is not None and not (isinstance(prior, Normal) and prior.mean == 0.0):
            raise SpecError(
                f"priors={{{name!r}: {prior!r}}}: the slope of a process takes tg.Normal(0, sd) or None. For another "
                "mean add the linear term to the formula, and give it the prior."
            )
        weak = FLAT * size if given.drops(name) else size
        sds.append(prior.sd * spread if isinstance(prior, Normal) else weak)
    return np.array(sds)


def linear_means(columns: Sequence[str], given: GivenParameters) -> tuple[Array, Array]:
    """Prior means (p,), and sds (p,): NaN where the default applies, 0 where the coefficient is fixed."""
    fixed, mean, sd = given.fixed, np.zeros(len(columns)), np.full(len(columns), np.nan)
    for j, name in enumerate(columns):
        prior = (given.priors or {}).get(name)
        if isinstance(prior, Normal):
            mean[j], sd[j] = prior.mean, prior.sd
        elif prior is not None:
            raise SpecError(
                f"priors={{{name!r}: ...}}: a linear coefficient takes tg.Normal(mean, sd) or None, not {prior!r}."
            )
        if name in fixed:
            mean[j], sd[j] = finite_number("fixed", name, fixed[name]), 0.0
    return mean, sd


def read_parameters(
    hypers: Sequence[HyperParameter],
    unit: Array,
    given: GivenParameters,
    effects: Sequence[EffectParameters] = (),
    scale_root: Array | None = None,
) -> Parameters:
    """Hyper-parameters with their priors, freedom and starts; unit (k,); effects are those of random effects.

    ``scale_root`` as of `Parameters`.
    """
    fixed, start, k = given.fixed, given.start, len(hypers)
    mean, sd, first = np.empty(k), np.empty(k), np.full(k, np.nan)
    free = np.ones(k, dtype=bool)
    densities: list[ScalePrior | None] = [None] * k
    for i, hyper in enumerate(hypers):
        name = hyper.name
        mean[i], sd[i] = default_prior(hyper.role, hyper.n_inputs, of_noise=hyper.of_noise, n_terms=hyper.n_terms)
        if hyper.role == "cor":
            continue
        if hyper.role in COEFFICIENTS:
            mean[i], sd[i], first[i], free[i] = _read_coefficient(name, unit[i], given, mean[i])
            continue
        prior = (given.priors or {}).get(name)
        if isinstance(prior, LogNormal):
            mean[i], sd[i] = np.log(prior.median / unit[i]), prior.spread
        elif isinstance(prior, ScalePrior):
            densities[i] = prior
            mean[i], sd[i] = _about(name, prior, unit[i], mean[i])
        elif prior is not None:
            raise SpecError(
                f"priors={{{name!r}: ...}}: a hyper-parameter takes tg.LogNormal(median, spread), "
                f"tg.Gamma(shape, rate) or another prior of positive numbers, or None, not {prior!r}."
            )
        elif given.drops(name):
            sd[i] = np.inf
        if name in start:
            first[i] = _log_ratio("start", name, start[name], unit[i])
        if name in fixed or hyper.known is not None:
            known = fixed.get(name, hyper.known)
            none = hyper.role in (*SIDES, SIGMA.role) and is_zero(known)
            first[i] = -np.inf if none else _log_ratio("fixed", name, known, unit[i])
            free[i] = False
    names, terms = tuple(h.name for h in hypers), []
    for term in effects:
        at, own = term.cors, names[term.cors]
        for argument, values in (("start", start), ("fixed", fixed)):
            if any(name in values for name in own):
                first[at] = _read_correlations(argument, own, values, term.q)
                free[at] = argument == "start"
        every, here = names[term.first : at.stop], slice(term.first, at.stop)
        if term.centred and any(np.isfinite(first[i]) for i, name in term.of_intercept(every)):
            _check_start(every, {**start, **fixed})
            first[here] = term.centre(first[here])
        terms.append(term._replace(eta=_read_eta(own, given), cor=_read_correlation(own, given)))
        sd[at] = np.inf if np.isnan(terms[-1].eta) else sd[at]
    roles = tuple(h.role for h in hypers)
    found = Parameters(names, roles, unit, mean, sd, free, first, tuple(terms), scale_root, tuple(densities))
    at = found.scales
    if scale_root is not None and np.isfinite(first[at]).any():
        first[at] = np.linalg.solve(scale_root, np.where(np.isnan(first[at]), 0.0, first[at] * unit[at]))
    return found


def _about(name: str, prior: ScalePrior, unit: float, usual: float) -> tuple[float, float]:
    """Median and half-width of the logarithm of a parameter over its unit; the usual median of a vague prior."""
    if not prior._support[0] >= 0.0:
        raise SpecError(f"priors={{{name!r}: {prior!r}}}: the parameter is positive, so that lower= must be too.")
    with np.errstate(divide="ignore", over="ignore"):
        low, middle, high = np.log([prior._value_quantile(q) for q in _QUANTILES]) - np.log(unit)
    spread = 0.5 * (high - low)
    return (middle, spread) if spread < VAGUE else (usual, VAGUE)


def _read_coefficient(name: str, unit: float, given: GivenParameters, mean: float) -> tuple[float, float, float, bool]:
    """Prior mean and sd, and start, of a standardised coefficient of log sigma or Q, and whether it is free."""
    sd, start = np.inf if given.drops(name) else 1.0, np.nan
    prior = (given.priors or {}).get(name)
    if isinstance(prior, Normal):
        mean, sd = prior.mean / unit, prior.sd / unit
    elif prior is not None:
        raise SpecError(f"priors={{{name!r}: ...}}: a coefficient takes tg.Normal(mean, sd) or None, not {prior!r}.")
    for argument, values in (("start", given.start), ("fixed", given.fixed)):
        if name in values:
            start = finite_number(argument, name, values[name]) / unit
    return mean, sd, start, name not in given.fixed


def finite_number(argument: str, name: str, value: Any) -> float:
    """A number that was given for a parameter."""
    if not isinstance(value, Real) or not np.isfinite(float(value)):
        raise SpecError(f"{argument}={{{name!r}: {value!r}}}: must be a finite number.")
    return float(value)


def _read_correlations(argument: str, names: Sequence[str], given: Mapping[str, Any], q: int) -> Array:
    """Psi of the correlations of a random effect, row after row; all of them or none are given."""
    missing = [name for name in names if name not in given]
    if missing:
        raise SpecError(f"{argument}= has some of the correlations of a term; give {missing[0]!r} too.")
    for name in names:
        if not isinstance(given[name], Real) or not -1 < float(given[name]) < 1:
            raise SpecError(f"{argument}={{{name!r}: {given[name]!r}}}: must be a number between -1 and 1.")
    R = np.eye(q)
    rows, columns = np.tril_indices(q, -1)
    R[rows, columns] = R[columns, rows] = [float(given[name]) for name in names]
    if np.linalg.eigvalsh(R)[0] <= 0.0:
        raise SpecError(
            f"{argument}=: {', '.join(names)} are not valid together: their correlation matrix must be positive "
            f"definite."
        )
    return psi_of(R)


def _check_start(names: Sequence[str], start: Mapping[str, Any]) -> None:
    """Raise an error for starting values of only some parameters of a random effect; centring needs all of them."""
    missing = [name for name in names if name not in start]
    if missing:
        raise SpecError(f"start= has some of the parameters of a random effect; give {missing[0]!r} too.")


def _read_eta(names: Sequence[str], given: GivenParameters) -> float:
    """The joint prior of the correlations of a random effect; NaN without one."""
    priors = [given.priors[name] for name in names if name in given.priors] if given.priors else []
    if any(given.drops(name) for name in names):
        return np.nan
    if _read_correlation(names, given) is not None:
        return ETA
    for name, prior in zip(names, priors, strict=False):
        if not isinstance(prior, LKJ):
            single = ", tg.Beta(a, b, lower=-1), tg.Uniform(-1, 1)" * (len(names) == 1)
            raise SpecError(
                f"priors={{{name!r}: ...}}: a correlation takes tg.LKJ(eta){single} or None, not {prior!r}."
            )
        if prior != priors[0]:
            raise SpecError(f"priors=: the correlations of a term have one prior, and {name!r} another.")
    return float(priors[0].eta) if priors else ETA


def _read_correlation(names: Sequence[str], given: GivenParameters) -> tuple[float, float] | None:
    """Shapes of the beta prior of a single correlation; None where it has another prior."""
    prior = (given.priors or {}).get(names[0]) if len(names) == 1 else None
    if not isinstance(prior, Beta | Uniform) or prior._support != (-1.0, 1.0):
        return None
    return (float(prior.a), float(prior.b)) if isinstance(prior, Beta) else (1.0, 1.0)
