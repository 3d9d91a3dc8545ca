"""Fits with sigma fixed at 0: where they are defined."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from tobitgp.data.prepare import PartitionedData, TrainingData
from tobitgp.errors import DataError, SpecError
from tobitgp.formula.spec import ModelSpec
from tobitgp.inference.assembly import GPModel
from tobitgp.inference.given_parameters import GivenParameters, is_zero
from tobitgp.inference.hyperparameters import SIGMA
from tobitgp.inference.method import Method
from tobitgp.inference.noise_free import MOST_PLACES, Places
from tobitgp.likelihoods import Family

ASKED = "fixed={'sigma': 0}: without noise "
INSTEAD = " Or fix sigma above 0."


def asks_for_none(given: GivenParameters) -> bool:
    """Whether sigma is fixed at 0."""
    return is_zero(given.fixed.get(SIGMA.name))


def refuse_family_without_noise(name: str, given: GivenParameters) -> None:
    """Raise an error for a family that is not normal where sigma is fixed at 0."""
    if asks_for_none(given):
        raise SpecError(f"{ASKED}family={name!r} is not supported. Use family='gaussian'.{INSTEAD}")


def check_request(
    spec: ModelSpec, read: TrainingData | PartitionedData, family: Family, given: GivenParameters, method: Method
) -> None:
    """Raise an error for what is not defined without noise, or not supported."""
    if family.name != "gaussian":
        refuse_family_without_noise(family.name, given)
    if method.name != "ep":
        why = "no slope" if method.name == "laplace" else "an infinite divergence from every normal distribution"
        raise SpecError(
            f"{ASKED}the likelihood of a row is a step or a point, which has {why}, so that method={method.name!r} is "
            f"not defined. Use method='ep'.{INSTEAD}"
        )
    if isinstance(read, PartitionedData):
        raise SpecError(f"{ASKED}all rows are held in memory. Give a DataFrame, not files.{INSTEAD}")
    if spec.scale is not None or read.design.spread is not None:
        argument = "var_weights=" if spec.scale is None else "sigma="
        raise SpecError(f"{ASKED}{argument} is not supported, since there is no scale. Leave it out.{INSTEAD}")
    if spec.truncation is not None or read.response.window is not None:
        raise SpecError(f"{ASKED}truncated rows are not supported. Leave the truncation out.{INSTEAD}")
    if (read.response.weight != 1.0).any():
        raise SpecError(f"{ASKED}copies of a row add no information. Leave weights= out.{INSTEAD}")
    chosen = given.inducing.values() if isinstance(given.inducing, dict) else [given.inducing]
    if any(choice is not None and not (isinstance(choice, str) and choice == "auto") for choice in chosen):
        raise SpecError(f"{ASKED}every distinct input has a basis function. Leave inducing= out.{INSTEAD}")
    for term in spec.processes:
        if term.approximation not in ("auto", "dense"):
            raise SpecError(
                f"{ASKED}{term.name} is dense: approximation={term.approximation!r} is not supported. Leave it out."
                f"{INSTEAD}"
            )
        if term.by is not None or not term.factors or term.cor:
            raise SpecError(
                f"{ASKED}random effects and by= are not supported, here {term.name}. Leave the term out.{INSTEAD}"
            )
    if all(factor.kernel == "linear" for term in spec.processes for factor in term.factors):
        raise SpecError(
            f"{ASKED}only a process with a kernel can interpolate all rows. Add gp() to the formula.{INSTEAD}"
        )


def with_places(model: GPModel, labels: npt.NDArray[np.object_]) -> GPModel:
    """The model whose evidence counts copies once; an error for contradictory rows and too many inputs."""
    if model.prior.factor is not None:
        raise SpecError(f"{ASKED}factors of many levels are not supported. Leave them out.{INSTEAD}")
    places = Places.of(model.problem.rows, model.prior.inputs)
    if len(places.first) > MOST_PLACES:
        raise SpecError(
            f"{ASKED}at most {MOST_PLACES} distinct inputs are allowed, and there are {len(places.first)}. Use fewer "
            f"rows.{INSTEAD}"
        )
    for rows in places.contradictions():
        named = ", ".join(str(label) for label in np.sort(labels[model.problem.order[rows[:5]]]))
        raise DataError(
            f"{ASKED}rows with the same inputs must have the same value, and no value agrees with all of the "
            f"rows {named}. Keep "
            f"one of them.{INSTEAD}"
        )
    exact = sum(len(rows) for rows in model.problem.rows if rows.kind == "exact")
    jacobian = model.problem.units.log_jacobian * float(places.known.sum()) / max(exact, 1)
    units = replace(model.problem.units, log_jacobian=jacobian)
    return replace(model, problem=replace(model.problem, units=units))
