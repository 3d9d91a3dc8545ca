"""What a user gave by the names of parameters: known values, starts, priors."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal

import numpy as np

from tobitgp.errors import DataError, SpecError
from tobitgp.inference.parameters import SIGMA, HyperParameter, Parameters, default_prior
from tobitgp.likelihoods import Family
from tobitgp.likelihoods.censoring_noise import SIDES
from tobitgp.priors.hyperpriors import LogNormal, Normal
from tobitgp.typing import Array

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
        priors: Mapping[str, LogNormal | Normal | float | None] | None = None,
        side_noises: Literal["shared", "row"] | None = None,
    ) -> Given:
        """Copies of what was given."""
        return cls(
            inducing,
            read_mapping("fixed", fixed) or {},
            read_mapping("start", start) or {},
            read_mapping("priors", priors),
            side_noises,
        )

    def check(self, columns: Sequence[str], names: Sequence[str], family: Family) -> None:
        """Refuse names that are no parameters, and values that go with none."""
        _check_columns(columns, names)
        known = [*columns, *names]
        for argument, given in (("fixed", self.fixed), ("start", self.start), ("priors", self.priors or {})):
            check_names(argument, given, known)
        _check_start(self.start, columns)
        _check_sigma(family, self.fixed, self.start, self.priors or {})

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
        raise SpecError(f"{argument}={given!r}: a dict keyed by parameter name is needed, as {{'sigma': ...}}.")
    return dict(given)


def _check_columns(columns: Sequence[str], names: Sequence[str]) -> None:
    """Refuse linear columns that cannot be told from one another or from a hyper-parameter."""
    for i, column in enumerate(columns):
        if column in names or column in columns[:i]:
            what = "a hyper-parameter" if column in names else "another linear column"
            raise DataError(f"The linear column {column!r} has the name of {what}; rename the column.")


def _check_start(start: Mapping[str, float], columns: Sequence[str]) -> None:
    linear = [c for c in columns if c in start]
    if linear:
        raise SpecError(
            f"start= is for hyper-parameters, and {linear[0]!r} is a linear coefficient, which is solved for. "
            "Use fixed= or priors=."
        )


def _check_sigma(family: Family, *given: Mapping[str, Any]) -> None:
    if family.known_sigma is not None and any(SIGMA.name in mapping for mapping in given):
        raise SpecError(f"family={family.name!r} has sigma = {family.known_sigma:g}; leave sigma out.")


def _positive(argument: str, name: str, value: Any) -> float:
    if not isinstance(value, Real) or not 0 < float(value) < np.inf:
        raise SpecError(f"{argument}={{{name!r}: {value!r}}}: a positive number is needed.")
    return float(value)


def _log_ratio(argument: str, name: str, value: Any, unit: float) -> float:
    """Logarithm of a value over its unit, where squares of both stay numbers."""
    ratio = np.log(_positive(argument, name, value)) - np.log(unit)
    if abs(ratio) > FARTHEST:
        raise SpecError(
            f"{argument}={{{name!r}: {value!r}}}: on the scale of these data 1 is {unit:.3g}; a value within a factor "
            f"1e{FARTHEST / np.log(10.0):.0f} of that is needed."
        )
    return float(ratio)


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
            if not isinstance(fixed[name], Real) or not np.isfinite(fixed[name]):
                raise SpecError(f"fixed={{{name!r}: {fixed[name]!r}}}: a finite number is needed.")
            mean[j], sd[j] = float(fixed[name]), 0.0
    return mean, sd


def read_parameters(hypers: Sequence[HyperParameter], unit: Array, given: Given) -> Parameters:
    """Hyper-parameters with their priors, freedom and starts.

    Shapes: unit (k,).
    """
    fixed, start, k = given.fixed, given.start, len(hypers)
    mean, sd, first = np.empty(k), np.empty(k), np.full(k, np.nan)
    free = np.ones(k, dtype=bool)
    for i, hyper in enumerate(hypers):
        name = hyper.name
        mean[i], sd[i] = default_prior(hyper.role, hyper.n_inputs)
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
    return Parameters(tuple(h.name for h in hypers), tuple(h.role for h in hypers), unit, mean, sd, free, first)
