"""lifelines' own univariate fitters, taken to the maximum of their likelihoods by Newton's method."""

from functools import cache

import autograd
import lifelines
import numpy as np
import pandas as pd


@cache
def exact(name):
    """The class of a fitter of lifelines, whose search stops early, with Newton's steps after that."""
    theirs = getattr(lifelines, name)

    def fit_model(self, Ts, E, entry, weights, fit_options, show_progress=True):
        x, _, _ = theirs._fit_model(self, Ts, E, entry, weights, fit_options, show_progress)
        loss = getattr(self, f"_negative_log_likelihood_{self._censoring_type.value}_censoring")
        for _ in range(8):
            x = x - np.linalg.solve(
                autograd.hessian(loss)(x, Ts, E, entry, weights), autograd.grad(loss)(x, Ts, E, entry, weights)
            )
        H = autograd.hessian(loss)(x, Ts, E, entry, weights)
        return x, -loss(x, Ts, E, entry, weights) * weights.sum(), 0.5 * (H + H.T) * weights.sum()

    return type(name, (theirs,), {"_fit_model": fit_model})


def durations(seed=0, n=120):
    """Right-censored durations of subjects that entered late, with weights and bounds."""
    rng = np.random.default_rng(seed)
    entry = rng.uniform(0.0, 4.0, n)
    life = entry + 10.0 * rng.weibull(1.4, n)  # positive after the entry
    last = entry + rng.exponential(15.0, n)
    time, event = np.minimum(life, last), (life <= last).astype(int)
    width = rng.choice([0.0, 0.5, np.inf], n, p=[0.3, 0.5, 0.2])
    return pd.DataFrame(
        {
            "time": time,
            "event": event,
            "entry": entry,
            "weight": rng.integers(1, 4, n),
            "lower": life,
            "upper": life + width,
        }
    )


def lifetimes(seed=3, n=400):
    """Right-censored lives of two kinds, early failures and wear, with bounds."""
    rng = np.random.default_rng(seed)
    early = rng.random(n) < 0.3
    life = np.where(early, 1.0 * rng.weibull(1.5, n), 30.0 * rng.weibull(3.0, n))
    end = rng.uniform(5.0, 50.0, n)
    data = pd.DataFrame({"time": np.minimum(life, end), "event": (life <= end).astype(int)})
    return data.assign(lower=data["time"], upper=np.where(data["event"] == 1, 1.1 * data["time"], np.inf))
