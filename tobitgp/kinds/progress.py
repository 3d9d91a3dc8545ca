"""Progress bars of long fits."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tobitgp.errors import SpecError
from tobitgp.inference.fitted import OnStep, Step

if TYPE_CHECKING:
    from tqdm.std import tqdm

_QUIET = 1.0  # seconds of a fit without a bar


@contextmanager
def progress_bar(
    progress: bool | Callable[[str, int, float], None],
    objective: str = "log density",
    unit: str = "evaluations",
    total: int | None = None,
) -> Iterator[OnStep | None]:
    """Give what a fit should call after each evaluation; one bar for all stages if the total is known."""
    if progress is False or progress is None:
        yield None
    elif callable(progress):
        yield lambda step: progress(*step[:3])
    elif progress is not True:
        raise SpecError(f"progress={progress!r}: progress must be True, False or a callable.")
    else:
        bars = _Bars(objective, unit, total)
        try:
            yield bars.show
        finally:
            bars.close()


class _Bars:
    """A bar for each stage, the last of which is shown."""

    def __init__(self, objective: str, unit: str, total: int | None) -> None:
        self.objective, self.unit, self.total = objective, unit, total
        self.began = time.monotonic()
        self.stage = ""
        self.bar: tqdm[Any] | None = None

    def show(self, step: Step) -> None:
        """Update the bar, after the first second."""
        if time.monotonic() - self.began < _QUIET:
            return
        total = self.total or (step.evaluations + step.left if step.left else None)
        new = self.bar is None or (step.stage != self.stage and self.total is None)
        if self.bar is None or new:
            self.close()
            self.bar = self._new_bar(step, total)
        self.stage, self.bar.total = step.stage, total
        passes = f"{step.passes} passes over {step.rows:,} rows, " if step.passes else ""
        self.bar.set_description_str(step.stage, refresh=False)
        self.bar.set_postfix_str(f"{passes}{self.objective} {step.value:.3f}", refresh=False)
        self.bar.update(step.evaluations - self.bar.n)
        if new:
            self.bar.refresh()

    def _new_bar(self, step: Step, total: int | None) -> tqdm[Any]:
        """A bar that is erased at its end."""
        from tqdm.auto import tqdm

        start = 0 if self.total else step.evaluations
        return tqdm(desc=step.stage, initial=start, total=total, unit=f" {self.unit}", leave=False, miniters=1)

    def close(self) -> None:
        """Erase the bar."""
        if self.bar is not None:
            self.bar.close()
