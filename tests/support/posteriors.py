"""Distributions of rows and posteriors, as tests write them."""

import numpy as np

from tobitgp.distributions.location_scale import LocationScale
from tobitgp.posterior import questions
from tobitgp.posterior.nodes import Nodes


def rows_of(noise, location, log_scale, log=False):
    """Distributions of the response in rows."""
    return LocationScale(noise, np.asarray(location), np.exp(log_scale), log)


def nodes(weight, mean, sd, sigma, log=False, noises=()):
    """Posterior of f whose components have one noise scale each, (J,)."""
    return Nodes(weight, mean, sd, np.asarray(sigma)[:, None], log, noises)


def asked(what, log, *ends, **given):
    """A question by its name; of ``observed`` the limits, and the window where there is one."""
    if what == "observed":
        free = np.full(len(ends[0]), np.inf)
        return questions.observed(log, *ends, *((-free, free) if len(ends) == 2 else ()))
    return questions.QUESTIONS[what](log, **given)
