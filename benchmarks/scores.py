"""Scores of a predicted distribution of f, a weighted mixture of normals at each test row, against the true f."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import logsumexp, ndtr

if TYPE_CHECKING:
    import tobitgp as tg


def term_coverage(res: tg.GPResults, terms: dict[str, np.ndarray], level: float = 0.95) -> dict[str, float]:
    """Share of the training rows in which a term's band holds its true part."""
    table = res.predict(what="terms", interval=level)
    inside = {name: table[name]["lower"].le(part) & table[name]["upper"].ge(part) for name, part in terms.items()}
    return {name: float(rows.mean()) for name, rows in inside.items()}


def scores(mean: np.ndarray, sd: np.ndarray, weight: np.ndarray, truth: np.ndarray) -> dict[str, float]:
    """RMSE of the mean, mean negative log density of the truth, and coverage of the central 95% interval.

    ``mean`` and ``sd`` are (J, n) over mixture components, ``weight`` (J,), ``truth`` (n,).
    """
    z = (truth - mean) / sd
    density = logsumexp(-0.5 * z * z - np.log(sd) - 0.5 * np.log(2 * np.pi), b=weight[:, None], axis=0)
    rank = weight @ ndtr(z)
    return {
        "rmse": float(np.sqrt(np.mean((weight @ mean - truth) ** 2))),
        "mnll": float(-density.mean()),
        "cover": float(np.mean((rank > 0.025) & (rank < 0.975))),
    }
