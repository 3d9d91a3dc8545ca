"""The linear part: columns straight from the data where that is all, else by formulaic."""

from __future__ import annotations

import ast
import inspect
import math
import re
import threading
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import csc_matrix

from tobitgp.data.absorbed import Absorbed, Columns
from tobitgp.data.columns import call_own, check_size
from tobitgp.data.table import Column, Table
from tobitgp.errors import DataError, SpecError, TobitGPError, UnseenLevelError, user_level
from tobitgp.formula.functions import CONSTANTS, FUNCTIONS
from tobitgp.formula.spec import Expression, LinearPart
from tobitgp.formula.syntax import Syntax, read_expression
from tobitgp.numerics.linear_algebra import triangle
from tobitgp.typing import Array, BoolArray

RANK_TOLERANCE = 1e-12
INTERCEPT = "Intercept"
_ALONE = threading.RLock()  # filters of warnings, and the depth of Python's parser, belong to all threads


@dataclass(frozen=True, slots=True)
class LinearState:
    """What is needed to build the same columns on new data."""

    columns: tuple[str, ...]
    plain: tuple[str, ...] | None  # data columns taken as they are; None where formulaic is needed
    aliases: dict[str, str]  # data column -> name under which formulaic sees it
    model_spec: Any | None  # knots, centres and codings of the training data


@dataclass(frozen=True, slots=True)
class Independence:
    """What tells whether columns are linearly independent, of some of the rows: an upper factor of their QR.

    The columns of an absorbed factor come first in it, and are orthogonal to each other.
    """

    n: int  # rows
    largest: Array  # (p,), absolute values
    size: Array  # (G,), lengths of the factor's columns
    border: Array  # (G, c), products of these at length 1 with the other columns
    triangle: Array  # (n, c), factor of the other columns after regression on the factor's
    start: int  # position of the factor's first column

    @classmethod
    def of(cls, H: Columns) -> Independence:
        """Independence of columns (n, p)."""
        if not isinstance(H, Absorbed):
            largest = np.abs(H).max(axis=0, initial=0.0)
            return cls(len(H), largest, np.zeros(0), np.zeros((0, H.shape[1])), triangle(H), 0)
        size = np.sqrt(H.sums(H.value))
        border = H.sums(H.common) / np.where(size > 0.0, size, 1.0)[:, None]
        largest = H.join(np.abs(H.common).max(axis=0, initial=0.0), H.largest)
        return cls(len(H), largest, size, border, triangle(H.less_levels(H.common)), H.start)

    def merge(self, other: Independence) -> Independence:
        """Independence in both sets of rows: a rotation for each of the factor's columns, then for the rest."""
        size = np.hypot(self.size, other.size)
        unit = np.where(size > 0.0, size, 1.0)
        mine, its = (self.size / unit)[:, None], (other.size / unit)[:, None]
        left = its * self.border - mine * other.border
        both = triangle(np.concatenate([self.triangle, other.triangle, left]))
        border = mine * self.border + its * other.border
        return Independence(self.n + other.n, np.maximum(self.largest, other.largest), size, border, both, self.start)

    def dependent(self) -> tuple[int, Array] | None:
        """Position of the first column that others determine, and the sizes (p,) of its coefficients in these."""
        length = np.sqrt((self.triangle**2).sum(axis=0) + (self.border**2).sum(axis=0))
        R, border = self.triangle / length, self.border / length
        dependent = np.flatnonzero(np.abs(np.diag(R)) <= RANK_TOLERANCE)
        if len(dependent) == 0:
            return None
        j, c = int(dependent[0]), len(length)
        common = np.zeros(c)
        common[:j] = np.linalg.solve(R[:j, :j], R[:j, j])
        own, rest = border[:, j] - border @ common, np.arange(c)
        weights = np.abs(np.concatenate([common[: self.start], own, common[self.start :]]))
        return int(np.where(rest < self.start, rest, rest + len(own))[j]), weights


