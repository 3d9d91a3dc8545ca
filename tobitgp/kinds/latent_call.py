"""Calls with several responses over latent coordinates."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
import pandas as pd

from tobitgp.data.sources import refuse_partitioned
from tobitgp.errors import ConvergenceWarning, DataError, SpecError, user_level
from tobitgp.formula import parse_formula
from tobitgp.formula.unknown_inputs import LatentFormula, read_latent
from tobitgp.kinds.call import Call
from tobitgp.kinds.kind import Kind
from tobitgp.kinds.local_bound import INDUCING, MOST_ITERATIONS, STARTS, TOLERANCE, local_bound, reporter, units
from tobitgp.kinds.progress import progress_bar
from tobitgp.kinds.responses_only import ResponsesOnly
from tobitgp.latent.collapsed_bound import ResponseEnds, posterior_weights
from tobitgp.latent.latent_rows import LatentProcesses
from tobitgp.latent.latent_search import LatentMaximum, divergence, filled, search
from tobitgp.likelihoods import resolve_family
from tobitgp.method_settings import read_whole
from tobitgp.numerics.linear_algebra import breakdown_in_words
from tobitgp.numerics.sampling import generator
from tobitgp.options import FitOptions
from tobitgp.results.latent.latent_parts import LatentParts, latent_spec
from tobitgp.results.latent.latent_results import LatentResults
from tobitgp.results.multivariate.multivariate_parts import ResponseRows
from tobitgp.results.multivariate.stacked_rows import read_responses
from tobitgp.typing import Array

_ALONE = "is not supported with gp(latent(...))."


@dataclass(frozen=True)
class LatentRows(ResponsesOnly):
    """Rows of several responses over latent coordinates."""

    over: LatentFormula


class Latent(Kind):
    """``mvbind(y1, y2) ~ gp(latent(2))``."""

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
        data, over = pd.DataFrame(call.data), read_latent(call.formula)
        rows = ResponseRows(data, read_responses(over.wide, data))
        ends = ResponseEnds(*rows.ends)
        for j, label in enumerate(over.wide.labels):
            if not ends.seen[:, j].any():
                raise DataError(f"{label}: it has only limits, no values. Leave it out.")
            if not np.ptp(filled(ends)[:, j]):
                raise DataError(f"{label}: all its values are the same. Leave it out.")
        each = tuple(parse_formula(formula, list(data.columns), None) for formula in over.wide.formulas)
        spec = latent_spec(over, each)
        return LatentRows(call, spec, family, rows, pd.DataFrame(index=data.index), over)

    def fit(self, rows: LatentRows, asked: FitOptions) -> LatentResults:
        method = local_bound(asked, "gp(latent(...))")
        ends = ResponseEnds(*(end[rows.kept] for end in rows.rows.ends))
        m = INDUCING if isinstance(method.inducing, str) else read_whole("inducing", method.inducing)
        if len(ends.lower) < 3:
            raise DataError(f"{len(ends.lower)} rows: gp(latent(...)) requires at least 3. Give more rows.")
        centre, scale = units(np.where(ends.known, filled(ends), np.nan))
        own = ResponseEnds(*((end - centre) / scale for end in ends))
        order = np.lexsort(np.abs(filled(own)).T)  # so that the order of rows and the sign of responses do not show
        own = ResponseEnds(*(end[order] for end in own))
        with breakdown_in_words(), progress_bar(asked.progress) as on_step:
            found = search(
                own,
                rows.over.dimensions,
                min(m, len(own.lower)),
                n_starts=method.n_starts or STARTS,
                max_iter=method.max_iter or MOST_ITERATIONS,
                tol=method.tol or TOLERANCE,
                rng=generator(asked.rng),
                on_step=reporter(on_step, len(own.lower)),
            )
        jacobian = -float((ends.seen * np.log(scale)).sum())
        results = LatentResults(_parts(rows, found, own, centre, scale, jacobian))
        if not results.converged:
            warnings.warn(results._search_message, ConvergenceWarning, stacklevel=user_level())
        return results


def _parts(
    rows: LatentRows, found: list[LatentMaximum], own: ResponseEnds, centre: Array, scale: Array, jacobian: float
) -> LatentParts:
    """The parts of results; the bound in units of the responses includes their Jacobian."""
    state, elbos = found[0].state, np.array([each.elbo + jacobian for each in found])
    start = LatentProcesses(state.inducing, state.scales, posterior_weights(state.psi, own, state.scales))
    near = start.refined(state.inputs, own)
    processes = near.refined(near.infer(own), own)
    return LatentParts(
        rows.over,
        centre,
        scale,
        processes,
        float(elbos[0]),
        found[0].converged,
        elbos,
        np.array([float(each.iterations) for each in found]),
        np.array([float(each.converged) for each in found]),
        divergence(processes.infer(own)).mean(axis=0),
        rows.counts["dropped"],
        tuple(one.learned for one in rows.rows.seen),
        rows.rows.facts_of_each(rows.spec.each),
        rows.rows,
    )
