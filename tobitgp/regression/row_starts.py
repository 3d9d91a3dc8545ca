"""Where the search for the maximum of a likelihood of rows starts: maxima without formulas of other parameters."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np
from scipy.special import logit

from tobitgp.data.outcome import Outcome
from tobitgp.distributions.mixed_rows import MixedModel
from tobitgp.distributions.row_models import BaselineModel, CureModel, NoiseModel
from tobitgp.engines import pick_rows
from tobitgp.regression.mixed_starts import mixed_starts
from tobitgp.regression.row_search import (
    RowProblem,
    StartingPoint,
    cured_shares,
    events_of,
    from_baseline,
    from_noise,
    from_residuals,
)
from tobitgp.typing import Array

_INSIDE = 3.0  # distance of a start from the ends of the shapes that are sought, as coordinates


def row_starts(problem: RowProblem) -> list[Array]:
    """Points x of searches."""
    found = starts_of(problem.model, problem.seen, problem.written[0], problem.offsets[0])
    return [problem.at_point(each) for each in found]


@singledispatch
def starts_of(model: Any, seen: Outcome, H: Array, offset: Array) -> list[StartingPoint]:
    """Values from which searches begin, of columns H (n, p) and an offset (n,) of the location."""
    return [from_residuals(seen, H, offset, model.parameters)]


@starts_of.register
def _of_noise(model: NoiseModel, seen: Outcome, H: Array, offset: Array) -> list[StartingPoint]:
    beta, tau, shape = from_noise(seen, H, offset, model.noise, model.known_sigma, own_shape=model.own_shape)
    low, high = model.noise.coordinate_range()
    shape = None if shape is None else float(np.clip(shape, low + _INSIDE, high - _INSIDE))
    scale = () if model.known_sigma is not None else (-tau if model.reciprocal else tau,)
    return [StartingPoint(beta, (*scale, shape) if model.own_shape and shape is not None else scale)]


@starts_of.register
def _of_baseline(model: BaselineModel, seen: Outcome, H: Array, offset: Array) -> list[StartingPoint]:
    return [from_baseline(seen, H, offset, model.noise, model.baseline)]


@starts_of.register
def _of_cured(model: CureModel, seen: Outcome, H: Array, offset: Array) -> list[StartingPoint]:
    """From rows with an event and from all, at several cured fractions."""
    event = events_of(seen)
    (of_events,) = starts_of(model.uncured, seen.rows(event), pick_rows(H, event), offset[event])
    (of_all,) = starts_of(model.uncured, seen, H, offset)
    tail, less, more = cured_shares(seen)
    each = ((tail, of_events), (less, of_all), (more, of_events))
    return [StartingPoint(at.coefficients, (float(logit(pi)), *at.others)) for pi, at in each]


@starts_of.register
def _of_mixture(model: MixedModel, seen: Outcome, H: Array, offset: Array) -> list[StartingPoint]:
    return mixed_starts(model, seen, H, offset)
