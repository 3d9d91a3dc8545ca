"""What tables and plots ask of a fit. ``tobitgp.results`` supplies it; nothing here imports that."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Protocol

import pandas as pd

from tobitgp.data.facts import Facts
from tobitgp.data.prepare import TrainingData
from tobitgp.data.state import DesignState
from tobitgp.formula.spec import ModelSpec
from tobitgp.inference.fitted import FittedGP
from tobitgp.inference.model import GPModel
from tobitgp.likelihoods import Family
from tobitgp.mixture import MixtureFit, Predictive
from tobitgp.mixture.family import Family as MixtureFamily
from tobitgp.regression import Maximum
from tobitgp.typing import Array, IntArray

CovKind = Literal["linear_response", "vb"]


class FitData(Protocol):
    """Training data of a model."""

    @property
    def frame(self) -> pd.DataFrame | None:
        """Covariates of the rows used, where the fit holds them."""
        ...


class FitModel(Protocol):
    """A model in statsmodels' words."""

    @property
    def spec(self) -> ModelSpec:
        """What was written."""
        ...

    @property
    def endog_names(self) -> str:
        """The response."""
        ...

    @property
    def data(self) -> FitData:
        """Covariates."""
        ...


class FitParts(Protocol):
    """What a fit was made from and what it found."""

    @property
    def state(self) -> DesignState:
        """How covariates are made from data."""
        ...

    @property
    def rows(self) -> TrainingData:
        """Rows used, where the fit holds them."""
        ...

    @property
    def facts(self) -> Facts:
        """What is remembered of them anyway."""
        ...

    @property
    def family(self) -> Family:
        """Of the noise."""
        ...

    @property
    def gp(self) -> GPModel:
        """Model on standardised data."""
        ...

    @property
    def fitted(self) -> FittedGP:
        """Posteriors."""
        ...


class DrawnParts(Protocol):
    """What a fit of any kind remembers, for pictures."""

    @property
    def state(self) -> DesignState: ...  # noqa: D102
    @property
    def rows(self) -> TrainingData: ...  # noqa: D102
    @property
    def facts(self) -> Facts: ...  # noqa: D102
    @property
    def family(self) -> Family: ...  # noqa: D102


class Drawn(Protocol):
    """A fit of any kind, as pictures of it see it."""

    @property
    def parts(self) -> DrawnParts: ...  # noqa: D102
    @property
    def model(self) -> FitModel: ...  # noqa: D102
    @property
    def method(self) -> str: ...  # noqa: D102
    def predict(  # noqa: D102
        self, new: Any, what: str, *, interval: float | None, se: bool, exclude: Sequence[str] = ()
    ) -> Any: ...
    def group_effects(self, term: str, *, interval: float | None) -> pd.DataFrame: ...  # noqa: D102
    def residuals(self, kind: str) -> pd.Series[float]: ...  # noqa: D102


class Tabled(Protocol):
    """A fit of any kind, as tables of several fits see it."""

    @property
    def parts(self) -> DrawnParts: ...  # noqa: D102
    @property
    def nobs(self) -> float: ...  # noqa: D102
    @property
    def counts(self) -> pd.Series[int]: ...  # noqa: D102
    @property
    def evidence_kind(self) -> str: ...  # noqa: D102
    def summary_frame(self, alpha: float = 0.05) -> pd.DataFrame: ...  # noqa: D102


class Fit(Protocol):
    """A fitted Gaussian process; ``GPResults`` says what each member means."""

    @property
    def parts(self) -> FitParts: ...  # noqa: D102
    @property
    def model(self) -> FitModel: ...  # noqa: D102
    @property
    def formula(self) -> str: ...  # noqa: D102
    @property
    def method(self) -> str: ...  # noqa: D102
    @property
    def nobs(self) -> float: ...  # noqa: D102
    @property
    def counts(self) -> pd.Series[int]: ...  # noqa: D102
    @property
    def df_model(self) -> float: ...  # noqa: D102
    @property
    def log_evidence(self) -> float: ...  # noqa: D102
    @property
    def evidence_kind(self) -> str: ...  # noqa: D102
    @property
    def elbo(self) -> float: ...  # noqa: D102
    @property
    def log_marginal(self) -> float: ...  # noqa: D102
    def summary_frame(self, alpha: float = 0.05) -> pd.DataFrame: ...  # noqa: D102
    def predict(  # noqa: D102
        self, new: Any, what: str, *, interval: float | None, se: bool, exclude: Sequence[str] = ()
    ) -> Any: ...
    def group_effects(self, term: str, *, interval: float | None) -> pd.DataFrame: ...  # noqa: D102
    def residuals(self, kind: str) -> pd.Series[float]: ...  # noqa: D102
    @property
    def fit_history(self) -> pd.DataFrame: ...  # noqa: D102


