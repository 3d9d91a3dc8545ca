"""What a user sees on calls of `tg.fit` that no kind supports, word for word: read these for tone when they change.

``python tests/contracts/test_messages_of_calls.py`` writes the messages anew.
"""

import re
import sys
import warnings
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent))  # what tests share, where this file is run by itself

from support.kinds import rows

import tobitgp as tg

SNAPSHOT = Path(__file__).with_name("messages_of_calls.txt")
SURV, CAUSES, WIDE, PATHS = (
    "Surv(time, event) ~ z",
    "Surv(time, cause) ~ z",
    "mvbind(low, other) ~ z",
    "Surv(entry, time, event) ~ z",
)
PH, SPLINE, FRAILTY, CUTS = "ph", tg.PH("spline"), tg.PH("weibull", frailty="gamma"), tg.PH("piecewise", bands=3)
COX, WEIBULL = {"family": "boxcox"}, {"family": "weibull"}

# Options that some kinds do not support, each tried with each of the formulas below.
OPTIONS = {
    "method='mle'": {"method": "mle"},
    "method='em'": {"method": "em"},
    "method='nuts'": {"method": "nuts"},
    "method=VI()": {"method": tg.VI()},
    "bound='local'": {"method": tg.VI(bound="local")},
    "inducing=": {"method": tg.EP(inducing=5)},
    "hyper=": {"hyper": "maximize"},
    "sigma=": {"sigma": "~ g"},
    "sigma='z'": {"sigma": "z"},
    "sigma=1": {"sigma": 1},
    "cure=": {"cure": "~ 1"},
    "rescor=": {"rescor": True},
    "rescor='no'": {"rescor": "no"},
    "id=": {"id": "who"},
    "id='what'": {"id": "what"},
    "censored=": {"censored": "drop"},
    "censored='no'": {"censored": "no"},
    "fixed=": {"fixed": {"beta": 1.0}},
    "fixed sigma": {"fixed": {"sigma": -1.0}},
    "start=": {"start": {"beta": 1.0}},
    "priors=": {"priors": {"beta": tg.Normal(0, 1)}},
    "missing=": {"missing": "keep"},
    "weights=": {"weights": "what"},
    "var_weights=": {"var_weights": "w"},
    "max_iter=": {"max_iter": 50},
    "rng=": {"rng": "first"},
    "progress=": {"progress": "yes"},
    "cov_type='HC0'": {"cov_type": "HC0"},
    "cov_type='HC9'": {"cov_type": "HC9"},
    "cov_type='cluster'": {"cov_type": "cluster"},
    "cov_kwds=": {"cov_kwds": {"groups": "g"}},
    "family=": {"family": "poison"},
    "family={}": {"family": {1: "weibull", 2: "ph"}},
    "family=lognormal": {"family": "lognormal"},
}
CALLS = {
    "regression": ("low ~ z | censor(limit)", {}),
    "cure": (SURV, {**WEIBULL, "cure": "~ 1"}),
    "box-cox": ("pos ~ z", COX),
    "box-cox process": ("pos ~ gp(x)", COX),
    "process": ("low ~ gp(x) | censor(limit)", {}),
    "mixture": ("pos ~ mixture(2)", {}),
    "several": (WIDE, {}),
    "hazards": (SURV, {"family": PH}),
    "piecewise": (SURV, {"family": CUTS, "method": "mle"}),
    "spline": (SURV, {"family": SPLINE}),
    "frailty": ("Surv(time, event) ~ z + (1 | g)", {"family": FRAILTY}),
    "start-stop": (PATHS, {**WEIBULL, "id": "who"}),
    "causes": (CAUSES, WEIBULL),
}
OTHERS = [
    ("low ~ z", {"family": PH}),
    (SURV, {}),
    (SURV, {"family": "boxcox", "id": "who"}),
    (CAUSES, {"family": "gaussian"}),
    (CAUSES, {"family": {1: "weibull"}}),
    (CAUSES, {"family": {1: "weibull", 3: "weibull"}}),
    (CAUSES, {"family": PH, "id": "who", "cure": "~ 1"}),
    ("Surv(time, cause, censored='lost') ~ z", WEIBULL),
    ("Surv(time, cause, censored=z) ~ z", WEIBULL),
    ("Surv(time, cause + 1, censored=0) ~ z", WEIBULL),
    ("Surv(time, g) ~ z", WEIBULL),
    ("Surv(time, x) ~ z", WEIBULL),
    ("Surv(time, cause) ~ mixture(2)", WEIBULL),
    ({1: SURV, 2: "Surv(time, cause) ~ x"}, WEIBULL),
    ({1: "Surv(time, cause) ~ z", 2: "Surv(until, cause) ~ x"}, WEIBULL),
    ({1: "Surv(time, cause) ~ z"}, WEIBULL),
    ("mvbind(low) ~ z", {}),
    ("mvbind(low, low) ~ z", {}),
    ("mvbind(low, other) + x ~ z", {}),
    ("log(mvbind(low, other)) ~ z", {}),
    ("mvbind(low, other) ~", {}),
    ("mvbind(low, other) ~ 0", {}),
    ("mvbind(low, other) ~ .", {}),
    ("mvbind(low, other) ~ offset(z)", {}),
    ("mvbind(low, other) ~ response", {}),
    ("mvbind(low, other) ~ z | truncate(0, 1)", {}),
    ("mvbind(low, other) ~ z | censor(0)", {}),
    ("mvbind(low, other) ~ z | censor(low=0, low=1)", {}),
    ("mvbind(low, other) ~ z | censor(lower=0)", {}),
    ("mvbind(low, other) ~ z | censor(None, (0, 1, 2))", {}),
    ("mvbind(low, other) ~ gp(x, by=g)", {}),
    ("mvbind(low, other) ~ re(g, k)", {}),
    (WIDE, {"sigma": "low ~ z"}),
    (WIDE, {"sigma": "~ 0 + z"}),
    (WIDE, {"sigma": ""}),
    (WIDE, {"family": "weibull", "rescor": True}),
    ("Surv(time, event) ~ strata(g)*z", {"family": PH}),
    ("Surv(time, event) ~ strata(g, k)", {"family": PH}),
    ("Surv(time, event) ~ strata(g) + strata(k)", {"family": PH}),
    ("Surv(time, event) ~ tv(z) + tv(z)", {"family": PH}),
    ("Surv(time, event) ~ tv(g)", {"family": PH}),
    ("Surv(time, event) ~ tv(z + 1)", {"family": PH}),
    ("Surv(time, event) ~ tv(z)", {"family": SPLINE}),
    ("Surv(time, event) ~ tv(z)", {"family": CUTS, "method": "mle"}),
    ("Surv(time, event) ~ strata(g)", WEIBULL),
    ("Surv(time, event) ~ tv(z)", WEIBULL),
    ("Surv(time, event) ~ z - 1", {"family": PH}),
    ("Surv(time, event) ~ z - x", {"family": PH}),
    ("Surv(time, event) ~ .", {"family": PH}),
    ("Surv(time, event) ~ mixture(2)", {"family": PH}),
    ("Surv(time, event) ~ cell_time", {"family": PH}),
    ("Surv(time, event) ~ gp(x)", {"family": SPLINE}),
    ("Surv(time, event) ~ z + (1 | g)", {"family": SPLINE}),
    ("Surv(time, event) ~ z", {"family": FRAILTY}),
    ("Surv(entry, time, event) ~ z + (1 | g)", {"family": FRAILTY}),
    ("Surv(time, event) ~", {"family": PH}),
    ("Surv(time, event)", {"family": PH}),
    ("", {"family": PH}),
    ("", {}),
    (3, {}),
    ("Surv(entry, time, event) ~ gp(x)", {**WEIBULL, "id": "who"}),
    ("Surv(entry, time, event) ~ mixture(2)", {**WEIBULL, "id": "who"}),
    ("low ~ z | censor(limit)", {"id": "who"}),
    ("pos ~ mixture(2)", COX),
    ("low ~ z", COX),
    ("pos ~ gp(x)", {**COX, "fixed": {"power": 9}}),
    ("pos ~ gp(x)", {"family": tg.BoxCox(0.5), "fixed": {"power": 1}}),
    ("pos ~ z", {**COX, "method": "vi", "cov_type": "HC0"}),
    ("Surv(time, event) ~ gp(x)", {**WEIBULL, "cure": "~ 1"}),
    ("low ~ z", {"cure": "~ 1"}),
    ("pos ~ mixture(2)", {"family": "lognormal", "cure": "~ 1"}),
    ("low ~ gp(x)", {"method": tg.VI(bound="local"), "sigma": "~ gp(z)"}),
    ("pos ~ gp(x)", {"method": "vi", "family": "weibull", "sigma": "~ gp(z)"}),
    ("pos ~ z", {"family": "exponential", "var_weights": "w"}),
    ("low ~ z", {"family": "poisson"}),
]


