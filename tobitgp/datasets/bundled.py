"""Real data sets that need no download: one tidying function and one line in ``DATASETS`` each."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from importlib import resources
from importlib.util import find_spec
from pathlib import Path

import pandas as pd

from tobitgp.datasets.downloads import SOURCES
from tobitgp.errors import DataError

_LONGEST = 60  # of a name in a message


def available() -> list[str]:
    """Names that `tobitgp.datasets.load` knows, in alphabetical order.

    Those of `tobitgp.datasets.fetch` are in its own description.

    Examples
    --------
    >>> available()
    ['diabetes', 'gbsg2', 'lung', 'nh4', 'rossi', 'tobin']
    """
    return sorted(DATASETS)


def load(name: str) -> pd.DataFrame:
    """Read a bundled data set.

    Column names are lower snake case. In survival data ``event`` is 1 where the end was seen and 0 where the time is
    right-censored. Missing values are NaN.

    Parameters
    ----------
    name : {"diabetes", "gbsg2", "lung", "nh4", "rossi", "tobin"}
        Which data set; `available` lists them, the notes describe them.

    Returns
    -------
    DataFrame
        A new frame at every call, with a plain 0, 1, 2, ... index.

    Raises
    ------
    DataError
        If there is no set of that name; the message lists the names and the nearest one.

    Notes
    -----
    ``lung``
        Survival of 228 patients with advanced lung cancer, 165 deaths: ``time`` (days), ``event``, ``age`` (years),
        ``sex`` (1 male, 2 female), ``ph_ecog`` (0 good to 4 bad), ``ph_karno`` and ``pat_karno`` (0 bad to 100 good),
        ``meal_cal`` (kcal), ``wt_loss`` (pounds in six months), ``inst`` (institution code).
    ``diabetes``
        731 patients with insulin-dependent diabetes: ``left`` and ``right``, years from its onset between which
        diabetic nephropathy began, equal in 595 rows, and ``sex``. Interval-censored, as ``interval(left, right)``.
    ``gbsg2``
        686 women with node-positive breast cancer, 299 recurrences or deaths: ``time`` (days), ``event``,
        ``hormone`` (therapy, yes or no), ``age`` (years), ``menopause`` (Pre, Post), ``size`` (of the tumour, mm),
        ``grade`` (I, II, III), ``nodes`` (positive lymph nodes), ``progesterone`` and ``estrogen`` (receptors, fmol).
    ``rossi``
        432 convicts followed for a year after release, 114 arrested again: ``week``, ``event`` (arrest), ``fin``
        (financial aid), ``age`` (years), ``race``, ``wexp`` (work experience), ``mar`` (married), ``paro`` (parole),
        ``prio`` (earlier convictions). Every right-censored row ends at 52 weeks.
    ``nh4``
        Ammonium in 102 samples of precipitation, 46 below a detection limit: ``date_on``, ``date_off`` (the days on
        which the collector was set out and taken in), ``week`` (numbered on from the start of 2009), ``time``
        (decimal year, midway between the two dates), ``nh4`` (mg/L; the limit itself where not detected), ``censored``
        (1 = not detected) and ``limit`` (mg/L). Left-censored at ``limit``, so that ``censor(limit)`` finds exactly
        the rows with ``censored == 1``.

        The source gives limits for undetected samples only: .006, .01 and .008 mg/L for samples taken in during 2009,
        2010 and 2011, and once .018. On the other rows ``limit`` is the usual one of that year; two samples
        were detected at exactly that value, and their limit is put one unit of the last digit lower.
    ``tobin``
        Tobin's 20 households: ``durable`` (purchases of durable goods, thousand dollars), ``age`` (years), ``quant``
        (liquidity ratio times 1000). ``durable`` is left-censored at 0 in 13 rows.

    Sources and licences are in ``datasets/README.md`` of the repository.

    Examples
    --------
    >>> lung = load("lung")
    >>> len(lung), int(lung["event"].sum())
    (228, 165)
    >>> nh4 = load("nh4")
    >>> nh4.loc[[0, 2, 3], ["time", "nh4", "censored", "limit"]].round(3)
           time    nh4  censored  limit
    0  2009.023  0.006         1  0.006
    2  2009.081  0.006         0  0.005
    3  2009.118  0.016         0  0.006
    """
    if not isinstance(name, str) or name not in DATASETS:
        if isinstance(name, str) and name in SOURCES:
            raise DataError(f"Data set {name!r} is not bundled. Download it by tg.datasets.fetch({name!r}).")
        raise unknown(name, DATASETS, "available are", {other: f"fetch({other!r})" for other in SOURCES})
    return DATASETS[name]()


def unknown(name: object, known: Iterable[str], introduced: str, elsewhere: Mapping[str, str]) -> DataError:
    """Say which names there are, and the nearest one."""
    names = sorted(known)
    calls = {**elsewhere, **{each: repr(each) for each in names}}
    near = difflib.get_close_matches(str(name).lower(), calls, n=1)
    hint = f" Did you mean {calls[near[0]]}?" if near else ""
    return DataError(f"There is no data set {_brief(name)}; {introduced} {', '.join(names)}.{hint}")


def _brief(name: object) -> str:
    shown = repr(name)
    return shown if len(shown) <= _LONGEST else shown[:_LONGEST] + "..."


def _read(file_name: str) -> pd.DataFrame:
    """A file of this folder; ``LICENSE-lifelines.txt`` there is for all but ``tobin.csv``."""
    with (resources.files("tobitgp.datasets") / file_name).open("r", encoding="utf-8") as file:
        return pd.read_csv(file)


def _renamed(file_name: str, **names: str) -> pd.DataFrame:
    """A file of lifelines with some columns renamed; its ``status`` and ``cens`` are 1 where the end was seen."""
    return _read(file_name).rename(columns=names).rename(columns=lambda column: column.replace(".", "_"))


def _gbsg2() -> pd.DataFrame:
    names = {"horTh": "hormone", "menostat": "menopause", "tsize": "size", "tgrade": "grade", "pnodes": "nodes"}
    return _renamed("gbsg2.csv", **names, progrec="progesterone", estrec="estrogen", cens="event")


def _nh4() -> pd.DataFrame:
    raw = _read("nh4.csv")
    date_on, date_off = pd.to_datetime(raw["Date.On"]), pd.to_datetime(raw["Date.Off"])
    value, censored = raw["NH4.mg.per.L"], raw["Censored"]

    usual = value.where(censored).groupby(date_off.dt.year).transform("min")
    limit = value.where(censored, usual.where(usual < value, value - 0.001)).round(3)
    time = _decimal_year(date_on + (date_off - date_on) / 2)
    columns = {"date_on": date_on, "date_off": date_off, "week": raw["Week"], "time": time, "nh4": value}
    return pd.DataFrame(columns | {"censored": censored.astype(int), "limit": limit})


DATASETS: dict[str, Callable[[], pd.DataFrame]] = {
    "diabetes": lambda: _renamed("interval_diabetes.csv", gender="sex")[["left", "right", "sex"]],
    "gbsg2": _gbsg2,
    "lung": partial(_renamed, "lung.csv", status="event"),
    "nh4": _nh4,
    "rossi": partial(_renamed, "rossi.csv", arrest="event"),
    "tobin": partial(_read, "tobin.csv"),
}


def installed(place: str) -> Path | None:
    """A file of another package, None where there is none, by its place below ``site-packages``."""
    package, _, inside = place.partition("/")
    spec = find_spec(package)
    folders = [] if spec is None else list(spec.submodule_search_locations or ())
    return next((path for folder in folders if (path := Path(folder) / inside).is_file()), None)


def _decimal_year(date: pd.Series[pd.Timestamp]) -> pd.Series[float]:
    """2009-07-02 12:00, the middle of a year of 365 days, is 2009.5."""
    year = date.dt.year
    start = pd.to_datetime(year.astype(str) + "-01-01")
    end = pd.to_datetime((year + 1).astype(str) + "-01-01")
    return year + (date - start) / (end - start)
