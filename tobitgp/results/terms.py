"""The additive terms of a fit and the groups of its processes: their names, their part of f, how to leave them out."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.data.absorbed import only_columns
from tobitgp.data.arrays import Design
from tobitgp.data.design import DesignState, FactorLevel, PartState
from tobitgp.data.linear_columns import INTERCEPT, linear_terms
from tobitgp.data.table import column_names, read_table
from tobitgp.data.training_summary import constant_column
from tobitgp.distributions.mixed_rows import LOCATION
from tobitgp.errors import SpecError
from tobitgp.formula.linear_terms import mentions
from tobitgp.formula.spec import GPTerm, ParameterSpec, ScaleSpec
from tobitgp.results.views import Source
from tobitgp.typing import Frame

OFFSET = "offset"


@dataclass(frozen=True, slots=True)
class Term:
    """One summand of f."""

    name: str  # A term of the formula as written, ``Intercept``, or ``offset`` for all offsets together
    columns: tuple[int, ...]  # its columns of the linear part; empty for other terms
    block: int | None  # its block of features where it is a process
    texts: tuple[str, ...]  # the expressions it is made of
    slopes: tuple[str, ...] = ()  # those of the columns whose coefficients differ between its groups
    line: int | None = None  # the block of its line where it has one

    @property
    def is_offset(self) -> bool:
        """Whether it is the offsets, whose name a column may have too."""
        return not self.columns and self.block is None

    @property
    def blocks(self) -> tuple[int, ...]:
        """Its blocks of features."""
        return tuple(block for block in (self.block, self.line) if block is not None)


def model_terms(parts: Source) -> list[Term]:
    """Terms in the order of the formula's kinds: linear, processes, offset."""
    out = [Term(name, columns, None, (name,)) for name, columns in linear_terms(parts.state.linear)]
    first = 1 if parts.state.linear.columns else 0
    lines = itertools.count(first + len(parts.spec.processes))
    for t, term in enumerate(parts.spec.gps):
        texts, slopes = _process_texts(term)
        line = next(lines) if term.line else None
        out.append(Term(term.name, (), first + t, texts, slopes=slopes, line=line))
    if parts.spec.offsets:
        texts = tuple(x.text for x in parts.spec.offsets)
        name = OFFSET if all(term.name != OFFSET for term in out) else " + ".join(f"{OFFSET}({text})" for text in texts)
        out.append(Term(name, (), None, texts))
    return out


def effect_suffixes(columns: Sequence[str]) -> list[str]:
    """Suffixes of a random effect in the names of its coefficients."""
    return ["" if name == INTERCEPT else f"[{name}]" for name in columns] or [""]


