r"""The evidence lower bound and the log likelihood over the same passes, (MIX5) and (EM1) of the theory pages; weights.

A posterior of weights is a flat array w. Dirichlet: its K parameters. Process: of the K - 1 sticks
:math:`v_j \sim \mathrm{Beta}(g_{1j}, g_{2j})`, first all g1, then all g2, and at the end the rate of the gamma
posterior of the concentration. The last stick is 1. (MIX6), (DP2) to (DP6) of the theory pages.

References
----------
Blei and Jordan (2006), Variational inference for Dirichlet process mixtures, *Bayesian Analysis* 1, 121-143, section 3
and appendix A.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np
from scipy.linalg import block_diag, null_space
from scipy.special import betaln, digamma, gammaln, polygamma

from tobitgp.errors import SpecError
from tobitgp.mixture.component_prior import ComponentPrior
from tobitgp.mixture.family import ComponentDistribution, Family, Sums, blocks, gamma_divergence
from tobitgp.mixture.floors import Floor, least
from tobitgp.mixture.mixture_rows import Units
from tobitgp.typing import Array, BoolArray, IntArray


@dataclass(frozen=True, slots=True)
class Dirichlet:
    """Symmetric Dirichlet prior."""

    concentration: float = 1.0  # 1 is uniform and empties no component

    def __post_init__(self) -> None:
        _check_positive("Dirichlet", "concentration", self.concentration)

    def start(self, k: int) -> Array:
        """The posterior without rows."""
        return np.full(k, float(self.concentration))

    def posterior(self, w: Array, count: Array) -> Array:
        """New posterior from expected counts (K,)."""
        return self.concentration + count

    def expected_log(self, w: Array) -> Array:
        """Expectations of the log weights, (K,)."""
        return np.asarray(digamma(w) - digamma(w.sum()))

    def divergence(self, w: Array) -> float:
        """Kullback-Leibler divergence from posterior to prior."""
        k, c, total = len(w), self.concentration, w.sum()
        value = gammaln(total) - gammaln(w).sum() - gammaln(k * c) + k * gammaln(c)
        return float(value + (w - c) @ (digamma(w) - digamma(total)))

    def mean(self, w: Array) -> tuple[Array, Array]:
        """Expected weights (K,) and their derivatives in w, (K, M)."""
        mean = w / w.sum()
        return mean, (np.eye(len(w)) - mean[:, None]) / w.sum()

    def target(self, w: Array, count: Array) -> Array:
        """Where the natural gradient of the bound leads from w, (M,)."""
        return self.posterior(w, count)

    def information(self, w: Array) -> Array:
        """Fisher's information of the posterior, (M, M)."""
        return np.asarray(np.diag(polygamma(1, w)) - polygamma(1, w.sum()))

    def known_rows(self, k: int) -> float:
        """As many rows as the prior is worth at least."""
        return k * self.concentration

    def free(self, w: Array) -> BoolArray:
        """Which coordinates of a posterior are estimated, (M,)."""
        return np.full(len(w), len(w) > 1)


