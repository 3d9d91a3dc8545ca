"""Fit a mixture to the rows of a formula, all at once or as they arrive."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from numbers import Real
from typing import Any, Literal

import numpy as np
import pandas as pd

from tobitgp import mixture as mixtures
from tobitgp.data.frames import reads_frames
from tobitgp.data.partition import DataPartition, naming
from tobitgp.data.prepare import PartitionedData, TrainingData, prepare
from tobitgp.data.table import column_names
from tobitgp.errors import BoundaryWarning, ConvergenceWarning, NotFittedError, SpecError, user_level
from tobitgp.formula import parse_formula
from tobitgp.formula.spec import ModelSpec
from tobitgp.inference.fitted import Step
from tobitgp.mixture import EMCM, MIXTURE_METHODS, SVBCM, VBCM, Dirichlet, DirichletProcess, Predictive
from tobitgp.mixture.array_fit import resolve_mixture_family
from tobitgp.mixture.family import Family
from tobitgp.mixture.methods import Method
from tobitgp.mixture.mixture_priors import Weights
from tobitgp.mixture.mixture_rows import read_rows
from tobitgp.numerics.sampling import generator
from tobitgp.results.mixture.mixture_parts import MixtureParts, Tried, known_ends, warn_without_errors
from tobitgp.results.mixture.mixture_results import MixtureResults
from tobitgp.results.views import COUNTS, named_columns
from tobitgp.typing import Array, Frame

CONCENTRATION = "concentration"
# What no mixture has a use for, with the values that say nothing.
_OF_OTHERS: dict[str, tuple[Any, str]] = {
    "bound": (None, "is of method='vi'"),
    "inducing": ("auto", "places the inputs of Gaussian processes"),
    "hyper": ("auto", "averages over hyper-parameters of processes"),
    "fixed": (None, "holds parameters of regressions and processes"),
    "start": (None, "is where a search over hyper-parameters begins; n_starts= draws starts of a mixture"),
    "sigma": (None, "is the noise scale of a regression"),
    "var_weights": (None, "divide the noise variance of a regression; components have scales of their own"),
    "cov_type": ("nonrobust", "is of maximum likelihood; cov_params(kind=) has what there is of a mixture"),
    "cov_kwds": (None, "is of maximum likelihood"),
}


def refuse_with_mixture(given: Mapping[str, Any]) -> None:
    """Refuse options that make no sense for a mixture."""
    for name, value in given.items():
        nothing, what = _OF_OTHERS[name]
        empty = isinstance(value, Mapping) and not value
        if not (value is nothing or empty or (np.isscalar(value) and value == nothing)):
            raise SpecError(f"{name}= {what}; mixture() takes no {name}=.")


def choose_mixture_method(
    method: Any, *, n_starts: int | None = None, max_iter: int | None = None, tol: float | None = None
) -> Method:
    """The method that ``method=`` of :func:`tobitgp.fit` names, with the settings given beside it."""
    given: dict[str, Any] = {"n_init": n_starts, "max_iter": max_iter, "tol": tol}
    given = {name: value for name, value in given.items() if value is not None}
    if isinstance(method, (VBCM, SVBCM, EMCM)):
        if given:
            names = ", ".join(f"{'n_starts' if name == 'n_init' else name}=" for name in given)
            raise SpecError(
                f"{names} beside {method!r}: a method value carries its own settings, as tg.VBCM(n_init=5)."
            )
        return method
    if not isinstance(method, str) or method not in ("auto", *MIXTURE_METHODS):
        allowed = ", ".join(map(repr, ("auto", *MIXTURE_METHODS)))
        raise SpecError(
            f"method={method!r} fits no mixtures; choose one of {allowed}, or a value as tg.VBCM(n_init=5)."
        )
    return replace(VBCM() if method == "auto" else MIXTURE_METHODS[method](), **given)


def read_mixture_priors(
    priors: Any, family: Family, method: Method, *, process: bool
) -> tuple[dict[str, Any] | None, Weights | None]:
    """Prior of the components and prior of the weights."""
    if isinstance(method, EMCM):
        if priors is not None:
            raise SpecError("priors= goes with method='vbcm' and 'svbcm'; maximum likelihood (method='em') has none.")
        if process:
            raise SpecError("mixture('dp') is a prior, which method='em' has not; use 'vbcm', or mixture(range(1, 7)).")
        return None, None
    names = (*family.hyperparameters, CONCENTRATION)
    if priors is not None and (not isinstance(priors, Mapping) or not priors):
        raise SpecError(f"priors={priors!r}: a mixture has priors, given as a dict with the names {', '.join(names)}.")
    given = dict(priors or {})
    for name, value in given.items():
        if name not in names:
            raise SpecError(f"priors= names {name!r}; a {family.name} mixture has {', '.join(map(repr, names))}.")
        if isinstance(value, (bool, np.bool_)) or not isinstance(value, Real):
            raise SpecError(f"priors={{{name!r}: {value!r}}}: a number is needed.")
    concentration = given.pop(CONCENTRATION, None)
    lacking = [name for name in family.hyperparameters if name not in given]
    if given and lacking:
        listed = ", ".join(map(repr, lacking))
        raise SpecError(f"priors= lacks {listed}: the prior of the components is given as a whole or not at all.")
    if process:
        return given or None, DirichletProcess(concentration=concentration)
    return given or None, Dirichlet(1.0 if concentration is None else float(concentration))


def fit_components(
    spec: ModelSpec,
    training: TrainingData | PartitionedData,
    family: Family,
    covariates: pd.DataFrame | None,
    columns: Sequence[str],
    *,
    method: Method,
    priors: Any = None,
    rng: int | np.random.Generator | None = None,
    on_step: Callable[[Step], None] | None = None,
) -> MixtureResults:
    """Fit a mixture of each number of components that the formula names, and keep the best by evidence or BIC."""
    assert spec.mixture is not None
    prior, weights = read_mixture_priors(priors, family, method, process=spec.mixture.process)
    names = named_columns([spec], columns)
    if isinstance(training, PartitionedData):
        ends = training.partitions.collect(_known_rows, spec, family)
        lower, upper, weight = (np.concatenate(each) for each in zip(*ends, strict=True))
        labels = None
        parts_of = partial(MixtureParts, spec, training.state, training.facts(names))
    else:
        (lower, upper), weight = known_ends(spec, family, training.response), training.response.weight
        facts, labels = training.facts(names, covariates), training.labels
        parts_of = partial(MixtureParts, spec, training.state, facts, training=training, covariates=covariates)
    numbers, found = spec.mixture.numbers, list[MixtureResults]()
    if len(numbers) > 1 and numbers[-1] > len(lower):
        raise SpecError(f"mixture(range(...)) goes up to {numbers[-1]} components, and there are {len(lower)} rows.")
    seed = int(rng.integers(2**32)) if isinstance(rng, np.random.Generator) else rng
    options: dict[str, Any] = {"family": family.name, "method": method, "weights": weights, "prior": prior, "rng": seed}
    for k in numbers:
        fit = mixtures.fit_mixture(lower, upper, weight, k=k, labels=labels, **options)
        found.append(MixtureResults(parts_of(fit)))
        if on_step is not None:
            on_step(Step(f"{k} component{'s' * (k > 1)}", fit.passes, fit.objective, fit.passes, len(lower)))
    best = _best(found, method)
    _warn(best.parts, lower, upper)
    if not isinstance(training, PartitionedData):
        return best
    V = mixtures.linear_response(best.parts.fit, lower, upper, weight)
    warn_without_errors(best.parts.fit, V)
    return MixtureResults(replace(best.parts, covariance=V))


def _known_rows(partition: DataPartition, spec: ModelSpec, family: Family) -> tuple[Array, Array, Array]:
    """Ends and weights of a partition's rows, (n,) each, checked where their labels are."""
    weight = partition.response.weight
    with naming(partition.place):
        lower, upper = known_ends(spec, family, partition.response)
        read_rows(family, lower, upper, weight, partition.labels.to_numpy())
    return lower, upper, weight


