"""The evidence lower bound and the log likelihood over the same passes, (MIX5) and (EM1) of the theory pages."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np
from scipy.linalg import block_diag, null_space

from tobitgp.mixture.family import ComponentDistribution, MixtureFamily, Sums, blocks
from tobitgp.mixture.mixture_priors import ComponentPrior, Weights
from tobitgp.mixture.mixture_rows import Floor, MixtureUnits, least
from tobitgp.typing import Array, BoolArray, IntArray

_NOTHING = 1e-12
_ROUNDS = 10  # of components and of what is learnt, where an ascent begins


class MixtureState(NamedTuple):
    """Where an ascent stands."""

    weights: Array  # (M,), posterior of the weights (see `tobitgp.mixture.mixture_priors`), or the weights themselves
    components: Array  # (P, K), posteriors of the components, or their point parameters
    scales: Array = np.zeros(0)  # (H,), rates of the posteriors of what `ComponentPrior` learns

    def flat(self) -> Array:
        """All coordinates, (M + P K + H,)."""
        return np.concatenate([self.weights, self.components.ravel(), self.scales])

    def moved(self, x: Array) -> MixtureState:
        """The state with coordinates x, (M + P K + H,)."""
        weights, components, scales = np.split(x, np.cumsum([len(self.weights), self.components.size]))
        return MixtureState(weights, components.reshape(self.components.shape), scales)

    def ordered(self, weights: Array, order: IntArray) -> MixtureState:
        """The state with other weights, and the components in this order."""
        return self._replace(weights=weights, components=self.components[:, order])


class View(NamedTuple):
    """A state as a pass needs it: plug-in parameters (D, K), log weights (K,), and what the sum over rows loses."""

    theta: Array
    log_weight: Array
    penalty: float


@dataclass(frozen=True, slots=True)
class Bayes:
    """The evidence lower bound of a mixture, right after the latent variables were updated."""

    family: MixtureFamily
    prior: ComponentPrior
    weights: Weights  # prior of the weights
    k: int  # number of components

    @property
    def adapts(self) -> bool:
        """Whether scales of the prior are learnt."""
        return self.prior.adapts

    @property
    def known_rows(self) -> float:
        """As many rows as the prior of the weights is worth at least."""
        return self.weights.known_rows(self.k)

    def view(self, state: MixtureState) -> View:
        """The state as a pass needs it; eqs. 25, 32 and 41 of Kohjima et al. (2019)."""
        theta, offset = self.family.plug_in(state.components)
        penalty = self.weights.divergence(state.weights) + self.prior.divergence(state.scales, self.k)
        penalty += float(self.family.divergence(state.components, self.prior_at(state)).sum())
        return View(theta, self.weights.expected_log(state.weights) + offset, penalty)

    def first(self, theta: Array, sums: Sums) -> MixtureState:
        """A state from sums about theta."""
        state = MixtureState(self.weights.start(self.k), np.zeros(0), self.prior.start(self.k))
        for _ in range(_ROUNDS if self.prior.adapts else 1):
            state = self._next(state, theta, sums)
            state = state._replace(scales=self._scales(state))
        return state._replace(weights=self.weights.posterior(state.weights, sums.counts))

    def improve(self, state: MixtureState, sums: Sums, *, cautious: bool = False) -> MixtureState:
        """The next state, what is learnt first; where cautious, never of a lower objective."""
        theta, _ = self.family.plug_in(state.components)
        state = self._next(state._replace(scales=self._scales(state)), theta, sums, cautious=cautious)
        return state._replace(weights=self.weights.posterior(state.weights, sums.counts))

    def prior_at(self, state: MixtureState) -> Array:
        """Hyper-parameters (P,) of the components' prior, those learnt at their expectations."""
        return self.prior.at(state.scales, self.k)

    def _scales(self, state: MixtureState) -> Array:
        return self.prior.posterior_rate(self.family.scaled_by(state.components, self.prior))

    def _next(self, state: MixtureState, theta: Array, sums: Sums, *, cautious: bool = False) -> MixtureState:
        components = self.family.posterior(self.prior_at(state), theta, sums, cautious=cautious)
        return state._replace(components=components)

    def between(self, old: MixtureState, new: MixtureState, step: float) -> MixtureState | None:
        """The state at a step from old to new (1), straight in natural parameters; None where there is none."""
        weights = (1.0 - step) * old.weights + step * new.weights
        scales = (1.0 - step) * old.scales + step * new.scales
        components = self.family.between(old.components, new.components, step)
        inside = components is not None and (weights > 0.0).all() and (scales > 0.0).all()
        return MixtureState(weights, components, scales) if components is not None and inside else None

    def positive(self, state: MixtureState) -> BoolArray:
        """Which coordinates of a state, flat, have no other bound than 0."""
        of_components = np.repeat(self.family.positive, self.k)
        around = (np.ones(len(each), dtype=np.bool_) for each in (state.weights, state.scales))
        return np.concatenate([next(around), of_components, next(around)])

    def admit(self, state: MixtureState) -> MixtureState | None:
        """The state, weights made to sum to 1; None where it lies outside."""
        inside = self.family.possible(self.family.plug_in(state.components)[0], np.finfo(np.float64).tiny)
        return state if inside and (state.weights > 0.0).all() and (state.scales > 0.0).all() else None

    def sizes(self, state: MixtureState, counts: Array) -> Array:
        """Rough standard deviations of the coordinates, flat; ``counts`` (K,) are expected rows."""
        information = np.diag(self.information(state))
        return np.asarray(1.0 / np.sqrt(np.where(information > 0.0, information, 1.0)))

    def information(self, state: MixtureState) -> Array:
        """Fisher's information of the posterior, in flat coordinates."""
        of_components = blocks(self.family.information(state.components))
        of_scales = np.diag(self.prior.information(state.scales, self.k))
        return block_diag(self.weights.information(state.weights), of_components, of_scales)

    def free(self, state: MixtureState) -> BoolArray:
        """Which coordinates, flat, are estimated: not the weight of a single component, nor estimates at a bound."""
        free = np.ones(len(state.flat()), dtype=np.bool_)
        m = len(state.weights)
        free[:m] = self.weights.free(state.weights)
        free[m : m + state.components.size] = ~self.family.held_posterior(state.components).ravel()
        return free

    def directions(self, state: MixtureState, unit: Array) -> Array:
        """Orthonormal directions (coordinates, r) in which a state may move, coordinates in steps of ``unit``."""
        return np.eye(len(unit))[:, self.free(state)]

    def gradient(self, state: MixtureState, sums: Sums) -> Array:
        """Derivative of the objective in the coordinates of the state, flat."""
        way = self.weights.target(state.weights, sums.counts) - state.weights
        of_weights = self.weights.information(state.weights) @ way
        of_components = self.family.gradient(state.components, self.prior_at(state), sums)
        of_scales = self.prior.information(state.scales, self.k) * (self._scales(state) - state.scales)
        return np.concatenate([of_weights, of_components.ravel(), of_scales])

    def estimated_weights(self, state: MixtureState) -> tuple[Array, Array]:
        """Expected weights (K,) and their derivatives in the state's weights, (K, M)."""
        return self.weights.mean(state.weights)

    def estimates(self, state: MixtureState, units: MixtureUnits) -> tuple[Array, Array]:
        """The user's parameters (R, K), and their derivatives in the state's components, (R, P, K)."""
        return self.family.estimates(state.components, units)

    def distribution(self, state: MixtureState, units: MixtureUnits) -> ComponentDistribution:
        """Distribution of a new value under each component; parameters are integrated out.

        Where scales are learnt, components that hold next to nothing have the tails of two events.
        """
        q = self.family.with_mean(state.components) if self.prior.adapts else state.components
        return self.family.predictive(q, units)


