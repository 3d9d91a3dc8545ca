"""How often the evidence finds the number of groups, under the default prior and the earlier fixed prior."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import gammaln

from benchmarks.mixtures.designs import NUMBERED, Design
from benchmarks.mixtures.tables import Ends, Row
from tobitgp.mixture import VBCM, fit_mixture
from tobitgp.mixture.arranged_rows import read_rows
from tobitgp.mixture.array_fit import resolve_mixture_family
from tobitgp.mixture.starts import choose_units, crude_values

METHOD = VBCM(n_init=4)


def fixed_prior(family: str, rows: Ends, k: int) -> dict[str, float]:
    """The fixed prior of one of k components that was the default until scales were learnt."""
    kind = resolve_mixture_family(family)
    raw = read_rows(kind, *rows)
    shift, scale = choose_units(kind, raw)
    if family in ("gaussian", "lognormal"):
        return {"mean": shift, "tau": 1e-3, "a": 1.0, "b": 0.5 * scale**2 / k**2}
    if family == "poisson":
        return {"a": 1.0, "b": 1.0 / float(np.mean(crude_values(kind, raw)))}
    return {"a": 2.0, "b": scale} | ({"b": 1.0, "sd_log_shape": 1.0} if family == "weibull" else {})


def best_number(design: Design, rows: Ends, seed: int, *, fixed: bool) -> int:
    """The number of components of the highest evidence, of 1 to two more than there are."""
    values = []
    for k in range(1, design.k + 3):
        prior = fixed_prior(design.family, rows, k) if fixed else None
        fit = fit_mixture(*rows, family=design.family, k=k, method=METHOD, prior=prior, rng=seed)
        values.append(fit.elbo + gammaln(k + 1.0))
    return 1 + int(np.argmax(values))


def number_table(sets: int, names: Sequence[str] = tuple(NUMBERED)) -> list[Row]:
    """Share of data sets with the right number, and the number found on average, under both priors."""
    rows: list[Row] = []
    for name in names:
        design, row = NUMBERED[name], dict[str, object]()
        for prior in ("default", "fixed"):
            found = [best_number(design, design.draw(seed), seed, fixed=prior == "fixed") for seed in range(sets)]
            row[prior] = f"{np.mean(np.array(found) == design.k):.2f}"
            row[f"{prior}, mean number"] = f"{np.mean(found):.2f}"
        of = {"design": name, "family": design.family, "groups": design.k, "n": design.n}
        rows.append({**of, "censored": f"{design.censored:.0%}", **row})
    return rows


def overall(rows: Sequence[Row]) -> Row:
    """The last row of the table: means over the designs."""
    means = {prior: f"{np.mean([float(str(row[prior])) for row in rows]):.3f}" for prior in ("default", "fixed")}
    return {column: means.get(column, "") for column in rows[0]} | {"design": "all"}
