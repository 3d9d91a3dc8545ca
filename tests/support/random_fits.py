"""Random formulas on random data, and what must hold of every fit of them."""

import warnings
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from hypothesis import strategies as st

import tobitgp as tg
from support import tally
from support.methods import having
from tobitgp.errors import TobitGPError

POSITIVE = ("lognormal", "loglogistic", "weibull", "exponential")
REAL = ("gaussian", "student", "logistic", "gumbel")
COMPONENTS = ("gaussian", "lognormal", "exponential", "weibull", "poisson")
LINEAR = ("x", "z", "b", "g", "C(g)", "z:x", "x + z", "bs(x, df=4)", "poly(z, 2)", "offset(z)", "log(e)", "w", "0 + x")
CURVES = (
    "gp(x)",
    "gp(x, kernel='matern32')",
    "gp(x, z, kernel='matern52')",
    "gp(x, z, ard=False)",
    "gp(z, kernel='linear')",
    "gp(x, kernel='rq')",
    "gp(x, kernel='periodic', period=1.5)",
    "gp(x, by=g)",
    "gp(x):gp(z)",
    "gp(w, kernel='matern12')",
    "gp(b)",
    "re(g)",
    "(1 | g)",
)
# How the response is written: left of ~, and what stands behind the bar.
WRITTEN = {
    "none": ("y", ""),
    "left": ("y", " | censor(l)"),
    "two-sided": ("y", " | censor(l, u)"),
    "of each row": ("y", " | censor(lrow, upper=urow)"),
    "nondetect": ("y", " | censor(nondetect=seen)"),
    "event": ("Surv(y, event)", ""),
    "interval": ("interval(lo, hi)", ""),
    "text": ("written", ""),
    "status": ("y", " | censor(status=status, upper=hi)"),
    "window": ("y", " | truncate(low)"),
    "window and limit": ("y", " | truncate(low, high) | censor(l)"),
}
BOUNDS = ("exact", "local", "karlova", "monte_carlo")


@dataclass(frozen=True)
class Case:
    """A fit to try: prints as what it takes to do it again."""

    formula: str
    seed: int
    n: int
    shape: str
    positive: bool
    options: dict = field(default_factory=dict)

    @property
    def data(self):
        return random_rows(self.seed, self.n, self.shape, self.positive)


def random_rows(seed, n, shape, positive):
    """Columns of every kind, and a response that ``shape`` makes awkward."""
    rng = np.random.default_rng(seed)
    x, z = rng.uniform(-2, 2, n), rng.normal(size=n)
    g = np.array(list("abcdef"))[rng.integers(0, rng.integers(1, 7), n)]
    y = np.sin(2 * x) * rng.uniform(0, 2) + rng.uniform(-1, 1) * z + rng.choice([0.01, 0.3, 2.0]) * rng.normal(size=n)
    if shape == "ties":
        x, z, y = x.round(), z.round(), y.round()
    if shape == "constant column":
        x = np.full(n, 3.0)
    if shape == "constant response":
        y = np.full(n, 0.5)
    if shape == "outlier":
        y[0] += 1e3
    y = y if not positive else np.exp(np.clip(y, -8, 12))
    y = np.rint(y) if positive == "counts" else y
    if shape == "small units":
        x, y = 1e-6 * x, y if positive == "counts" else 1e-6 * y
    if shape == "large units":
        x, y = 1e6 * x + 1e7, 1e6 * y
    low, high = np.quantile(y, [rng.uniform(0, 0.6), rng.uniform(0.6, 1)])
    if shape == "all censored":
        low, high = y.max(), y.max() + np.ptp(y) + 1.0
    width = np.ptp(y) * rng.uniform(0, 0.5, n) if positive != "counts" else rng.integers(0, 4, n)
    lo = np.where(rng.random(n) < 0.2, -np.inf if not positive else 0.0, y)
    hi = np.where(rng.random(n) < 0.2, np.inf, y + np.where(rng.random(n) < 0.3, 0.0, width))
    censored = np.ones(n, bool) if shape == "all censored" else rng.random(n) < rng.uniform(0, 1)
    frame = pd.DataFrame({"x": x, "z": z, "b": rng.random(n) < 0.5, "g": g, "e": np.exp(z), "y": y, "lo": lo, "hi": hi})
    frame["w"] = x + 1e-12 * (1 + np.abs(x)) * rng.integers(0, 2, n)
    frame = frame.assign(l=low, u=high if high > low else low + 1, seen=censored, event=~censored)
    frame["lrow"] = np.where(rng.random(n) < 0.3, -np.inf, low)
    frame["urow"] = np.where(rng.random(n) < 0.3, np.inf, frame["u"])
    frame["status"] = np.where(censored, rng.choice(["left", "right", "interval"], n), "none")
    frame["written"] = [f"<{v:.9g}" if c else f"{v:.9g}" for v, c in zip(y, censored, strict=True)]
    frame["low"], frame["high"] = y.min() - rng.uniform(0, 1) * np.ptp(y), y.max() + 1.0 + np.ptp(y)
    frame["weight"] = rng.choice([0.0, 1.0, 2.0] if rng.random() < 0.8 else [0.5, 1.0, 1e3], n)
    if shape == "missing":
        frame.loc[rng.integers(0, n, 3), "x"] = np.nan
        frame.loc[rng.integers(0, n, 2), ["y", "lo"]] = np.nan
    return frame


