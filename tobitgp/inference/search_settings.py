"""How to search for hyper-parameters, and what a search reports."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tobitgp.inference.batches import Batches
from tobitgp.typing import Array


class Step(NamedTuple):
    """What a search reports after each evaluation."""

    stage: str
    evaluations: int  # in this stage so far
    value: float  # log posterior density found
    passes: int = 0  # over the data, in this stage so far
    rows: int = 0  # of each pass
    left: int | None = None  # evaluations that usually follow until the end of the search


OnStep = Callable[[Step], None]


@dataclass(frozen=True, slots=True)
class Settings:
    """How to search."""

    integrate: bool | None = None  # average over hyper-parameters; None: where rows and nodes are few enough
    n_starts: int = 2
    max_iter: int = 200  # of each L-BFGS run
    tol: float | None = None  # nats a Newton step may still gain at the end
    rng: int | np.random.Generator | None = None  # chooses the rows of the first search where there are many
    near: Array | None = None  # (k, k), covariance of theta about its start, where that is a maximum of nearly the same
    batches: Batches | None = None  # steps by batches of rows, where asked for
