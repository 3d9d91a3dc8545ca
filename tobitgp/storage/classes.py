"""What a stored fit may be made of: **a new shape is a line in ``CLASSES``**, or in ``REGISTRIES``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import partial
from types import FunctionType
from typing import Any

import pandas as pd

from tobitgp.data.arrays import Problem, Units
from tobitgp.data.design import DesignState, PartState
from tobitgp.data.linear_columns import LinearState
from tobitgp.data.restore import PlainLinear, plain_linear, restore_linear
from tobitgp.data.training_summary import ColumnFacts, Facts
from tobitgp.distributions.baselines import GompertzBaseline, SplineBaseline, WeibullBaseline
from tobitgp.errors import SpecError
from tobitgp.formula.spec import GPTerm, LinearPart, ModelSpec
from tobitgp.inference import EP, VI, Laplace
from tobitgp.inference.assembly import GPModel
from tobitgp.inference.effect_parameters import EffectParameters
from tobitgp.inference.feature_posterior import Layout, Place, Posterior
from tobitgp.inference.fitted import FittedGP, FitTrace
from tobitgp.inference.hyperparameters import Parameters
from tobitgp.inference.partitioned import Sites
from tobitgp.inference.structured import Field
from tobitgp.kinds.mixture import Tried
from tobitgp.likelihoods import FAMILIES, Family
from tobitgp.likelihoods.families import BOXCOX, WITH_SHAPE, with_known_shape
from tobitgp.mixture import EMCM, MIXTURE_FAMILIES, SVBCM, VBCM, Dirichlet, DirichletProcess, MixtureFit
from tobitgp.mixture.component_prior import ComponentPrior
from tobitgp.mixture.evidence_bound import Bayes, Points, State
from tobitgp.mixture.mixture_rows import Units as MixtureUnits
from tobitgp.numerics.arrow import Factor
from tobitgp.numerics.crossed import CrossedFactor
from tobitgp.numerics.factored import Factored
from tobitgp.priors.block import Grouping, Inputs
from tobitgp.priors.group_effects import EffectsAt
from tobitgp.priors.kernel_block import KernelFeatures
from tobitgp.priors.kernels import KERNELS, Covariance, Kernel, KernelFactor
from tobitgp.priors.level_curves import LevelCurvesAt
from tobitgp.priors.markov import Markov
from tobitgp.priors.prior import DenseFeatures, LevelColumns, LinearPrior, Prior
from tobitgp.priors.structure import StructuredTermAt
from tobitgp.priors.vecchia import Vecchia
from tobitgp.regression import Maximum
from tobitgp.storage.archive import Codec, Hook, MalformedError, fits
from tobitgp.typing import Array

# Written field by field, checked against the types that the class declares. A class must not hold functions, nor text
# that is evaluated: expressions come from the formula alone, which is read again and checked.
CLASSES: dict[str, type] = {
    known.__name__: known
    for known in (
        Bayes,
        ColumnFacts,
        ComponentPrior,
        Covariance,
        CrossedFactor,
        DenseFeatures,
        DesignState,
        Dirichlet,
        DirichletProcess,
        EMCM,
        EP,
        EffectParameters,
        EffectsAt,
        Factor,
        Factored,
        Facts,
        Field,
        FitTrace,
        FittedGP,
        GPModel,
        GompertzBaseline,
        Grouping,
        Inputs,
        KernelFactor,
        KernelFeatures,
        Laplace,
        Layout,
        LevelColumns,
        LevelCurvesAt,
        LinearPrior,
        Markov,
        Maximum,
        MixtureFit,
        Parameters,
        Place,
        PlainLinear,
        Points,
        Posterior,
        Prior,
        Problem,
        SVBCM,
        Sites,
        SplineBaseline,
        State,
        StructuredTermAt,
        Tried,
        Units,
        VBCM,
        VI,
        Vecchia,
        WeibullBaseline,
    )
} | {"MixtureUnits": MixtureUnits}

# Written by name.
REGISTRIES: dict[str, tuple[type | tuple[type, ...], Mapping[str, Any]]] = {
    "$components": (tuple({type(row) for row in MIXTURE_FAMILIES.values()}), MIXTURE_FAMILIES),
    "$family": (Family, {**FAMILIES, BOXCOX.name: BOXCOX}),
    "$kernel": (Kernel, KERNELS),
}


def fit_codec(spec: ModelSpec, levels: Mapping[str, Any], *, earlier: bool = False) -> Codec:
    """Codec of the parts of a fit."""
    hooks = {tag: _registry(tag, known, rows) for tag, (known, rows) in REGISTRIES.items()}
    hooks["$family"] = _with_known_shape(hooks["$family"])
    hooks |= {
        "$spec": Hook(ModelSpec, lambda _: None, lambda _: spec),
        "$term": Hook(GPTerm, spec.processes.index, partial(_term, spec)),
        "$linear": Hook(LinearState, lambda state: plain_linear(state, spec, levels), partial(_linear, spec)),
        "$part": Hook(
            PartState,
            lambda part: (_parts(spec).index(part.spec), part.coded, plain_linear(part.linear, part.spec, levels)),
            partial(_part, spec),
        ),
        "$slice": Hook(slice, lambda columns: (columns.start, columns.stop), _columns),
        "$interval": Hook(pd.Interval, lambda x: (x.left, x.right, x.closed), lambda x: pd.Interval(*x)),
    }
    return Codec(CLASSES, hooks, earlier)


def _registry(tag: str, known: type | tuple[type, ...], rows: Mapping[str, Any]) -> Hook:
    def restore(name: Any) -> Any:
        if not isinstance(name, str) or name not in rows:
            raise MalformedError(f"it names the unknown {tag[1:]} {name!r:.60}")
        return rows[name]

    def name_of(value: Any) -> str:
        for name, row in rows.items():
            if _alike(value, row):
                return name
        raise SpecError(
            f"A fit with the {tag[1:]} {value!r:.60}, which is not one of {', '.join(rows)}, cannot be saved."
        )

    return Hook(known, name_of, restore)


def _with_known_shape(named: Hook) -> Hook:
    """Families by name, those with a known shape by this too, ``{"student": 4.0}``."""

    def plain(family: Family) -> Any:
        if family.distribution.shape_name is not None and not family.estimate_shape:
            return {family.name: family.distribution.shape}
        return named.plain(family)

    def restore(value: Any) -> Any:
        if not isinstance(value, dict):
            return named.restore(value)
        name = next(iter(value), None)
        if len(value) != 1 or name not in WITH_SHAPE:
            raise MalformedError(f"it names the unknown family {value!r:.60}")
        try:
            return with_known_shape(FAMILIES[name], value[name])
        except SpecError as error:
            raise MalformedError(str(error)) from error

    return Hook(Family, plain, restore)


def _alike(a: Any, b: Any) -> bool:
    """Whether two members of a registry are the same, though one may be a copy."""
    if a is b or type(a) is not type(b) or isinstance(a, FunctionType):
        return a is b
    if isinstance(a, partial):
        return _alike(a.func, b.func) and len(a.args) == len(b.args) and all(map(_alike, a.args, b.args))
    if is_dataclass(a):
        return all(_alike(getattr(a, f.name), getattr(b, f.name)) for f in fields(a))
    return bool(a == b) or (hasattr(a, "__dict__") and vars(a) == vars(b))


def _columns(ends: Any) -> slice:
    if not isinstance(ends, tuple) or len(ends) != 2 or any(type(end) is not int or end < 0 for end in ends):
        raise MalformedError("a run of columns has not two ends")
    return slice(*ends)


def _term(spec: ModelSpec, at: Any) -> GPTerm:
    if type(at) is not int or not 0 <= at < len(spec.processes):
        raise MalformedError("it names a process that the formula has not")
    return spec.processes[at]


def _linear(spec: ModelSpec, plain: Any) -> LinearState:
    if not isinstance(plain, PlainLinear):
        raise MalformedError("its linear part is of an unknown form")
    return restore_linear(plain, spec)


def _parts(spec: ModelSpec) -> list[LinearPart | None]:
    """Formulas of the noise scale and of random effects."""
    return [spec.scale, *(term.effects for term in spec.processes)]


def _part(spec: ModelSpec, plain: Any) -> PartState:
    parts = _parts(spec)
    if not fits(plain, tuple[int, tuple[Array, ...], PlainLinear]) or not 0 <= plain[0] < len(parts):
        raise MalformedError("its noise scale or a random effect is of an unknown form")
    at, coded, linear = plain
    part = parts[at]
    if part is None:
        raise MalformedError("its noise scale or a random effect has no formula")
    return PartState(part, coded, restore_linear(linear, part))