@dataclass(frozen=True, slots=True)
class DirichletProcess:
    """Truncated Dirichlet process whose concentration is learned, from a gamma prior of it, or known."""

    shape: float = 1.0  # of the gamma prior of the concentration
    rate: float = 1.0  # of the gamma prior of the concentration
    concentration: float | None = None  # its value where it is known

    def __post_init__(self) -> None:
        for name in ("shape", "rate", "concentration"):
            if (value := getattr(self, name)) is not None:
                _check_positive("DirichletProcess", name, value)

    def start(self, k: int) -> Array:
        rate = (self.shape + k - 1.0) / (self.concentration or self.shape / self.rate)
        return np.concatenate([np.ones(k - 1), np.full(k - 1, self._known(rate, k)[0]), [rate]])

    def posterior(self, w: Array, count: Array) -> Array:
        """The concentration after the sticks."""
        w = self.target(w, count)
        w[-1] = self._best_rate(w)
        return w

    def target(self, w: Array, count: Array) -> Array:
        beyond = np.cumsum(count[::-1])[::-1]
        concentration = self._known(w[-1], len(count))[0]
        return np.concatenate([1.0 + count[:-1], concentration + beyond[1:], [self._best_rate(w)]])

    def expected_log(self, w: Array) -> Array:
        log_v, log_rest = _stick_logs(w)
        before = np.concatenate([[0.0], np.cumsum(log_rest)])
        return before + np.append(log_v, 0.0)

    def divergence(self, w: Array) -> float:
        g1, g2 = _sticks(w)
        log_v, log_rest = _stick_logs(w)
        c, log_c = self._known(w[-1], len(g1) + 1)
        value = ((g1 - 1.0) * log_v + (g2 - c) * log_rest - betaln(g1, g2) - log_c).sum()
        if self.concentration is None:
            shape = np.asarray(self.shape + len(g1))
            value += gamma_divergence(shape, np.asarray(w[-1]), self.shape, self.rate)
        return float(value)

    def mean(self, w: Array) -> tuple[Array, Array]:
        g1, g2 = _sticks(w)
        m = len(g1)
        v, rest = np.append(g1 / (g1 + g2), 1.0), g2 / (g1 + g2)
        before = np.concatenate([[1.0], np.cumprod(rest)])
        mean = v * before
        later = np.tri(m + 1, m, -1) * -mean[:, None] / rest
        of_v = (np.eye(m + 1, m) * before[:m] + later) / (g1 + g2)
        slopes = np.hstack([of_v * rest, -of_v * v[:m], np.zeros((m + 1, 1))])
        return mean, slopes

    def information(self, w: Array) -> Array:
        g1, g2 = _sticks(w)
        both = np.diag(polygamma(1, g1 + g2))
        out = np.diag(np.append(polygamma(1, w[:-1]), (self.shape + len(g1)) / w[-1] ** 2))
        out[:-1, :-1] -= np.block([[both, both], [both, both]])
        return np.asarray(out)

    def known_rows(self, k: int) -> float:
        return 1.0

    def free(self, w: Array) -> BoolArray:
        free = np.full(len(w), len(w) > 1)
        free[-1] &= self.concentration is None
        return free

    def _known(self, rate: float, k: int) -> tuple[float, float]:
        """Expectations of the concentration and of its logarithm."""
        if self.concentration is not None:
            return self.concentration, float(np.log(self.concentration))
        shape = self.shape + k - 1.0
        return shape / rate, float(digamma(shape) - np.log(rate))

    def _best_rate(self, w: Array) -> float:
        return float(w[-1] if self.concentration is not None else self.rate - _stick_logs(w)[1].sum())


Weights = Dirichlet | DirichletProcess


def _sticks(w: Array) -> tuple[Array, Array]:
    m = len(w) // 2
    return w[:m], w[m : 2 * m]


def _stick_logs(w: Array) -> tuple[Array, Array]:
    """Expectations of log v and log(1 - v), (K - 1,)."""
    g1, g2 = _sticks(w)
    both = digamma(g1 + g2)
    return digamma(g1) - both, digamma(g2) - both


def _check_positive(name: str, field: str, value: float) -> None:
    if isinstance(value, bool) or not np.isfinite(value) or not value > 0:
        raise SpecError(f"{name}({field}={value!r}): a positive number is needed.")


_NOTHING = 1e-12
_ROUNDS = 10  # of components and of what is learnt, where an ascent begins


