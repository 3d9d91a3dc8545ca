"""Interface of a fit of any kind: its estimates, and how its rows are predicted, drawn and scored."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import pandas as pd

from tobitgp.diagnostics.elpd import Elpd
from tobitgp.diagnostics.k_hat import KHat
from tobitgp.diagnostics.residual_tests import Finding, RawTest
from tobitgp.diagnostics.training_draws import Draws
from tobitgp.numerics.sampling import Rng
from tobitgp.posterior.estimates import Estimates
from tobitgp.posterior.nodes import Nodes
from tobitgp.posterior.questions import Question
from tobitgp.results.averages import Averages, Population, Sought
from tobitgp.results.counterfactuals import Change, ChangedRows
from tobitgp.results.effect_questions import Effect, EffectRequest
from tobitgp.results.joint import JointPosterior
from tobitgp.results.parameter_estimates import CovKind, Linear
from tobitgp.results.paths import Paths
from tobitgp.results.process.term_tests import TermTest
from tobitgp.results.ratios import Contrasts, RatioKind
from tobitgp.results.residuals import Tails
from tobitgp.results.rows import Asked, Scored, Scores
from tobitgp.results.survival import TimeRows
from tobitgp.results.terms import Term
from tobitgp.results.views import ModelView
from tobitgp.typing import Array, Frame


class Fit(Protocol):
    """Interface of `Results` of every kind that functions of a fit use."""

    _parts: Any
    _causes: tuple[Any, ...]
    _of_cause: bool
    _from_zero: bool
    _about_latent: bool
    _averages_warn: bool
    _no_mean: str
    _knows_null: bool
    _never: bool

    @property
    def _defective(self) -> bool: ...
    @property
    def _shows_ratios(self) -> bool: ...
    def _ask(self, new: Frame | None, exclude: Any = (), instead: str = "") -> Asked: ...
    def _number_of(self, cause: Any) -> int: ...
    def _read_scored(self, df: Frame, needed_by: str) -> Scored: ...
    def _using(self, column: str) -> Any: ...
    @property
    def _of_subjects(self) -> bool: ...
    @property
    def _of_sample(self) -> bool: ...
    def _term_tests(self) -> Iterator[tuple[str, TermTest]]: ...
    def _ratio_kind(self) -> RatioKind: ...
    def _process_test(self, term: Term) -> TermTest | None: ...
    def _averages(self, population: Population, sought: Sought) -> Averages: ...
    def _effect(self, change: Change, rows: ChangedRows, asked: EffectRequest, *, averaged: bool) -> Effect: ...
    def _contrast(self, first: Any, second: Any, *options: Any, **named: Any) -> pd.DataFrame: ...
    def _forest(self, terms: Any, alpha: float, *, ratios: bool) -> list[Any]: ...
    def _differences(self, contrasts: Contrasts) -> Linear: ...
    def _log_ratios(self, contrasts: Contrasts, sign: float) -> Linear: ...
    def _parameter_frame(self, alpha: float = 0.05, kind: CovKind | None = None) -> pd.DataFrame: ...
    def _ratio_table(
        self, alpha: float = 0.05, terms: Any = None, at: Any = None, reference: Any = None
    ) -> pd.DataFrame: ...
    @property
    def _columns(self) -> Sequence[str]: ...
    @property
    def _names(self) -> list[str]: ...
    @property
    def _family_in_words(self) -> str: ...
    @property
    def method(self) -> str:
        """Name of the method that fitted."""

    @property
    def evidence_kind(self) -> str:
        """Criterion of comparisons of the fit."""

    @property
    def converged(self) -> bool:
        """Whether a maximum was found."""

    @property
    def _search_message(self) -> str: ...
    @property
    def df_model(self) -> float:
        """Number of parameters."""

    @property
    def llf(self) -> float:
        """Maximised log likelihood."""

    def _criterion(self) -> tuple[str, str]: ...
    def _log_noise(self, asked: Asked) -> tuple[Array, Array]: ...

    _whats_of: str

    @property
    def _whats(self) -> tuple[str, ...]: ...
    @property
    def _own_questions(self) -> Mapping[str, Callable[[], Question]]: ...
    def _answer(
        self, asked: Asked, questions: Sequence[Question], level: float | None, *, se: bool
    ) -> list[dict[str, Array]]: ...
    def _predict(
        self,
        new: Frame | None,
        what: str | None,
        *,
        interval: float | None,
        se: bool,
        q: Any = None,
        below: Any = None,
        above: Any = None,
        exclude: Any = (),
    ) -> pd.Series[float] | pd.DataFrame: ...
    def _conditional(self, new: Frame | None, level: float | None, *, se: bool) -> pd.DataFrame: ...
    def _terms(self, asked: Asked) -> Mapping[str, Nodes | Estimates]: ...
    @property
    def _drawn(self) -> tuple[str, ...]: ...
    def _refuse_dependent(self, question: str) -> None: ...
    def _sample(self, new: Frame | None, draws: int, what: str, exclude: Any, rng: Rng) -> tuple[Asked, Array]: ...
    @property
    def _joint(self) -> JointPosterior: ...
    def _make_elpd(self, by: str, draws: int, rng: Rng, method: str = "auto") -> Elpd: ...
    def _k_hat(self, draws: int, rng: Rng) -> KHat: ...
    def _draws(self, draws: int, rng: Rng, question: str) -> Draws: ...
    def _row_tests(self, rng: Any) -> Iterator[Finding | RawTest]: ...
    def _predicted_below(self, df: Frame, rows: Scored, y: Array) -> Array: ...
    def _tails(self, asked: Asked) -> Tails: ...
    @property
    def _residuals(self) -> Mapping[str, Callable[[Asked], Array]]: ...
    def _without_rows(self) -> Any: ...
    def _time_rows(self, df: Frame | None, exclude: Any, *, bands: bool) -> TimeRows: ...
    def _along(self, of: str, paths: Paths, level: float | None) -> dict[str, Array]: ...

    _location_words: str

    def _location(self) -> Array: ...
    def _scores(self, df: Frame, scoring_method: str) -> Scores: ...
    def _training_ends(self) -> tuple[Array, Array, Array]: ...
    @property
    def _elpds(self) -> dict[str, Elpd]: ...
    @property
    def parts(self) -> Any:
        """Data and estimates of the fit."""

    @property
    def _has_ratios(self) -> bool: ...

    def _estimates(self, kind: CovKind | None) -> tuple[Linear, Any]: ...
    def _testable(self, kind: CovKind | None) -> tuple[Any, Sequence[str]]: ...
    def _with_scales(self, kind: CovKind | None) -> Any: ...
    def _profile(self, name: str, alpha: float) -> tuple[float, float]: ...
    @property
    def params(self) -> pd.Series[float]:
        """Parameters."""

    @property
    def bse(self) -> pd.Series[float]:
        """Their standard errors."""

    @property
    def nobs(self) -> float:
        """Number of observations."""

    @property
    def counts(self) -> pd.Series[int]:
        """Numbers of rows by censoring."""

    @property
    def model(self) -> ModelView:
        """The formula and its columns."""

    @property
    def df_resid(self) -> float:
        """Residual degrees of freedom."""

    @property
    def _n_units(self) -> float: ...
    @property
    def aic(self) -> float:
        """Akaike's criterion."""

    @property
    def bic(self) -> float:
        """Schwarz' criterion."""

    if TYPE_CHECKING:  # what only some kinds have

        def __getitem__(self, name: Any) -> Any:
            raise AttributeError

        def _posterior(self, asked: Asked, *, bands: bool) -> Nodes | Estimates:
            raise AttributeError

        def _likelihoods(self, rows: Scored) -> Array:
            raise AttributeError

        def _findings(self, rng: Any) -> Iterator[Finding | RawTest]:
            raise AttributeError

        @property
        def _linear(self) -> Linear:
            raise AttributeError

        @property
        def _rest(self) -> Any:
            raise AttributeError

        @property
        def _search(self) -> pd.DataFrame:
            raise AttributeError

        @property
        def log_evidence(self) -> float:
            """Log evidence."""
            raise AttributeError

        @property
        def log_evidence_integrated(self) -> float:
            """Log evidence, integrated over hyper-parameters."""
            raise AttributeError

        @property
        def elbo(self) -> float:
            """Evidence lower bound."""
            raise AttributeError

        @property
        def llnull(self) -> float:
            """Log likelihood of the null model."""
            raise AttributeError

        @property
        def cells(self) -> Fit:
            """Fit of the parts of rows."""
            raise AttributeError
