"""From what was written and the arrays of the data to a problem, its prior and its parameters."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tobitgp.data import standardisation
from tobitgp.data.absorbed import Absorbed, Columns, centred_sum
from tobitgp.data.arrays import (
    CensoredResponse,
    Design,
    Groups,
    KindRows,
    Problem,
    Units,
    merge,
    noise_spread,
    with_limits,
)
from tobitgp.data.linear_columns import INTERCEPT
from tobitgp.data.margins import LinearBlock
from tobitgp.data.outcome import Outcome, outcome
from tobitgp.data.standardisation import KnownRows, Measured, Standard
from tobitgp.engines import LocalPartitions, Partitions
from tobitgp.errors import SpecError
from tobitgp.formula.hazard_formula import EXPOSURE
from tobitgp.formula.spec import GPTerm, ModelSpec, line_names
from tobitgp.inference.given_parameters import GivenParameters, read_parameters, slope_sds
from tobitgp.inference.hyperparameters import (
    SHAPES,
    SIDE_NOISES,
    SIGMA,
    HyperParameter,
    Parameters,
    shape_parameters,
    term_covariance,
    term_parameters,
)
from tobitgp.inference.input_scaling import effect_scaling, input_scaling
from tobitgp.inference.linear_prior import find_prior, plan_linear, scale_root
from tobitgp.inference.process_choices import all_low_rank, approximations, check_crossed, check_curves, choose_inducing
from tobitgp.likelihoods import Family
from tobitgp.priors.coefficients import Layers, find_layers
from tobitgp.priors.group_effects import EffectParameters, GroupEffects
from tobitgp.priors.kernel_block import GPPrior
from tobitgp.priors.kernels import Covariance
from tobitgp.priors.level_curves import LevelCurves, with_level
from tobitgp.priors.prior import DenseBlock, LevelColumns, LinearPrior, Prior
from tobitgp.priors.structure import Grouping, Inputs
from tobitgp.typing import Array, BoolArray, IntArray

ROW_NOISES = 300


@dataclass(frozen=True, slots=True)
class GPModel:
    """A model ready to be fitted."""

    family: Family
    problem: Problem
    prior: Prior
    linear: LinearPrior | None
    columns: tuple[str, ...]  # of the linear part
    terms: tuple[GPTerm, ...]
    effects: tuple[tuple[str, ...], ...]  # names of the columns of each process that is a random effect
    parameters: Parameters
    # (L,), standardised prior sds of the slopes of processes with a line.
    lines: Array = field(default_factory=partial(np.zeros, 0))
    given: tuple[str, ...] = ()  # parameters whose priors a user gave
    dropped: tuple[str, ...] = ()  # those whose priors a user dropped
    fixed: tuple[str, ...] = ()  # those whose values a user gave

    @property
    def slopes(self) -> dict[str, float]:
        """Prior sds of the slopes of lines by name, in the user's units."""
        units = self.problem.units
        sds = zip(line_names(self.terms).items(), self.lines, strict=True)
        return {name: units.scale * float(sd) / float(units.x_scale[t][0]) for (t, name), sd in sds}

    def inputs(self, design: Design) -> tuple[Inputs, ...]:
        """Standardised inputs of each block for any rows, in the order of `Prior.inputs`."""
        units = self.problem.units
        codes = [None if groups is None else groups.code for groups in design.groups]
        X = [(X - c) / s for X, c, s in zip(design.X, units.x_centre, units.x_scale, strict=True)]
        return _join_inputs(self.linear, self.lines, self.terms, design.H, X, codes, units.scale)

    def noise(self, design: Design, theta: Array) -> Array:
        """Standard deviation of the noise on the standardised scale, (1,), or (n,) where rows differ."""
        sigma, scales = noise_scale(theta)[None], self.problem.units.scales(design)
        if scales is None:
            return sigma if design.known_spread is None else sigma * design.known_spread
        return sigma * noise_spread(scales, theta[self.parameters.scales])

    def noise_at(self, design: Design, theta: Array, log_noise: Array) -> Array:
        """The same, (n, ...), where processes make a part (n, ...) of log sigma."""
        sigma = self.noise(design, theta)
        return sigma.reshape(-1, *[1] * (log_noise.ndim - 1)) * np.exp(log_noise)

    def judged(self, design: Design) -> Design:
        """Training rows as they are judged by the other rows."""
        return design

    def reported(self, linear: Any) -> Any:
        """Posterior of the coefficients that users see, from that of those of the columns."""
        return linear

    def reported_levels(self, levels: Sequence[tuple[Array, Array]]) -> Sequence[tuple[Array, Array]]:
        """Levels of the processes, whose weights are those of the columns that users see."""
        return levels

    def rows_at(self, theta: Array) -> tuple[KindRows, ...]:
        """The rows of the problem with the noise that they have at given parameters."""
        gamma = theta[self.parameters.scales]
        return tuple(rows.at_scale(gamma) for rows in self.problem.rows)

    def known_mean(self, design: Design) -> Array:
        """What is added to f once back in the user's units: centre, offset, prior means of coefficients; (n,)."""
        mean = design.offset + self.problem.units.centre
        return mean if self.linear is None else mean + centred_sum(design.H, self.linear.centre, self.linear.mean)


