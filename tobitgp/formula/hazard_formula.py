"""Formulas of proportional hazards: one of the rows, and the terms of the log hazard in the bands of time."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from tobitgp.errors import FormulaError
from tobitgp.formula.formula_terms import split_parts
from tobitgp.formula.gp import holds_process
from tobitgp.formula.linear_terms import flatten, spelled
from tobitgp.formula.parse import cut_formula
from tobitgp.formula.syntax import Syntax, called, is_dot, names_in, read_side

TIME, BAND, EXPOSURE, EVENT, WEIGHT = CELL = ("cell_time", "cell_band", "cell_exposure", "cell_event", "cell_weight")
BASELINE = "baseline"
_WRITTEN = "write Surv(time, event) ~ terms"


@dataclass(frozen=True, slots=True)
class HazardFormula:
    """A formula with ``strata(g)`` and ``tv(z)``."""

    formula: str  # as written
    rows: str  # of the rows, ``strata(g)`` and ``tv(z)`` read as ``C(g)`` and ``z``
    terms: tuple[str, ...]  # of the log hazard beside the baseline
    stratum: str | None  # column of which each level has a baseline of its own
    varying: tuple[str, ...]  # columns whose coefficients change over time
    linear: str  # of the rows, with a level for each stratum in the place of the intercept, and without a frailty
    shared: str | None = None  # column of the groups of ``(1 | g)``, where that is the one random effect
    baseline: str = BASELINE  # name of the process of time, which is no column's

    @property
    def changing(self) -> frozenset[str]:
        """Names of the columns whose coefficients change over time."""
        return frozenset(z.strip("`") for z in self.varying)

    @property
    def strata(self) -> frozenset[str]:
        """Name of the column whose levels have separate baselines, if any."""
        return frozenset() if self.stratum is None else frozenset([self.stratum.strip("`")])

    def is_own(self, term: str) -> bool:
        """Whether a linear term, or a column, has a coefficient that is the same at all times and in all strata."""
        of_baseline = {"Intercept", f"C({BAND})", f"C({self.stratum})", *self.varying, *self.changing}
        return term.split("[")[0] not in of_baseline

    @property
    def of_time(self) -> tuple[str, ...]:
        """Names of the processes of time: those of coefficients, then the baseline's."""
        return (*(f"tv({z.strip('`')})" for z in self.varying), self.baseline)

    def cells(self, baseline: str, kernel: str) -> str:
        """Formula of cells, an exposure each, with a baseline ``"gp"`` or ``"piecewise"``."""
        names = iter(self.of_time)
        of_time = [f"{z}:gp({TIME}, kernel={kernel!r}, name={next(names)!r})" for z in self.varying]
        if baseline == "piecewise":
            start = ["0", f"C({BAND})"]
        else:
            by = "" if self.stratum is None else f", by={self.stratum}"
            of_time.append(f"gp({TIME}, kernel={kernel!r}{by}, line=True, name={self.baseline!r})")
            start = [] if self.stratum is None else [f"C({self.stratum})"]
        return f"Surv({EXPOSURE}, {EVENT}) ~ {' + '.join([*start, *self.terms, *of_time])}"


def read_hazards(formula: str) -> HazardFormula:
    """Read a formula of proportional hazards."""
    formula, before, _, after = cut_formula(formula, _WRITTEN)
    if not before or not after:
        raise FormulaError(f"Both sides of '~' must be given; {_WRITTEN}.", formula)
    right = read_side(formula, after)
    node, parts = split_parts(right)
    for met in names_in(right.tree):
        if met.id in CELL:
            right.fail(met, f"Cells of rows and bands of time have columns named {', '.join(CELL)}; rename this one.")
    strata, varying, terms, plain, linear, shared = (list[str]() for _ in range(6))
    for sign, term in flatten(node):
        name = called(term)
        if name in ("strata", "tv"):
            column = _read_column(right, term, str(name))
            (strata if name == "strata" else varying).append(column)
            plain.append(f"C({column})" if name == "strata" else column)
            terms += [column] if name == "tv" else []
            continue
        _refuse(right, term, sign)
        if name == "offset" and isinstance(term, ast.Call) and len(term.args) == 1:
            terms.append(f"offset(-({right.text(term.args[0])}))")  # the location of cells is minus the log hazard
            plain.append(right.text(term))
            linear.append(right.text(term))
            continue
        text = f"({right.text(term)})" if isinstance(term, ast.BinOp) else right.text(term)
        group = _read_intercept(right, term)
        if group is not None:
            shared.append(group)
        if not isinstance(term, ast.Constant):
            terms.append(text)
            linear += [] if group is not None else [text]
        plain.append(text)
    for i, z in enumerate(varying):
        if z in varying[:i]:
            right.fail(node, f"tv({z}) occurs twice. Leave one of them out.")
    if len(strata) > 1:
        right.fail(node, "One strata(g) is possible; join its columns to one before.")
    left = formula[before[0].start : before[-1].start + len(before[-1].text)]
    levels = ["0", f"C({strata[0]})"] if strata else ["1"]
    rows, linear_rows = (
        " | ".join([f"{left} ~ {' + '.join(each)}", *(right.text(part) for part in parts)])
        for each in (plain, [*levels, *linear])
    )
    stratum, one = strata[0] if strata else None, shared[0] if len(shared) == 1 else None
    name = BASELINE if BASELINE not in {term.strip("`") for term in terms} else f"{BASELINE}_hazard"
    return HazardFormula(formula, rows, tuple(terms), stratum, tuple(varying), linear_rows, one, name)


def _read_intercept(syntax: Syntax, term: ast.expr) -> str | None:
    """The column g of a random intercept ``(1 | g)``."""
    if not isinstance(term, ast.BinOp) or not isinstance(term.op, ast.BitOr) or not isinstance(term.right, ast.Name):
        return None
    one = isinstance(term.left, ast.Constant) and term.left.value == 1
    return syntax.text(term.right) if one else None


def _read_column(syntax: Syntax, term: ast.expr, name: str) -> str:
    """The one column of ``strata(g)`` or ``tv(z)``."""
    assert isinstance(term, ast.Call)
    if len(term.args) != 1 or term.keywords or not isinstance(term.args[0], ast.Name):
        syntax.fail(term, f"{name}() takes one column, as in {name}({'g' if name == 'strata' else 'z'}).")
    return spelled(syntax.text(term.args[0]).strip("`"))  # as columns of a design are named


def _refuse(syntax: Syntax, term: ast.expr, sign: int) -> None:
    """Raise an error for terms that a log hazard cannot have."""
    inside = next((part for part in ast.walk(term) if called(part) in ("strata", "tv")), None)
    if isinstance(inside, ast.expr):
        syntax.fail(inside, f"{called(inside)}(...) must be a separate term.")
    if sign < 0 and not isinstance(term, ast.Constant):
        syntax.fail(term, "Write out the terms that are meant; none can be taken out with '-'.")
    if any(is_dot(part) for part in ast.walk(term)):
        syntax.fail(term, "'.' is not supported with family='ph'. Write the columns out.")
    if called(term) == "mixture" or (holds_process(term) and TIME in syntax.text(term)):
        syntax.fail(term, f"{syntax.text(term)} is not supported with family='ph'.")
