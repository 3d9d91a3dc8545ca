"""Random models of every kind, each drawn from a seed."""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

import tobitgp as tg
from support.methods import having
from support.random_fits import CURVES, LINEAR, POSITIVE, REAL, WRITTEN
from support.random_tables import SHAPES, pieces, random_table
from tobitgp.method_value import given_settings

MORE_LINEAR = ("rare", "`my col`", "sigma", "`class`", "C(k)", "x*z", "I(x**2)", "b:z", "cr(x, df=3)")
MORE_LINEAR += ("decimal_year(day)", "scale(x)", "C(k, Sum)", "z:g", "center(z)")
MORE_CURVES = ("z:gp(x)", "gp(x, kernel='matern32', approximation='markov')", "gp(x, z, approximation='vecchia')")
MORE_CURVES += ("gp(decimal_year(day))", "gp(x, line=False)", "(z | g)", "(1 + z || k)", "(1 | g/k)", "gp(x, by=k)")
SIMPLE = ("x", "z", "b", "g", "C(k)", "rare", "`my col`", "z:b", "I(x**2)", "bs(x, df=4)")
HAZARDS = ("gp", "piecewise", "spline", "weibull", "gompertz")
KINDS = {}


@dataclass(frozen=True)
class Model:
    """A call of `tg.fit`; prints as what it takes to do it again."""

    kind: str
    seed: int
    n: int
    shape: str
    positive: object
    formula: object = ""
    options: dict = field(default_factory=dict)
    notes: dict = field(default_factory=dict, repr=False)

    @cached_property
    def data(self):
        table = random_table(self.seed, self.n, self.shape, self.positive)
        return pieces(table, np.random.default_rng(self.seed)) if self.kind == "start-stop" else table

    def fit(self):
        return tg.fit(self.formula, self.data, **self.options)


def kind(share, positive=None):
    """Adds a kind to the registry: a function of a generator that gives formula and options."""

    def add(draw):
        KINDS[draw.__name__.replace("_", " ").replace("start stop", "start-stop")] = (share, positive, draw)
        return draw

    return add


def random_model(seed):
    rng = np.random.default_rng([seed, 0])
    shares = np.array([share for share, _, _ in KINDS.values()], float)
    name = str(rng.choice(list(KINDS), p=shares / shares.sum()))
    _, positive, draw = KINDS[name]
    formula, options = draw(rng)
    if positive is None:
        positive = options.get("family") in (*POSITIVE, "gengamma") or "Surv(y" in formula
    if rng.random() < 0.15:
        options["weights"] = "weight"
    if rng.random() < 0.04 and name in ("regression", "process"):
        options["censored"] = str(rng.choice(["drop", "ignore"]))
    return Model(name, seed, int(rng.integers(10, 61)), str(rng.choice(SHAPES)), positive, formula, options)


def terms(rng, pool, least=0, most=3):
    number = int(rng.integers(least, most + 1))
    found = [str(term) for term in rng.choice(pool, number, replace=False)]
    return [*found, "const"] if rng.random() < 0.01 else found


def joined(found, behind=""):
    return (" + ".join(found) or "1") + behind


def posterior(rng):
    """Options of a posterior, cheap ones more often."""
    pool = [tg.EP(hyper="maximize", n_starts=1)] * 5
    pool += [tg.EP(max_iter=20), tg.EP(hyper="maximize", inducing=4)]
    return {"method": pool[int(rng.integers(len(pool)))]}


@kind(3)
def regression(rng):
    left, behind = WRITTEN[str(rng.choice(sorted(WRITTEN)))]
    options = {"family": str(rng.choice([*REAL, *POSITIVE, "gengamma"]))}
    if rng.random() < 0.25:
        options["sigma"] = str(rng.choice(["~ z", "~ b", "~ g", "~ x + C(k)"]))
    if rng.random() < 0.2:
        options["cov_type"] = str(rng.choice(["HC0", "HC1", "cluster"]))
        options |= {"cov_kwds": {"groups": "k"}} if options["cov_type"] == "cluster" else {}
    return f"{left} ~ {joined(terms(rng, LINEAR + MORE_LINEAR), behind)}", options