LEAST_NOISE = 1e-12  # that rows are predicted with where there is none: a step at a value is so wide


def noise_scale(theta: Array) -> Array:
    """Standardised sigma with which rows are predicted."""
    return np.maximum(np.exp(theta[-1]), LEAST_NOISE)


def plan_rows(
    spec: ModelSpec,
    response: CensoredResponse,
    design: Design,
    family: Family,
    given: GivenParameters,
    labels: npt.NDArray[Any] | None = None,
    effects: Sequence[tuple[str, ...]] = (),
    blocks: Sequence[LinearBlock] = (),
    scale_blocks: Sequence[LinearBlock] = (),
) -> tuple[Plan, KnownRows]:
    """Plan a model whose rows are all here, labels (n,): units, and every parameter's name, prior and freedom."""
    rows = KnownRows(response, outcome(response, log_time=family.log_time, labels=labels), design)
    noises = row_noises(rows.known, given, labels)
    of_scale = () if design.scale is None else design.scale.columns
    names = ColumnNames(design.columns, effects, of_scale, blocks, scale_blocks)
    return make_plan(spec, names, LocalPartitions([rows]), family, given, noises), rows


class ColumnNames(NamedTuple):
    """Names of columns."""

    linear: tuple[str, ...]
    effects: Sequence[tuple[str, ...]]  # of each process that is a random effect, if there are any
    scale: Sequence[str] = ()  # of the formula of log sigma
    blocks: Sequence[LinearBlock] = ()  # how the linear columns are made; none: bare columns
    scale_blocks: Sequence[LinearBlock] = ()  # the same of log sigma


