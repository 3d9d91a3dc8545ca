"""A fit as arviz takes it: draws of the parameters, log likelihoods, what was seen, new responses."""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.data.shapes import CensoredResponse
from tobitgp.errors import SpecError
from tobitgp.results.trust.posterior_draws import Draws
from tobitgp.results.views import Source, plain_text
from tobitgp.typing import Array, IntArray

NO_ARVIZ = "to_arviz() needs the package arviz; install it by: pip install 'tobitgp[arviz]'"
CODES = {"left": -1, "none": 0, "right": 1, "interval": 2}
_MOST = 2 * 10**8


def inference_data(draws: Draws, parts: Source) -> Any:
    """An ``InferenceData`` of arviz before 1.0, an ``xarray.DataTree`` from 1.0 on; see the method ``to_arviz``."""
    arviz = _arviz()
    import xarray

    training = parts.rows
    copies = _copies(training.response.weight, draws.size)
    n, name = len(copies), _apart(plain_text(parts.spec.response.label))
    sample = {"chain": [0], "draw": np.arange(draws.size)}
    rows = {"row": _labels(training.labels[copies])}

    def of_rows(of: Any) -> Any:
        values = np.empty((1, draws.size, n))
        for span, found in of:
            at = np.flatnonzero((copies >= span.start) & (copies < span.stop))
            values[0, :, at] = found[copies[at] - span.start]
        return xarray.Dataset({name: (("chain", "draw", "row"), values)}, coords={**sample, **rows})

    parameters = draws.parameters()
    groups = {
        "posterior": xarray.Dataset(
            {_apart(p): (("chain", "draw"), column[None]) for p, column in zip(draws.names, parameters.T, strict=True)},
            coords=sample,
        ),
        "log_likelihood": of_rows(draws.log_likelihoods()),
        "posterior_predictive": of_rows(_clipped(draws, parts)),
        "observed_data": xarray.Dataset(
            {key: ("row", values[copies]) for key, values in seen(training.response, name).items()}, coords=rows
        ),
    }
    for group in groups.values():
        group.attrs |= {"inference_library": "tobitgp", "formula": parts.spec.formula.strip()}
    # From 1.0 on the name InferenceData is still there, but stands for another class.
    before = int(str(arviz.__version__).split(".")[0]) < 1
    return arviz.InferenceData(**groups) if before else xarray.DataTree.from_dict(groups)


def seen(response: CensoredResponse, name: str) -> dict[str, Array | IntArray]:
    """What was seen of each row: value or limit (the middle of an interval), both ends, brms' code of censoring."""
    lower, upper = response.lower, response.upper
    below, above, exact = np.isneginf(lower), np.isposinf(upper), lower == upper
    with np.errstate(invalid="ignore"):
        middle = 0.5 * lower + 0.5 * upper
    value = np.where(exact, lower, np.where(below, np.where(above, np.nan, upper), np.where(above, lower, middle)))
    kinds = [CODES["none"], CODES["left"], CODES["right"]]
    code = np.select([exact, below, above], kinds, default=CODES["interval"])
    beside = {"lower": lower, "upper": upper, "censoring": code}
    return {name: value, **{key + "_" * (key == name): values for key, values in beside.items()}}


def _apart(name: str) -> str:
    """A name that is no dimension's."""
    return f"{name}_" if name in ("chain", "draw", "row") else name


def _clipped(draws: Draws, parts: Source) -> Any:
    """New responses, as the instrument shows them where its limits are known."""
    response = parts.rows.response
    for rows, y in draws.responses():
        if parts.facts.limits_known:
            y = np.clip(y, response.limit_lower[rows][:, None], response.limit_upper[rows][:, None])
        yield rows, y


def _copies(weight: Array, draws: int) -> IntArray:
    """Positions of the rows, each as often as its frequency weight says."""
    if (weight != weight.round()).any():
        raise SpecError(
            "arviz counts every row once, and these frequency weights are no whole numbers by which rows could be "
            "repeated; loo() and waic() of the fit know the weights."
        )
    if weight.sum() * draws > _MOST:
        raise SpecError(f"draws={draws} of {weight.sum():g} rows are too many to hold; ask for fewer draws.")
    return np.repeat(np.arange(len(weight)), weight.astype(np.intp))


def _labels(labels: Any) -> Any:
    """Labels of rows that xarray can hold."""
    values = pd.Index(labels)
    return values.to_numpy() if values.dtype != object else values.map(str).to_numpy()


def _arviz() -> Any:
    """The package arviz, without what it says of its own future."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return import_module("arviz")
        except ImportError:
            raise SpecError(NO_ARVIZ) from None
