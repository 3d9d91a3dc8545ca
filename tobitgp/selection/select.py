"""``select``: several specs in, a table and the best fit out."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.data.frames import reads_frames
from tobitgp.errors import SpecError, TobitGPError, user_level
from tobitgp.kinds.mixture_fit import choose_mixture_method
from tobitgp.method_settings import EP, MLE, PosteriorMethod
from tobitgp.method_spelling import posterior_method, read_method
from tobitgp.method_value import spelled
from tobitgp.mixture import EMCM, VBCM
from tobitgp.model import Model
from tobitgp.report.plots import plot_ranking
from tobitgp.results.comparable import Subject, check_kinds, check_same_rows
from tobitgp.results.compare import EVIDENCE, check_by, compare, read_value
from tobitgp.selection.cross_validation import OF_MODEL, Attempt, attempt, attempt_all, check_jobs, listed, pass_on
from tobitgp.selection.held_out import ScoredResults
from tobitgp.selection.specs import Candidate, read_specs
from tobitgp.typing import Frame

_BY_METHOD = (EVIDENCE, "log_evidence", "log_evidence_integrated")
_OF_LIKELIHOOD = ("aic", "bic")


@dataclass(frozen=True, slots=True, repr=False)
class Selection:
    """Ranked models and the best of them, returned by `tobitgp.select`; prints as its table.

    Attributes
    ----------
    table : DataFrame
        As returned by :func:`tobitgp.compare`, with a row of NaN for each model that could not be fitted.
    best : GPResults, RegressionResults or MixtureResults
        The first fit of the table.
    results : dict of these
        All fits by name.
    """

    table: pd.DataFrame
    best: ScoredResults
    results: dict[str, ScoredResults]

    def plot_evidence(self, ax: Any = None) -> Any:
        """Draw the criterion of the ranking, with models in the order in which they were given.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Axes to draw on; new axes by default.

        Returns
        -------
        matplotlib axes

        Raises
        ------
        SpecError
            If ``ax`` is not a matplotlib Axes.

        Examples
        --------
        >>> import tobitgp as tg
        >>> formulas = ["durable ~ age | censor(0)", "durable ~ age + quant | censor(0)"]
        >>> found = tg.select(formulas, tg.datasets.load("tobin"), by="aic")
        >>> ax = found.plot_evidence()
        >>> ax.get_xlabel(), ax.get_ylabel()
        ('AIC', '')
        """
        return plot_ranking(self.table, list(self.results), ax)

    def __repr__(self) -> str:
        return self.table.to_string(float_format="{:.3f}".format, formatters={"n": "{:g}".format})

    def _repr_html_(self) -> str:
        return str(self.table.to_html(float_format="{:.3f}".format, formatters={"n": "{:g}".format}))


@reads_frames
def select(
    specs: str | Sequence[str] | Mapping[str, Any],
    data: Frame,
    *,
    by: str = EVIDENCE,
    n_jobs: int = 1,
    progress: bool | Callable[[str, int, float], None] = False,
    **fit_kwargs: Any,
) -> Selection:
    """Fit several models to the same data and rank them.

    The function checks that the models can be compared before it fits any of them. A model that fails has a row of NaN
    and a warning that names it; the other models are still fitted.

    Parameters
    ----------
    specs : list or dict of formulas, or dict of argument to values
        Formulas; or arguments of :func:`tobitgp.fit` with values to try, e.g. ``{"family": ["gaussian",
        "lognormal"]}``; with several arguments, all combinations are fitted. ``formula`` can be one of them, or a
        separate argument. A formula with ``mixture(range(1, 7))``, also a single one, means a model for each number of
        components.
    data : DataFrame or dict of columns
        Never modified.
    by : str
        As in :func:`tobitgp.compare`. Models fitted by different methods must be compared by ``"elbo"``. If no
        ``method`` is given, ``"aic"`` and ``"bic"`` use maximum likelihood and all other criteria expectation
        propagation; mixtures use variational Bayes.
    n_jobs : int
        Number of fits in parallel, each in a process with one BLAS thread; -1 for all cores. The results do not depend
        on it.
    progress : bool or callable
        Show a progress bar, or call ``progress(name, fits done, value)``.
    **fit_kwargs : dict
        Further arguments of :func:`tobitgp.fit`, the same for all. A numpy Generator as ``rng`` gives each model a
        separate seed.

    Returns
    -------
    Selection
        ``table``, ``best``, and all ``results`` by name.

    Raises
    ------
    SpecError
        If the specs cannot be read, or the models cannot be compared.
    TobitGPError
        If every model fails: the error of the first one.

    Warns
    -----
    UserWarning
        For models that failed, and once for each warning of the fits, with the names of the models.

    Examples
    --------
    >>> import tobitgp as tg
    >>> data = tg.datasets.simulate_groot_lucas()
    >>> kernels = {k: f"y ~ gp(x, kernel='{k}') | censor(lower)" for k in ("rbf", "matern32")}
    >>> found = tg.select(kernels, data, method=tg.EP(hyper="maximize"))
    >>> found.table["weight"].round(2).to_dict(), found.best.formula
    ({'rbf': 0.97, 'matern32': 0.03}, "y ~ gp(x, kernel='rbf') | censor(lower)")
    """
    check_by(by)
    check_jobs(n_jobs)
    candidates = read_specs(specs, fit_kwargs)
    read = {c.name: attempt(Model, data=data, **_options(c, of_model=True)) for c in candidates}
    models = {name: outcome.value for name, outcome in read.items() if outcome.error is None}
    ready = [_with_method(c, models[c.name], by) for c in candidates if c.name in models]
    if not any(model.has_causes for model in models.values()):  # whose fits alone show whether they can be compared
        _check_before(ready, models, by)
    tasks = [(models[c.name].fit, _options(c, of_model=False)) for c in ready]
    names = [c.name for c in ready]
    outcomes = attempt_all(tasks, names, n_jobs, progress, by, "models", lambda found: read_value(found, by))
    fitted: dict[str, Attempt] = dict(zip(names, outcomes, strict=True))
    pass_on((c.name, read[c.name].notes + (fitted[c.name].notes if c.name in fitted else ())) for c in candidates)
    ends = read | fitted
    errors = {c.name: error for c in candidates if (error := ends[c.name].error) is not None}
    results = {name: fitted[name].value for name in names if name not in errors}
    return _rank(results, errors, by)


def _with_method(candidate: Candidate, model: Model, by: str) -> Candidate:
    """Candidate whose ``method="auto"`` is one that has the number by which models are ranked."""
    method = read_method(candidate.options.get("method", "auto"))
    if isinstance(method, str):
        likelihood, posterior = (MLE.name, EP.name) if model.spec.mixture is None else (EMCM.name, VBCM.name)
        method = read_method(likelihood if by in _OF_LIKELIHOOD or not model.has_posterior else posterior)
    return replace(candidate, options={**candidate.options, "method": method})


def _options(candidate: Candidate, *, of_model: bool) -> dict[str, Any]:
    """Arguments of Model, or those of its ``fit``."""
    return {name: value for name, value in candidate.options.items() if (name in OF_MODEL) == of_model}


def _check_before(candidates: list[Candidate], models: dict[str, Model], by: str) -> None:
    """Raise an error for models that cannot be compared."""
    subjects, kinds = {}, {}
    for candidate in candidates:
        name, options, model = candidate.name, candidate.options, models[candidate.name]
        training, response = model.training, model.training.response
        modelled, weight = bool((response.lower != response.upper).any()), float(response.weight.sum())
        subjects[name] = Subject(training, training.counts, weight, training.design.columns, modelled, model.counting)
        kind = _evidence_kind(model, options, modelled)
        if (by in _OF_LIKELIHOOD) != (kind == "loglik"):
            remedy = "by='aic' or 'bic' requires method='mle' (for mixtures 'em'), and evidence any other method"
            raise SpecError(f"by={by!r} and method={spelled(options['method'])} cannot be combined: {remedy}.")
        if kind != "loglik":
            kinds[name] = kind
        elif model.spec.processes:
            raise SpecError(f"by={by!r}: requires maximum likelihood, but {name!r} has processes. Use another by=.")
        if by == "log_evidence_integrated" and _maximises(options["method"]):
            raise SpecError(
                "by='log_evidence_integrated': requires integrated hyper-parameters. Leave out hyper='maximize' of the "
                "method."
            )
    check_same_rows(subjects)
    if by in _BY_METHOD and kinds:
        check_kinds(kinds, by)


def _evidence_kind(model: Model, options: dict[str, Any], modelled: bool) -> str:
    """Kind of evidence that a fit will have."""
    if model.spec.mixture is not None:
        return "loglik" if isinstance(choose_mixture_method(options["method"]), EMCM) else "elbo"
    if isinstance(options["method"], MLE):
        return "loglik"
    return posterior_method(options["method"]).updates().evidence_kind if modelled else "exact"


def _maximises(method: Any) -> bool:
    return isinstance(method, PosteriorMethod) and method.hyper == "maximize"


def _rank(results: dict[str, ScoredResults], errors: dict[str, TobitGPError], by: str) -> Selection:
    """Table of those that were fitted, then those that were not."""
    if not results:
        raise next(iter(errors.values()))
    for name, error in errors.items():
        _warn(f"{name!r} failed and has no place in the ranking: {error}")
    if by in _BY_METHOD and len({fit.evidence_kind for fit in results.values()}) > 1:
        away = [name for name, fit in results.items() if fit._fell_back]
        why = f"{listed(away)} fell back to another method" if away else "Some of these models have theirs exactly"
        _warn(f"{why}, and {by} would not be of one kind; ranked by='elbo'.")
        by = "elbo"
    without = [name for name, fit in results.items() if np.isnan(read_value(fit, by))]
    if without and len(without) < len(results):
        _warn(f"{listed(without)} gave no {by} and has no place in the ranking.")
    ranked = {name: fit for name, fit in results.items() if name not in without} or results
    table = compare(ranked, by)
    best = results[str(table.index[0])]
    lost = [name for name in (*without, *errors) if name not in table.index]
    if lost:
        table = table.reindex([*table.index, *lost])
        table["converged"] = table["converged"].eq(True)
    return Selection(table, best, results)


def _warn(message: str) -> None:
    warnings.warn(message, UserWarning, stacklevel=user_level())