class State(NamedTuple):
    """Where an ascent stands."""

    weights: Array  # (M,), posterior of the weights (see `tobitgp.mixture.evidence_bound`), or the weights themselves
    components: Array  # (P, K), posteriors of the components, or their point parameters
    scales: Array = np.zeros(0)  # (H,), rates of the posteriors of what `ComponentPrior` learns

    def flat(self) -> Array:
        """All coordinates, (M + P K + H,)."""
        return np.concatenate([self.weights, self.components.ravel(), self.scales])

    def moved(self, x: Array) -> State:
        """The state with coordinates x, (M + P K + H,)."""
        weights, components, scales = np.split(x, np.cumsum([len(self.weights), self.components.size]))
        return State(weights, components.reshape(self.components.shape), scales)

    def ordered(self, weights: Array, order: IntArray) -> State:
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

    family: Family
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

    def view(self, state: State) -> View:
        """The state as a pass needs it; eqs. 25, 32 and 41 of Kohjima et al. (2019)."""
        theta, offset = self.family.plug_in(state.components)
        penalty = self.weights.divergence(state.weights) + self.prior.divergence(state.scales, self.k)
        penalty += float(self.family.divergence(state.components, self.prior_at(state)).sum())
        return View(theta, self.weights.expected_log(state.weights) + offset, penalty)

    def first(self, theta: Array, sums: Sums) -> State:
        """A state from sums about theta."""
        state = State(self.weights.start(self.k), np.zeros(0), self.prior.start(self.k))
        for _ in range(_ROUNDS if self.prior.adapts else 1):
            state = self._next(state, theta, sums)
            state = state._replace(scales=self._scales(state))
        return state._replace(weights=self.weights.posterior(state.weights, sums.counts))

    def improve(self, state: State, sums: Sums, *, cautious: bool = False) -> State:
        """The next state, what is learnt first; where cautious, never of a lower objective."""
        theta, _ = self.family.plug_in(state.components)
        state = self._next(state._replace(scales=self._scales(state)), theta, sums, cautious=cautious)
        return state._replace(weights=self.weights.posterior(state.weights, sums.counts))

    def prior_at(self, state: State) -> Array:
        """Hyper-parameters (P,) of the components' prior, those learnt at their expectations."""
        return self.prior.at(state.scales, self.k)

    def _scales(self, state: State) -> Array:
        return self.prior.posterior_rate(self.family.scaled_by(state.components, self.prior))

    def _next(self, state: State, theta: Array, sums: Sums, *, cautious: bool = False) -> State:
        components = self.family.posterior(self.prior_at(state), theta, sums, cautious=cautious)
        return state._replace(components=components)

    def between(self, old: State, new: State, step: float) -> State | None:
        """The state at a step from old to new (1), straight in natural parameters; None where there is none."""
        weights = (1.0 - step) * old.weights + step * new.weights
        scales = (1.0 - step) * old.scales + step * new.scales
        components = self.family.between(old.components, new.components, step)
        inside = components is not None and (weights > 0.0).all() and (scales > 0.0).all()
        return State(weights, components, scales) if components is not None and inside else None

    def positive(self, state: State) -> BoolArray:
        """Which coordinates of a state, flat, have no other bound than 0."""
        of_components = np.repeat(self.family.positive, self.k)
        around = (np.ones(len(each), dtype=np.bool_) for each in (state.weights, state.scales))
        return np.concatenate([next(around), of_components, next(around)])

    def admit(self, state: State) -> State | None:
        """The state, weights made to sum to 1; None where it lies outside."""
        inside = self.family.possible(self.family.plug_in(state.components)[0], np.finfo(np.float64).tiny)
        return state if inside and (state.weights > 0.0).all() and (state.scales > 0.0).all() else None

    def sizes(self, state: State, counts: Array) -> Array:
        """Rough standard deviations of the coordinates, flat; ``counts`` (K,) are expected rows."""
        information = np.diag(self.information(state))
        return np.asarray(1.0 / np.sqrt(np.where(information > 0.0, information, 1.0)))

    def information(self, state: State) -> Array:
        """Fisher's information of the posterior, in flat coordinates."""
        of_components = blocks(self.family.information(state.components))
        of_scales = np.diag(self.prior.information(state.scales, self.k))
        return block_diag(self.weights.information(state.weights), of_components, of_scales)

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
        way = self.weights.target(state.weights, sums.counts) - state.weights
        of_weights = self.weights.information(state.weights) @ way
        of_components = self.family.gradient(state.components, self.prior_at(state), sums)
        of_scales = self.prior.information(state.scales, self.k) * (self._scales(state) - state.scales)
        return np.concatenate([of_weights, of_components.ravel(), of_scales])

    def estimated_weights(self, state: State) -> tuple[Array, Array]:
        """Expected weights (K,) and their derivatives in the state's weights, (K, M)."""
        return self.weights.mean(state.weights)

    def estimates(self, state: State, units: Units) -> tuple[Array, Array]:
        """The user's parameters (R, K), and their derivatives in the state's components, (R, P, K)."""
        return self.family.estimates(state.components, units)

    def distribution(self, state: State, units: Units) -> ComponentDistribution:
        """Distribution of a new value under each component; parameters are integrated out.

        Where scales are learnt, components that hold next to nothing have the tails of two events.
        """
        q = self.family.with_mean(state.components) if self.prior.adapts else state.components
        return self.family.predictive(q, units)


@dataclass(frozen=True, slots=True)
class Points:
    """The log likelihood of a mixture at point estimates (EMCM); (EM1) to (EM3) and (EM8) of the theory pages."""

    family: Family
    k: int
    floor: Floor  # smallest spreads on the scale that is modelled; of a finished fit those of its components, (K,)
    adapts: ClassVar[bool] = False
    known_rows: ClassVar[float] = 0.0

    def view(self, state: State) -> View:
        with np.errstate(divide="ignore"):
            return View(state.components, np.log(state.weights), 0.0)

    def first(self, theta: Array, sums: Sums, *, cautious: bool = False) -> State:
        components = self.family.maximum(theta, sums, self.floor, cautious=cautious)
        return State(sums.counts / sums.counts.sum(), components)

    def improve(self, state: State, sums: Sums, *, cautious: bool = False) -> State:
        return self.first(state.components, sums, cautious=cautious)

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

    def settled(self, state: State) -> Points:
        """With the floors of a state alone, which is what a finished fit needs of them."""
        return replace(self, floor=np.array(least(self.floor, state.components[0])))

    def estimated_weights(self, state: State) -> tuple[Array, Array]:
        return state.weights, np.eye(self.k)

    def estimates(self, state: State, units: Units) -> tuple[Array, Array]:
        return self.family.point_estimates(state.components, units)

    def distribution(self, state: State, units: Units) -> ComponentDistribution:
        return self.family.distribution(state.components, units)


Model = Bayes | Points
