"""From partitioned rows to a fitted process: a sample in memory, the maximum over all rows, integration around it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from tobitgp.data.arrays import KindRows, draw_rows, join
from tobitgp.data.margins import part_blocks
from tobitgp.data.outcome import outcome
from tobitgp.data.partition import DataPartition, naming
from tobitgp.data.prepare import PartitionedData, split_positions
from tobitgp.data.standardisation import KnownRows, Standard, row_kinds
from tobitgp.engines import LocalPartitions, Partitions, Store, map_independent, single_blas_thread
from tobitgp.errors import DataError, NumericalError, SpecError
from tobitgp.formula.spec import GPTerm, ModelSpec
from tobitgp.inference import evidence
from tobitgp.inference import search as stages
from tobitgp.inference.assembly import ColumnNames, GPModel, Plan, block_inputs, make_plan, scale_problem
from tobitgp.inference.evidence_ascent import EvidenceMaximum, Objective, is_heavy
from tobitgp.inference.feature_posterior import FeaturePosterior
from tobitgp.inference.fitted import (
    MAX_DIMENSION,
    FittedGP,
    FitTrace,
    Task,
    central_composite,
)
from tobitgp.inference.fixed_point import find_posterior
from tobitgp.inference.given_parameters import GivenParameters
from tobitgp.inference.hyperparameters import Parameters, words_for_little_noise
from tobitgp.inference.levels import HeldLevels, held_levels, without_rows
from tobitgp.inference.mean_and_noise import PairSearch
from tobitgp.inference.method import Method, loosened
from tobitgp.inference.noise_free import NoiseFreeSearch
from tobitgp.inference.partitioned import PartitionedRows, RowPartition, cut_parts, examples
from tobitgp.inference.rebuilt import following, together
from tobitgp.inference.search import NATS, Search, warn
from tobitgp.inference.search_settings import OnStep, Settings, Step
from tobitgp.inference.site_updates import ended
from tobitgp.inference.stochastic import StochasticSearch
from tobitgp.inference.structured import gain_of_neighbours
from tobitgp.likelihoods import Family
from tobitgp.numerics.sampling import words_for_heavy
from tobitgp.priors.choice import structure_of
from tobitgp.priors.kernel_block import all_inputs
from tobitgp.priors.prior import LinearPrior
from tobitgp.typing import Array, IntArray


def assemble_partitions(
    spec: ModelSpec,
    data: PartitionedData,
    family: Family,
    given: GivenParameters,
    *,
    limits: bool = False,
    size: int | None = None,
    rng: int | np.random.Generator | None = None,
) -> tuple[Plan, GPModel, PartitionedRows | None]:
    """Standardise rows where they are: the plan, the model on a sample of them, and all rows where these are more."""
    if given.side_noises == "row":
        raise SpecError(
            "tg.VI(side_noise='row') has a parameter for each censored row, which partitioned data do not name; "
            "side_noise='shared' has one for each side."
        )
    size = stages.SAMPLE_ROWS if size is None else size
    partitions = data.partitions.map(know_rows, family.log_time, data.store)
    blocks = (part_blocks(data.state, scale=scale) for scale in (False, True))
    names = ColumnNames(data.columns, data.state.effect_columns, data.state.scale_columns, *blocks)
    plan = make_plan(spec, names, partitions, family, given)
    n = plan.measured.n
    if any(term.approximation in ("markov", "vecchia") for term in spec.processes):
        check_memory(n)
        size = max(size, n)
    model = plan.build(take_sample(partitions, plan, size, rng), limits=limits)
    if n > size and ROW_BYTES * n < memory() / 2 and "markov" in map(structure_of, model.prior.gps):
        size, model = n, plan.build(take_sample(partitions, plan, n, rng), limits=limits)
    if n <= size:
        return plan, model, None
    rows = gather_parts(partitions, plan, limits=limits, store=data.store)
    if data.store is not None:
        data.store.forget("known")
    inputs = [
        all_inputs(np.concatenate(rows.partitions.collect(distinct_inputs, block))) if gp.inducing is None else None
        for block, gp in enumerate(model.prior.gps, start=0 if model.linear is None else 1)
    ]
    prior = model.prior.induced_by(inputs)
    gps = tuple(replace(gp, approximation="low_rank") for gp in prior.gps)
    return plan, replace(model, prior=replace(prior, gps=gps)), rows


ROW_BYTES = 3000  # of a row in a Markov or Vecchia fit, at its peak


def memory() -> float:
    """Bytes of memory of this machine; infinite where it does not say."""
    said = {"SC_PAGE_SIZE", "SC_PHYS_PAGES"} <= getattr(os, "sysconf_names", {}).keys()
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if said else np.inf


def check_memory(n: int) -> None:
    """Raise an error for more rows than fit into the memory of the machine."""
    there, need = memory(), ROW_BYTES * n
    if need > there:
        raise DataError(
            f"A Markov or Vecchia process has all rows in one memory: {n:,} take some {need / 1e9:.1f} GB, and this "
            f"machine has {there / 1e9:.1f} GB. Fit fewer rows, or leave approximation= out."
        )


def distinct_inputs(part: RowPartition, block: int) -> Array:
    """Distinct inputs (M, d) of a block."""
    return all_inputs(part.inputs[block].X) if len(part) else part.inputs[block].X


def gather_parts(partitions: Partitions, plan: Plan, *, limits: bool, store: Store | None) -> PartitionedRows:
    """All rows, standardised where they are; partitions without rows are left out."""
    counts = np.array([[part[k] for k in plan.standard.kinds] for part in plan.counts])
    before = [tuple(row) for row in (np.cumsum(counts, axis=0) - counts).tolist()]
    made = partitions.at(np.flatnonzero(counts.sum(axis=1)).tolist()).map(
        make_parts, plan.standard, plan.terms, plan.linear, plan.lines, limits, before, store
    )
    if isinstance(made, LocalPartitions):
        parts: Partitions = LocalPartitions([part for few in made.items for part in few])
    else:
        parts = made.map(itemgetter(0))
    kinds = examples([join(rows) for rows in zip(*parts.collect(example_rows), strict=True)])
    return PartitionedRows(parts, kinds, plan.measured.n, plan.measured.weight)


def know_rows(partition: DataPartition, log_time: bool, store: Store | None) -> KnownRows:
    """The observed information about a partition's rows, on the scale that is modelled."""
    with naming(partition.place):
        known = outcome(partition.response, log_time=log_time, labels=partition.labels.to_numpy())
    rows = KnownRows(partition.response, known, partition.design, partition.number)
    return rows if store is None else store.keep("known", rows)


