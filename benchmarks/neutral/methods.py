"""The methods: each is a function of training rows that returns a fitted model."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

import tobitgp as tg
from benchmarks.neutral.data import curved, factors, numbers

FAMILIES = ("weibull", "lognormal", "loglogistic")
PENALTIES = (0.0, 0.01, 0.1)  # of lifelines, where a fit without or with less fails
TREES = 200
LEAF = 15
OF_SD = (0.1, 1.0)  # median and sd of the logarithm, priors of curves beside lines: of the sd, in sds of log time,
OF_LENGTH = (1.5, 0.7)  # and of the length-scale, in sds of the input
A_CURVE = 2.0  # nats that a curve costs, one for each of its hyper-parameters


class Fitted(NamedTuple):
    """A fitted model of training rows.

    Attributes
    ----------
    survival : callable
        Of rows and m times: predicted survival, (m, n).
    log_density : callable, optional
        Of rows: mean log density of events and log survival of censored rows.
    about : dict of float
        Numbers of the fit, to be recorded.
    """

    survival: Callable[[pd.DataFrame, np.ndarray], np.ndarray]
    log_density: Callable[[pd.DataFrame], float] | None = None
    about: dict[str, float] = {}  # noqa: RUF012


class Method(NamedTuple):
    """A name, what fits it, and whether it takes factors as columns of 0 and 1."""

    name: str
    fit: Callable[[pd.DataFrame], Fitted]
    coded: bool = True


def methods() -> Iterator[Method]:
    """All that are fitted, the floor first."""
    yield Method("Kaplan-Meier", kaplan_meier)
    yield Method("lifelines Cox", partial(of_lifelines, "CoxPHFitter"))
    yield Method("lifelines Weibull AFT", partial(of_lifelines, "WeibullAFTFitter"))
    yield Method("lifelines log-normal AFT", partial(of_lifelines, "LogNormalAFTFitter"))
    yield Method("scikit-survival forest", forest)
    for family in FAMILIES:
        yield Method(f"tobitgp {family}, lines", partial(ours, family, method="mle"), coded=False)
        yield Method(f"tobitgp {family}, lines, ep", partial(ours, family, method="ep"), coded=False)
        yield Method(f"tobitgp {family}, curves", partial(ours, family, curves=True), coded=False)
        yield Method(f"tobitgp {family}, lines and curves", partial(beside_lines, family), coded=False)
    yield Method("tobitgp gengamma, lines", partial(ours, "gengamma", method="mle"), coded=False)
    yield Method("tobitgp gengamma, lines and curves", partial(beside_lines, "gengamma"), coded=False)
    yield Method("tobitgp ph, lines", partial(ours, "ph"), coded=False)
    yield Method("tobitgp ph, curves", partial(ours, "ph", curves=True), coded=False)
    yield Method("tobitgp ph, lines and curves", partial(beside_lines, "ph"), coded=False)
    yield Method("tobitgp family and terms by evidence", chosen, coded=False)


def kaplan_meier(train: pd.DataFrame) -> Fitted:
    """Fit one curve for all rows."""
    from lifelines import KaplanMeierFitter

    fitter = KaplanMeierFitter().fit(train["time"], train["event"])
    return Fitted(lambda rows, times: np.tile(np.asarray(fitter.predict(times))[:, None], len(rows)))


def of_lifelines(name: str, train: pd.DataFrame) -> Fitted:
    """A regression of lifelines, penalised where it fails otherwise."""
    import lifelines

    used = [column for column in train if train[column].nunique() > 1 or column == "event"]
    for penalty in PENALTIES:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", lifelines.exceptions.ConvergenceWarning)
                fitter = getattr(lifelines, name)(penalizer=penalty).fit(train[used], "time", "event")
            break
        except (lifelines.exceptions.ConvergenceError, lifelines.exceptions.ConvergenceWarning) as error:
            failed = error
    else:
        raise failed
    density = None if name == "CoxPHFitter" else lambda rows: float(fitter.score(rows[used], "log_likelihood"))
    return Fitted(
        lambda rows, times: np.asarray(fitter.predict_survival_function(rows[used], times=times)),
        density,
        {"penalty": penalty},
    )


def forest(train: pd.DataFrame) -> Fitted:
    """A random survival forest."""
    from sksurv.ensemble import RandomSurvivalForest
    from sksurv.util import Surv

    inputs = [column for column in train if column not in ("time", "event")]
    trees = RandomSurvivalForest(n_estimators=TREES, min_samples_leaf=LEAF, random_state=0)
    trees.fit(train[inputs], Surv.from_dataframe("event", "time", train))

    def survival(rows: pd.DataFrame, times: np.ndarray) -> np.ndarray:
        steps = trees.predict_survival_function(rows[inputs], return_array=True)
        before = np.searchsorted(trees.unique_times_, times, side="right")
        return np.asarray(np.column_stack([np.ones(len(rows)), steps])[:, before].T)

    return Fitted(survival)


def formula(frame: pd.DataFrame, lines: list[str], curves: list[str]) -> str:
    """Factors and numbers as lines, and processes."""
    terms = [*map(quoted, [*factors(frame), *lines]), *(f"gp({quoted(name)})" for name in curves)]
    return f"Surv(time, event) ~ {' + '.join(terms)}"


def quoted(name: str) -> str:
    """Name of a column in a formula."""
    return name if name.isidentifier() else f"`{name}`"


def ours(family: str, train: pd.DataFrame, *, curves: bool = False, **options: Any) -> Fitted:
    """A fit of tobitgp, of lines or of a curve for each number."""
    bent = curved(train) if curves else []
    lines = [name for name in numbers(train) if name not in bent]
    return answers(tg.fit(formula(train, lines, bent), train, family=family, **options))


def beside_lines(family: str, train: pd.DataFrame) -> Fitted:
    """A line for each number and beside it a curve, smooth and small by its priors."""
    bent = curved(train)
    if family == "ph":
        unit = np.pi / np.sqrt(6.0)  # sd of the logarithm of an exponential time
    else:
        unit = tg.fit("Surv(time, event) ~ 1", train, family="lognormal").params["sigma"]
    priors = {f"sd(gp({quoted(name)}))": tg.LogNormal(OF_SD[0] * unit, OF_SD[1]) for name in bent}
    for name in bent:
        length = OF_LENGTH[0] * train[name].std(ddof=0)
        priors[f"lengthscale(gp({quoted(name)}))"] = tg.LogNormal(length, OF_LENGTH[1])
    return answers(tg.fit(formula(train, numbers(train), bent), train, family=family, priors=priors))


def chosen(train: pd.DataFrame) -> Fitted:
    """The family of lines by evidence; then curves beside lines, one by one, while evidence pays for them.

    A line has a wide prior, which its evidence is charged for; so lines stay, and what is compared differs by a curve.
    """
    straight = formula(train, numbers(train), [])
    found = tg.select({"family": list(FAMILIES)}, train, formula=straight, method="ep")
    family, best, bent = str(found.table.index[0]).removeprefix("family="), found.best, list[str]()
    while more := [name for name in curved(train) if name not in bent]:
        candidates = {name: formula(train, numbers(train), [*bent, name]) for name in more}
        found = tg.select(candidates, train, family=family)
        if found.best.log_evidence - best.log_evidence <= A_CURVE:
            break
        bent, best = [*bent, str(found.table.index[0])], found.best
    return answers(best)


def answers(fit: Any) -> Fitted:
    """Return the predictor of a fit, with its evidence and degrees of freedom."""
    names = ("log_evidence", "log_evidence_integrated", "df_model")
    about = {name: float(getattr(fit, name)) for name in names if hasattr(fit, name)}
    return Fitted(lambda rows, times: np.asarray(fit.predict_survival_function(rows, times=times)), fit.score, about)
