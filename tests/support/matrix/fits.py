"""The fits of the matrix: small ones of every kind, each with the facts that reasons refer to."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

import tobitgp as tg

from .data import DATA, NEW


@dataclass(frozen=True)
class Entry:
    """A call of `tg.fit`: `facts` are words that a reason can ask for, beside the kind and the name."""

    name: str
    kind: str
    formula: str
    facts: frozenset[str] = frozenset()
    data: str = "rows"
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def known(self) -> frozenset[str]:
        return self.facts | {self.kind, self.name}


class Case:
    """A fitted entry with the rows that questions are asked about."""

    times = (0.5, 1.0, 2.0)

    def __init__(
        self, entry: Entry, folder: Path, change: Callable[[pd.DataFrame], pd.DataFrame] | None = None
    ) -> None:
        frame = DATA[entry.data]()
        frame = frame if change is None else change(frame)
        held_back = 2 * NEW if entry.data == "subjects" else NEW
        self.entry, self.folder = entry, folder
        self.train = frame.iloc[:-held_back].reset_index(drop=True)
        self.new = frame.iloc[-held_back:].reset_index(drop=True)
        self.handed = self._parquet() if "no rows" in entry.facts else self.train
        self.res = self.fit(entry.formula)

    def _parquet(self) -> Path:
        parts = self.folder / "parts"
        parts.mkdir()
        self.train.iloc[:40].to_parquet(parts / "0.parquet")
        self.train.iloc[40:].to_parquet(parts / "1.parquet")
        return parts

    def asked(self, arg: Any, option: str = "") -> Any:
        """What is asked about: fits of one input have no other column."""
        if self.entry.kind != "uncertain" or arg not in ("z", "arm"):
            return arg
        of_one = {"exclude": "gp(x)", "by": self.train["arm"]}
        return of_one.get(option, "x" if arg == "z" else {"x": [1.0, 4.0]})

    @property
    def no_rows(self) -> pd.DataFrame:
        return self.new.head(0)

    @cached_property
    def paths(self) -> pd.DataFrame:
        """New subjects whose events are not known."""
        return self.new.drop(columns="event")

    def fit(self, formula: str, rows: Any = None) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return tg.fit(formula, self.handed if rows is None else rows, **self.entry.options)


TIME, CENSORED, LIKELIHOOD, NO_ROWS = "time", "censored times", "likelihood", "no rows"
M = {"method": tg.EP(hyper="maximize")}
FITS: dict[str, Entry] = {}


def _fits(kind: str, *facts: str) -> Any:
    """What adds fits of a kind."""

    def add(name: str, formula: str, *more: str, data: str = "rows", **options: Any) -> None:
        FITS[name] = Entry(name, kind, formula, frozenset((*facts, *more)), data, options)

    return add


LEFT = "left ~ z + arm + gp(x) | censor(limit)"
process = _fits("process")
process("gp ep", LEFT, **M)
process("gp integrated", LEFT, method=tg.EP(hyper="integrate"))
process("gp vi", LEFT, method=tg.VI(hyper="maximize"))
process("gp laplace", LEFT, method=tg.Laplace(hyper="maximize"))
process("gp student", LEFT, family=tg.Student(df=4), **M)
process("gp weibull", "Surv(time, event) ~ z + arm + gp(x)", TIME, CENSORED, family="weibull", **M)
process("gp interval", "interval(lo, hi) ~ z + arm + gp(x)", TIME, "no ratio", family="lognormal", **M)
process("gp truncated", "y ~ z + arm + gp(x) | truncate(0.2)", data="window", **M)
process("gp markov", "left ~ z + arm + gp(x, kernel='matern12', approximation='markov') | censor(limit)", **M)
process("gp vecchia", "left ~ z + arm + gp(x, x2, kernel='matern32', approximation='vecchia') | censor(limit)", **M)
process("gp groups", "left ~ z + arm + (1 + z | g) | censor(limit)", "groups", **M)
process("gp sigma column", LEFT, sigma="~ arm", **M)
process("gp sigma process", LEFT, "noise process", sigma="~ gp(x2)", **M)
process("gp parquet", LEFT, NO_ROWS, **M)

LINE = "left ~ z + arm | censor(limit)"
regression = _fits("regression", LIKELIHOOD)
regression("tobit", LINE)
regression("tobit sigma", LINE, sigma="~ arm")
regression("tobit robust", LINE, "robust", cov_type="cluster", cov_kwds={"groups": "g"})
regression("tobit student", LINE, family="student")
regression("truncated", "y ~ z + arm | truncate(0.2)", data="window")
regression("weibull", "Surv(entry, time, event) ~ z + arm", TIME, CENSORED, "entry", family="weibull")
regression("gengamma", "Surv(time, event) ~ z + arm", TIME, CENSORED, "no ratio", family="gengamma")
regression("interval", "interval(lo, hi) ~ z + arm", TIME, "no ratio", family="lognormal")
regression("tobit parquet", LINE, NO_ROWS)

SURV = "Surv(time, event) ~ z + arm"
start_stop = _fits("start-stop", LIKELIHOOD, TIME, CENSORED, "entry", "subjects", "no ratio")
start_stop("start-stop aft", "Surv(start, stop, event) ~ z + arm", data="subjects", family="weibull", id="who")
cure = _fits("cure", LIKELIHOOD, TIME, CENSORED, "no ratio")
cure("cure", "Surv(ctime, cevent) ~ z + arm", family="weibull", cure="~ arm")
cure("cure spline", "Surv(ctime, cevent) ~ z + arm", "no scale", family=tg.PH("spline", df=2), cure="~ arm")
cure("cure parquet", "Surv(ctime, cevent) ~ z + arm", NO_ROWS, family="weibull", cure="~ 1")
formulas = _fits("formulas", LIKELIHOOD, TIME, CENSORED, "no ratio")
formulas("weibull shape", "Surv(entry, time, event) ~ z + arm", "entry", family="weibull", formulas={"shape": "~ z"})
formulas("gompertz shape", SURV, "no scale", family=tg.PH("gompertz"), formulas={"shape": "~ arm"})
formulas("gengamma Q", "Surv(time, event) ~ z + arm", family="gengamma", formulas={"Q": "~ arm", "sigma": "~ z"})
regressions = _fits("mixture of regressions", LIKELIHOOD, TIME, CENSORED, "no ratio")
regressions("weibull mixture of regressions", "Surv(time, event) ~ mixture(2, z + arm)", family="weibull")
boxcox = _fits("Box-Cox", LIKELIHOOD, TIME, "limits", "no ratio")
boxcox("boxcox", "zero ~ z + arm | censor(0)", family="boxcox")
boxcox("boxcox parquet", "zero ~ z + arm | censor(0)", NO_ROWS, family="boxcox")
boxcox_process = _fits("Box-Cox process", TIME, "limits", "no ratio")
boxcox_process("boxcox gp", "pos ~ z + arm + gp(x)", family="boxcox", **M)

mixture = _fits("mixture")
mixture("vbcm", "low2 ~ mixture(2) | censor(least)")
mixture("svbcm", "low2 ~ mixture(2) | censor(least)", method="svbcm", rng=1)
mixture("em", "low2 ~ mixture(2) | censor(least)", LIKELIHOOD, method="em")
mixture("vbcm weibull", "Surv(time, event) ~ mixture(2)", TIME, CENSORED, family="weibull")
mixture("vbcm poisson", "count ~ mixture(2)", "counts", family="poisson")

hazard = _fits("hazard", TIME, CENSORED)
hazard("ph gp", SURV, family=tg.PH(bands=10), **M)
hazard("ph gp(x)", f"{SURV} + gp(x)", family=tg.PH(bands=8), **M)
hazard(
    "ph id",
    "Surv(start, stop, event) ~ z + arm",
    "entry",
    "subjects",
    data="subjects",
    family=tg.PH(bands=8),
    id="who",
    **M,
)
piecewise = _fits("piecewise", LIKELIHOOD, TIME, CENSORED)
piecewise("ph piecewise", SURV, family=tg.PH("piecewise", bands=4), method="mle")
parametric = _fits("parametric", LIKELIHOOD, TIME, CENSORED)
parametric("spline", SURV, family=tg.PH("spline", df=3))
parametric("weibull ph", "Surv(entry, time, event) ~ z + arm", "entry", family=tg.PH("weibull"))
parametric("gompertz", SURV, family=tg.PH("gompertz"))
parametric("spline odds", SURV, family=tg.PH("spline", df=2, link="odds"))
parametric("spline parquet", SURV, NO_ROWS, family=tg.PH("spline", df=2))
frailty = _fits("frailty", LIKELIHOOD, TIME, CENSORED, "groups")
frailty("frailty", f"{SURV} + (1 | g)", family=tg.PH("weibull", frailty="gamma"))

CAUSE = "Surv(first, cause) ~ z + arm"
causes = _fits("causes", TIME, CENSORED)
causes("causes weibull", CAUSE, LIKELIHOOD, family="weibull")
causes("causes ph", CAUSE, family=tg.PH(bands=6), **M)
causes("causes spline", CAUSE, LIKELIHOOD, family=tg.PH("spline", df=2))
several = _fits("several")
several("mvbind", "mvbind(r1, r2) ~ z + arm + gp(x) | censor(limit, limit)", **M)
several("mvbind rescor", "mvbind(r1, r2) ~ z + arm | censor(limit, limit)", rescor=True)
latent = _fits("latent")
latent("latent", "mvbind(r1, r2, left, z) ~ gp(latent(2)) | censor(r1=limit, r2=limit)")
uncertain = _fits("uncertain")
uncertain("measured", "left ~ gp(x, se=sx) | censor(limit)")

vectors = _fits("mixture of vectors", LIKELIHOOD)
vectors("vectors", "mvbind(r1, r2) ~ mixture(2) | censor(r1=limit, r2=limit)", method=tg.EMCM(n_init=2))

KINDS = tuple(dict.fromkeys(entry.kind for entry in FITS.values()))
