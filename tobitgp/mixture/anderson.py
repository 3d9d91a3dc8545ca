r"""Anderson's extrapolation of an ascent from its last steps.

A step M(x) - x of coordinate ascent is a residual that is 0 at the optimum. The next step starts where the last states
combine to the least residual, in squares of posterior standard deviations, so that the slow directions of many steps
are taken at once. It need not be higher, and on a curved ridge leads too far: the way from M(x) is cut at a radius,
which shrinks with every jump that is refused. (EM6) of the theory pages.

References
----------
Walker and Ni (2011), Anderson acceleration for fixed-point iterations, *SIAM Journal on Numerical Analysis* 49,
1715-1735, section 2.
Henderson and Varadhan (2019), Damped Anderson acceleration with restarts and monotonicity control for accelerating EM
and EM-like algorithms, *Journal of Computational and Graphical Statistics* 28, 834-846.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from tobitgp.mixture.model import Model, State
from tobitgp.typing import Array, BoolArray

_MEMORY = 8
_FEWEST = 3
_NOISE = 1e-6
_SHRINK, _GROW = 0.25, 2.0


@dataclass(slots=True)
class Past:
    """The last states and where their steps led, in unbounded coordinates: logarithms of what is positive."""

    at: list[Array] = field(default_factory=list)  # (N,)
    to: list[Array] = field(default_factory=list)  # (N,)
    positive: BoolArray = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))  # (N,)
    scale: Array = field(default_factory=lambda: np.zeros(0))  # (N,)
    radius: float = np.inf  # longest jump, in posterior standard deviations
    size: float = 0.0  # length of the last one proposed

    def propose(self, model: Model, state: State, goal: State, counts: Array) -> State | None:
        """Note a state and its step's goal, and extrapolate; None where nothing follows from so few states.

        Shapes: counts (K,).
        """
        with np.errstate(all="ignore"):
            if not len(self.scale):
                self.positive = model.positive(state)
                self.scale = np.where(self.positive, _flat(state), 1.0) / model.sizes(state, counts)
            x, g = self._unbound(state), self._unbound(goal)
            if not np.isfinite(x + g + self.scale).all():
                return None
            self.at, self.to = [*self.at, x][-_MEMORY - 1 :], [*self.to, g][-_MEMORY - 1 :]
            if len(self.at) < _FEWEST:
                return None
            way = _way(np.array(self.at), np.array(self.to), self.scale)
            size = float(np.linalg.norm(way * self.scale))
            cut = min(1.0, self.radius / size) if size > 0.0 else 1.0
            self.size = cut * size
            return self._bind(model, g + cut * way, state)

    def judge(self, *, higher: bool) -> None:
        """Take note of where the last jump led."""
        self.radius = max(self.radius, _GROW * self.size) if higher else _SHRINK * self.size

    def _unbound(self, state: State) -> Array:
        x = _flat(state)
        return np.log(x, out=x, where=self.positive)

    def _bind(self, model: Model, x: Array, like: State) -> State | None:
        x = np.exp(x, out=x, where=self.positive)
        m = len(like.weights)
        state = State(x[:m], x[m:].reshape(like.components.shape))
        return model.admit(state) if np.isfinite(x).all() else None


def _flat(state: State) -> Array:
    return np.concatenate([state.weights, state.components.ravel()])


def _way(at: Array, to: Array, scale: Array) -> Array:
    """From the last goal to that of the combination of least residual, (N,)."""
    residual = (to - at) * scale
    change = (residual[1:] - residual[:-1]).T
    size = np.sqrt((change * change).sum(axis=0))
    size[size == 0.0] = 1.0
    part = np.linalg.lstsq(change / size, residual[-1], rcond=_NOISE)[0] / size
    return np.asarray((to[:-1] - to[1:]).T @ part)