def linear_terms(state: LinearState) -> list[tuple[str, tuple[int, ...]]]:
    """Terms of the linear part with the positions of their columns."""
    if state.model_spec is None:
        return [(name, (j,)) for j, name in enumerate(state.columns)]
    out = []
    for term, columns in state.model_spec.term_indices.items():
        name = INTERCEPT if str(term) == "1" else str(term)
        for column, alias in state.aliases.items():
            name = column if name == alias else name.replace(alias, f"`{column}`")
        if columns:
            out.append((name, tuple(int(j) for j in columns)))
    return out


def learn_linear(spec: LinearPart, table: Table) -> LinearState:
    """Remember how the linear columns of some rows are made, by formulaic on names that cannot clash with functions."""
    if spec.plain is not None and all(table.columns[name].levels is None for name in spec.plain):
        state = LinearState(("Intercept",) * spec.intercept + spec.plain, spec.plain, {}, None)
    else:
        text, aliases, restore = alias_text(spec)
        H, model_spec = _materialise(text, spec, table, aliases, "sparse")
        state = LinearState(tuple(restore(name) for name in model_spec.column_names), None, aliases, model_spec)
        _check_finite(H, state.columns, table, spec.part)
        _warn_single_levels(spec, table)
    twice = next((name for name in state.columns if state.columns.count(name) > 1), None)
    if twice is not None:
        raise DataError(f"Two columns of the {spec.part} are called {twice!r}. Rename the column in the data.")
    return state


def level_columns(state: LinearState) -> BoolArray:
    """Which columns (p,) sum to 1 in every row: the intercept, or indicators of all levels of a factor; or none."""
    found = np.zeros(len(state.columns), dtype=np.bool_)
    if state.plain is not None:
        found[: len(found) - len(state.plain)] = True
        return found
    assert state.model_spec is not None
    codings, first = state.model_spec.factor_contrasts, 0
    for item in state.model_spec.structure:
        start, first = first, first + len(item.columns)
        if len(item.scoped_terms) != 1:
            continue
        of_term = [(codings.get(each.factor.factor), each.reduced) for each in item.scoped_terms[0].factors]
        if all(coding and not reduced and _sums_to_one(coding) for coding, reduced in of_term):
            found[start:first] = True
            return found
    return found


def _sums_to_one(coding: Any) -> bool:
    """Whether the columns of an unreduced factor sum to 1."""
    return bool((np.asarray(coding.contrasts.get_coding_matrix(coding.levels, False)).sum(axis=1) == 1.0).all())


MOST_DENSE = 100  # columns of a factor, or of an interaction of factors, beyond which it is absorbed


def absorbed_columns(state: LinearState) -> slice | None:
    """The widest run of columns of which each row has an entry in one at most, if they are many: indicators."""
    if state.model_spec is None:
        return None
    from formulaic.transforms.contrasts import TreatmentContrasts

    widest, codings, first = slice(0, 0), state.model_spec.factor_contrasts, 0
    for item in state.model_spec.structure:
        start, first = first, first + len(item.columns)
        for term in item.scoped_terms:
            of_term = [codings.get(each.factor.factor) for each in term.factors]
            if not all(coding and isinstance(coding.contrasts, TreatmentContrasts) for coding in of_term):
                break
            counts = (len(coding.levels) - each.reduced for coding, each in zip(of_term, term.factors, strict=True))
            start, before = start + math.prod(counts), start
            widest = max(widest, slice(before, start), key=lambda run: run.stop - run.start)
    return widest if widest.stop - widest.start > MOST_DENSE else None


def replay_linear(state: LinearState, spec: LinearPart, table: Table) -> Columns:
    """Build the same columns on other rows; gives (n, p)."""
    own, p = absorbed_columns(state), len(state.columns)
    H: Any
    if state.plain is not None:
        H = np.empty((table.n, p))
        H[:, : p - len(state.plain)] = 1.0
        for j, name in enumerate(state.plain, start=p - len(state.plain)):
            H[:, j] = table.columns[name].values
    elif table.n:
        output = "numpy" if own is None else "sparse"
        H = _materialise(state.model_spec, spec, table, state.aliases, output)[0]
    else:
        H = np.empty((0, p)) if own is None else csc_matrix((0, p))
    _check_finite(H, state.columns, table, spec.part)
    return H if own is None else Absorbed.of(H, own)


