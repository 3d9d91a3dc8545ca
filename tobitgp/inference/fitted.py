"""The task of a fit, its results and its warnings, and the designs for integrating over hyper-parameters."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from tobitgp.data.arrays import Problem
from tobitgp.data.standardisation import Measured
from tobitgp.errors import ApproximationWarning, BoundaryWarning, SpecError, user_level
from tobitgp.formula.spec import GPTerm
from tobitgp.inference.evidence import COARSE
from tobitgp.inference.feature_posterior import FeaturePosterior
from tobitgp.inference.hyperparameters import LOG_BOUND, Parameters, words_for_little_noise
from tobitgp.inference.input_scaling import is_uneven
from tobitgp.inference.method import Method
from tobitgp.inference.partitioned import PartitionedRows, cut
from tobitgp.inference.rebuilt import Posteriors
from tobitgp.likelihoods.row_terms import Likelihood
from tobitgp.numerics.sampling import generator
from tobitgp.priors.choice import structure_of
from tobitgp.priors.group_effects import correlation_root
from tobitgp.priors.kernel_block import GPPrior
from tobitgp.priors.prior import Prior
from tobitgp.priors.structure import Inputs
from tobitgp.typing import Array, IntArray

# Walsh functions whose products of two never alias a main effect or another product (Sanchez and Sanchez 2005).
_WALSH = (1, 2, 4, 8, 15)
MAX_DIMENSION = 18
TWO_SPHERES = len(_WALSH)  # parameters; the more there are, the less their distance from the maximum varies


def two_level(k: int) -> Array:
    """Two-level design in k factors, (runs, k) of -1 and 1: of resolution V, or IV with more than `TWO_SPHERES`."""
    half = 1 << (k - 1).bit_length()
    columns = np.array(_WALSH[:k]) if k <= TWO_SPHERES else half + np.arange(k)
    runs = 1 << int(columns[-1]).bit_length()
    bits = np.arange(runs)[:, None] & columns
    parity = np.array([[int(v).bit_count() & 1 for v in row] for row in bits])
    return 1.0 - 2.0 * parity


def central_composite(k: int, instead: str = "method=tg.EP(hyper='maximize')") -> tuple[Array, Array]:
    """Points (J, k) and weights that integrate polynomials against a standard normal, (HYP4) and (HYP5).

    A star and a cube on one sphere about the centre, or on two with the radii of Gauss-Radau quadrature. If k is too
    large, the error names what to write instead.
    """
    if k > MAX_DIMENSION:
        raise SpecError(
            f"hyper='integrate' averages over at most {MAX_DIMENSION} hyper-parameters, and {k} are free. "
            f"Use {instead}, ard=False in gp(), or fixed=."
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
        problem, rows = some_rows(self.problem, prior, size, rng)
        prior = prior.induced_by([None] * len(prior.gps)).subset(rows)
        return data, replace(self, problem=problem, prior=prior, data=data)


RUNS = 5


def some_rows(
    problem: Problem, prior: Prior, size: int, rng: int | np.random.Generator | None
) -> tuple[Problem, IntArray]:
    """About ``size`` rows and their positions; half of them neighbours where a process may have short length-scales.

    It may where it can be a structure, and where its inputs are dense in places. Far apart rows say nothing of them.
    """
    if problem.n <= size:
        return problem.subset(size, rng)
    rough = [gp.inputs for gp in prior.gps if structure_of(gp) is not None or is_uneven(gp)]
    if not rough:
        return problem.subset(size, rng)
    n, rows = problem.n, neighbouring(rough[0], size // 2)
    rest = np.setdiff1d(np.arange(n), rows)
    more = generator(rng).choice(len(rest), size - len(rows), replace=False)
    rows = np.sort(np.concatenate([rows, rest[more]]))
    return problem.take(rows), rows


def neighbouring(inputs: Inputs, size: int) -> IntArray:
    """Positions of about ``size`` rows in a few runs of neighbours."""
    (X, code), n, length = inputs, len(inputs.X), size // RUNS
    order = np.lexsort([X[:, 0], *(() if code is None else (code,))])
    if X.shape[1] == 1:
        starts = np.linspace(0, n - length, RUNS).astype(np.intp)
        runs = [order[start : start + length] for start in starts]
    else:
        middles = X[order[np.linspace(0, n - 1, RUNS + 2).astype(np.intp)[1:-1]]]
        runs = [np.argpartition(np.square(X - middle).sum(axis=1), length)[:length] for middle in middles]
    return np.unique(np.concatenate(runs))


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

    points: tuple[FeaturePosterior, ...] | Posteriors  # the maximum first; without their chunks
    weights: Array  # (J,), sum to one
    n_linear: int  # linear columns
    parameters: Parameters
    log_covariance: Array  # (k, k), of theta, from the curvature at the maximum; zero for fixed parameters
    method: Method
    evidence: float  # in the user's units, as the next two
    elbo: float
    log_evidence_integrated: float  # NaN unless integrated
    nats_left: float  # ``1/2 sum lambda2 d``: what the features leave out
    neighbours_gain: float  # nats that twice the neighbours of Vecchia's prior would gain; NaN without one
    n_features: int
    effective: float  # effective number of parameters at the maximum
    trace: FitTrace

    shapes: ClassVar = {"points": "weights!", "parameters.names parameters.names": "log_covariance"}

    @property
    def has_moments(self) -> bool:
        """Whether the points lie on two spheres, wide enough for the moments of theta."""
        return len(self.weights) > 1 and int((np.diag(self.log_covariance) > 0.0).sum()) <= TWO_SPHERES


BAD = 0.3  # approximation gap beside the effective parameters
NEIGHBOURS_REMEDY = "raise neighbours=, or use approximation='low_rank' or 'dense', which suit smooth curves better"
FEW, SMALL_SHARE = 5, 0.1  # exact rows that leave intervals too narrow by a tenth or more


def warn_unidentified(
    measured: Measured, terms: Sequence[GPTerm], gps: Sequence[GPPrior], parameters: Parameters
) -> None:
    """Warn of what the data do not identify, such as sigma and a random intercept with a level for every row."""
    exact, between, n = measured.n_exact, measured.between, measured.n
    if exact == 0 and not between:
        _warn("No row is exact: location and scale are determined by limits and priors alone. Set priors= or fixed=.")
    elif exact == 1 and not between:
        if "sigma" in parameters.names and parameters.free[parameters.names.index("sigma")]:
            _warn(
                "Only one row is exact: its prior alone determines sigma. Set priors={'sigma': ...} or "
                "fixed={'sigma': ...}."
            )
    elif 1 < exact < FEW and exact < SMALL_SHARE * n and not between:
        _warn(
            f"Only {exact} of {n} rows are exact: scale, noise and intervals are determined by them and the priors, "
            f"and may be far from the truth. Set priors= or fixed= from prior knowledge."
        )
    elif exact == n > 1 and measured.exact.minimum == measured.exact.maximum:
        _warn("The response is constant: priors alone determine scale and length-scales. Check the response column.")
    for term, X in zip(terms, measured.X, strict=True):
        ends = zip(X.minimum, X.maximum, strict=True) if term.inputs else ()
        for text, (low, high) in zip(term.inputs, ends, strict=True):
            if n > 1 and low == high:
                _warn(
                    f"The input {text.text} of {term.name} is constant: the prior alone determines its length-scale. "
                    f"Leave it out."
                )
    for gp, term in zip(gps, terms, strict=True):
        if gp.grouping is not None and gp.grouping.size == 1 and not term.factors:
            _warn(f"All rows are in one group of {term.name}: the prior alone determines its sd. Leave it out.")
    sought = {name for name, free in zip(parameters.names, parameters.free, strict=True) if free}
    for gp, term in zip(gps, terms, strict=True):
        single = gp.grouping is not None and 1.0 < measured.weight <= gp.grouping.size
        if single and not term.factors and {"sigma", f"sd({term.name})"} <= sought:
            _warn(
                f"Every row is a level of {term.name}: only the priors distinguish sd({term.name}) from sigma. "
                "Leave the term out, or fix one of the two."
            )


def warn_coarse(fitted: FittedGP, rows: float) -> None:
    """Warn of bounds that a fit met, a large approximation gap, rounding errors, and evidence that is not a bound."""
    if words := bound_words(fitted):
        _warn(words)
    if fitted.nats_left > COARSE:
        _warn(f"{coarse_words(fitted)}; {coarse_remedy(fitted, rows)}.", ApproximationWarning)
    elif abs(fitted.neighbours_gain) > COARSE:
        _warn(f"{neighbours_words(fitted)}; {NEIGHBOURS_REMEDY}.", ApproximationWarning)
    elif words := rounding_words(fitted, rows):
        _warn(words, ApproximationWarning)
    if fitted.method.pilot() != fitted.method:
        _warn(
            f"bound={fitted.method.evidence_kind!r} is not a bound: it may exceed the log evidence, so it neither "
            f"ranks models nor chooses hyper-parameters. These are from exact variational inference, and elbo is a "
            "bound.",
            ApproximationWarning,
        )


def neighbours_words(fitted: FittedGP) -> str:
    """What twice the neighbours of Vecchia's prior would change."""
    return f"twice the neighbours would change the log evidence by {fitted.neighbours_gain:+.2g} nats"