@dataclass(frozen=True, slots=True)
class Plan:
    """A model before its rows: how they are standardised, and what its parameters are."""

    family: Family
    terms: tuple[GPTerm, ...]
    n_noise: int  # terms of log sigma, the last
    columns: tuple[str, ...]  # of the linear part
    effects: tuple[tuple[str, ...], ...]  # as of the model
    measured: Measured  # what all rows tell
    counts: tuple[IntArray, ...]  # (6,), rows of each kind in each partition
    standard: Standard
    linear: LinearPrior | None
    lines: Array  # (L,), as of the model
    hypers: tuple[HyperParameter, ...]
    given: GivenParameters

    def build(self, rows: KnownRows, *, limits: bool = False) -> GPModel:
        """The model on some of the rows, or all."""
        problem, units = scale_problem(rows, self.standard, limits), self.standard.units
        problem = problem.number_sides() if self.given.side_noises == "row" else problem
        covariances = [term_covariance(term) for term in self.terms]
        groups, inputs = rows.design.groups, list(block_inputs(problem, self.terms, self.linear, self.lines))
        linear = None if self.linear is None else DenseBlock(*inputs.pop(0))
        columns = None if self.linear is None else self.linear.factor
        factor = None if columns is None else DenseBlock(*inputs.pop(), columns)
        inputs, lines = inputs[: len(self.terms)], tuple(DenseBlock(*at) for at in inputs[len(self.terms) :])
        chosen = choose_inducing(self.given.inducing, self.terms, units)
        stand = approximations(chosen, self.terms, self.measured.n, inputs)
        if self.n_noise:
            stand = all_low_rank(stand, moves=any(moves for _, moves in chosen))
        gps = tuple(
            GroupEffects(at, covariance, grouping=_grouping(term, own), correlated=term.correlated)
            if term.effects is not None
            else LevelCurves(at, Covariance(()), inducing, approximation=how, kernel=covariance, levels=len(own_names))
            if term.cor
            else GPPrior(at, covariance, inducing, _grouping(term, own), moves, how, term.neighbours)
            for term, at, covariance, own, own_names, (inducing, moves), how in zip(
                self.terms, inputs, covariances, groups, self.effects, chosen, stand, strict=True
            )
        )
        check_crossed(gps)
        check_curves(self.terms, self.effects, [moves for _, moves in chosen])
        scales = [units.scale] * (len(self.terms) - self.n_noise) + [1.0] * self.n_noise
        unit = _units(self.terms, scales, self.effects, covariances, units, self.hypers)
        effects = _effect_parameters(gps, self.effects, units)
        parameters = read_parameters(self.hypers, unit, self.given, effects, units.w_root)
        prior = Prior(linear, gps, factor, self.n_noise, lines)
        names = (*self.columns, *line_names(self.terms).values(), *parameters.names)
        asked = (self.given.gives, self.given.drops, self.given.fixes)
        given = (tuple(name for name in names if of(name)) for of in asked)
        parts = (self.linear, self.columns, self.terms, self.effects, parameters, self.lines)
        return GPModel(self.family, problem, prior, *parts, *given)


def scale_problem(rows: KnownRows, standard: Standard, limits: bool) -> Problem:
    """Rows standardised, with the limits of the instrument if they are requested."""
    problem = standardisation.scale_rows(rows, standard)
    return with_limits(problem, rows.response, standard.known_mean(rows.design)) if limits else problem


def block_inputs(
    problem: Problem, terms: Sequence[GPTerm], linear: LinearPrior | None, lines: Array
) -> tuple[Inputs, ...]:
    """Inputs of each block, in the order of `Prior.inputs`."""
    return _join_inputs(linear, lines, terms, problem.H, problem.X, problem.code, problem.units.scale)


def _join_inputs(
    linear: LinearPrior | None,
    lines: Array,
    terms: Sequence[GPTerm],
    H: Columns,
    X: Sequence[Array],
    codes: Sequence[IntArray | None],
    scale: float,
) -> tuple[Inputs, ...]:
    gps = tuple(
        with_level(x, code) if term.cor and code is not None else Inputs(x, code)
        for term, x, code in zip(terms, X, codes, strict=True)
    )
    own = [x for term, x in zip(terms, X, strict=True) if term.line]
    gps += tuple(Inputs(x * sd) for x, sd in zip(own, lines, strict=True))
    if linear is None:
        return gps
    common, *factor = linear.inputs(H, codes, scale)
    return (common, *gps, *factor)


