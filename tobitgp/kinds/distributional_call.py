"""Calls in which other parameters of the rows than the location have formulas, of one regression or a mixture."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from tobitgp.distributions.baselines import GompertzBaseline, SplineBaseline, WeibullBaseline
from tobitgp.distributions.mixed_rows import LOCATION, parameters_of_components
from tobitgp.errors import SpecError
from tobitgp.formula.hazard_formula import HazardFormula, read_hazards
from tobitgp.formula.mixture_formulas import MixedFormula, read_mixed
from tobitgp.formula.parse import parse_parameter_formula
from tobitgp.formula.spec import ModelSpec
from tobitgp.kinds.call import Call, Rows, read_rows
from tobitgp.kinds.distributional import check_formulas, fit_rows, row_model
from tobitgp.kinds.kind import Kind, fit_maximum
from tobitgp.kinds.parametric import LINKS, baseline_of
from tobitgp.likelihoods import FAMILIES, Family
from tobitgp.likelihoods.families import is_boxcox
from tobitgp.mixture import MIXTURE_FAMILIES
from tobitgp.mixture.family import MixtureFamily
from tobitgp.options import FitOptions, refuse_with_mle
from tobitgp.results.hazards.cells import PH, is_parametric
from tobitgp.results.likelihood.kinds import results_of_rows

_SHAPES = {"weibull": WeibullBaseline(), "gompertz": GompertzBaseline(), "spline": SplineBaseline((0.0, 1.0, 2.0))}


@dataclass(frozen=True)
class ParameterRows(Rows):
    """Rows whose parameters have formulas."""

    formulas: Mapping[str, str]  # by parameter
    hazard: PH | None
    written: HazardFormula | MixedFormula | None  # where it is not that of the rows

    @property
    def formula(self) -> str:
        return self.spec.formula if self.written is None else self.written.formula

    @property
    def shown(self) -> str:
        return self.spec.written if self.written is None else self.written.formula

    @property
    def title(self) -> str:
        return self.family.name if self.hazard is None else repr(self.hazard)


class Distributional(Kind):
    """``formulas=`` of parameters that other kinds do not read, and parameters of a family's own."""

    has_posterior = False

    def read(self, call: Call) -> ParameterRows:
        family = call.family
        if is_boxcox(family):
            raise SpecError(
                "family='boxcox' supports a formula of sigma only: with different powers, the location of each "
                "row would be on a different scale. Use formulas={'sigma': '~ z'}."
            )
        why = "is not supported with formulas= of other parameters."
        call.refuse(("id", "var_weights", "censored"), why)
        given = dict(call.formulas or {})
        given |= {name: text for name, text in (("sigma", call.sigma), ("cured", call.cure)) if text is not None}
        if isinstance(family, PH) and not is_parametric(family):
            raise SpecError(
                f"formulas= and cure= require a parametric baseline, not {family!r}. Use tg.PH('spline'), "
                "tg.PH('weibull') or tg.PH('gompertz')."
            )
        hazard = family if isinstance(family, PH) else None
        written = None if hazard is None else read_hazards(call.formula)
        if hazard is not None and written is not None:
            if written.stratum or written.shared or written.varying or hazard.frailty:
                raise SpecError(
                    "formulas= and cure= are not supported with strata(), tv() and frailties. Write the factor in a "
                    "formula: formulas={'shape': '~ C(g)'}."
                )
            call = replace(call, formula=written.linear, family=LINKS[hazard.link])
        call = replace(call, sigma=None, cure=None)
        rows = read_rows(call, _completed(given, hazard, call.functions)).gathered()
        read = rows.spec, rows.family, rows.read, rows.frame, rows.columns
        return ParameterRows(call, *read, given, hazard, written)

    def maximum(self, rows: ParameterRows, asked: FitOptions) -> Any:
        refuse_with_mle(asked)
        own: dict[str, Any] = {"cured": "cured" in rows.formulas}
        own["baseline_of"] = None if rows.hazard is None else partial(baseline_of, rows.hazard)
        own["formula"] = "" if rows.written is None else rows.written.formula
        return fit_maximum(rows, asked, results_of_rows, partial(fit_rows, rows.in_memory, **own), fixed=asked.fixed)

    def posterior(self, rows: ParameterRows, asked: FitOptions) -> Any:
        raise SpecError(
            "Models with formulas= for other parameters are fitted by maximum likelihood, without priors and "
            "other options of a posterior. Leave these out."
        )


