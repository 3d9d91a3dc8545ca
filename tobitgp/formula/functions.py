"""Every name a formula may call: functions, contrasts, kernels, a user's own, and names from other programs."""

from __future__ import annotations

import difflib
import keyword
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from tobitgp.errors import SpecError
from tobitgp.typing import Array

DAY = 86_400_000_000  # microseconds
NamedFunctions = Mapping[str, Callable[..., Any]] | None
UserFunctions = tuple[tuple[str, Callable[..., Any]], ...]

KERNEL_NAMES: list[str] = []  # those of the registry, tobitgp.priors.kernels
# Names in brms, bambi, GPflow and scikit-learn, in small letters: capitals do not matter.
KERNEL_ALIASES = {
    "exp_quad": "rbf",
    "expquad": "rbf",
    "se": "rbf",
    "squared_exponential": "rbf",
    "squaredexponential": "rbf",
    "exponential": "matern12",
    "matern15": "matern32",
    "matern25": "matern52",
    "ratquad": "rq",
    "rational_quadratic": "rq",
    "rationalquadratic": "rq",
}
_CLOSE, _CLOSER = 0.6, 0.75  # shares of the letters that two names have in common
CONSTANTS = {"pi": np.pi, "inf": np.inf}
PROCESSES = ("gp", "re", "s", "hsgp")
SPECIAL_TERMS = (*PROCESSES, "offset", "mixture")
PLACES = {
    "censor": "the last part: y ~ ... | censor(lower, upper)",
    "truncate": "the last part: y ~ ... | truncate(lower, upper)",
    "Surv": "the whole response; functions go inside, as in Surv(log(time), event)",
    "Cen": "the whole response; functions go inside, as in Cen(log(y), flag)",
    "interval": "the whole response; functions go inside, as in interval(log(lo), log(hi))",
}


@dataclass(frozen=True, slots=True)
class Function:
    """One row of the registry."""

    doc: str  # one line
    call: Callable[..., Any] | None = None  # for ``"array"``: (n,) arrays -> (n,) array
    n_args: int = 1  # number of columns or expressions it takes
    kind: Literal["array", "basis", "coding", "contrast"] = "array"  # this one works row by row and may stand anywhere
    options: tuple[str, ...] = ()  # literal arguments that may follow, in order; only for the other kinds


def decimal_years(days: Any) -> Array:
    """Years with the fraction of the year that has passed."""
    days = np.asarray(days, dtype=np.float64)
    missing = np.isnan(days)
    moments = np.rint(np.where(missing, 0.0, days) * DAY).astype("datetime64[us]")
    year = moments.astype("datetime64[Y]")
    start, end = year.astype("datetime64[us]"), (year + np.timedelta64(1, "Y")).astype("datetime64[us]")
    years: Array = year.astype(np.int64) + 1970.0 + (moments - start) / (end - start)
    return np.where(missing, np.nan, years)


def _basis(doc: str, *options: str) -> Function:
    return Function(doc, kind="basis", options=options)


def _contrast(doc: str, *options: str) -> Function:
    return Function(doc, kind="contrast", options=options)


_CUBIC = ("df", "knots", "lower_bound", "upper_bound", "constraints", "extrapolation")

FUNCTIONS: dict[str, Function] = {
    "log": Function("natural logarithm", np.log),
    "log2": Function("logarithm to base 2", np.log2),
    "log10": Function("logarithm to base 10", np.log10),
    "log1p": Function("log(1 + x), accurate near 0", np.log1p),
    "exp": Function("exponential", np.exp),
    "expm1": Function("exp(x) - 1, accurate near 0", np.expm1),
    "sqrt": Function("square root", np.sqrt),
    "abs": Function("absolute value", np.abs),
    "sign": Function("-1, 0 or 1", np.sign),
    "sin": Function("sine", np.sin),
    "cos": Function("cosine", np.cos),
    "tan": Function("tangent", np.tan),
    "arctan": Function("inverse tangent", np.arctan),
    "tanh": Function("hyperbolic tangent", np.tanh),
    "floor": Function("next whole number below", np.floor),
    "ceil": Function("next whole number above", np.ceil),
    "minimum": Function("smaller of two, row by row", np.minimum, 2),
    "maximum": Function("larger of two, row by row", np.maximum, 2),
    "where": Function("where(condition, a, b): a where the condition holds, else b", np.where, 3),
    "decimal_year": Function(
        "decimal_year(date): a column of dates in years, 2020.5 at noon of 2 July 2020", decimal_years
    ),
    "I": Function("the expression itself: arithmetic instead of term algebra, as in I(x**2)", lambda x: x),
    "bs": _basis(
        "B-spline basis", "df", "knots", "degree", "include_intercept", "lower_bound", "upper_bound", "extrapolation"
    ),
    "cs": _basis("natural cubic spline basis", *_CUBIC),
    "cr": _basis("natural cubic spline basis (same as cs)", *_CUBIC),
    "cc": _basis("cyclic cubic spline basis", *_CUBIC),
    "poly": _basis("orthogonal polynomials", "degree", "raw"),
    "scale": _basis("centred and divided by the standard deviation", "center", "scale", "ddof"),
    "center": _basis("centred at the mean"),
    "C": Function("a factor: C(g), C(g, Sum), C(g, Treatment('b'))", kind="coding", options=("contrasts", "levels")),
    "Treatment": _contrast("contrast with a base level, for C()", "reference"),
    "Sum": _contrast("deviation from the mean of levels, for C()"),
    "Helmert": _contrast("each level with the mean of the levels before, for C()", "reverse", "scale"),
    "Diff": _contrast("each level with the one before, for C()", "backward"),
    "Poly": _contrast("orthogonal polynomials in the levels, for C()", "scores"),
}