def make_plan(
    spec: ModelSpec,
    names: ColumnNames,
    partitions: Partitions,
    family: Family,
    given: GivenParameters,
    own_noises: Sequence[HyperParameter] = (),
) -> Plan:
    """Measure all rows, and decide what does not depend on single ones."""
    columns, effects = names.linear, tuple(names.effects) or ((),) * len(spec.processes)
    scales = [HyperParameter(name, "scale") for name in _scale_columns(spec, names.scale, family, given)]
    found = partitions.collect(find_level_columns, columns, spec.processes)
    factor = next((own for own in found if own is None or own.term is None), found[0])
    plan = plan_linear(columns, names.blocks, given, factor, intercept=spec.intercept)
    layers, held = _scale_layers(names, scales, given)
    parts = partitions.collect(measure_rows, plan.joint, not layers.plain)
    measured = standardisation.merge_measured(parts)
    noises = [*shape_parameters(family), *own_noises]
    if given.side_noises == "shared":
        noises += [side for side, there in zip(SIDE_NOISES, measured.sides, strict=True) if there]
    noises.append(SIGMA._replace(known=family.known_sigma))
    n_terms = max(sum(bool(term.factors) for term in spec.gps), 1)
    of_terms = [
        [hyper._replace(of_noise=t >= len(spec.gps), n_terms=n_terms) for hyper in term_parameters(term, own)]
        for t, (term, own) in enumerate(zip(spec.processes, effects, strict=True))
    ]
    hypers = (*itertools.chain(*of_terms), *scales, *noises)
    if not columns and not spec.gps:
        raise SpecError("The formula has neither a linear term nor a gp() term: there is nothing to estimate.")
    slopes = line_names(spec.processes)
    given.check(columns, [hyper.name for hyper in hypers], list(slopes.values()), family)

    centre, mean = plan.centre(measured.H.mean), plan.mean
    scaling = [
        effect_scaling(term, own, [hyper.name for hyper in hypers], given)
        if term.effects is not None
        else input_scaling(spec, t, X, plan.levelled)
        for t, (term, own, hypers, X) in enumerate(zip(spec.processes, effects, of_terms, measured.X, strict=True))
    ]
    bottoms, tops = zip(*partitions.collect(standardisation.measure_range, centre, mean), strict=True)
    known = min(bottoms), max(tops)
    y = merge(partitions.collect(standardisation.measure_response, centre, mean, known)).rounded()
    units = standardisation.find_units(measured, y, log_time=family.log_time, centre=plan.centred, scaling=scaling)
    units = replace(units, w_root=scale_root(layers, measured, held))
    size = 1.0 if EXPOSURE in spec.names("response") else units.scale  # of log hazards, which have no spread
    linear = find_prior(plan, measured, given, columns, size, units.scale) if columns else None
    spreads = {name: float(units.x_scale[t][0]) for t, name in slopes.items()}
    lines = slope_sds(spreads, given, size) / units.scale
    standard = Standard(units, centre, mean, tuple(np.flatnonzero(measured.counts).tolist()))
    counts = tuple(part.counts for part in parts)
    n_noise = len(spec.processes) - len(spec.gps)
    named = family, spec.processes, n_noise, columns, effects
    return Plan(*named, measured, counts, standard, linear, lines, hypers, given)


def _scale_columns(spec: ModelSpec, names: Sequence[str], family: Family, given: GivenParameters) -> Sequence[str]:
    """Names of the coefficients of log sigma, whose intercept is sigma itself."""
    if spec.scale is None:
        return ()
    if not spec.scale.intercept:
        raise SpecError(
            "sigma= without an intercept requires method='mle'. With priors, sigma itself is the intercept of "
            "log(sigma). Leave out '0 +' or '- 1'."
        )
    if family.known_sigma is not None:
        raise SpecError(
            f"family={family.name!r} has sigma = {family.known_sigma:g}, so sigma= cannot be used. Leave it out."
        )
    if given.side_noises is not None:
        raise SpecError(
            "The censoring noises of bound='local' require one noise scale. Leave out sigma=, or use tg.VI()."
        )
    for term in spec.scale.gps:
        if term.approximation in ("markov", "vecchia"):
            raise SpecError(f"{term.name}: approximation={term.approximation!r} is for processes of the mean.")
    return names[1:]


def measure_rows(rows: KnownRows, joint: bool, joint_W: bool) -> Measured:
    """What some rows tell."""
    return standardisation.measure_rows(rows, joint=joint, joint_W=joint_W)


def _scale_layers(
    names: ColumnNames, scales: Sequence[HyperParameter], given: GivenParameters
) -> tuple[Layers, BoolArray]:
    """What the columns of log sigma span in addition to its intercept, and which are held at given coefficients."""
    known = {*given.fixed, *(given.priors or {})}
    held = np.array([hyper.name in known or given.drops(hyper.name) for hyper in scales], dtype=np.bool_)
    blocks = names.scale_blocks if scales else ()
    return find_layers(blocks, 1 + len(held), np.append(False, held)), held


