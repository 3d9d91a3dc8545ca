"""The fits whose public answers are recorded: every kind, family, censoring, method and way to hand over data."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from support.matrix.data import DATA as MATRIX_DATA
from support.matrix.fits import FITS as MATRIX

import tobitgp as tg

NEW = 6  # last rows of a data set, kept for predictions


@dataclass(frozen=True)
class Data:
    """Rows with a limit for probabilities, times for curves, and the columns that are nudged in their last digits."""

    make: Callable[[], pd.DataFrame]
    level: float
    times: tuple[float, ...]
    nudged: tuple[str, ...]

    def rows(self, n: int | None, nudge: float) -> tuple[pd.DataFrame, pd.DataFrame]:
        frame = self.make()
        frame = frame.assign(**{name: frame[name] * nudge for name in self.nudged})
        return frame.iloc[: n or -NEW].iloc[: len(frame) - NEW], frame.iloc[-NEW:]


def simulated(seed: int = 11, n: int = 96) -> pd.DataFrame:
    """One latent response, written and censored in every way that a formula knows."""
    rng = np.random.default_rng(seed)
    x, x2, z = rng.uniform(0, 10, n), rng.uniform(0, 1, n), rng.normal(size=n)
    b, g, h = rng.random(n) < 0.5, rng.choice(list("pqrs"), n), rng.choice(list("uvw"), n)
    group = 0.6 * (g == "p") - 0.4 * (g == "q") + 0.3 * (h == "u")
    y = np.sin(x) + 0.5 * z + 0.4 * b + group + 0.4 * rng.normal(size=n)
    limit = np.where(rng.random(n) < 0.5, -0.5, -0.2)
    t, end = np.exp(0.7 * y), 4 * rng.exponential(size=n)
    width = rng.choice([0.0, 0.4, np.inf], n, p=[0.4, 0.4, 0.2])
    status = rng.choice(["none", "left", "right", "interval"], n, p=[0.5, 0.15, 0.15, 0.2])
    seen = rng.random(n) < 0.7
    two = np.where(rng.random(n) < 0.4, -2.0, 1.5) + 0.6 * rng.normal(size=n)
    frame = pd.DataFrame({"x": x, "x2": x2, "z": z, "b": b, "g": g, "h": h, "y": y, "limit": limit, "status": status})
    return frame.assign(
        left=np.maximum(y, -0.5),
        right=np.minimum(y, 1.2),
        both=np.clip(y, -0.5, 1.2),
        rowwise=np.maximum(y, limit),
        y2=y + 0.7,
        nd=y < limit,
        reported=np.where(y < limit, limit, y),
        seen=seen,
        text=[f"<{0.5}" if v < 0.5 else f"{v:.4f}" for v in t],
        t=t,
        tleft=np.maximum(t, 0.6),
        time=np.minimum(t, end),
        event=(t <= end).astype(int),
        entry=np.where(rng.random(n) < 0.5, 0.0, 0.3 * np.minimum(t, end)),
        lo=np.where(width == np.inf, 0.7 * t, t - 0.2 * np.where(width > 0, 1, 0) * t),
        hi=t + width,
        off=0.3 * rng.normal(size=n),
        w=rng.integers(1, 4, n).astype(float),
        precision=rng.uniform(0.5, 3, n),
        count=np.minimum(rng.poisson(np.where(rng.random(n) < 0.4, 1.5, 8.0)), 9),
        low2=np.maximum(two, -2),
        both2=np.clip(two, -2, 2),
        least=-2.0,
        most=2.0,
        heavy=np.maximum(0.5 * z + 0.4 * b + 0.5 * rng.standard_t(2.5, n), -0.8),
    )


def shown() -> pd.DataFrame:
    """Only rows inside a window of the response."""
    frame = simulated(12, 160)
    return frame[(frame["y"] > -0.4) & (frame["y"] < 2.5)].reset_index(drop=True)


def gaps() -> pd.DataFrame:
    frame = simulated()
    frame.loc[[3, 20], "z"] = np.nan
    frame.loc[[5, 30], "left"] = np.nan
    return frame


def bundled(name: str, n: int, **kinds: str) -> Callable[[], pd.DataFrame]:
    return lambda: tg.datasets.load(name).iloc[:n].astype(kinds)


MATRIX_COLUMNS = ("x", "x2", "z", "left", "r1", "r2", "pos", "zero", "time", "entry", "ctime", "first")
ROWS = ("x", "x2", "z", "off", "low2", "both2", "least", "most")
DATA = {
    "rows": Data(simulated, 0.8, (0.5, 1.0, 2.0), ROWS),
    "window": Data(shown, 0.8, (0.5, 1.0, 2.0), ROWS),
    "gaps": Data(gaps, 0.8, (0.5, 1.0, 2.0), ROWS),
    "times": Data(simulated, 1.5, (0.5, 1.0, 2.0), (*ROWS, "t", "time", "entry", "lo", "hi")),
    "lung": Data(bundled("lung", 106, time=float, age=float), 300.0, (100.0, 300.0, 600.0), ("time", "age")),
    "gbsg2": Data(bundled("gbsg2", 156, time=float, age=float), 900.0, (365.0, 730.0, 1500.0), ("time", "age")),
    "diabetes": Data(bundled("diabetes", 126, left=float, right=float), 20.0, (10.0, 20.0, 40.0), ("left", "right")),
    "rossi": Data(bundled("rossi", 206, week=float), 30.0, (10.0, 26.0, 52.0), ("week",)),
    "nh4": Data(bundled("nh4", 102), 0.1, (0.01, 0.1, 0.5), ("nh4", "limit")),
    "tobin": Data(bundled("tobin", 20, quant=float), 2.0, (1.0, 2.0, 5.0), ("age", "quant")),
    "matrix rows": Data(MATRIX_DATA["rows"], 1.0, (0.5, 1.0, 2.0), MATRIX_COLUMNS),
    "matrix subjects": Data(MATRIX_DATA["subjects"], 1.0, (0.5, 1.0, 2.0), ("start", "stop", "z")),
}


@dataclass(frozen=True)
class Fit:
    """A call of `tg.fit`, how the rows are handed over, and whether the fit is saved and loaded before it is asked."""

    name: str
    formula: str
    data: str
    n: int | None
    given: str
    options: dict[str, Any]

    def run(self, nudge: float = 1.0) -> tuple[Any, pd.DataFrame, Data, list[str]]:
        """The results, rows to predict, their data set, and the classes of the warnings of the fit."""
        data = DATA[self.data]
        train, new = data.rows(self.n, nudge)
        with warnings.catch_warnings(record=True) as heard, tempfile.TemporaryDirectory() as folder:
            warnings.simplefilter("always")
            res = tg.fit(self.formula, hand_over(train, self.given, Path(folder)), **self.options)
            if self.given == "saved":
                res.save(Path(folder) / "fit.tgp")
                res = tg.load(Path(folder) / "fit.tgp")
        return res, new, data, sorted({item.category.__name__ for item in heard})


def hand_over(train: pd.DataFrame, given: str, folder: Path) -> Any:
    if given == "parquet":
        half = len(train) // 2
        train.iloc[:half].to_parquet(folder / "0.parquet")
        train.iloc[half:].to_parquet(folder / "1.parquet")
        return folder
    if given == "dask":
        import dask.dataframe as dd

        return dd.from_pandas(train, npartitions=3, sort=False)
    return train


def fit(name: str, formula: str, data: str = "rows", n: int | None = None, given: str = "frame", **options: Any) -> Fit:
    return Fit(name, formula, data, n, given, options)


def double(v: Any) -> Any:
    return 2 * v


SURV = "Surv(time, event)"
AT = {"sd(gp(x))": 1.0, "lengthscale(gp(x))": 1.6, "sigma": 0.5}  # all hyper-parameters of gp(x), nothing is searched
AT_LOG = {"sd(gp(x))": 0.7, "lengthscale(gp(x))": 1.6, "sigma": 0.4}
TREND = "gp(time, kernel='matern32')"

REGRESSIONS = [
    fit("plain", "y ~ z + C(g)"),
    fit("left", "left ~ z + C(g) | censor(-0.5)"),
    fit("right", "right ~ z + C(g) | censor(upper=1.2)"),
    fit("both", "both ~ z + b | censor(-0.5, 1.2)"),
    fit("rowwise, product", "rowwise ~ z*b | censor(limit)"),
    fit("tobin", "durable ~ age + quant | censor(0)", "tobin"),
    fit("fixed sigma", "durable ~ age | censor(0)", "tobin", fixed={"sigma": 5.0}),
    fit("status", "y ~ z | censor(status=status, upper=y2)"),
    fit("nondetect", "reported ~ z | censor(nondetect=nd)"),
    fit("event", "y ~ z | censor(event=seen)"),
    fit("text", "text ~ z + x2", family="lognormal"),
    fit("interval", "interval(lo, hi) ~ z + b", "times", family="lognormal"),
    fit("interval2", "Surv(lo, hi, type='interval2') ~ z", "times", family="loglogistic"),
    fit("diabetes", "interval(left, right) ~ C(sex)", "diabetes", family="weibull"),
    fit("Surv left", "Surv(tleft, seen, type='left') ~ z", family="lognormal"),
    fit("entry", "Surv(entry, time, event) ~ z + b", "times", family="weibull"),
    fit("lung weibull", f"{SURV} ~ age + C(sex) + ph_ecog", "lung", family="weibull"),
    fit("lung exponential", f"{SURV} ~ age + C(sex)", "lung", family="exponential"),
    fit("gbsg2 loglogistic", f"{SURV} ~ hormone + bs(age, df=4) + log(nodes)", "gbsg2", family="loglogistic"),
    fit("gbsg2 lognormal", f"{SURV} ~ hormone * log(nodes)", "gbsg2", family="lognormal"),
    fit("logistic", "left ~ z + b | censor(-0.5)", family="logistic"),
    fit("gumbel", "both ~ z | censor(-0.5, 1.2)", family="gumbel"),
    fit("student", "heavy ~ z + b | censor(-0.8)", family="student"),
    fit("student 4", "left ~ z | censor(-0.5)", family=tg.Student(df=4)),
    fit("truncated", "y ~ z | truncate(-0.4)", "window"),
    fit("truncated, censored", "right ~ z + b | censor(upper=1.2) | truncate(-0.4)", "window"),
    fit("truncated weibull", "t ~ z | truncate(0.7)", "window", family="weibull"),
    fit("weights", "left ~ z + b | censor(-0.5)", weights="w"),
    fit("var_weights", "left ~ z + b | censor(-0.5)", var_weights="precision"),
    fit("sigma", "left ~ z | censor(-0.5)", sigma="~ z + b"),
    fit("sigma weibull", f"{SURV} ~ z", "times", family="weibull", sigma="~ b"),
    fit("HC1", "left ~ z + b | censor(-0.5)", cov_type="HC1"),
    fit("cluster", "left ~ z + b | censor(-0.5)", cov_type="cluster", cov_kwds={"groups": "g"}),
    fit("drop", "left ~ z | censor(-0.5)", censored="drop"),
    fit("ignore", "left ~ z | censor(-0.5)", censored="ignore"),
    fit("offset, no intercept", "left ~ 0 + C(g, Treatment('q')) + z + offset(off) | censor(-0.5)"),
    fit("transformed", "log(tleft) ~ poly(x2, 2) + double(z) | censor(log(0.6))", functions={"double": double}),
    fit("gaps", "left ~ z + C(h, Sum) | censor(-0.5)", "gaps"),
    fit("loaded", "both ~ z + C(g) | censor(-0.5, 1.2)", given="saved"),
    fit("loaded weibull", f"{SURV} ~ age + C(sex)", "lung", given="saved", family="weibull"),
    fit("parquet", "left ~ z | censor(-0.5)", given="parquet"),
]

PROCESSES = [
    fit("plain", "y ~ z + gp(x)", n=50),
    fit("plain fixed", "y ~ z + gp(x)", n=50, fixed=AT),
    fit("left", "left ~ z + gp(x) | censor(-0.5)", n=50),
    fit("left fixed", "left ~ z + gp(x) | censor(-0.5)", fixed=AT),
    fit("left maximize", "left ~ z + gp(x) | censor(-0.5)", n=50, method=tg.EP(hyper="maximize")),
    fit("both vi", "both ~ gp(x) | censor(-0.5, 1.2)", n=50, method="vi", fixed=AT),
    fit("both vi searched", "both ~ gp(x) | censor(-0.5, 1.2)", n=50, method=tg.VI(hyper="maximize")),
    fit(
        "both local",
        "both ~ gp(x) | censor(-0.5, 1.2)",
        n=50,
        method=tg.VI(bound="local"),
        fixed=AT | {"sigma_lower": 0.2, "sigma_upper": 0.1},
    ),
    fit("both monte carlo", "both ~ gp(x) | censor(-0.5, 1.2)", n=40, method=tg.VI(bound="monte_carlo"), fixed=AT),
    fit("both karlova", "both ~ gp(x) | censor(-0.5, 1.2)", n=50, method=tg.VI(bound="karlova"), fixed=AT),
    fit("both laplace", "both ~ gp(x) | censor(-0.5, 1.2)", n=50, method=tg.Laplace(hyper="integrate")),
    fit("student", "left ~ gp(x) | censor(-0.5)", n=50, family="student", fixed=AT | {"df": 4.0}),
    fit("student vi", "left ~ gp(x) | censor(-0.5)", n=40, family=tg.Student(df=4), method=tg.VI(hyper="maximize")),
    fit("logistic", "left ~ gp(x) | censor(-0.5)", n=40, family="logistic", fixed=AT),
    fit("gumbel", "both ~ gp(x) | censor(-0.5, 1.2)", n=40, family="gumbel", fixed=AT),
    fit("nh4", f"nh4 ~ {TREND} | censor(limit)", "nh4", family="lognormal", method=tg.EP(inducing=None)),
    fit("lung", f"{SURV} ~ C(sex) + gp(age)", "lung", n=60, family="weibull"),
    fit(
        "lung groups", f"{SURV} ~ gp(age) + re(ph_ecog)", "lung", n=60, family="weibull", method=tg.EP(hyper="maximize")
    ),
    fit("loglogistic", f"{SURV} ~ gp(x)", "times", n=40, family="loglogistic", fixed=AT_LOG),
    fit("exponential", f"{SURV} ~ gp(x)", "times", n=40, family="exponential", method=tg.EP(hyper="maximize")),
    fit("interval", "interval(lo, hi) ~ gp(x)", "times", n=50, family="lognormal", fixed=AT_LOG),
    fit("text", "text ~ gp(x)", n=50, family="lognormal", method=tg.EP(hyper="maximize")),
    fit("status", "y ~ gp(x) | censor(status=status, upper=y2)", n=50, fixed=AT),
    fit("nondetect", "reported ~ gp(x) | censor(nondetect=nd)", n=50, fixed=AT),
    fit("truncated", "y ~ gp(x) | truncate(-0.4)", "window", n=50, fixed=AT),
    fit("truncated, censored", "right ~ gp(x) | censor(upper=1.2) | truncate(-0.4)", "window", n=50, fixed=AT),
    fit("entry", "Surv(entry, time, event) ~ gp(x)", "times", n=40, family="weibull", fixed=AT_LOG),
    fit("weights", "left ~ gp(x) | censor(-0.5)", n=50, weights="w", fixed=AT),
    fit("var_weights", "left ~ gp(x) | censor(-0.5)", n=50, var_weights="precision", method=tg.EP(hyper="maximize")),
    fit("noise of columns", "left ~ z + gp(x) | censor(-0.5)", n=60, sigma="~ b"),
    fit("noise process", "left ~ gp(x) | censor(-0.5)", sigma="~ gp(x2) + (1 | h)", method=tg.EP(hyper="maximize")),
    fit("groups", "left ~ z + (1 | g) + (1 | h) | censor(-0.5)"),
    fit("by", "left ~ C(b) + gp(x, by=b) | censor(-0.5)", n=60, method=tg.EP(hyper="maximize")),
    fit("surface", "left ~ gp(x, x2, ard=False) | censor(-0.5)", n=40, method=tg.EP(hyper="maximize")),
    fit("product", "left ~ gp(x):gp(x2) | censor(-0.5)", n=40, method=tg.EP(hyper="maximize")),
    fit("varying slope", "left ~ z:gp(x) + z | censor(-0.5)", n=50, method=tg.EP(hyper="maximize")),
    fit(
        "season", "left ~ gp(x, kernel='linear', name='line') + gp(x, period=6.28, name='season') | censor(-0.5)", n=50
    ),
    fit("periodic", "y ~ gp(x, kernel='periodic')", n=40, method=tg.EP(hyper="maximize")),
    fit("matern12", "left ~ gp(x, kernel='matern12') | censor(-0.5)", n=40, fixed=AT),
    fit("matern52", "left ~ gp(x, kernel='matern52') | censor(-0.5)", n=40, fixed=AT),
    fit("rq", "left ~ gp(x, kernel='rq') | censor(-0.5)", n=40, method=tg.EP(hyper="maximize")),
    fit("offset", "left ~ offset(off) + gp(x) | censor(-0.5)", n=50, fixed=AT),
    fit("inducing none", "left ~ gp(x) | censor(-0.5)", n=40, method=tg.EP(inducing=None), fixed=AT),
    fit("inducing 7", "left ~ gp(x) | censor(-0.5)", n=40, method=tg.EP(inducing=7), fixed=AT),
    fit("inducing moved", "left ~ gp(x) | censor(-0.5)", n=40, method=tg.EP(inducing=tg.Inducing(7), hyper="maximize")),
    fit("linear", "durable ~ age + quant | censor(0)", "tobin", method="ep"),
    fit("priors", "left ~ z | censor(-0.5)", n=50, priors={"z": tg.Normal(0, 2), "sigma": tg.LogNormal(0.5, 0.5)}),
    fit("no priors", "left ~ gp(x) | censor(-0.5)", n=50, priors={}, method=tg.EP(hyper="maximize")),
    fit("drop", "left ~ gp(x) | censor(-0.5)", n=50, censored="drop", fixed=AT),
    fit("ignore", "left ~ gp(x) | censor(-0.5)", n=50, censored="ignore", fixed=AT),
    fit("loaded", "both ~ z + gp(x) | censor(-0.5, 1.2)", n=50, given="saved", method=tg.EP(hyper="maximize")),
    fit("parquet", "both ~ z + gp(x) | censor(-0.5, 1.2)", n=50, given="parquet", method=tg.EP(hyper="maximize")),
    fit("dask groups", "both ~ z + re(g) | censor(-0.5, 1.2)", given="dask"),
]

FEW = {"n_init": 3, "tol": 1e-13}  # to the last digits, so that no digit is left to where it stops
MIXTURES = [
    fit("gaussian", "low2 ~ mixture(2) | censor(least)", method=tg.VBCM(**FEW)),
    fit("gaussian both", "both2 ~ mixture(range(1, 4)) | censor(least, most)", method=tg.VBCM(**FEW)),
    fit("dp", "low2 ~ mixture('dp', max_components=4) | censor(least)", method=tg.VBCM(**FEW)),
    fit("em", "low2 ~ mixture(2) | censor(least)", method=tg.EMCM(**FEW)),
    fit("svbcm", "low2 ~ mixture(2) | censor(least)", method="svbcm", rng=1),
    fit("drop", "low2 ~ mixture(2) | censor(least)", censored="drop", method=tg.VBCM(**FEW)),
    fit(
        "priors",
        "low2 ~ mixture(2) | censor(least)",
        priors={"mean": 0, "tau": 0.01, "a": 1, "b": 1},
        method=tg.VBCM(**FEW),
    ),
    fit("lung weibull", f"{SURV} ~ mixture(2)", "lung", family="weibull", method=tg.VBCM(**FEW)),
    fit("lung weibull em", f"{SURV} ~ mixture(2)", "lung", family="weibull", method=tg.EMCM(**FEW)),
    fit("lung gaussian", f"{SURV} ~ mixture(2)", "lung", family="gaussian", method=tg.VBCM(**FEW)),
    fit(
        "rossi exponential",
        f"{SURV.replace('time', 'week')} ~ mixture(2)",
        "rossi",
        family="exponential",
        method=tg.VBCM(**FEW),
    ),
    fit(
        "diabetes lognormal",
        "interval(left, right) ~ mixture(2)",
        "diabetes",
        family="lognormal",
        method=tg.VBCM(**FEW),
    ),
    fit("poisson", "count ~ mixture(2) | censor(upper=9)", family="poisson", method=tg.VBCM(**FEW)),
    fit("weights", "low2 ~ mixture(2) | censor(least)", weights="w", method=tg.VBCM(**FEW)),
    fit("loaded", "low2 ~ mixture(2) | censor(least)", given="saved", method=tg.VBCM(**FEW)),
    fit("parquet", "low2 ~ mixture(2) | censor(least)", given="parquet", method=tg.VBCM(**FEW)),
]

# The fits of all other kinds, and of a few models more, are those of the matrix of kinds and questions.
OLDER = ("regression", "process", "mixture")
PLAIN = ("gengamma", "gp markov", "gp vecchia", "gp groups")


def of_matrix(name: str, given: str = "frame") -> Fit:
    entry = MATRIX[name]
    said = f"{entry.name} loaded" if given == "saved" else entry.name
    return fit(said, entry.formula, f"matrix {entry.data}", given=given, **entry.options)


KINDS = [
    *(of_matrix(name, given) for name in MATRIX if MATRIX[name].kind not in OLDER for given in ("frame", "saved")),
    *map(of_matrix, PLAIN),
]

FITS = {
    f"{kind}: {each.name}": each
    for kind, fits in {"regression": REGRESSIONS, "process": PROCESSES, "mixture": MIXTURES, "kind": KINDS}.items()
    for each in fits
}
