"""The noise families a user may name."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real

import numpy as np

from tobitgp.distributions.base import Distribution
from tobitgp.distributions.gumbel import Gumbel
from tobitgp.distributions.logistic import Logistic
from tobitgp.distributions.normal import Normal
from tobitgp.distributions.student import Student as StudentNoise
from tobitgp.errors import SpecError
from tobitgp.formula.functions import nearest
from tobitgp.likelihoods.base import Likelihood
from tobitgp.likelihoods.gaussian import GaussianNoise
from tobitgp.likelihoods.noise import Noise
from tobitgp.typing import Array

# Names in R's survreg, lifelines and brms, in small letters.
_ELSEWHERE = {
    "normal": "gaussian",
    "tobit": "gaussian",
    "t": "student",
    "student_t": "student",
    "extreme": "gumbel",
    "loggaussian": "lognormal",
}


@dataclass(frozen=True, slots=True)
class Family:
    """A row of the registry."""

    name: str
    law: Distribution  # of the noise of the response, or of its logarithm
    log_time: bool = False  # the response is positive and modelled on the log scale
    known_sigma: float | None = None  # noise scale where the family fixes it; None where it is estimated
    estimate_df: bool = False  # the degrees of freedom of the law are estimated

    def law_at(self, theta: Array) -> Distribution:
        """The law at a process model's parameters, which end with log df, where it is estimated, and log sigma."""
        return self.law.with_shape(float(np.exp(theta[-2]))) if self.estimate_df else self.law

    @property
    def likelihood(self) -> Likelihood:
        """The likelihood under a Gaussian process."""
        return GaussianNoise() if self.law.gaussian else Noise(self.law, self.estimate_df)


FEWEST_DF, MOST_DF = 0.2, 1e10


@dataclass(frozen=True, slots=True)
class Student:
    """Noise with Student's t law of known degrees of freedom, given as ``family=tg.Student(df=4)``.

    ``family="student"`` estimates them. Its density is in the table of (REG1) of the theory pages.

    Parameters
    ----------
    df : float
        Degrees of freedom, from 0.2 to 1e10.

    Raises
    ------
    SpecError
        If ``df`` is no such number.

    Examples
    --------
    >>> Student(df=4)
    Student(df=4)
    """

    df: float

    def __post_init__(self) -> None:
        number = isinstance(self.df, Real) and not isinstance(self.df, bool | np.bool_)
        if not number or not FEWEST_DF <= float(self.df) <= MOST_DF:
            remedy = "; the limit of many is family='gaussian'" if number and self.df > MOST_DF else ""
            allowed = f"a number from {FEWEST_DF:g} to {MOST_DF:g}"
            raise SpecError(f"Student(df={self.df!r}): the degrees of freedom are {allowed}{remedy}.")


FAMILIES: dict[str, Family] = {
    row.name: row
    for row in (
        Family("gaussian", Normal()),
        Family("student", StudentNoise(), estimate_df=True),
        Family("logistic", Logistic()),
        Family("gumbel", Gumbel()),
        Family("lognormal", Normal(), log_time=True),
        Family("loglogistic", Logistic(), log_time=True),
        Family("weibull", Gumbel(), log_time=True),
        Family("exponential", Gumbel(), log_time=True, known_sigma=1.0),
    )
}


def resolve_family(family: object) -> Family:
    """The family that a name, or a value such as ``Student(df=4)``, stands for."""
    if isinstance(family, Student):
        return Family("student", StudentNoise(float(family.df)))
    if isinstance(family, str) and family in FAMILIES:
        return FAMILIES[family]
    allowed = f"choose one of {', '.join(map(repr, FAMILIES))}, or Student(df=4) where the degrees of freedom are known"
    close = ""
    if isinstance(family, str):
        small = family.lower()
        close = f"; it is called {_ELSEWHERE[small]!r} here" if small in _ELSEWHERE else nearest(small, FAMILIES)
    raise SpecError(f"family={family!r} is not offered{close.rstrip('?')}; {allowed}.")