def make_parts(
    rows: KnownRows,
    standard: Standard,
    terms: Sequence[GPTerm],
    linear: LinearPrior | None,
    lines: Array,
    limits: bool,
    before: Sequence[tuple[int, ...]],  # of every partition: how many rows of each kind are in those before it
    store: Store | None,
) -> tuple[RowPartition, ...]:
    """A partition's rows standardised and sorted by kind: in this process cut for its threads, else one part."""
    problem = scale_problem(rows, standard, limits)
    inputs = block_inputs(problem, terms, linear, lines)
    if store is None:
        return (RowPartition(problem.rows, inputs, before=before[rows.number]),)
    return store.keep("parts", cut_parts(problem, inputs, before=before[rows.number]))


def example_rows(part: RowPartition) -> tuple[KindRows, ...]:
    """A row of every kind, or none where there is none."""
    return tuple(examples([rows])[0] if len(rows) else rows for rows in part.rows)


def take_sample(
    partitions: Partitions, plan: Plan, size: int, rng: int | np.random.Generator | None = None
) -> KnownRows:
    """Rows of all partitions, every kind in proportion, in the order of the data."""
    kinds, totals = plan.standard.kinds, [int(plan.measured.counts[k]) for k in plan.standard.kinds]
    drawn = [np.arange(n) for n in totals] if sum(totals) <= size else draw_rows(totals, size, rng)
    split = [
        split_positions(at, [int(counts[k]) for counts in plan.counts]) for k, at in zip(kinds, drawn, strict=True)
    ]
    chosen = [dict(zip(kinds, at, strict=True)) for at in zip(*split, strict=True)]
    return join(partitions.collect(take_rows, chosen))


