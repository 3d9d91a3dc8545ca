"""What a fit of any kind answers, as numbers in the unit of the first fit, and whether two fits answer alike."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

import tobitgp as tg
from tobitgp.typing import Array

POINTWISE = ("prob", "terms", "sigma")
WHATS = ("median", "latent", "uncensored", "observed", "quantile", *POINTWISE)
EXACT, SETTLED, LEAST, NATS, DRAWS = 1e-6, 0.02, 1e-4, 0.01, 0.3
DRAWN = ("posterior", "influence", "leave-one-out")
TIMES = np.array([1.0, 2.0])


@dataclass(frozen=True)
class Scale:
    """The response of a fit as ``unit * first + origin`` of that of the first fit; a negative unit mirrors it."""

    unit: float = 1.0
    origin: float = 0.0

    def of(self, first: Any) -> Any:
        return self.unit * first + self.origin


FIRST = Scale()


def frame(answer: Any) -> pd.DataFrame:
    table = pd.DataFrame(answer)
    return table.set_axis([str(column) for column in table.columns], axis=1)


def attempt(ask: Callable[[], Any]) -> Any:
    """An answer, or the name of the error by which it is refused."""
    try:
        return ask()
    except (tg.errors.TobitGPError, AttributeError, TypeError) as refused:
        return type(refused).__name__


def predicted(res: Any, new: pd.DataFrame, scale: Scale, *, log_time: bool) -> Iterator[tuple[str, Any]]:
    mirrored = scale.unit < 0
    for what in WHATS:
        side = "above" if mirrored else "below"
        asked = {"quantile": {"q": 0.8 if not mirrored else 0.2}, "prob": {side: scale.of(1.5)}}.get(what, {})
        answer = attempt(lambda what=what, asked=asked: res.predict(new, what, interval=0.9, **asked))
        yield what, answer if isinstance(answer, str) else in_first_unit(what, frame(answer), scale, log_time=log_time)


def in_first_unit(what: str, table: pd.DataFrame, scale: Scale, *, log_time: bool) -> pd.DataFrame:
    spread = [name for name in table if re.search(r"\bse\b", name)]
    table = table.astype(float)
    unit, origin = scale.unit, 0.0 if what in POINTWISE else scale.origin
    if what == "prob" or (log_time and what == "sigma"):
        return table
    if log_time and what in ("latent", "terms"):
        scale = Scale(1.0, np.log(scale.unit))
        unit, origin = 1.0, scale.origin
    if what == "terms":  # of which the intercept alone has an origin
        origin = np.where(["Intercept" in name and name not in spread for name in table], scale.origin, 0.0)
    found = (table - origin) / unit
    found[spread] = table[spread] / abs(unit)
    if unit < 0 and what != "sigma":
        found.columns = [swapped(name) for name in found]
        found = found[list(table)]
    return found.abs() if what == "sigma" else found


def swapped(name: str) -> str:
    ends = {"lower": "upper", "upper": "lower"}
    return re.sub("lower|upper", lambda found: ends[found[0]], name)


def curves(res: Any, new: pd.DataFrame, scale: Scale) -> Iterator[tuple[str, Any]]:
    for what in () if scale.unit < 0 else ("survival_function", "cumulative_hazard", "hazard", "cumulative_incidence"):
        answer = attempt(lambda what=what: getattr(res, f"predict_{what}")(new, scale.of(TIMES), interval=0.9))
        factor = scale.unit if what == "hazard" else 1.0
        yield f"curve: {what}", answer if isinstance(answer, str) else frame(answer) * factor


def tests(res: Any) -> Iterator[tuple[str, Any]]:
    for name in ("anova", "proportionality", "hazard_ratios"):
        answer = attempt(lambda name=name: getattr(res, name)())
        yield name, answer if isinstance(answer, str) else frame(answer).select_dtypes("number")


def criteria(res: Any, jacobian: float) -> Iterator[tuple[str, Any]]:
    for name in ("llf", "log_evidence"):
        answer = attempt(lambda name=name: getattr(res, name))
        yield name, answer if answer is None or isinstance(answer, str) else np.array([float(answer) + jacobian])
    for name in ("waic", "loo"):
        answer = attempt(lambda name=name: getattr(res, name)())
        yield (
            name,
            answer
            if isinstance(answer, str)
            else np.array([answer.elpd + jacobian, answer.p])
            if answer.n_bad == 0
            else None,
        )


def answers(
    res: Any, new: pd.DataFrame, scale: Scale = FIRST, *, jacobian: float = 0.0, log_time: bool = False
) -> dict[str, Any]:
    """Answers by name: tables of numbers in the unit of the first fit, or names of errors."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = dict(criteria(res, jacobian)) | dict(tests(res)) | dict(curves(res, new, scale))
        found |= dict(predicted(res, new, scale, log_time=log_time))
        names = [str(name) for name in res.params.index]
        errors = res.summary_frame()["std err"].to_numpy(float)
        found["params"] = pd.DataFrame({"estimate": res.params.to_numpy(float), "se": errors}, names)
        found["verdicts"] = attempt(lambda: verdicts(res))
    return found


