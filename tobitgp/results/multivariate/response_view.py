"""One response of several as a process: an affine view of the fit of the stacked rows, (MUL1) of the theory pages.

The view keeps the posterior of the stack. Its rows are those of one response, its columns those that the user wrote,
and its units those of the response. Correlated residuals are an effect of the row in the stack. In predictions they
are noise; in a training row that is judged by the other values of the row they are a part of f.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.data.absorbed import as_dense
from tobitgp.data.arrays import CensoredResponse, Design, Groups
from tobitgp.data.design import DesignState
from tobitgp.data.linear_columns import INTERCEPT
from tobitgp.data.prepare import TrainingData
from tobitgp.data.training_summary import Facts, measure_facts
from tobitgp.formula import parse_formula, parse_scale_formula
from tobitgp.formula.mvbind import EACH
from tobitgp.formula.spec import ModelSpec, ResponseKind
from tobitgp.inference.assembly import GPModel
from tobitgp.inference.partitioned import Sites
from tobitgp.kinds.process import ProcessParts
from tobitgp.kinds.rows_left_out import site_order
from tobitgp.priors.structure import Inputs
from tobitgp.results.multivariate.stacked_rows import RESIDUAL, SeenResponse, Stack
from tobitgp.results.views import COUNTS, keep_covariates, named_columns
from tobitgp.typing import Array, BoolArray, Frame

Learned = tuple[ResponseKind, str]  # kind of the response, and its column of durations, as the data decided


@dataclass(frozen=True, slots=True)
class ResponseDesign(Design):
    """Rows of one response: the linear columns are those that the user wrote, all else is as in the stack."""

    effect: tuple[Array, Groups] | None = None  # columns (n, J) and level of the effect of the row, with ``rescor``
    inner: BoolArray | None = None  # (n,), whether that effect is a part of f; else it is noise


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseState(DesignState):
    """How the rows of one response are made from new data."""

    stack: Stack
    stacked: DesignState
    response: int

    @property
    def effect_columns(self) -> tuple[tuple[str, ...], ...]:
        """Names, without the response, of what each process of it has a standard deviation of."""
        mine, place = f"{EACH}[{self.stack.levels[self.response]}]", residual_place(self.stacked.spec)
        every = self.stacked.effect_columns
        return tuple(
            tuple(INTERCEPT if name == mine else name.removeprefix(f"{mine}:") for name in names if mine in name)
            for names in (every if place is None else _without(every, place))
        )

    def replay(self, new_data: Frame) -> tuple[Design, BoolArray]:
        """Build the same covariates on new data; gives usable (n_new,)."""
        own, usable = self.stack.design(new_data)
        units = -1 - np.arange(len(usable))
        rows = self.stack.of_response(self.response, new_data, own, usable, units)
        stacked, there = self.stacked.replay(rows)
        return self.of_stacked(own.rows(there[usable]), stacked), there

    def of_stacked(self, own: Design, stacked: Design) -> ResponseDesign:
        """A design from the linear columns as the user wrote them, and from the rows of the stack."""
        X, groups, effect = stacked.X, stacked.groups, None
        place = residual_place(self.stacked.spec)
        if place is not None:
            code = groups[place]
            assert code is not None
            effect = X[place], code
            X, groups = _without(X, place), _without(groups, place)
        rest = stacked.offset, groups, stacked.scale, stacked.spread, stacked.formulas
        return ResponseDesign(own.H, own.columns, X, *rest, effect, np.zeros(len(own.offset), dtype=bool))


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseModel(GPModel):
    """The model of the stack in the columns and the units of one response."""

    stacked: GPModel
    place: int | None  # of the effect of the row among the processes, with ``rescor``
    sd: str  # name of its standard deviation
    columns_of_stack: Array  # (p, P), what the user's columns are multiplied by
    coefficients: Array  # (p, P), the user's coefficients from those of the stack
    null: Array  # (p,), what is taken away from these
    centre: float
    unit: float

    def stacked_design(self, design: Design) -> Design:
        """The same rows as the stack has them."""
        assert isinstance(design, ResponseDesign)
        X, groups, at = design.X, design.groups, self.place
        if at is not None and design.effect is not None:
            X, groups = (*X[:at], design.effect[0], *X[at:]), (*groups[:at], design.effect[1], *groups[at:])
        H = as_dense(design.H) @ self.columns_of_stack
        return Design(H, self.stacked.columns, X, design.offset, groups, design.scale, design.spread)

    def inputs(self, design: Design) -> tuple[Inputs, ...]:
        """Standardised inputs of each block; the effect of a row is zero where it is noise."""
        found = list(self.stacked.inputs(self.stacked_design(design)))
        if self.place is not None:
            block = self.place + (self.linear is not None)
            found[block] = found[block]._replace(X=found[block].X * _inner(design)[:, None])
        return tuple(found)

    def noise(self, design: Design, theta: Array) -> Array:
        """Standard deviation of the noise, with that of the effect of the row where this is noise."""
        return self.noise_at(design, theta, np.zeros(len(design.offset)))

    def noise_at(self, design: Design, theta: Array, log_noise: Array) -> Array:
        """The same, (n, ...), where processes make a part (n, ...) of log sigma."""
        sigma = self.stacked.noise_at(design, theta, log_noise)
        if self.place is None:
            return sigma
        values = dict(zip(self.parameters.names, self.parameters.values(theta), strict=True))
        shared = values[self.sd] / self.stacked.problem.units.scale * ~_inner(design)
        return np.hypot(sigma, shared.reshape(-1, *[1] * (log_noise.ndim - 1)))

    def known_mean(self, design: Design) -> Array:
        """Offset of f in the units of the response, (n,)."""
        return self.centre + self.unit * self.stacked.known_mean(self.stacked_design(design))

    def judged(self, design: Design) -> Design:
        """Training rows as judged by all other values; those of the same row are informative about its effect."""
        assert isinstance(design, ResponseDesign)
        return replace(design, inner=np.ones(len(design.offset), dtype=bool))

    def reported(self, linear: Any) -> Any:
        """Posterior of the coefficients of the response."""
        return linear.combine(self.coefficients, self.null)

    def reported_levels(self, levels: Sequence[tuple[Array, Array]]) -> Sequence[tuple[Array, Array]]:
        """Levels of the processes, and which of the user's columns hold them."""
        return [
            (mean, np.abs(share) @ np.abs(self.columns_of_stack.T) if len(share) else share) for mean, share in levels
        ]


