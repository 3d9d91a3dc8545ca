"""What a fit is asked to do, and what it hands on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tobitgp.inference.design import TWO_SPHERES
from tobitgp.inference.method import Method
from tobitgp.inference.parameters import Parameters
from tobitgp.inference.posterior import Posterior
from tobitgp.typing import Array


class Step(NamedTuple):
    """What a search reports after each evaluation."""

    stage: str
    evaluations: int  # in this stage so far
    value: float  # log posterior density found
    passes: int = 0  # sweeps in this stage so far, and over how many rows each
    rows: int = 0  # sweeps in this stage so far, and over how many rows each
    left: int | None = None  # evaluations that usually follow until the end of the search


@dataclass(frozen=True, slots=True)
class Settings:
    """How to search."""

    integrate: bool | None = None  # average over hyper-parameters; None: up to 20,000 rows and 10 free hyper-parameters
    n_starts: int = 2
    max_iter: int = 200  # of each L-BFGS run
    tol: float | None = None  # nats a Newton step may still gain at the end
    rng: int | np.random.Generator | None = None  # chooses the rows of the first search where there are many


@dataclass(frozen=True, slots=True)
class FitTrace:
    """What a fit did."""

    stages: tuple[tuple[str, int, int, float], ...]  # name
    converged: bool  # the search ended at a maximum and every posterior settled
    message: str  # in words; also where another start ended at another maximum
    gain_left: float  # nats a Newton step would still gain
    fell_back: bool  # EP did not settle and VI took over
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
    evidence: float  # in the user's units; ``log_marginal`` is NaN unless integrated
    elbo: float  # in the user's units; ``log_marginal`` is NaN unless integrated
    log_marginal: float  # in the user's units; ``log_marginal`` is NaN unless integrated
    nats_left: float  # ``1/2 sum lambda2 d``: what the features leave out
    n_features: int
    effective: float  # effective number of parameters at the maximum
    trace: FitTrace

    @property
    def has_moments(self) -> bool:
        """Whether the points lie on two spheres, wide enough for the moments of theta."""
        return len(self.weights) > 1 and int((np.diag(self.log_covariance) > 0.0).sum()) <= TWO_SPHERES
