"""Fits and answers relative to others: noise distributions, hazards, and peers on their own example data."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import tobitgp as tg
from benchmarks.aims.clocks import Clock, clock
from benchmarks.aims.draws import curves, late, survival
from benchmarks.peers import regressions, tobit
from benchmarks.problems import Draw

HAZARDS = "Surv(entry, time, {}) ~ x + age + group"


def noise(data: str, terms: str, family: Any) -> tuple[Clock, Clock, str]:
    """Time a fit with predictions, and the same with normal noise."""
    left = data == "left-censored"
    frame = curves(left) if "censored" in data else tg.datasets.load(data)
    formula = f"y ~ {terms} | censor(lower)" if left else f"Surv(time, event) ~ {terms}"
    own, normal = (
        clock(lambda: tg.fit(formula, frame, family=each).predict(interval=0.95))  # noqa: B023
        for each in (family, "gaussian" if left else "lognormal")
    )
    return own, normal, f"normal noise: {normal.cpu:.3g} CPU s"


def hazard_answer(question: str, options: dict[str, Any], n: int, column: str) -> tuple[Clock, Clock, str]:
    """Time a method of ``family="ph"``, and of a spline baseline on the same rows."""
    import matplotlib as mpl

    mpl.use("Agg")
    frame, found = survival(n), []
    for family in ("ph", tg.PH("spline")):
        res = tg.fit(HAZARDS.format(column), frame, family=family)
        found.append(clock(lambda: getattr(res, question)(**options)))  # noqa: B023
    return found[0], found[1], f"spline: {found[1].cpu:.3g} CPU s"


def late_gengamma() -> tuple[Clock, Clock, str]:
    """Time a fit of the generalised gamma distribution, and of the Weibull distribution, which it contains."""
    frame, own = late(), {}
    for family in ("gengamma", "weibull"):
        own[family] = clock(lambda: tg.fit("Surv(age, stop, event) ~ arm", frame, family=family))  # noqa: B023
    llf = [tg.fit("Surv(age, stop, event) ~ arm", frame, family=family).llf for family in own]
    return own["gengamma"], own["weibull"], f"log likelihood {llf[0]:.3f}, Weibull {llf[1]:.3f}"


def dask_surface(rows: int) -> tuple[Clock, float, float]:
    """Return seconds, RMSE and peak memory of all processes for the surface of ``benchmarks.partitions``."""
    from benchmarks.partitions import fit_surface

    with tempfile.TemporaryDirectory() as folder:
        found = fit_surface(Path(folder), rows)
    return Clock(found.cpu, found.seconds), found.rmse, sum(found.peaks)


def lifelines_times(fitter: str, family: str) -> tuple[Clock, Clock, str]:
    """Time a regression of lifelines on its data on recidivism, and ours."""
    import lifelines
    from lifelines.datasets import load_rossi

    frame = load_rossi()
    terms = " + ".join(name for name in frame if name not in ("week", "arrest"))
    ours, own = _timed(lambda: tg.fit(f"Surv(week, arrest) ~ {terms}", frame, family=family))
    theirs, other = _timed(lambda: getattr(lifelines, fitter)().fit(frame, "week", "arrest"))
    first = theirs.params_.index.get_level_values(0)[0]
    return own, other, _apart(ours, theirs.params_[first], theirs.standard_errors_[first])


def statsmodels_tobit() -> tuple[Clock, Clock, str]:
    """Time a Tobit model of statsmodels, by its class for likelihoods with numerical derivatives, and ours."""
    from statsmodels.datasets import fair

    frame = fair.load_pandas().data.rename(columns={"affairs": "y"}).assign(lower=0.0)
    names = [name for name in frame if name not in ("y", "lower")]
    formula = f"y ~ {' + '.join(names)} | censor(lower)"
    draw = Draw(formula, names, frame, frame, np.empty(0))
    ours, own = _timed(lambda: tobit.maximum_likelihood(draw))
    theirs, other = _timed(lambda: regressions.statsmodels(draw))
    return own, other, f"means apart by {np.max(np.abs(ours.mean - theirs.mean) / theirs.sd):.2g} SE"


def statsmodels_hazards(family: Any) -> tuple[Clock, Clock, str]:
    """Time the Cox regression of statsmodels on the Stanford heart transplants, and ours."""
    from statsmodels.api import PHReg
    from statsmodels.datasets import heart

    frame = heart.load_pandas().data
    ours, own = _timed(lambda: tg.fit("Surv(survival, censors) ~ age", frame, family=family))
    theirs, other = _timed(lambda: PHReg(frame["survival"], frame[["age"]], frame["censors"], ties="efron").fit())
    return own, other, _apart(ours, pd.Series(theirs.params, ["age"]), pd.Series(theirs.bse, ["age"]))


def sksurv_hazards(family: Any) -> tuple[Clock, Clock, str]:
    """Time the Cox regression of scikit-survival, which has no standard errors, and ours with standard errors."""
    from sksurv.datasets import load_whas500
    from sksurv.linear_model import CoxPHSurvivalAnalysis

    inputs, outcome = load_whas500()
    inputs = inputs.astype(float)
    frame = inputs.assign(time=outcome["lenfol"], event=outcome["fstat"].astype(int))
    formula = f"Surv(time, event) ~ {' + '.join(inputs)}"
    ours, own = _timed(lambda: tg.fit(formula, frame, family=family))
    theirs, other = _timed(lambda: CoxPHSurvivalAnalysis(ties="efron").fit(inputs, outcome))
    return own, other, _apart(ours, pd.Series(theirs.coef_, inputs.columns), ours.bse[list(inputs)])


def _timed(call: Callable[[], Any]) -> tuple[Any, Clock]:
    return call(), clock(call)


def _apart(ours: Any, theirs: pd.Series[Any], errors: pd.Series[Any]) -> str:
    """Return the largest difference of estimates, in standard errors."""
    return f"estimates apart by {float(np.max(np.abs(ours.params[theirs.index] - theirs) / errors)):.2g} SE"