def _inner(design: Design) -> BoolArray:
    assert isinstance(design, ResponseDesign)
    assert design.inner is not None
    return design.inner


def _without(items: tuple[Any, ...], place: int) -> tuple[Any, ...]:
    return (*items[:place], *items[place + 1 :])


def residual_place(spec: ModelSpec) -> int | None:
    """Place of the effect of the row among the processes of the stack."""
    return next((t for t, term in enumerate(spec.gps) if term.name == RESIDUAL), None)


def view_response(stack: Stack, stacked: ProcessParts, facts: Facts, learned: Learned, j: int) -> ProcessParts:
    """Parts of one response, without rows."""
    wide, own, unit = stack.wide, stack.state, 1.0 if stack.log_time else float(stack.scale[j])
    spec = parse_formula(wide.alone(j), None, stack.functions)
    response = replace(spec.response, kind=learned[0], duration=learned[1])
    scale = None if wide.sigma is None else parse_scale_formula(f"~ {wide.scale.alone}", None, stack.functions)
    lines = zip(spec.gps, stacked.spec.gps, strict=False)
    gps = tuple(replace(term, line=of_stack.line) for term, of_stack in lines)
    spec = replace(spec, response=response, scale=scale, gps=gps)
    place, T = residual_place(stacked.spec), stack.columns_of_stack(j, stacked.gp.columns)
    groups, levels = stacked.state.group_levels, stacked.state.levels
    state = ResponseState(
        spec=spec,
        levels={name: levels[name] for name in stack.inputs if name in levels} | own.levels,
        coded=own.coded,
        linear=own.linear,
        group_levels=groups if place is None else _without(groups, place),
        scale=None if scale is None or own.scale is None else replace(own.scale, spec=scale),
        var_weight=stacked.state.var_weight,
        stack=stack,
        stacked=stacked.state,
        response=j,
    )
    problem = stacked.gp.problem
    units = replace(problem.units, scale=unit * problem.units.scale)
    kept = {field.name: getattr(stacked.gp, field.name) for field in fields(GPModel)}
    kept |= {"problem": replace(problem, units=units), "columns": own.linear.columns}
    model = ResponseModel(
        **kept,
        stacked=stacked.gp,
        place=place,
        sd=f"sd({RESIDUAL})[{EACH}[{stack.levels[j]}]]",
        columns_of_stack=T,
        coefficients=unit * T,
        null=stack.null(j),
        centre=float(stack.centre[j]),
        unit=unit,
    )
    return ProcessParts(spec, state, facts, model, stacked.fitted)


def with_rows(parts: ProcessParts, stacked: ProcessParts, data: pd.DataFrame, seen: SeenResponse) -> ProcessParts:
    """The same with the training rows of the response."""
    state, n = parts.state, len(data)
    assert isinstance(state, ResponseState)
    label = np.asarray(stacked.rows.labels, dtype=np.intp)  # response by response, n each
    mine = np.flatnonzero(label // n == state.response)
    mine = mine[np.argsort(label[mine])]
    at = label[mine] - n * state.response
    there = stacked.rows.design.rows(mine)
    own, _ = state.stack.state.replay(data.iloc[at])
    response = replace(seen.response.rows(np.searchsorted(seen.rows, at)), weight=stacked.rows.response.weight[mine])
    design, kept = state.of_stacked(own, there), np.zeros(n, dtype=bool)
    kept[at] = True
    counts = count_kinds(response) | {"dropped": n - len(at)}
    found = measure_facts(response, design.groups)
    training = TrainingData(state, found, counts, response, design, data.index, kept)
    covariates = keep_covariates(training, data)
    facts = training.facts(named_columns([parts.spec], list(data.columns)), covariates)
    problem = replace(parts.gp.problem, order=np.arange(len(at)))
    order, points = stacked.gp.problem.order, stacked.fitted.points
    sites = [site_order(point, order) for point in points]
    points = tuple(
        replace(point, sites=Sites(each.lambda1[mine], each.lambda2[mine]))
        for point, each in zip(points, sites, strict=True)
    )
    fitted, model = replace(parts.fitted, points=points), replace(parts.gp, problem=problem)
    return ProcessParts(parts.spec, state, facts, model, fitted, training, covariates)


def count_kinds(response: CensoredResponse) -> dict[str, int]:
    """Number of values of each kind."""
    lower, upper = response.lower, response.upper
    exact, left, right = lower == upper, np.isneginf(lower), np.isposinf(upper)
    between = ~(exact | left | right)
    return {kind: int(of.sum()) for kind, of in zip(COUNTS, (exact, left, right, between), strict=False)}
