"""The two objectives over the same passes: the evidence lower bound, and the log likelihood.

(MIX5) and (EM1) of the theory pages.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg import block_diag, null_space

from tobitgp.mixture.family import ComponentDistribution, Family, Sums
from tobitgp.mixture.rows import Units
from tobitgp.mixture.weights import Weights
from tobitgp.typing import Array, BoolArray, IntArray

_NOTHING = 1e-12


class State(NamedTuple):
    """Where an ascent stands."""

    weights: Array  # (M,), posterior of the weights (see `tobitgp.mixture.weights`), or the weights themselves
    components: Array  # (P, K), posteriors of the components, or their point parameters

    def flat(self) -> Array:
        """All coordinates, (M + P K,)."""
        return np.concatenate([self.weights, self.components.ravel()])

    def moved(self, x: Array) -> State:
        """The state with coordinates x, (M + P K,)."""
        m = len(self.weights)
        return State(x[:m], x[m:].reshape(self.components.shape))


class View(NamedTuple):
    """A state as a pass needs it: plug-in parameters (D, K), log weights (K,), and what the sum over rows loses."""

    theta: Array
    log_weight: Array
    penalty: float


@dataclass(frozen=True, slots=True)
class Bayes:
    """The evidence lower bound of a mixture, right after the latent variables were updated."""

    family: Family
    prior: Array  # (P,), of every component, on the scale that is modelled
    weights: Weights  # prior of the weights
    k: int  # number of components

    def view(self, state: State) -> View:
        """The state as a pass needs it; eqs. 25, 32 and 41 of Kohjima et al. (2019)."""
        theta, offset = self.family.plug_in(state.components)
        penalty = self.weights.divergence(state.weights)
        penalty += float(self.family.divergence(state.components, self.prior).sum())
        return View(theta, self.weights.expected_log(state.weights) + offset, penalty)

    def first(self, theta: Array, sums: Sums) -> State:
        """A state from sums about theta."""
        weights = self.weights.posterior(self.weights.start(self.k), sums.counts)
        return State(weights, self.family.posterior(self.prior, theta, sums))

    def improve(self, state: State, sums: Sums) -> State:
        """The next state."""
        theta, _ = self.family.plug_in(state.components)
        components = self.family.posterior(self.prior, theta, sums)
        return State(self.weights.posterior(state.weights, sums.counts), components)

    def cautious(self, state: State, sums: Sums) -> State:
        """The next state, by steps that cannot lower the objective."""
        theta, _ = self.family.plug_in(state.components)
        components = self.family.cautious(self.prior, theta, sums)
        return State(self.weights.posterior(state.weights, sums.counts), components)

    def between(self, old: State, new: State, step: float) -> State | None:
        """The state at a step from old to new (1), straight in natural parameters; None where there is none."""
        weights = (1.0 - step) * old.weights + step * new.weights
        components = self.family.between(old.components, new.components, step)
        return State(weights, components) if components is not None and (weights > 0.0).all() else None

    def positive(self, state: State) -> BoolArray:
        """Which coordinates of a state, flat, have no other bound than 0."""
        return np.concatenate([np.ones(len(state.weights), dtype=np.bool_), np.repeat(self.family.positive, self.k)])

    def admit(self, state: State) -> State | None:
        """The state, weights made to sum to 1; None where it lies outside."""
        inside = self.family.possible(self.family.plug_in(state.components)[0], np.finfo(np.float64).tiny)
        return state if inside and (state.weights > 0.0).all() else None

    def sizes(self, state: State, counts: Array) -> Array:
        """Rough standard deviations of the coordinates, flat; ``counts`` (K,) are expected rows."""
        information = np.diag(self.information(state))
        return np.asarray(1.0 / np.sqrt(np.where(information > _NOTHING, information, 1.0)))

    def information(self, state: State) -> Array:
        """Fisher's information of the posterior, in flat coordinates."""
        of_components = np.einsum("pqk,kj->pkqj", self.family.information(state.components), np.eye(self.k))
        return block_diag(self.weights.information(state.weights), of_components.reshape(2 * (state.components.size,)))

    def free(self, state: State) -> BoolArray:
        """Which coordinates, flat, are estimated: not the weight of a single component, nor what stands at a bound."""
        free = np.ones(len(state.flat()), dtype=np.bool_)
        free[: len(state.weights)] = self.weights.free(state.weights)
        return free

    def directions(self, state: State, unit: Array) -> Array:
        """Orthonormal directions (coordinates, r) in which a state may move, coordinates in steps of ``unit``."""
        return np.eye(len(unit))[:, self.free(state)]

    def gradient(self, state: State, sums: Sums) -> Array:
        """Derivative of the objective in the coordinates of the state, flat."""
        weights = self.weights.gradient(state.weights, sums.counts)
        return np.concatenate([weights, self.family.gradient(state.components, self.prior, sums).ravel()])

    def estimated_weights(self, state: State) -> tuple[Array, Array]:
        """Expected weights (K,) and their derivatives in the state's weights, (K, M)."""
        return self.weights.mean(state.weights)

    def estimates(self, state: State, units: Units) -> tuple[Array, Array]:
        """The user's parameters (R, K), and their derivatives in the state's components, (R, P, K)."""
        return self.family.estimates(state.components, units)

    def distribution(self, state: State, units: Units) -> ComponentDistribution:
        """Distribution of a new value under each component; parameters are integrated out."""
        return self.family.predictive(state.components, units)

    def permute(self, state: State, order: IntArray) -> State | None:
        """The state with its components in another order; None where the order is part of the model."""
        weights = self.weights.permute(state.weights, order)
        return None if weights is None else State(weights, state.components[:, order])


