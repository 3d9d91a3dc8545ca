"""Whether the parts of a loaded fit belong together."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.data.design import DesignState
from tobitgp.data.linear_columns import absorbed_columns
from tobitgp.data.training_summary import ColumnFacts, constant_column
from tobitgp.errors import TobitGPError
from tobitgp.formula.gp import MOST_NEIGHBOURS
from tobitgp.inference.feature_posterior import Posterior, lay_out
from tobitgp.inference.hyperparameters import SIGMA, HyperParameter, shape_parameters, term_parameters
from tobitgp.kinds.boxcox import BoxCoxParts
from tobitgp.kinds.cure import ENDS, CureParts
from tobitgp.kinds.likelihood import LikelihoodParts
from tobitgp.kinds.mixture import MixtureParts
from tobitgp.kinds.parametric import LINKS, ParametricParts
from tobitgp.kinds.process import ProcessParts
from tobitgp.kinds.start_stop import StartStopParts
from tobitgp.likelihoods.censoring_noise import SIDES
from tobitgp.likelihoods.families import BOXCOX
from tobitgp.mixture import Dirichlet, DirichletProcess
from tobitgp.mixture.evidence_bound import Bayes, Points
from tobitgp.numerics.crossed import CrossedFactor
from tobitgp.numerics.factored import Factored
from tobitgp.priors.prior import DenseFeatures, LevelColumns
from tobitgp.priors.structure import StructuredTermAt
from tobitgp.priors.vecchia import Vecchia
from tobitgp.regression.maximum import KINDS
from tobitgp.results.hazards.hazard_results import HazardResults
from tobitgp.results.likelihood.likelihood_results import LikelihoodResults
from tobitgp.results.mixture.mixture_results import MixtureResults
from tobitgp.results.views import COUNTS, Source
from tobitgp.storage.archive import MalformedError
from tobitgp.typing import IntArray

MAX_SCALE = 1e150  # its square is a number

Shapes = dict[str, tuple[np.ndarray[Any, Any], tuple[int, ...]]]


def check_process(parts: ProcessParts) -> None:
    """Compare what the parts of a fitted process say of each other."""
    _check_process_arrays(parts)
    check_source(parts)


def check_cure(parts: CureParts) -> None:
    """Compare what the parts of a fitted cure model say of each other."""
    if parts.state.scale is None or not parts.family.log_time or not parts.last > 0.0 or parts.ends is None:
        raise MalformedError("its parts do not belong together")
    _check_shapes({"ends": (parts.ends, (len(parts.ends), len(ENDS)))})
    _check_estimates(parts, len(parts.scale_columns) + 1)


def check_boxcox(parts: BoxCoxParts) -> None:
    """Compare what the parts of a regression after a power transformation say of each other."""
    if parts.family is not BOXCOX or not parts.last > 0.0 or parts.profile is None:
        raise MalformedError("its parts do not belong together")
    _check_shapes({"profile": (parts.profile, (len(parts.profile), 2))})
    check_regression(parts)


def check_parametric(parts: ParametricParts) -> None:
    """Compare what the parts of a fit with a parametric baseline say of each other."""
    try:
        written = parts.written
        strata = len(parts.level_columns)
    except (TobitGPError, StopIteration) as error:
        raise MalformedError(f"its formula cannot be read: {error}") from error
    knots = np.array(getattr(parts.baseline, "knots", (0.0, 1.0)), dtype=np.float64)
    known = parts.family.name in LINKS.values() and parts.state.scale is None and parts.last > 0.0
    if not known or written.linear != parts.spec.formula or len(knots) < 2 or not (np.diff(knots) > 0.0).all():
        raise MalformedError("its parts do not belong together")
    shared = parts.frailty is not None
    if parts.frailty != (written.shared and written.shared.strip("`")) or shared != (parts.frailties is not None):
        raise MalformedError("its frailties are not those of its formula")
    if parts.frailties is not None:
        _check_shapes({"frailties": (parts.frailties, (len(parts.groups), 2))})
        if not (parts.frailties > 0.0).all():
            raise MalformedError("its frailties are not positive")
    _check_estimates(parts, parts.baseline.size * strata + shared)


def check_regression(parts: LikelihoodParts) -> None:
    """Compare what the parts of a fitted regression say of each other."""
    _check_estimates(parts, 1 if parts.state.scale is None else len(parts.scale_columns))


def check_start_stop(parts: StartStopParts) -> None:
    """Compare what the parts of a fitted regression of start-stop rows say of each other."""
    alone = parts.state.scale is None and parts.family.log_time and parts.code is None
    if not alone or not parts.id or not 0 < parts.subjects <= parts.facts.n or not parts.subject_weight > 0.0:
        raise MalformedError("its parts do not belong together")
    _check_estimates(parts, 1)


def _check_estimates(parts: LikelihoodParts, q: int) -> None:
    """The same of estimates, q of which are not of linear columns or a shape."""
    check_source(parts)
    maximum, p = parts.maximum, len(parts.columns)
    k = p + q + parts.family.estimate_shape
    wanted: Shapes = {"coefficients": (maximum.coefficients, (p,)), "gamma": (maximum.gamma, (q,))}
    wanted |= {"free": (maximum.free, (k,)), "centre": (parts.centre, (p,))}
    of_maximum = {f"{name} of the maximum": getattr(maximum, name) for name in ("inverse_information", "unidentified")}
    for name, V in {"covariance": parts.covariance, "unidentified": parts.unidentified, **of_maximum}.items():
        if isinstance(V, Factored):
            wanted |= {f"root of {name}": (V.root, (k, *V.root.shape[1:2])), f"own part of {name}": (V.own, (k,))}
        else:
            wanted[name] = V, (k, k)
    _check_shapes(wanted)
    _check_finite({name: wanted[name][0] for name in ("coefficients", "gamma", "centre")})
    if parts.spec.processes or maximum.scores is not None or parts.cov_type not in KINDS:
        raise MalformedError("its parts do not belong together")
    if (maximum.shape is None) != (parts.family.distribution.shape_name is None) or not (
        maximum.shape is None or np.isfinite(maximum.shape)
    ):
        raise MalformedError("the shape of its noise is not that of its family")


def check_mixture(parts: MixtureParts) -> None:
    """Compare what the parts of a fitted mixture say of each other."""
    check_source(parts)
    fit, model = parts.fit, parts.fit.model
    if parts.spec.mixture is None or not isinstance(model, (Bayes, Points)) or fit.k != model.k or fit.k < 1:
        raise MalformedError("its parts do not belong together")
    k, point = fit.k, isinstance(model, Points)
    names = model.family.parameters if point else model.family.hyperparameters
    p = k * (1 + len(model.family.parameters))
    size = 2 * k - 1 if isinstance(model, Bayes) and isinstance(model.weights, DirichletProcess) else k
    wanted: Shapes = {"weights": (fit.state.weights, (size,)), "components": (fit.state.components, (len(names), k))}
    wanted |= {name: (getattr(fit, name), (k,)) for name in ("order", "counts", "exact_counts")}
    if isinstance(model, Bayes):
        learnt = (model.prior.learnt.size,)
        wanted |= {"prior": (model.prior.values, (len(names),)), "scales": (fit.state.scales, learnt)}
        wanted |= {name: (getattr(model.prior, name), learnt) for name in ("learnt", "power", "shape", "rate")}
        if not (np.isin(model.prior.learnt, np.arange(len(names))).all() and (fit.state.scales > 0.0).all()):
            raise MalformedError("what its prior learns makes no sense")
        if not isinstance(model.weights, (Dirichlet, DirichletProcess)):
            raise MalformedError("its prior of the weights is of an unknown kind")
    if parts.covariance is None:
        raise MalformedError("it holds no covariance")
    if not (math.isfinite(fit.units.shift) and 0 < fit.units.scale < MAX_SCALE):
        raise MalformedError("its units make no sense")
    wanted["covariance"] = (parts.covariance, (p, p))
    wanted |= {name: (getattr(fit, name), (getattr(fit, name).size,)) for name in ("ends", "trace")}
    _check_shapes(wanted)
    _check_finite({name: wanted[name][0] for name in ("weights", "components")})
    if sorted(fit.order.tolist()) != list(range(k)):
        raise MalformedError("the order of its components is none")
    tried = parts.tried
    if tried is not None and not len(tried.numbers) == len(tried.values) == len(tried.converged) > 0:
        raise MalformedError("the numbers of components that were tried do not belong together")


def check_source(parts: Source) -> None:
    """Compare what a fit remembers of its rows."""
    _check_state(parts.state)
    columns = parts.facts.columns
    if set(parts.facts.counts) != set(COUNTS):
        raise MalformedError(f"its counts are not {', '.join(COUNTS)}")
    if columns and tuple(columns) != parts.state.input_names:
        raise MalformedError("its columns are not those of the formula")
    for name, facts in columns.items():
        if not _is_sound(facts, parts.state.levels[name]):
            raise MalformedError(f"what it says of the column {name!r:.60} makes no sense")


def try_results(results: Any) -> None:
    """Ask what needs every array once: parts that do not belong together fail here rather than later."""
    parts: Source = results.parts
    columns = parts.facts.columns
    with np.errstate(all="ignore"), warnings.catch_warnings():
        # What they warn of is for those who ask.
        warnings.simplefilter("ignore")
        repr(results), results.summary_frame(), results.cov_params(), results.fit_history
        if columns or not parts.state.levels:
            filled = {name: constant_column(parts.state, x, name, x.example, 1) for name, x in columns.items()}
            try:
                found = results.predict(pd.DataFrame(filled, index=pd.RangeIndex(1)), se=True)
            except TobitGPError:
                # A row put together from several may lie where the model says nothing.
                return
            # The mean of a mixture of heavy tails may be infinite, and a median that is not reached.
            if not (
                isinstance(results, MixtureResults | HazardResults | LikelihoodResults)
                or np.isfinite(found.to_numpy(dtype=float)[0, 0])
            ):
                raise MalformedError("its numbers give no finite prediction")


def _check_process_arrays(parts: ProcessParts) -> None:
    fitted, gp = parts.fitted, parts.gp
    p, k, J = len(gp.columns), len(fitted.parameters.names), len(fitted.points)
    wanted: Shapes = {"weights": (fitted.weights, (J,)), "log_covariance": (fitted.log_covariance, (k, k))}
    for name in ("units", "prior_mean", "prior_sd", "free", "start"):
        wanted[name] = (getattr(fitted.parameters, name), (k,))
    units, q = gp.problem.units, len(parts.state.scale_columns[1:])
    of_scale = {"w_centre": units.w_centre, "w_scale": units.w_scale}
    wanted |= {name: (values, (q,)) for name, values in of_scale.items()}
    if gp.linear is not None:
        wanted |= {name: (getattr(gp.linear, name), (p,)) for name in ("mean", "sd", "centre")}
        c = p if gp.linear.factor is None else p - gp.linear.factor.size
        more = (("root", gp.linear.root, (c, c)), ("constant", gp.linear.constant, (p,)))
        wanted |= {name: (values, shape) for name, values, shape in more if values is not None}
        _check_factor(gp.linear.factor, absorbed_columns(parts.state.linear), fitted.points)
    for j, point in enumerate(fitted.points):
        wanted |= {f"{name} of point {j}": pair for name, pair in _point_arrays(point, k, p).items()}
    _check_shapes(wanted)
    _check_finite(
        {name: values for name, (values, _) in wanted.items() if " of point " in name and "theta" not in name}
    )
    _check_finite(of_scale)
    roots = {"w_root": units.w_root, "scale_root": fitted.parameters.scale_root}
    _check_shapes({name: (root, (q, q)) for name, root in roots.items() if root is not None})
    for point in fitted.points:
        for block in point.blocks:
            held = {name: getattr(block, name, None) for name in ("parameters", "Z", "L")}
            _check_finite({name: values for name, values in held.items() if values is not None})
    if not ((fitted.weights >= 0.0).all() and math.isclose(fitted.weights.sum(), 1.0, rel_tol=1e-6)):
        raise MalformedError("the weights of its points are no probabilities")
    if J == 0 or fitted.n_linear != p or (gp.linear is None) != (p == 0) or len(fitted.parameters.roles) != k:
        raise MalformedError("its parts do not belong together")
    if parts.state.linear.columns != gp.columns or gp.terms != parts.spec.processes:
        raise MalformedError("its columns or processes are not those of the formula")
    first = (gp.linear is not None) + len(parts.spec.gps)
    noise = tuple(range(first, first + len(gp.terms) - len(parts.spec.gps)))
    lines = sum(term.line for term in gp.terms)
    absorbed = gp.linear is not None and gp.linear.factor is not None
    blocks = (gp.linear is not None) + len(gp.terms) + lines + absorbed
    _check_shapes({"lines": (gp.lines, (lines,))})
    if any(len(point.blocks) != blocks for point in fitted.points):
        raise MalformedError("its blocks are not those of the formula")
    if any(point.noise != noise for point in fitted.points):
        raise MalformedError("the processes of its noise scale are not those of the formula")
    _check_parameters(parts)


def _check_factor(factor: LevelColumns | None, columns: slice | None, points: Sequence[Posterior]) -> None:
    """Refuse an absorbed factor whose columns are not those of the formula, or without a group for each."""
    if (factor is None) != (columns is None):
        raise MalformedError("its absorbed factor is not that of the formula")
    if factor is None or columns is None:
        return
    given = factor.start == columns.start and factor.size == columns.stop - columns.start
    grouped = factor.first >= 0 and factor.first + factor.size <= factor.grouping.size
    for point in points:
        _, *processes, own = point.blocks
        shared = [None, *(t for t, block in enumerate(processes) if block.grouping == factor.grouping)]
        if not (given and grouped and factor.term in shared and own == DenseFeatures(1, factor.grouping)):
            raise MalformedError("its absorbed factor is not that of the formula")


def _check_parameters(parts: ProcessParts) -> None:
    """Refuse hyper-parameters that are not those of the formula and the noise, in the order of theta."""
    parameters = parts.fitted.parameters
    found = [*zip(parameters.names, parameters.roles, strict=True)]
    known = [
        hyper
        for term, effects in zip(parts.gp.terms, parts.gp.effects, strict=True)
        for hyper in term_parameters(term, effects)
    ]
    known += [HyperParameter(name, "scale") for name in parts.state.scale_columns[1:]]
    known += shape_parameters(parts.family)
    side_noises = found[len(known) : -1]  # as many as the method and the rows called for
    if (
        found[: len(known)] != [(hyper.name, hyper.role) for hyper in known]
        or not all(role in SIDES and name.partition("[")[0] == role for name, role in side_noises)
        or len({*side_noises}) < len(side_noises)
        or found[-1:] != [(SIGMA.name, SIGMA.role)]
    ):
        raise MalformedError("its hyper-parameters are not those of the formula")


def _check_shapes(wanted: Shapes) -> None:
    """Refuse arrays that have not the shapes beside them."""
    for name, (values, shape) in wanted.items():
        if values.shape != shape:
            raise MalformedError(f"{name} has the shape {values.shape}, not {shape}")


def _check_finite(arrays: dict[str, np.ndarray[Any, Any]]) -> None:
    """Refuse arrays of numbers that no fit has."""
    for name, values in arrays.items():
        if not np.isfinite(values).all():
            raise MalformedError(f"{name} holds numbers that are not finite")


def _point_arrays(point: Posterior, k: int, n_linear: int) -> Shapes:
    """Arrays of one posterior with the shapes that its blocks call for."""
    layout, factor = point.layout, point.factor
    if (
        layout != lay_out(point.blocks)
        or (factor.T is None) != (layout.size == 0)
        or (factor.U is None) != (layout.size == 0 or layout.has_sparse)
        or isinstance(factor, CrossedFactor) != layout.has_sparse
    ):
        raise MalformedError("its blocks do not belong together")
    p, m, G = layout.p, layout.m, layout.size
    wanted: Shapes = {"theta": (point.theta, (k,)), "w": (point.w, (p + G * m,))}
    wanted["factor"] = (factor.L, (p, p))
    if len(point.levels) != len(point.blocks):
        raise MalformedError("its levels are not those of its blocks")
    for t, (block, (mean, share)) in enumerate(zip(point.blocks, point.levels, strict=True)):
        size = 1 if block.grouping is None else block.grouping.size
        wanted[f"level {t}"] = mean, (size, block.size) if len(mean) else (0, 0)
        wanted[f"share {t}"] = share, (size, n_linear) if len(mean) else (0, 0)
    if factor.T is not None and factor.U is not None:
        wanted |= {"groups": (factor.T, (G, m, m)), "borders": (factor.U, (G, m, p))}
    if isinstance(factor, CrossedFactor):
        entries = factor.data.shape
        wanted |= {"groups": (factor.groups, (G, m, m)), "entries of borders": (factor.indices, entries)}
        wanted["ends of borders"] = factor.indptr, (G * m + 1,)
        if not _are_ends(factor.indptr, len(factor.indices)) or not _all_below(factor.indices, p):
            raise MalformedError("its borders are no sparse matrix")
    return wanted | _field_arrays(point)


def _are_ends(ends: IntArray, n: int) -> bool:
    return bool(ends[0] == 0 and ends[-1] == n and (np.diff(ends) >= 0).all())


def _all_below(places: IntArray, size: int) -> bool:
    return bool(((places >= 0) & (places < size)).all())


def _field_arrays(point: Posterior) -> Shapes:
    """Arrays of the structured part, whose parameters are those of the blocks that stand in it."""
    field, standing = point.field, [t for t, b in enumerate(point.blocks) if isinstance(b, StructuredTermAt)]
    if field is None and not standing:
        return {}
    if field is None or field.blocks.tolist() != standing or len(field.theta) != len(standing):
        raise MalformedError("its blocks do not belong together")
    X, code, M = field.structure.inputs.X, field.structure.inputs.code, len(point.w)
    structure, d = field.structure, X.shape[-1]
    terms = [structure.covariance] if isinstance(structure, Vecchia) else list(getattr(structure, "terms", ()))
    if len(terms) != len(standing) or (
        isinstance(structure, Vecchia) and not 1 <= structure.neighbours <= MOST_NEIGHBOURS
    ):
        raise MalformedError("its structure is not that of its blocks")
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
            raise MalformedError("the parameters of its structure are not those of its blocks")
        wanted[f"theta {t}"] = own, (1 + term.n_parameters,)
    return wanted


def _check_state(state: DesignState) -> None:
    if tuple(state.levels) != state.input_names:
        raise MalformedError("its columns are not those of the formula")
    for name, levels in state.levels.items():
        if levels is not None and not all(isinstance(level, (str, int, float, pd.Interval)) for level in levels):
            raise MalformedError(f"the column {name!r:.60} has levels of an unknown type")
        if levels is not None and len(set(levels)) < len(levels):
            raise MalformedError(f"the column {name!r:.60} has a level twice")
    if len(state.group_levels) != len(state.spec.processes):
        raise MalformedError("its groups are not those of the formula")
    for term, levels in zip(state.spec.processes, state.group_levels, strict=True):
        if (term.by is None) != (levels is None) or (levels is not None and len(set(levels)) < len(levels)):
            raise MalformedError(f"the groups of {term.name} are not those of the formula, or one is twice there")
    for part in state.parts:
        if len(part.coded) != len(part.spec.codings) or any(seen.ndim != 1 for seen in part.coded):
            raise MalformedError("the values in C(...) are not those of the formula")


def _is_sound(facts: ColumnFacts, levels: tuple[Any, ...] | None) -> bool:
    if levels is not None or facts.kind == "factor":
        return levels is not None and facts.kind == "factor" and facts.typical in levels and facts.example in levels
    if facts.kind == "date":
        return facts.typical is None and isinstance(facts.example, str)
    values = (facts.typical, facts.example, facts.minimum, facts.maximum, facts.sd)
    return all(isinstance(value, (int, float)) and math.isfinite(value) for value in values)
