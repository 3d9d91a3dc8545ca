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
    """What a search reports after each evaluation.

    Attributes
    ----------
    stage : str
    evaluations : int
        In this stage so far.
    value : float
        Log posterior density found.
    passes, rows : int
        Sweeps in this stage so far, and over how many rows each.
    left : int or None
        Evaluations that usually follow until the end of the search; None where that cannot be told, 0 once there have
        been as many as usual.
    """

    stage: str
    evaluations: int
    value: float
    passes: int = 0
    rows: int = 0
    left: int | None = None


@dataclass(frozen=True, slots=True)
class Settings:
    """How to search.

    Attributes
    ----------
    integrate : bool or None
        Average over hyper-parameters; None: up to 20,000 rows and 10 free hyper-parameters.
    n_starts : int
    max_iter : int
        Of each L-BFGS run.
    tol : float or None
        Nats a Newton step may still gain at the end; None: 1e-6, and 1e-3 on more than 20,000 rows.
    rng : int, Generator or None
        Chooses the rows of the first search where there are many.
    """

    integrate: bool | None = None
    n_starts: int = 2
    max_iter: int = 200
    tol: float | None = None
    rng: int | np.random.Generator | None = None


@dataclass(frozen=True, slots=True)
class FitTrace:
    """What a fit did.

    Attributes
    ----------
    stages : tuple of (str, int, int, float)
        Name, evaluations, sweeps over the rows and log posterior density after each stage.
    converged : bool
        The search ended at a maximum and every posterior settled.
    message : str
        In words; also where another start ended at another maximum.
    gain_left : float
        Nats a Newton step would still gain.
    fell_back : bool
        EP did not settle and VI took over.
    runner_up : float
        Nats by which the next local maximum found is lower; infinite where none was.
    """

    stages: tuple[tuple[str, int, int, float], ...]
    converged: bool
    message: str
    gain_left: float
    fell_back: bool
    runner_up: float


@dataclass(frozen=True, slots=True)
class FittedGP:
    """A weighted list of posteriors: one when maximised, a design's worth when integrated.

    Attributes
    ----------
    points : tuple of Posterior
        The maximum first; without their chunks.
    weights : (J,) array
        Sum to one.
    n_linear : int
        Leading features that are linear columns.
    parameters : Parameters
    log_covariance : (k, k) array
        Of theta, from the curvature at the maximum; zero for fixed parameters.
    method : Method
    evidence, elbo, log_marginal : float
        In the user's units; ``log_marginal`` is NaN unless integrated.
    nats_left : float
        ``1/2 sum lambda2 d``: what the features leave out.
    n_features : int
    effective : float
        Effective number of parameters at the maximum.
    trace : FitTrace
    """

    points: tuple[Posterior, ...]
    weights: Array
    n_linear: int
    parameters: Parameters
    log_covariance: Array
    method: Method
    evidence: float
    elbo: float
    log_marginal: float
    nats_left: float
    n_features: int
    effective: float
    trace: FitTrace

    @property
    def has_moments(self) -> bool:
        """Whether the points lie on two spheres, wide enough for the moments of theta."""
        return len(self.weights) > 1 and int((np.diag(self.log_covariance) > 0.0).sum()) <= TWO_SPHERES
