"""What does not change the question: each row gives the same data, or the same model, in another form."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from support.answers import FIRST, Scale
from support.kinds import Kind

LIMITS = {"low": "limit", "pos": "least", "lines": "line_limit"}
REAL = ["low", "limit", "lines", "line_limit", "other", "third"]  # with any origin
RESPONSES = [*REAL, "pos", "least", "time", "entry", "until"]
UNIT, FAR, SHIFT = 365.25, 1e5, 40.0
Frames = Callable[[pd.DataFrame], pd.DataFrame]
Kinds = Callable[[Kind], Kind]


def same(given):
    return given


@dataclass(frozen=True)
class Transformation:
    """Another form of the rows and of the model; ``lost(kind)`` says why it has no meaning for a kind, or ``""``."""

    rows: Frames = same
    kind: Kinds = same
    first_rows: Frames = same  # of the fit that it is compared with
    first_kind: Kinds = same
    new: Frames | None = None  # of new rows, if not as ``rows``
    scale: Scale = FIRST
    moves: str = "$^"  # names of parameters that have another meaning
    keeps_parameters: bool = True  # or no more than their ratios to their standard errors
    skip: tuple[str, ...] = ()  # answers that have another meaning
    lost: Callable[[Kind], str] = lambda kind: ""


def response(kind: Kind) -> str:
    return kind.formula.partition(" ~ ")[0]


def terms(kind: Kind) -> str:
    """The columns of a kind's terms, of all its formulas."""
    return " ".join(
        [
            kind.formula.partition(" ~ ")[2].partition("|c")[0],
            *map(str, (kind.options.get("sigma", ""), kind.options.get("cure", ""))),
        ]
    )


def uses(kind: Kind, column: str) -> bool:
    return (
        re.search(rf"\b{column}\b", terms(kind).partition("| censor")[0] + str(kind.options.get("sigma", "")))
        is not None
    )


def gaussian(kind: Kind) -> bool:
    return kind.options.get("family", "gaussian") == "gaussian" or "Student" in str(kind.options.get("family"))


def real(kind: Kind) -> bool:
    return response(kind) in ("low", "lines") or response(kind).startswith("mvbind(low, other")


def replaced(old: str, new: str) -> Kinds:
    return lambda kind: replace(kind, formula=kind.formula.replace(old, new))


def limits(written: str) -> Kinds:
    """Limits of ``censor()``, written otherwise; those of one of several responses in brackets."""

    def change(kind: Kind) -> Kind:
        formula = re.sub(r"(?<=\()(limit|line_limit|least)(?=\)$)", written, kind.formula)
        return replace(kind, formula=re.sub(r"(?<==)limit(?=\)$)", f"({written})", formula))

    return change


def with_options(**options) -> Kinds:
    return lambda kind: replace(kind, options={**kind.options, **options})


def rescaled(factor: float, *names: str) -> Kinds:
    """Given values of parameters in another unit."""

    def scale(kind: Kind) -> Kind:
        fixed = kind.options.get("fixed")
        if fixed is None:
            return kind
        return with_options(fixed={name: factor * value if name in names else value for name, value in fixed.items()})(
            kind
        )

    return scale


def columns(names: list[str], factor: float = 1.0, origin: float = 0.0) -> Frames:
    return lambda data: data.assign(**{name: factor * data[name] + origin for name in names})


def repeated(data: pd.DataFrame) -> pd.DataFrame:
    often = data.loc[data.index.repeat(data["w"])].reset_index(drop=True)
    return often.assign(who=np.arange(len(often)))


def censored_reversed(data: pd.DataFrame) -> pd.DataFrame:
    """Rows that are censored in some kinds in reverse order among themselves, the others in their places."""
    place, censored = np.arange(len(data)), ((data["low"] <= data["limit"]) | (data["event"] == 0)).to_numpy()
    place[censored] = place[censored][::-1]
    return data.iloc[place]


def cut(data: pd.DataFrame) -> pd.DataFrame:
    """Every row's follow-up in two pieces."""
    half = data["entry"] + 0.4 * (data["time"] - data["entry"])
    first = data.assign(zero=0.0, time=half, event=0, cause=0)
    return pd.concat([first, data.assign(zero=half, entry=half)]).sort_index(kind="stable").reset_index(drop=True)


def pieces(kind: Kind) -> Kind:
    formula = kind.formula.replace("Surv(time, ", "Surv(zero, time, ")
    return with_options(id="who")(replace(kind, formula=formula))


def why(reason: str, has_meaning: Callable[[Kind], bool]) -> Callable[[Kind], str]:
    return lambda kind: "" if has_meaning(kind) else reason


def is_curve(kind: Kind) -> bool:
    return "gp(" in terms(kind) and "fixed" not in kind.options


def has_sandwich(kind: Kind) -> bool:
    """Whether a kind has a robust covariance."""
    shared = any(text in kind.formula for text in ("gp(", "mixture(2)", "mvbind("))
    return not (shared or "method" in kind.options or getattr(kind.options.get("family"), "frailty", None))


def has_weights(kind: Kind) -> bool:
    return "latent(" not in kind.formula and "se=" not in kind.formula


