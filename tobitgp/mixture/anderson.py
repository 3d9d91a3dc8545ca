r"""Anderson's extrapolation of an ascent from its last steps.

A step M(x) - x of coordinate ascent is a residual that is 0 at the optimum. The next step starts where the last states
combine to the least residual, in squares of posterior standard deviations, so that the slow directions of many steps
are taken at once. It need not be higher, and on a curved ridge leads too far: the way from M(x) is cut at a radius,
which shrinks with every jump that is refused.

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
from tobitgp.typing import Array

_MEMORY = 8
_FEWEST = 3
_NOISE = 1e-6
_SHRINK, _GROW = 0.25, 2.0


@dataclass(slots=True)
class Past:
    """The last states and where their steps led, in unbounded coordinates.

    Attributes
    ----------
    at, to : list of (N,) array
    radius : float
        Longest jump, in posterior standard deviations.
    size : float
        Length of the last one proposed.
    """

    at: list[Array] = field(default_factory=list)
    to: list[Array] = field(default_factory=list)
    radius: float = np.inf
    size: float = 0.0

    def propose(self, model: Model, state: State, goal: State, counts: Array) -> State | None:
        """Note a state and its step's goal, and extrapolate; None where nothing follows from so few states.

        Parameters
        ----------
        model : Model
        state, goal : State
        counts : (K,) array
            Expected rows of the components.
        """
        with np.errstate(all="ignore"):
            x, g, scale = unbound(model, state), unbound(model, goal), _scale(model, state, counts)
        if not np.isfinite(x + g + scale).all():
            return None
        self.at, self.to = [*self.at, x][-_MEMORY - 1 :], [*self.to, g][-_MEMORY - 1 :]
        if len(self.at) < _FEWEST:
            return None
        way = _way(np.array(self.at), np.array(self.to), scale)
        size = float(np.linalg.norm(way * scale))
        cut = min(1.0, self.radius / size) if size > 0.0 else 1.0
        self.size = cut * size
        return bind(model, g + cut * way, state)

    def judge(self, *, higher: bool) -> None:
        """Take note of where the last jump led."""
        self.radius = max(self.radius, _GROW * self.size) if higher else _SHRINK * self.size


def unbound(model: Model, state: State) -> Array:
    """Coordinates (N,) of a state, logarithms of what is positive."""
    x, positive = np.concatenate([state.weights, state.components.ravel()]), model.positive(state)
    return np.where(positive, np.log(np.where(positive, x, 1.0)), x)


def bind(model: Model, x: Array, like: State) -> State | None:
    """The state at unbounded coordinates, of the shape of another; None where there is none."""
    with np.errstate(all="ignore"):
        x = np.where(model.positive(like), np.exp(x), x)
        if not np.isfinite(x).all():
            return None
        m = len(like.weights)
        return model.admit(State(x[:m], x[m:].reshape(like.components.shape)))


def _scale(model: Model, state: State, counts: Array) -> Array:
    """Posterior standard deviations to a unit of each unbounded coordinate, roughly."""
    x = np.concatenate([state.weights, state.components.ravel()])
    return np.where(model.positive(state), x, 1.0) / model.sizes(state, counts)


def _way(at: Array, to: Array, scale: Array) -> Array:
    """From the last goal to that of the combination of least residual, (N,)."""
    residual = (to - at) * scale
    change = np.diff(residual, axis=0).T
    size = np.linalg.norm(change, axis=0)
    size[size == 0.0] = 1.0
    part = np.linalg.lstsq(change / size, residual[-1], rcond=_NOISE)[0] / size
    return np.asarray(-np.diff(to, axis=0).T @ part)
