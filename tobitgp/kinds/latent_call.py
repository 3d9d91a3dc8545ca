"""Calls with several responses over latent coordinates."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
import pandas as pd

from tobitgp.data.sources import refuse_partitioned
from tobitgp.errors import ConvergenceWarning, DataError, SpecError, user_level
from tobitgp.formula.latent import LatentFormula, is_latent, read_latent
from tobitgp.inference.fitted import Step
from tobitgp.kinds.call import Call
from tobitgp.kinds.kind import Kind
from tobitgp.kinds.progress import progress_bar
from tobitgp.latent.collapsed_bound import ResponseEnds, posterior_weights
from tobitgp.latent.latent_rows import LatentProcesses
from tobitgp.latent.latent_search import LatentMaximum, divergence, filled, search
from tobitgp.likelihoods import Family, resolve_family
from tobitgp.method_settings import VI, read_whole
from tobitgp.numerics.linear_algebra import breakdown_in_words
from tobitgp.numerics.sampling import generator
from tobitgp.options import FitOptions
from tobitgp.results.latent.latent_parts import LatentParts, LatentTraining, latent_counts
from tobitgp.results.latent.latent_results import LatentResults
from tobitgp.results.multivariate.stacked_rows import ends_of, read_responses
from tobitgp.typing import Array

INDUCING, STARTS, MOST_ITERATIONS, TOLERANCE = 20, 2, 1000, 1e-8
_ALONE = "is not for gp(latent(...)): its coordinates are all that rows have."


@dataclass(frozen=True)
class LatentRows:
    """Rows of several responses, on the scale of these."""

    call: Call
    spec: LatentFormula
    family: Family
    index: pd.Index
    ends: ResponseEnds  # (n, D)
    frame: pd.DataFrame  # of no covariate

    has_causes = False
    title = "gaussian"
    read = None

    @property
    def training(self) -> NoReturn:
        """See `Rows`."""
        raise SpecError("Rows with latent coordinates have no columns; fit each response by itself for this.")

    @property
    def counts(self) -> dict[str, int]:
        """Values that are exact and censored, and rows dropped."""
        return latent_counts(self.ends)

    @property
    def counted(self) -> str:
        """Numbers of values in words."""
        return ", ".join(f"{count} values {kind}" for kind, count in self.counts.items() if kind != "dropped" and count)

    @property
    def formula(self) -> str:
        """The formula as written."""
        return self.spec.formula

    @property
    def shown(self) -> str:
        """The formula as models are shown with it."""
        return self.spec.formula

    @property
    def endog_names(self) -> str:
        """The responses as written."""
        return self.spec.formula.partition("~")[0].strip()

    @property
    def exog_names(self) -> list[str]:
        """No column."""
        return []

    def close(self) -> None:
        """Nothing is kept that has to be removed."""

    check_open = close


class Latent(Kind):
    """``mvbind(y1, y2) ~ gp(latent(2))``."""

    def claims(self, call: Call) -> bool:
        return is_latent(call.formula)

    def read(self, call: Call) -> LatentRows:
        alone = ("id", "cure", "formulas", "sigma", "weights", "var_weights", "functions", "censored", "missing")
        call.refuse(alone, _ALONE)
        refuse_partitioned(call.data, "Latent coordinates are fitted", call.engine)
        family = resolve_family("gaussian" if call.family is None else call.family)
        if family.name != "gaussian":
            raise SpecError(
                f"family={family.name!r}: gp(latent(...)) has Gaussian noise. Write mvbind(log(y1), log(y2)) for "
                "logarithms."
            )
        data, spec = pd.DataFrame(call.data), read_latent(call.formula)
        ends = ResponseEnds(*ends_of(read_responses(spec.wide, data), len(data)))
        for j, label in enumerate(spec.wide.labels):
            if not ends.seen[:, j].any():
                raise DataError(f"{label}: nothing but limits is known of it. Leave it out.")
            if not np.ptp(filled(ends)[:, j]):
                raise DataError(f"{label}: all its values are the same. Leave it out.")
        return LatentRows(call, spec, family, data.index, ends, pd.DataFrame(index=data.index))

    def fit(self, rows: LatentRows, asked: FitOptions) -> LatentResults:
        method = _method(asked)
        kept = rows.ends.known.any(axis=1)
        ends = ResponseEnds(*(end[kept] for end in rows.ends))
        m = INDUCING if isinstance(method.inducing, str) else read_whole("inducing", method.inducing)
        if len(ends.lower) < 3:
            raise DataError(f"{len(ends.lower)} rows: gp(latent(...)) needs at least 3. Give more rows.")
        centre, scale = _units(ends)
        own = ResponseEnds(*((end - centre) / scale for end in ends))
        with breakdown_in_words(), progress_bar(asked.progress) as on_step:
            found = search(
                own,
                rows.spec.dimensions,
                min(m, len(own.lower)),
                n_starts=method.n_starts or STARTS,
                max_iter=method.max_iter or MOST_ITERATIONS,
                tol=method.tol or TOLERANCE,
                rng=generator(asked.rng),
                on_step=_reporter(on_step, len(own.lower)),
            )
        if not found[0].converged:
            warnings.warn(
                "The search for latent coordinates did not converge. Raise max_iter= of tg.VI(...), or look at "
                "fit_history.",
                ConvergenceWarning,
                stacklevel=user_level(),
            )
        jacobian = -float((ends.seen * np.log(scale)).sum())
        return LatentResults(_parts(rows, kept, found, own, centre, scale, jacobian))


def _parts(
    rows: LatentRows,
    kept: Any,
    found: list[LatentMaximum],
    own: ResponseEnds,
    centre: Array,
    scale: Array,
    jacobian: float,
) -> LatentParts:
    """What results are made of; the bound in units of the responses has their Jacobian."""
    state, elbos = found[0].state, np.array([each.elbo + jacobian for each in found])
    processes = LatentProcesses(state.inducing, state.scales, posterior_weights(state.psi, own, state.scales))
    return LatentParts(
        rows.spec,
        rows.counts,
        centre,
        scale,
        processes,
        float(elbos[0]),
        found[0].converged,
        elbos,
        np.array([float(each.iterations) for each in found]),
        np.array([float(each.converged) for each in found]),
        divergence(state.inputs).mean(axis=0),
        LatentTraining(rows.index, rows.ends, kept, state.inputs),
    )


def _method(asked: FitOptions) -> VI:
    """Settings of the search; what a fit over latent coordinates has no use for raises an error."""
    method = asked.method if isinstance(asked.method, VI) else VI(bound="local")
    if method is not asked.method and asked.method != "auto":
        raise SpecError(f"method={asked.method!r}: gp(latent(...)) is fitted by tg.VI(bound='local') only.")
    if method.bound not in ("exact", "local"):
        raise SpecError(f"bound={method.bound!r}: gp(latent(...)) has bound='local' only.")
    if method.hyper == "integrate":
        raise SpecError("hyper='integrate': gp(latent(...)) has hyper='maximize' only.")
    if asked.cov_type != "nonrobust":
        raise SpecError(f"cov_type={asked.cov_type!r}: gp(latent(...)) has no covariance of estimates. Leave it out.")
    for name, given in asked.named(("fixed", "start", "priors")).items():
        if given:
            raise SpecError(f"{name}= is not for gp(latent(...)). Leave it out.")
    return method


def _units(ends: ResponseEnds) -> tuple[Array, Array]:
    """Means and standard deviations (D,) of values and limits."""
    known = np.where(ends.known, filled(ends), np.nan)
    centre, scale = np.nanmean(known, axis=0), np.nanstd(known, axis=0)
    return centre, scale


def _reporter(on_step: Callable[[Step], None] | None, n: int) -> Callable[[int, float], None] | None:
    """What the search tells after each iteration."""
    if on_step is None:
        return None
    return lambda number, value: on_step(Step("latent", number, value, rows=n))
