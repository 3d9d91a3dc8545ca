"""The tables of this page from the samples of the Choptank River: `python vignettes/river-trends/run.py`.

`annual.csv`, `models.csv` and `held_out.csv` are written beside this script, in a few minutes. The data are downloaded
by `tg.datasets.fetch`. WRTDS' annual means are those stored with EGRET 3.0.12, from `tests/reference/nondetects.json`.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import norm

import tobitgp as tg
from tobitgp.formula.functions import decimal_years

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(Path(__file__).parents[1]), str(ROOT)]

from papers import write  # noqa: E402, in the folder above

from benchmarks.wrtds import as_samples, fit_at  # noqa: E402, of the repository

YEAR = "decimal_year(date)"
SURFACE = (
    f"interval(conc_low, conc_high) ~ gp({YEAR}, name='trend') + gp(log(q), name='flow') "
    f"+ gp({YEAR}, period=1, name='season') + gp(log(q), {YEAR}, name='flow and trend') "
    f"+ gp(log(q)):gp({YEAR}, period=1)"
)
SERIAL = f" + gp({YEAR}, kernel='matern12', name='serial')"
SLOW = {
    "lengthscale(trend)": tg.LogNormal(12.0, 0.3),
    f"lengthscale(flow and trend)[{YEAR}]": tg.LogNormal(20.0, 0.3),
}
SHORT = {"lengthscale(serial)": tg.LogNormal(0.2, 0.5)}
MODELS: dict[str, tuple[str, dict[str, Any], str | tuple[()]]] = {
    "slow": (SURFACE, SLOW, ()),
    "slow and serial": (SURFACE + SERIAL, SLOW | SHORT, "serial"),
    "default priors": (SURFACE, {}, ()),
}


def read() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return samples and daily discharges."""
    tables = (tg.datasets.fetch(f"choptank_{name}") for name in ("nitrate", "discharge"))
    samples, daily = (table.assign(date=pd.to_datetime(table["date"])) for table in tables)
    return samples, daily


def stored() -> pd.DataFrame:
    """Return annual means of EGRET by water year."""
    case = json.loads((ROOT / "tests/reference/nondetects.json").read_text())["cases"]["choptank_flow_normalised"]
    return pd.DataFrame({"wrtds": case["conc"], "wrtds_normalised": case["fn_conc"]}, index=case["year"])


def fit(name: str) -> Any:
    """Fit one of the models."""
    formula, priors, _ = MODELS[name]
    return tg.fit(formula, read()[0], family="lognormal", priors=priors)


def trend(name: str, res: Any) -> Any:
    """Return the trend of a fit by water years."""
    asked = {"by": "water_year", "contrasts": [(1985, 2010)], "exclude": MODELS[name][2]}
    return tg.flow_normalise(res, read()[1], **asked)


def annual() -> Iterator[dict[str, Any]]:
    """Yield the annual trends of the first model and of WRTDS."""
    table = trend("slow", fit("slow")).table.join(stored())
    yield from ({"water_year": year, **row} for year, row in table.round(5).to_dict("index").items())


def models() -> Iterator[dict[str, Any]]:
    """Return differences of the models from WRTDS, and their contrasts."""
    reference = stored()["wrtds_normalised"]
    for name in MODELS:
        res = fit(name)
        found = trend(name, res)
        apart = (found.table["flow_normalised"] / reference - 1).loc[1982:2009]
        change = found.contrasts.iloc[0]
        known = reference[2010] - reference[1985]
        yield {
            "model": name,
            "largest difference": round(float(apart.abs().max()), 4),
            "mean difference": round(float(apart.mean()), 4),
            "change": round(change["change"], 4),
            "lower": round(change["lower"], 4),
            "upper": round(change["upper"], 4),
            "over that of WRTDS": round(change["change"] / known, 3),
            "leave-one-out": round(float(res.loo().elpd), 1),
            "serial correlation": round(found.samples.correlation, 3),
        }


def held_out() -> Iterator[dict[str, Any]]:
    """Yield log densities of held-out samples, by refits for WRTDS and by cavities for processes."""
    table, _ = read()
    t = decimal_years((table["date"] - pd.Timestamp(0)).dt.days)
    samples = as_samples(t, np.log(table["q"]), table["conc_low"], table["conc_high"])
    of = {name: fit(name).loo().pointwise["elpd"].to_numpy() for name in ("slow", "slow and serial")}
    for i in range(len(samples)):
        rest = samples.drop(index=i)
        rest.attrs = samples.attrs
        row = samples.iloc[i]
        at = fit_at(rest, row["t"], row["log_q"])
        z = (row["upper"] - at.location) / at.scale
        density = norm.logpdf(z) - np.log(at.scale) - row["upper"] if row["detected"] else norm.logcdf(z)
        yield {"row": i, "wrtds": round(float(density), 4), **{k: round(float(v[i]), 4) for k, v in of.items()}}


TABLES = {"annual": annual, "models": models, "held_out": held_out}

if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        write(TABLES, __file__, __doc__)
