"""From what was written and the arrays of the data to a problem, its prior and its parameters."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from tobitgp.data.outcome import Outcome, outcome
from tobitgp.data.problem import Problem, Scaling, standardise
from tobitgp.data.shapes import CensoredResponse, Design, Groups
from tobitgp.errors import DataError, SpecError
from tobitgp.formula.spec import GPTerm, ModelSpec
from tobitgp.inference.parameters import Parameters, default_prior
from tobitgp.inference.prior import Prior
from tobitgp.inference.processes import (
    DF,
    SIDE_NOISES,
    SIGMA,
    HyperParameter,
    term_covariance,
    term_parameters,
)
from tobitgp.likelihoods import Family
from tobitgp.likelihoods.side import SIDES
from tobitgp.prior.block import Grouping, Inputs
from tobitgp.prior.covariance import Covariance, KernelFactor
from tobitgp.prior.dense import DenseBlock
from tobitgp.prior.distributions import LogNormal, Normal
from tobitgp.prior.kernel import GPPrior
from tobitgp.prior.linear import FLAT, WEAK, LinearPrior, default_sd
from tobitgp.prior.moving import Inducing
from tobitgp.typing import Array, IntArray

ROW_NOISES = 300


@dataclass(frozen=True, slots=True)
class GPModel:
    """A model ready to be fitted.

    Attributes
    ----------
    family : Family
    problem : Problem
    prior : Prior
    linear : LinearPrior or None
    columns : tuple of str
        Of the linear part.
    terms : tuple of GPTerm
    parameters : Parameters
    """

    family: Family
    problem: Problem
    prior: Prior
    linear: LinearPrior | None
    columns: tuple[str, ...]
    terms: tuple[GPTerm, ...]
    parameters: Parameters

    def inputs(self, design: Design) -> tuple[Inputs, ...]:
        """Standardised inputs of each block for any rows, linear columns first where there are any."""
        units = self.problem.units
        codes = [None if groups is None else groups.code for groups in design.groups]
        X = [(X - c) / s for X, c, s in zip(design.X, units.x_centre, units.x_scale, strict=True)]
        gps = [Inputs(*pair) for pair in zip(X, codes, strict=True)]
        if self.linear is None:
            return tuple(gps)
        return (Inputs(self.linear.features(design.H, units.scale)), *gps)

    def known_mean(self, design: Design) -> Array:
        """What is added to f once back in the user's units: centre, offset, prior means of coefficients; (n,)."""
        mean = design.offset + self.problem.units.centre
        return mean if self.linear is None else mean + (design.H - self.linear.centre) @ self.linear.mean


