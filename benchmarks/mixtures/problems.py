"""The experiments of Kohjima, Matsubayashi and Toda (2019), section 6.1: three truths, and two survival data sets.

Rows are ends (lower, upper], equal where the value was seen. The priors are the paper's, in the units of the data.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

import tobitgp as tg
from tobitgp.mixture import Predictive
from tobitgp.mixture.count_laws import PoissonLaw
from tobitgp.mixture.law import Law, Normal, Weibull

Ends = tuple[np.ndarray, np.ndarray]
GAUSSIAN_PRIOR = {"mean": 0.0, "tau": 1e-3, "a": 1.0, "b": 1.0}
FOLDS = 5


@dataclass(frozen=True)
class Truth:
    """Two components of equal weight, seen between two limits.

    Attributes
    ----------
    name : str
        As in the paper.
    family : str
        Of the components.
    law : Law
        The components.
    limits : (float, float)
        Values of at most the first are left-censored, those above the second right-censored.
    prior : dict
    """

    name: str
    family: str
    law: Law
    limits: tuple[float, float]
    prior: dict[str, float]

    def draw(self, n: int, rng: np.random.Generator) -> Ends:
        """Ends of n rows."""
        return censor(Predictive(np.full(2, 0.5), self.law).rvs(n, rng), *self.limits)

    def log_density(self, rows: Ends) -> np.ndarray:
        """Log density or mass of rows under the truth."""
        return np.asarray(Predictive(np.full(2, 0.5), self.law).log_mass(*rows))


TRUTHS = (
    Truth("gmm", "gaussian", Normal(np.array([-3.0, 3.0]), np.ones(2)), (-4.0, 4.0), GAUSSIAN_PRIOR),
    Truth("emm", "exponential", Weibull(1 / np.array([0.3, 3.0]), np.ones(2)), (-np.inf, 4.0), {"a": 2.0, "b": 1.0}),
    Truth("pmm", "poisson", PoissonLaw(np.array([1.0, 5.0])), (-np.inf, 6.0), {"a": 1.0, "b": 1.0}),
)
SURVIVAL = {"rossi": ("rossi", "week"), "ncctg": ("lung", "time")}


def censor(y: np.ndarray, low: float, high: float) -> Ends:
    """Ends of values seen in (low, high]."""
    lower = np.where(y <= low, -np.inf, np.minimum(y, high))
    upper = np.where(y > high, np.inf, np.maximum(y, low))
    return lower, upper


def survival(name: str) -> Ends:
    """Times of a data set, less their mean and over their standard deviation, those of censored rows among them."""
    data, column = SURVIVAL[name]
    frame = tg.datasets.load(data)
    time, event = frame[column].to_numpy(float), frame["event"].to_numpy() == 1
    z = (time - time.mean()) / time.std()
    return z, np.where(event, z, np.inf)


def folds(rows: Ends, share: float) -> Iterator[tuple[Ends, Ends]]:
    """Training and test rows of five folds; a share of the training rows, the same ones in every call."""
    order = np.random.default_rng(0).permutation(len(rows[0]))
    for i in range(FOLDS):
        test = order[i::FOLDS]
        train = np.setdiff1d(order, test)
        train = np.random.default_rng(i + 1).permutation(train)[: round(share * len(train))]
        yield take(rows, train), take(rows, test)


def take(rows: Ends, at: np.ndarray) -> Ends:
    """Some rows."""
    return rows[0][at], rows[1][at]
