"""All kinds of fits, in the order in which they are tried for a call."""

from __future__ import annotations

from tobitgp.formula.mixture_formulas import is_vectors, read_mixed
from tobitgp.formula.mvbind import is_wide
from tobitgp.formula.unknown_inputs import is_latent, is_measured
from tobitgp.kinds.call import Call
from tobitgp.kinds.cause_columns import written_causes
from tobitgp.kinds.kind import Claim
from tobitgp.likelihoods import FAMILIES
from tobitgp.likelihoods.families import is_boxcox
from tobitgp.results.hazards.cells import PH, is_parametric


def _has_baseline(call: Call) -> bool:
    return isinstance(call.family, PH) and is_parametric(call.family)


def _has_parameters(call: Call) -> bool:
    """Whether rows have parameters that no other kind reads."""
    own = isinstance(call.family, str) and call.family in FAMILIES and FAMILIES[call.family].rows is not None
    return call.formulas is not None or (_has_baseline(call) and call.cure is not None) or own


def _has_hazard(call: Call) -> bool:
    return isinstance(call.family, PH) or call.family is PH or call.family == PH.name


OF_ONE_CAUSE: tuple[Claim, ...] = (
    Claim(lambda call: is_latent(call.formula), "latent_call", "Latent"),
    Claim(lambda call: is_vectors(call.formula), "vectors_call", "Vectors"),
    Claim(lambda call: is_measured(call.formula), "uncertain_call", "UncertainInput"),
    Claim(lambda call: is_wide(call.formula), "several_call", "Several"),
    Claim(lambda call: read_mixed(call.formula) is not None, "distributional_call", "MixedRegressions"),
    Claim(_has_parameters, "distributional_call", "Distributional"),
    Claim(_has_baseline, "parametric_call", "ParametricHazards"),
    Claim(lambda call: is_boxcox(call.family), "boxcox_call", "PowerTransformation"),
    Claim(_has_hazard, "hazards_call", "Hazards"),
    Claim(lambda call: call.id is not None, "start_stop_call", "StartStop"),
    Claim(lambda call: call.cure is not None, "cure_call", "Cure"),
    Claim(lambda _: True, "regression_call", "Regression"),
)
_CAUSES = Claim(lambda call: written_causes(call) is not None, "causes_call", "Causes", (OF_ONE_CAUSE,), by_cause=True)
KINDS: tuple[Claim, ...] = (_CAUSES, *OF_ONE_CAUSE)
