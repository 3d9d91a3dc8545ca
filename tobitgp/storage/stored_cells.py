"""Rows and bands of proportional hazards, written and read again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tobitgp.errors import SpecError
from tobitgp.formula.hazard_formula import read_hazards
from tobitgp.kinds.process import ProcessParts
from tobitgp.kinds.regression import RegressionParts
from tobitgp.results.hazards.cells import PH, is_parametric
from tobitgp.results.hazards.hazard_parts import HazardParts
from tobitgp.results.hazards.hazard_results import HazardResults
from tobitgp.storage.archive import MalformedError, check_fields, field_types, fits
from tobitgp.storage.classes import fit_codec
from tobitgp.storage.consistency import check_source, try_results
from tobitgp.storage.specification import Functions, check_names, plain_spec, restore_spec

AnyArray = np.ndarray[Any, Any]
_NAMES = ("made", "formula", "family", "specification", "parts")
_STORED = {name: field_types(HazardParts)[name] for name in ("state", "facts", "cuts", "begins", "few", "of_subjects")}


def plain_hazards(parts: HazardParts, arrays: list[AnyArray]) -> dict[str, Any]:
    """Document of rows and bands."""
    family, bands = parts.family, parts.family.bands
    if bands is not None:
        bands = [float(end) for end in bands] if isinstance(bands, Sequence) else int(bands)
    codec = fit_codec(parts.spec, parts.state.levels)
    return {
        "formula": parts.written.formula,
        "family": {"baseline": family.baseline, "bands": bands, "kernel": family.kernel},
        "specification": plain_spec(parts.spec, parts.facts.names),
        "parts": codec.encode({name: getattr(parts, name) for name in _STORED}, arrays),
    }


def restore_hazards(document: Any, functions: Functions, arrays: Sequence[AnyArray], used: set[int]) -> dict[str, Any]:
    """Parts of ``HazardParts`` beside the cells, from their document."""
    check_names(document, _NAMES, "hazards")
    check_names(document["family"], ("baseline", "bands", "kernel"), "family")
    if not isinstance(document["formula"], str) or not fits(document["family"]["bands"], int | list | None):
        raise MalformedError("its hazards are not made of text")
    try:
        family = PH(**document["family"])
    except (SpecError, TypeError) as error:
        raise MalformedError(str(error)) from error
    if is_parametric(family):
        raise MalformedError(f"a baseline {family.baseline!r} has no cells")
    spec = restore_spec(document["specification"], functions)
    values = fit_codec(spec, {}).decode(document["parts"], arrays, used)
    if isinstance(values, dict):
        values = {"begins": {}, "few": {}, "of_subjects": False} | values  # earlier files have none
    check_fields(values, _STORED)
    return {"spec": spec, "written": read_hazards(document["formula"]), "family": family, **values}


def hazard_results(beside: dict[str, Any], cells: Any) -> HazardResults:
    """Results of proportional hazards, by the fit of the cells."""
    parts = HazardParts(cells=cells, **beside)
    _check(parts)
    results = HazardResults(parts)
    try_results(results)
    return results


def _check(parts: HazardParts) -> None:
    """Compare what rows, bands and cells say of each other."""
    written, cuts = parts.written, parts.cuts
    check_source(parts)
    if not isinstance(parts.cells, ProcessParts | RegressionParts) or parts.cells.family.name != "exponential":
        raise MalformedError("its cells are not exponential")
    read = (parts.spec.formula, parts.cells.spec.formula)
    if read != (written.rows, written.cells(parts.family.baseline, parts.family.kernel)):
        raise MalformedError("the formula of its hazards is read otherwise by this version of tobitgp")
    if cuts.ndim != 1 or len(cuts) < 2 or cuts[0] < 0.0 or not np.isfinite(cuts).all() or (np.diff(cuts) <= 0.0).any():
        raise MalformedError("its bands of time are none")