# Words of other programs, and what is written here in their place.
NOT_YET = {
    **dict.fromkeys(
        ("cens", "censored"),
        "Censoring is written as a last part: y ~ ... | censor(status=s, upper=y2), or | censor(lower, upper).",
    ),
    "cbind": "Two ends of each value are written interval(lo, hi) ~ ..., an open end as -inf or inf.",
    "cluster": "Clusters are arguments of the fit: cov_type='cluster', cov_kwds={'groups': 'g'}.",
    **dict.fromkeys(("as_factor", "factor", "fe", "i"), "A factor is written C(g)."),
    "frailty": "A random intercept of each group is written re(g), or (1 | g).",
    "mo": "Monotonic effects are not supported: C(x) has an effect of each level, x alone a straight line.",
    "nondetect": "Detection limits are written as a last part: y ~ ... | censor(nondetect=flag).",
    "pspline": "A smooth curve is written gp(x), or bs(x, df=5) for a spline.",
    "strata": "A scale for each group is a separate formula: sigma='~ C(g)'.",
    **dict.fromkeys(("te", "ti", "t2"), "Smooths of several inputs are written gp(x, z), or as a product gp(x):gp(z)"),
    **dict.fromkeys(("trunc", "truncated"), "Truncation is written as a last part: y ~ ... | truncate(lower, upper)."),
    **dict.fromkeys(("weighted", "weights"), "Weights are not part of the formula. Pass weights= to the fit."),
}


def formula_functions() -> dict[str, str]:
    """Functions that a formula may call, with one line on each.

    Returns
    -------
    dict of str
        Name -> description, in alphabetical order.

    Examples
    --------
    >>> formula_functions()["log1p"]
    'log(1 + x), accurate near 0'
    """
    own = {
        "gp": "gp(x, ..., kernel=, ard=, by=, cor=, period=, name=, approximation=, neighbours=, se=): zero-mean "
        "Gaussian process; gp(x):gp(z) is a product, "
        f"z:gp(x) a slope that varies; kernels {', '.join(KERNEL_NAMES)}",
        "re": "re(g, name=), or (1 | g): a random intercept of each group; (1 + z | g) slopes too, (z || g) without "
        "correlations, (1 | a/b) nested groups",
        "s": 's(x, ..., bs="gp", m=, by=): as in mgcv, read as gp(x, ..., kernel="matern32")',
        "hsgp": "hsgp(x, ..., cov=, iso=, by=): as in bambi, read as gp(x, ...)",
        "offset": "offset(x): added with coefficient 1",
        "mixture": 'mixture(k), mixture(range(1, 7)), mixture("dp", max_components=10): the response is a mixture of k '
        "components, of the number in a range that the data speak for, or of as many as they call for; mixture(2, x): "
        "a mixture of regressions on x",
        "censor": "| censor(lower, upper), censor(event=d), censor(nondetect=d), censor(limit, nondetect=d), "
        "censor(status=s, upper=y2): censoring",
        "Cen": "Cen(y, flag) ~ ...: as in NADA, read as | censor(nondetect=flag)",
        "interval": "interval(lo, hi) ~ ...: a value in (lo, hi], equal ends are exact, a missing or infinite one open",
        "Surv": "Surv(time, event) ~ ...: right-censored times, event 1 or True is exact; type= as in R's survival",
        "truncate": "| truncate(lower, upper): rows outside could not have been seen; truncate(entry) is delayed entry",
    }
    own |= {name: row.doc for name, row in FUNCTIONS.items()}
    return dict(sorted(own.items(), key=lambda item: item[0].lower()))


def read_functions(functions: NamedFunctions) -> UserFunctions:
    """Check a user's own functions."""
    if functions is None:
        return ()
    if not isinstance(functions, Mapping):
        raise SpecError(f"functions= is a dict of functions by name, as {{'f': f}}, not {type(functions).__name__}.")
    taken = {*FUNCTIONS, *CONSTANTS, *SPECIAL_TERMS, *PLACES, *NOT_YET}
    for name, call in functions.items():
        word = isinstance(name, str) and name.isidentifier() and name.isascii() and not keyword.iskeyword(name)
        if not word or name.startswith("_"):
            raise SpecError(f"functions= names {name!r}; a name is one word of letters, digits and inner '_'.")
        if name in taken:
            taken_by = f"functions= names {name!r}, which means something in formulas already"
            raise SpecError(f"{taken_by}; choose another name.")
        if not callable(call):
            raise SpecError(f"functions={{{name!r}: ...}} is {type(call).__name__}. It must be a function of arrays.")
    return tuple(functions.items())


def nearest(name: str, known: Iterable[object]) -> str:
    """Words for the names closest to a misspelt one whatever their case and underscores, empty when none is close."""
    items = [item for item in known if isinstance(item, str)]
    found = [item for item in items if _letters(item) == _letters(name)]
    if not found:
        close = difflib.get_close_matches(name.lower(), [item.lower() for item in items], n=3, cutoff=_CLOSE)
        found = [item for small in dict.fromkeys(close) for item in items if item.lower() == small]
        found = [item for item in found if _alike(name.lower(), item.lower())]
    return f"; did you mean {' or '.join(repr(item) for item in found[:3])}?" if found else ""


def _letters(name: str) -> str:
    """A name without its case, spaces and signs, of which there may be nothing else."""
    return re.sub(r"[\W_]+", "", name).lower() or name


def _alike(one: str, two: str) -> bool:
    """Whether names that share letters are one name misspelt or cut short: ``wind`` and ``id`` are not."""
    same = one[:1] == two[:1] or one in two or two in one
    return same or difflib.SequenceMatcher(None, two, one).ratio() >= _CLOSER
