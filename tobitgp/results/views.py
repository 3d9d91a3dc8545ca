"""What a fit was made from, in the words of statsmodels and of the rooms below."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from tobitgp.data.prepare import TrainingData
from tobitgp.data.state import INPUT_ROLES
from tobitgp.formula.spec import ModelSpec
from tobitgp.inference.fitted import FittedGP
from tobitgp.inference.model import GPModel
from tobitgp.typing import Frame

COUNTS = ("exact", "left", "right", "interval", "dropped")
FRAME_COLUMNS = ("coef", "std err", "z", "P>|z|", "lower", "upper")


@dataclass(frozen=True, slots=True)
class Parts:
    """What a fit was made from and what it found, for predictions, tables and plots.

    Attributes
    ----------
    spec : ModelSpec
    training : TrainingData
    gp : GPModel
    fitted : FittedGP
    covariates : DataFrame or None
        Of the rows used; None where the fit holds no rows.
    """

    spec: ModelSpec
    training: TrainingData
    gp: GPModel
    fitted: FittedGP
    covariates: pd.DataFrame | None = None

    @property
    def names(self) -> list[str]:
        """Linear columns, then hyper-parameters."""
        return [*self.gp.columns, *self.fitted.parameters.names]

    @property
    def any_censored(self) -> bool:
        """Whether a row is modelled as censored."""
        return bool((self.training.response.lower != self.training.response.upper).any())


@dataclass(frozen=True, slots=True)
class ModelData:
    """What statsmodels' tables ask of ``model.data``.

    Attributes
    ----------
    param_names : list of str
    frame : DataFrame or None
        The covariates of the rows used; None where the fit holds no rows.
    """

    param_names: list[str]
    frame: pd.DataFrame | None


@dataclass(frozen=True, slots=True)
class ModelView:
    """The model behind a fit, in statsmodels' words.

    Attributes
    ----------
    formula : str
    spec : ModelSpec
        Prints in words what was understood.
    endog_names : str
        The response as written, a quoted column without its backticks.
    exog_names : list of str
        Columns of the linear part.
    data : ModelData
    """

    formula: str
    spec: ModelSpec
    endog_names: str
    exog_names: list[str]
    data: ModelData


def view_model(parts: Parts, frame: pd.DataFrame | None) -> ModelView:
    """Put formula, specification and names side by side."""
    spec = parts.spec
    data = ModelData(parts.names, frame)
    return ModelView(spec.formula, spec, _plain(spec.response.label), list(parts.gp.columns), data)


def keep_covariates(spec: ModelSpec, training: TrainingData, data: Frame) -> pd.DataFrame:
    """Copy of the covariates in the rows used."""
    names = list(spec.names(*INPUT_ROLES))
    frame = (
        data[names]
        if isinstance(data, pd.DataFrame)
        else pd.DataFrame({name: data[name] for name in names}, index=None if names else training.index)
    )
    return frame.loc[training.kept].copy()


def describe(parts: Parts, evidence_kind: str) -> str:
    """Words of ``repr``: formula, how it was fitted, counts, evidence."""
    counts, fitted = parts.training.counts, parts.fitted
    censored = ", ".join(f"{counts[k]} {k}-censored" for k in COUNTS[1:4] if counts[k]) or "none censored"
    state = "converged" if fitted.trace.converged else "NOT converged"
    return (
        f"GPResults: {parts.spec.formula.strip()}\n"
        f"  {parts.gp.family.name}, method {fitted.method.name}: "
        f"{counts['exact']} rows exact, {censored}, {counts['dropped']} dropped\n"
        f"  log evidence {fitted.evidence:.2f} ({evidence_kind}), {state}"
    )


def _plain(text: str) -> str:
    """Text of an expression, a bare quoted column without its backticks."""
    quoted = len(text) > 2 and text[0] == text[-1] == "`" and "`" not in text[1:-1]
    return text[1:-1] if quoted else text