COUNTS = "counts have no unit"
LEVELS = r"Intercept|cell_band|^C\(g\)\[[a-z]\]$|gamma|baseline"
PER_ROW = ("waic", "loo", "verdicts")
ROWS = {
    "order of rows": Transformation(lambda data: data.iloc[np.random.default_rng(1).permutation(len(data))], new=same),
    "order of censored rows": Transformation(censored_reversed, new=same),
    "unit of sampling weights": Transformation(
        lambda data: data.assign(w=data["w"] / 2.99),
        kind=with_options(weights="w", cov_type="HC0"),
        first_kind=with_options(weights="w", cov_type="HC0", cov_kwds={"weights": "sampling"}),
        new=same,
        skip=("llf",),
        lost=why("it has no robust covariance", has_sandwich),
    ),
    "index": Transformation(lambda data: data.set_axis([f"row {i}" for i in range(len(data))], axis=0), new=same),
    "copies of rows": Transformation(
        repeated,
        first_kind=with_options(weights="w"),
        new=same,
        skip=PER_ROW,
        lost=why("a curve goes through rows that are written twice, without noise", lambda kind: not is_curve(kind)),
        kind=lambda kind: replace(kind, options={k: v for k, v in kind.options.items() if k != "weights"}),
    ),
    "rows of weight 0": Transformation(
        kind=with_options(weights="u"),
        rows=lambda data: data.assign(u=(np.arange(len(data)) < 40) * 1),
        first_kind=with_options(weights="u"),
        first_rows=lambda data: data[:40].assign(u=1),
        new=same,
        skip=PER_ROW,
        lost=why("rows whose inputs are not known have no weights", has_weights),
    ),
    "follow-up in two pieces": Transformation(
        cut,
        kind=pieces,
        new=same,
        skip=("verdicts", "hazard_ratios"),
        lost=why(
            "rows are not times of follow-up", lambda kind: "Surv(" in response(kind) and "until" not in response(kind)
        ),
    ),
}
RESPONSE = {
    "unit of the response": Transformation(
        columns(RESPONSES, UNIT),
        kind=rescaled(UNIT, "sd(gp(x))", "sigma"),
        scale=Scale(UNIT),
        keeps_parameters=False,
        skip=("terms",),
        moves=r"^(?!z|k|b|g|C\(k|x|I\(|bs).*|cell_band",
        lost=why(COUNTS, lambda kind: response(kind) != "count"),
    ),
    "origin of the response": Transformation(
        columns(REAL, 1.0, SHIFT),
        scale=Scale(1.0, SHIFT),
        moves=r"Intercept|^mean\[",
        lost=why("times and counts begin at 0", real),
    ),
    "mirror image": Transformation(
        columns(REAL, -1.0),
        kind=limits(r"None, \g<0>"),
        scale=Scale(-1.0),
        moves=".*",
        skip=("curve",),
        lost=why("times and counts are not negative", real),
    ),
    "a limit far away": Transformation(
        kind=limits(r"\g<0>, 1e7"),
        lost=why("it has no limits", lambda kind: "censor(l" in kind.formula),
    ),
    "entry at 0": Transformation(
        lambda data: data.assign(zero=0.0),
        kind=replaced("Surv(time", "Surv(zero, time"),
        lost=why("times have no entry, or have one", lambda kind: "Surv(time" in kind.formula),
    ),
}
AMOUNTS = {"unit": lambda amount: (amount, 0.0), "origin": lambda amount: (1.0, amount)}  # factor and shift
COVARIATES = {
    f"{what} of {column}, {amount:g}": Transformation(
        columns(["x", "sx"] if (what, column) == ("unit", "x") else [column], *AMOUNTS[what](amount)),
        kind=rescaled(amount, "lengthscale(gp(x))") if (what, column) == ("unit", "x") else same,
        moves=LEVELS,
        keeps_parameters=what == "origin",
        skip=("terms", *(["hazard_ratios"] if what == "unit" else [])),
        lost=why(f"it has no column {column}", lambda kind, column=column: uses(kind, column)),
    )
    for what, column, amount in (
        ("unit", "z", 1e3),
        ("unit", "x", 1e-3),
        ("origin", "z", 1e3),
        ("origin", "z", 1e5),
        ("origin", "x", 1e3),
        ("origin", "x", 2e5),
        ("origin", "k", 1e5),
    )
}
CODING = {
    "reference level": Transformation(
        lambda data: data.assign(g=data["g"].map({"a": "t", "b": "s", "c": "r"})),
        moves=rf"{LEVELS}|g\[|\[[a-z]\]",
        skip=("hazard_ratios", "proportionality", "terms"),
        lost=why("it has no factor g", lambda kind: uses(kind, "g")),
    ),
    "numbers of groups": Transformation(
        lambda data: data.assign(k=50 - 10 * data["k"]),
        moves=rf"{LEVELS}|C\(k",
        skip=("hazard_ratios", "proportionality", "terms"),
        lost=why("it has no groups k", lambda kind: any(text in kind.formula for text in ("C(k)", "by=k", "| k)"))),
    ),
}
TRANSFORMATIONS = ROWS | RESPONSE | COVARIATES | CODING


def exact_rows(kind: Kind, data: pd.DataFrame) -> float:
    """Rows whose density, not a probability, is in the likelihood."""
    weight = data["w"] if "weights" in kind.options else pd.Series(1.0, data.index)
    left = response(kind)
    if left in LIMITS:
        return float((weight * (data[left] > data[LIMITS[left]] if "censor" in kind.formula else 1.0)).sum())
    if left.startswith("mvbind"):
        limit = data["limit"] if "censor" in kind.formula else -np.inf
        return float(len(data) * left.count(",") + (data["low"] > limit).sum())
    return float((weight * (data["dead"] if "dead" in left else data["event"])).sum())
