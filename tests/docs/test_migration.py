"""Every formula and every call in the columns "here" of the migration tables runs."""

import re
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import tobitgp as tg

FOLDER = Path(__file__).parents[2] / "docs" / "migration"
ROW = re.compile(r"^\| .*[^\\]\| (?P<here>.*) \|$")


def here(page):
    """Pieces of code in the last column of a page's table."""
    rows = [ROW.match(line) for line in page.read_text(encoding="utf-8").splitlines()]
    cells = [row["here"].replace("\\|", "|") for row in rows if row and row["here"] != "here"]
    return [
        code for cell in cells for code in re.findall(r"`([^`]+)`", cell) if "(" in code or "~" in code or "." in code
    ]


CASES = [(page.stem, code) for page in sorted(FOLDER.glob("*.md")) for code in here(page)]


@pytest.fixture(scope="module")
def names(tmp_path_factory):
    from statsmodels.iolib.summary2 import summary_col

    rng = np.random.default_rng(0)
    n = 60
    x, z = rng.normal(size=(2, n))
    y = 5 + x + 0.5 * z + rng.normal(size=n)
    data = pd.DataFrame({"x": x, "z": z, "g": rng.choice(list("abc"), n), "y": y, "y2": y + 1})
    data = data.assign(status=rng.choice([-1, 0, 1], n), w=rng.integers(1, 4, n), m=0.1, limit=0.0, l=0.0, u=2.5)
    data = data.assign(lb=y - 2, ub=y + 2, lo=y, hi=y + rng.choice([0.0, 0.5], n))
    data = data.assign(time=np.exp(y), event=rng.integers(0, 2, n), entry=0.5 * np.exp(y), code=rng.integers(1, 3, n))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        fits = {
            "res": tg.fit("y ~ gp(x) | censor(0)", data),
            "other": tg.fit("y ~ x + gp(z) | censor(0)", data),
            "grouped": tg.fit("y ~ gp(x) + re(g) | censor(0)", data),
            "line": tg.fit("y ~ x | censor(0)", data),
            "both": tg.fit("y ~ x + z | censor(0)", data),
            "aft": tg.fit("Surv(time, event) ~ x", data, family="weibull"),
        }
    path = tmp_path_factory.mktemp("fits") / "fit.tgp"
    fits["line"].save(path)
    return {"tg": tg, "data": data, "path": path, "summary_col": summary_col, **fits}


def test_the_tables_are_read():
    assert len({page for page, _ in CASES}) == 7
    assert all(sum(page == name for name, _ in CASES) >= 15 for page, _ in CASES)


@pytest.mark.parametrize(("page", "code"), CASES)
@pytest.mark.filterwarnings("ignore:.*values? lies? beyond the limits:UserWarning")
def test_runs(page, code, names, tmp_path):
    if (code.split("(")[0].isidentifier() and "~" in code) or re.match(r"^\w+ ~", code):
        tg.Model(code, names["data"])
    elif code.startswith("line.save"):
        names["line"].save(tmp_path / "fit.tgp")
    else:
        eval(code, dict(names))