@kind(3)
def process(rng):
    left, behind = WRITTEN[str(rng.choice(sorted(WRITTEN)))]
    options = posterior(rng) | {"family": str(rng.choice(["gaussian"] * 4 + ["lognormal", "student", "weibull"]))}
    name = str(rng.choice(["ep", "ep", "ep", "ep", "vi", "laplace"]))
    options["method"] = having(name, **given_settings(options["method"]))
    if rng.random() < 0.1:
        options["sigma"] = str(rng.choice(["~ gp(x)", "~ z", "~ (1 | g)"]))
    chosen = terms(rng, LINEAR + MORE_LINEAR, most=2) + terms(rng, CURVES + MORE_CURVES, 1, 2)
    return f"{left} ~ {joined(chosen, behind)}", options


@kind(1)
def fixed(rng):
    at = {"sd(gp(x))": 1.0, "lengthscale(gp(x))": 2.0, "sigma": 0.5}
    chosen = [*terms(rng, SIMPLE, most=2), "gp(x)"]
    return f"y ~ {joined(chosen, ' | censor(l)')}", {"fixed": at, "method": str(rng.choice(["ep", "vi", "laplace"]))}


@kind(1.5, positive=True)
def survival(rng):
    left = str(rng.choice(["Surv(time, event)", "Surv(entry, time, event)", "Surv(early, late, type='interval2')"]))
    options = {"family": str(rng.choice([*POSITIVE, "gengamma"]))}
    pool = SIMPLE + (("gp(x)", "(1 | g)") if rng.random() < 0.3 else ())
    chosen = terms(rng, pool)
    if {"gp(x)", "(1 | g)"} & set(chosen):
        options |= posterior(rng)
    return f"{left} ~ {joined(chosen)}", options


@kind(1, positive=True)
def cured(rng):
    cure = str(rng.choice(["~ 1", "~ z", "~ g", "~ x + b"]))
    return f"Surv(until, dead) ~ {joined(terms(rng, SIMPLE, most=2))}", {
        "family": str(rng.choice(POSITIVE)),
        "cure": cure,
    }


@kind(1, positive=True)
def box_cox(rng):
    family = tg.BoxCox(power=0.5) if rng.random() < 0.2 else "boxcox"
    left, behind = WRITTEN[str(rng.choice(["none", "left", "of each row", "nondetect"]))]
    if rng.random() < 0.3:
        return f"{left} ~ {joined(['gp(x)', *terms(rng, SIMPLE, most=1)], behind)}", {"family": family} | posterior(rng)
    return f"{left} ~ {joined(terms(rng, SIMPLE), behind)}", {"family": family}


@kind(1)
def several(rng):
    left, behind = [
        ("mvbind(y, other)", ""),
        ("mvbind(y, other)", " | censor(l, other_limit)"),
        ("mvbind(y, other, third)", ""),
    ][int(rng.integers(3))]
    pool = SIMPLE + (("gp(x)", "(1 | g)") if rng.random() < 0.3 else ())
    options = posterior(rng) | {"rescor": bool(rng.random() < 0.5)}
    return f"{left} ~ {joined(terms(rng, pool, most=2), behind)}", options


@kind(0.7)
def latent(rng):
    left, behind = [
        ("mvbind(y, other)", ""),
        ("mvbind(y, other)", " | censor(l, other_limit)"),
        ("mvbind(y, other, third)", " | censor(y=l)"),
    ][int(rng.integers(3))]
    method = [tg.VI(bound="local", n_starts=1), tg.VI(bound="local", inducing=5, max_iter=40)][int(rng.integers(2))]
    return f"{left} ~ gp(latent({int(rng.integers(1, 4))})){behind}", {"method": method}


@kind(0.5)
def vectors(rng):
    left, behind = [
        ("mvbind(y, other)", ""),
        ("mvbind(y, other)", " | censor(l, other_limit)"),
        ("mvbind(y, other, third)", " | censor(y=l)"),
    ][int(rng.integers(3))]
    options = {"method": tg.EMCM(n_init=1, max_iter=int(rng.choice([40, 400])))}
    return f"{left} ~ mixture({int(rng.integers(1, 4))}){behind}", options


