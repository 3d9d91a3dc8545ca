"""Many fits, one after the other or in processes, and what they said meanwhile."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tobitgp.engines import single_blas_thread
from tobitgp.errors import SpecError, TobitGPError, user_level

_NAMED = 3
Note = tuple[type[Warning], str]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a call."""

    value: Any  # none where it failed
    error: TobitGPError | None
    notes: tuple[Note, ...]  # (category, text), warnings, each once


def attempt(call: Callable[..., Any], **options: Any) -> Outcome:
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
    return Outcome(value, failure, tuple(notes))


def attempt_all(tasks: Sequence[tuple[Callable[..., Any], dict[str, Any]]], n_jobs: int) -> Iterator[Outcome]:
    """Attempt each call, in order; several at a time in processes of their own with one BLAS thread each."""
    if n_jobs == 1 or len(tasks) < 2:
        yield from (attempt(call, **options) for call, options in tasks)
        return
    from joblib import Parallel, delayed, parallel_config

    with parallel_config(backend="loky", inner_max_num_threads=1):
        # Arrays are sent, not mapped from files: a result must not point into a file that will be gone.
        parallel = Parallel(n_jobs=n_jobs, return_as="generator", max_nbytes=None)
        yield from parallel(delayed(attempt)(call, **options) for call, options in tasks)


def check_jobs(n_jobs: Any) -> int:
    """Processes asked for."""
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, int) or n_jobs == 0:
        raise SpecError(f"n_jobs={n_jobs!r}: a number of processes is needed, or -1 for all cores.")
    return n_jobs


def pass_on(notes: dict[str, tuple[Note, ...]]) -> None:
    """Warn once of what each model said, under the names of those that said it."""
    speakers: dict[Note, list[str]] = {}
    for name, said in notes.items():
        for note in said:
            speakers.setdefault(note, []).append(name)
    for (category, text), names in speakers.items():
        warnings.warn(f"{listed(names)}: {text}", category, stacklevel=user_level())


def listed(names: Sequence[str]) -> str:
    """Some names, and how many more there are."""
    more = len(names) - _NAMED
    return ", ".join(map(repr, names[:_NAMED])) + (f" and {more} more" if more > 0 else "")
