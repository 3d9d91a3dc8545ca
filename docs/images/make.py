"""Draw the pictures of the README again: ``python docs/images/make.py``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import jupytext
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import tobitgp as tg

FOLDER = Path(__file__).parent
QUICKSTART = FOLDER.parents[1] / "vignettes" / "quickstart.md"


def quickstart() -> None:
    """Run the vignette's cells up to its first picture and write that."""
    names: dict[str, object] = {}
    for cell in jupytext.read(QUICKSTART).cells:
        if cell.cell_type != "code":
            continue
        exec(cell.source, names)
        if figures := plt.get_fignums():
            plt.figure(figures[0]).savefig(FOLDER / "nh4.png", dpi=150, bbox_inches="tight")
            return


def wells() -> pd.DataFrame:
    """Concentrations in 250 wells, a third of them below one of two limits."""
    rng, n = np.random.default_rng(3), 250
    data = pd.DataFrame({"east": rng.uniform(0, 20, n), "north": rng.uniform(0, 12, n)})
    plume = 4.0 * np.exp(-(((data["east"] - 8) / 5) ** 2) - ((data["north"] - 5 - 0.2 * data["east"]) / 2.5) ** 2)
    data["arsenic"] = np.exp(plume - 0.5 + 0.5 * rng.normal(size=n))
    data["limit"] = rng.choice([0.5, 1.0], n)
    data["zone"] = np.select([data["east"] < 6, data["east"] < 13], ["west", "middle"], "east")
    data["nondetect"] = (data["arsenic"] < data["limit"]).astype(int)
    return data.assign(arsenic=np.maximum(data["arsenic"], data["limit"]))


def survival() -> Any:
    """Two groups with numbers at risk."""
    res = tg.fit("Surv(time, event) ~ gp(age) + C(sex)", tg.datasets.load("lung"), family="weibull")
    return res.plot_survival(by="sex", at_risk=True)


def map_of_wells() -> Any:
    """A surface over two columns."""
    return tg.fit("arsenic ~ gp(east, north) | censor(limit)", wells(), family="lognormal", hyper="maximize").plot()


def terms() -> Any:
    """A trend and a season."""
    formula = "nh4 ~ gp(time, kernel='matern32') + gp(time, period=1) | censor(limit)"
    return tg.fit(formula, tg.datasets.load("nh4"), family="lognormal", hyper="maximize").plot_terms()


def forest() -> Any:
    """Hazard ratios."""
    formula = "Surv(time, event) ~ C(hormone) + age + C(menopause) + size + C(grade) + gp(nodes)"
    return tg.fit(formula, tg.datasets.load("gbsg2"), family="weibull", hyper="maximize").plot_forest(True)


def boxes() -> Any:
    """Samples with detection limits."""
    return tg.nondetects.plot_box(wells(), "arsenic", censored="nondetect", by="zone")


def effect() -> Any:
    """A probability along a column."""
    res = tg.fit("Surv(time, event) ~ gp(nodes) + C(hormone)", tg.datasets.load("gbsg2"), family="lognormal")
    return res.plot_effect("nodes", "survival", times=1000, by="hormone")


GALLERY: dict[str, Callable[[], Any]] = {
    "survival": survival,
    "map": map_of_wells,
    "terms": terms,
    "forest": forest,
    "boxes": boxes,
    "effect": effect,
}


def main() -> None:
    """Write all pictures."""
    plt.switch_backend("Agg")
    quickstart()
    for name, draw in GALLERY.items():
        figure = np.ravel(draw())[0].figure
        figure.savefig(FOLDER / f"{name}.png", dpi=90, bbox_inches="tight")
        plt.close(figure)


if __name__ == "__main__":
    main()
