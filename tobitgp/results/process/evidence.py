"""The evidence of a process at hyper-parameters that are given."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd

from tobitgp.data.pieces import PiecesData
from tobitgp.data.prepare import TrainingData
from tobitgp.errors import SpecError
from tobitgp.formula.spec import ModelSpec
from tobitgp.inference import Method
from tobitgp.inference.fit import evaluate
from tobitgp.inference.fitted import Settings
from tobitgp.inference.model import GPModel
from tobitgp.inference.parameter_options import Given
from tobitgp.likelihoods import Family
from tobitgp.results.process.fit import build_model


class Evidence(NamedTuple):
    """Log evidence at given hyper-parameters, in nats: (SIT6) and (SIT9) of the theory pages.

    Attributes
    ----------
    value : float
        Of the response in the user's units; the same as ``log_evidence`` of a fit with all of them fixed.
    kind : str
        As ``evidence_kind`` of a fit.
    gradient : Series or None
        Derivatives in the hyper-parameters, by name, on their natural scale; inducing inputs are held.
    """

    value: float
    kind: str
    gradient: pd.Series[float] | None


def evidence_at(
    spec: ModelSpec,
    read: TrainingData | PiecesData,
    family: Family,
    *,
    method: Method,
    given: Given,
    settings: Settings,
    gradient: bool,
) -> Evidence:
    """Evidence where ``given.fixed`` has all hyper-parameters."""
    plan, model, whole = build_model(spec, read, family, given, method, settings)
    _check_all_given(model)
    found = evaluate(
        model.problem,
        model.prior,
        model.parameters,
        method,
        family.likelihood,
        settings,
        whole,
        gradient=gradient,
    )
    plain = not np.any(plan.measured.counts[1:]) and family.law.gaussian
    slopes = None if found.gradient is None else pd.Series(found.gradient, index=list(model.parameters.names))
    return Evidence(found.value, "exact" if plain else found.method.evidence_kind, slopes)


def _check_all_given(model: GPModel) -> None:
    parameters = model.parameters
    lacking = [name for name, free in zip(parameters.names, parameters.free, strict=True) if free]
    if lacking:
        raise SpecError(
            f"evidence() needs all hyper-parameters, and params= lacks {', '.join(map(repr, lacking))}. "
            "The hyperparameters of a fit are such a dict."
        )