class RegressionParts(Protocol):
    """What a regression was made from and what it found."""

    @property
    def state(self) -> DesignState: ...  # noqa: D102
    @property
    def family(self) -> Family:
        """Of the noise."""
        ...

    @property
    def maximum(self) -> Maximum:
        """Of the likelihood."""
        ...


class Regression(Protocol):
    """A regression fitted by maximum likelihood, as its summary sees it."""

    @property
    def parts(self) -> RegressionParts: ...  # noqa: D102
    @property
    def model(self) -> Any: ...  # noqa: D102
    @property
    def formula(self) -> str: ...  # noqa: D102
    @property
    def cov_type(self) -> str: ...  # noqa: D102
    @property
    def nobs(self) -> float: ...  # noqa: D102
    @property
    def df_model(self) -> float: ...  # noqa: D102
    @property
    def df_resid(self) -> float: ...  # noqa: D102
    @property
    def llf(self) -> float: ...  # noqa: D102
    @property
    def llnull(self) -> float: ...  # noqa: D102
    @property
    def aic(self) -> float: ...  # noqa: D102
    @property
    def bic(self) -> float: ...  # noqa: D102
    @property
    def converged(self) -> bool: ...  # noqa: D102
    @property
    def counts(self) -> pd.Series[int]: ...  # noqa: D102
    @property
    def params(self) -> pd.Series[float]: ...  # noqa: D102
    def summary_frame(self, alpha: float = 0.05) -> pd.DataFrame: ...  # noqa: D102


class TriedNumbers(Protocol):
    """Numbers of components that were tried."""

    @property
    def by(self) -> str: ...  # noqa: D102
    @property
    def numbers(self) -> IntArray: ...  # noqa: D102
    @property
    def values(self) -> Array: ...  # noqa: D102


class MixedParts(Protocol):
    """What a mixture was made from and what it found."""

    @property
    def fit(self) -> MixtureFit: ...  # noqa: D102
    @property
    def family(self) -> MixtureFamily: ...  # noqa: D102
    @property
    def bayes(self) -> bool: ...  # noqa: D102
    @property
    def facts(self) -> Facts: ...  # noqa: D102
    @property
    def rows(self) -> TrainingData: ...  # noqa: D102
    @property
    def tried(self) -> TriedNumbers | None: ...  # noqa: D102


class Mixed(Protocol):
    """A fitted mixture, as its summary and its pictures see it; ``MixtureResults`` says what each member means."""

    @property
    def parts(self) -> MixedParts: ...  # noqa: D102
    @property
    def model(self) -> Any: ...  # noqa: D102
    @property
    def formula(self) -> str: ...  # noqa: D102
    @property
    def method(self) -> str: ...  # noqa: D102
    @property
    def nobs(self) -> float: ...  # noqa: D102
    @property
    def counts(self) -> pd.Series[int]: ...  # noqa: D102
    @property
    def n_effective(self) -> int: ...  # noqa: D102
    @property
    def converged(self) -> bool: ...  # noqa: D102
    @property
    def elbo(self) -> float: ...  # noqa: D102
    @property
    def log_evidence(self) -> float: ...  # noqa: D102
    @property
    def llf(self) -> float: ...  # noqa: D102
    @property
    def aic(self) -> float: ...  # noqa: D102
    @property
    def bic(self) -> float: ...  # noqa: D102
    @property
    def selection(self) -> pd.DataFrame: ...  # noqa: D102
    @property
    def fit_history(self) -> pd.DataFrame: ...  # noqa: D102
    @property
    def predictive(self) -> Predictive: ...  # noqa: D102
    def residuals(self, kind: str) -> pd.Series[float]: ...  # noqa: D102
    def summary_frame(self, alpha: float = 0.05, kind: CovKind = "linear_response") -> pd.DataFrame: ...  # noqa: D102


class TimedParts(Protocol):
    """What a fit was made from, for pictures of its survival."""

    @property
    def spec(self) -> ModelSpec: ...  # noqa: D102
    @property
    def family(self) -> Any: ...  # noqa: D102


class Timed(Protocol):
    """A fit of any kind, as pictures of its survival see it."""

    @property
    def parts(self) -> TimedParts: ...  # noqa: D102
    @property
    def model(self) -> FitModel: ...  # noqa: D102
    def predict_survival_function(  # noqa: D102
        self, df: Any = None, times: Any = None, *, interval: float | None = None
    ) -> pd.DataFrame: ...
    def predict_hazard(  # noqa: D102
        self, df: Any = None, times: Any = None, *, interval: float | None = None
    ) -> pd.DataFrame: ...
    def _average_curve(self, of: str, grid: Array) -> Array: ...


class Reported(Protocol):
    """A fit of any kind, as its page sees it; pictures are methods that it may have."""

    @property
    def parts(self) -> Any: ...  # noqa: D102
    @property
    def model(self) -> Any: ...  # noqa: D102
    @property
    def formula(self) -> str: ...  # noqa: D102
    def summary(self) -> Any: ...  # noqa: D102
    def check(self) -> Any: ...  # noqa: D102