@kind(1.5, positive=True)
def mixture(rng):
    right = str(rng.choice(["mixture(1)", "mixture(2)", "mixture(3)", "mixture('dp', max_components=4)"]))
    options = {"family": str(rng.choice(["lognormal", "exponential", "weibull"])), "rng": 1}
    left, behind = WRITTEN[str(rng.choice([name for name in sorted(WRITTEN) if "window" not in name]))]
    starts = 1
    if rng.random() < 0.25:
        right, starts = "mixture(range(1, 3))", 2
    options["method"] = having(
        str(rng.choice(["vbcm", "svbcm"] if "dp" in right else ["vbcm", "em", "svbcm"])), n_init=starts
    )
    return f"{left} ~ {right}{behind}", options


@kind(0.7)
def real_mixture(rng):
    formula, options = mixture(rng)
    return formula, options | {"family": "gaussian"}


@kind(0.7)
def mixed_regression(rng):
    left, behind = WRITTEN[str(rng.choice(sorted(WRITTEN)))]
    options = {"family": str(rng.choice([*REAL, *POSITIVE]))}
    if rng.random() < 0.3:
        options["formulas"] = {"odds": str(rng.choice(["~ z", "~ b"]))}
    inside = " + ".join(terms(rng, SIMPLE, most=2) or ["1"])
    return f"{left} ~ mixture({rng.choice([2, 2, 3])}, {inside}){behind}", options


@kind(0.7, positive="counts")
def counts(rng):
    right = str(rng.choice(["mixture(2)", "mixture(3)", "mixture('dp', max_components=3)"]))
    behind = str(rng.choice(["", " | censor(2)", " | censor(2, 9)"]))
    return f"count ~ {right}{behind}", {
        "family": "poisson",
        "method": having("vbcm" if "dp" in right else str(rng.choice(["vbcm", "em"])), n_init=1),
    }


def baseline(rng):
    """A family of hazards and the options that go with it."""
    name = str(rng.choice(HAZARDS))
    if name == "gp":
        return tg.PH(bands=int(rng.integers(2, 7))), {"method": tg.EP(hyper="maximize")}, True
    if name == "piecewise":
        return tg.PH("piecewise", bands=int(rng.integers(1, 5))), {"method": str(rng.choice(["mle", "auto"]))}, True
    if name == "spline":
        link = str(rng.choice(["hazard", "odds", "probit"]))
        return tg.PH("spline", df=int(rng.integers(1, 4)), link=link), {}, False
    return tg.PH(name, frailty="gamma" if rng.random() < 0.3 else None), {}, False


@kind(3, positive=True)
def hazard(rng):
    family, options, cells = baseline(rng)
    chosen = terms(rng, SIMPLE, most=2)
    extra = ["strata(g)", "tv(z)", "strata(k)", "gp(x)", "(1 | g)"] if cells else ["strata(g)"]
    if rng.random() < 0.5:
        chosen.append(str(rng.choice(extra)))
    if family.frailty == "gamma":
        chosen = [term for term in chosen if "|" not in term] + ["(1 | k)"]
    options = {name: value for name, value in options.items() if value != "mle" or "(1" not in joined(chosen)}
    left = str(rng.choice(["Surv(time, event)", "Surv(entry, time, event)"][: 1 if family.frailty else 2]))
    return f"{left} ~ {joined(chosen)}", {"family": family} | options


@kind(1, positive=True)
def start_stop(rng):
    if rng.random() < 0.4:
        family, options = str(rng.choice(["weibull", "lognormal", "loglogistic"])), {}
    else:
        family, options, _ = baseline(rng)
        family = family if getattr(family, "frailty", None) is None else tg.PH("weibull")
    return f"Surv(start, stop, event) ~ {joined(terms(rng, SIMPLE, most=2))}", {
        "family": family,
        "id": "who",
    } | options


@kind(1.5, positive=True)
def causes(rng):
    left = str(rng.choice(["Surv(time, cause)", "Surv(time, why)", "Surv(entry, time, cause)"]))
    right = joined(terms(rng, SIMPLE, most=2))
    if rng.random() < 0.5:
        return f"{left} ~ {right}", {"family": str(rng.choice(["weibull", "lognormal", "exponential"]))}
    family, options, _ = baseline(rng)
    family = family if family.frailty is None else tg.PH("gompertz")
    return f"{left} ~ {right}", {"family": family} | options