@dataclass(frozen=True, slots=True)
class Points:
    """The log likelihood of a mixture at point estimates (EMCM); (EM1) to (EM3) of the theory pages."""

    family: Family
    k: int
    floor: float  # smallest variance of a Gaussian component, where the variance of the rows is 1

    def view(self, state: State) -> View:
        with np.errstate(divide="ignore"):
            return View(state.components, np.log(state.weights), 0.0)

    def first(self, theta: Array, sums: Sums) -> State:
        return State(sums.counts / sums.counts.sum(), self.family.maximum(theta, sums, self.floor))

    def improve(self, state: State, sums: Sums) -> State:
        return self.first(state.components, sums)

    def cautious(self, state: State, sums: Sums) -> State:
        components = self.family.maximum(state.components, sums, self.floor, cautious=True)
        return State(sums.counts / sums.counts.sum(), components)

    def between(self, old: State, new: State, step: float) -> State | None:
        weights = (1.0 - step) * old.weights + step * new.weights
        return self.admit(State(weights, (1.0 - step) * old.components + step * new.components))

    def positive(self, state: State) -> BoolArray:
        return np.arange(self.k + state.components.size) < self.k

    def admit(self, state: State) -> State | None:
        possible = self.family.possible(state.components, self.floor) and bool((state.weights >= 0.0).all())
        # long steps blow up a rounding error of the sum, and the likelihood likes it
        return State(state.weights / state.weights.sum(), state.components) if possible else None

    def sizes(self, state: State, counts: Array) -> Array:
        """Of as many exact rows."""
        of_components = self.family.sizes(state.components) / np.sqrt(np.maximum(counts, 1.0))
        of_weights = np.sqrt(np.maximum(state.weights * (1.0 - state.weights), _NOTHING) / counts.sum())
        return np.concatenate([of_weights, of_components.ravel()])

    def free(self, state: State) -> BoolArray:
        held = self.family.held(state.components, self.floor).ravel()
        return np.concatenate([(state.weights > _NOTHING) & (self.k > 1), ~held])

    def directions(self, state: State, unit: Array) -> Array:
        """Weights keep their sum."""
        free = self.free(state)
        basis = np.eye(len(unit))[:, free]
        weights = free[: self.k]
        if not weights.any():
            return basis
        keep_sum = null_space(unit[None, : self.k][:, weights])
        return np.asarray(basis @ block_diag(keep_sum, np.eye(int(free[self.k :].sum()))))

    def gradient(self, state: State, sums: Sums) -> Array:
        """Of the weights in the direction that keeps their sum."""
        with np.errstate(divide="ignore", invalid="ignore"):
            of_weights = np.where(state.weights > 0.0, sums.counts / state.weights, 0.0) - sums.counts.sum()
        return np.concatenate([of_weights, self.family.score(state.components, sums).ravel()])

    def estimated_weights(self, state: State) -> tuple[Array, Array]:
        """The weights (K,) and their derivatives in the state's weights, (K, K)."""
        return state.weights, np.eye(self.k)

    def estimates(self, state: State, units: Units) -> tuple[Array, Array]:
        return self.family.point_estimates(state.components, units)

    def distribution(self, state: State, units: Units) -> ComponentDistribution:
        return self.family.distribution(state.components, units)

    def permute(self, state: State, order: IntArray) -> State | None:
        """The state with its components in another order."""
        return State(state.weights[order], state.components[:, order])


Model = Bayes | Points
