"""``cross_validate``: fit to all rows but those of a fold, and measure on these."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from tobitgp.api import fit
from tobitgp.data.table import column_names
from tobitgp.errors import SpecError, TobitGPError, user_level
from tobitgp.inference.fitted import Step
from tobitgp.model import Model
from tobitgp.numerics.draws import generator
from tobitgp.report.progress import progress_bar
from tobitgp.selection.run import Outcome, attempt_all, check_jobs, pass_on
from tobitgp.typing import Array, Frame, IntArray

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
    data : DataFrame or dict of columns
        Never modified.
    folds : int, str, (n,) array, or a splitter of scikit-learn
        How many folds, into which the rows are dealt at random, censored ones evenly; a column or an array of labels,
        the rows of a label making a fold; or an object with ``split`` that needs no response and no groups, and trains
        on all other rows.
    metrics : str, callable, list of these, or dict of them by name
        ``"log_likelihood"`` (mean log predictive density, in the units of the response; of censored rows the log
        probability of what was seen), ``"concordance_index"`` (of predicted medians), of right-censored times
        ``"concordance_ipcw"``, ``"integrated_brier_score"`` and ``"cumulative_dynamic_auc"`` (at 100 times from the
        first to the last decile of the training rows' events), and, of the response as the instrument shows it,
        ``"mae"`` and ``"rmse"``. A function is called as ``function(results, test)``, with the fit and the rows that it
        has not seen, and gives a number. See `tobitgp.metrics`.
    rng : int or numpy Generator, optional
        Deals the rows; None is deterministic. Fits that draw get seeds from it too.
    n_jobs : int
        Folds at a time, each in a process with one BLAS thread; -1 for as many as there are cores. The results do not
        depend on it.
    progress : bool or callable
        Show a progress line, or call ``progress(fold, folds done, value of the first metric)``.
    **fit_kwargs
        Further arguments of :func:`tobitgp.fit`. Weights given as an array follow their rows.

    Returns
    -------
    DataFrame
        A row for each fold: ``n_train, n_test, converged``, and a column for each metric, NaN where it could not be
        had.

    Raises
    ------
    FormulaError, DataError, SpecError
        If the model cannot be fitted to these data, or options cannot be read; what every fold failed of, if they all
        did.

    Warns
    -----
    UserWarning
        Of folds that failed, and of what the fits themselves warned of, once.

    Examples
    --------
    >>> import tobitgp as tg
    >>> lung = tg.datasets.load("lung")
    >>> found = tg.cross_validate("Surv(time, event) ~ age + sex", lung, folds=5, family="weibull")
    >>> found[["n_train", "n_test"]].to_numpy().tolist()[0], bool(found["converged"].all())
    ([182, 46], True)
    >>> found["concordance_index"].mean().round(2)
    np.float64(0.61)
    """
    from tobitgp.selection.held_out import read_measures

    measures = read_measures(metrics)
    check_jobs(n_jobs)
    refused = [name for name in _OF_ROWS if fit_kwargs.get(name) is not None]
    if refused:
        raise SpecError(f"{refused[0]}= does not go with cross_validate().")
    options = {name: value for name, value in fit_kwargs.items() if name in _OF_MODEL}
    model = Model(formula, data, **options)
    frame = data if isinstance(data, pd.DataFrame) else pd.DataFrame({name: data[name] for name in column_names(data)})
    weights = _row_weights(fit_kwargs.get("weights"), frame)
    stream = generator(rng)
    names, parts = read_folds(folds, model, frame, stream)
    seeds = stream.integers(2**31, size=len(parts)).tolist() if rng is not None else [None] * len(parts)
    tasks = []
    for test, seed in zip(parts, seeds, strict=True):
        train = np.setdiff1d(np.flatnonzero(model.training.kept), test)
        held = None if weights is None else weights[test]
        given = {**fit_kwargs, "rng": seed}
        if weights is not None and not isinstance(fit_kwargs["weights"], str):
            given["weights"] = weights[train]
        one = {"formula": formula, "train": frame.iloc[train], "test": frame.iloc[test], "weight": held}
        tasks.append((_measure_fold, {**one, "measures": measures, "options": given}))
    found = list(_run(tasks, names, list(measures), n_jobs, progress))
    return _table(names, parts, found, int(model.training.kept.sum()), list(measures))


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


