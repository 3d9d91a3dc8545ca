"""The way to the maximum of the evidence times the prior: starts, samples that grow, runs on all rows."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from operator import itemgetter
from typing import Any

import numpy as np

from tobitgp.errors import ConvergenceWarning, NumericalError, user_level
from tobitgp.inference import multistart
from tobitgp.inference.evidence import COARSE, nats_left, precisions_of
from tobitgp.inference.evidence_ascent import (
    EPFailure,
    EvidenceMaximum,
    Objective,
    ascend_with,
    climb,
    polish,
    refined_root,
    whitening,
)
from tobitgp.inference.feature_posterior import FeaturePosterior
from tobitgp.inference.fitted import Task, neighbouring, some_rows
from tobitgp.inference.fixed_point import Kept, find_posterior, seed
from tobitgp.inference.frozen import Frozen
from tobitgp.inference.inducing import move_inducing
from tobitgp.inference.input_scaling import log_scales
from tobitgp.inference.method import EPUpdates, Method, loosened
from tobitgp.inference.multistart import APART, LOOSE, Growth, likely_precisions
from tobitgp.inference.partitioned import PartitionedRows, cut
from tobitgp.inference.screening import MOST_LOADINGS, MoveKind, ScaleCandidate, screen
from tobitgp.inference.search_settings import OnStep, Settings, Step
from tobitgp.inference.sites_held import ascend_held
from tobitgp.inference.structured import CHECKED, gain_of_neighbours, gain_of_parameters
from tobitgp.inference.vi import VIUpdates
from tobitgp.likelihoods.censoring_noise import with_side_noises
from tobitgp.priors.choice import DENSE_PLACES, choose_blocks, structure_of, with_neighbours
from tobitgp.priors.kernel_block import KernelBlock
from tobitgp.priors.level_curves import LevelCurvesBlock
from tobitgp.priors.prior import Prior
from tobitgp.priors.structure import Block, distinct, split_theta
from tobitgp.typing import Array

NATS = 0.01
FIRST_CAP, SHORT_CAP, CAP = 100, 200, 500
SEARCH_ROWS, DENSE_ROWS, GROWN_ROWS, SAMPLE_ROWS = 300, 100, 2500, 20_000
AGREED = 0.05  # nats, of features that stay with those chosen anew
FINER = 4.0  # times less may features that stay leave than those chosen anew: parameters move away from theirs
ROUGHER = 0.1  # so much shorter may log length-scales be than those at which features stay
USUAL_EVALUATIONS = 4  # on all rows, once a sample has predicted where they lead
NEIGHBOURS = 3.0  # times the rows of a sample, from which a maximum on neighbours is worth its time
RUNS = 3
MORE = 1.1  # times the features, for another approach
DENSE_WORK = 2e9  # rows times the square of basis functions
WORK_OF_FIELDS = 8.0  # times that, of few distinct rows of several inputs
TOL, SAMPLE_TOL = 1e-6, 1e-3
NEWTON_STEPS, BFGS_STEPS = 10, 30
CONVERGED, SHARE_OF_GAP = 1e-3, 1e-3  # nats, and times those that features leave, that a Newton step may gain
LARGEST = 1e150
OTHER_MAXIMUM = "another maximum"
ROUNDS, GAINED, FAR = 4, 0.05, 3.0
STRAYED, FEW_COPIES = 1.5, 2.0  # rows of all to those of a sample, below which they show little more
WORTH: dict[MoveKind, float] = {"replace": 1.0, "add": 3.0}  # nats that screening must predict for a climb


class Search:
    """The stages of one fit, which share data, settings and a growing trace."""

    def __init__(self, task: Task, method: Method, settings: Settings, on_step: OnStep | None = None):
        self.whole = task
        self.data, self.task = task.sampled(SAMPLE_ROWS, settings.rng)
        self.problem, self.prior, self.parameters = self.task.problem, self.task.prior, self.task.parameters
        self.method, self.last, self.settings = method.pilot(), method, settings
        self.likelihood = with_side_noises(task.likelihood, self.parameters.roles)
        self.concave = task.likelihood.over(self.data.kinds).log_concave
        self.on_step = on_step
        self.tol = settings.tol or (TOL if self.data.n <= SAMPLE_ROWS else SAMPLE_TOL)
        self.copies = self.data.weight / float(self.problem.weight.sum())
        self.precision: Array | None = None
        self.sampled: FeaturePosterior | None = None
        self.growth = Growth.usual(self.prior, self.parameters)
        self.stages: list[tuple[str, int, int, float]] = []
        self.grows, self.fell_back = self.problem.n > 3 * GROWN_ROWS, False
        self.others: list[tuple[float, Array]] = []
        self.strayed: list[ScaleCandidate] = []  # of screenings, from which a climb led elsewhere
        # Only along a single input can rows be dense enough to show length-scales that need many features.
        self.periods = multistart.unknown_periods(self.problem, self.prior.gps, self.parameters)
        self.single = any(
            gp.inputs.X.shape[1] == 1 and any(factor.n_scales for factor in gp.covariance.factors[:1])
            for gp in self.prior.gps
        )
        self.first_cap, self.cap = SHORT_CAP if self.single else FIRST_CAP, CAP

    def run(self) -> EvidenceMaximum:
        """The maximum, in what was maximised."""
        theta = np.where(np.isnan(self.parameters.start), self.parameters.prior_mean, self.parameters.start)
        try:
            maximum = self._find(theta)
        except EPFailure as failure:
            self._fall_back()
            # Without a stage that ended nothing was found that another method could start from.
            maximum = self._maximise(failure.theta) if self.stages else self._find(theta)
        except NumericalError:
            if not isinstance(self.method, EPUpdates) or self.concave:
                raise
            self._fall_back()
            maximum = self._find(theta)
        maximum = self._with_neighbours(maximum)
        return self._move(maximum) if self.prior.moves else maximum

    def _with_neighbours(self, maximum: EvidenceMaximum) -> EvidenceMaximum:
        """The maximum with neighbours for features where twice as many would change less than features leave."""
        left, objective = nats_left(maximum.posterior), maximum.objective
        if left <= COARSE or self.problem.n < self.data.n or maximum.posterior.field is not None:
            return maximum
        prior = with_neighbours(self.prior, maximum.theta, objective.precisions, cap=self.cap)
        if prior is None:
            return maximum
        with contextlib.suppress(NumericalError, EPFailure):
            other = self._objective("neighbours", self.data, prior, maximum.theta, objective.precisions, self.cap)
            found = other.settle(maximum.free).posterior
            assert found.field is not None
            changed = gain_of_neighbours(found.field, found.w)
            changed *= max(len(found.field.lambda2) / CHECKED, 1.0)
            self._log(f"twice the neighbours would change {changed:.2g} nats", other, found.evidence)
            if abs(changed) < left:
                features, self.prior = self.prior, prior
                again = self._maximise(maximum.theta)
                if again.posterior.converged:
                    return again
                self.prior = features
        return maximum

    def _find(self, theta: Array) -> EvidenceMaximum:
        """Search and maximum."""
        if not self.parameters.n_free:
            return self._maximise(theta)
        if self.settings.near is not None:
            # Where nothing was learned on the way, fixed points may not be reached that a search does reach.
            with contextlib.suppress(EPFailure, NumericalError):
                return self._near(theta, self.settings.near)
        theta, scale = self._on_some_rows(self._search, theta)
        inverse = None
        if scale is not None and self.grows:
            theta, scale = self._on_some_rows(self._grow, theta, scale)
        expected = None
        if self.problem.n < self.data.n:
            theta, inverse = self._refine(theta, scale)
            with contextlib.suppress(NumericalError, EPFailure):
                theta, inverse = self._on_neighbours(theta, inverse)
            with contextlib.suppress(NumericalError):
                expected = self._freeze(theta, inverse)
        return self._screen(self._as_started(self._maximise(theta, scale, inverse, expected)))

    def _near(self, theta: Array, covariance: Array) -> EvidenceMaximum:
        """The maximum near that of a fit of nearly the same rows, without a search for others."""
        if self.problem.n == self.data.n:
            return self._maximise(theta)
        free, expected = self.parameters.free, None
        sample, precision = cut(self.problem, self.prior.inputs), likely_precisions(self.problem, theta)
        objective = self._objective("sample", sample, self.prior, theta, precision, CAP)
        self.sampled = objective.settle(theta[free]).posterior
        self.precision, inverse = self.copies * objective.precisions, covariance[np.ix_(free, free)]
        with contextlib.suppress(NumericalError):
            expected = self._freeze(theta, inverse)
        return self._maximise(theta, inverse=inverse, expected=expected)

    def _on_some_rows(self, stage: Callable[..., Any], *given: Any) -> Any:
        """A stage on a subset of the rows, by variational inference where expectation propagation fails on these few.

        A level may have only censored rows there, and under a flat prior no posterior.
        """
        try:
            return stage(*given)
        except EPFailure:
            if self.problem.n <= SEARCH_ROWS:
                raise
            method, self.method = self.method, VIUpdates()
            try:
                return stage(*given)
            finally:
                self.method = method

    def _as_started(self, maximum: EvidenceMaximum) -> EvidenceMaximum:
        """The maximum, or a higher one from where the user starts; on few rows that start was followed before."""
        started = self.parameters.free & ~np.isnan(self.parameters.start)
        if self.problem.n <= SEARCH_ROWS or not started.any():
            return maximum
        found = self._from(np.where(started, self.parameters.start, maximum.theta), maximum, "start=")
        return maximum if found is None or found.value < maximum.value else found

    def _screen(self, maximum: EvidenceMaximum) -> EvidenceMaximum:
        """The maximum, or a higher one from where a screening of all rows predicts it."""
        octave = self._other_octave(maximum)
        ends = [] if octave is None else [maximum, octave]
        maximum = max([maximum, *ends], key=multistart.value_of)
        for _ in range(ROUNDS):
            candidate = self._worth_a_climb(maximum.posterior, maximum.value)
            if candidate is None:
                break
            why = candidate.described(self.parameters) if candidate.gain >= FAR else ""
            found = self._from(candidate.theta, maximum, why)
            if found is None or np.abs(found.theta - candidate.theta)[candidate.scales].max() > STRAYED:
                self.strayed.append(candidate)
            if found is None:
                break
            ends += [maximum, found]
            if found.value < maximum.value + GAINED:
                break
            maximum = found
        apart = [end for end in ends if np.abs(end.free - maximum.free).max() > APART]
        if apart:
            self.others = sorted(((maximum.value - end.value, end.theta) for end in apart), key=itemgetter(0))
            self.stages = [stage for stage in self.stages if not stage[0].startswith(OTHER_MAXIMUM)]
            self.stages += [(OTHER_MAXIMUM, 0, 0, maximum.value - less) for less, _ in self.others]
        if ends and self.stages[-1][3] < maximum.value:
            self.stages.append(("highest maximum", 0, 0, maximum.value))
        return maximum

    def _other_octave(self, known: EvidenceMaximum) -> EvidenceMaximum | None:
        """Where a multiple of a period leads on all rows, if it begins near the maximum or above."""
        found: list[tuple[float, Array]] = []
        if self.problem.n < self.data.n:  # its sample was asked
            return None
        for free in multistart.other_octaves(self.parameters, known.theta, self.periods):
            theta = known.objective.theta(free)
            precision = self.copies * likely_precisions(self.problem, theta)
            value = self._objective("octave", self.data, self.prior, theta, precision, self.cap, LOOSE).value(free)
            found.append((value, theta))
        value, theta = max(found, key=itemgetter(0), default=(-np.inf, known.theta))
        return self._from(theta, known, "a multiple of the period") if value > known.value - FAR else None

    def _worth_a_climb(self, posterior: FeaturePosterior, value: float) -> ScaleCandidate | None:
        """The candidate with most to gain, if it is much."""
        for kind, least in WORTH.items():
            # Beside long tails an outlier's site is all but flat, and its score no sign of another component.
            if kind == "add" and (not self.concave or posterior.layout.row_features * self.data.n > MOST_LOADINGS):
                break
            screened = screen(posterior, self.prior, self.parameters, kind)
            best = screened.best
            if best is None:
                break
            self.stages.append((f"screening: {best.described(self.parameters)}", screened.n, 0, value))
            # A longer component has been found before, or is for a term of its own.
            shorter = bool((best.theta < posterior.theta - APART)[best.scales].any())
            again = any(best.is_like(other, APART) for other in self.strayed)
            if best.gain >= least and (kind == "replace" or shorter) and not again and self._holds(best, posterior):
                return best
        return None

    def _holds(self, candidate: ScaleCandidate, posterior: FeaturePosterior) -> bool:
        """Whether a structure confirms, with no cells and all knots, what is predicted of its parameters."""
        field, first = posterior.field, 0 if self.prior.linear is None else 1
        if field is None or candidate.term + first not in field.blocks:
            return True
        parts = split_theta(self.prior.gps, candidate.theta)
        theta = [parts[block - first] for block in field.blocks.tolist()]
        return gain_of_parameters(field, posterior.w, theta) >= WORTH[candidate.kind]

    def _from(self, theta: Array, known: EvidenceMaximum, why: str) -> EvidenceMaximum | None:
        """Maximum on all rows that a climb from there leads to; None where it is the known one or far below it."""
        try:
            if self.grows:
                near = self._grow(theta, None)[0]
                # What takes more rows to see than the subset has is not seen there: the climb is another one.
                theta = near if np.abs(near - theta)[self.parameters.free].max() < STRAYED else theta
            precision = self.copies * likely_precisions(self.problem, theta)
            objective = self._objective("climb", self.data, self.prior, theta, precision, SHORT_CAP, LOOSE)
            free = climb(objective, theta[self.parameters.free], tol=0.5, max_iter=self.settings.max_iter)
            value = objective.value(free)
            self._log("climb", objective, value)
            if value < known.value - FAR or np.abs(free - known.free).max() < APART:
                return None
            return self._maximise(objective.theta(free))
        except (NumericalError, EPFailure):
            if why:
                warn(f"The search from another place broke down ({why}); the maximum reported may not be the highest.")
            return None

    def _fall_back(self) -> None:
        self.fell_back, self.method, self.last = True, VIUpdates(), VIUpdates()
        warn(
            "Expectation propagation did not converge, or led to no maximum; variational inference took over, and the "
            "evidence is a bound. Check for weights below 1, extreme limits and windows that leave little to see; "
            "method='vi' asks for this directly."
        )

    def _search(self, theta: Array) -> tuple[Array, Array | None]:
        """Best of several starts, and the curvature there; on a subset of the rows where there are many."""
        problem, prior, parameters = self.problem, self.prior, self.parameters
        many = problem.n > SEARCH_ROWS
        if many:
            problem, rows = some_rows(problem, prior, SEARCH_ROWS, self.settings.rng)
            prior = prior.subset(rows)
        data = cut(problem, prior.inputs)

        def objective(start: Array, last: Objective | None, tol: float) -> Objective:
            # Short length-scales need more inducing inputs.
            here = theta.copy()
            here[parameters.free] = start
            if last is not None:
                return self._objective("search", last.data, prior, here, last.precisions, CAP, tol)
            precision = likely_precisions(problem, here)
            return self._objective("search", data, prior, here, precision, self.first_cap, tol)

        tries = multistart.Tries(objective, parameters, data.weight, self.settings.max_iter)
        short = self.single and self.problem.n >= DENSE_ROWS
        periods = self.periods
        spaced = log_scales(self.prior.gps, len(theta))
        candidates = multistart.starts(
            parameters, self.settings.n_starts, tries.rough_value, short=short, periods=periods, spaced=spaced
        )
        ends = tries.ends(candidates)
        found = max(ends, key=multistart.value_of)
        if LARGEST < abs(found.value) < np.inf:
            raise NumericalError("The evidence is too large for products of its slopes.")
        if len(candidates) > 1:
            ends += tries.beside(found)
            found = max(ends, key=multistart.value_of)
        if periods:
            others = multistart.other_octaves(parameters, found.theta, periods)
            found = max([found, *map(tries.end, others)], key=multistart.value_of)
        self.others = multistart.other_maxima(found, ends)
        work = sum(o.evaluations for o in tries.made), sum(o.iterations for o in tries.made)
        self.stages.append(("search", *work, found.value))
        of_rows = f", {problem.n} rows" if many else ""
        self.stages += [(OTHER_MAXIMUM + of_rows, 0, 0, found.value - less) for less, _ in self.others]
        return found.theta, whitening(found.objective, found.free) if many else None

    def _grow(self, theta: Array, scale: Array | None) -> tuple[Array, Array]:
        """Better place, and the curvature there, on a larger subset."""
        problem, rows = some_rows(self.problem, self.prior, GROWN_ROWS, self.settings.rng)
        prior = self.prior.subset(rows)
        data, precision = cut(problem, prior.inputs), likely_precisions(problem, theta)
        stage = f"rough search, {problem.n} rows"
        objective = self._objective(stage, data, prior, theta, precision, self.first_cap, LOOSE)
        free = climb(objective, theta[self.parameters.free], scale, tol=0.1, max_iter=self.settings.max_iter)
        value, scale = objective.value(free), whitening(objective, free)
        self._log(stage, objective, value)
        return objective.theta(free), scale

    def _refine(self, theta: Array, scale: Array | None) -> tuple[Array, Array]:
        """Maximum on the sample, and the inverse curvature (k_free, k_free) that it predicts for all rows."""
        sample = replace(self.task, data=cut(self.problem, self.prior.inputs))
        part = Search(sample, loosened(self.method, LOOSE), replace(self.settings, tol=SAMPLE_TOL), self.on_step)
        if scale is not None and self.grows:
            root = scale / self.growth.factor(self.problem.n / GROWN_ROWS)[:, None]
            maximum = part._maximise(theta, inverse=root @ root.T)
            root = refined_root(maximum.objective, maximum.free, maximum.root)
            maximum = part._screen(replace(maximum, root=root))
        else:
            maximum = part._screen(part._maximise(theta, scale))
        self.precision = self.copies * maximum.objective.precisions
        self.sampled, self.strayed = maximum.posterior, part.strayed if self.copies < FEW_COPIES else []
        if scale is not None and self.grows:
            self.growth = self.growth.learned(scale, maximum.root, self.problem.n / GROWN_ROWS)
        self.stages += [(f"{stage[0]}, {self.problem.n} rows", *stage[1:]) for stage in part.stages]
        root = maximum.root / self.growth.factor(self.copies)[:, None]
        return maximum.theta, root @ root.T

    def _on_neighbours(self, theta: Array, inverse: Array) -> tuple[Array, Array]:
        """Maximum on neighbours along a single input where a chain takes all rows, and the inverse curvature for these.

        They are as many times more than the sample as all rows are more than they. A row among its neighbours tells
        what it tells among all rows, which a row of the sample does not.
        """
        of_chain = [gp.inputs for gp in self.whole.prior.gps if structure_of(gp) == "markov"]
        size = int(np.sqrt(self.problem.n * self.data.n))
        structured = self.sampled is not None and self.sampled.field is not None
        if not (structured and of_chain) or self.whole.data is not None or size < NEIGHBOURS * self.problem.n:
            return theta, inverse
        assert self.precision is not None
        rows = neighbouring(of_chain[0], size)
        data = cut(self.whole.problem.take(rows), self.whole.prior.subset(rows).inputs)
        stage, fewer = f"neighbours, {data.n} rows", data.n / self.data.n
        objective = self._objective(stage, data, self.prior, theta, fewer * self.precision, self.cap, LOOSE)
        found = ascend_with(objective, theta[self.parameters.free], inverse / fewer, tol=self.tol, max_iter=BFGS_STEPS)
        root = refined_root(objective, found.free, found.root)
        self._log(stage, objective, found.value)
        return found.theta, fewer * root @ root.T

    def _freeze(self, theta: Array, inverse: Array) -> EvidenceMaximum | None:
        """Maximum on all rows with features that stay, where these are enough."""
        scales = np.array(self.parameters.roles)[self.parameters.free] == "lengthscale"
        assert self.precision is not None
        found = None
        for _ in range(RUNS):
            if self.sampled is None or self.sampled.field is not None or self.sampled.layout.has_sparse:
                break
            if self.data.n_scales:  # known sites move with the noise of their rows
                break
            stage, free = f"fixed features, {self.data.n} rows", theta[self.parameters.free]
            data = self._seeded(self.data)
            objective = self._objective(stage, data, self.prior, theta, FINER * self.precision, CAP, LOOSE)
            if any(isinstance(block, KernelBlock) and len(block.Z) >= CAP for block in objective.blocks):
                break
            if any(isinstance(block, LevelCurvesBlock) for block in objective.blocks):
                break
            kept, data = Frozen.of(data, objective.blocks, theta, self.method, self.likelihood)
            objective = replace(objective, data=data, kept=kept)
            found = ascend_held(objective, free, inverse, tol=self.tol, max_iter=BFGS_STEPS)
            self._log(stage, objective, found.value)
            self.data, theta, inverse = objective.data.thawed(), found.theta, found.root @ found.root.T
            found = replace(found, objective=replace(objective, data=self.data, kept=None, last=None))
            if (found.free > free - ROUGHER)[scales].all():
                break
        return found

    def _seeded(self, data: PartitionedRows) -> PartitionedRows:
        """The rows with sites that a sample predicts."""
        # Bounds converge as soon without; under noise that is not log-concave such sites may leave no posterior.
        sampled = self.sampled
        if data.warm or sampled is None or sampled.field is not None or not self.concave:
            return data
        if self.method.traits.ascends == "bound":
            return data
        there = data.at_scale(sampled.theta[self.parameters.scales]) if data.n_scales else data
        return seed(there, sampled, self.method, self.likelihood)

    def _maximise(
        self,
        theta: Array,
        scale: Array | None = None,
        inverse: Array | None = None,
        expected: EvidenceMaximum | None = None,
    ) -> EvidenceMaximum:
        """Runs on all rows, inducing inputs chosen anew between; from a curvature of a subset or an inverse one.

        What features that stay led to needs no more than its value confirmed.
        """
        if expected is not None:
            theta, inverse = expected.theta, expected.root @ expected.root.T
        data, sampled = self._seeded(self.data), self.problem.n < self.data.n
        precision = self.copies * likely_precisions(self.problem, theta) if self.precision is None else self.precision
        cap, features = self.first_cap, 0.0
        while scale is not None and inverse is None:
            # Too few features hold length-scales up, which nothing is gained from finding exactly.
            objective = self._objective("rough search", data, self.prior, theta, precision, cap, LOOSE)
            free = climb(objective, theta[self.parameters.free], scale, tol=0.1, max_iter=self.settings.max_iter)
            self._log("rough search", objective, objective.value(free))
            theta, data = objective.theta(free), objective.data
            precision = precision if sampled else objective.precisions
            found, cap = objective.settle(free), self.cap
            if found.row_features < MORE * features or nats_left(found.posterior) <= COARSE:
                break
            features = found.row_features
        for run in range(1, RUNS + 1):
            rough = LOOSE if inverse is not None and self.tol >= SAMPLE_TOL else 0.0
            objective = self._objective(f"run {run}", data, self.prior, theta, precision, self.cap, rough)
            free = theta[self.parameters.free]
            # To a finer tolerance than is usual, features made anew are climbed on.
            near = expected is not None and self.tol >= SAMPLE_TOL
            if near:
                objective.refine(self.method)
            if expected is not None and near and abs(objective.value(free) - expected.value) < AGREED:
                maximum = replace(expected, objective=objective, value=objective.value(free))
            elif inverse is not None:
                steps, tol = min(self.settings.max_iter, BFGS_STEPS), self._tolerance(objective, free)
                maximum = ascend_with(objective, free, inverse, tol=tol, max_iter=steps)
                objective.refine(self.method)
                maximum = replace(maximum, value=objective.value(maximum.free))
            if inverse is None or not near_enough(maximum):
                maximum = self._polished(objective, free if inverse is None else maximum.free)
            last = maximum.posterior
            self._log(f"run {run}", objective, maximum.value)
            done = last.converged and (self.concave or near_enough(maximum))
            if isinstance(self.method, EPUpdates) and not done:
                raise EPFailure(last.theta)
            if not maximum.smooth:  # features made anew do not smooth it
                break
            theta, data = last.theta, objective.data
            gap, full = nats_left(last), max(b.size for b in last.blocks) >= self.cap
            if gap <= 2.0 * NATS or (full and (gap <= COARSE or not self._raise_cap())):
                break
            precision = precision if sampled else objective.precisions
        return maximum

    def _polished(self, objective: Objective, free: Array) -> EvidenceMaximum:
        """Newton steps to the maximum, from where L-BFGS-B leads if they do not reach it."""
        steps, tol = min(self.settings.max_iter, NEWTON_STEPS), self._tolerance(objective, free)
        maximum = polish(objective, free, tol=tol, max_iter=steps)
        if not near_enough(maximum) and not objective.unreliable:
            free = climb(objective, maximum.free, tol=1e-3, max_iter=self.settings.max_iter)
            maximum = polish(objective, free, tol=tol, max_iter=steps)
        return maximum

    def _tolerance(self, objective: Objective, free: Array) -> float:
        """Nats that a Newton step may still gain: the fewer do not matter, the more features leave."""
        if all(not isinstance(block, KernelBlock) or len(block.Z) < self.cap for block in objective.blocks):
            return self.tol
        return max(self.tol, SHARE_OF_GAP * nats_left(objective.settle(free, slopes=True).posterior))

    def _raise_cap(self) -> bool:
        """Allow as many inducing inputs as there are rows, or as an evaluation takes seconds for, if that is more.

        Of few distinct rows of several inputs all are allowed.
        """
        fields = [gp.inputs for gp in self.prior.gps if gp.inputs.X.shape[1] > 1]
        few = bool(fields) and all(len(distinct(at)[0].X) <= DENSE_PLACES for at in fields)
        most = min(self.data.n, int(np.sqrt(DENSE_WORK * (WORK_OF_FIELDS if few else 1.0) / self.data.n)))
        more, self.cap = most > self.cap, max(most, self.cap)
        return more

    def _move(self, maximum: EvidenceMaximum) -> EvidenceMaximum:
        """Maximum with inducing inputs that ascended a bound; the one before where that finds nothing better."""
        objective = maximum.objective
        starts = [(objective.blocks, maximum.posterior)]
        if self.parameters.n_free:
            with contextlib.suppress(NumericalError):
                starts.append(self._free_start(starts[0][1].theta))
        if all(nats_left(at) <= NATS for _, at in starts):
            return maximum
        report = self.on_step
        on_step = None if report is None else lambda o, value: report(Step("inducing", o.evaluations, value))
        task = replace(self.task, data=objective.data, likelihood=self.likelihood)
        moved = move_inducing(task, starts, self.method, self.settings, on_step)
        if moved is None:
            return maximum
        self.stages.append(("inducing", moved.evaluations, moved.iterations, moved.value))
        precision = objective.precisions if self.precision is None else self.precision
        again = self._objective("moved", objective.data, moved.prior, moved.theta, precision, CAP)
        free = max((maximum.free, moved.theta[self.parameters.free]), key=again.value)
        found = self._polished(again, free)
        if not found.posterior.converged:
            return maximum
        self.prior = moved.prior
        self._log("moved", again, found.value)
        return found

    def _free_start(self, theta: Array) -> tuple[Sequence[Block], FeaturePosterior]:
        """Inducing inputs fit for hyper-parameters found with as many as it takes: few may show too smooth a curve."""
        task = replace(self.task, prior=self.prior.automatic(), data=self.data)
        theta = Search(task, self.method, self.settings, self.on_step)._search(theta)[0]
        precision = self.copies * likely_precisions(self.problem, theta)
        blocks = choose_blocks(self.prior, theta, precision, self.data.inputs, nats=NATS, cap=CAP)
        return blocks, find_posterior(self.data, blocks, theta, self.method, self.likelihood)

    def _objective(
        self,
        stage: str,
        data: PartitionedRows,
        prior: Prior,
        theta: Array,
        precision: Array,
        cap: int,
        tol: float = 0.0,
    ) -> Objective:
        """What is to be maximised, its sites converged to ``tol`` where the method's own is finer."""
        blocks = self.chosen(prior, theta, precision, data, cap)
        report, sampled = self.on_step, self.problem.n < self.data.n and data.n == self.data.n

        def on_step(objective: Objective, value: float) -> None:
            assert report is not None
            left = max(0, USUAL_EVALUATIONS - objective.evaluations) if sampled else None
            report(Step(stage, objective.evaluations, value, objective.iterations, data.n, left))

        method, steps = loosened(self.method, tol), None if report is None else on_step
        return Objective(data, blocks, method, self.likelihood, self.parameters, theta.copy(), steps, self.kept(blocks))

    def chosen(self, prior: Prior, theta: Array, precision: Array, data: PartitionedRows, cap: int) -> list[Block]:
        """Blocks fit for ``theta`` and site precisions (n,)."""
        return choose_blocks(prior, theta, precision, data.inputs, nats=NATS, cap=cap)

    def kept(self, blocks: Sequence[Block]) -> Kept | None:
        """What finds fixed points if the rows inform more than f; None here."""
        return None

    def precisions(self, data: PartitionedRows) -> Array:
        """Site precisions by which blocks are chosen, (n,)."""
        return precisions_of(data) if self.precision is None else self.precision

    @property
    def remedy(self) -> str:
        """How to come nearer to a maximum."""
        return self.last.written(max_iter=4 * self.settings.max_iter)

    def near_enough(self, maximum: EvidenceMaximum) -> bool:
        """Whether the search may end there."""
        return near_enough(maximum)

    def _log(self, stage: str, objective: Objective, value: float) -> None:
        self.stages.append((stage, objective.evaluations, objective.iterations, value))


def near_enough(maximum: EvidenceMaximum) -> bool:
    """Whether the gain of a Newton step is negligible relative to the approximation gap."""
    return maximum.gain_left <= max(CONVERGED, SHARE_OF_GAP * nats_left(maximum.posterior))


def warn(message: str) -> None:
    """Tell that a fit did not end as it should."""
    warnings.warn(message, ConvergenceWarning, stacklevel=user_level())
