"""Fits that hold no training rows, as those of partitioned data and those loaded from files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tobitgp.data.arrays import Problem
from tobitgp.data.partitions import PartitionedData
from tobitgp.data.training_summary import make_facts
from tobitgp.formula.spec import ModelSpec
from tobitgp.inference.fitted import FittedGP
from tobitgp.inference.model import GPModel
from tobitgp.inference.posterior import NO_SITES
from tobitgp.priors.prior import Prior
from tobitgp.results.groups import with_typical_groups
from tobitgp.results.mixture.predict import MixtureParts, covariance_of
from tobitgp.results.process.results import GPResults
from tobitgp.results.regression.parts import RegressionParts, null_likelihood
from tobitgp.results.terms import columns_together
from tobitgp.results.views import Parts, named_columns


def process_results(
    spec: ModelSpec, data: PartitionedData, model: GPModel, fitted: FittedGP, columns: Sequence[str]
) -> GPResults:
    """Results of a process."""
    names = named_columns([spec], dict.fromkeys(columns))
    facts = make_facts(data.state, data.found, data.counts, names, data.examples, columns_together(data.state))
    facts = with_typical_groups(facts, data.state, data.found.groups)
    return GPResults.from_parts(process_without_rows(Parts(spec, data.state, facts, model, fitted)))


def process_without_rows(parts: Parts) -> Parts:
    """Parts of a process that answer the same about new rows, and hold nothing that has an entry for each training row.

    Inducing inputs stay: they are part of what was learned.
    """
    points = tuple(replace(point, sites=NO_SITES) for point in parts.fitted.points)
    return replace(
        parts,
        gp=replace(parts.gp, problem=_problem(parts.gp.problem), prior=Prior(None, ())),
        fitted=replace(parts.fitted, points=points),
        training=None,
        covariates=None,
    )


def regression_without_rows(parts: RegressionParts) -> RegressionParts:
    """Parts of a regression that answer the same about new rows; what only the rows could tell is noted first."""
    maximum = replace(parts.maximum, scores=None)
    return replace(parts, maximum=maximum, llnull=null_likelihood(parts), training=None, covariates=None)


def mixture_without_rows(parts: MixtureParts) -> MixtureParts:
    """Parts of a mixture that answer the same about new rows; their covariance is noted first."""
    return replace(parts, covariance=covariance_of(parts), training=None, covariates=None)


def _problem(problem: Problem) -> Problem:
    code = tuple(None if values is None else values[:0].copy() for values in problem.code)
    X = tuple(np.zeros_like(values[:0]) for values in problem.X)
    return replace(problem, rows=(), order=problem.order[:0].copy(), H=np.zeros_like(problem.H[:0]), X=X, code=code)
