"""Fitted models side by side by how well they predict rows that they have not seen."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from tobitgp.errors import SpecError
from tobitgp.results.comparable import check_same_rows, subject_of
from tobitgp.results.trust.elpd import Elpd, spread, warn_of
from tobitgp.results.trust.validation import elpd_of
from tobitgp.typing import Array

COLUMNS = ["value", "diff", "se_diff", "weight", "kind", "n", "converged"]
_SETTLED = 1e-13


def compare_elpd(fits: dict[str, Any], by: str) -> pd.DataFrame:
    """Table of models by ``"loo"`` or ``"waic"``, best first; see :func:`tobitgp.compare`."""
    found = {name: _elpd_of(fit, name, by) for name, fit in fits.items()}
    check_same_rows({name: subject_of(fit) for name, fit in fits.items()})
    for name, elpd in found.items():
        warn_of(elpd, f" of {name!r}")
    used = next(iter(found.values())).pointwise["elpd"].notna().to_numpy()
    weight = next(iter(found.values())).pointwise["weight"].to_numpy()[used]
    rows = np.column_stack([elpd.pointwise["elpd"].dropna().to_numpy() for elpd in found.values()])
    value = np.array([elpd.elpd for elpd in found.values()])
    best = rows[:, np.argmax(value)]
    columns = (
        value,
        value - value.max(),
        [spread(column - best, weight) for column in rows.T],
        stacking_weights(rows, weight),
        [elpd.kind for elpd in found.values()],
        whole(np.array([fit.nobs for fit in fits.values()], dtype=np.float64)),
        [bool(fit.converged) for fit in fits.values()],
    )
    table = pd.DataFrame(dict(zip(COLUMNS, columns, strict=True)), index=pd.Index(list(fits), dtype=object))
    return table.iloc[np.argsort(-value, kind="stable")]


def _elpd_of(fit: Any, name: str, by: str) -> Elpd:
    try:
        return elpd_of(fit, by)
    except SpecError as error:
        raise SpecError(f"by={by!r} is not to be had of {name!r}: {error}") from None


def stacking_weights(log_density: Array, weight: Array) -> Array:
    r"""Weights of models whose mixture predicts best.

    They maximise :math:`\sum_n c_n \log \sum_k w_k p_{nk}` over the simplex, which is concave: (CHK9) of the theory
    pages.

    Shapes: log_density (n, K), weight (n,); gives (K,).
    """
    from scipy.optimize import minimize

    K = log_density.shape[1]
    if K == 1:
        return np.ones(1)
    p = np.exp(log_density - log_density.max(axis=1, keepdims=True))
    c = weight / weight.sum()

    def loss(w: Array) -> tuple[float, Array]:
        mixed = np.maximum(p @ w, np.finfo(np.float64).tiny)
        return -float(c @ np.log(mixed)), -(p / mixed[:, None]).T @ c

    simplex: Any = {"type": "eq", "fun": lambda w: w.sum() - 1.0, "jac": np.ones_like}
    found = minimize(
        loss,
        np.full(K, 1.0 / K),
        jac=True,
        method="SLSQP",
        bounds=[(0.0, 1.0)] * K,
        constraints=simplex,
        options={"ftol": _SETTLED, "maxiter": 1000},
    )
    w = np.clip(found.x, 0.0, None)
    return np.asarray(w / w.sum())


def whole(n: Array) -> Array:
    """Sums of frequency weights, as integers where they all are."""
    return n.astype(np.intp) if (n == n.round()).all() else n
