"""Whether what a fitted process says of itself belongs together, where it was read from a file."""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator, Sequence
from typing import Any

import numpy as np

from tobitgp.data.design import DesignState
from tobitgp.data.linear_columns import absorbed_columns
from tobitgp.formula.gp import MOST_NEIGHBOURS
from tobitgp.formula.spec import ModelSpec
from tobitgp.inference.assembly import GPModel
from tobitgp.inference.feature_layout import lay_out
from tobitgp.inference.feature_posterior import FeaturePosterior
from tobitgp.inference.fitted import FittedGP
from tobitgp.inference.hyperparameters import SIGMA, HyperParameter, shape_parameters, term_parameters
from tobitgp.likelihoods.censoring_noise import SIDES
from tobitgp.numerics.crossed import CrossedFactor
from tobitgp.priors.prior import DenseFeatures, LevelColumns
from tobitgp.priors.structure import StructuredTermAt
from tobitgp.priors.vecchia import Vecchia
from tobitgp.typing import IntArray

Shapes = dict[str, tuple[np.ndarray[Any, Any], tuple[int, ...]]]


def process_inconsistencies(gp: GPModel, fitted: FittedGP, spec: ModelSpec, state: DesignState) -> Iterator[str]:
    """Compare the parts of a fitted process with each other and with the formula."""
    p, k, q = len(gp.columns), len(fitted.parameters.names), len(state.scale_columns[1:])
    units, root = gp.problem.units, fitted.parameters.scale_root
    wanted: Shapes = {"w_centre": (units.w_centre, (q,)), "w_scale": (units.w_scale, (q,))}
    wanted |= {name: (R, (q, q)) for name, R in {"w_root": units.w_root, "scale_root": root}.items() if R is not None}
    if gp.linear is not None:
        wanted |= {name: (getattr(gp.linear, name), (p,)) for name in ("mean", "sd", "centre")}
        c = p if gp.linear.factor is None else p - gp.linear.factor.size
        more = (("root", gp.linear.root, (c, c)), ("constant", gp.linear.constant, (p,)))
        wanted |= {name: (values, shape) for name, values, shape in more if values is not None}
    for t, (X, centre, scale) in enumerate(zip(gp.problem.X, units.x_centre, units.x_scale, strict=True)):
        d = X.shape[-1] if X.ndim else -1
        wanted |= {f"inputs {t}": (X, (0, d)), f"x_centre {t}": (centre, (d,)), f"x_scale {t}": (scale, (d,))}
    lines = sum(term.line for term in gp.terms)
    wanted["lines"] = gp.lines, (lines,)
    if not ((fitted.weights >= 0.0).all() and math.isclose(fitted.weights.sum(), 1.0, rel_tol=1e-6)):
        yield "the weights of its points are not probabilities"
    if not len(fitted.points) or fitted.n_linear != p or (gp.linear is None) != (p == 0):
        yield "its parts do not belong together"
    if state.linear.columns != gp.columns or gp.terms != spec.processes:
        yield "its columns or processes are not those of the formula"
    yield from _wrong(wanted, finite=("w_centre", "w_scale"))
    first, absorbed = int(gp.linear is not None), gp.linear is not None and gp.linear.factor is not None
    noise = tuple(first + len(spec.gps) + t for t in range(len(gp.terms) - len(spec.gps)))
    factor = None if gp.linear is None else gp.linear.factor
    yield from _wrong_factor(factor, absorbed_columns(state.linear), fitted.points)
    for point in fitted.points:
        if len(point.blocks) != first + len(gp.terms) + lines + absorbed:
            yield "its blocks are not those of the formula"
        if point.noise != noise:
            yield "the processes of its noise scale are not those of the formula"
        yield from _wrong_point(point, k, p)
    yield from _wrong_parameters(gp, fitted, state)


def _wrong(wanted: Shapes, finite: Sequence[str]) -> Iterator[str]:
    """Arrays that differ from their wanted shapes, or contain numbers that are not finite."""
    for name, (values, shape) in wanted.items():
        if values.shape != shape:
            yield f"{name} has the shape {values.shape}, not {shape}"
        elif name in finite and not np.isfinite(values).all():
            yield f"{name} holds numbers that are not finite"


def _wrong_factor(
    factor: LevelColumns | None, columns: slice | None, points: Sequence[FeaturePosterior]
) -> Iterator[str]:
    """An absorbed factor whose columns are not those of the formula, or without a group for each."""
    if factor is None and columns is None:
        return
    sound = factor is not None and columns is not None
    if factor is not None and columns is not None:
        given = factor.start == columns.start and factor.size == columns.stop - columns.start
        sound = given and factor.first >= 0 and factor.first + factor.size <= factor.grouping.size
        for point in points:
            _, *processes, own = point.blocks
            shared = [None, *(t for t, block in enumerate(processes) if block.grouping == factor.grouping)]
            sound = sound and factor.term in shared and own == DenseFeatures(1, factor.grouping)
    if not sound:
        yield "its absorbed factor is not that of the formula"