def take_rows(rows: KnownRows, chosen: Sequence[dict[int, IntArray]]) -> KnownRows:
    """Rows of a partition at positions among those of each kind, given for every partition."""
    kind = row_kinds(rows.known)
    at = [np.flatnonzero(kind == k)[positions] for k, positions in chosen[rows.number].items()]
    return rows.rows(np.sort(np.concatenate(at)))


FEW_DIMENSIONS = 10  # up to which hyper-parameters are averaged whatever the number of nodes
MOST_WORK = 1_100_000  # rows times nodes with more hyper-parameters
MOST_NUMBERS = 10**8  # of posteriors at all points, in one matrix of features each, of which four are held
LOOSE = 1e-4
LOOSE_NEAR = 1e-3  # where sites start from predicted ones: moves means by less than 0.01 of their sd
NEAR = 0.5


def fit_gp(task: Task, method: Method, settings: Settings | None = None, on_step: OnStep | None = None) -> FittedGP:
    """Fit hyper-parameters and posterior."""
    with single_blas_thread(), np.errstate(all="ignore"):
        search = search_of(task, method, settings or Settings(), on_step)
        with named_suspects(task.parameters, task.problem.weight, search.data.weight):
            return _finish(search, search.run())


def search_of(task: Task, method: Method, settings: Settings, on_step: OnStep | None = None) -> Search:
    """The search that the terms require."""
    kind = NoiseFreeSearch if task.parameters.noise_free else PairSearch if task.prior.n_noise else Search
    if settings.batches is not None:
        if kind is not Search:
            settings.batches.refuse("processes in sigma= take all rows at once")
        kind = StochasticSearch
    return kind(task, method, settings, on_step)


@contextmanager
def named_suspects(parameters: Parameters, weight: Array, rows: float) -> Iterator[None]:
    """Name the likely cause of a computation that breaks down, such as weights (n,) of the rows that are far apart."""
    try:
        yield
    except (NumericalError, np.linalg.LinAlgError) as error:
        fixed = [name for name, free in zip(parameters.names, parameters.free, strict=True) if not free]
        suspects = (
            words_for_little_noise(parameters, rows)
            or words_for_heavy(weight)
            or (fixed and f"the fixed values of {', '.join(fixed)}")
            or "the scale of the data and the priors, and try another method="
        )
        raise NumericalError(f"The computation broke down: {str(error).rstrip('.')}. Look at {suspects}.") from None


def _finish(search: Search, maximum: EvidenceMaximum) -> FittedGP:
    pilot = maximum.posterior
    centre = as_asked(search, maximum.objective, pilot)
    integrate, k = search.settings.integrate, maximum.root.shape[1]
    if integrate is None:
        integrate = search.data.n <= stages.SAMPLE_ROWS and is_affordable(search.data.n, len(centre.w), k)
    held = held_levels(centre, search.prior)
    points, weights, integrated = [without_rows(following(centre), held)], np.ones(1), np.nan
    if integrate and k and centre.converged and maximum.gain_left < NEAR:
        points, weights, integrated = _integrate(search, maximum, pilot, points[0], held)
    converged = centre.converged and search.near_enough(maximum)
    message = "converged" + _told_of_others(search) if converged else _complaint(centre, search, maximum)
    if not converged:
        warn(message)
    covariance = np.zeros((len(centre.theta), len(centre.theta)))
    covariance[np.ix_(search.parameters.free, search.parameters.free)] = maximum.root @ maximum.root.T
    said = evidence.explained(centre, search.task.likelihood)
    shift, proper = search.problem.units.log_jacobian, search.parameters.proper and search.last is search.method
    runner_up = search.others[0][0] if search.others else np.inf
    return FittedGP(
        points=together(points, centre),
        weights=weights,
        n_linear=search.prior.n_linear,
        parameters=search.parameters,
        log_covariance=covariance,
        method=search.last,
        evidence=centre.evidence + shift,
        elbo=said.bound + shift,
        log_evidence_integrated=integrated + shift if proper else np.nan,
        nats_left=evidence.nats_left(centre),
        neighbours_gain=np.nan if centre.field is None else gain_of_neighbours(centre.field, centre.w),
        n_features=len(centre.w),
        effective=said.effective,
        trace=FitTrace(tuple(search.stages), converged, message, maximum.gain_left, search.fell_back, runner_up),
    )


