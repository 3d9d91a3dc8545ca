"""Calls with a process over an input that was measured with known standard errors."""

from __future__ import annotations

import warnings
from collections.abc import Mapping

import numpy as np

from tobitgp.data.prepare import TrainingData
from tobitgp.data.sources import refuse_partitioned
from tobitgp.errors import ConvergenceWarning, DataError, SpecError, user_level
from tobitgp.formula.unknown_inputs import measured_term
from tobitgp.kinds.call import Call, Rows, read_rows
from tobitgp.kinds.kind import Kind
from tobitgp.kinds.local_bound import MOST_ITERATIONS, TOLERANCE, local_bound, reporter, units
from tobitgp.kinds.progress import progress_bar
from tobitgp.latent.collapsed_bound import ResponseEnds, posterior_weights
from tobitgp.latent.latent_rows import LatentProcesses
from tobitgp.latent.latent_search import LatentMaximum, filled
from tobitgp.latent.psi_statistics import InputPrior
from tobitgp.latent.uncertain_inputs import InputRows
from tobitgp.latent.uncertain_search import search
from tobitgp.method_settings import read_whole
from tobitgp.numerics.linear_algebra import breakdown_in_words
from tobitgp.options import FitOptions
from tobitgp.results.uncertain.uncertain_parts import UncertainParts, measured_inputs
from tobitgp.results.uncertain.uncertain_results import UncertainInputResults
from tobitgp.results.views import named_columns
from tobitgp.typing import Array

_TERM = "gp(x, se=...)"
_LEAST, _STARTS = 3, 3


class UncertainInput(Kind):
    """``y ~ gp(x, se=sx)``."""

    def read(self, call: Call) -> Rows:
        alone = ("id", "cure", "formulas", "sigma", "weights", "var_weights")
        call.refuse(alone, f"is not supported with {_TERM}.")
        refuse_partitioned(call.data, "Inputs with standard errors are fitted", call.engine)
        if call.formula.lstrip().startswith("mvbind"):
            raise SpecError(f"{_TERM} has one response. Fit each response by itself.")
        if getattr(call.family, "name", call.family) not in (None, "gaussian"):
            raise SpecError(f"family={call.family!r}: {_TERM} has Gaussian noise. Write log(y) for the logarithm of y.")
        rows = read_rows(call)
        term = measured_term(rows.spec)
        ends, x = _ends(rows.training), rows.training.design.X[0][:, 0]
        name = rows.endog_names
        if len(x) < _LEAST:
            raise DataError(f"{len(x)} rows: {_TERM} needs at least {_LEAST}. Give more rows.")
        if not ends.seen.any():
            raise DataError(f"{name}: nothing but limits is known of it. A fit needs values that were seen.")
        if not np.ptp(filled(ends)):
            raise DataError(f"{name}: all its values are the same. A fit needs values that differ.")
        if not np.ptp(x):
            raise DataError(f"{term.inputs[0].text}: all its values are the same. A process needs values that differ.")
        return rows

    def fit(self, rows: Rows, asked: FitOptions) -> UncertainInputResults:
        method, ends, design = local_bound(asked, _TERM), _ends(rows.training), rows.training.design
        m = None if isinstance(method.inducing, str) else read_whole("inducing", method.inducing)
        centre, scale = (float(unit[0]) for unit in units(np.where(ends.known, filled(ends), np.nan)))
        x_centre, x_scale = (float(unit[0]) for unit in units(design.X[0][:, :1]))
        own = ResponseEnds(*((end - centre) / scale for end in ends))
        prior = measured_inputs(design, x_centre, x_scale)
        order = np.lexsort((own.upper[:, 0], own.lower[:, 0], prior.sd[:, 0], prior.mean[:, 0]))
        own, prior = ResponseEnds(*(end[order] for end in own)), InputPrior(*(each[order] for each in prior))
        with breakdown_in_words(), progress_bar(asked.progress) as on_step:
            found = search(
                own,
                prior,
                m,
                n_starts=method.n_starts or _STARTS,
                max_iter=method.max_iter or MOST_ITERATIONS,
                tol=method.tol or TOLERANCE,
                on_step=reporter(on_step, len(order)),
            )
        jacobian = -float(ends.seen.sum() * np.log(scale))
        unit = {"centre": centre, "scale": scale, "x_centre": x_centre, "x_scale": x_scale}
        parts = _parts(rows, found, own, jacobian, unit)
        results = UncertainInputResults(parts)
        if not results.converged:
            warnings.warn(results._search_message, ConvergenceWarning, stacklevel=user_level())
        return results


def _ends(training: TrainingData) -> ResponseEnds:
    """Observed values and limits of the response, (n, 1)."""
    return ResponseEnds(training.response.lower[:, None], training.response.upper[:, None])


def _parts(
    rows: Rows, found: list[LatentMaximum], own: ResponseEnds, jacobian: float, unit: Mapping[str, float]
) -> UncertainParts:
    """What results are made of; the bound in units of the response has its Jacobian."""
    state, training = found[0].state, rows.training
    start = LatentProcesses(state.inducing, state.scales, posterior_weights(state.psi, own, state.scales))
    near = start.refined(state.prior.placed(state.inputs), own)
    points = InputRows(near, state.prior).located(own)
    elbos: Array = np.array([each.elbo + jacobian for each in found])
    frame = rows.covariates()
    return UncertainParts(
        rows.spec,
        training.state,
        training.facts(named_columns([rows.spec], rows.columns), frame),
        rows.noise,
        near.refined_at(points, own),
        **unit,
        elbo=float(elbos[0]),
        converged=found[0].converged,
        elbos=elbos,
        iterations=np.array([float(each.iterations) for each in found]),
        ended=np.array([float(each.converged) for each in found]),
        training=training,
        covariates=frame,
    )
