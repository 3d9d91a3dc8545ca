"""Starts of an ascent given by the user: parameters of the components, or responsibilities of the rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tobitgp.errors import SpecError
from tobitgp.mixture.arranged_rows import arrange
from tobitgp.mixture.coordinate_ascent import chunks_of, sum_over, sums_given
from tobitgp.mixture.evidence_bound import Bayes, MixtureState, PosteriorModel
from tobitgp.mixture.family import MixtureFamily, Sums, inverse
from tobitgp.mixture.mixture_priors import DirichletProcess
from tobitgp.mixture.mixture_rows import MixtureRows, MixtureUnits, Raw
from tobitgp.mixture.starts import imputed
from tobitgp.typing import Array, BoolArray

_MOST_ROUNDS, _NEAR = 100, 1e-10
_LARGEST_MOVE = 2.0  # of the logarithm of a parameter in a round


@dataclass(frozen=True, slots=True)
class StartParameters:
    """Parameters of J components in the user's units."""

    weights: Array  # (J,), with the sum 1
    values: Array  # (R, J), in the order of ``MixtureFamily.parameters``


@dataclass(frozen=True, slots=True)
class StartResponsibilities:
    """Probabilities of J components in each row that was given."""

    shares: Array  # (n, J), rows of sum 1


GivenStart = StartParameters | StartResponsibilities


def state_at(model: PosteriorModel, raw: Raw, units: MixtureUnits, start: GivenStart) -> MixtureState:
    """The state to which a start leads: one update of the components from the rows, given their responsibilities."""
    family = model.family
    working = arrange(family, raw, units, collapse=False, ties=model.adapts)
    if isinstance(start, StartParameters):
        _check_number(model, len(start.weights))
        theta = _padded(family, theta_at(family, start.values, units), model.k)
        log_weight = np.full(model.k, -np.inf)
        with np.errstate(divide="ignore"):
            log_weight[: len(start.weights)] = np.log(start.weights)
        sums = sum_over(chunks_of(working, model.k), family.terms, theta, log_weight)
        if not np.isfinite(sums.log_norm):
            raise SpecError("start=: some rows are impossible under these parameters. Give wider components.")
        return _first(model, theta, sums)
    _check_number(model, start.shares.shape[1])
    order = np.concatenate([raw.position[at] for at in raw.of_kinds()])
    r = np.zeros((model.k, len(order)))
    r[: start.shares.shape[1]] = start.shares[order].T
    rows, theta = imputed(family, working, np.random.default_rng(0)), family.reference(model.k)
    theta = model.view(_first(model, theta, sums_given(rows, r, family, theta))).theta
    return _first(model, theta, _sums_of(working.parts, r, family, theta))


def _sums_of(parts: tuple[MixtureRows, ...], r: Array, family: MixtureFamily, theta: Array) -> Sums:
    """Sums over the rows as they are, censored ones among them, at responsibilities (K, n) in their order."""
    ends = np.cumsum([len(part) for part in parts])[:-1]
    each = [sums_given(part, one, family, theta) for part, one in zip(parts, np.split(r, ends, axis=1), strict=True)]
    return Sums(np.nan, np.sum([one.counts for one in each], axis=0), np.sum([one.statistics for one in each], axis=0))


def _first(model: PosteriorModel, theta: Array, sums: Sums) -> MixtureState:
    with np.errstate(all="ignore"):
        return model.first(theta, sums)


def _padded(family: MixtureFamily, theta: Array, k: int) -> Array:
    """Parameters (D, k), those of components that were not given at the family's reference."""
    out = family.reference(k)
    out[:, : theta.shape[1]] = theta
    return out


def _check_number(model: PosteriorModel, number: int) -> None:
    process = isinstance(model, Bayes) and isinstance(model.weights, DirichletProcess)
    if number == model.k or (process and number < model.k):
        return
    allowed = f"at most {model.k}" if process else str(model.k)
    raise SpecError(
        f"start= has {number} component{'s' * (number != 1)}, and the mixture {allowed}. Give as many to both."
    )


def theta_at(family: MixtureFamily, values: Array, units: MixtureUnits) -> Array:
    """Plug-in parameters (D, J) at which the user's are ``values`` (R, J), by Newton's method."""
    theta, positive = family.reference(values.shape[1]), positive_parameters(family)
    for _ in range(_MOST_ROUNDS):
        now, slopes = family.point_estimates(theta, units)
        with np.errstate(all="ignore"):
            rate = np.where(positive, now, 1.0)
            way = np.where(positive, np.log(values / now), values - now)
            done = np.abs(np.where(positive, way, way / (1.0 + np.abs(values)))).max() < _NEAR
            way = np.where(positive, np.clip(way, -_LARGEST_MOVE, _LARGEST_MOVE), way)
            move = np.einsum("drk,rk->dk", inverse(slopes / rate[:, None]), way)
        if done:
            return theta
        if not np.isfinite(move).all():
            break
        theta = theta + move
    raise SpecError(f"start=: {family.name} components cannot have these parameters. Give other values.")


def positive_parameters(family: MixtureFamily) -> BoolArray:
    """Which of the user's parameters are positive, (R, 1); means of values or of their logarithms are not."""
    real = family.free_of == "location and scale"
    return np.array([[not (real and name == "mean")] for name in family.parameters])
