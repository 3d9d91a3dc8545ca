"""Groups of a fit: the levels of ``by=`` and ``re()``, and random intercepts as a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.data.facts import Facts
from tobitgp.data.levels import Level
from tobitgp.data.shapes import Design, Groups
from tobitgp.data.state import NUMERIC_ROLES, DesignState
from tobitgp.errors import SpecError
from tobitgp.formula.functions import nearest
from tobitgp.formula.spec import GPTerm
from tobitgp.posterior.nodes import Nodes
from tobitgp.posterior.questions import QUESTIONS
from tobitgp.results.predict import check_level
from tobitgp.results.process.nodes import noise_sds, process_moments
from tobitgp.results.views import Parts, Source
from tobitgp.typing import Array


def group_table(parts: Parts, term: str | None, interval: float | None) -> pd.DataFrame:
    """Random intercepts, a row for each group; see ``GPResults.group_effects``."""
    level = check_level(interval)
    tables, keys = [], []
    for t in _chosen(parts, term):
        levels = parts.state.group_levels[t]
        assert levels is not None
        block = t + (parts.gp.linear is not None)
        moments = process_moments(parts, parts.gp.inputs(_one_row_each(parts, t)), block)
        nodes = Nodes(parts.fitted.weights, *moments, noise_sds(parts), parts.gp.family.log_time)
        tables.append(pd.DataFrame(nodes.statistics(QUESTIONS["latent"](nodes.log), level, se=True)))
        keys += [(parts.gp.terms[t].name, item) for item in levels]
    return pd.concat(tables).set_axis(pd.MultiIndex.from_tuples(keys, names=["term", "level"]))


def curve_levels(parts: Source, name: str) -> list[Level] | None:
    """Levels of a column whose every level has a curve of its own, None for any other column."""
    for term, levels in zip(parts.spec.gps, parts.state.group_levels, strict=True):
        if term.factors and group_column(term) == name and levels is not None:
            return list(levels)
    return None


def group_column(term: GPTerm) -> str | None:
    """Column of the groups of a process."""
    return None if term.by is None else term.by.text.strip("`")


def with_typical_groups(facts: Facts, state: DesignState, weights: Sequence[Array | None]) -> Facts:
    """Facts in which columns of numbers that name groups have their level of most weight for typical value.

    Shapes: weights (size,).
    """
    columns = dict(facts.columns)
    for term, levels, weight in zip(state.spec.gps, state.group_levels, weights, strict=True):
        name = group_column(term)
        if name is None or levels is None or weight is None or name not in columns:
            continue
        also_number = not term.factors and name in state.spec.names(*NUMERIC_ROLES)
        if columns[name].kind == "number" and not also_number:
            columns[name] = replace(columns[name], typical=levels[int(np.argmax(weight))])
    return replace(facts, columns=columns)


def keep_intercepts(parts: Source, design: Design, base: Design) -> Design:
    """Design whose rows stand in the groups of ``base`` as far as random intercepts go."""
    pairs = zip(parts.spec.gps, design.groups, base.groups, strict=True)
    return replace(design, groups=tuple(mine if term.factors else old for term, mine, old in pairs))


def _chosen(parts: Parts, term: Any) -> list[int]:
    """Places of random intercepts among the processes."""
    names = {item.name: t for t, item in enumerate(parts.gp.terms) if not item.factors}
    if not names:
        raise SpecError("This model has no random intercepts; re(g) in the formula gives one to each level of g.")
    if term is None:
        return list(names.values())
    if term not in names:
        listed = ", ".join(map(repr, names))
        raise SpecError(
            f"term={term!r} names no random intercepts{nearest(str(term), list(names))}; this model has {listed}."
        )
    return [names[term]]


def _one_row_each(parts: Parts, t: int) -> Design:
    """Rows that differ in nothing but the group of one process."""
    levels, centres = parts.state.group_levels, parts.gp.problem.units.x_centre
    n = len(levels[t] or ())
    codes = [np.arange(n) if k == t else np.zeros(n, dtype=np.intp) for k in range(len(levels))]
    groups = tuple(
        None if known is None else Groups(code, len(known)) for code, known in zip(codes, levels, strict=True)
    )
    X = tuple(np.tile(centre, (n, 1)) for centre in centres)
    return Design(np.zeros((n, len(parts.gp.columns))), parts.gp.columns, X, np.zeros(n), groups)
