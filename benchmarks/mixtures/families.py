"""Coverage of 95% intervals for separated groups of every family, under the default prior."""

from __future__ import annotations

import numpy as np

from benchmarks.mixtures.designs import EARLY_FAILURES, SEPARATED, Design
from benchmarks.mixtures.tables import Row
from tobitgp.mixture import VBCM, fit_mixture, intervals, linear_response

CENSORED_AT = 4000.0  # early failures
CASES = {
    f"{family}, {censored:.0%} censored": Design(family, groups, 100, censored=censored)
    for family, groups in SEPARATED.items()
    for censored in (0.0, 0.4)
} | {f"early failures, {n:,} rows": Design("weibull", EARLY_FAILURES, n, (0.2, 0.8)) for n in (800, 4000)}


def hits(case: str, sets: int) -> np.ndarray:
    """Which intervals held the truth, (sets, p)."""
    design = CASES[case]
    out = np.empty((sets, len(design.truth)), dtype=bool)
    for seed in range(sets):
        lower, upper = design.draw(seed)
        if design.groups == EARLY_FAILURES:
            lower, upper = np.minimum(lower, CENSORED_AT), np.where(upper > CENSORED_AT, np.inf, upper)
        fit = fit_mixture(lower, upper, family=design.family, method=VBCM(n_init=3), rng=seed)
        low, high = intervals(fit, linear_response(fit, lower, upper)).T
        out[seed] = (low <= design.truth) & (design.truth <= high)
    return out


def family_table(sets: int) -> list[Row]:
    """Coverage of each parameter."""
    rows: list[Row] = []
    for case, design in CASES.items():
        shares = hits(case, sets).mean(axis=0).reshape(-1, design.k)
        row: dict[str, object] = dict.fromkeys(("weight", "first parameter", "second parameter"), "")
        row |= {name: ", ".join(f"{share:.3f}" for share in of) for name, of in zip(row, shares, strict=False)}
        rows.append({"case": case, "n": design.n, **row})
    return rows