def coarse_words(fitted: FittedGP) -> str:
    """What basis functions that are too few do to a fit; the figures are simulated, see docs/trust."""
    share = fitted.nats_left / fitted.effective
    effect = "the curve is a little too smooth"
    if share > BAD:
        effect = (
            "the curve is too smooth, its length-scales and sigma are too large, and its intervals too narrow (in "
            "simulations with such gaps, 95% intervals covered 45% to 92% of the curve)"
        )
    return (
        f"The inducing inputs are too few for such short length-scales (approximation gap {fitted.nats_left:.3g} nats, "
        f"{share:.0%} of the effective parameters): {effect}"
    )


def rounding_words(fitted: FittedGP, rows: float) -> str:
    """Where rounding took digits, and what to look at; nothing where it took none."""
    lost = any(at.factor.lost_to_rounding(rows) for at in fitted.points)
    if not (lost or words_for_little_noise(fitted.parameters)):
        return ""
    suspects = words_for_little_noise(fitted.parameters, rows) or (
        "terms that only their priors distinguish, such as an intercept and the level of re() or gp(): with so little "
        "noise and so many rows, leave one of them out"
    )
    return f"Digits were lost: standard errors may be wrong, or the search may have stopped early. Check {suspects}."


def bound_words(fitted: FittedGP) -> str:
    """Where the search met a bound, and what noise at its least tells; nothing where it met none."""
    parameters = fitted.parameters
    places, free = np.flatnonzero(parameters.free), fitted.points[0].theta[parameters.free]
    low = free <= parameters.least
    stuck = [parameters.names[i] for i in places[low | (free >= parameters.most)]]
    singular = _singular_words(fitted)
    if not stuck:
        return singular
    words = f"The search ended at a bound for {', '.join(stuck)}. Fix it by fixed=, or set priors=."
    if any(parameters.roles[i] == "sigma" for i in places[low & (parameters.least == -LOG_BOUND)]):
        words += (
            f" At its lower bound sigma is {np.exp(-LOG_BOUND):.0e} of the response's sd: the data show no noise, and "
            "the curve goes through the rows. If the measurement error is known, fix sigma at it."
        )
    return words