def find_level_columns(rows: KnownRows, columns: Sequence[str], terms: Sequence[GPTerm]) -> LevelColumns | None:
    """Where the columns of an absorbed factor are, with the groups of a process where those are its levels."""
    H = rows.design.H
    if not isinstance(H, Absorbed):
        return None
    name = columns[H.start].partition("[")[0]
    for t, (term, groups) in enumerate(zip(terms, rows.design.groups, strict=True)):
        if term.by is None or groups is None or name not in (term.by.text, f"C({term.by.text})"):
            continue
        first, here = groups.size - H.size, H.value != 0.0
        if first in (0, 1) and np.array_equal(groups.code[here], H.code[here] + first):
            return LevelColumns(H.start, H.size, first, Grouping(term.by.text, groups.size), t)
    return LevelColumns(H.start, H.size, 0, Grouping(columns[H.start], H.size))


def _effect_parameters(
    gps: Sequence[GPPrior], effects: Sequence[Sequence[str]], units: Units
) -> list[EffectParameters]:
    """Where parameters of random effects are, and what centring made of their columns."""
    first, found = 0, []
    for gp, columns, centre, scale in zip(gps, effects, units.x_centre, units.x_scale, strict=True):
        if isinstance(gp, GroupEffects):
            T = np.eye(gp.size)
            if INTERCEPT in columns:
                T[columns.index(INTERCEPT)] -= centre / scale
            found.append(EffectParameters(first, gp.size, gp.correlated and gp.size > 1, T))
        elif isinstance(gp, LevelCurves):
            found.append(EffectParameters(first, gp.levels, gp.levels > 1, np.eye(gp.levels)))
        first += gp.n_parameters
    return found


def _grouping(term: GPTerm, groups: Groups | None) -> Grouping | None:
    return None if term.by is None or groups is None else Grouping(term.by.text, groups.size)


def row_noises(known: Outcome, given: GivenParameters, labels: npt.NDArray[Any] | None) -> list[HyperParameter]:
    """A censoring noise for each row censored on one side, if requested, named by distinct labels or positions."""
    if given.side_noises != "row":
        return []
    below = np.isneginf(known.lower)
    rows = np.flatnonzero((below | np.isposinf(known.upper)) & np.isinf(known.entry) & np.isinf(known.exit))
    if len(rows) > ROW_NOISES:
        raise SpecError(
            f"tg.VI(side_noise='row') has a parameter for each of {len(rows)} censored rows, and at most {ROW_NOISES} "
            "are allowed; side_noise='shared' has one for each side."
        )
    sides = [SIDE_NOISES[0] if left else SIDE_NOISES[1] for left in below[rows]]
    chosen = rows if labels is None or len(set(labels[rows].tolist())) < len(rows) else labels[rows]
    return [side._replace(name=f"{side.name}[{label}]") for side, label in zip(sides, chosen, strict=True)]


def _units(
    terms: Sequence[GPTerm],
    scales: Sequence[float],
    effects: Sequence[Sequence[str]],
    covariances: Sequence[Covariance],
    units: Units,
    hypers: Sequence[HyperParameter],
) -> Array:
    """One standardised unit of each hyper-parameter in the user's units; scales are those of what terms add up to."""
    out: list[float] = []
    for term, y, names, covariance, scale in zip(terms, scales, effects, covariances, units.x_scale, strict=True):
        if term.effects is not None:
            q = len(scale)
            out += [*(y / scale), *np.ones(q * (q - 1) // 2 if term.correlated else 0)]
            continue
        J = len(names) if term.cor else 1
        sd, rest = J * [y], [*np.ones(J * (J - 1) // 2)]
        for factor in covariance.factors:
            own = scale[factor.columns]
            rest += list(own[: factor.n_scales])
            rest += [own[0] if role == "period" else 1.0 for role in factor.kernel.shape]
            sd = sd if factor.kernel.stationary else [each / own[0] for each in sd]
        out += [*sd, *rest]
    root = units.w_root
    out += [*(1.0 / units.w_scale if root is None else np.sqrt((root * root).sum(axis=1)))]
    return np.array([*out, *(1.0 if noise.role in SHAPES else units.scale for noise in hypers[len(out) :])])
