"""All kinds of fits, in the order in which they are tried for a call."""

from __future__ import annotations

from tobitgp.kinds.boxcox_call import PowerTransformation
from tobitgp.kinds.causes_call import Causes
from tobitgp.kinds.distributional_call import Distributional
from tobitgp.kinds.hazards_call import Hazards
from tobitgp.kinds.kind import Kind
from tobitgp.kinds.latent_call import Latent
from tobitgp.kinds.mixed_call import MixedRegressions
from tobitgp.kinds.parametric_call import ParametricHazards
from tobitgp.kinds.regression_call import Cure, Regression, StartStop
from tobitgp.kinds.several_call import Several
from tobitgp.kinds.uncertain_call import UncertainInput
from tobitgp.kinds.vectors_call import Vectors

OF_ONE_CAUSE: tuple[Kind, ...] = (
    Latent(),
    Vectors(),
    UncertainInput(),
    Several(),
    MixedRegressions(),
    Distributional(),
    ParametricHazards(),
    PowerTransformation(),
    Hazards(),
    StartStop(),
    Cure(),
    Regression(),  # all others
)
KINDS: tuple[Kind, ...] = (Causes(OF_ONE_CAUSE), *OF_ONE_CAUSE)
