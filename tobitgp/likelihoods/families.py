"""The noise families a user may name."""

from __future__ import annotations

from dataclasses import dataclass

from tobitgp.likelihoods.base import Likelihood
from tobitgp.likelihoods.gaussian import GaussianNoise


@dataclass(frozen=True, slots=True)
class Family:
    """A row of the registry.

    Attributes
    ----------
    name : str
    likelihood : Likelihood
        Of the response, or of its logarithm.
    log_time : bool
        The response is positive and modelled on the log scale.
    """

    name: str
    likelihood: Likelihood
    log_time: bool = False


FAMILIES: dict[str, Family] = {
    "gaussian": Family("gaussian", GaussianNoise()),
    "lognormal": Family("lognormal", GaussianNoise(), log_time=True),
}
