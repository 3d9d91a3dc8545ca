"""A diagnostic of processes: structure at length-scales that a term does not have."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tobitgp.inference.screening import screen
from tobitgp.results.trust.findings import Finding, plain

CLEAR, SLIGHT = 3.0, 1.0  # nats


def structure_findings(results: Any) -> Iterator[Finding]:
    """What one component more would gain, from the scores of the rows; nothing where there is no length-scale to try.

    The screening of added components of the theory pages, (HYP11), at the fit as it is.
    """
    gp, fitted = results.parts.gp, results.parts.fitted
    screened = screen(fitted.points[0], gp.prior, gp.parameters, "add", fixed=True)
    if screened.best is None:
        return
    best, parameters = screened.best, gp.parameters
    names, units = parameters.names, parameters.units
    least = ", ".join(f"{names[i]} {np.exp(value) * units[i]:.2g}" for i, value in screened.shortest)
    looked = f"looked for down to {least}"
    there = ", ".join(f"{names[i]} {parameters.values(best.theta)[i]:.2g}" for i in best.scales)
    name = gp.terms[best.term].name
    if best.gain < SLIGHT:
        words = f"no further component is seen beside the terms; {looked}"
    else:
        words = (
            f"residuals hold structure at {there}: one more component there would gain about {best.gain:.1f} nats "
            f"(score z = {best.z:.1f}; {looked})"
        )
    if best.gain >= CLEAR:
        words += (
            f". One length-scale cannot hold both: add a second term beside {name} with another name=, or try "
            "kernel='rq' or 'matern32'"
        )
    yield plain("structure", words, value=best.gain, good=best.gain < CLEAR, doubtful=True)
