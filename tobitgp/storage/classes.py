"""What a stored fit may be made of: **a new shape is a name in ``CLASSES``**, or in ``REGISTRIES``."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache, partial
from operator import attrgetter
from types import FunctionType
from typing import Any, Protocol, runtime_checkable

import pandas as pd

from tobitgp.data.arrays import Problem, Units
from tobitgp.data.design import DesignState, PartState
from tobitgp.data.linear_columns import LinearState
from tobitgp.data.restore import PlainLinear, plain_linear, restore_linear
from tobitgp.data.training_summary import ColumnFacts, Facts
from tobitgp.distributions.baselines import GompertzBaseline, SplineBaseline, WeibullBaseline
from tobitgp.errors import SpecError
from tobitgp.formula.hazard_formula import HazardFormula, read_hazards
from tobitgp.formula.mixture_formulas import VectorFormula, read_vectors
from tobitgp.formula.mvbind import Wide, read_wide
from tobitgp.formula.spec import GPTerm, LinearPart, ModelSpec
from tobitgp.formula.unknown_inputs import LatentFormula, read_latent
from tobitgp.inference import EPUpdates, LaplaceUpdates, VIUpdates
from tobitgp.inference.assembly import GPModel
from tobitgp.inference.feature_layout import Layout, Place
from tobitgp.inference.feature_posterior import FeaturePosterior
from tobitgp.inference.fitted import FittedGP, FitTrace
from tobitgp.inference.hyperparameters import Parameters
from tobitgp.inference.partitioned import Sites
from tobitgp.inference.structured import Field
from tobitgp.kinds.boxcox import BoxCoxParts
from tobitgp.kinds.cure import CureParts
from tobitgp.kinds.distributional import DistributionalParts
from tobitgp.kinds.mixture import MixtureParts, Tried
from tobitgp.kinds.parametric import ParametricParts
from tobitgp.kinds.power_process import PowerProcessParts
from tobitgp.kinds.process import ProcessParts
from tobitgp.kinds.regression import RegressionParts
from tobitgp.kinds.start_stop import StartStopParts
from tobitgp.latent.collapsed_bound import ProcessPosterior, ResponseScales
from tobitgp.latent.latent_rows import LatentProcesses
from tobitgp.latent.psi_statistics import InducingInputs
from tobitgp.likelihoods import FAMILIES, Family
from tobitgp.likelihoods.custom_noise import FunctionNoise
from tobitgp.likelihoods.families import BOXCOX, WITH_SHAPE, with_known_shape
from tobitgp.mixture import EMCM, MIXTURE_FAMILIES, SVBCM, VBCM, Dirichlet, DirichletProcess, MixtureFit
from tobitgp.mixture.evidence_bound import Bayes, MixtureState, Points
from tobitgp.mixture.exponential_family import NaturalFamily
from tobitgp.mixture.family import MixtureFamily
from tobitgp.mixture.mixture_priors import ComponentPrior
from tobitgp.mixture.mixture_rows import MixtureUnits
from tobitgp.mixture.ready_families import WITH_NUMBER
from tobitgp.mixture.vector_fit import VectorFit
from tobitgp.numerics.arrow import Factor
from tobitgp.numerics.bordered import Factored
from tobitgp.numerics.crossed import CrossedFactor
from tobitgp.numerics.singular_covariance import SingularCovariance
from tobitgp.priors.bounded_priors import PC, Beta, Uniform
from tobitgp.priors.group_effects import EffectParameters, EffectsAt
from tobitgp.priors.kernel_block import KernelFeatures
from tobitgp.priors.kernels import KERNELS, Covariance, Kernel, KernelFactor
from tobitgp.priors.level_curves import LevelCurvesAt
from tobitgp.priors.markov import Markov
from tobitgp.priors.prior import DenseFeatures, LevelColumns, LinearPrior, Prior
from tobitgp.priors.scale_priors import Exponential, Gamma, HalfNormal, HalfStudent, InverseGamma
from tobitgp.priors.structure import Grouping, Inputs, StructuredTermAt
from tobitgp.priors.vecchia import Vecchia
from tobitgp.regression import Maximum
from tobitgp.results.competing.competing_parts import CompetingParts
from tobitgp.results.hazards.cells import PH
from tobitgp.results.hazards.hazard_parts import HazardParts
from tobitgp.results.latent.latent_parts import LatentParts
from tobitgp.results.multivariate.multivariate_parts import MultivariateParts
from tobitgp.results.multivariate.stacked_rows import Stack
from tobitgp.results.uncertain.uncertain_parts import UncertainParts
from tobitgp.results.vectors.vector_parts import VectorParts
from tobitgp.storage.archive import MalformedError
from tobitgp.storage.codec import Codec, Hook, Surroundings, fits
from tobitgp.storage.specification import plain_spec, restore_spec
from tobitgp.typing import Array

# Written field by field, checked against the types that the class declares. A class must not hold functions, nor text
# that is evaluated: expressions come from the formula alone, which is read again and checked.
CLASSES: dict[str, type] = {
    known.__name__: known
    for known in (
        *(ColumnFacts, DesignState, Facts, PlainLinear, Problem, Units),
        *(GompertzBaseline, SplineBaseline, WeibullBaseline),
        *(Field, FittedGP, FitTrace, GPModel, Layout, Parameters, Place, Sites),
        Tried,
        *(InducingInputs, LatentProcesses, ProcessPosterior, ResponseScales),
        *(Bayes, ComponentPrior, Dirichlet, DirichletProcess, EMCM, MixtureFit, MixtureUnits, Points, SVBCM, VBCM),
        VectorFit,
        *(CrossedFactor, Factor, Factored, SingularCovariance),
        *(Beta, Covariance, DenseFeatures, EffectParameters, EffectsAt, Exponential, Gamma, Grouping, HalfNormal),
        *(HalfStudent, Inputs, InverseGamma, KernelFactor, KernelFeatures, LevelColumns, LevelCurvesAt),
        *(LinearPrior, Markov, PC, Prior, StructuredTermAt, Uniform, Vecchia),
        Maximum,
        *(PH, Stack),
    )
} | {
    "EP": EPUpdates,
    "Laplace": LaplaceUpdates,
    "Posterior": FeaturePosterior,
    "State": MixtureState,
    "VI": VIUpdates,
}

# Written by name.
REGISTRIES: dict[str, tuple[type | tuple[type, ...], Mapping[str, Any]]] = {
    "$components": (MixtureFamily, MIXTURE_FAMILIES),
    "$family": (Family, ChainMap({BOXCOX.name: BOXCOX}, FAMILIES)),
    "$kernel": (Kernel, KERNELS),
}


# Written by the text that a user wrote, which is read again.
READ: dict[str, tuple[type, Callable[[Any], Any], Callable[[Any], Any]]] = {
    "$hazards": (HazardFormula, attrgetter("formula"), read_hazards),
    "$latent": (LatentFormula, attrgetter("formula"), read_latent),
    "$vectors": (VectorFormula, attrgetter("formula"), read_vectors),
    "$wide": (Wide, lambda wide: (wide.formula, wide.sigma, wide.rescor), lambda x: read_wide(*x[:2], rescor=x[2])),
}
_TEXTS = {"$hazards": str, "$latent": str, "$vectors": str, "$wide": tuple[str, str | None, bool]}


# What a fit of each kind was made of: **a kind of fit is a line here**, and in ``RESULTS``.
PARTS: tuple[type, ...] = (
    BoxCoxParts,
    CompetingParts,
    CureParts,
    DistributionalParts,
    HazardParts,
    LatentParts,
    MixtureParts,
    MultivariateParts,
    ParametricParts,
    PowerProcessParts,
    ProcessParts,
    RegressionParts,
    StartStopParts,
    UncertainParts,
    VectorParts,
)


@runtime_checkable
class HoldsParts(Protocol):
    """A fit among the parts of another."""

    def _without_rows(self) -> Any: ...


@cache
def fit_codec() -> Codec:
    """Codec of what fits are made of."""
    hooks = {tag: _registry(tag, known, rows) for tag, (known, rows) in REGISTRIES.items()}
    hooks["$family"] = _with_known_shape(hooks["$family"])
    hooks["$components"] = _with_known_number(hooks["$components"])
    hooks |= {tag: _read_again(tag, *how) for tag, how in READ.items()}
    hooks |= {
        "$spec": Hook(ModelSpec, plain_spec, restore_spec),
        "$term": Hook(GPTerm, lambda term, around: around.read.processes.index(term), _term),
        "$linear": Hook(LinearState, lambda x, around: plain_linear(x, around.read, around.levels), _linear),
        "$part": Hook(PartState, _plain_part, _part),
        "$slice": Hook(slice, lambda columns, _: (columns.start, columns.stop), _columns),
        "$interval": Hook(pd.Interval, lambda x, _: (x.left, x.right, x.closed), lambda x, _: pd.Interval(*x)),
        "$series": Hook(pd.Series, lambda x, _: (tuple(x.index), tuple(x.tolist())), _series),
        "$results": Hook(
            HoldsParts, lambda fit, _: fit.parts.without_rows(), lambda parts, around: around.results_of(parts)
        ),
    }
    known = {parts.__name__: parts for parts in PARTS} | {"CuredParts": DistributionalParts}  # as they were called
    return Codec(CLASSES | known, hooks)


def _registry(tag: str, known: type | tuple[type, ...], rows: Mapping[str, Any]) -> Hook:
    def restore(name: Any, _: Surroundings) -> Any:
        if not isinstance(name, str) or name not in rows:
            raise MalformedError(f"it names the unknown {tag[1:]} {name!r:.60}")
        return rows[name]

    def name_of(value: Any, _: Surroundings) -> str:
        for name, row in rows.items():
            if _alike(value, row):
                return name
        raise SpecError(
            f"A fit with the {tag[1:]} {value!r:.60}, which is not one of {', '.join(rows)}, cannot be saved."
        )

    return Hook(known, name_of, restore)


def _with_known_shape(named: Hook) -> Hook:
    """Families by name, those with a known shape by this too, ``{"student": 4.0}``."""

    def plain(family: Family, around: Surroundings) -> Any:
        if isinstance(family.distribution, FunctionNoise):
            raise SpecError(
                f"family=CustomNoise({family.name!r}, ...): a fit with your functions cannot be saved, because a file "
                "holds numbers and no code. Fit it again where you need it, or use pickle.dump() with functions "
                "that are defined in a module."
            )
        if family.distribution.shape_name is not None and not family.estimate_shape:
            return {family.name: family.distribution.shape}
        return named.plain(family, around)

    def restore(value: Any, around: Surroundings) -> Any:
        if not isinstance(value, dict):
            return named.restore(value, around)
        name = next(iter(value), None)
        if len(value) != 1 or name not in WITH_SHAPE:
            raise MalformedError(f"it names the unknown family {value!r:.60}")
        try:
            return with_known_shape(FAMILIES[name], value[name])
        except SpecError as error:
            raise MalformedError(str(error)) from error

    return Hook(Family, plain, restore)


def _with_known_number(named: Hook) -> Hook:
    """Families of components by name, or by the number that makes them."""

    def plain(family: MixtureFamily, around: Surroundings) -> Any:
        if not isinstance(family, NaturalFamily) or family.name in MIXTURE_FAMILIES:
            return named.plain(family, around)
        maker, arguments = family.recipe
        known = next((name for name, each in WITH_NUMBER.items() if each is maker), None)
        if known is None:
            raise SpecError(f"A fit with {family!r} cannot be saved: files do not hold its functions.")
        return {known: arguments[0]}

    def restore(value: Any, around: Surroundings) -> Any:
        if not isinstance(value, dict):
            return named.restore(value, around)
        maker, number = next(iter(value.items()), (None, None))
        if len(value) != 1 or maker not in WITH_NUMBER:
            raise MalformedError(f"it names the unknown family {value!r:.60}")
        try:
            return WITH_NUMBER[maker](number)
        except SpecError as error:
            raise MalformedError(str(error)) from error

    return Hook(MixtureFamily, plain, restore)


def _read_again(tag: str, known: type, plain: Callable[[Any], Any], read: Callable[[Any], Any]) -> Hook:
    def restore(value: Any, _: Surroundings) -> Any:
        if not fits(value, _TEXTS[tag]):
            raise MalformedError(f"its {tag[1:]} are not made of text")
        return read(value)

    return Hook(known, lambda value, _: plain(value), restore)


def _alike(a: Any, b: Any) -> bool:
    """Whether two members of a registry are the same, though one may be a copy."""
    if a is b or type(a) is not type(b) or isinstance(a, FunctionType):
        return a is b
    if isinstance(a, partial):
        return _alike(a.func, b.func) and len(a.args) == len(b.args) and all(map(_alike, a.args, b.args))
    if is_dataclass(a):
        return all(_alike(getattr(a, f.name), getattr(b, f.name)) for f in fields(a))
    return bool(a == b) or (hasattr(a, "__dict__") and vars(a) == vars(b))


def _columns(ends: Any, _: Surroundings) -> slice:
    if not isinstance(ends, tuple) or len(ends) != 2 or any(type(end) is not int or end < 0 for end in ends):
        raise MalformedError("a run of columns has not two ends")
    return slice(*ends)


def _series(plain: Any, _: Surroundings) -> pd.Series[Any]:
    if not fits(plain, tuple[tuple[str | int, ...], tuple[int, ...]]) or len(plain[0]) != len(plain[1]):
        raise MalformedError("a table of counts has not a number for each name")
    return pd.Series(plain[1], index=pd.Index(plain[0], dtype=object))


def _term(at: Any, around: Surroundings) -> GPTerm:
    if type(at) is not int or not 0 <= at < len(around.read.processes):
        raise MalformedError("it names a process that the formula has not")
    return around.read.processes[at]


def _linear(plain: Any, around: Surroundings) -> LinearState:
    if not isinstance(plain, PlainLinear):
        raise MalformedError("its linear part is of an unknown form")
    return restore_linear(plain, around.read)


def _parts(spec: ModelSpec) -> list[LinearPart | None]:
    """Formulas of the noise scale, of random effects and of other parameters of the rows."""
    return [spec.scale, *(term.effects for term in spec.processes), *spec.formulas]


def _plain_part(part: PartState, around: Surroundings) -> Any:
    return _parts(around.read).index(part.spec), part.coded, plain_linear(part.linear, part.spec, around.levels)


def _part(plain: Any, around: Surroundings) -> PartState:
    parts = _parts(around.read)
    if not fits(plain, tuple[int, tuple[Array, ...], PlainLinear]) or not 0 <= plain[0] < len(parts):
        raise MalformedError("its noise scale or a random effect is of an unknown form")
    at, coded, linear = plain
    part = parts[at]
    if part is None:
        raise MalformedError("its noise scale or a random effect has no formula")
    return PartState(part, coded, restore_linear(linear, part))
