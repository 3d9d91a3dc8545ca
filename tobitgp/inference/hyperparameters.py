"""Hyper-parameters: names, units, priors, what is free, and what a user gave by their names."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Real
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from tobitgp.errors import DataError, SpecError
from tobitgp.formula.spec import GPFactor, GPTerm
from tobitgp.inference.effect_parameters import ETA, EffectParameters, psi_of
from tobitgp.likelihoods import Family
from tobitgp.likelihoods.censoring_noise import SIDES
from tobitgp.priors.coefficients import FLAT
from tobitgp.priors.hyperpriors import LKJ, LogNormal, Normal, Usual
from tobitgp.priors.kernels import KERNELS, Covariance, KernelFactor
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
_COEFFICIENTS = ("scale", "Q")  # roles of numbers of any sign
LOCATION = "location"  # the role of a coordinate of an inducing input
LEAST_DF = 1.05  # the t distribution has a mean for df > 1 only, and predictions average over df
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
    prior_mean: Array  # (k,), of theta
    prior_sd: Array  # (k,), of theta; an infinite sd means no prior
    free: BoolArray  # (k,)
    start: Array  # (k,), theta of fixed parameters, and where the user wants the others to start; NaN elsewhere
    effects: tuple[EffectParameters, ...] = ()  # of random effects with columns of their own
    # (q, q), coefficients of log sigma in the user's units from theta; None where these are theta times their units.
    scale_root: Array | None = None

    shapes: ClassVar = {"names": "roles units prior_mean prior_sd free start"}

    @property
    def n_free(self) -> int:
        """Number of parameters to estimate."""
        return int(self.free.sum())

    @cached_property
    def least(self) -> Array:
        """Lower bounds (k_free,) of the free part of theta."""
        roles = np.array(self.roles)[self.free].tolist()
        bounds = {LOCATION: -np.inf, "df": np.log(LEAST_DF), "lengthscale": -2.0 * LOG_BOUND}
        return np.array([bounds.get(role, -LOG_BOUND) for role in roles])

    @cached_property
    def most(self) -> Array:
        """Upper bounds (k_free,) of the free part of theta."""
        return np.where(np.array(self.roles)[self.free] == LOCATION, np.inf, LOG_BOUND)

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
        known: tuple[Any, ...] = *rest, effects, self.scale_root
        return Parameters(tuple(names.tolist()), tuple(roles.tolist()), *known)

    def some(self, chosen: BoolArray) -> Parameters:
        """Some of them, chosen (k,): all or none of a term."""
        place, kept = np.cumsum(chosen) - 1, np.flatnonzero(chosen)
        effects = tuple(term._replace(first=int(place[term.first])) for term in self.effects if chosen[term.first])
        arrays = (self.units, self.prior_mean, self.prior_sd, self.free, self.start)
        names, roles = (tuple(of[i] for i in kept.tolist()) for of in (self.names, self.roles))
        root = self.scale_root if chosen[self.scales].all() else None
        rest: tuple[Any, ...] = *(array[chosen] for array in arrays), effects, root
        return Parameters(names, roles, *rest)

    @property
    def proper(self) -> bool:
        """Whether every free parameter has a prior."""
        return bool(np.isfinite(self.prior_sd[self.free]).all())

    @cached_property
    def positive(self) -> BoolArray:
        """Which are positive numbers, (k,); the others are correlations, coefficients of log sigma, and Q."""
        return np.array([role not in ("cor", *_COEFFICIENTS) for role in self.roles])

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
        sd = np.where(has, self.prior_sd, 1.0)
        return has, sd, float(np.log(sd).sum() + 0.5 * has.sum() * np.log(2.0 * np.pi))

    def log_prior(self, theta: Array) -> tuple[float, Array]:
        """Log prior density of theta over the free parameters, and its gradient (k,)."""
        has, sd, norm = self._log_normal
        # Theta is -inf where a side noise is fixed at 0, and an infinite sd is no prior.
        z = np.where(has, theta - self.prior_mean, 0.0) / sd
        value, slopes = -0.5 * float(z @ z) - norm, -z / sd
        for term in self.effects:
            if self.free[term.cors].any():
                more, slopes[term.cors] = term.log_prior(theta)
                value += more
        return value, slopes


def words_for_little_noise(parameters: Parameters, rows: float = 1.0) -> str:
    """What to look at where sigma is fixed so small that its square is lost to rounding in sums over so many rows."""
    at, least = parameters.roles.index("sigma"), _LEAST_NOISE * np.sqrt(max(rows, 1.0))
    if parameters.free[at] or np.exp(parameters.start[at]) >= least:
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
    if role in _COEFFICIENTS:
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


FARTHEST = 50.0 * float(np.log(10.0))


@dataclass(frozen=True, slots=True)
class Given:
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
        priors: Mapping[str, LKJ | LogNormal | Normal | float | None] | None = None,
        side_noises: Literal["shared", "row"] | None = None,
    ) -> Given:
        """Copies of what was given."""
        fixed, start = read_mapping("fixed", fixed) or {}, read_mapping("start", start) or {}
        return cls(inducing, fixed, start, read_mapping("priors", priors), side_noises)

    def check(self, columns: Sequence[str], names: Sequence[str], slopes: Sequence[str], family: Family) -> None:
        """Refuse names that are no parameters, and values that go with none; slopes of lines have priors alone."""
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
        return prior is not None and not isinstance(prior, Usual)

    def fixes(self, name: str) -> bool:
        """Whether a user gave the value of a parameter."""
        return name in self.fixed

    def drops(self, name: str) -> bool:
        """Whether the prior of a parameter is dropped."""
        return self.priors is not None and (not self.priors or (name in self.priors and self.priors[name] is None))


def check_names(argument: str, given: Mapping[str, Any], known: Collection[str], what: str = "parameter") -> None:
    """Refuse names that a dict argument must not hold, with the nearest that it may."""
    for name in given:
        if name not in known:
            near = difflib.get_close_matches(str(name), list(known), n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise SpecError(
                f"{argument}= names {name!r}, which is no {what} of this model.{hint} It has: {', '.join(known)}."
            )


def read_mapping(argument: str, given: Any) -> dict[str, Any] | None:
    """A copy of a dict argument, None where there is none."""
    if given is None:
        return None
    if not isinstance(given, Mapping):
        of = f"= is a {type(given).__name__}" if "\n" in repr(given) else f"={given!r}"
        fit = ", or a fit by a posterior of the same terms" * (argument == "start")
        raise SpecError(f"{argument}{of}: a dict keyed by parameter name is needed, as {{'sigma': ...}}{fit}.")
    return dict(given)


def _log_ratio(argument: str, name: str, value: Any, unit: float) -> float:
    """Logarithm of a value over its unit, where squares of both stay numbers."""
    if not isinstance(value, Real) or not 0 < float(value) < np.inf:
        raise SpecError(f"{argument}={{{name!r}: {value!r}}}: a positive number is needed.")
    ratio = np.log(float(value)) - np.log(unit)
    if abs(ratio) > FARTHEST:
        raise SpecError(
            f"{argument}={{{name!r}: {value!r}}}: on the scale of these data 1 is {unit:.3g}; a value within a factor "
            f"1e{FARTHEST / np.log(10.0):.0f} of that is needed."
        )
    return float(ratio)


def slope_sds(spreads: Mapping[str, float], given: Given, size: float) -> Array:
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


def linear_means(columns: Sequence[str], given: Given) -> tuple[Array, Array]:
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
    given: Given,
    effects: Sequence[EffectParameters] = (),
    scale_root: Array | None = None,
) -> Parameters:
    """Hyper-parameters with their priors, freedom and starts; unit (k,); effects are those of random effects.

    ``scale_root`` as of `Parameters`.
    """
    fixed, start, k = given.fixed, given.start, len(hypers)
    mean, sd, first = np.empty(k), np.empty(k), np.full(k, np.nan)
    free = np.ones(k, dtype=bool)
    for i, hyper in enumerate(hypers):
        name = hyper.name
        mean[i], sd[i] = default_prior(hyper.role, hyper.n_inputs, of_noise=hyper.of_noise, n_terms=hyper.n_terms)
        if hyper.role == "cor":
            continue
        if hyper.role in _COEFFICIENTS:
            mean[i], sd[i], first[i], free[i] = _read_coefficient(name, unit[i], given, mean[i])
            continue
        prior = (given.priors or {}).get(name)
        if isinstance(prior, LogNormal):
            mean[i], sd[i] = np.log(prior.median / unit[i]), prior.spread
        elif prior is not None:
            raise SpecError(
                f"priors={{{name!r}: ...}}: a hyper-parameter takes tg.LogNormal(median, spread) or None, "
                f"not {prior!r}."
            )
        elif given.drops(name):
            sd[i] = np.inf
        if name in start:
            first[i] = _log_ratio("start", name, start[name], unit[i])
        if name in fixed or hyper.known is not None:
            known = fixed.get(name, hyper.known)
            none = hyper.role in SIDES and isinstance(known, Real) and known == 0
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
        terms.append(term._replace(eta=_read_eta(own, given)))
        sd[at] = np.inf if np.isnan(terms[-1].eta) else sd[at]
    found = Parameters(names, tuple(h.role for h in hypers), unit, mean, sd, free, first, tuple(terms), scale_root)
    at = found.scales
    if scale_root is not None and np.isfinite(first[at]).any():
        first[at] = np.linalg.solve(scale_root, np.where(np.isnan(first[at]), 0.0, first[at] * unit[at]))
    return found


def _read_coefficient(name: str, unit: float, given: Given, mean: float) -> tuple[float, float, float, bool]:
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
        raise SpecError(f"{argument}={{{name!r}: {value!r}}}: a finite number is needed.")
    return float(value)


def _read_correlations(argument: str, names: Sequence[str], given: Mapping[str, Any], q: int) -> Array:
    """Psi of the correlations of a random effect, row after row; all of them or none are given."""
    missing = [name for name in names if name not in given]
    if missing:
        raise SpecError(f"{argument}= has some of the correlations of a term; give {missing[0]!r} too.")
    for name in names:
        if not isinstance(given[name], Real) or not -1 < float(given[name]) < 1:
            raise SpecError(f"{argument}={{{name!r}: {given[name]!r}}}: a number between -1 and 1 is needed.")
    R = np.eye(q)
    rows, columns = np.tril_indices(q, -1)
    R[rows, columns] = R[columns, rows] = [float(given[name]) for name in names]
    if np.linalg.eigvalsh(R)[0] <= 0.0:
        raise SpecError(f"{argument}=: {', '.join(names)} are no correlations together: their matrix is not positive.")
    return psi_of(R)


def _check_start(names: Sequence[str], start: Mapping[str, Any]) -> None:
    """Refuse to start some of the parameters of a random effect, which are led to those of centred columns together."""
    missing = [name for name in names if name not in start]
    if missing:
        raise SpecError(f"start= has some of the parameters of a random effect; give {missing[0]!r} too.")


def _read_eta(names: Sequence[str], given: Given) -> float:
    """Of the prior that the correlations of a random effect have together; NaN where they have none."""
    priors = [given.priors[name] for name in names if name in given.priors] if given.priors else []
    if any(given.drops(name) for name in names):
        return np.nan
    for name, prior in zip(names, priors, strict=False):
        if not isinstance(prior, LKJ):
            raise SpecError(f"priors={{{name!r}: ...}}: a correlation takes tg.LKJ(eta) or None, not {prior!r}.")
        if prior != priors[0]:
            raise SpecError(f"priors=: the correlations of a term have one prior, and {name!r} another.")
    return float(priors[0].eta) if priors else ETA
