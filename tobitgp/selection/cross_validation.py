"""``cross_validate``: fit to all rows but those of a fold, and measure on these."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from tobitgp.api import fit
from tobitgp.data.beside import read_weights
from tobitgp.data.table import column_names
from tobitgp.errors import SpecError, TobitGPError, user_level
from tobitgp.inference.fitted import Step
from tobitgp.model import Model
from tobitgp.numerics.draws import generator
from tobitgp.report.progress import progress_bar
from tobitgp.selection.folds import Parts, own_column, read_folds
from tobitgp.selection.run import Outcome, attempt_all, check_jobs, pass_on
from tobitgp.selection.specs import check_arguments
from tobitgp.typing import Array, Frame

if TYPE_CHECKING:
    from tobitgp.selection.held_out import Measure

DEFAULT = ("log_likelihood", "concordance_index")
_OF_MODEL = frozenset(inspect.signature(Model).parameters) - {"data"}
_OF_ROWS = ("cov_kwds", "engine")


def cross_validate(
    formula: str,
    data: Frame,
    *,
    folds: Any = 10,
    metrics: Any = DEFAULT,
    rng: int | np.random.Generator | None = None,
    n_jobs: int = 1,
    progress: bool | Callable[[str, int, float], None] = False,
    **fit_kwargs: Any,
) -> pd.DataFrame:
    """Fit a model to all rows but those of a fold, measure how it foretells these, and go on with the next fold.

    Parameters
    ----------
    formula : str
        As in :func:`tobitgp.fit`.
    data : DataFrame or dict of columns
        Never modified.
    folds : int, str, (n,) array or Series, or a splitter of scikit-learn
        How many folds, into which the rows are dealt at random, censored ones evenly; a column, an array or a Series
        (with the index of the data, in any order) of labels, the rows of a label making a fold, and ``.`` in the
        formula not standing for that column; or an object with ``split(X, y)``, y saying of each row that is used
        whether it is exact.
    metrics : str, callable, list of these, or dict of them by name
        ``"log_likelihood"`` (mean log predictive density, in the units of the response; of censored rows the log
        probability of what was seen), ``"nlpd"`` (minus that), ``"concordance_index"`` (of predicted medians); of
        right-censored times ``"concordance_ipcw"``, ``"integrated_brier_score"`` and ``"cumulative_dynamic_auc"`` (up
        to the last decile of the training rows' events, the last two at 100 times from the first decile on, which is
        the landmark where rows entered late); of the
        response as the instrument shows it ``"mae"`` and ``"rmse"``. A function is called as
        ``function(results, test)``, with the fit and the rows that it has not seen, and gives a number. See
        `tobitgp.metrics`.
    rng : int or numpy Generator, optional
        Deals the rows; None is deterministic. Fits that draw get seeds from it too.
    n_jobs : int
        Folds at a time, each in a process with one BLAS thread; -1 for as many as there are cores. The results do not
        depend on it.
    progress : bool or callable
        Show a progress line, or call ``progress(fold, folds done, value of the first metric)``.
    **fit_kwargs : dict
        Further arguments of :func:`tobitgp.fit`. Weights given as an array follow their rows, and count in all metrics
        but functions; var_weights do too, and are those of the rows left out in their predictions.

    Returns
    -------
    DataFrame
        A row for each fold: ``n_train, n_test, converged``, and a column for each metric, on its own scale, NaN where
        it could not be had.

    Raises
    ------
    FormulaError, DataError, SpecError
        If the model cannot be fitted to these data, or options cannot be read; what every fold failed of, if they all
        did.

    Warns
    -----
    UserWarning
        Of folds that failed, and of what the fits themselves warned of, once.

    References
    ----------
    .. [1] T. Hastie, R. Tibshirani and J. Friedman, *The Elements of Statistical Learning*, 2nd edition (2009), section
       7.10; measures have sources of their own.

    Examples
    --------
    >>> import tobitgp as tg
    >>> lung = tg.datasets.load("lung")
    >>> found = tg.cross_validate("Surv(time, event) ~ age + sex", lung, folds=5, family="weibull")
    >>> found[["n_train", "n_test"]].to_numpy().tolist()[0], bool(found["converged"].all())
    ([182, 46], True)
    >>> round(float(found["concordance_index"].mean()), 2)
    0.6
    """
    from tobitgp.selection.held_out import read_measures

    measures = read_measures(metrics)
    check_jobs(n_jobs)
    check_arguments(fit_kwargs, "cross_validate()")
    refused = [name for name in _OF_ROWS if fit_kwargs.get(name) is not None]
    if refused:
        raise SpecError(f"{refused[0]}= does not go with cross_validate().")
    columns = column_names(data)
    frame = data if isinstance(data, pd.DataFrame) else pd.DataFrame({name: data[name] for name in columns})
    fit_kwargs, frame = _var_weights_in(fit_kwargs, frame)
    unseen = own_column(f"{formula} {fit_kwargs.get('sigma')}", folds, columns)
    options = {name: value for name, value in fit_kwargs.items() if name in _OF_MODEL}
    model = Model(formula, frame.drop(columns=unseen), **options)
    weights = None if fit_kwargs.get("weights") is None else _row_weights(model)
    stream = generator(rng)
    names, parts = read_folds(folds, model, frame, stream)
    seeds = stream.integers(2**31, size=len(parts)).tolist() if rng is not None else [None] * len(parts)
    tasks = []
    for (train, test), seed in zip(parts, seeds, strict=True):
        held = None if weights is None else weights[test]
        given = {**fit_kwargs, "rng": seed}
        if weights is not None and not isinstance(fit_kwargs["weights"], str):
            given["weights"] = weights[train]
        seen = frame.iloc[train].drop(columns=unseen)
        one = {"formula": formula, "train": seen, "test": frame.iloc[test], "weight": held}
        tasks.append((_measure_fold, {**one, "measures": measures, "options": given}))
    found = list(_run(tasks, names, list(measures), n_jobs, progress))
    return _table(names, parts, found, list(measures))


def _var_weights_in(fit_kwargs: dict[str, Any], frame: pd.DataFrame) -> tuple[dict[str, Any], pd.DataFrame]:
    """Variance weights as a column of the data, so that rows left out have theirs."""
    given = fit_kwargs.get("var_weights")
    if given is None or isinstance(given, str):
        return fit_kwargs, frame
    name = "var_weights"
    while name in frame.columns:
        name += "_"
    values = read_weights(given, frame, len(frame), "var_weights")
    return {**fit_kwargs, "var_weights": name}, frame.assign(**{name: values})


def _measure_fold(
    formula: str,
    train: pd.DataFrame,
    test: pd.DataFrame,
    weight: Array | None,
    measures: dict[str, Measure],
    options: dict[str, Any],
) -> dict[str, float]:
    """Fit to some rows and measure on others; a metric that cannot be had is NaN, with a warning."""
    from tobitgp.selection.held_out import HeldOut

    results = fit(formula, train, **options)
    held = HeldOut(results, test, weight)
    out: dict[str, float] = {"converged": bool(results.converged)}
    for name, measure in measures.items():
        try:
            out[name] = measure(held)
        except TobitGPError as error:
            warnings.warn(f"{name} is not to be had: {error}", UserWarning, stacklevel=user_level())
            out[name] = float("nan")
    return out


def _run(
    tasks: Sequence[tuple[Callable[..., Any], dict[str, Any]]],
    names: list[Any],
    measures: list[str],
    n_jobs: int,
    progress: Any,
) -> Iterator[Outcome]:
    words = f"{{evaluations}} of {len(tasks)} folds, {measures[0]} of fold {{stage}}: {{value:.3f}}"
    with progress_bar(progress, words) as show:
        for k, outcome in enumerate(attempt_all(tasks, n_jobs)):
            if show is not None:
                value = np.nan if outcome.error else outcome.value[measures[0]]
                show(Step(str(names[k]), k + 1, value))
            yield outcome


def _table(names: list[Any], parts: Parts, found: list[Outcome], measures: list[str]) -> pd.DataFrame:
    """A row for each fold, and a warning for those that failed."""
    errors = [outcome.error for outcome in found if outcome.error is not None]
    if len(errors) == len(found):
        raise errors[0]
    pass_on({f"fold {name}": outcome.notes for name, outcome in zip(names, found, strict=True)})
    table = []
    for name, (train, test), outcome in zip(names, parts, found, strict=True):
        if outcome.error is not None:
            warnings.warn(f"Fold {name!r} failed: {outcome.error}", UserWarning, stacklevel=user_level())
        values = outcome.value or {"converged": False, **dict.fromkeys(measures, np.nan)}
        table.append({"n_train": len(train), "n_test": len(test), **values})
    return pd.DataFrame(table, index=pd.Index(names, name="fold"))


def _row_weights(model: Model) -> Array:
    """Frequency weights of all rows as the model has read them, a Series by its labels; 0 of rows that are not used."""
    weights = np.zeros(len(model.training.kept))
    weights[model.training.kept] = model.training.response.weight
    return weights
