"""A call of :func:`tobitgp.fit`: its arguments for the formula and the data, and the rows read from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd

from tobitgp.data.censored_response import warn_unmet_limits
from tobitgp.data.prepare import GatheredData, PartitionedData, TrainingData, prepare, prepare_partitions
from tobitgp.data.row_warnings import warn_split_subjects
from tobitgp.data.sources import open_source
from tobitgp.data.table import column_names
from tobitgp.engines import Store
from tobitgp.errors import SpecError
from tobitgp.formula import parse_formula
from tobitgp.formula.functions import NamedFunctions
from tobitgp.formula.parse import parse_scale_formula
from tobitgp.formula.spec import CureSpec, ModelSpec
from tobitgp.kinds.fit_arguments import FormulaRows
from tobitgp.likelihoods import Family
from tobitgp.options import choose_family, refuse_var_weights, refuse_with_cure
from tobitgp.results.paths import read_subjects
from tobitgp.results.views import COUNTS, keep_covariates, plain_text

if TYPE_CHECKING:
    from tobitgp.mixture.family import MixtureFamily


@dataclass(frozen=True, slots=True)
class Call:
    """Arguments for the formula and the data; ``FitOptions`` has those for the fit."""

    formula: Any
    data: Any
    family: Any = None
    sigma: str | None = None
    cure: Any = None  # a formula, or one for each cause
    formulas: Mapping[str, str] | None = None  # of parameters of the rows by name
    rescor: bool = False
    id: str | None = None
    weights: Any = None
    var_weights: Any = None
    missing: str = "drop"
    censored: str = "model"
    functions: NamedFunctions = None
    engine: Any = None

    def gives(self, name: str) -> bool:
        """Whether an argument says something other than nothing."""
        value, default = getattr(self, name), _DEFAULTS[name]
        return value is not default and not (np.isscalar(value) and value == default)

    def in_short(self) -> Call:
        """The call by ``sigma=`` and ``cure=`` if its formulas are no more than one of these, each given once."""
        given = {} if self.formulas is None else dict(self.formulas)
        if not all(isinstance(name, str) for name in given):
            raise SpecError(
                f"formulas={self.formulas!r:.60}: formulas must be a dict of formulas by parameter, e.g. "
                f"{{'shape': '~ z'}}."
            )
        for name, argument in _SHORT.items():
            if name in given and getattr(self, argument) is not None:
                raise SpecError(
                    f"formulas={{{name!r}: ...}} and {argument}= specify the same formula. Give one of them."
                )
        if len(given) == 1 and set(given) <= set(_SHORT):
            short: dict[str, Any] = {_SHORT[name]: text for name, text in given.items()}
            return replace(self, formulas=None, **short)
        return replace(self, formulas=given or None)

    def refuse(self, names: tuple[str, ...], why: str) -> None:
        """Raise an error if one of these arguments is given."""
        for name in names:
            if self.gives(name):
                raise SpecError(f"{name}= {why} Leave it out.")


_SHORT = {"sigma": "sigma", "cured": "cure"}  # names in ``formulas=``, and arguments that are short for them
_DEFAULTS = {each.name: each.default for each in fields(Call) if each.default is not MISSING}


@dataclass(frozen=True)
class Rows:
    """A formula that has met its data: the rows of a fit."""

    call: Call
    spec: ModelSpec
    family: Family | MixtureFamily
    read: TrainingData | PartitionedData
    frame: pd.DataFrame | None  # the covariates of the rows used; None of partitioned data
    columns: list[Any]  # names of the data's columns

    @property
    def training(self) -> TrainingData:
        """The rows used, of partitioned data those that were gathered."""
        if isinstance(self.read, PartitionedData):
            raise SpecError("The data are partitioned, and their rows are not stored together.")
        return self.read

    @property
    def has_causes(self) -> bool:
        """Whether events have competing causes."""
        return False

    @property
    def noise(self) -> Family:
        """The family, of a formula that is not of a mixture."""
        assert isinstance(self.family, Family)
        return self.family

    @property
    def counts(self) -> dict[str, int]:
        """Rows that are exact, left-, right- and interval-censored, and dropped."""
        return dict(self.read.counts)

    @property
    def counted(self) -> str:
        """Numbers of rows in words."""
        counts = self.counts
        censored = ", ".join(f"{counts[kind]} {kind}-censored" for kind in COUNTS[1:4] if counts[kind])
        return f"{counts['exact']} rows exact, {censored or 'none censored'}, {counts['dropped']} dropped"

    @property
    def title(self) -> str:
        """The family as a user reads it."""
        return self.family.name

    @property
    def shown(self) -> str:
        """The formula as models are shown with it."""
        return self.spec.written

    @property
    def formula(self) -> str:
        """The formula as written."""
        return self.spec.formula

    @property
    def endog_names(self) -> str:
        """The response as written."""
        return plain_text(self.spec.response.label)

    @property
    def exog_names(self) -> list[str]:
        """Columns of the linear part."""
        return list(self.read.state.linear.columns)

    def covariates(self) -> Any:
        """The covariates of the rows used, for results to keep."""
        if isinstance(self.read, GatheredData):
            return pd.DataFrame(index=pd.RangeIndex(len(self.read.kept)))
        return None if self.frame is None else self.frame.copy(deep=False)

    @property
    def in_memory(self) -> FormulaRows:
        """What is fitted of rows in memory."""
        return FormulaRows(self.spec, self.training, self.noise, self.covariates(), self.columns)

    def gathered(self) -> Self:
        """The same with rows of partitioned data after one another."""
        return replace(self, read=self.read.gather()) if isinstance(self.read, PartitionedData) else self

    def subjects(self, name: str) -> Any:
        """Values of a column in the rows used, (n,)."""
        if isinstance(self.read, GatheredData):
            return self.read.partitioned.column(name, read_subjects)
        return read_subjects(name, self.call.data)[self.training.kept]

    @property
    def _store(self) -> Store | None:
        read = self.read.partitioned if isinstance(self.read, GatheredData) else self.read
        return read.store if isinstance(read, PartitionedData) else None

    def close(self) -> None:
        """Remove what was kept of partitioned data."""
        if self._store is not None:
            self._store.close()

    def check_open(self) -> None:
        """Raise an error if what was kept of partitioned data was removed."""
        if self._store is not None and self._store.closed:
            raise SpecError(
                "The temporary files of this model's partitioned data were removed at the end of its with "
                "statement. Fit within the with statement, or create another tg.Model."
            )


def read_rows(call: Call, complete: Callable[[ModelSpec, Any, list[Any]], ModelSpec] | None = None) -> Rows:
    """Read the formula and the data; ``complete`` adds to the specification what is read with the names of columns."""
    source = open_source(call.data, call.engine)
    present = column_names(call.data) if source is None else list(source.columns)
    # "." means the columns of the model, and weights are none of them.
    beside = [name for name in (call.weights, call.var_weights) if isinstance(name, str)]
    columns = [c for c in present if c not in beside]
    spec = parse_formula(call.formula, columns, call.functions)
    family = choose_family(call.family, spec)
    if spec.mixture is not None:
        from tobitgp.kinds.mixture_fit import refuse_with_mixture

        refuse_with_mixture({"sigma": call.sigma, "var_weights": call.var_weights})
    scale = None
    if call.sigma is not None:
        scale = parse_scale_formula(call.sigma, columns, call.functions, beside=spec)
    if call.cure is not None:
        scale = parse_scale_formula(call.cure, columns, call.functions, beside=spec, kind=CureSpec)
        beside_cure = {"sigma=": call.sigma, "var_weights=": call.var_weights}
        beside_cure["censored="] = None if call.censored == "model" else call.censored
        refuse_with_cure(beside_cure, family, replace(spec, scale=scale))
    spec = replace(spec, scale=scale)
    spec = spec if complete is None else complete(spec, family, columns)
    options: dict[str, Any] = {"scale": scale, "weights": call.weights, "missing": call.missing}
    options |= {"censored": call.censored, "log_time": isinstance(family, Family) and family.log_time}
    if call.var_weights is not None:
        refuse_var_weights(family)
        options["var_weights"] = call.var_weights
    read: TrainingData | PartitionedData
    if source is None:
        read = prepare(spec, call.data, **options)
        frame = keep_covariates(read, call.data)
        # Pieces of a subject's time are as good as the whole where the hazard is proportional.
        if call.id is None and family.name not in ("weibull", "exponential"):
            warn_split_subjects(spec, read, call.data, frame)
        limits: Any = (read.response.limit_lower, read.response.limit_upper)
    else:
        read = prepare_partitions(spec, source, store=Store() if source.here else None, **options)
        frame, limits = None, read.found.mean_limits
    if read.state.spec.limit is None:
        warn_unmet_limits(read.counts, limits)
    return Rows(call, read.state.spec, family, read, frame, present)
