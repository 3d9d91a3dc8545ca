"""Kinds of fits that can be stored: **a new one is a line in ``KINDS``**."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tobitgp.results.mixture.parts import MixtureParts
from tobitgp.results.mixture.results import MixtureResults
from tobitgp.results.process.results import GPResults
from tobitgp.results.regression.parts import TobitParts
from tobitgp.results.regression.results import TobitResults
from tobitgp.results.storage.check import check_mixture, check_process, check_regression
from tobitgp.results.storage.fits import field_types
from tobitgp.results.storage.rowless import mixture_without_rows, process_without_rows, regression_without_rows
from tobitgp.results.views import Parts

_NOT_STORED = ("spec", "training", "covariates")


@dataclass(frozen=True, slots=True)
class Kind:
    """How fits of one kind are stored."""

    name: str
    parts: type  # dataclass of what such a fit was made from and what it found
    without_rows: Callable[[Any], Any]  # parts -> parts without anything that has an entry for each training row
    check: Callable[[Any], None]  # parts -> None; raises where they do not belong together
    results: Callable[[Any], Any]  # parts -> results

    @property
    def fields(self) -> dict[str, Any]:
        """Declared types of the parts that are stored, by name."""
        return {name: hint for name, hint in field_types(self.parts).items() if name not in _NOT_STORED}


KINDS = {
    kind.name: kind
    for kind in (
        Kind("process", Parts, process_without_rows, check_process, GPResults.from_parts),
        Kind("regression", TobitParts, regression_without_rows, check_regression, TobitResults),
        Kind("mixture", MixtureParts, mixture_without_rows, check_mixture, MixtureResults),
    )
}


def kind_of(parts: Any) -> Kind:
    """The kind of a fit with these parts."""
    return next(kind for kind in KINDS.values() if type(parts) is kind.parts)