def assemble(
    spec: ModelSpec,
    response: CensoredResponse,
    design: Design,
    *,
    family: Family,
    labels: npt.NDArray[Any] | None = None,
    inducing: Any = "auto",
    fixed: Mapping[str, float] | None = None,
    start: Mapping[str, float] | None = None,
    priors: Mapping[str, LogNormal | Normal | None] | None = None,
    side_noises: Literal["shared", "row"] | None = None,
) -> GPModel:
    """Standardise, and settle every parameter's name, unit, prior and freedom.

    Parameters
    ----------
    spec : ModelSpec
    response : CensoredResponse
    design : Design
    family : Family
    labels : (n,) array, optional
        Of the rows, for messages.
    inducing : "auto", None, int, (M, d) array, Inducing, or dict of these by term name
        Locations in the user's units.
    fixed, start : mapping of parameter name to value, optional
        Natural scale, the user's units.
    priors : mapping of parameter name to prior, optional
        None: weak priors on all; an empty mapping: on none; an entry of None drops one.
    side_noises : {"shared", "row"}, optional
        Whether ``sigma_lower`` and ``sigma_upper`` are parameters where rows are censored on their sides, or one of
        them for each such row.

    Returns
    -------
    GPModel

    Raises
    ------
    SpecError
        For names that are not parameters of the model, values that are not allowed, or an ``inducing`` that does not
        fit.
    """
    fixed, start = read_mapping("fixed", fixed) or {}, read_mapping("start", start) or {}
    priors = read_mapping("priors", priors)
    known_rows = outcome(response, log_time=family.log_time, labels=labels)
    noises = _noise_parameters(family, known_rows, side_noises, labels)
    hypers = [*(hyper for term in spec.gps for hyper in term_parameters(term)), *noises]
    names = [hyper.name for hyper in hypers]
    if not design.columns and not spec.gps:
        raise SpecError("The formula has neither a linear term nor a gp() term: there is nothing to estimate.")
    _check_columns(design.columns, names)
    known = [*design.columns, *names]
    for argument, given in (("fixed", fixed), ("start", start), ("priors", priors or {})):
        check_names(argument, given, known)
    _check_start(start, design.columns)
    _check_sigma(family, fixed, start, priors or {})

    mean, sd = _linear_means(design.columns, fixed, priors)
    intercept = 0 if spec.intercept and np.isnan(sd[0]) else None
    centre = np.zeros(len(mean))
    if intercept is not None:
        centre = np.average(design.H, axis=0, weights=response.weight)
        centre[intercept] = 0.0
    shifted = replace(design, offset=design.offset + (design.H - centre) @ mean)
    covariances = [term_covariance(term) for term in spec.gps]
    scaling = [[_scaling(factor) for factor in covariance.factors] for covariance in covariances]
    problem = standardise(known_rows, shifted, log_time=family.log_time, centre=intercept is not None, scaling=scaling)
    problem = problem.number_sides() if side_noises == "row" else problem
    linear = None
    if design.columns:
        weak = np.where([_is_dropped(priors, c) for c in design.columns], FLAT, WEAK)
        size = default_sd(design.H, response.weight, problem.units.scale, weak)
        linear = LinearPrior(mean, np.where(np.isnan(sd), size, sd), centre, intercept)
    dense = None if linear is None else DenseBlock(linear.features(problem.H, problem.units.scale))
    gps = tuple(
        GPPrior(
            Inputs(problem.X[t], problem.code[t]), covariance, chosen[0], _grouping(term, design.groups[t]), chosen[1]
        )
        for t, (term, covariance, chosen) in enumerate(
            zip(spec.gps, covariances, _inducing(inducing, spec.gps, problem), strict=True)
        )
    )
    unit = _units(covariances, problem, noises)
    parameters = _parameters(hypers, unit, fixed, start, priors)
    return GPModel(
        family,
        problem,
        Prior(dense, gps, spec.intercept and sd[0] != 0.0),
        linear,
        design.columns,
        spec.gps,
        parameters,
    )


def _scaling(factor: KernelFactor) -> Scaling:
    """Distances of inputs that share a length-scale are kept as they are; a slope keeps its zero and its unit."""
    return Scaling(factor.columns, factor.kernel.stationary, factor.ard and factor.kernel.stationary)


def _grouping(term: GPTerm, groups: Groups | None) -> Grouping | None:
    return None if term.by is None or groups is None else Grouping(term.by.text, groups.size)