SHAPES = ("plain",) * 6 + ("ties", "constant column", "constant response", "outlier", "all censored", "missing")
SHAPES += ("small units", "large units")


@st.composite
def cases(draw, most=60, easy=False):
    """Formula, rows and options, most of which can be fitted; easy ones leave out what takes many seconds."""
    seed, n, shape = draw(st.integers(0, 2**31)), draw(st.integers(5, most)), draw(st.sampled_from(SHAPES))
    response, more = WRITTEN[draw(st.sampled_from(sorted(WRITTEN)))]
    kind = draw(st.sampled_from(["process", "process", "regression", "mixture"]))
    options = {"family": draw(st.sampled_from(COMPONENTS if kind == "mixture" else REAL + POSITIVE))}
    if easy and kind == "process":
        options = {"family": draw(st.sampled_from(["gaussian", "gaussian", "lognormal", "student", "weibull"]))}
        more = more if options["family"] in ("gaussian", "lognormal") or "truncate" not in more else ""
    positive = "counts" if options["family"] == "poisson" else options["family"] in POSITIVE
    if kind == "mixture":
        right = draw(st.sampled_from(["mixture(1)", "mixture(2)", "mixture(3)", "mixture('dp', max_components=4)"]))
        method = draw(st.sampled_from([tg.VBCM, tg.EMCM, tg.SVBCM]))
        options |= {"method": method(n_init=2), "rng": 1}
    else:
        terms = draw(st.lists(st.sampled_from(LINEAR), max_size=3, unique=True))
        if kind == "process":
            terms += draw(st.lists(st.sampled_from(CURVES), min_size=1, max_size=2, unique=True))
            settings = draw(st.sampled_from([{}, {"hyper": "maximize"}, {"inducing": None}, {"inducing": 4}]))
            settings |= {"max_iter": 20} if easy else {}
            method = draw(st.sampled_from(["auto", "ep", "vi", "laplace"]))
            if options["family"] in ("gaussian", "lognormal") and method == "vi":
                settings["bound"] = draw(st.sampled_from(BOUNDS))
            options["method"] = having(method, **settings) if settings else method
        elif draw(st.integers(0, 4)) == 0:
            options["sigma"] = draw(st.sampled_from(["~ z", "~ b", "~ g"]))
        right = " + ".join(terms) or "1"
    if draw(st.integers(0, 4)) == 0:
        options["weights"] = "weight"
    if draw(st.integers(0, 9)) == 0:
        options["censored"] = draw(st.sampled_from(["drop", "ignore"]))
    return Case(f"{response} ~ {right}{more}", seed, n, shape, positive, options)


def fit_case(case):
    """The fit, or None where it is refused; and the warnings heard."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            return tg.fit(case.formula, case.data, **case.options), heard
        except TobitGPError as error:
            refusal = str(error)
    assert 10 < len(refusal) < 900
    return None, heard


def judge(case, res, heard):
    """Nothing is told by numpy rather than by us; what converged holds no NaN that no warning explains."""
    tally.add()
    stray = [w for w in heard if not (w.category is UserWarning or w.category.__module__ == "tobitgp.errors")]
    assert not stray, [f"{w.category.__name__}: {w.message} {w.filename}:{w.lineno}" for w in stray]
    words = [str(w.message) for w in heard]
    assert len(words) == len(set(words)), words
    if res is None:
        return
    with warnings.catch_warnings(record=True) as later:
        warnings.simplefilter("always")
        assert len(str(res.summary())) > 200
        errors, predicted = res.bse, res.predict()
    if not res.converged:
        assert heard
        return
    assert np.isfinite(res.params).all(), res.params
    assert heard or later or np.isfinite(errors).all(), errors
    kept = res.parts.rows.kept
    assert not predicted[kept].isna().any(), predicted[kept]
    value = res.llf if case.options.get("method", "mle") in ("mle", "em") else res.log_evidence
    assert np.isfinite(value), value
    if "gp" in vars(type(res.parts)).get("__dataclass_fields__", {}):
        judge_process(case, res)


def judge_process(case, res):
    """Sites and bounds of Gaussian noise."""
    fitted = res.parts.fitted
    if res.parts.family.distribution.name != "normal" or "truncate" in case.formula:
        return
    response, order = res.parts.rows.response, res.parts.gp.problem.order
    plain = response.weight[order] == 1.0
    lambda2, sigma = fitted.points[0].sites.lambda2[plain], fitted.points[0].sigma
    assert (lambda2 >= -1e-12).all()
    assert (lambda2 <= (1 + 1e-9) / sigma**2).all(), lambda2.max() * sigma**2
    if len(response.weight) <= 40 and case.seed % 3 == 0:
        table = tg.compare_bounds(res)
        if "exact" in table.index:
            exact, se = table.loc["exact", ["value", "se"]]
            slack = 6 * np.nan_to_num(se) + 1e-4 * max(1.0, abs(exact)) ** 0.5 + fitted.nats_left
            assert not res.elbo > exact + slack, (res.elbo, table)
