"""Fit models in which other parameters of the rows than the location have formulas."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, NoReturn

import pandas as pd

from tobitgp.data.outcome import outcome
from tobitgp.data.sources import refuse_partitioned
from tobitgp.distributions.baselines import GompertzBaseline, SplineBaseline, WeibullBaseline
from tobitgp.distributions.row_models import RowModel
from tobitgp.errors import SpecError
from tobitgp.formula.hazard_formula import read_hazards
from tobitgp.formula.parse import parse_parameter_formula
from tobitgp.formula.spec import ModelSpec
from tobitgp.kinds.distributional import check_formulas, fit_rows, row_model
from tobitgp.kinds.parametric import LINKS, baseline_of
from tobitgp.likelihoods import FAMILIES, Family
from tobitgp.likelihoods.families import is_boxcox
from tobitgp.model import Model
from tobitgp.options import FitOptions
from tobitgp.results.hazards.cells import PH, is_parametric

_SHAPES = {"weibull": WeibullBaseline(), "gompertz": GompertzBaseline(), "spline": SplineBaseline((0.0, 1.0, 2.0))}


def has_own_formulas(family: Any, cure: str | None, formulas: Mapping[str, str] | None) -> bool:
    """Whether rows have formulas of parameters that other models do not read, or parameters of a family's own."""
    of_baseline = isinstance(family, PH) and is_parametric(family)
    return bool(formulas) or (of_baseline and cure is not None) or _own_rows(family)


def _own_rows(family: Any) -> bool:
    return isinstance(family, str) and family in FAMILIES and FAMILIES[family].rows is not None


def short_forms(
    sigma: str | None, cure: str | None, formulas: Mapping[str, str] | None
) -> tuple[str | None, str | None, dict[str, str]]:
    """``sigma=``, ``cure=`` and what is left of ``formulas=`` once it names no more than these, each given once."""
    given = {} if formulas is None else dict(formulas)
    if not all(isinstance(name, str) for name in given):
        raise SpecError(f"formulas={formulas!r:.60}: a dict of formulas by parameter is needed, as {{'shape': '~ z'}}.")
    for name, short in (("sigma", sigma), ("cured", cure)):
        if name in given and short is not None:
            argument = "cure" if name == "cured" else name
            raise SpecError(f"formulas={{{name!r}: ...}} and {argument}= are the same formula. Give one of them.")
    if len(given) == 1 and set(given) <= {"sigma", "cured"}:
        return sigma or given.get("sigma"), cure or given.get("cured"), {}
    return sigma, cure, given


class DistributionalModel(Model):
    """Rows that have met their data, whose parameters have formulas."""

    def __init__(
        self,
        formula: str,
        data: Any,
        *,
        family: Any = None,
        sigma: str | None = None,
        cure: str | None = None,
        formulas: Mapping[str, str] | None = None,
        id: Any = None,
        **reading: Any,
    ):
        refuse_partitioned(data, "formulas= are fitted", reading.pop("engine", None))
        if is_boxcox(family):
            raise SpecError(
                "family='boxcox' takes a formula of sigma alone: a power that differs between rows puts the location "
                "of each row on a scale of its own. Use formulas={'sigma': '~ z'}."
            )
        self._refuse({"id": id, "var_weights": reading.pop("var_weights", None)}, reading)
        given = (
            dict(formulas or {})
            | ({} if sigma is None else {"sigma": sigma})
            | ({} if cure is None else {"cured": cure})
        )
        if isinstance(family, PH) and not is_parametric(family):
            raise SpecError(
                f"formulas= and cure= require a parametric baseline, not {family!r}. Use tg.PH('spline'), "
                "tg.PH('weibull') or tg.PH('gompertz')."
            )
        self._hazards = family if isinstance(family, PH) else None
        written = None
        if self._hazards is not None:
            written = read_hazards(formula)
            if written.stratum or written.shared or written.varying or self._hazards.frailty:
                raise SpecError(
                    "formulas= and cure= are not supported with strata(), tv() and frailties. Write the factor in a "
                    "formula: formulas={'shape': '~ C(g)'}."
                )
        text = formula if written is None else written.linear
        named = LINKS[self._hazards.link] if self._hazards is not None else family
        self._formulas, self._written = given, "" if written is None else formula
        super().__init__(text, pd.DataFrame(data), family=named, **reading)

    @staticmethod
    def _refuse(given: Mapping[str, Any], reading: Mapping[str, Any]) -> None:
        wrong = [f"{name}=" for name, value in given.items() if value is not None]
        wrong += ["censored="] * (reading.get("censored", "model") != "model")
        if wrong:
            raise SpecError(f"{wrong[0]} is not supported with formulas= of other parameters. Leave one of them out.")

    def _with_formulas(self, spec: ModelSpec, columns: list[str], functions: Any) -> ModelSpec:
        family = self._family
        if spec.mixture is not None or spec.processes:
            what = "mixture()" if spec.mixture is not None else spec.processes[0].name
            raise SpecError(f"formulas= are fitted by maximum likelihood to linear terms, and {what} is none.")
        assert isinstance(family, Family)
        if "cured" in self._formulas and not family.log_time:
            raise SpecError(f"formulas={{'cured': ...}}: family={family.name!r} is not one of positive times.")
        model = self._model(None if self._hazards is None else _SHAPES[self._hazards.baseline])
        check_formulas(tuple(self._formulas), model, family.name if self._hazards is None else repr(self._hazards))
        found = (
            parse_parameter_formula(each.name, each.label, self._formulas[each.name], columns, functions, beside=spec)
            for each in model.parameters
            if each.name in self._formulas
        )
        return replace(spec, formulas=tuple(found))

    def _model(self, baseline: Any) -> RowModel:
        """The distribution that the parameters of a row make."""
        assert isinstance(self._family, Family)
        names = tuple(self._formulas)
        return row_model(self._family, baseline, cured="cured" in names, formulas=names)

    def __repr__(self) -> str:
        shown = super().__repr__()
        return shown if self._hazards is None else shown.replace(f"\n  {self._family.name}:", f"\n  {self._hazards!r}:")

    @property
    def _fitter(self) -> Callable[..., Any]:
        baseline = None
        if self._hazards is not None:
            baseline = baseline_of(self._hazards, outcome(self.training.response, log_time=True))
        return partial(fit_rows, baseline=baseline, cured="cured" in self._formulas, formula=self._written)

    def _fit_process(self, asked: FitOptions) -> NoReturn:
        raise SpecError(
            "formulas= of other parameters are fitted by maximum likelihood, without priors and other options of a "
            "posterior. Leave these out."
        )
