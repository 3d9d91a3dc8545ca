"""The families of components a user may name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tobitgp.errors import SpecError
from tobitgp.mixture.exponential import Exponential
from tobitgp.mixture.family import Family
from tobitgp.mixture.gaussian import Gaussian
from tobitgp.mixture.lognormal import LOGNORMAL
from tobitgp.mixture.poisson import Poisson
from tobitgp.mixture.rows import Units
from tobitgp.mixture.weibull import Weibull
from tobitgp.typing import Array

MIXTURE_FAMILIES: dict[str, Family] = {
    family.name: family for family in (Gaussian(), LOGNORMAL, Exponential(), Poisson(), Weibull())
}


def resolve_mixture_family(name: object) -> Family:
    """The family of a name."""
    if isinstance(name, str) and name in MIXTURE_FAMILIES:
        return MIXTURE_FAMILIES[name]
    allowed = ", ".join(map(repr, MIXTURE_FAMILIES))
    raise SpecError(f"family={name!r} is not offered for mixtures; choose one of {allowed}.")


def read_prior(family: Family, prior: Mapping[str, Any] | None, units: Units, typical: float, k: float) -> Array:
    """Hyper-parameters of the components' prior, (P,), on the scale that is modelled."""
    if prior is None:
        return family.default_prior(typical, k)
    names = family.hyperparameters
    if set(prior) != set(names):
        raise SpecError(f"prior={dict(prior)!r}: a {family.name} mixture needs {', '.join(map(repr, names))}.")
    values = np.array([prior[name] for name in names], dtype=np.float64)
    for name, value in zip(names, values, strict=True):
        if not np.isfinite(value) or (name != "mean" and value <= 0.0):
            raise SpecError(f"prior={{{name!r}: {value:g}}}: a positive number is needed.")
    return family.prior_to_working(values, units)
