"""The way to the maximum of the bound by batches of rows: a pilot on some rows, steps, sites of all rows at the end."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tobitgp.engines import add_up
from tobitgp.errors import SpecError
from tobitgp.inference import site_updates
from tobitgp.inference.batches import Batches, batches
from tobitgp.inference.evidence_ascent import EvidenceMaximum, ascend_with
from tobitgp.inference.fitted import OnStep, Settings, Step, Task
from tobitgp.inference.frozen import Frozen, KnownMoments
from tobitgp.inference.method import Method
from tobitgp.inference.natural_steps import BatchModel, RowSums, StepState
from tobitgp.inference.search import CAP, SAMPLE_ROWS, SEARCH_ROWS, Search, near_enough
from tobitgp.numerics.sampling import generator
from tobitgp.priors.level_curves import LevelCurvesBlock
from tobitgp.priors.structure import Block
from tobitgp.typing import Array

PILOT_SHARE = 10  # one in so many rows is in the pilot, where there are few
POINTS = 100  # of the path of the bound
RISE, RISE_PER_ROW = 0.1, 1e-4  # nats, the larger of these, that a Newton step may still gain
FEATURES_ONLY = ("auto", "low_rank", "features")  # approximations of processes that have features


class StochasticSearch(Search):
    """The stages of a fit by batches."""

    def __init__(self, task: Task, method: Method, settings: Settings, on_step: OnStep | None = None):
        assert settings.batches is not None
        self.batches: Batches = settings.batches
        for gp in task.prior.gps:
            if gp.approximation not in FEATURES_ONLY or gp.moves:
                what = "moved inducing inputs" if gp.moves else f"approximation={gp.approximation!r}"
                self._refuse(f"{what} take all rows at once")
        n = task.problem.n if task.data is None else task.data.n
        self.per_epoch = self.batches.per_epoch(n)
        gps = tuple(replace(gp, approximation="low_rank") for gp in task.prior.gps)
        task = replace(task, prior=replace(task.prior, gps=gps))
        if task.data is None and n <= SAMPLE_ROWS:
            data, task = task.sampled(max(SEARCH_ROWS, n // PILOT_SHARE), settings.rng)
            task = replace(task, data=data)
        super().__init__(task, method, settings, on_step)

    def _refuse(self, why: str) -> None:
        raise SpecError(f"batch={self.batches.size}: {why}. Leave batch= out, or change the term.")

    def near_enough(self, maximum: EvidenceMaximum) -> bool:
        """Whether less is left than stochastic steps can tell, (SVB5)."""
        return near_enough(maximum) or maximum.gain_left < max(RISE, RISE_PER_ROW * self.data.weight)

    def run(self) -> EvidenceMaximum:
        """The maximum by steps from that of a pilot."""
        theta, scale = np.where(np.isnan(self.parameters.start), self.parameters.prior_mean, self.parameters.start), None
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
        """Where steps lead, with sites of all rows that go with the hyper-parameters there."""
        model, state = self._begin(theta)
        state = self._steps(model, state, inverse)
        there = model.setting(state.theta)
        data = self.data.starting(self.data.partitions.map(site_updates.seeded, there, state.q))
        assert self.precision is not None
        objective = self._objective("all rows", data, self.prior, state.theta, self.precision, CAP)
        free = state.theta[self.parameters.free]
        maximum = ascend_with(objective, free, inverse, tol=self.tol, max_iter=0)
        self._log("all rows", objective, maximum.value)
        return maximum

    def _begin(self, theta: Array) -> tuple[BatchModel, StepState]:
        """Features fit for all rows, and a posterior at which all rows say what those of the pilot do."""
        assert self.precision is not None
        assert self.sampled is not None
        blocks = self.chosen(self.prior, theta, self.precision, self.data, CAP)
        self._check(blocks)
        pilot = self.sampled.rows.map(site_updates.ended)
        frozen = Frozen.without_rows(blocks, theta)
        if frozen.layout.has_sparse:
            self._refuse("random effects of several groupings with so many levels take all rows at once")
        model = BatchModel(frozen, self.method, self.likelihood.over(self.data.kinds))
        known, G, r = add_up(pilot.collect(model.sums, theta))
        sums = RowSums(KnownMoments(*known), G, r)
        return model, StepState.of(model, sums.times(self.copies), theta)

    def _check(self, blocks: list[Block]) -> None:
        if any(isinstance(block, LevelCurvesBlock) for block in blocks):
            self._refuse("correlated curves have features that move with their parameters")

    def _steps(self, model: BatchModel, state: StepState, inverse: Array) -> StepState:
        """All steps; the path of the bound is in the stages, each point the mean since the one before."""
        rng, parameters, free = generator(self.settings.rng), self.parameters, self.parameters.free
        n_steps, found = self.per_epoch * self.batches.epochs, []
        marks = set(np.unique(np.linspace(0, n_steps, POINTS + 1).round().astype(np.int64)).tolist())
        t = 0
        for _ in range(self.batches.epochs):
            for part in batches(self.data.partitions, self.batches, rng):
                t += 1
                visited = model.visit(part, state, self.per_epoch)
                log_prior, slopes = parameters.log_prior(state.theta)
                found.append(visited.bound + log_prior)
                gradient = (state.gradient(visited.slopes) + slopes)[free]
                rho, theta = self.batches.step_length(t), state.theta.copy()
                theta[free] = parameters.clip(theta[free] + rho * (inverse @ gradient))
                state = StepState.of(model, state.sums.towards(visited.sums, rho), theta)
                if t in marks:
                    value = float(np.mean(found))
                    self.stages.append(("batches", t, -(-t // self.per_epoch), value))
                    found = []
                    if self.on_step is not None:
                        self.on_step(Step("batches", t, value, rows=self.batches.size, left=n_steps - t))
        return state
