"""What to try where a diagnostic finds something: for each kind of fit, what that kind can be fitted with."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.formula.linear_terms import spelled
from tobitgp.formula.spec import CureSpec
from tobitgp.typing import Array

POSITIVE = "weibull", "lognormal", "loglogistic"
REAL = "gaussian", "logistic", "student"
_LEVEL = re.compile(r"^(?:C\()?`?(?P<column>[^`()\[\]]+)`?\)?(?:\[.*\])?$")  # g[T.b], C(k)[T.2], `body mass`, z


@dataclass(frozen=True, slots=True)
class Noise:
    """What residuals are judged by, in words, and what to try where they are wrong."""

    name: str
    remedy: str  # where its shape is wrong
    heavier: str  # where its tails are too light
    processes: bool = True  # gp() may be added to the formula
    scale: tuple[str, ...] | None = ()  # columns and processes of sigma= as it is; None where there is no sigma=
    otherwise: str = ""  # where the spread changes and there is no sigma=, or a curve of it is there
    scale_curves: bool = True  # gp() may be added to sigma=
    of_scale: str = "sigma='~ {}'"  # the argument that models the scale by terms
    rougher: Mapping[str, str] = field(default_factory=dict)  # by column that has a smooth effect: what to try

    def of_spread(self, name: str, fit: Array, columns: pd.DataFrame) -> str:
        """Where the spread follows a column, or the fit (n,) and no column is named."""
        name = name or _nearest(fit, columns)
        column, few = spelled(name), name in columns and columns[name].nunique() < 3
        curve = f"gp({column})"
        if self.scale is None or not name or curve in self.scale or (few and name in self.scale):
            return self.otherwise or "Try another family."
        curved = self.scale_curves and not few
        ways = [self.of_scale.format(column)] * (name not in self.scale)
        ways += [f"{self.of_scale.format(curve)}, a curve"] * curved
        if not ways:
            return self.otherwise or "Try another family."
        return f"Model the scale by {' or '.join(ways)}. {self.otherwise}".rstrip()

    def of_pattern(self, name: str) -> str:
        """Where a curve along a column is missed."""
        column = spelled(name)
        if name in self.rougher:
            return self.rougher[name]
        smooth = f"gp({column})" if self.processes else f"bs({column}, df=4)"
        return f"Write {smooth}, a smooth effect, into the formula."


def remedies(results: Any) -> Noise:
    """What the family says of residuals, and what to try instead."""
    return replace(_of_kind(results), rougher=_rougher(results.parts.spec))


def _rougher(spec: Any) -> dict[str, str]:
    """What follows faster changes of each column that has a smooth effect."""
    found = {}
    for name in spec.names():
        column = spelled(name)
        if re.search(rf"\b[bc][sr]\({re.escape(column)}(?!\w)", spec.linear):
            found[name] = f"The spline of {column} is too smooth: raise its df=."
        for term in spec.gps:
            if term.se is not None and name in spec.names("se"):
                found[name] = f"Standard errors of {term.inputs[0].text} may be larger or smaller than {column} says."
            elif term.se is not None and column in {each.text for each in term.inputs}:
                found[name] = f"{term.name} is too smooth along {name}: raise inducing= of the method."
            elif column in {each.text for each in term.inputs}:
                found[name] = (
                    f"{term.name} is too smooth along {name}: estimate its length-scale if that is fixed, raise "
                    "inducing= of the method, or use kernel='matern12' in it."
                )
    return found


def _of_kind(results: Any) -> Noise:
    """The same, of columns without smooth effects."""
    parts = results.parts
    name = parts.family.name
    if parts.spec.mixture is not None:
        more = "Try more components, mixture(range(1, 7)), or another family"
        return Noise(f"this {name} mixture", f"{more}.", more, scale=None)
    if hasattr(results, "proportionality"):
        return _of_hazards(results)
    if any(term.se is not None for term in parts.spec.gps):
        other = "Transform the response, as in log(y) ~ ..., or compare families by fits without se="
        return Noise(f"{name} noise", f"{other}.", other, scale=None, otherwise=f"{other}.")
    cured = parts.state.scale is not None and isinstance(parts.state.scale.spec, CureSpec)
    families, remedy, heavier, otherwise = _by_itself() if results._together is not None else _families(results, name)
    if cured and parts.family.known_sigma is None:
        both = f"formulas={{{{'sigma': '~ {{}}', 'cured': {parts.state.scale.spec.formula!r}}}}}"
        return Noise(f"{name} noise", remedy, heavier, False, (), "", False, both)
    if cured or parts.spec.formulas or parts.family.known_sigma is not None:
        linear_alone = cured or bool(parts.spec.formulas)
        return Noise(f"{name} noise", remedy, heavier, not linear_alone, None, f"{families}.")
    state = parts.state.scale
    curves_there = () if state is None else (term.name.removeprefix("sigma: ") for term in state.spec.gps)
    there = () if state is None else (*state.spec.names("linear"), *curves_there)
    curves = all(term.approximation not in ("markov", "vecchia") for term in parts.spec.gps)
    return Noise(f"{name} noise", remedy, heavier, True, there, otherwise, curves)


def _families(results: Any, name: str) -> tuple[str, str, str, str]:
    """Other families: all, with terms, one with heavier tails, and what to try where the spread changes."""
    log_time = results.parts.family.log_time
    others = [other for other in (POSITIVE if log_time else REAL) if other != name]
    by = ", by='aic'" if results.method == "mle" else ""
    families = f"Compare families by tg.select({{'family': {[name, *others]}}}, data, formula=...{by})"
    if log_time:
        heavier = f"Try family='{'loglogistic' if name != 'loglogistic' else 'lognormal'}'"
        return families, f"{families}, or add terms.", heavier, ""
    remedy = f"{families}, including log-time ones if the response is positive, or add terms."
    grows = "If the response is positive, a log-time family lets the spread grow with the mean."
    return families, remedy, _heavier(name), grows


def _by_itself() -> tuple[str, str, str, str]:
    """The same for one of several responses, which have one family."""
    alone = "Fit this response by itself with another family"
    return alone, f"{alone}.", alone, f"{alone}."


def _heavier(name: str) -> str:
    if name == "student":
        return "Fix fewer degrees of freedom, family=tg.Student(df=3)"
    return "Try family='student'"


def _of_hazards(results: Any) -> Noise:
    """A baseline in bands, as a curve, or of a parametric form."""
    baseline = getattr(results.parts, "baseline", None)
    processes = baseline is None and results.method != "mle"
    name = "a baseline in bands" if baseline is None else f"a {baseline.words} baseline"
    strata = "a stratum for each level of a factor, strata()"
    parts = results.parts
    only_linear = not (parts.spec.processes or parts.written.varying or getattr(parts, "frailty", None))
    other = f"Try another baseline, family=tg.PH('spline', df=4), or {strata}" if only_linear else f"Try {strata}"
    return Noise(name, f"{other}; or add terms.", other, processes, None, f"{other}.")


def _nearest(fit: Array, columns: pd.DataFrame) -> str:
    """The column of numbers that the fit follows most closely, else the first column; empty where there is none."""
    numbers = [name for name in columns if pd.api.types.is_numeric_dtype(columns[name]) and columns[name].nunique() > 1]
    if not numbers:
        return str(columns.columns[0]) if len(columns.columns) else ""
    along = [abs(float(np.corrcoef(fit, columns[name].to_numpy(dtype=np.float64))[0, 1])) for name in numbers]
    return str(numbers[int(np.argmax(along))])