def _process_texts(term: GPTerm) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Expressions of a process, its inputs, their error and its group, and those of the columns of a random effect."""
    more = (each.text for each in (term.se, term.by) if each is not None)
    return (*(x.text for x in term.inputs), *more), () if term.effects is None else (term.effects.linear,)


def _scale_texts(state: DesignState) -> list[str]:
    """Expressions of the formulas of other parameters of the rows than locations, which have the same terms."""
    out = list[str]()
    for part in filter(None, (state.scale, *(part for part in state.formulas if not is_location(part)))):
        processes = part.spec.gps if isinstance(part.spec, ScaleSpec) else ()
        out += [name for name, _ in linear_terms(part.linear)] + [x.text for x in part.spec.offsets]
        out += [x for term in processes for texts in _process_texts(term) for x in texts]
    return out


def is_location(part: PartState) -> bool:
    """Whether a formula is the location of a later component of a mixture of regressions."""
    return isinstance(part.spec, ParameterSpec) and part.spec.parameter.startswith(LOCATION)


def find_terms(parts: Source, names: Any) -> list[Term]:
    """Terms by name."""
    try:
        names = [names] if isinstance(names, str) else list(names)
    except TypeError:
        raise SpecError(f"exclude={names!r}: exclude must be the name of a term or a list of names.") from None
    by_name = {term.name: term for term in model_terms(parts) if term.name != INTERCEPT}
    for name in names:
        if not isinstance(name, str) or name not in by_name:
            listed = ", ".join(map(repr, by_name)) or "none"
            raise SpecError(
                f"exclude= names {name!r}, which is not a term that can be left out. This model has {listed}."
            )
    return [by_name[name] for name in dict.fromkeys(names)]


def without(design: Design, terms: Iterable[Term]) -> tuple[Design, frozenset[int]]:
    """Design in which terms are zero, and the blocks to pass over."""
    skip: set[int] = set()
    kept = np.ones(design.H.shape[1], dtype=np.bool_)
    for term in terms:
        kept[list(term.columns)] = False
        skip.update(term.blocks)
        if term.is_offset:
            design = replace(design, offset=np.zeros_like(design.offset))
    return replace(design, H=only_columns(design.H, np.flatnonzero(kept))), frozenset(skip)


def without_in_components(parts: Source, design: Design, terms: Iterable[Term]) -> Design:
    """Design in which terms are zero in the locations of later components of a mixture of regressions too."""
    terms = list(terms)
    names, formulas = {term.name for term in terms}, list(design.formulas)
    for k, (part, own) in enumerate(zip(parts.state.formulas, design.formulas, strict=True)):
        if is_location(part):
            excluded = [j for name, columns in linear_terms(part.linear) if name in names for j in columns]
            W = np.where(np.isin(np.arange(own.W.shape[1]), excluded), 0.0, own.W)
            offset = np.zeros_like(own.offset) if any(term.is_offset for term in terms) else own.offset
            formulas[k] = replace(own, W=W, offset=offset)
    return replace(design, formulas=tuple(formulas))


def check_levels(parts: Source, excluded: Sequence[Term]) -> None:
    """Raise an error for to leave out of f linear terms that hold the levels of processes."""
    columns = [j for term in excluded for j in term.columns]
    levels = parts.levels
    for term in model_terms(parts) if columns and levels else ():
        if term.block is None:
            continue
        share = levels[term.block][1]
        if len(share) and (np.abs(share[:, columns]) > 1e-6 * np.abs(share).max()).any():
            names = ", ".join(each.name for each in excluded if each.columns)
            raise SpecError(
                f"exclude={names!r}: {term.name} is centred and its average level is in these coefficients, so "
                f"that f without them has no meaning. Use predict(what='terms') for each term separately."
            )


def fill_columns(parts: Source, new: Frame, excluded: Sequence[Term], *, location: bool = False) -> Frame:
    """New data in which the columns that only excluded terms use hold a value that they held in training.

    Where only the ``location`` is requested, absent columns of the noise scale hold one too.
    """
    names = {term.name for term in excluded}
    rest = [text for term in model_terms(parts) if term.name not in names for text in (*term.texts, *term.slopes)]
    of_scale, given = _scale_texts(parts.state), set(column_names(new)) if location else parts.state.input_names
    unused = [name for name in parts.state.input_names if not any(mentions(text, name) for text in rest)]
    freed = [name for name in unused if name not in given or not any(mentions(text, name) for text in of_scale)]
    if not freed or not parts.facts.columns:
        return new
    present = [name for name in column_names(new) if name not in freed]
    index = read_table(new, present[:1]).index if isinstance(new, dict) and present else read_table(new, []).index
    filled = {name: new[name] for name in present}
    for name in freed:
        facts = parts.facts.columns[name]
        filled[name] = pd.Series(constant_column(parts.state, facts, name, facts.example, len(index)), index=index)
    return pd.DataFrame(filled, index=index) if isinstance(new, pd.DataFrame) else filled


def term_columns(parts: Source) -> list[tuple[str, int | None, list[str]]]:
    """Terms to be drawn: a name, the place among the processes of one that is a process, and the columns it uses.

    The columns of a process are its inputs, without its group.
    """
    out: list[tuple[str, int | None, list[str]]] = []
    first = 1 if parts.state.linear.columns else 0
    for term in model_terms(parts):
        if term.name == INTERCEPT or term.is_offset:
            continue
        t = None if term.block is None else term.block - first
        texts = term.texts if t is None else tuple(x.text for x in parts.spec.gps[t].inputs)
        names = parts.spec.names("linear" if t is None else "gp")
        used = dict.fromkeys(name for text in texts for name in names if mentions(text, name))
        out.append((term.name, t, list(used)))
    return out


def curve_levels(parts: Source, name: str) -> list[FactorLevel] | None:
    """Levels of a column whose every level has its own curve, None for any other column."""
    for term, levels in zip(parts.spec.processes, parts.state.group_levels, strict=True):
        if term.factors and term.group == name and levels is not None:
            return list(levels)
    return None


def keep_intercepts(parts: Source, design: Design, base: Design) -> Design:
    """Design whose rows are in the groups of ``base`` as far as random intercepts go."""
    pairs = zip(parts.spec.processes, design.groups, base.groups, strict=True)
    return replace(design, groups=tuple(mine if term.factors else old for term, mine, old in pairs))
