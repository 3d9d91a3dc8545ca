"""From the rows of a formula to a fitted Gaussian process."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tobitgp.data.copies import warn_copies
from tobitgp.data.pieces import PiecesData
from tobitgp.data.prepare import TrainingData
from tobitgp.formula.spec import ModelSpec
from tobitgp.inference import Method
from tobitgp.inference.assembly import assemble_pieces
from tobitgp.inference.fit import fit_gp
from tobitgp.inference.fitted import Settings, Step, Task
from tobitgp.inference.model import GPModel, Plan, plan_rows
from tobitgp.inference.parameter_options import Given
from tobitgp.inference.partitioned import PartitionedRows
from tobitgp.inference.warnings import warn_coarse, warn_no_bound, warn_own_levels, warn_unidentified
from tobitgp.likelihoods import Family
from tobitgp.results.process.results import GPResults
from tobitgp.results.rowless import process_results
from tobitgp.typing import Frame


def fit_process(
    spec: ModelSpec,
    read: TrainingData | PiecesData,
    family: Family,
    data: Frame,
    columns: Sequence[str],
    *,
    method: Method,
    given: Given,
    settings: Settings,
    on_step: Callable[[Step], None] | None = None,
) -> GPResults:
    """Fit a formula under a prior, with processes or without."""
    plan, model, whole = build_model(spec, read, family, given, method, settings)
    warn_unidentified(plan.measured, spec.gps)
    warn_own_levels(model.prior.gps, spec.gps, model.parameters, plan.measured.weight)
    task = Task(model.problem, model.prior, model.parameters, family.likelihood, whole)
    fitted = fit_gp(task, method, settings, on_step)
    warn_coarse(fitted, plan.measured.weight)
    warn_no_bound(fitted)
    if isinstance(read, TrainingData) and "sigma" not in given.fixed:
        warn_copies(read.design, read.response, fitted.effective)
    if isinstance(read, PiecesData):
        return process_results(spec, read, model, fitted, columns)
    return GPResults(spec, read, model, fitted, data)


def build_model(
    spec: ModelSpec,
    read: TrainingData | PiecesData,
    family: Family,
    given: Given,
    method: Method,
    settings: Settings,
) -> tuple[Plan, GPModel, PartitionedRows | None]:
    """Standardise the rows: the plan, the model on them, or on a sample of rows in pieces, and then all of these."""
    if isinstance(read, PiecesData):
        return assemble_pieces(spec, read, family, given, limits=method.limits, rng=settings.rng)
    plan, rows = plan_rows(spec, read.response, read.design, family, given, read.labels)
    return plan, plan.build(rows, limits=method.limits), None