def _best(found: list[MixtureResults], method: Method) -> MixtureResults:
    """The fit of the best number of components, with a record of all that were tried."""
    if len(found) == 1:
        return found[0]
    by: Literal["log_evidence", "bic"] = "bic" if isinstance(method, EMCM) else "log_evidence"
    numbers, values, converged = (
        np.array([getattr(one, name) for one in found]) for name in ("n_components", by, "converged")
    )
    best = found[int(np.argmin(values) if by == "bic" else np.argmax(values))]
    return MixtureResults(replace(best.parts, tried=Tried(by, numbers, values, converged)))


def _warn(parts: MixtureParts, lower: Array, upper: Array) -> None:
    """Pass on what a user should know; the first note is that of convergence where there was none."""
    noted: list[tuple[str, type[Warning]]] = [(note, BoundaryWarning) for note in parts.fit.notes]
    if not parts.fit.converged:
        noted[0] = (noted[0][0], ConvergenceWarning)
    if (lower == upper).all() and np.ptp(lower) == 0.0:
        held = f"All rows hold one value, {lower[0]:.4g}" if len(lower) > 1 else f"There is one row, {lower[0]:.4g}"
        grounds = "the prior" if parts.bayes else "nothing in the data"
        noted.append((f"{held}: spread and number of components rest on {grounds}.", BoundaryWarning))
    for note, category in noted:
        warnings.warn(note, category, stacklevel=user_level())


