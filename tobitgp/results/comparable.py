"""Whether two models speak of the same rows, the same response, and in the same kind of evidence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from tobitgp.data.prepare import TrainingData
from tobitgp.distributions.power_normal import TINY
from tobitgp.errors import SpecError
from tobitgp.results.views import COUNTS
from tobitgp.typing import Array

_KNOWN = ("lower", "upper", "weight")
_WINDOW = ("entry", "exit")


class Subject(NamedTuple):
    """Rows and response of a model."""

    training: TrainingData | None  # none where the rows were not kept
    counts: Mapping[str, int]  # as in TrainingData
    n: float  # frequency weights summed
    columns: tuple[str, ...]  # of the linear part
    modelled: bool  # whether a row is modelled as censored
    counting: bool = False  # whether the family gives counts probabilities; the others have densities

    @property
    def treatments(self) -> frozenset[str]:
        """Treatments of the censored rows; empty if there are none."""
        if not any(self.counts[kind] for kind in COUNTS[1:4]):
            return frozenset()
        if self.modelled:
            return frozenset({"model"})
        if self.training is None:
            return frozenset({"drop", "ignore"})
        return frozenset({"drop" if len(self.training.response.lower) == self.counts["exact"] else "ignore"})


def subject_of(results: Any) -> Subject:
    """Rows and response of a fitted model."""
    columns, parts = tuple(results.model.exog_names), results.parts
    modelled, counting = parts.facts.any_censored, is_of_counts(parts.family)
    return Subject(parts.training, parts.facts.counts, results.nobs, columns, modelled, counting)


def is_of_counts(family: Any) -> bool:
    """Whether a family of any kind gives counts probabilities; the others have densities."""
    return getattr(family, "support", None) == "counts"


def check_same_rows(subjects: Mapping[str, Subject]) -> None:
    """Raise an error for models of different rows, responses or censored rows, or of counts and values.

    For models that hold no rows, only their counts are compared.
    """
    held = {name: subject for name, subject in subjects.items() if subject.training is not None}
    checks = (_refuse_measure, _refuse_treatment, _refuse_counts)
    for group, check in (*((subjects, check) for check in checks), (held, _refuse_response)):
        names = iter(group)
        first = next(names, "")
        for name in names:
            check(first, group[first], name, group[name])


def check_same_events(fits: Mapping[str, Any]) -> None:
    """Raise an error for fits of other rows, or of other causes of events."""
    every = {name: fit._subjects for name, fit in fits.items()}
    first, one = next(iter(every.items()))
    for name, subjects in every.items():
        if list(subjects) != list(one):
            causes = [", ".join(map(repr, filter(None, each))) or "one event" for each in (one, subjects)]
            raise SpecError(f"{first!r} and {name!r} have different causes: {causes[0]} and {causes[1]}.")
    for cause in one:
        check_same_rows({name: subjects[cause] for name, subjects in every.items()})


def check_kinds(kinds: Mapping[str, str], by: str) -> None:
    """Raise an error for evidence of several kinds."""
    examples: dict[str, str] = {}
    for name, kind in kinds.items():
        examples.setdefault(kind, name)
    if len(examples) > 1:
        listed = ", ".join(f"{kind!r} of {name!r}" for kind, name in examples.items())
        raise SpecError(
            f"by={by!r} requires evidence of one kind, and these fits have several: {listed}. The methods have "
            f"different approximation errors. Use by='elbo', the same bound for every method, or one method for all."
        )


def _refuse_measure(a: str, first: Subject, b: str, other: Subject) -> None:
    if first.counting != other.counting:
        counts, values = (a, b) if first.counting else (b, a)
        raise SpecError(
            f"{counts!r} has probabilities of whole numbers (family='poisson') and {values!r} has densities, "
            f"which depend on the unit of the response. Neither their evidence nor their likelihoods are comparable. "
            "Compare predictions of held-out rows."
        )


def _refuse_treatment(a: str, first: Subject, b: str, other: Subject) -> None:
    one, two = first.treatments, other.treatments
    if one and two and not one & two:
        written = [" or ".join(map(repr, sorted(treatments))) for treatments in (one, two)]
        raise SpecError(
            f"{a!r} has censored={written[0]} and {b!r} censored={written[1]}. Evidence of different data is "
            f"not comparable. Fit all models with the same censored=, or compare predictions of held-out rows."
        )


def _refuse_counts(a: str, first: Subject, b: str, other: Subject) -> None:
    # How many rows were left out on the way says nothing of those that were used.
    if first.n != other.n or any(first.counts[kind] != other.counts[kind] for kind in COUNTS[:4]):
        raise SpecError(
            f"{a!r} and {b!r} were fitted to different rows ({_counted(first)}; {_counted(other)}). Evidence of "
            f"different data is not comparable. Drop the rows in which any column of either model is missing, "
            f"and fit both again."
        )


def _refuse_response(a: str, first: Subject, b: str, other: Subject) -> None:
    """Rows with the same responses in the same order are treated as the same, whatever their labels."""
    one, two = first.training, other.training
    assert one is not None
    assert two is not None
    for fields, what in ((_KNOWN, "response"), (_WINDOW, "truncation")):
        if all(_same(getattr(one.response, f), getattr(two.response, f)) for f in fields):
            continue
        if not one.index[one.kept].equals(two.index[two.kept]):
            raise SpecError(
                f"{a!r} and {b!r} were fitted to different rows: the numbers of rows are equal, but their "
                f"labels differ, because different rows were dropped or the data differ. Drop the rows in which "
                f"any column of either model is missing, and fit "
                "both again."
            )
        raise SpecError(
            f"{a!r} and {b!r} differ in the {what}: its values, limits or weights are not the same in every "
            f"row. Evidence of different data is not comparable. To compare with a model of log(y), fit y with "
            f"family='lognormal'."
        )


def _same(a: Array, b: Array) -> bool:
    """Whether ends of rows are equal; a power transformation has those at 0 just above it."""
    a, b = (np.where(np.abs(ends) <= TINY, 0.0, ends) for ends in (a, b))
    return np.array_equal(a, b)


def _counted(subject: Subject) -> str:
    words = [f"n = {subject.n:g}", *(f"{subject.counts[kind]} {kind}" for kind in COUNTS if subject.counts[kind])]
    return ", ".join(words)