def _table(
    names: list[Any], parts: list[IntArray], found: list[Outcome], rows: int, measures: list[str]
) -> pd.DataFrame:
    """A row for each fold, and a warning for those that failed.

    Raises
    ------
    TobitGPError
        If all did.
    """
    errors = [outcome.error for outcome in found if outcome.error is not None]
    if len(errors) == len(found):
        raise errors[0]
    pass_on({f"fold {name}": outcome.notes for name, outcome in zip(names, found, strict=True)})
    table = []
    for name, test, outcome in zip(names, parts, found, strict=True):
        if outcome.error is not None:
            warnings.warn(f"Fold {name!r} failed: {outcome.error}", UserWarning, stacklevel=user_level())
        values = outcome.value or {"converged": False, **dict.fromkeys(measures, np.nan)}
        table.append({"n_train": rows - len(test), "n_test": len(test), **values})
    return pd.DataFrame(table, index=pd.Index(names, name="fold"))


def _row_weights(weights: Any, frame: pd.DataFrame) -> Array | None:
    """Frequency weights of all rows; `Model` has read them before, and refused what cannot be used."""
    if weights is None:
        return None
    return np.asarray(frame[weights] if isinstance(weights, str) else weights, dtype=np.float64)


def read_folds(
    folds: Any, model: Model, frame: pd.DataFrame, rng: np.random.Generator
) -> tuple[list[Any], list[IntArray]]:
    """Names of the folds, and the places of their rows among all rows; rows that a fit drops are in none.

    Raises
    ------
    SpecError
        If they cannot be read, or are fewer than two.
    """
    kept = model.training.kept
    used, n = np.flatnonzero(kept), len(kept)
    if hasattr(folds, "split") and not isinstance(folds, str):
        parts = [used[test] for test in _split(folds, len(used))]
        return list(range(1, len(parts) + 1)), parts
    if isinstance(folds, (int, np.integer)) and not isinstance(folds, bool):
        if not 2 <= folds <= len(used):
            raise SpecError(f"folds={folds}: from 2 to {len(used)}, the number of rows, is allowed.")
        at = deal(model.training.response.lower == model.training.response.upper, int(folds), rng)
        return list(range(1, int(folds) + 1)), [used[at == k] for k in range(int(folds))]
    if isinstance(folds, str):
        if folds not in frame.columns:
            raise SpecError(f"folds={folds!r}: the data have no such column.")
        folds = frame[folds]
    flat = pd.api.types.is_list_like(folds) and all(pd.api.types.is_scalar(label) for label in folds)
    labels = pd.Series(np.asarray(folds)) if flat else None
    if labels is None or len(labels) != n:
        raise SpecError(f"folds= takes a number, a column, an array of {n} labels, or an object with split().")
    if labels[kept].isna().any():
        raise SpecError("folds= has missing labels in rows that are used.")
    code, levels = pd.factorize(labels[kept], sort=True)
    if len(levels) < 2:
        raise SpecError("folds= needs two different labels at least.")
    return list(levels), [used[code == k] for k in range(len(levels))]


def _split(splitter: Any, n: int) -> list[IntArray]:
    """Test rows of each fold, by an object with ``split``.

    Raises
    ------
    SpecError
        If it needs more than a number of rows, or trains on others than all the rest.
    """
    try:
        pairs = [(np.asarray(train), np.sort(test)) for train, test in splitter.split(np.zeros((n, 1)))]
    except (TypeError, ValueError) as error:
        raise SpecError(
            f"folds={splitter!r} does not split {n} rows ({error}); it gets no response and no groups: give labels, "
            "as folds='hospital', to keep groups together."
        ) from error
    if any(not np.array_equal(np.setdiff1d(np.arange(n), test), np.unique(train)) for train, test in pairs):
        raise SpecError(
            f"folds={splitter!r} trains on some of the other rows only, and here all others are trained on."
        )
    return [test for _, test in pairs]


def deal(exact: Any, folds: int, rng: np.random.Generator) -> IntArray:
    """Fold of each row (n,): rows are shuffled and dealt, censored ones after exact ones, so that all folds are alike.

    Examples
    --------
    >>> at = deal(np.arange(10) < 4, 2, np.random.default_rng(0))
    >>> np.bincount(at[:4]).tolist(), np.bincount(at[4:]).tolist()
    ([2, 2], [3, 3])
    """
    order = rng.permutation(len(exact))
    order = order[np.argsort(~exact[order], kind="stable")]
    out = np.empty(len(exact), dtype=np.intp)
    out[order] = np.arange(len(exact)) % folds
    return out