def _wrong_parameters(gp: GPModel, fitted: FittedGP, state: DesignState) -> Iterator[str]:
    """Hyper-parameters that are not those of the formula and the noise, in the order of theta."""
    found = [*zip(fitted.parameters.names, fitted.parameters.roles, strict=True)]
    known = [
        hyper for term, effects in zip(gp.terms, gp.effects, strict=True) for hyper in term_parameters(term, effects)
    ]
    known += [HyperParameter(name, "scale") for name in state.scale_columns[1:]]
    known += shape_parameters(gp.family)
    side_noises = found[len(known) : -1]  # as many as the method and the rows called for
    if (
        found[: len(known)] != [(hyper.name, hyper.role) for hyper in known]
        or not all(role in SIDES and name.partition("[")[0] == role for name, role in side_noises)
        or len({*side_noises}) < len(side_noises)
        or found[-1:] != [(SIGMA.name, SIGMA.role)]
    ):
        yield "its hyper-parameters are not those of the formula"


def _wrong_point(point: FeaturePosterior, k: int, n_linear: int) -> Iterator[str]:
    """What is wrong with one posterior, by the shapes that its blocks call for."""
    layout, factor = point.layout, point.factor
    if (
        layout != lay_out(point.blocks)
        or len(point.levels) != len(point.blocks)
        or (factor.T is None) != (layout.size == 0)
        or (factor.U is None) != (layout.size == 0 or layout.has_sparse)
        or isinstance(factor, CrossedFactor) != layout.has_sparse
    ):
        yield "its blocks do not belong together"
    p, m, G = layout.p, layout.m, layout.size
    wanted: Shapes = {"theta": (point.theta, (k,)), "w": (point.w, (p + G * m,)), "factor": (factor.L, (p, p))}
    for t, (block, (mean, share)) in enumerate(zip(point.blocks, point.levels, strict=True)):
        size = 1 if block.grouping is None else block.grouping.size
        wanted[f"level {t}"] = mean, (size, block.size) if len(mean) else (0, 0)
        wanted[f"share {t}"] = share, (size, n_linear) if len(mean) else (0, 0)
        held = {name: getattr(block, name, None) for name in ("parameters", "Z", "L")}
        if not all(np.isfinite(values).all() for values in held.values() if values is not None):
            yield f"the block {t} holds numbers that are not finite"
    if factor.T is not None and factor.U is not None:
        wanted |= {"groups": (factor.T, (G, m, m)), "borders": (factor.U, (G, m, p))}
    if isinstance(factor, CrossedFactor):
        wanted |= {"groups": (factor.groups, (G, m, m)), "entries": (factor.indices, factor.data.shape)}
        wanted["ends of borders"] = factor.indptr, (G * m + 1,)
        if not _are_ends(factor.indptr, len(factor.indices)) or ((factor.indices < 0) | (factor.indices >= p)).any():
            yield "its borders are not a sparse matrix"
    wanted |= yield from _field_arrays(point)
    yield from _wrong(wanted, finite=[name for name in wanted if not name.startswith("theta")])


def _are_ends(ends: IntArray, n: int) -> bool:
    return bool(ends[0] == 0 and ends[-1] == n and (np.diff(ends) >= 0).all())


def _field_arrays(point: FeaturePosterior) -> Generator[str, None, Shapes]:
    """Arrays of the structured part, whose parameters are those of the blocks in it."""
    field, standing = point.field, [t for t, b in enumerate(point.blocks) if isinstance(b, StructuredTermAt)]
    if field is None and not standing:
        return {}
    if field is None or field.blocks.tolist() != standing or len(field.theta) != len(standing):
        yield "its blocks do not belong together"
        return {}
    X, code, M = field.structure.inputs.X, field.structure.inputs.code, len(point.w)
    structure, d = field.structure, X.shape[-1]
    terms = [structure.covariance] if isinstance(structure, Vecchia) else list(getattr(structure, "terms", ()))
    if len(terms) != len(standing) or (
        isinstance(structure, Vecchia) and not 1 <= structure.neighbours <= MOST_NEIGHBOURS
    ):
        yield "its structure is not that of its blocks"
    wanted: Shapes = {"knots": (X, (len(X), d)), "precisions": (field.lambda2, (len(X),))}
    wanted |= {"natural means": (field.U, (len(X), 1 + M)), "gram": (field.gram, (M, M)), "r": (field.r, (M,))}
    if isinstance(structure, Vecchia):
        wanted["scales"] = structure.scales, (d,)
    if code is not None:
        wanted["codes"] = code, (len(X),)
    if field.level is not None:
        wanted["level"] = field.level, (len(X),)
    for t, (block, own, term) in enumerate(zip(standing, field.theta, terms, strict=True)):
        of_block = point.blocks[block]
        if not isinstance(of_block, StructuredTermAt) or not np.array_equal(of_block.theta, own):
            yield "the parameters of its structure are not those of its blocks"
        wanted[f"theta {t}"] = own, (1 + term.n_parameters,)
    return wanted
