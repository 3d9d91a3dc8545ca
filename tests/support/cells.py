"""Cells of the contract of invariance: a kind of fit under a transformation."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from support.answers import FIRST, answers, differences
from support.kinds import KINDS, N, rows
from support.transformations import TRANSFORMATIONS, Transformation, exact_rows, same

QUICK = ("regression", "noise scale", "entry", "process", "groups", "several", "strata", "start-stop")
# Answers on a scale that is not the response's or its logarithm.
OWN_UNIT = {"box-cox": ("latent", "sigma")} | dict.fromkeys(
    ("spline", "strata", "frailty", "start-stop", "hazard", "smooth hazard", "changing effect", "effect of bands"),
    ("latent",),
)
# Numbers without errors to measure differences by, at parameters that a search of several hundred numbers finds.
SEARCHED = {"latent": ("prob", "terms", "sigma", "curve")}
PRODUCT = "the product alone, without gp(x) beside it, is another model at another origin"
UNDEFINED = {
    ("entry", "follow-up in two pieces"): "accelerated time requires the covariates from time 0 on",
    ("shape", "follow-up in two pieces"): "id= is not supported with formulas of other parameters",
    ("splines", "copies of rows"): "knots of bs() are quantiles of the rows as they are written",
    ("splines", "rows of weight 0"): "knots of bs() are quantiles of the rows as they are written",
    ("powers", "origin of x, 200000"): "the square of the moved column has lost the digits of the column",
    ("varying slope", "origin of z, 1000"): PRODUCT,
    ("varying slope", "origin of z, 100000"): PRODUCT,
}


def no_meaning(name: str, transformation: str) -> str:
    """Why a transformation has no meaning for a kind, or nothing."""
    return TRANSFORMATIONS[transformation].lost(KINDS[name]) or UNDEFINED.get((name, transformation), "")


def quick_cells() -> set[tuple[str, str]]:
    """A kind that is fitted quickly for every transformation, in turn."""
    found = set()
    for turn, transformation in enumerate(TRANSFORMATIONS):
        meant = [name for name in QUICK if not no_meaning(name, transformation)]
        found.add((meant[turn % len(meant)], transformation))
    return found


def exact(name: str) -> bool:
    """Whether a kind is fitted by maximum likelihood."""
    options = KINDS[name].options
    return "fixed" not in options and not hasattr(options.get("method"), "hyper")


def asked(name: str, kind: Any, data: pd.DataFrame, change: Transformation, *, first: bool) -> dict[str, Any]:
    train, new = data[:N], data[N:]
    if first:
        return answers(change.first_kind(kind).fit(change.first_rows(train)), new, log_time=log_time(name))
    res = change.kind(kind).fit(change.rows(train))
    unit = np.log(abs(change.scale.unit)) * exact_rows(kind, train)
    new = (change.new or change.rows)(new)
    return answers(res, new, change.scale, jacobian=unit, log_time=log_time(name))


def log_time(name: str) -> bool:
    return isinstance(KINDS[name].options.get("family"), str) and name not in ("box-cox", "counts")


@cache
def untouched(name: str) -> dict[str, Any]:
    return asked(name, KINDS[name], rows(), Transformation(), first=True)


def compared(found: dict[str, Any], change: Transformation) -> dict[str, Any]:
    """The answers with those parameters and tests alone that keep their meaning."""
    tables = {name: found[name] for name in ("params", "anova") if isinstance(found[name], pd.DataFrame)}
    kept = {name: table[means_the_same(table, change)].reset_index(drop=True) for name, table in tables.items()}
    if not change.keeps_parameters:
        kept["params"] = pd.DataFrame({"ratio": kept["params"]["estimate"] / kept["params"]["se"]})
    return found | kept


def means_the_same(table: pd.DataFrame, change: Transformation) -> list[bool]:
    names = [str(name) for name in table.index]
    columns_move = change.moves != "$^"
    return [not re.search(change.moves, name) and not (columns_move and part_of_product(name, names)) for name in names]


def part_of_product(name: str, names: list[str]) -> bool:
    """Whether a coefficient belongs to a column that others multiply."""
    return any(
        name != other and (":" in other or "**" in other) and re.search(rf"\b{re.escape(name)}\b", other)
        for other in names
    )


def cell(name: str, transformation: str) -> list[str]:
    """How the answers of a kind differ under a transformation."""
    change, kind, data = TRANSFORMATIONS[transformation], KINDS[name], rows()
    plain = change.first_rows is same and change.first_kind is same
    expected = untouched(name) if plain else asked(name, kind, data, change, first=True)
    found = asked(name, kind, data, change, first=False)
    skip = change.skip if change.scale == FIRST else (*change.skip, *OWN_UNIT.get(name, ()))
    skip = (*skip, *SEARCHED.get(name, ()))
    return differences(compared(found, change), compared(expected, change), exact=exact(name), skip=skip)


def tally() -> dict[str, int]:
    """Number of cells that have no meaning, and that hold."""
    every = [(name, transformation) for name in KINDS for transformation in TRANSFORMATIONS]
    without = sum(bool(no_meaning(*each)) for each in every)
    return {"hold": len(every) - without, "have no meaning": without}
