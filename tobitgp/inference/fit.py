"""From a problem and its terms to a fitted Gaussian process: search, choice of inducing inputs, integration."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from tobitgp.data.problem import Problem
from tobitgp.engines import map_independent, single_blas_thread
from tobitgp.errors import ConvergenceWarning, NumericalError
from tobitgp.inference.bound import effective_parameters, lower_bound
from tobitgp.inference.design import MAX_DIMENSION, central_composite
from tobitgp.inference.ep import EP
from tobitgp.inference.hyper import Maximum, Objective, climb, polish, starts, whitening
from tobitgp.inference.method import Method
from tobitgp.inference.parameters import Parameters
from tobitgp.inference.posterior import Posterior, Sites, settle, split_theta
from tobitgp.inference.vi import VI
from tobitgp.likelihoods.base import Likelihood
from tobitgp.prior.block import Block
from tobitgp.prior.dense import DenseBlock
from tobitgp.prior.kernel import GPPrior
from tobitgp.typing import Array

NATS = 0.01
FIRST_CAP, CAP = 100, 500
SEARCH_ROWS = 500
RUNS = 3
INTEGRATE_ROWS = 20_000
LOOSE = 1e-4
HEAVY = 50_000


@dataclass(frozen=True, slots=True)
class Prior:
    """All terms of a model on the training rows.

    Attributes
    ----------
    linear : DenseBlock or None
    gps : tuple of GPPrior
    """

    linear: DenseBlock | None
    gps: tuple[GPPrior, ...]

    def blocks(self, theta: Array, precision: Array, *, nats: float, cap: int) -> list[Block]:
        """Blocks in order, linear first, with inducing inputs chosen for ``theta`` and site precisions."""
        parts = split_theta(self.gps, theta)
        share = nats / max(len(self.gps), 1)
        chosen = [gp.choose(part, precision, nats=share, cap=cap) for gp, part in zip(self.gps, parts, strict=True)]
        return [*([self.linear] if self.linear is not None else []), *chosen]


@dataclass(frozen=True, slots=True)
class Settings:
    """How to search.

    Attributes
    ----------
    integrate : bool or None
        Average over hyper-parameters; None: up to 20,000 rows.
    n_starts : int
    max_iter : int
        Of each L-BFGS run.
    tol : float
        Nats a Newton step may still gain at the end.
    on_step : callable, optional
        Called with a stage's name, the evaluations so far and the objective.
    """

    integrate: bool | None = None
    n_starts: int = 2
    max_iter: int = 200
    tol: float = 1e-6
    on_step: Callable[[str, int, float], None] | None = None


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
    gain_left : float
        Nats a Newton step would still gain.
    fell_back : bool
        EP did not settle and VI took over.
    """

    stages: tuple[tuple[str, int, int, float], ...]
    converged: bool
    message: str
    gain_left: float
    fell_back: bool


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


def fit_gp(
    problem: Problem,
    prior: Prior,
    parameters: Parameters,
    method: Method,
    likelihood: Likelihood,
    settings: Settings | None = None,
) -> FittedGP:
    """Fit hyper-parameters and posterior.

    Parameters
    ----------
    problem : Problem
    prior : Prior
    parameters : Parameters
        Each GP term's parameters in order, then sigma.
    method : Method
    likelihood : Likelihood
    settings : Settings, optional

    Returns
    -------
    FittedGP

    Warns
    -----
    ConvergenceWarning
        If the search or a fixed point did not settle, or EP gave way to VI.
    """
    with single_blas_thread():
        fit = _Fit(problem, prior, parameters, method, likelihood, settings or Settings())
        return fit.run()


