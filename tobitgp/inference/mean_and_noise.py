"""Processes in the mean and in log sigma together: their fixed point, and the way to its maximum.

Rows tell little of log sigma where the curve is not known, so the search begins where that of one noise scale ended.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from operator import itemgetter
from typing import ClassVar

import numpy as np

from tobitgp.engines import LocalPartitions
from tobitgp.errors import NumericalError
from tobitgp.inference import site_updates
from tobitgp.inference.evidence import nats_left
from tobitgp.inference.evidence_ascent import INFEASIBLE, EPFailure, EvidenceMaximum, climb
from tobitgp.inference.feature_posterior import FeaturePosterior, Settled
from tobitgp.inference.input_scaling import log_scales
from tobitgp.inference.method import EPUpdates, Method
from tobitgp.inference.multistart import LOOSE
from tobitgp.inference.pair_rules import RULES
from tobitgp.inference.pair_sites import PairEnd, PairRows, gradient, iterate, start_sites
from tobitgp.inference.partitioned import PartitionedRows, RowPartition, Sites, cut
from tobitgp.inference.search import CAP, NATS, RUNS, Search, near_enough
from tobitgp.likelihoods.censoring_noise import Spread
from tobitgp.likelihoods.row_terms import Likelihood
from tobitgp.priors.choice import choose_blocks
from tobitgp.priors.prior import Prior
from tobitgp.priors.structure import Block, split_theta
from tobitgp.typing import Array, BoolArray

NEAR_BY = EPUpdates(tol=1e-2, max_iterations=100, floored=True)  # finds where every method starts
# Standard deviation and length-scales of log sigma from which a search starts, standardised.
STARTS = ((0.5, 1.0), (0.5, 0.3), (0.15, 1.0))
LEAST = np.log(1e-4)  # of noise over what is usual, below which it is on its way to 0 at values that rows share
_NO_END = (
    "method={0!r} does not converge with this sigma=. A value that many rows share, or rows that are copies "
    "of others, have no noise at all: if they are limits, write censor(), and if they are repeats, use "
    "var_weights=. Columns, as in sigma='~ x', are supported by every method"
)


@dataclass(frozen=True, slots=True)
class Pairs:
    """The fixed point of a method in f and log sigma, for a search."""

    blocks: Sequence[Block]
    noise: tuple[int, ...]  # blocks of log sigma
    from_flat: ClassVar[bool] = True

    def settle(
        self, data: PartitionedRows, theta: Array, method: Method, likelihood: Likelihood, slopes: bool, windows: bool
    ) -> Settled:
        """From the sites of the rows; where these do not converge, from others none of which has negative precision."""
        assert isinstance(data.partitions, LocalPartitions)
        part: RowPartition = data.partitions.items[0]
        at = tuple(b.at(t) for b, t in zip(self.blocks, split_theta(self.blocks, theta), strict=True))
        rows = PairRows.of(part, at, frozenset(self.noise), windows=windows, slopes=slopes)
        noise, sigma = likelihood.at(theta), float(np.exp(theta[-1]))
        end = self._fixed_point(rows, part.sites, method, noise, sigma)
        if end.p.mean[:, 1].min() < LEAST:
            raise EPFailure(theta)
        there = data.starting(LocalPartitions([replace(part, sites=end.sites)]))
        extra = len(theta) - 1 - data.n_scales - sum(block.n_parameters for block in self.blocks)
        rule = RULES[method.evidence_kind]
        slope = gradient(end, rule, rule.view(noise, method), sigma, extra) if slopes else None
        ended = end.evidence, end.iterations, end.residual, end.converged, rows.layout.row_features
        return Settled(theta, *ended, slope, there, partial(_completed, there, theta, method, noise, end))

    def _fixed_point(
        self, rows: PairRows, sites: Sites | None, method: Method, likelihood: Likelihood, sigma: float
    ) -> PairEnd:
        def run(start: Sites, method: Method, floor: bool) -> PairEnd:
            rule = RULES[method.evidence_kind]
            noise, tol, most = rule.view(likelihood, method), method.tol, method.max_iterations
            return iterate(rows, start, rule, noise, sigma, tol=tol, most=most, floor=floor)

        def tried(start: Sites) -> PairEnd | None:
            with contextlib.suppress(NumericalError):
                end = run(start, method, floor=False)
                return end if end.converged else None
            return None

        if isinstance(method, EPUpdates) and method.floored:
            return run(rows.start if sites is None else sites, method, floor=True)
        if sites is not None and (end := tried(sites)):
            return end
        near = run(rows.start, NEAR_BY, floor=True)
        end = tried(near.sites) if near.converged else None
        # Of another method nothing is known there.
        return end or replace(near, D=near.D if isinstance(method, EPUpdates) else -np.inf, converged=False)


def _completed(
    data: PartitionedRows, theta: Array, method: Method, likelihood: Likelihood, end: PairEnd
) -> FeaturePosterior:
    rows = end.data
    setting = site_updates.Setting(rows.blocks, rows.layout, method, Spread(likelihood), float(np.exp(theta[-1])))
    states = data.partitions.map(site_updates.arranged, setting, site_updates.NO_ROOM, True)
    ended = end.evidence, end.iterations, end.residual, end.converged
    q, noise = end.p.q, tuple(sorted(rows.noise))
    return FeaturePosterior(
        theta, rows.blocks, rows.layout, q.w, q.factor, *ended, None, states, noise=noise, pairs=end
    )


class PairSearch(Search):
    """The stages of a fit with processes in log sigma."""

    def run(self) -> EvidenceMaximum:
        """The maximum, from that with one noise scale; by floored sites where those of EP do not converge."""
        theta, sites = self._with_one_scale()
        data = cut(self.problem, self.prior.inputs, sites)
        floored = [replace(self.method, floored=True)] if isinstance(self.method, EPUpdates) else []
        for method in (self.method, *floored):
            self.method = self.last = method
            with contextlib.suppress(NumericalError, EPFailure):
                return self._highest(theta, data)
        raise NumericalError(_NO_END.format(self.method.name))

    def _highest(self, theta: Array, data: PartitionedRows) -> EvidenceMaximum:
        """The highest of the maxima that starts lead to."""
        starts = self._starts(theta)
        if not self.parameters.n_free:
            return self._maximised(starts[0], data)
        ends = []
        for start in starts:
            objective = self._objective("noise scale", data, self.prior, start, precisions(data), CAP, LOOSE)
            with contextlib.suppress(NumericalError, EPFailure):
                free = climb(objective, start[self.parameters.free], tol=0.5, max_iter=self.settings.max_iter)
                ends.append((objective.value(free), objective.theta(free), objective.data))
                self._log("noise scale", objective, ends[-1][0])
        if not ends:
            raise NumericalError(_NO_END.format(self.method.name))
        _, theta, data = max(ends, key=itemgetter(0))
        return self._maximised(theta, data)

    def _with_one_scale(self) -> tuple[Array, Sites]:
        """Parameters (k,) and sites of a fit with one noise scale; those of log sigma are as their priors expect."""
        kept = ~self._of_noise
        task = replace(self.task, prior=self.prior.of_mean, parameters=self.parameters.some(kept), data=None)
        search = Search(task, self.method, self.settings, self.on_step)
        maximum = search.run()
        self.stages += search.stages
        self.others = []
        theta = np.where(np.isnan(self.parameters.start), self.parameters.prior_mean, self.parameters.start)
        theta[kept] = maximum.theta
        found = maximum.objective.settle(maximum.free).data.partitions
        assert isinstance(found, LocalPartitions)
        of_f: Sites = found.items[0].sites
        return theta, start_sites(self.problem.rows, np.array([of_f.lambda1, of_f.lambda2]))

    def _starts(self, theta: Array) -> list[Array]:
        """Starting points: values for log sigma added to the fit with one noise scale, and what the user gave."""
        roles, given = np.array(self.parameters.roles), self.parameters.start
        found = [np.where(np.isnan(given), theta, given)]
        free = self._of_noise & np.isnan(given)
        sds, scales = free & np.isin(roles, ("sd", "group")), free & (roles == "lengthscale")
        for sd, scale in STARTS[: self.settings.n_starts + 1]:
            start = theta.copy()
            start[sds], start[scales] = np.log(sd), np.log(scale)
            found.append(start)
        for spread in log_scales(self.prior.gps, len(theta)):
            known = scales & ~np.isnan(spread)
            start = found[1].copy()
            start[known] = spread[known]
            found.append(start)
        asked = (self.parameters.free & ~np.isnan(given)).any()
        return list({start.tobytes(): start for start in found[0 if asked else 1 :]}.values())

    @cached_property
    def _of_noise(self) -> BoolArray:
        """Parameters of processes in log sigma, (k,)."""
        first, end = (sum(gp.n_parameters for gp in gps) for gps in (self.prior.of_mean.gps, self.prior.gps))
        places = np.arange(len(self.parameters.names))
        return (places >= first) & (places < end)

    def _maximised(self, theta: Array, data: PartitionedRows) -> EvidenceMaximum:
        """Newton steps on all rows, inducing inputs chosen anew between."""
        floored = isinstance(self.method, EPUpdates) and self.method.floored
        for run in range(1, RUNS + 1):
            objective = self._objective(f"run {run}", data, self.prior, theta, precisions(data), CAP)
            maximum = self._polished(objective, theta[self.parameters.free])
            self._log(f"run {run}", objective, maximum.value)
            lost = maximum.value <= -INFEASIBLE or (objective.unreliable and not near_enough(maximum))
            if lost and not floored:
                raise EPFailure(maximum.theta)
            theta, data = maximum.theta, objective.data
            if not maximum.smooth or nats_left(maximum.posterior) <= 2.0 * NATS:
                break
        return maximum

    def chosen(self, prior: Prior, theta: Array, precision: Array, data: PartitionedRows, cap: int) -> list[Block]:
        """Blocks fit for ``theta`` and the precisions of both latents, (n, 2)."""
        parts = split_theta(prior.gps, theta)
        of_mean = choose_blocks(prior.of_mean, theta, precision[:, 0], data.inputs, nats=NATS, cap=cap)
        first, last = len(prior.gps) - prior.n_noise, len(prior.gps)
        of_noise = [
            prior.gps[t].low_rank(parts[t], precision[:, 1], nats=NATS / prior.n_noise, cap=cap)[0]
            for t in range(first, last)
        ]
        end = first + (prior.linear is not None)
        return [*of_mean[:end], *of_noise, *of_mean[end:]]

    def kept(self, blocks: Sequence[Block]) -> Pairs:
        """What finds the fixed point of both latents."""
        return Pairs(blocks, self.prior.noise)

    def precisions(self, data: PartitionedRows) -> Array:
        """Of both latents."""
        return precisions(data)


def precisions(data: PartitionedRows) -> Array:
    """Site precisions (n, 2) of f and log sigma."""
    assert isinstance(data.partitions, LocalPartitions)
    return np.maximum(np.einsum("nii->ni", data.partitions.items[0].sites.lambda2), 0.0)