def is_affordable(n: int, m: int, k: int) -> bool:
    """Whether the nodes of an average over k hyper-parameters are few enough for n rows and m weights."""
    if k > MAX_DIMENSION:
        return False
    nodes = len(central_composite(k)[0])
    return nodes * m**2 <= MOST_NUMBERS and (k <= FEW_DIMENSIONS or n * nodes <= MOST_WORK)


def _integrate(
    search: Search,
    maximum: EvidenceMaximum,
    pilot: FeaturePosterior,
    centre: FeaturePosterior,
    held: Mapping[int, HeldLevels],
) -> tuple[list[FeaturePosterior], Array, float]:
    """Posteriors on a design around the maximum, their weights (HYP6), and the log marginal evidence (HYP7)."""
    objective, T = maximum.objective, maximum.root
    k = T.shape[1]
    z, design = central_composite(k, search.last.written(hyper="maximize"))
    near = objective.near
    rough = replace(objective, method=loosened(search.method, LOOSE if near is None else LOOSE_NEAR))
    known: list[tuple[Array, PartitionedRows]] = []

    def at(point: Array) -> tuple[FeaturePosterior, float] | None:
        free, here = search.parameters.clip(maximum.free + T @ point), rough
        try:
            found = here.settle_from(free, objective.data if near is None else near.at(free))
            if near is not None and not found.converged:
                found = here.settle_from(free, objective.data)
            known.append((free, found.data))
            if evidence.nats_left(found.posterior) > 10.0 * NATS:
                blocks = search.chosen(
                    search.prior, found.theta, search.precisions(found.data), objective.data, search.cap
                )
                here = replace(rough, blocks=blocks, kept=search.kept(blocks))
                found = here.settle_from(free, found.data)
            p = found.posterior
            asked = as_asked(search, here, p)
        except NumericalError:
            return None
        if search.on_step is not None:
            search.on_step(Step("integrate", len(design), p.evidence, rows=search.data.n))
        return (without_rows(following(asked), held), objective.density(p)) if p.converged and asked.converged else None

    heavy = is_heavy(search.data.n, centre.layout.row_features)
    found: list[tuple[FeaturePosterior, float] | None] = [(centre, objective.density(pilot))]
    spheres = [z[1:]]
    if near is not None:  # the sites at the inner points say how those at the outer ones bend
        spheres = np.split(z[1:], np.flatnonzero(np.diff(np.linalg.norm(z[1:], axis=1)) > NEAR) + 1)
    for sphere in spheres:
        found += map_independent(at, list(sphere), heavy=heavy)
        near = near and near.bent(known)
    kept = [(*p, d) for p, d in zip(found, design, strict=True) if p is not None]
    points, log_density, weight = [p for p, _, _ in kept], *np.array([pair for _, *pair in kept]).T
    if len(kept) < len(found):
        warn(
            f"{len(found) - len(kept)} of {len(found)} points of the integration over hyper-parameters failed. The "
            "others replace them, so that uncertainty about hyper-parameters may be understated. "
            f"{search.last.written(hyper='maximize')} takes the maximum instead of the integral."
        )
    top = log_density.max()
    weight = weight * np.exp(log_density - top)
    volume = 0.5 * k * np.log(2.0 * np.pi) + 0.5 * float(np.linalg.slogdet(T.T @ T)[1])
    search.stages.append(("integrate", len(kept), sum(p.iterations for p in points), float(log_density[0])))
    return points, weight / weight.sum(), float(top + volume + np.log(weight.sum()))


