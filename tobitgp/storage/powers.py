"""Fits at several powers in one file, written and read again."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tobitgp.kinds.power_process import PowerProcessParts
from tobitgp.kinds.process import ProcessParts
from tobitgp.results.process.boxcox_process_results import BoxCoxGPResults
from tobitgp.storage.archive import MalformedError
from tobitgp.storage.specification import check_names

POWERS = "powers"
_LISTS, _NAMES = ("powers", "weights", "jacobians"), ("powers", "weights", "jacobians", "best", "se", "integrated")


def plain_powers(parts: PowerProcessParts) -> dict[str, Any]:
    """Document of what is beside the fits."""
    lists = {name: getattr(parts, name).tolist() for name in _LISTS}
    integrated = parts.integrated if math.isfinite(parts.integrated) else None
    return lists | {"best": parts.best, "se": parts.se, "integrated": integrated}


def powers_results(document: Any, fits: Sequence[Any]) -> BoxCoxGPResults:
    """Results of fits at several powers."""
    check_names(document, _NAMES, "powers")
    lists = [document[name] for name in _LISTS]
    numbers = [document["se"], 0.0 if document["integrated"] is None else document["integrated"]]
    for values in lists:
        if not isinstance(values, list) or len(values) != len(fits):
            raise MalformedError("the parts of its powers do not belong together")
        numbers += values
    sound = all(type(x) is float and math.isfinite(x) for x in numbers) and all(
        isinstance(f.parts, ProcessParts) for f in fits
    )
    best = document["best"]
    if not sound or type(best) is not int or not 0 <= best < len(fits) or not math.isclose(sum(lists[1]), 1.0):
        raise MalformedError("the numbers of its powers make no sense")
    parts, first = tuple(fit.parts for fit in fits), fits[best].parts
    powers, weights, jacobians = (np.array(values) for values in lists)
    integrated = float("nan") if document["integrated"] is None else document["integrated"]
    return BoxCoxGPResults(
        PowerProcessParts(
            first.spec,
            first.state,
            first.facts,
            parts,
            powers,
            weights,
            jacobians,
            best,
            document["se"],
            integrated,
        )
    )
