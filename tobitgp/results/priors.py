"""Tables of the priors that a fit used, in the units of the data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pandas as pd

from tobitgp.inference.assembly import GPModel
from tobitgp.priors.bounded_priors import Beta
from tobitgp.priors.group_effects import EffectParameters

COLUMNS = ["distribution", "location", "spread", "source"]


class PriorRow(NamedTuple):
    """The prior of one parameter."""

    distribution: str  # "normal", "lognormal", "LKJ", "flat", "fixed", or another with its parameters
    location: float  # mean of a normal, eta of an LKJ prior, value of what is fixed, median of others
    spread: float  # standard deviation of a normal, of the logarithm of a lognormal; NaN of the others
    source: str  # "default", or the argument


def prior_table(gp: GPModel) -> pd.DataFrame:
    """Priors of all parameters, a row for each, columns ``distribution, location, spread, source``."""
    rows = {**dict(linear_rows(gp)), **dict(line_rows(gp)), **dict(hyper_rows(gp))}
    return pd.DataFrame.from_dict(rows, orient="index", columns=COLUMNS).rename_axis("parameter")


def linear_rows(gp: GPModel) -> Iterator[tuple[str, PriorRow]]:
    """Priors of linear coefficients; that of an intercept is at the means of the columns."""
    if gp.linear is None:
        return
    centre = gp.problem.units.centre
    shift = np.zeros(len(gp.columns)) if gp.linear.constant is None else centre * gp.linear.constant
    for j, name in enumerate(gp.columns):
        mean, sd = float(gp.linear.mean[j] + shift[j]), float(gp.linear.sd[j])
        if j == gp.linear.intercept:
            mean += centre
        if sd == 0.0:
            yield name, PriorRow("fixed", mean, np.nan, "fixed=")
        elif name in gp.dropped:
            yield name, PriorRow("flat", np.nan, np.nan, "priors=")
        else:
            yield name, PriorRow("normal", mean, sd, _source(gp, name))


def line_rows(gp: GPModel) -> Iterator[tuple[str, PriorRow]]:
    """Priors of slopes of processes with a linear effect."""
    for name, sd in gp.slopes.items():
        flat = PriorRow("flat", np.nan, np.nan, "priors=")
        yield name, flat if name in gp.dropped else PriorRow("normal", 0.0, sd, _source(gp, name))


def hyper_rows(gp: GPModel) -> Iterator[tuple[str, PriorRow]]:
    """Priors of hyper-parameters."""
    of = gp.parameters
    terms = {i: term for term in of.effects for i in range(term.cors.start, term.cors.stop)}
    values = of.values(np.where(np.isnan(of.start), 0.0, of.start))
    for i, name in enumerate(of.names):
        mean, sd, unit = float(of.prior_mean[i]), float(of.prior_sd[i]), float(of.units[i])
        if not of.free[i]:
            yield name, PriorRow("fixed", float(values[i]), np.nan, "fixed=" if name in gp.fixed else "formula")
        elif not np.isfinite(sd):
            yield name, PriorRow("flat", np.nan, np.nan, "priors=")
        elif of.correlations[i]:
            yield name, _of_correlation(terms[i], _source(gp, name))
        elif (density := of.densities[i] if of.densities else None) is not None:
            yield name, PriorRow(density._words, density._value_quantile(0.5), np.nan, _source(gp, name))
        elif of.positive[i]:
            yield name, PriorRow("lognormal", float(np.exp(mean)) * unit, sd, _source(gp, name))
        else:
            yield name, PriorRow("normal", mean * unit, sd * unit, _source(gp, name))


def _of_correlation(term: EffectParameters, source: str) -> PriorRow:
    """Prior of correlations: LKJ, or that of a single correlation."""
    if term.cor is None:
        return PriorRow("LKJ", float(term.eta), np.nan, source)
    return PriorRow(term.words, Beta(*term.cor, lower=-1.0)._value_quantile(0.5), np.nan, source)


def _source(gp: GPModel, name: str) -> str:
    return "priors=" if name in gp.given else "default"