def calls():
    """Formula and options of every call, by what is written above its message."""
    tried = [
        (formula, kind | option)
        for formula, kind in CALLS.values()
        for name, option in OPTIONS.items()
        if not (formula == CAUSES and name == "family={}")  # which is right
    ]
    return {written(formula, options): (formula, options) for formula, options in [*tried, *OTHERS]}


def written(formula, options):
    return ", ".join([repr(formula), *(f"{name}={value!r}" for name, value in options.items())])


def message(formula, options, data):
    """What is raised, or a dash where this is a fit."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            tg.fit(formula, data, **options)
        except Exception as error:
            return re.sub(r"\n\s*\n", "\n", f"{type(error).__name__}\n{error}").rstrip()
    return "-"


def known():
    """The messages as they were read."""
    blocks = SNAPSHOT.read_text(encoding="utf-8").strip().split("\n\n")
    return dict(block.split("\n", 1) for block in blocks)


@pytest.mark.slow
def test_messages_are_as_they_were_read():
    data, asked, told = rows(), calls(), known()
    assert list(asked) == list(told)
    now = {name: message(*asked[name], data) for name in asked if told[name] != "-"}
    assert now == {name: text for name, text in told.items() if text != "-"}


if __name__ == "__main__":
    frame = rows()
    SNAPSHOT.write_text("\n\n".join(f"{k}\n{message(*call, frame)}" for k, call in calls().items()) + "\n", "utf-8")
