"""Calls of mixtures of regressions, ``y ~ mixture(2, x)``: formulas of the parameters of each component."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tobitgp.distributions.mixed_rows import LOCATION, parameters_of_components
from tobitgp.errors import SpecError
from tobitgp.formula.mixed_formula import MixedFormula, read_mixed
from tobitgp.kinds.call import Call
from tobitgp.kinds.distributional_call import Distributional, ParameterRows
from tobitgp.likelihoods import FAMILIES
from tobitgp.likelihoods.families import is_boxcox
from tobitgp.mixture import MIXTURE_FAMILIES
from tobitgp.mixture.family import MixtureFamily
from tobitgp.options import FitOptions
from tobitgp.results.hazards.cells import PH


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