class _Fit:
    """The stages of one fit, which share data, settings and a growing trace."""

    def __init__(
        self,
        problem: Problem,
        prior: Prior,
        parameters: Parameters,
        method: Method,
        likelihood: Likelihood,
        settings: Settings,
    ):
        self.problem, self.prior, self.parameters = problem, prior, parameters
        self.method, self.likelihood, self.settings = method, likelihood, settings
        self.stages: list[tuple[str, int, int, float]] = []
        self.fell_back = False

    def run(self) -> FittedGP:
        """Search on a subset, maximise on all rows, integrate."""
        base = np.where(np.isnan(self.parameters.start), self.parameters.prior_mean, self.parameters.start)
        if not self.parameters.n_free:
            objective = self._objective(self.problem, self.prior, base, self._guess(self.problem, base), CAP)
            at = Maximum(np.zeros(0), objective.value(np.zeros(0)), np.zeros(0), np.zeros((0, 0)), 0.0)
            return self._finish(objective, at)
        free, scale = self._search(base)
        try:
            objective, maximum = self._maximise(base, free, scale)
        except _EPFailure as failure:
            self.fell_back, self.method = True, VI()
            warnings.warn(
                "Expectation propagation did not settle; variational inference took over. Its evidence is a lower bound.",
                ConvergenceWarning,
                stacklevel=4,
            )
            objective, maximum = self._maximise(base, failure.free, None)
        return self._finish(objective, maximum)

    def _search(self, base: Array) -> tuple[Array, Array | None]:
        """Best of several starts, on a subset of the rows where there are many."""
        problem, prior = self.problem, self.prior
        small = problem.n > 2 * SEARCH_ROWS
        if small:
            problem, rows = problem.subset(SEARCH_ROWS)
            linear = None if prior.linear is None else DenseBlock(prior.linear.X[rows])
            prior = Prior(linear, tuple(gp.subset(rows) for gp in prior.gps))
        objective = self._objective(problem, prior, base, self._guess(problem, base), FIRST_CAP)
        candidates = starts(self.parameters, self.settings.n_starts, objective.value)
        best, best_value = candidates[0], -np.inf
        for start in candidates:
            objective.sites = None
            end = climb(objective, start, tol=1e-2, max_iter=self.settings.max_iter)
            value = objective.value(end)
            if value > best_value:
                best, best_value = end, value
        self._log("search", objective, best_value)
        return best, whitening(objective, best) if small else None

    def _maximise(self, base: Array, free: Array, scale: Array | None) -> tuple[Objective, Maximum]:
        """Runs of the optimiser on all rows, inducing inputs chosen again between them."""
        sites: Sites | None = None
        theta = base.copy()
        for run in range(RUNS):
            theta[self.parameters.free] = free
            precision = self._guess(self.problem, theta) if sites is None else sites.lambda2
            objective = self._objective(self.problem, self.prior, theta, precision, CAP)
            objective.sites = sites
            if run or scale is not None:
                free = climb(objective, free, scale, tol=0.1, max_iter=self.settings.max_iter)
            maximum = polish(objective, free, tol=self.settings.tol, max_iter=10)
            self._log(f"run {run + 1}", objective, maximum.value)
            free, last = maximum.free, objective.posterior(maximum.free)
            if isinstance(self.method, EP) and not last.converged:
                raise _EPFailure(free)
            sites, scale = last.sites, _inverse_root(maximum.hessian)
            if _nats_left(last) <= 2.0 * NATS or objective.features >= CAP:
                break
        return objective, maximum

    def _guess(self, problem: Problem, theta: Array) -> Array:
        """Site precisions before there are sites: those of exact rows, with room for a smaller noise."""
        return 2.0 * problem.weight * np.exp(-2.0 * theta[-1])

    def _objective(
        self, problem: Problem, prior: Prior, theta: Array, precision: Array, cap: int
    ) -> Objective:
        blocks = prior.blocks(theta, precision, nats=NATS, cap=cap)
        report = self.settings.on_step
        objective = Objective(problem, blocks, self.method, self.likelihood, self.parameters, theta.copy())
        if report is not None:
            objective.on_step = lambda value: report("maximise", objective.evaluations, value)
        return objective

    def _log(self, stage: str, objective: Objective, value: float) -> None:
        self.stages.append((stage, objective.evaluations, objective.sweeps, value))

    def _finish(self, objective: Objective, maximum: Maximum) -> FittedGP:
        centre = objective.posterior(maximum.free)
        integrate = self.settings.integrate
        if integrate is None:
            integrate = self.problem.n <= INTEGRATE_ROWS and self.parameters.n_free <= 10
        k = self.parameters.n_free if integrate else 0
        points, weights, log_marginal = self._integrate(objective, maximum, centre) if k else ([centre], np.ones(1), np.nan)
        converged = centre.converged and maximum.decrement < 1e-3
        message = "converged" if converged else self._complaint(centre, maximum)
        if not converged:
            warnings.warn(f"{message} Try another start=, a larger max_iter= or a stronger prior.", ConvergenceWarning, stacklevel=5)
        covariance = np.zeros((len(centre.theta), len(centre.theta)))
        covariance[np.ix_(self.parameters.free, self.parameters.free)] = np.linalg.inv(maximum.hessian)
        shift = self.problem.units.log_jacobian
        return FittedGP(
            points=tuple(replace(p, chunks=()) for p in points),
            weights=weights,
            n_linear=0 if self.prior.linear is None else self.prior.linear.size,
            parameters=self.parameters,
            log_covariance=covariance,
            method=self.method,
            evidence=centre.evidence + shift,
            elbo=lower_bound(centre, self.likelihood) + shift,
            log_marginal=log_marginal + shift,
            nats_left=_nats_left(centre),
            n_features=len(centre.w),
            effective=effective_parameters(centre),
            trace=FitTrace(tuple(self.stages), converged, message, maximum.decrement, self.fell_back),
        )

    def _complaint(self, centre: Posterior, maximum: Maximum) -> str:
        if not centre.converged:
            return f"The posterior did not settle in {centre.sweeps} sweeps (residual {centre.residual:.1e})."
        return f"The search for hyper-parameters stopped {maximum.decrement:.2g} nats before a maximum."

    def _integrate(
        self, objective: Objective, maximum: Maximum, centre: Posterior
    ) -> tuple[list[Posterior], Array, float]:
        """Posteriors on a central composite design around the maximum, their weights, and the log marginal evidence."""
        k = len(maximum.free)
        z, design = central_composite(k)
        T = _inverse_root(maximum.hessian)
        method = replace(self.method, tol=LOOSE)  # type: ignore[type-var]
        report = self.settings.on_step

        def at(point: Array) -> Posterior | None:
            theta = centre.theta.copy()
            theta[self.parameters.free] = maximum.free + T @ point
            try:
                p = settle(self.problem, objective.blocks, theta, method, self.likelihood, centre.sites)
            except NumericalError:
                return None
            if report is not None:
                report("integrate", len(design), p.evidence)
            return replace(p, chunks=()) if p.converged else None

        heavy = self.problem.n * len(centre.w) > HEAVY
        found = [centre, *map_independent(at, list(z[1:]), heavy=heavy)]
        kept = [(p, d) for p, d in zip(found, design, strict=True) if p is not None]
        log_density = np.array([p.evidence + self.parameters.log_prior(p.theta)[0] for p, _ in kept])
        weight = np.array([d for _, d in kept]) * np.exp(log_density - log_density[0])
        volume = 0.5 * k * np.log(2.0 * np.pi) + float(np.linalg.slogdet(T)[1])
        self.stages.append(("integrate", len(kept), sum(p.sweeps for p, _ in kept), float(log_density[0])))
        return [p for p, _ in kept], weight / weight.sum(), float(log_density[0] + volume + np.log(weight.sum()))


class _EPFailure(Exception):
    """EP did not settle at these free parameters."""

    def __init__(self, free: Array):
        self.free = free


def _nats_left(posterior: Posterior) -> float:
    """``1/2 sum lambda2 d`` over the rows."""
    return 0.5 * sum(float(posterior.sites.lambda2[c.span] @ c.features()[2]) for c in posterior.chunks)


def _inverse_root(H: Array) -> Array:
    """``T`` with ``T T' = H^-1`` along the principal axes of ``H``, signs fixed by each axis's largest entry."""
    values, vectors = np.linalg.eigh(H)
    signs = np.sign(vectors[np.abs(vectors).argmax(axis=0), np.arange(len(H))])
    return vectors * (signs / np.sqrt(values))
