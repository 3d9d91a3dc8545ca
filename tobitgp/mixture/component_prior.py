r"""The prior of the components: hyper-parameters that are given, or whose scale is learnt from all components.

By default the rate b of the gamma prior of a precision or rate, and the number tau of rows that the prior of a mean is
worth, are unknown numbers :math:`\eta \sim \mathrm{Gamma}(g, h)`, the same for all components. The density of a
component is proportional to :math:`\eta^{c} e^{-\eta s_k}`, so that :math:`q(\eta)` is gamma too: (MIX18) to (MIX21) of
the theory pages.

References
----------
Richardson and Green (1997), On Bayesian analysis of mixtures with an unknown number of components, *Journal of the
Royal Statistical Society B* 59, 731-792, whose precisions have a common gamma prior of unknown rate.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from scipy.special import digamma

from tobitgp.mixture.family import gamma_divergence
from tobitgp.typing import Array, IntArray

SHAPE, RATE = 0.2, 0.2  # of the gamma priors of what is learnt, where the rows have a typical size of 1
START = 0.1  # what is learnt, before anything is


def _none() -> Array:
    return np.zeros(0)


@dataclass(frozen=True, slots=True)
class ComponentPrior:
    """Hyper-parameters of every component, H of which are learnt, on the scale that is modelled."""

    values: Array  # (P,); where they are learnt, what an ascent begins with
    learnt: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))  # (H,), which of them
    power: Array = field(default_factory=_none)  # (H,), c above
    shape: Array = field(default_factory=_none)  # (H,), of their gamma priors
    rate: Array = field(default_factory=_none)  # (H,)

    shapes: ClassVar = {"*": "values", "learnt": "power shape rate"}

    @property
    def adapts(self) -> bool:
        """Whether anything is learnt."""
        return len(self.learnt) > 0

    def posterior_shape(self, k: int) -> Array:
        """Shapes (H,) of the posteriors of what k components learn."""
        return self.shape + k * self.power

    def start(self, k: int) -> Array:
        """Rates (H,) of posteriors whose expectations are ``values``."""
        return np.asarray(self.posterior_shape(k) / self.values[self.learnt])

    def posterior_rate(self, held: Array) -> Array:
        """Rates (H,) of the posteriors, from the expectations s (H, K) of `Family.scaled_by`."""
        return np.asarray(self.rate + held.sum(axis=1))

    def at(self, rates: Array, k: int) -> Array:
        """Hyper-parameters (P,), those learnt at their expectations."""
        values = self.values.copy()
        values[self.learnt] = self.posterior_shape(k) / rates
        return values

    def divergence(self, rates: Array, k: int) -> float:
        """KL of what is learnt, and what the divergences of k components at its expectation lack."""
        a = self.posterior_shape(k)
        lack = k * self.power * (np.log(a) - digamma(a))
        return float((gamma_divergence(a, rates, self.shape, self.rate) + lack).sum())

    def information(self, rates: Array, k: int) -> Array:
        """Fisher's information of the posteriors' rates, (H,)."""
        return np.asarray(self.posterior_shape(k) / rates**2)


def learning(values: Array, learnt: tuple[int, ...], power: tuple[float, ...], size: Array) -> ComponentPrior:
    """The default prior: what is learnt is gamma(0.2, 0.2 size), of a mean near 1 / size, (H,)."""
    at = np.array(learnt, dtype=np.int64)
    values = values.copy()
    values[at] = START / size
    return ComponentPrior(values, at, np.array(power), np.full(len(at), SHAPE), RATE * size)
