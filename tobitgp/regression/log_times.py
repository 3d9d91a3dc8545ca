"""What models of log times of their own kind share: rows, coordinates of a search, and the way back to users' units."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from tobitgp.data.outcome import Outcome
from tobitgp.distributions.base import Distribution
from tobitgp.likelihoods.base import Kind, row_terms
from tobitgp.regression.maximum import Maximum
from tobitgp.regression.newton import SHAPE_STEP, Climb, shape_differences
from tobitgp.typing import Array, BoolArray

FLAT = 1e-8  # information a row of a direction, where an exact row has about 1


class Local(NamedTuple):
    """Log likelihoods (m,) of rows with gradients (m, r) and Hessians (m, r, r) in what is linear in parameters."""

    value: Array
    slope: Array
    bend: Array


def local_terms(noise: Distribution, kind: Kind, log_time: Array, at: Sequence[Array]) -> Local:
    """Log density or survival at locations, log scales and, where it is estimated, shapes, (m,) each."""
    (eta, tau, *shape), r, width = at, len(at), np.zeros_like(log_time)

    def terms(step: float) -> Any:
        moved = noise.at_coordinate(float(shape[0].flat[0]) + step * SHAPE_STEP) if shape and len(eta) else noise
        return row_terms(moved, kind, log_time, log_time, width, eta, tau)

    here = terms(0.0)
    slope, bend = np.zeros((len(log_time), r)), np.zeros((len(log_time), r, r))
    slope[:, 0], slope[:, 1] = here.eta, here.tau
    bend[:, 0, 0], bend[:, 0, 1], bend[:, 1, 1] = here.eta_eta, here.eta_tau, here.tau_tau
    if shape:
        found = shape_differences([terms(-2.0), terms(-1.0), here, terms(1.0), terms(2.0)])
        slope[:, 2], bend[:, 2, 2], bend[:, 0, 2], bend[:, 1, 2] = found
    return Local(here.value, slope, bend + np.swapaxes(np.triu(bend, 1), 1, 2))


def coordinates(designs: Sequence[Array], known: Sequence[Array], n: int) -> tuple[list[Array], Array, Array]:
    """Coordinates x in which the columns of each design are orthonormal and known parameters left out.

    Gives the block of each design, all of them as one matrix (k, m), and the k known parameters, 0 where they are
    estimated: parameters are ``given + to_users @ x``.
    """
    blocks, given = [], []
    for design, values in zip(designs, known, strict=True):
        free = np.isnan(values)
        block = np.zeros((len(values), int(free.sum())))
        block[free] = np.sqrt(n) * np.linalg.inv(np.linalg.qr(design[:, free], mode="r"))
        blocks.append(block)
        given.append(np.nan_to_num(values))
    to_users = np.zeros((sum(map(len, blocks)), sum(block.shape[1] for block in blocks)))
    row = column = 0
    for block in blocks:
        to_users[row : row + len(block), column : column + block.shape[1]] = block
        row, column = row + len(block), column + block.shape[1]
    return blocks, to_users, np.concatenate(given)


class InCoordinates(Protocol):
    """A likelihood in coordinates x of its parameters, ``given + to_users @ x``."""

    @property
    def seen(self) -> Outcome:
        """Log times."""

    @property
    def distribution(self) -> Distribution:
        """Of the noise."""

    @property
    def free_shape(self) -> bool:
        """Whether its shape is a parameter."""

    @property
    def to_users(self) -> Array:
        """Columns of the parameters."""

    @property
    def given(self) -> Array:
        """Known parameters."""

    @property
    def free(self) -> BoolArray:
        """Which parameters are estimated."""


def at_end(
    problem: InCoordinates,
    end: Climb,
    information: Array,
    unit: Array,
    sizes: tuple[int, int],
    reason: str,
    message: str,
    scores: Array | None,
) -> Maximum:
    """An end of an ascent as parameters and their covariance.

    ``information`` (m, m) is that of a row in coordinates of sizes ``unit`` (m,); ``sizes`` are the numbers of
    coefficients and of scale coefficients; ``reason`` is "converged", "flat" or another, and ``message`` has its words.
    """
    theta, (p, q) = problem.given + problem.to_users @ end.state.x, sizes
    values, vectors = np.linalg.eigh(information)
    directions = problem.to_users @ (unit[:, None] * vectors)
    flat = values < (max(FLAT, 2.0 * float(values.min(initial=1.0))) if reason == "flat" else -np.inf)
    with np.errstate(invalid="ignore"):
        told = directions[:, ~flat] / np.sqrt(values[~flat] * problem.seen.weight.sum())
    noise = problem.distribution
    shape = theta[-1] if problem.free_shape else None if noise.shape_name is None else noise.coordinate
    return Maximum(
        theta[:p],
        theta[p : p + q],
        None if shape is None else float(shape),
        end.state.value,
        float(np.abs(end.state.gradient).max(initial=0.0)),
        told @ told.T,
        directions[:, flat] @ directions[:, flat].T,
        problem.free,
        scores,
        end.iterations,
        reason == "converged",
        message,
    )
