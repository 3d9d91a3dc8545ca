"""``cross_validate``: fit to all rows but those of a fold, and measure on these."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from tobitgp.api import fit
from tobitgp.data.frames import read_weights, reads_frames
from tobitgp.data.table import column_names
from tobitgp.engines import single_blas_thread
from tobitgp.errors import SpecError, TobitGPError, user_level
from tobitgp.inference.fitted import Step
from tobitgp.kinds.progress import progress_bar
from tobitgp.method_spelling import with_moved_settings
from tobitgp.model import Model
from tobitgp.numerics.sampling import generator
from tobitgp.results.paths import read_subjects
from tobitgp.results.prediction import predict as predict_rows
from tobitgp.selection import held_out
from tobitgp.selection.cause_measures import by_cause
from tobitgp.selection.folds import (
    Fold,
    FoldRows,
    FoldScores,
    OrderedRows,
    by_subject,
    join_predictions,
    own_column,
    pool,
    read_folds,
)
from tobitgp.selection.held_out import HeldOut, Measure, read_measures
from tobitgp.selection.specs import check_arguments, with_ends
from tobitgp.typing import Array, Frame

Note = tuple[type[Warning], str]

DEFAULT = ("log_likelihood", "concordance_index")
OF_PREDICTION = [name for name in inspect.signature(predict_rows).parameters if name not in ("results", "new")]
OF_MODEL = frozenset(inspect.signature(Model).parameters) - {"data"}
_OF_ROWS = ("cov_kwds", "vcov", "engine")
_OF_COLUMNS = ("fixed", "start", "priors")
_NAMED = 3


class Attempt(NamedTuple):
    """What came of a call."""

    value: Any  # none where it failed
    error: TobitGPError | None
    notes: tuple[Note, ...]  # (category, text), warnings, each once


def attempt(call: Callable[..., Any], **options: Any) -> Attempt:
    """Call, and keep its warnings and the errors that the package raises on purpose."""
    value, failure = None, None
    with warnings.catch_warnings(record=True) as caught, single_blas_thread():
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", DeprecationWarning)
        warnings.simplefilter("ignore", PendingDeprecationWarning)
        try:
            value = call(**options)
        except TobitGPError as error:
            failure = error
    notes = dict.fromkeys((note.category, str(note.message)) for note in caught)
    return Attempt(value, failure, tuple(notes))


def attempt_all(
    tasks: Sequence[tuple[Callable[..., Any], dict[str, Any]]],
    names: Sequence[Any],
    n_jobs: int,
    progress: bool | Callable[[str, int, float], None],
    objective: str,
    unit: str,
    value: Callable[[Any], float],
) -> list[Attempt]:
    """Attempt each call, in order, and show how far they are; several at a time in processes of one BLAS thread."""
    found = []
    with progress_bar(progress, objective, unit, len(tasks)) as show:
        for name, outcome in zip(names, _outcomes(tasks, n_jobs), strict=True):
            found.append(outcome)
            if show is not None:
                show(Step(str(name), len(found), np.nan if outcome.error else value(outcome.value)))
    return found


def _outcomes(tasks: Sequence[tuple[Callable[..., Any], dict[str, Any]]], n_jobs: int) -> Iterator[Attempt]:
    if n_jobs == 1 or len(tasks) < 2:
        yield from (attempt(call, **options) for call, options in tasks)
        return
    from joblib import Parallel, delayed, parallel_config

    with parallel_config(backend="loky", inner_max_num_threads=1):
        # Arrays are sent, not mapped from files: a result must not point into a file that will be gone.
        parallel = Parallel(n_jobs=n_jobs, return_as="generator", max_nbytes=None)
        yield from parallel(delayed(attempt)(call, **options) for call, options in tasks)


def check_jobs(n_jobs: Any) -> int:
    """Raise an error for an invalid number of processes."""
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, int) or n_jobs == 0:
        raise SpecError(f"n_jobs={n_jobs!r}: must be a number of processes, or -1 for all cores.")
    return n_jobs


def pass_on(notes: Iterable[tuple[str, tuple[Note, ...]]]) -> None:
    """Warn once of what each model said, under the names of those that said it."""
    speakers: dict[Note, dict[str, None]] = {}
    for name, said in notes:
        for note in said:
            speakers.setdefault(note, {})[name] = None
    for (category, text), names in speakers.items():
        warnings.warn(f"{listed(list(names))}: {text.removesuffix('.')}.", category, stacklevel=user_level())


def listed(names: Sequence[str]) -> str:
    """Some names, and how many more there are."""
    more = len(names) - _NAMED
    return ", ".join(map(repr, names[:_NAMED])) + (f" and {more} more" if more > 0 else "")


@reads_frames
def cross_validate(
    formula: str,
    data: Frame,
    *,
    folds: Any = 10,
    metrics: Any = DEFAULT,
    predict: str | Mapping[str, Any] | None = None,
    rng: int | np.random.Generator | None = None,
    n_jobs: int = 1,
    progress: bool | Callable[[str, int, float], None] = False,
    **fit_kwargs: Any,
) -> FoldScores:
    """Cross-validate a model: for each fold, fit it to the other rows and score its predictions for the fold.

    Parameters
    ----------
    formula : str
        As in :func:`tobitgp.fit`.
    data : DataFrame or dict of columns
        The data, which are never modified.
    folds : int, str, (n,) array or Series, or a splitter of scikit-learn
        A number of folds, to which rows are assigned at random, with censored rows spread evenly. Or labels, of which
        each is a fold: a column (``.`` in the formula then leaves it out), an array, or a Series (with the index of the
        data, in any order). Or an object with ``split(X, y)``, where y is whether each row used is exact.
    metrics : str, callable, list of these, or dict of them by name
        ``"log_likelihood"`` is the mean log predictive density, in the units of the response (for censored rows, the
        log probability of the observation); ``"nlpd"`` is its negative. ``"concordance_index"`` uses predicted medians.
        ``"mae"`` and ``"rmse"`` compare the response as recorded. For right-censored times there are
        ``"concordance_ipcw"``, ``"integrated_brier_score"`` and ``"cumulative_dynamic_auc"``. They use times up to the
        last decile of the training rows' events; the last two average over 100 times from the first decile on, which is
        the landmark if rows entered late. A ``function(results, test)`` of the fit and the test rows returns a number.
        For competing risks, the log density is that of times and causes. The other metrics are computed from the
        incidence of each cause, in columns such as ``integrated_brier_score[death]``; concordance uses incidences by
        the last decile of that cause's events.
    predict : str or dict, optional
        Contents of ``predictions`` of the result: a ``what`` of ``predict()`` of a fit, e.g. ``"observed"``, or a dict
        of its arguments, e.g. ``{"what": "median", "interval": 0.9}``. The default is that of ``predict()``.
    rng : int or numpy Generator, optional
        Random numbers that assign the rows to folds, and seeds of fits that draw. With None the result is
        deterministic.
    n_jobs : int
        Number of folds fitted in parallel, each in a process with one BLAS thread; -1 for all cores. The results do not
        depend on it.
    progress : bool or callable
        Show a progress bar, or call ``progress(fold, folds done, value of the first metric)``.
    **fit_kwargs : dict
        Further arguments of :func:`tobitgp.fit`. Weights given as an array follow their rows, and are used in all
        metrics except functions. The same holds for var_weights, which are also used in predictions of the rows left
        out. Splines such as ``bs(x, df=4)`` have the range of all rows in every fold, unless these arguments name
        coefficients.

    Returns
    -------
    DataFrame
        A row for each fold: ``n_train, n_test, converged``, and a column for each metric on its own scale, NaN if it is
        not available. The attribute ``predictions`` is a DataFrame with the ``fold`` of each test row and the
        prediction by the fit without it, under the labels of the data. The attribute ``pooled`` is a Series of scores
        of the test rows of all folds together: the concordance index of all pairs of rows (each with the prediction of
        its fold), ``rmse`` from all squared errors, and means over the rows for all other metrics. Metrics that are not
        means over rows, and functions, have the mean over folds, weighted by their rows.

    Raises
    ------
    FormulaError, DataError, SpecError
        If the model cannot be fitted to these data, or options are invalid; if all folds failed, the error of the
        first.

    Warns
    -----
    UserWarning
        For folds that failed, and once for each warning of the fits.

    References
    ----------
    .. [1] T. Hastie, R. Tibshirani and J. Friedman, *The Elements of Statistical Learning*, 2nd edition (2009), section
       7.10; the metrics have their own references.

    Examples
    --------
    >>> import tobitgp as tg
    >>> lung = tg.datasets.load("lung")
    >>> found = tg.cross_validate("Surv(time, event) ~ age + sex", lung, folds=5, family="weibull")
    >>> found[["n_train", "n_test"]].to_numpy().tolist()[0], bool(found["converged"].all())
    ([182, 46], True)
    >>> round(float(found["concordance_index"].mean()), 2), round(float(found.pooled["concordance_index"]), 2)
    (0.6, 0.6)
    >>> found.predictions.head(2).round(1)
       fold  median
    0     4   237.4
    1     3   248.3
    """
    measures, asked = read_measures(metrics), _read_prediction(predict)
    check_jobs(n_jobs)
    check_arguments(fit_kwargs, "cross_validate()")
    fit_kwargs = with_moved_settings(fit_kwargs, formula)
    refused = [name for name in _OF_ROWS if fit_kwargs.get(name) is not None]
    if refused:
        raise SpecError(f"{refused[0]}= is not supported in cross_validate(). Leave it out.")
    columns = column_names(data)
    frame = data if isinstance(data, pd.DataFrame) else pd.DataFrame({name: data[name] for name in columns})
    fit_kwargs, frame = _var_weights_in(fit_kwargs, frame)
    unseen = own_column(f"{formula} {fit_kwargs.get('sigma')} {fit_kwargs.get('formulas')}", folds, columns)
    options = {name: value for name, value in fit_kwargs.items() if name in OF_MODEL}
    model = Model(formula, frame.drop(columns=unseen), **options)
    formula, fit_kwargs = _with_ends(formula, fit_kwargs, frame.iloc[np.flatnonzero(model.training.kept)])
    weights = None
    if fit_kwargs.get("weights") is not None:
        weights = np.zeros(len(frame))
        weights[model.training.kept] = model.training.response.weight
    stream = generator(rng)
    if "id" in options:
        folds = by_subject(folds, read_subjects(options["id"], frame), stream)
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
        tasks.append((_measure_fold, {**one, "measures": measures, "asked": asked, "options": given}))
    first = next(iter(measures))
    found = attempt_all(tasks, names, n_jobs, progress, first, "folds", lambda fold: list(fold.scores.values())[1])
    table, folds = _table(names, parts, found), [outcome.value for outcome in found]
    tests = [test for _, test in parts]
    size = [float(len(test) if weights is None else weights[test].sum()) for test in tests]
    return FoldScores.of(table, pool(measures, folds, size), join_predictions(names, tests, folds, frame.index))


def _read_prediction(predict: Any) -> dict[str, Any] | None:
    """Arguments of ``predict()`` of a fit; None if there are none."""
    if predict is None or isinstance(predict, str):
        return None if predict is None else {"what": predict}
    if not isinstance(predict, Mapping):
        raise SpecError(f"predict={predict!r}: must be a text such as 'median', or a dict of arguments of predict().")
    unknown = [name for name in predict if name not in OF_PREDICTION]
    if unknown:
        raise SpecError(f"predict={{{unknown[0]!r}: ...}}: predict() has the arguments {', '.join(OF_PREDICTION)}.")
    return dict(predict)


def _with_ends(formula: Any, options: dict[str, Any], rows: pd.DataFrame) -> tuple[Any, dict[str, Any]]:
    """Splines that end where those of a fit to all rows do, unless columns are called by what is written now."""
    if any(options.get(name) for name in _OF_COLUMNS):
        return formula, options

    def read(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {cause: read(text) for cause, text in value.items()}
        return value if value is None else with_ends(value, rows, options.get("functions"))

    written: dict[str, Any] = {name: read(options[name]) for name in ("sigma", "cure", "formulas") if name in options}
    return read(formula), {**options, **written}


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
    asked: dict[str, Any] | None,
    options: dict[str, Any],
) -> Fold:
    """Fit to some rows, predict and measure others; a metric that is not available is NaN, with a warning."""
    results: Any = fit(formula, train, **options)
    held = HeldOut(results, test, weight)
    out: dict[str, float] = {"converged": bool(results.converged)}
    if results._causes:
        measures = by_cause(measures, results._causes)
    for name, measure in measures.items():
        try:
            out[name] = measure(held)
        except TobitGPError as error:
            warnings.warn(f"{name} is not available: {error}", UserWarning, stacklevel=user_level())
            out[name] = float("nan")
    orders = any(measure is held_out.concordance_index and out[name] == out[name] for name, measure in measures.items())
    return Fold(out, _predict_fold(results, test, asked), OrderedRows.of(held) if orders else None)


def _predict_fold(results: Any, test: pd.DataFrame, asked: dict[str, Any] | None) -> pd.DataFrame | TobitGPError:
    """Predictions of rows, or their error, with a warning if they were requested."""
    try:
        return pd.DataFrame(results.predict(test, **(asked or {})))
    except TobitGPError as error:
        if asked is not None:
            warnings.warn(f"Predictions are not available: {error}", UserWarning, stacklevel=user_level())
        return error


def _table(names: list[Any], parts: FoldRows, found: list[Attempt]) -> pd.DataFrame:
    """A row for each fold, and a warning for those that failed."""
    errors = [outcome.error for outcome in found if outcome.error is not None]
    if len(errors) == len(found):
        raise errors[0]
    pass_on((f"fold {name}", outcome.notes) for name, outcome in zip(names, found, strict=True))
    columns = dict.fromkeys(name for outcome in found if outcome.error is None for name in outcome.value.scores)
    table = []
    for name, (train, test), outcome in zip(names, parts, found, strict=True):
        if outcome.error is not None:
            warnings.warn(f"Fold {name!r} failed: {outcome.error}", UserWarning, stacklevel=user_level())
        known = {"converged": False} if outcome.error is not None else outcome.value.scores
        values = dict.fromkeys(columns, np.nan) | known
        table.append({"n_train": len(train), "n_test": len(test), **values})
    return pd.DataFrame(table, index=pd.Index(names, name="fold"))
