"""What may stand for each process of a formula, and which inducing inputs a user chose for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tobitgp.data.arrays import Units
from tobitgp.errors import DataError, SpecError
from tobitgp.formula.spec import GPTerm
from tobitgp.inference.given_parameters import check_names
from tobitgp.inference.hyperparameters import term_covariance
from tobitgp.priors.choice import MOST_PLACES, of_several_inputs
from tobitgp.priors.group_effects import GroupEffects
from tobitgp.priors.kernel_block import GPPrior, Inducing, read_inducing
from tobitgp.priors.structure import Inputs
from tobitgp.typing import Array

MOST_CROSSED = 10_000  # weights of groupings that are not eliminated, whose square is held


def check_crossed(gps: Sequence[GPPrior]) -> None:
    """Raise an error if the groupings that cross the largest one have too many levels to fit into memory."""
    sizes: dict[str, int] = {}
    for gp in gps:
        if gp.grouping is not None and not gp.covariance.factors:
            width = gp.size if isinstance(gp, GroupEffects) else 1
            sizes[gp.grouping.name] = sizes.get(gp.grouping.name, 0) + width * gp.grouping.size
    *crossed, _ = sorted(sizes, key=lambda name: sizes[name]) or [""]
    if sum(sizes[name] for name in crossed) > MOST_CROSSED:
        listed = ", ".join(f"{sizes[name]} coefficients of {name}" for name in crossed)
        raise DataError(
            f"Crossed groupings: {listed} in addition to a larger grouping; all but the largest may have "
            f"{MOST_CROSSED} levels together. Leave one out, or merge its levels."
        )


MOST_CURVES = 12


def check_curves(terms: Sequence[GPTerm], effects: Sequence[Sequence[str]], moves: Sequence[bool]) -> None:
    """Raise an error for correlations of many curves, and for moving their inducing inputs."""
    for term, levels, moved in zip(terms, effects, moves, strict=True):
        if term.cor and len(levels) > MOST_CURVES:
            raise DataError(
                f"{term.name} has {len(levels)} levels, and cor=True a correlation for each pair of at most "
                f"{MOST_CURVES}; leave it out for curves that are independent."
            )
        if term.cor and moved:
            raise SpecError(f"tg.Inducing(...) does not move the inputs of {term.name}, whose curves are correlated.")


def choose_inducing(inducing: Any, terms: Sequence[GPTerm], units: Units) -> list[tuple[Any, bool]]:
    """Each term's choice, locations standardised, and whether it is to be moved."""
    chosen = [term.name for term in terms if term.inputs]
    by_name = dict(inducing) if isinstance(inducing, Mapping) else dict.fromkeys(chosen, inducing)
    check_names("inducing", by_name, chosen, "gp() term")
    if isinstance(inducing, Inducing) and inducing.optimize and not chosen:
        raise SpecError(f"inducing={inducing!r}: the formula has no gp() term whose inducing inputs could be moved.")
    out: list[tuple[Any, bool]] = []
    for term, centre, scale in zip(terms, units.x_centre, units.x_scale, strict=True):
        choice = by_name.get(term.name, "auto")
        if term.approximation == "dense" and isinstance(choice, str):
            choice = None
        moves = isinstance(choice, Inducing) and choice.optimize
        choice = choice.start if isinstance(choice, Inducing) else choice
        out.append((None if choice is None else _located(choice, term, centre, scale), moves))
    return out


def approximations(
    chosen: Sequence[tuple[Any, bool]], terms: Sequence[GPTerm], n: int, inputs: Sequence[Inputs]
) -> list[str]:
    """What may stand for each term in n rows; what was given of inducing inputs makes it one of low rank."""
    structured = [term for term in terms if term.approximation in ("markov", "vecchia")]
    shared = {(*(item.text for item in t.inputs), t.by and t.by.text, t.approximation) for t in structured}
    if len(shared) > 1 or (len(structured) > 1 and "vecchia" in {t.approximation for t in structured}):
        raise SpecError(
            f"approximation= of {' and '.join(t.name for t in structured)}: one process can be Markov or "
            "Vecchia, or several Markov ones of the same input; leave approximation= out of the others."
        )
    out = []
    for (inducing, _), term, at in zip(chosen, terms, inputs, strict=True):
        given = inducing is None or not isinstance(inducing, str)
        clashes = {"dense": inducing is not None, "markov": given, "vecchia": given}
        if clashes.get(term.approximation):
            raise SpecError(
                f"inducing= requires low rank, and {term.name} has approximation={term.approximation!r}. Leave out "
                "one of the two."
            )
        how = "low_rank" if given or term.approximation == "dense" else term.approximation
        if how == "auto" and len(term.inputs) > 1:
            how = "low_rank" if n > MOST_PLACES else of_several_inputs(term_covariance(term), at)
        out.append(how)
    return out


def all_low_rank(stand: Sequence[str], *, moves: bool) -> list[str]:
    """The approximation of each term in a model with a process in log sigma; only low rank is supported."""
    if moves:
        raise SpecError("tg.Inducing(...) is not supported with a process in sigma=. Leave one of the two out.")
    for how in stand:
        if how in ("markov", "vecchia"):
            raise SpecError(
                f"approximation={how!r} is not supported with a process in sigma=. Leave one of the two out."
            )
    return ["low_rank"] * len(stand)


def _located(choice: Any, term: GPTerm, centre: Array, scale: Array) -> int | str | Array:
    """A choice of inducing inputs: locations standardised, columns of a table in the order of the term's inputs."""
    names, columns = [item.label for item in term.inputs], getattr(choice, "columns", None)
    if columns is not None and len({*names}) == len(names):
        if sorted(map(str, columns)) != sorted(names):
            raise SpecError(
                f"inducing= for {term.name} has the columns {', '.join(map(repr, columns))}; its inputs are "
                f"{', '.join(names)}."
            )
        choice = choice[names]
    d, found = len(names), read_inducing(choice)
    if isinstance(found, np.ndarray):
        Z = found[:, None] if found.ndim == d == 1 else found
        found = (Z - centre) / scale if Z.shape[1:] == (d,) else None
    if found is None:
        raise SpecError(
            f"inducing={choice!r} for {term.name}: 'auto', None, a positive number of inputs, or a finite array of "
            f"shape (M, {d}) is allowed."
        )
    return found