def check_independence(found: Independence, columns: tuple[str, ...], part: str = LinearPart.part) -> None:
    """Raise an error for linear terms in which one column is determined by others."""
    n, p = found.n, len(columns)
    for name, size in zip(columns, found.largest, strict=True):
        if size == 0.0:
            raise DataError(f"Column {name!r} of the {part} is 0 in every row. Leave it out.")
        check_size(f"column {name!r} of the {part}", float(size))
    if p > n:
        have = "is only 1 row" if n == 1 else f"are only {n} rows"
        raise DataError(f"The {part} has {p} columns, but there {have}: {quoted(columns)}. Use fewer columns.")
    dependent = found.dependent()
    if dependent is None:
        return
    j, weights = dependent
    others = tuple(columns[i] for i in np.flatnonzero(weights > 1e-6 * weights.max()))
    if others == ("Intercept",):
        remedy = "Leave it out, or remove the intercept by 0 +"
        raise DataError(f"Column {columns[j]!r} of the {part} is constant, like the intercept. {remedy}.")
    splines = columns[j].startswith(("cr(", "cs(", "cc("))
    remedy = "Write constraints='center' in the spline" if splines else "Leave one of them out"
    raise DataError(f"Column {columns[j]!r} of the {part} is determined by {quoted(others)}. {remedy}.")


def quoted(names: tuple[str, ...]) -> str:
    """The first six of some names, in quotes."""
    listed = ", ".join(repr(name) for name in names[:6])
    return f"{listed} and {len(names) - 6} more" if len(names) > 6 else listed


def _check_finite(H: Any, columns: tuple[str, ...], table: Table, part: str) -> None:
    """Raise an error for columns, an array or a sparse matrix (n, p), that are not finite."""
    if np.isfinite(H if isinstance(H, np.ndarray) else H.data).all():
        return
    H = H if isinstance(H, np.ndarray) else H.toarray()
    j = int(np.flatnonzero(~np.isfinite(H).all(axis=0))[0])
    wrong = ~np.isfinite(H[:, j])
    raise DataError(f"{columns[j]} of the {part} is not a finite number in {table.rows(wrong)}.")


def alias_text(spec: LinearPart) -> tuple[str, dict[str, str], Callable[[str], str]]:
    """Linear part without quoted names, which formulaic would not all take."""
    quoted = dict.fromkeys(re.findall(r"`([^`]*)`", spec.linear))
    taken = set(spec.names("linear"))
    free = (f"_c{i}_" for i in range(2 * len(taken) + len(quoted) + 1) if f"_c{i}_" not in taken)
    aliases = dict(zip(quoted, free, strict=False))
    text = re.sub(r"`([^`]*)`", lambda match: aliases[match.group(1)], spec.linear)
    return text, aliases, partial(_restore, aliases=aliases)


def _materialise(
    source: Any, spec: LinearPart, table: Table, aliases: Mapping[str, str], output: str
) -> tuple[Any, Any]:
    """Run formulaic on clean data, from text or from what it learned; its complaints become ours."""
    from formulaic import Formula
    from formulaic.errors import DataMismatchWarning

    columns = {aliases.get(name, name): _as_pandas(table.columns[name]) for name in spec.names("linear")}
    frame = pd.DataFrame(columns, index=pd.RangeIndex(table.n), copy=False)
    context = formulaic_context({name: partial(call_own, name, call, table) for name, call in spec.functions})
    with _ALONE, warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", DataMismatchWarning)
        try:
            source = Formula(source) if isinstance(source, str) else source
            matrix = source.get_model_matrix(frame, context=context, na_action="ignore", output=output)
        except DataMismatchWarning as warning:
            message = f"A factor of the {spec.part} has an unknown level: {warning}"
            raise UnseenLevelError(_restore(message, aliases)) from None
        except Exception as error:
            own = _own_words(error)
            if own is not None:
                raise own from own.__cause__
            remedy = " (write extrapolation='extend' in the spline)" if "extrapolation" in str(error) else ""
            cause = re.sub(r"Value `(.*)` for `\w+\.base` is.*", r"there is no level \1", _restore(str(error), aliases))
            raise DataError(f"The {spec.part} {spec.linear!r} cannot be computed: {cause}{remedy}.") from error
    made = np.ascontiguousarray(np.asarray(matrix), dtype=np.float64) if output == "numpy" else matrix.tocsc()
    return made, matrix.model_spec


