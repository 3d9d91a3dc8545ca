"""The way to the maximum of the bound by batches of rows: a pilot on some rows, steps, sites of all rows at the end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

import numpy as np

from tobitgp.engines import add_up
from tobitgp.errors import NumericalError
from tobitgp.inference import site_updates
from tobitgp.inference.batches import batches
from tobitgp.inference.evidence_ascent import EvidenceMaximum, ascend_with
from tobitgp.inference.fitted import Task
from tobitgp.inference.frozen import Frozen, KnownMoments
from tobitgp.inference.method import Method
from tobitgp.inference.multistart import value_of
from tobitgp.inference.natural_steps import BatchModel, RowSums, StepState, follow_kernels
from tobitgp.inference.partitioned import RowPartition
from tobitgp.inference.search import BFGS_STEPS, CAP, GROWN_ROWS, ROUGHER, RUNS, SAMPLE_ROWS, Search, near_enough
from tobitgp.inference.search_settings import OnStep, Settings, Step
from tobitgp.numerics.sampling import generator
from tobitgp.priors.level_curves import LevelCurvesBlock
from tobitgp.typing import Array

PILOT_ROWS, PILOT_SHARE = GROWN_ROWS, 10  # in the pilot: so many rows, or one in ten where these are more
FASTER = 2.0  # times the length of a step of what is averaged, which remembers the pilot: that of parameters of noise
SETTLED = 1e-4  # how far sites of all rows converge at the end
SMOOTHER = 1.0  # so much longer may log length-scales be than those at which features stay
LONGEST = 1.0  # whole step of a logarithm
POINTS = 10  # of the path of the bound in an epoch, where parameters of kernels follow
RISE, RISE_PER_ROW = 0.1, 1e-4  # nats, the larger of these, that a Newton step may still gain
FEATURES_ONLY = ("auto", "low_rank", "features")  # approximations of processes that have features


class StochasticSearch(Search):
    """The stages of a fit by batches."""

    def __init__(self, task: Task, method: Method, settings: Settings, on_step: OnStep | None = None):
        assert settings.batches is not None
        self.batches = settings.batches
        for gp in task.prior.gps:
            if gp.approximation not in FEATURES_ONLY or gp.moves:
                what = "moved inducing inputs take" if gp.moves else f"approximation={gp.approximation!r} takes"
                self.batches.refuse(f"{what} all rows at once")
        n = task.problem.n if task.data is None else task.data.n
        self.per_epoch, self.epochs = self.batches.per_epoch(n), self.batches.n_epochs(n)
        gps = tuple(replace(gp, approximation="low_rank") for gp in task.prior.gps)
        task = replace(task, prior=replace(task.prior, gps=gps))
        if task.data is None and n <= SAMPLE_ROWS:
            data, task = task.sampled(max(PILOT_ROWS, n // PILOT_SHARE), settings.rng)
            task = replace(task, data=data)
        super().__init__(task, method, settings, on_step)

    def near_enough(self, maximum: EvidenceMaximum) -> bool:
        """Whether less is left than stochastic steps can tell, (SVB5)."""
        return near_enough(maximum) or maximum.gain_left < max(RISE, RISE_PER_ROW * self.data.weight)

    @property
    def remedy(self) -> str:
        """How to come nearer to a maximum."""
        return self.last.written(epochs=4 * self.epochs)

    def run(self) -> EvidenceMaximum:
        """The maximum by steps from that of a pilot."""
        theta, scale = (
            np.where(np.isnan(self.parameters.start), self.parameters.prior_mean, self.parameters.start),
            None,
        )
        near = self.settings.near
        if self.parameters.n_free and near is None:
            theta, scale = self._on_some_rows(self._search, theta)
            if scale is not None and self.grows:
                theta, scale = self._on_some_rows(self._grow, theta, scale)
        theta, inverse = self._refine(theta, scale)
        if near is not None:
            inverse = near[np.ix_(self.parameters.free, self.parameters.free)]
        return self._stepped(theta, inverse)

    def _stepped(self, theta: Array, inverse: Array) -> EvidenceMaximum:
        """The end of the steps, with the sites of all rows at the hyper-parameters there."""
        scales, pilot = np.array(self.parameters.roles) == "lengthscale", theta
        for _ in range(RUNS):
            model, start = self._begin(theta)
            state = self._steps(model, start, inverse)
            moved = (state.theta - theta)[scales]
            if ((moved > -ROUGHER) & (moved < SMOOTHER)).all():
                break
            theta = state.theta
        maximum = self._on_all_rows(state.theta, inverse, model, state)
        if not self.near_enough(maximum):  # outliers may lead steps far away: all rows lead on from the better end
            maximum = max(maximum, self._on_all_rows(pilot, inverse, *self._begin(pilot)), key=value_of)
            objective, free = maximum.objective, maximum.free
            maximum = ascend_with(objective, free, inverse, tol=self._tolerance(objective, free), max_iter=BFGS_STEPS)
            self._log("all rows", objective, maximum.value)
        return maximum

    def _on_all_rows(self, theta: Array, inverse: Array, model: BatchModel, state: StepState) -> EvidenceMaximum:
        """Sites of all rows that belong to hyper-parameters, (k,)."""
        data = self.data.at_scale(theta[self.parameters.scales]) if self.data.n_scales else self.data
        data = data.starting(data.partitions.map(site_updates.seeded, model.setting(theta), state.q))
        assert self.precision is not None
        data = replace(data, lean=True)
        objective = self._objective("all rows", data, self.prior, theta, self.precision, CAP, SETTLED)
        maximum = ascend_with(objective, theta[self.parameters.free], inverse, tol=self.tol, max_iter=0)
        self._log("all rows", objective, maximum.value)
        return maximum

    def _begin(self, theta: Array) -> tuple[BatchModel, StepState]:
        """Features fit for all rows, and a posterior at which all rows say what those of the pilot do."""
        assert self.precision is not None
        assert self.sampled is not None
        blocks = self.chosen(self.prior, theta, self.precision, self.data, CAP)
        if any(isinstance(block, LevelCurvesBlock) for block in blocks):
            self.batches.refuse("correlated curves take all rows at once")
        pilot = self.sampled.rows.map(site_updates.ended)
        frozen = Frozen.without_rows(blocks, theta)
        if frozen.layout.has_sparse:
            self.batches.refuse("random effects of several groupings with so many levels take all rows at once")
        model = BatchModel(frozen, self.method, self.likelihood.over(self.data.kinds), self.data.n_scales)
        known, G, r = add_up(pilot.collect(model.sums, theta))
        sums = RowSums(KnownMoments(*known), G, r)
        return model, StepState.of(model, sums.times(self.copies), theta)

    def _steps(self, model: BatchModel, state: StepState, inverse: Array) -> StepState:
        """All steps; the path of the bound is among the stages, each point a mean over the batches of an epoch."""
        rng, free = generator(self.settings.rng), self.parameters.free
        noise = np.flatnonzero(free[model.n_kernel :])
        own = np.arange(len(inverse) - len(noise), len(inverse))  # among those that are free
        inverse, bounds = inverse[np.ix_(own, own)], (self.parameters.least[own], self.parameters.most[own])
        n_steps, every, path = self.per_epoch * self.epochs, max(1, self.per_epoch // POINTS), []
        epochs = 0  # that are in the path
        for t, part in enumerate(self._all_batches(rng), start=1):
            visited, rho = model.visit(part, state, self.per_epoch), self.batches.step_length(t, self.problem.n)
            log_prior, slopes = self.parameters.log_prior(state.theta)
            path.append(visited.bound + log_prior)
            theta, gradient = state.theta.copy(), (state.gradient(visited.slopes) + slopes)[model.n_kernel :][noise]
            step = min(FASTER * rho, 1.0) * np.clip(inverse @ gradient, -LONGEST, LONGEST)
            theta[model.n_kernel + noise] = np.clip(theta[model.n_kernel + noise] + step, *bounds)
            with suppress(NumericalError):  # a batch of outliers may leave no posterior
                state = StepState.of(model, state.sums.towards(visited.sums, rho), theta)
            if t % every and t < n_steps:
                continue
            state = follow_kernels(model, state, self.parameters)
            value = float(np.mean(path[-self.per_epoch :]))
            done = t // self.per_epoch
            self.stages.append(("batches", t, done - epochs, value))
            epochs = done
            if self.on_step is not None:
                self.on_step(Step("batches", t, value, rows=self.batches.size, left=n_steps - t))
        return state

    def _all_batches(self, rng: np.random.Generator) -> Iterator[RowPartition]:
        for _ in range(self.epochs):
            yield from batches(self.data.partitions, self.batches, rng)