@dataclass(frozen=True, slots=True)
class Points:
    """The log likelihood of a mixture at point estimates (EMCM); (EM1) to (EM3) and (EM8) of the theory pages."""

    family: MixtureFamily
    k: int
    floor: Floor  # smallest spreads on the scale that is modelled; of a finished fit those of its components, (K,)
    adapts: ClassVar[bool] = False
    known_rows: ClassVar[float] = 0.0

    def view(self, state: MixtureState) -> View:
        with np.errstate(divide="ignore"):
            return View(state.components, np.log(state.weights), 0.0)

    def first(self, theta: Array, sums: Sums, *, cautious: bool = False) -> MixtureState:
        components = self.family.maximum(theta, sums, self.floor, cautious=cautious)
        return MixtureState(sums.counts / sums.counts.sum(), components)

    def improve(self, state: MixtureState, sums: Sums, *, cautious: bool = False) -> MixtureState:
        return self.first(state.components, sums, cautious=cautious)

    def between(self, old: MixtureState, new: MixtureState, step: float) -> MixtureState | None:
        weights = (1.0 - step) * old.weights + step * new.weights
        return self.admit(MixtureState(weights, (1.0 - step) * old.components + step * new.components))

    def positive(self, state: MixtureState) -> BoolArray:
        return np.arange(self.k + state.components.size) < self.k

    def admit(self, state: MixtureState) -> MixtureState | None:
        possible = self.family.possible(state.components, self.floor) and bool((state.weights >= 0.0).all())
        # long steps blow up a rounding error of the sum, and the likelihood likes it
        return MixtureState(state.weights / state.weights.sum(), state.components) if possible else None

    def sizes(self, state: MixtureState, counts: Array) -> Array:
        """Sizes of as many exact rows."""
        of_components = self.family.sizes(state.components) / np.sqrt(np.maximum(counts, 1.0))
        of_weights = np.sqrt(np.maximum(state.weights * (1.0 - state.weights), _NOTHING) / counts.sum())
        return np.concatenate([of_weights, of_components.ravel()])

    def free(self, state: MixtureState) -> BoolArray:
        held = self.family.held(state.components, self.floor).ravel()
        return np.concatenate([(state.weights > _NOTHING) & (self.k > 1), ~held])

    def directions(self, state: MixtureState, unit: Array) -> Array:
        """Weights keep their sum."""
        free = self.free(state)
        basis = np.eye(len(unit))[:, free]
        weights = free[: self.k]
        if not weights.any():
            return basis
        keep_sum = null_space(unit[None, : self.k][:, weights])
        return np.asarray(basis @ block_diag(keep_sum, np.eye(int(free[self.k :].sum()))))

    def gradient(self, state: MixtureState, sums: Sums) -> Array:
        """Gradient in the weights along the direction that keeps their sum."""
        with np.errstate(divide="ignore", invalid="ignore"):
            of_weights = np.where(state.weights > 0.0, sums.counts / state.weights, 0.0) - sums.counts.sum()
        return np.concatenate([of_weights, self.family.score(state.components, sums).ravel()])

    def settled(self, state: MixtureState) -> Points:
        """With the floors of a state alone, which is what a finished fit needs of them."""
        return replace(self, floor=np.array(least(self.floor, state.components[0])))

    def estimated_weights(self, state: MixtureState) -> tuple[Array, Array]:
        return state.weights, np.eye(self.k)

    def estimates(self, state: MixtureState, units: MixtureUnits) -> tuple[Array, Array]:
        return self.family.point_estimates(state.components, units)

    def distribution(self, state: MixtureState, units: MixtureUnits) -> ComponentDistribution:
        return self.family.distribution(state.components, units)


PosteriorModel = Bayes | Points