def as_asked(search: Search, objective: Objective, pilot: FeaturePosterior) -> FeaturePosterior:
    """Posterior of the requested method, at hyper-parameters that the evidence of another method chose."""
    asked = pilot
    if search.last is not search.method:
        data = objective.data.starting(pilot.rows.map(ended))
        asked = find_posterior(data, objective.blocks, pilot.theta, search.last, search.likelihood)
    if asked.factor.lost_to_rounding():
        raise NumericalError(f"A matrix of {asked.factor.size} features is lost to rounding.")
    return asked


def _told_of_others(search: Search) -> str:
    """Where another start ended, if it did elsewhere: whatever is said of the fit is said of one maximum."""
    if not search.others:
        return ""
    less, theta = search.others[0]
    values = zip(search.parameters.names, search.parameters.values(theta), search.parameters.free, strict=True)
    there = ", ".join(f"{name!r}: {value:.3g}" for name, value, free in values if free)
    return f"; another start ended at a maximum {less:.2g} nats lower, start={{{there}}}"


def _complaint(centre: FeaturePosterior, search: Search, maximum: EvidenceMaximum) -> str:
    method = search.last
    if not centre.converged:
        found = f"The posterior did not converge in {centre.iterations} iterations (residual {centre.residual:.1e})."
        if centre.iterations >= method.max_iterations:
            return f"{found} Try {method.written(site_iterations=4 * method.max_iterations)}, or another method."
        return f"{found} More would not help: use another method."
    found = f"stopped {maximum.gain_left:.2g} nats before a maximum."
    if not maximum.gain_left < 1e4:
        found = "found no maximum; there may be none."
    remedy = f"Try {search.remedy}, another start=, or stronger priors=."
    return f"The search for hyper-parameters {found} {remedy}"


class Evaluated(NamedTuple):
    """Evidence at given hyper-parameters, in the user's units."""

    value: float
    gradient: Array | None  # (k,), derivatives in the values of all hyper-parameters, where asked for
    method: Method  # that made it: variational inference where expectation propagation did not converge
    converged: bool


def evaluate(task: Task, method: Method, settings: Settings, *, gradient: bool) -> Evaluated:
    """Evaluate the evidence where all hyper-parameters are known, its derivatives at fixed inducing inputs."""
    parameters = task.parameters
    assert not parameters.n_free
    with single_blas_thread(), np.errstate(all="ignore"):
        search = search_of(task, method, settings)
        with named_suspects(parameters, task.problem.weight, search.data.weight):
            maximum = search.run()
            posterior = as_asked(search, maximum.objective, maximum.posterior)
        slopes = None
        if gradient:
            slopes = _slopes(maximum, posterior, search.last)
            J = parameters.value_slopes(posterior.theta)
            J[np.diag_indices(len(J))] += np.isneginf(posterior.theta)  # at sigma = 0 the evidence is level in it
            slopes = np.asarray(np.linalg.solve(J.T, slopes))
        value = posterior.evidence + search.problem.units.log_jacobian
        return Evaluated(value, slopes, search.last, posterior.converged)


def _slopes(maximum: EvidenceMaximum, posterior: FeaturePosterior, method: Method) -> Array:
    """Gradient (k,) of the evidence of a posterior."""
    if posterior.pairs is None:
        return evidence.evidence_gradient(posterior, method)
    found = maximum.objective.settle(maximum.free, slopes=True).gradient
    assert found is not None
    return found