def check_names(argument: str, given: Mapping[str, Any], known: Collection[str], what: str = "parameter") -> None:
    """Refuse names that a dict argument must not hold, with the nearest that it may.

    Raises
    ------
    SpecError
    """
    for name in given:
        if name not in known:
            near = difflib.get_close_matches(str(name), list(known), n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise SpecError(
                f"{argument}= names {name!r}, which is no {what} of this model.{hint} It has: {', '.join(known)}."
            )


def read_mapping(argument: str, given: Any) -> dict[str, Any] | None:
    """A copy of a dict argument, None where there is none.

    Raises
    ------
    SpecError
        If it is no dict.
    """
    if given is None:
        return None
    if not isinstance(given, Mapping):
        raise SpecError(f"{argument}={given!r}: a dict keyed by parameter name is needed, as {{'sigma': ...}}.")
    return dict(given)


def _check_columns(columns: Sequence[str], names: Sequence[str]) -> None:
    """Refuse linear columns that cannot be told from one another or from a hyper-parameter."""
    for i, column in enumerate(columns):
        if column in names or column in columns[:i]:
            what = "a hyper-parameter" if column in names else "another linear column"
            raise DataError(f"The linear column {column!r} has the name of {what}; rename the column.")


def _check_start(start: Mapping[str, float], columns: Sequence[str]) -> None:
    linear = [c for c in columns if c in start]
    if linear:
        raise SpecError(
            f"start= is for hyper-parameters, and {linear[0]!r} is a linear coefficient, which is solved for. "
            "Use fixed= or priors=."
        )


def _check_sigma(family: Family, *given: Mapping[str, Any]) -> None:
    if family.known_sigma is not None and any(SIGMA.name in mapping for mapping in given):
        raise SpecError(f"family={family.name!r} has sigma = {family.known_sigma:g}; leave sigma out.")


def _positive(argument: str, name: str, value: Any) -> float:
    if not isinstance(value, Real) or not 0 < float(value) < np.inf:
        raise SpecError(f"{argument}={{{name!r}: {value!r}}}: a positive number is needed.")
    return float(value)


def _is_dropped(priors: Mapping[str, Any] | None, name: str) -> bool:
    return priors is not None and (not priors or (name in priors and priors[name] is None))


def _linear_means(
    columns: Sequence[str], fixed: Mapping[str, float], priors: Mapping[str, Any] | None
) -> tuple[Array, Array]:
    """Prior means (p,), and sds (p,): NaN where the default applies, 0 where the coefficient is fixed."""
    mean, sd = np.zeros(len(columns)), np.full(len(columns), np.nan)
    for j, name in enumerate(columns):
        prior = (priors or {}).get(name)
        if isinstance(prior, Normal):
            mean[j], sd[j] = prior.mean, prior.sd
        elif prior is not None:
            raise SpecError(
                f"priors={{{name!r}: ...}}: a linear coefficient takes tg.Normal(mean, sd) or None, not {prior!r}."
            )
        if name in fixed:
            if not isinstance(fixed[name], Real) or not np.isfinite(fixed[name]):
                raise SpecError(f"fixed={{{name!r}: {fixed[name]!r}}}: a finite number is needed.")
            mean[j], sd[j] = float(fixed[name]), 0.0
    return mean, sd


def _inducing(inducing: Any, terms: Sequence[GPTerm], problem: Problem) -> list[tuple[Any, bool]]:
    """Each term's choice, locations standardised, and whether it is to be moved."""
    chosen = [term.name for term in terms if term.inputs]
    by_name = dict(inducing) if isinstance(inducing, Mapping) else dict.fromkeys(chosen, inducing)
    check_names("inducing", by_name, chosen, "gp() term")
    if isinstance(inducing, Inducing) and inducing.optimize and not chosen:
        raise SpecError(f"inducing={inducing!r}: the formula has no gp() term whose inducing inputs could be moved.")
    out: list[tuple[Any, bool]] = []
    for t, term in enumerate(terms):
        choice, moves = by_name.get(term.name, "auto"), False
        if isinstance(choice, Inducing):
            choice, moves = choice.start, choice.optimize
        if choice is None or (isinstance(choice, str) and choice == "auto"):
            out.append((choice, False))
        elif isinstance(choice, (int, np.integer)) and not isinstance(choice, bool) and choice >= 1:
            out.append((int(choice), moves))
        else:
            out.append((_locations(choice, term, problem, t), moves))
    return out


def _locations(choice: Any, term: GPTerm, problem: Problem, t: int) -> Array:
    d = len(term.inputs)
    try:
        Z = np.asarray(choice, dtype=float)
    except (TypeError, ValueError):
        Z = np.empty(0)
    Z = Z[:, None] if Z.ndim == 1 and d == 1 else Z
    if Z.ndim != 2 or Z.shape[1] != d or not len(Z) or not np.isfinite(Z).all():
        raise SpecError(
            f"inducing={choice!r} for {term.name}: 'auto', None, a positive number of inputs, or a finite array of "
            f"shape (M, {d}) is allowed."
        )
    return (Z - problem.units.x_centre[t]) / problem.units.x_scale[t]


def _noise_parameters(
    family: Family, known: Outcome, side_noises: str | None, labels: npt.NDArray[Any] | None
) -> list[HyperParameter]:
    """Degrees of freedom where they are estimated, side noises of the sides or rows that occur, then sigma."""
    noises = [DF] if family.estimate_df else []
    if side_noises is not None:
        below = np.isneginf(known.lower)
        one_sided = (below | np.isposinf(known.upper)) & np.isinf(known.entry) & np.isinf(known.exit)
        sides = [SIDE_NOISES[0] if left else SIDE_NOISES[1] for left in below[one_sided]]
        if side_noises == "row":
            noises += _row_noises(sides, np.flatnonzero(one_sided), labels)
        else:
            noises += [side for side in SIDE_NOISES if side in sides]
    return [*noises, SIGMA._replace(known=family.known_sigma)]


def _row_noises(
    sides: Sequence[HyperParameter], rows: IntArray, labels: npt.NDArray[Any] | None
) -> list[HyperParameter]:
    """A side noise for each row, named after its label, or its position where labels are not distinct."""
    if len(rows) > ROW_NOISES:
        raise SpecError(
            f"tg.VI(side_noise='row') has a parameter for each of {len(rows)} censored rows, and at most {ROW_NOISES} "
            "are allowed; side_noise='shared' has one for each side."
        )
    chosen = rows if labels is None or len(set(labels[rows].tolist())) < len(rows) else labels[rows]
    return [side._replace(name=f"{side.name}[{label}]") for side, label in zip(sides, chosen, strict=True)]


def _units(covariances: Sequence[Covariance], problem: Problem, noises: Sequence[HyperParameter]) -> Array:
    """One standardised unit of each hyper-parameter in the user's units."""
    y, units = problem.units.scale, []
    for covariance, scale in zip(covariances, problem.units.x_scale, strict=True):
        sd, rest = y, []
        for factor in covariance.factors:
            own = scale[factor.columns]
            rest += list(own[: factor.n_scales])
            rest += [own[0] if role == "period" else 1.0 for role in factor.kernel.shape]
            sd = sd if factor.kernel.stationary else sd / own[0]
        units += [sd, *rest]
    return np.array([*units, *(1.0 if noise is DF else y for noise in noises)])


def _parameters(
    hypers: Sequence[HyperParameter],
    unit: Array,
    fixed: Mapping[str, float],
    start: Mapping[str, float],
    priors: Mapping[str, Any] | None,
) -> Parameters:
    k = len(hypers)
    mean, sd, first = np.empty(k), np.empty(k), np.full(k, np.nan)
    free = np.ones(k, dtype=bool)
    for i, hyper in enumerate(hypers):
        name = hyper.name
        mean[i], sd[i] = default_prior(hyper.role, hyper.n_inputs)
        prior = (priors or {}).get(name)
        if isinstance(prior, LogNormal):
            mean[i], sd[i] = np.log(prior.median / unit[i]), prior.spread
        elif prior is not None:
            raise SpecError(
                f"priors={{{name!r}: ...}}: a hyper-parameter takes tg.LogNormal(median, spread) or None, "
                f"not {prior!r}."
            )
        elif _is_dropped(priors, name):
            sd[i] = np.inf
        if name in start:
            first[i] = np.log(_positive("start", name, start[name]) / unit[i])
        if name in fixed or hyper.known is not None:
            known = fixed.get(name, hyper.known)
            none = hyper.role in SIDES and isinstance(known, Real) and known == 0
            first[i] = -np.inf if none else np.log(_positive("fixed", name, known) / unit[i])
            free[i] = False
    return Parameters(tuple(h.name for h in hypers), tuple(h.role for h in hypers), unit, mean, sd, free, first)