class MixtureStream:
    """A mixture fitted by stochastic variational Bayes to batches of rows, none of which is kept.

    Each batch is one step along natural parameters, of length ``(delay + t)^-forgetting``. The first batch also starts
    the components and sets units and default prior: let it hold some hundred rows. There are no standard errors and no
    evidence, which need all rows.

    Parameters
    ----------
    formula : str
        As ``"Surv(time, event) ~ mixture(2)"``, with one number of components or ``mixture("dp")``.
    family : {"gaussian", "lognormal", "exponential", "poisson", "weibull"}
        Of the components.
    method : SVBCM, optional
        Step lengths and kind of statistics; its batch size and polish have no say.
    priors : mapping of str to float, optional
        As in :func:`tobitgp.fit`.
    weights : str, optional
        Column of frequency weights.
    missing : {"drop", "raise"}
        Leave out rows with missing values, or raise a DataError.
    total : float, optional
        Frequency weights of all rows there will be, summed, where it is known; what was seen replaces it otherwise.
    rng : int or numpy Generator, optional
        None is deterministic.

    Raises
    ------
    FormulaError, SpecError
        If the formula or an option makes no sense.

    References
    ----------
    Kohjima, Matsubayashi and Toda (2019), Variational Bayes for mixture models with censored data, ECML PKDD,
    algorithm 2.

    Examples
    --------
    >>> import tobitgp as tg
    >>> rng = np.random.default_rng(0)
    >>> stream = tg.MixtureStream("y ~ mixture(2) | censor(upper=4)")
    >>> for _ in range(20):
    ...     y = np.concatenate([rng.normal(-3, 1, 50), rng.normal(3, 1, 50)])
    ...     stream = stream.partial_fit({"y": np.minimum(y, 4.0)})
    >>> stream
    MixtureStream: y ~ mixture(2) | censor(upper=4)
      gaussian, 2 components: 2000 rows in 20 batches
    >>> stream.params.round(1).tolist()
    [0.5, 0.5, -3.0, 2.9, 1.0, 1.1]
    """

    def __init__(
        self,
        formula: str,
        *,
        family: str = "gaussian",
        method: SVBCM | None = None,
        priors: Mapping[str, float] | None = None,
        weights: str | None = None,
        missing: Literal["drop", "raise"] = "drop",
        total: float | None = None,
        rng: int | np.random.Generator | None = None,
    ):
        if method is not None and not isinstance(method, SVBCM):
            raise SpecError(f"method={method!r}: a stream takes steps by tg.SVBCM(...).")
        if total is not None and (isinstance(total, bool) or not isinstance(total, Real) or not 0.0 < total < np.inf):
            raise SpecError(f"total={total!r}: the weight of all rows there will be, a positive number, is needed.")
        if weights is not None and not isinstance(weights, str):
            raise SpecError(f"weights={weights!r}: the name of a column is needed, since rows come in batches.")
        if not isinstance(missing, str) or missing not in ("drop", "raise"):
            raise SpecError(f"missing={missing!r} is not supported; choose 'drop' or 'raise'.")
        self._family = resolve_mixture_family(family)
        self._k, process = _number(formula)
        method = SVBCM() if method is None else method
        prior, concentration = read_mixture_priors(priors, self._family, method, process=process)
        self._options: dict[str, Any] = {"family": family, "k": self._k, "method": method, "total": total}
        self._options |= {"weights": concentration, "prior": prior}
        self._weights, self._missing = weights, missing
        self._rng = generator(rng)
        self._stream: mixtures.Stream | None = None
        self.formula = formula
        self.counts = pd.Series(0, index=list(COUNTS))

    @reads_frames
    def partial_fit(self, data: Frame) -> MixtureStream:
        """Learn from one more batch.

        Parameters
        ----------
        data : DataFrame or dict of columns
            Never modified, nor kept.

        Returns
        -------
        MixtureStream
            This one.

        Raises
        ------
        DataError
            If the batch cannot be used; what was learned before stays as it is.
        FormulaError
            If it lacks a column.

        References
        ----------
        (SVB2) and (SVB3) of the theory pages.

        Examples
        --------
        >>> import numpy as np
        >>> import tobitgp as tg
        >>> stream = tg.MixtureStream("y ~ mixture(1)", rng=0)
        >>> for y in np.random.default_rng(0).normal(5.0, 1.0, (10, 200)):
        ...     stream = stream.partial_fit({"y": y})
        >>> stream.n_steps, stream.params.round(1).tolist()
        (10, [1.0, 5.0, 1.0])
        """
        columns = [name for name in column_names(data) if name != self._weights]
        spec = parse_formula(self.formula, columns)
        training = prepare(spec, data, weights=self._weights, missing=self._missing)
        rows = *known_ends(training.state.spec, self._family, training.response), training.response.weight
        if self._stream is None:
            self._stream = mixtures.start_stream(*rows, rng=self._rng, **self._options)
        else:
            self._stream = mixtures.partial_fit(self._stream, *rows, rng=self._rng)
        self.counts = self.counts + pd.Series(training.counts)[list(COUNTS)]
        return self

    @property
    def params(self) -> pd.Series[float]:
        """``weight[1]``, ..., then the parameters of the components: a Series by name, in the user's units.

        Components are ordered by mean, empty ones of a process last.
        """
        mixture = mixtures.mixture_of(self._begun)
        return pd.Series(mixture.values, index=list(mixture.names))

    @property
    def predictive(self) -> Predictive:
        """Distribution of a new value, as :attr:`tobitgp.MixtureResults.predictive`, by the posterior (SVB3) so far."""
        return mixtures.mixture_of(self._begun).predictive()

    @property
    def nobs(self) -> float:
        """Frequency weights of the rows seen, summed."""
        return 0.0 if self._stream is None else self._stream.seen

    @property
    def n_steps(self) -> int:
        """Batches seen that said something."""
        return 0 if self._stream is None else self._stream.step

    @property
    def _begun(self) -> mixtures.Stream:
        if self._stream is None:
            raise NotFittedError("This stream has seen no rows; give it some by partial_fit(data).")
        return self._stream

    def __repr__(self) -> str:
        return (
            f"MixtureStream: {self.formula.strip()}\n"
            f"  {self._family.name}, {self._k} component{'s' * (self._k > 1)}: "
            f"{self.nobs:.10g} rows in {self.n_steps} batch{'es' * (self.n_steps != 1)}"
        )


def _number(formula: str) -> tuple[int, bool]:
    """Number of components, and whether they are those of a Dirichlet process."""
    term = parse_formula(formula).mixture
    if term is None:
        raise SpecError(f"{formula!r} has no mixture; a stream takes formulas such as 'y ~ mixture(2)'.")
    if len(term.numbers) > 1:
        raise SpecError("A stream has one number of components, as mixture(2); a range is chosen from by tg.fit.")
    return term.numbers[0], term.process
