"""What a fit is asked to do and what it hands on, and the designs for integrating over hyper-parameters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from tobitgp.data.arrays import Problem
from tobitgp.errors import SpecError
from tobitgp.inference.method import Method
from tobitgp.inference.parameters import Parameters
from tobitgp.inference.partitioned import PartitionedRows, cut
from tobitgp.inference.posterior import Posterior
from tobitgp.likelihoods.base import Likelihood
from tobitgp.priors.prior import Prior
from tobitgp.typing import Array

# Walsh functions whose products of two never alias a main effect or another product (Sanchez and Sanchez 2005).
_WALSH = (1, 2, 4, 8, 15, 16, 32, 51, 64, 85, 106, 128, 150, 171, 219, 237, 247, 256)
MAX_DIMENSION = len(_WALSH)
TWO_SPHERES = 5  # parameters; the more there are, the less their distance from the maximum varies


def two_level(k: int) -> Array:
    """Two-level design of resolution V in k factors, (runs, k) of -1 and 1."""
    columns = np.array(_WALSH[:k])
    runs = 1 << int(columns[-1]).bit_length()
    bits = np.arange(runs)[:, None] & columns
    parity = np.array([[int(v).bit_count() & 1 for v in row] for row in bits])
    return 1.0 - 2.0 * parity


def central_composite(k: int) -> tuple[Array, Array]:
    """Points and weights that integrate polynomials of degree 4 against a standard normal, (HYP4) and (HYP5).

    The centre, and a star and a cube on one sphere about it, on each of two for at most five parameters: their radii
    are those of Gauss-Radau quadrature, and the parts of star and cube meet the fourth moments.

    Gives points (J, k), weights (J,).
    """
    if k > MAX_DIMENSION:
        raise SpecError(
            f"hyper='integrate' averages over at most {MAX_DIMENSION} hyper-parameters, and {k} are free. "
            "Use hyper='maximize', ard=False in gp(), or fixed=."
        )
    if k == 0:
        return np.zeros((1, 0)), np.ones(1)
    star, cube = np.concatenate([np.eye(k), -np.eye(k)]), two_level(k) / np.sqrt(k)
    if k == 1:  # both are the same two points
        outer, part = star, np.full(2, 0.5)
    else:
        outer = np.concatenate([star, cube])
        part = np.repeat([2.0 / len(star), k / len(cube)], [len(star), len(cube)]) / (k + 2.0)
    square = k + 4.0 + np.sqrt(2.0 * k + 8.0) * np.array([-1.0, 1.0]) if k <= TWO_SPHERES else np.array([k + 2.0])
    moments = np.array([k, k * (k + 2.0)])[: len(square)]
    mass = np.linalg.solve(np.vander(square, increasing=True).T * square, moments)
    points = [np.zeros((1, k)), *(np.sqrt(s) * outer for s in square)]
    weights = [[1.0 - mass.sum()], *(m * np.exp(0.5 * s) * part for s, m in zip(square, mass, strict=True))]
    return np.concatenate(points), np.concatenate(weights)


class Step(NamedTuple):
    """What a search reports after each evaluation."""

    stage: str
    evaluations: int  # in this stage so far
    value: float  # log posterior density found
    passes: int = 0  # over the data, in this stage so far
    rows: int = 0  # of each pass
    left: int | None = None  # evaluations that usually follow until the end of the search


OnStep = Callable[[Step], None]


@dataclass(frozen=True, slots=True)
class Settings:
    """How to search."""

    integrate: bool | None = None  # average over hyper-parameters; None: up to 20,000 rows and 10 free hyper-parameters
    n_starts: int = 2
    max_iter: int = 200  # of each L-BFGS run
    tol: float | None = None  # nats a Newton step may still gain at the end
    rng: int | np.random.Generator | None = None  # chooses the rows of the first search where there are many


@dataclass(frozen=True, slots=True)
class Task:
    """What is to be fitted."""

    problem: Problem  # all rows, or a sample of them
    prior: Prior  # on the rows of the problem
    parameters: Parameters
    likelihood: Likelihood
    data: PartitionedRows | None = None  # all rows, where the problem is a sample

    def sampled(self, size: int, rng: int | np.random.Generator | None) -> tuple[PartitionedRows, Task]:
        """All rows, and what is to be fitted on at most so many of them."""
        if self.data is not None:
            return self.data, self
        data, prior = cut(self.problem, self.prior.inputs), self.prior
        if self.problem.n <= size:
            return data, self
        problem, rows = self.problem.subset(size, rng)
        prior = prior.induced_by([None] * len(prior.gps)).subset(rows)
        return data, replace(self, problem=problem, prior=prior, data=data)


@dataclass(frozen=True, slots=True)
class FitTrace:
    """What a fit did."""

    stages: tuple[tuple[str, int, int, float], ...]  # name, evaluations, passes over the data, value
    converged: bool  # the search ended at a maximum and every posterior converged
    message: str  # in words; also where another start ended at another maximum
    gain_left: float  # nats a Newton step would still gain
    fell_back: bool  # EP did not converge and VI took over
    runner_up: float  # nats by which the next local maximum found is lower; infinite where none was


@dataclass(frozen=True, slots=True)
class FittedGP:
    """A weighted list of posteriors: one when maximised, a design's worth when integrated."""

    points: tuple[Posterior, ...]  # the maximum first; without their chunks
    weights: Array  # (J,), sum to one
    n_linear: int  # leading features that are linear columns
    parameters: Parameters
    log_covariance: Array  # (k, k), of theta, from the curvature at the maximum; zero for fixed parameters
    method: Method
    evidence: float  # in the user's units, as the next two
    elbo: float
    log_evidence_integrated: float  # NaN unless integrated
    nats_left: float  # ``1/2 sum lambda2 d``: what the features leave out
    n_features: int
    effective: float  # effective number of parameters at the maximum
    trace: FitTrace

    @property
    def has_moments(self) -> bool:
        """Whether the points lie on two spheres, wide enough for the moments of theta."""
        return len(self.weights) > 1 and int((np.diag(self.log_covariance) > 0.0).sum()) <= TWO_SPHERES
