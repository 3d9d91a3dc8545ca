"""Random effects of a process, a row for each group."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.data.absorbed import Absorbed, Columns
from tobitgp.data.arrays import Design, Groups
from tobitgp.errors import SpecError
from tobitgp.formula.functions import nearest
from tobitgp.kinds.process import ProcessParts
from tobitgp.kinds.process_nodes import noise_sds, process_moments
from tobitgp.posterior.nodes import Nodes
from tobitgp.posterior.questions import QUESTIONS
from tobitgp.priors.block import Inputs
from tobitgp.results.predict import check_level
from tobitgp.results.terms import effect_suffixes


def group_table(parts: ProcessParts, term: str | None, interval: float | None) -> pd.DataFrame:
    """Random effects, a row for each group; see ``GPResults.group_effects``."""
    level = check_level(interval)
    tables, keys = [], []
    for t in _chosen(parts, term):
        levels = parts.state.group_levels[t]
        assert levels is not None
        block = t + (parts.gp.linear is not None)
        for effect, inputs in _effect_inputs(parts, t, block):
            moments = process_moments(parts, inputs, (block,))
            nodes = Nodes(parts.fitted.weights, *moments, noise_sds(parts), parts.gp.family.log_time)
            tables.append(pd.DataFrame(nodes.statistics(QUESTIONS["latent"](nodes.log), level, se=True)))
            keys += [(parts.gp.terms[t].name + effect, item) for item in levels]
    return pd.concat(tables).set_axis(pd.MultiIndex.from_tuples(keys, names=["term", "level"]))


def _effect_inputs(parts: ProcessParts, t: int, block: int) -> Iterator[tuple[str, list[Inputs]]]:
    """What follows the name of a random effect in that of each of its coefficients, and rows in which f holds these."""
    inputs, columns = list(parts.gp.inputs(_one_row_each(parts, t))), parts.gp.effects[t]
    if not columns:
        yield "", inputs
        return
    T = parts.fitted.parameters.effects[sum(map(bool, parts.gp.effects[:t]))].T
    scaled = T / parts.gp.problem.units.x_scale[t][:, None]
    for suffix, weights in zip(effect_suffixes(columns), scaled, strict=True):
        X = np.tile(weights, (len(inputs[block].X), 1))
        yield suffix, [*inputs[:block], Inputs(X, inputs[block].code), *inputs[block + 1 :]]


def _chosen(parts: ProcessParts, term: Any) -> list[int]:
    """Places of random effects among the processes."""
    names = {item.name: t for t, item in enumerate(parts.gp.terms) if not item.factors}
    if not names:
        raise SpecError(
            "This model has no random effects; re(g) in the formula gives an intercept to each level of g, (1 + z | g) "
            "a slope too."
        )
    if term is None:
        return list(names.values())
    if term not in names:
        listed = ", ".join(map(repr, names))
        raise SpecError(
            f"term={term!r} names no random effects{nearest(str(term), list(names))}; this model has {listed}."
        )
    return [names[term]]


def _one_row_each(parts: ProcessParts, t: int) -> Design:
    """Rows that differ in nothing but the group of one process, and of all that have the same groups."""
    levels, centres = parts.state.group_levels, parts.gp.problem.units.x_centre
    n, terms = len(levels[t] or ()), parts.gp.terms
    codes = [np.arange(n) if term.group == terms[t].group else np.zeros(n, dtype=np.intp) for term in terms]
    groups = tuple(
        None if known is None else Groups(code, len(known)) for code, known in zip(codes, levels, strict=True)
    )
    X = tuple(np.tile(centre, (n, 1)) for centre in centres)
    return Design(_no_columns(parts, n), parts.gp.columns, X, np.zeros(n), groups)


def _no_columns(parts: ProcessParts, n: int) -> Columns:
    """Linear columns (n, p) of zeros."""
    p, factor = len(parts.gp.columns), None if parts.gp.linear is None else parts.gp.linear.factor
    if factor is None:
        return np.zeros((n, p))
    return Absorbed(np.zeros((n, p - factor.size)), np.zeros(n), np.zeros(n, dtype=np.intp), factor.start, factor.size)