SINGULAR = 0.995  # a correlation beyond which coefficients are taken for multiples of each other


def _singular_words(fitted: FittedGP) -> str:
    """Which coefficients of a random effect the data do not distinguish; empty if there are none."""
    parameters, theta, found = fitted.parameters, fitted.points[0].theta, []
    for term in parameters.effects:
        if term.correlated and parameters.free[term.cors].any():
            C = correlation_root(theta[term.cors], term.q)
            R = (C @ C.T)[np.tril_indices(term.q, -1)]
            found += [parameters.names[i] for i in term.cors.start + np.flatnonzero(np.abs(R) > SINGULAR)]
    if not found:
        return ""
    return (
        f"The fit is singular at {', '.join(found)}: these coefficients or curves are multiples of each other, and "
        "the data do not distinguish them. Leave one out, write || for independent ones, or set priors=."
    )


def coarse_remedy(fitted: FittedGP, rows: float, *, in_short: bool = False) -> str:
    """How to reduce the approximation gap; using all inputs does not help if the noise is lost to rounding."""
    if words_for_little_noise(fitted.parameters, rows):
        return "Use more inducing inputs, or fix sigma at a larger value"
    more = f"Use more inducing inputs, {fitted.method.written(inducing=None)}"
    return more if in_short else f"{more}, or approximation='vecchia' in gp() (of one input 'markov')"


def _warn(message: str, category: type[Warning] = BoundaryWarning) -> None:
    warnings.warn(message, category, stacklevel=user_level())