def _own_words(error: BaseException | None) -> TobitGPError | None:
    """The error of this package that formulaic wrapped in another error, if there is one."""
    while error is not None and not isinstance(error, TobitGPError):
        error = error.__cause__ or error.__context__
    return error


def _as_pandas(column: Column) -> Any:
    if column.levels is None:
        return column.values
    codes: Any = column.values
    return pd.Categorical.from_codes(codes, categories=pd.Index(column.levels))


def formulaic_context(own: Mapping[str, Callable[..., Any]]) -> dict[str, Any]:
    """Names formulaic may look up besides the columns, a user's own functions among them."""
    from formulaic.transforms import C

    def factor(data: Any, contrasts: Any = None, *, levels: Any = None) -> Any:
        values = np.asarray(data)
        if values.dtype.kind == "f" and np.array_equal(values, np.floor(values)):
            data = pd.Series(values.astype(np.int64))
        # Treatment is a function there, the others are classes; all may be given without brackets.
        contrasts = contrasts() if inspect.isfunction(contrasts) else contrasts
        return C(data, contrasts, levels=levels)

    known = {name: row.call for name, row in FUNCTIONS.items() if row.call is not None}
    return {**known, **own, **CONSTANTS, "C": factor}


def _restore(name: str, aliases: Mapping[str, str]) -> str:
    """Name of a design column with the user's own names in it."""
    for column, alias in aliases.items():
        name = re.sub(rf"(^|:){alias}(?=$|[:\[])", lambda match, c=column: f"{match.group(1)}{c}", name)  # type: ignore[misc]
        name = name.replace(alias, f"`{column}`")
    return name


def _warn_single_levels(spec: LinearPart, table: Table) -> None:
    for name in spec.names("linear"):
        levels = table.columns[name].levels
        if spec.intercept and levels is not None and len(levels) == 1:
            message = f"The factor {name!r} has only the level {levels[0]!r}, so it adds no column to the {spec.part}."
            warnings.warn(message, UserWarning, stacklevel=user_level())


SPLINES = ("bs", "cs", "cr", "cc")


def row_wise(part: LinearPart) -> list[Expression]:
    """Raise an error for terms that learn more from the rows than levels and ranges."""
    syntax = read_expression(part.linear, part.functions)
    own = dict(part.functions)
    ranges = []
    for node in ast.walk(syntax.tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            continue
        name = node.func.id
        if name in own or name not in FUNCTIONS or FUNCTIONS[name].kind != "basis":
            continue
        remedy = _remedy(syntax, node, name)
        if remedy:
            what = f"{syntax.text(node)} learns from all rows at once, but these data are partitioned"
            raise SpecError(f"{what}. Write {remedy}.")
        if name in SPLINES:
            ranges.append(Expression(syntax.text(node.args[0]), 0, part.functions))
    return ranges


def _remedy(syntax: Syntax, node: ast.Call, name: str) -> str:
    """What to write instead of a transform that learns from all rows; empty if there is none."""
    x = syntax.text(node.args[0])
    given = dict(zip(FUNCTIONS[name].options, node.args[1:], strict=False))
    given |= {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg}
    if name == "center":
        return f"I({x} - m) with a number m, or {x} alone: an intercept absorbs its mean"
    if name == "scale":
        return f"I(({x} - m) / s) with numbers m and s, or {x} alone"
    if name == "poly":
        degree = syntax.text(given["degree"]) if "degree" in given else "1"
        return "" if _literal(given.get("raw")) else f"poly({x}, {degree}, raw=True)"
    if _literal(given.get("constraints")) is not None:
        return f"bs({x}, knots=[...]), which needs no constraints"
    if _literal(given.get("df")) is not None:
        return f"{name}({x}, knots=[...])"
    return ""


def _literal(node: ast.expr | None) -> object:
    return None if node is None else ast.literal_eval(node)