def _completed(
    given: Mapping[str, str], hazard: PH | None, functions: Any
) -> Callable[[ModelSpec, Any, list[Any]], ModelSpec]:
    """A function that adds the formulas of the parameters to a specification."""

    def complete(spec: ModelSpec, family: Any, columns: list[Any]) -> ModelSpec:
        if spec.mixture is not None or spec.processes:
            what = "mixture()" if spec.mixture is not None else spec.processes[0].name
            raise SpecError(
                f"{what}: not supported with formulas of other parameters or with components, which are fitted by "
                "maximum likelihood to linear terms. Leave one of them out."
            )
        assert isinstance(family, Family)
        if "cured" in given and not family.log_time:
            raise SpecError(f"formulas={{'cured': ...}}: family={family.name!r} does not model positive times.")
        baseline: Any = None if hazard is None else _SHAPES[hazard.baseline]
        model = row_model(family, baseline, cured="cured" in given, formulas=tuple(given))
        check_formulas(tuple(given), model, family.name if hazard is None else repr(hazard))
        found = (
            parse_parameter_formula(each.name, each.label, given[each.name], columns, functions, beside=spec)
            for each in model.parameters
            if each.name in given
        )
        return replace(spec, formulas=tuple(found))

    return complete


class MixedRegressions(Distributional):
    """``mixture(k, terms)``."""

    def read(self, call: Call) -> ParameterRows:
        written = read_mixed(call.formula)
        assert written is not None
        call.refuse(("id", "var_weights", "censored", "cure"), f"is not supported with {written.called}.")
        _check_family(written, call.family)
        given = dict(call.formulas or {}) | ({} if call.sigma is None else {"sigma": call.sigma})
        if "cured" in given:
            raise SpecError(f"formulas={{'cured': ...}}: not supported with {written.called}. Leave one of them out.")
        linear = replace(call, formula=written.linear, sigma=None, formulas=_of_components(given, written))
        return replace(super().read(linear), call=call, written=written)

    def posterior(self, rows: ParameterRows, asked: FitOptions) -> Any:
        assert isinstance(rows.written, MixedFormula)
        raise SpecError(
            f"{rows.written.called} is fitted by maximum likelihood, without other methods, priors and other options "
            "of a posterior. Leave these out, or use method='mle'."
        )


def _of_components(given: Mapping[str, str], written: MixedFormula) -> dict[str, str]:
    """Formulas of all components: locations have the same terms, and those of ``sigma`` and ``odds`` are for each."""
    of_each = parameters_of_components(written.components)
    out = {f"{LOCATION}{k}": f"~ {written.terms}" for k in range(2, written.components + 1)}
    for name, text in given.items():
        out |= dict.fromkeys(of_each.get(name, [name]), text)
    return out


def _check_family(written: MixedFormula, family: Any) -> None:
    """Raise an error for families whose rows have no location and scale, or a shape that is estimated."""
    named = isinstance(family, str) and (family == PH.name or (family in MIXTURE_FAMILIES and family not in FAMILIES))
    if named or isinstance(family, PH | MixtureFamily) or is_boxcox(family):
        raise SpecError(
            f"family={family!r}: not supported with {written.called}. Use a family of a location and a scale, such as "
            "'lognormal' or 'weibull'."
        )
    shaped = isinstance(family, str) and family in FAMILIES and FAMILIES[family].estimate_shape
    if shaped:
        known = {"student": "tg.Student(df=4)", "gengamma": "tg.GenGamma(Q=0.5)"}[family]
        raise SpecError(f"family={family!r}: {written.called} requires a known shape. Write family={known}.")
