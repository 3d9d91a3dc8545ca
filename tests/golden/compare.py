"""Differences between recorded answers and those of today, and which of them are allowed."""

from __future__ import annotations

import difflib
import math
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

VALUE, ERROR = 1e-10, 1e-6
FLOOR = 30  # times what a last digit of the data changes an answer by, a difference says nothing
# Standard errors, ends of intervals, and what is made of them or of draws: by the answer, and by the column.
ERROR_ANSWERS = re.compile(
    r"bse|tvalues|pvalues|cov_params|conf_int|influence|sample|log likelihood draws|loo|waic|k_hat|check|wald_test"
    r"|posterior covariance|predictive rvs|d calibration"
)
ERROR_COLUMNS = re.compile(r"(.* / )?(se|sd|std err|mean_se|obs_ci_.*|mean_ci_.*|lower|upper|z|p|P>\|z\||\[.*|.*\])")
# Rows of these are quantities of their own, each with its own size.
BY_ROW = re.compile(r"params|bse|tvalues|pvalues|summary|conf_int|components|t_test|check")

Answers = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class Defended:
    """What may differ and why, and other names for what was recorded (defended.toml)."""

    differences: tuple[Mapping[str, Any], ...] = ()
    columns: Mapping[str, str] | None = None
    words: Mapping[str, str] | None = None

    @classmethod
    def read(cls, path: Path) -> Defended:
        read = tomllib.loads(path.read_text())
        return cls(tuple(read.get("defended", ())), read.get("columns"), read.get("words"))

    def text(self, text: str) -> str:
        """A text with its words of today, without rules and runs of blanks."""
        for pattern, word in (self.words or {}).items():
            text = re.sub(pattern, word, text)
        return "\n".join(" ".join(line.split()) for line in re.sub(r"[=-]{4,}", "", text).splitlines())

    def reason(self, difference: Difference) -> str | None:
        for entry in self.differences:
            named = all(
                fnmatchcase(getattr(difference, part), entry.get(part, "*")) for part in ("fit", "answer", "column")
            )
            if named and difference.relative <= entry.get("within", math.inf):
                return str(entry["reason"])
        return None


@dataclass(frozen=True)
class Difference:
    """Of one column of an answer (or of a text, or of whether there is an answer), infinite where it is no number."""

    fit: str
    answer: str
    column: str
    relative: float
    absolute: float
    words: str = ""

    @property
    def tolerance(self) -> float:
        error = ERROR_ANSWERS.match(self.answer) or ERROR_COLUMNS.fullmatch(self.column)
        return ERROR if error else VALUE


def differences(old: Answers, new: Answers, defended: Defended) -> Iterator[Difference]:
    """One for each column of every answer, 0 where nothing differs."""
    for fit, answers in old.items():
        if "fit" in new[fit] and "fit" not in answers:
            yield Difference(fit, "fit", "", math.inf, math.inf, new[fit]["fit"]["message"])
            continue
        for answer, then in answers.items():
            for column, relative, absolute, words in differ(answer, then, new[fit].get(answer, "gone"), defended):
                yield Difference(fit, answer, column, relative, absolute, words)


Parts = Iterator[tuple[str, float, float, str]]


def differ(answer: str, then: Any, now: Any, defended: Defended) -> Parts:
    if now == "gone":
        yield "", math.inf, math.inf, "no answer now"
        return
    refused, refuses = (isinstance(v, dict) and "raises" in v for v in (then, now))
    if refused and refuses:
        yield "", 0.0, 0.0, ""
    elif refused or refuses:
        said = "now answered" if refused else f"now {now['raises']}: {now['message']}"
        yield "", math.inf, math.inf, said
    elif isinstance(then, dict) and isinstance(now, dict):
        yield from differ_tables(answer, then, now, defended)
    elif is_number(then) and is_number(now):
        yield "", *apart([then], [now], [abs(then)]), ""
    else:
        a, b = (defended.text(str(v)) for v in (then, now))
        lines = difflib.unified_diff(a.splitlines(), b.splitlines(), "then", "now", lineterm="", n=0)
        yield ("", 0.0, 0.0, "") if a == b else ("", math.inf, math.inf, "\n".join(lines))