def verdicts(res: Any) -> list[str]:
    """What the diagnostics say that are not means of draws, in the order of their names."""
    return sorted(f"{each.name}: {each.verdict == 'good'}" for each in res.check().findings if each.name not in DRAWN)


def tolerance(name: str, value: pd.DataFrame, *, exact: bool) -> Array:
    """What may lie between two answers: of posteriors a share of their standard errors, or of half-widths of bands."""
    size = np.abs(value.to_numpy(float))
    if name in ("waic", "loo"):  # means of draws
        return np.full(size.shape, DRAWS)
    if name in ("llf", "log_evidence") and not exact:
        return np.full(size.shape, NATS)
    if exact:
        return EXACT * (1.0 + size)
    found = SETTLED * (0.1 + size)
    for i, column in enumerate(value):
        known = [
            re.sub("estimate|mean|median|lower|upper|exp.coef.", each, str(column)) for each in ("se", "lower", "upper")
        ]
        if known[0] in value:
            found[:, i] = SETTLED * value[known[0]]
        elif known[1] in value and known[2] in value:
            found[:, i] = SETTLED * (value[known[2]] - value[known[1]]) / 3.3
    return np.where(np.isfinite(found), np.maximum(found, LEAST * (0.01 + size)), SETTLED)


def differences(
    found: dict[str, Any], expected: dict[str, Any], *, exact: bool, skip: tuple[str, ...] = ()
) -> list[str]:
    """Answers that differ, each with the largest difference as a multiple of what may lie between."""
    told = []
    for name, value in expected.items():
        other = found.get(name)
        if name.partition(":")[0] in skip or (name in ("waic", "loo") and (value is None or other is None)):
            continue
        if value is None or isinstance(value, (str, list)) or isinstance(other, (str, list)):
            if type(value) is not type(other) or value != other:
                told.append(f"{name}: {other} instead of {value}")
            continue
        a, b = pd.DataFrame(other), pd.DataFrame(value)
        if a.shape != b.shape:
            told.append(f"{name}: shape {a.shape} instead of {b.shape}")
            continue
        with np.errstate(invalid="ignore"):
            gap = np.abs(a.to_numpy(float) - b.to_numpy(float))
            same = (a.to_numpy() == b.to_numpy()) | (np.isnan(a.to_numpy(float)) & np.isnan(b.to_numpy(float)))
            ratio = np.where(same, 0.0, gap / tolerance(name, b, exact=exact))
        if not np.all(ratio <= 1.0):
            worst = np.unravel_index(np.argmax(np.nan_to_num(ratio, nan=np.inf)), ratio.shape)
            numbers = f"{a.to_numpy()[worst]:.9g} instead of {b.to_numpy()[worst]:.9g}"
            told.append(f"{name}[{worst}]: {numbers} ({ratio[worst]:.3g} tolerances)")
    return told