def differ_tables(answer: str, then: dict[str, Any], now: dict[str, Any], defended: Defended) -> Parts:
    rows = [[defended.text(row) for row in table["rows"]] for table in (then, now)]
    if rows[0] != rows[1]:
        yield "rows", math.inf, math.inf, f"rows {rows[0]} are now {rows[1]}"
        return
    columns = dict(now["values"])
    least = 0.01 * size([v for _, column in then["values"] for v in column])
    for name, old in then["values"]:
        renamed = " / ".join((defended.columns or {}).get(part, part) for part in name.split(" / "))
        new = columns.get(name, columns.get(renamed))
        if new is None:
            yield name, math.inf, math.inf, f"column gone; there are {list(columns)}"
        elif all(map(is_number, [*old, *new])):
            sizes = [abs(a) for a in old] if BY_ROW.match(answer) else [max(size(old), least)] * len(old)
            yield name, *apart(old, new, sizes), ""
        else:
            a, b = ([defended.text(str(v)) for v in column] for column in (old, new))
            words = "; ".join(f"{x!r} is now {y!r}" for x, y in zip(a, b, strict=True) if x != y)
            yield name, *((math.inf, math.inf) if words else (0.0, 0.0)), words


def is_number(value: Any) -> bool:
    return isinstance(value, int | float)


def size(values: list[Any]) -> float:
    return max((abs(v) for v in values if is_number(v) and math.isfinite(v)), default=0.0)


def apart(old: list[float], new: list[float], sizes: list[float]) -> tuple[float, float]:
    """Largest difference, relative to the sizes (where one is 0, to 1), and as it is."""
    relative = absolute = 0.0
    for a, b, scale in zip(old, new, sizes, strict=True):
        if a == b or (math.isnan(a) and math.isnan(b)):
            continue
        gap = abs(a - b) if math.isfinite(a) and math.isfinite(b) else math.inf
        absolute, relative = max(absolute, gap), max(relative, gap / (scale or 1.0))
    return relative, absolute


def floors(old: Answers, nudged: Iterable[Answers], defended: Defended) -> dict[str, dict[str, dict[str, float]]]:
    """By fit, answer and column, relative: what the last digits of the data change, where tolerances are near it."""
    found: dict[str, dict[str, dict[str, float]]] = {}
    for d in (d for new in nudged for d in differences(old, new, defended)):
        if d.relative * FLOOR > d.tolerance:
            columns = found.setdefault(d.fit, {}).setdefault(d.answer, {})
            columns[d.column] = max(float(f"{d.relative:.1e}"), columns.get(d.column, 0.0))
    return found


def judge(found: list[Difference], floor: Mapping[str, Any], defended: Defended, show: int) -> bool:
    """Print the table and the count, and say whether all that differs is allowed."""
    kinds: dict[str, list[Difference]] = {k: [] for k in ("equal", "within", "floor", "defended", "beyond")}
    for d in found:
        least = floor.get(d.fit, {}).get(d.answer, {}).get(d.column, 0.0)
        if d.relative == 0:
            kinds["equal"].append(d)
        elif d.relative <= d.tolerance:
            kinds["within"].append(d)
        elif d.relative <= FLOOR * least:
            kinds["floor"].append(d)
        else:
            kinds["defended" if defended.reason(d) else "beyond"].append(d)
    for kind in ("floor", "defended", "beyond"):
        worst = sorted(kinds[kind], key=lambda d: -d.relative / d.tolerance)
        print(f"\n{HEADS[kind]}: {len(worst)}" + (f", the worst {show}" if len(worst) > show else ""))
        for d in worst[:show]:
            print(f"  {d.answer:40} {d.column:20} {d.fit:32} {d.relative:9.1e} {d.absolute:9.1e}", end="")
            print(f"  {defended.reason(d)}" if kind == "defended" else "")
            if d.words and kind == "beyond":
                print("\n".join(f"      {line}" for line in d.words.splitlines()[:20]))
    counts = ", ".join(f"{len(ds)} {HEADS[kind]}" for kind, ds in kinds.items())
    print(f"\n{len(found)} columns and texts: {counts}.")
    return not kinds["beyond"]


HEADS = {
    "equal": "equal",
    "within": "within tolerance",
    "floor": "within what the last digits of the data change",
    "defended": "defended",
    "beyond": "beyond tolerance",
}
