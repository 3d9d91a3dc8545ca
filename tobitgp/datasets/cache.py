"""The folder that keeps downloaded tables: what lies there is checked, what does not is fetched whole or not at all."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import zlib
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import pandas as pd

from tobitgp.datasets.bundled import available, installed, unknown
from tobitgp.datasets.downloads import SOURCES, DownloadSource, read_table
from tobitgp.errors import DataError
from tobitgp.files import whole_file

TIMEOUT = 30.0
CHECKOUT = Path(__file__).parents[2] / "datasets"  # of the repository, which holds those with an open licence


def read_tables(name: str, source: DownloadSource) -> list[bytes]:
    """Read the tables of a data set, unpacked and checked, from the cache or the repository if they are there."""
    folder = cache_folder()
    kept = {
        file: next((table for place in (folder, CHECKOUT) if (table := _read_kept(place / file, digest))), None)
        for file, digest in source.tables.items()
    }
    found = [table for table in kept.values() if table is not None]
    if len(found) == len(kept):
        return found

    path = installed(source.installed) if source.installed else None
    raw = [] if path is None else [path.read_bytes()]
    # Another version of the package may have another file.
    if [*map(_digest, raw)] == [source.raw_sha256]:
        files = _make_tables(name, raw, source)
    else:
        _check_needs(name, source, folder)
        files = _make_tables(name, [_download(name, url, source, folder) for url in source.urls], source)
        _store({file: content for file, content in files.items() if kept[file] is None}, name, folder)
    return [_unpack(file, content) for file, content in files.items()]


def cache_folder() -> Path:
    """Folder of the tables: what ``TOBITGP_DATA`` names, else the user's cache."""
    import pooch

    return Path(os.environ.get("TOBITGP_DATA") or pooch.os_cache("tobitgp")).expanduser()


def _read_kept(path: Path, expected: str) -> bytes | None:
    try:
        found = _unpack(path.name, path.read_bytes())
    except FileNotFoundError:
        return None
    except OSError as error:
        raise DataError(f"{str(path)!r} cannot be read: {error.strerror or error}.") from None
    if _digest(found) != expected:
        raise DataError(
            f"{str(path)!r} is not the file that belongs there: its table has SHA-256 {_digest(found)}, expected is "
            f"{expected}. Delete it, and fetch() gets it anew."
        )
    return found


def _check_needs(name: str, source: DownloadSource, folder: Path) -> None:
    if source.needs is not None and find_spec(source.needs) is None:
        raise DataError(
            f"Data set {name!r} is not in {str(folder)!r}, and {source.urls[0]} gives it in a format that the package "
            f"{source.needs} reads: pip install {source.needs}, then fetch it again. Without that, copy "
            f"{' and '.join(source.tables)} there from a machine on which fetch({name!r}) has run."
        )


def _download(name: str, url: str, source: DownloadSource, folder: Path) -> bytes:
    import pooch

    buffer = io.BytesIO()
    try:
        pooch.HTTPDownloader(timeout=TIMEOUT)(url, buffer, None)
    except OSError as error:
        status = getattr(getattr(error, "response", None), "status_code", None)
        reason = type(error).__name__ if status is None else f"HTTP status {status}"
        raise DataError(
            f"Data set {name!r} is not in {str(folder)!r} and cannot be downloaded from {url} ({reason}). Without a "
            f"network, copy {' and '.join(source.tables)} there from a machine on which fetch({name!r}) has run, or "
            "name the folder that has it in the environment variable TOBITGP_DATA."
        ) from None
    return buffer.getvalue()


def _make_tables(name: str, raw: Sequence[bytes], source: DownloadSource) -> dict[str, bytes]:
    """Tidy the download, and check that it gives the expected tables."""
    place = source.urls[0]
    if any(content[:200].lstrip().lower().startswith((b"<!doctype", b"<html")) for content in raw):
        raise DataError(
            f"{place} returned a web page instead of data set {name!r}, e.g. the login page of a network. Nothing was "
            "stored. Log in, and fetch it again."
        )
    if source.raw_sha256 is not None and _digest(raw[0]) != source.raw_sha256:
        raise _changed(name, place, _digest(raw[0]), source.raw_sha256)
    try:
        files = dict(zip(source.tables, source.tidy(raw), strict=True))
    except Exception as error:  # any error of the parsers on unexpected bytes
        raise DataError(
            f"{place} did not return data set {name!r} ({type(error).__name__}: {error}). Nothing was stored."
        ) from error
    for file, expected in source.tables.items():
        found = _digest(_unpack(file, files[file]))
        if found != expected:
            raise _changed(name, place, found, expected)
    return files


def _changed(name: str, place: str, found: str, expected: str) -> DataError:
    return DataError(
        f"Data set {name!r} has changed at its source, {place}: SHA-256 {found}, expected is {expected}. Nothing was "
        "stored."
    )


def _store(files: dict[str, bytes], name: str, folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for file, content in files.items():
            with whole_file(folder / file) as place:
                place.write(content)
    except OSError as error:
        raise DataError(
            f"Data set {name!r} cannot be stored in {str(folder)!r}: {error.strerror or error}. Name a folder that "
            "can be written in the environment variable TOBITGP_DATA."
        ) from None


def _unpack(file: str, content: bytes) -> bytes:
    """A damaged archive stays as it is, and fails the check of its content."""
    if not file.endswith(".gz"):
        return content
    try:
        return gzip.decompress(content)
    except (OSError, EOFError, zlib.error):
        return content


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def fetch(name: str) -> pd.DataFrame:
    """Read a data set that is downloaded at the first call and kept.

    The tidy table of each set has a fixed SHA-256, which is checked at every call: what `fetch` returns is the same
    numbers everywhere and always, or an error.

    Parameters
    ----------
    name : {"affairs", "beijing_so2", "choptank_discharge", "choptank_nitrate", "colorado_soils", "credit_risk", \
            "flchain", "gbsg", "housing", "metabric", "pce", "support"}
        Which data set; the notes describe them.

    Returns
    -------
    DataFrame
        A new frame at every call, with a plain 0, 1, 2, ... index. ``event`` is 1 where the end was seen and 0 where
        the time is right-censored. Missing values are NaN. Sets that come in two parts have the training rows first,
        and a column ``split``, "train" or "test".

    Raises
    ------
    DataError
        If there is no set of that name; if it can neither be read nor downloaded nor stored; if a file, downloaded or
        kept, is not the one expected.

    Notes
    -----
    Files are kept in the folder that the environment variable ``TOBITGP_DATA`` names, else in the user's cache
    (``pooch.os_cache("tobitgp")``). A machine without a network needs the files copied there. In a checkout of the
    repository, ``credit_risk`` and ``gbsg`` are read from its folder ``datasets``. ``affairs`` is read from the
    installed statsmodels and ``flchain`` from scikit-survival, if that is installed, without a download. ``gbsg``,
    ``metabric`` and ``support`` need the package h5py, for the download alone.

    ``affairs``
        Fair's survey of 601 married readers of Psychology Today, as R's AER has it: ``affairs`` (times in the past
        year; 0, 1, 2, 3, 7 for 4 to 10, 12 for monthly or more), ``gender``, ``age`` and ``yearsmarried`` (years,
        coded), ``children`` (yes, no), ``religiousness`` (1 to 5), ``education`` (years, coded), ``occupation``
        (1 to 7), ``rating`` (of the marriage, 1 to 5). Left-censored at 0 in 451 rows.
    ``beijing_so2``
        Sulphur dioxide at 12 stations of Beijing, 223,895 hours: ``station`` (0 to 11, in alphabetical order),
        ``hour_index`` (hours since 1 March 2013, local time), ``so2`` (micrograms per cubic metre), ``temp_c`` (degrees
        Celsius), ``wspm`` (wind, m/s). 74,510 rows are at or below 2: left-censored there. The source does not document
        that limit; it shows in the data. The largest value, 500, may be a cap.
    ``choptank_discharge``
        Discharge of the Choptank River near Greensboro, Maryland, on the 11,688 days from October 1979 to September
        2011: ``date`` (text), ``q`` (cubic metres per second).
    ``choptank_nitrate``
        606 samples of nitrate from there: ``date`` (text), ``q`` of the day, ``conc_low`` and ``conc_high`` (mg/L as
        nitrogen), equal unless the value is only known to lie below the second, and ``detected`` (0 in one row).
    ``colorado_soils``
        Soils at 959 sites of Colorado: ``lon``, ``lat`` (degrees), and 39 elements by their names, ``aluminium`` to
        ``zinc`` (mg/kg; the limit where not detected). Seven elements were not detected everywhere, and have a column
        such as ``cadmium_censored`` (1 = not detected). Left-censored: ``sulfur`` at 100 in 29 rows, ``phosphorus`` at
        50 in 5, ``arsenic`` at 1 in 4, ``cadmium`` at 0.1 in 54, ``antimony`` at 0.05 in 2, ``bismuth`` at 0.04 in 11,
        ``indium`` at 0.02 in 135. Values that equal a limit were detected there where the column is 0.
    ``credit_risk``
        1000 German loans as pysurvival tells their survival: ``duration`` (months) as time, ``full_repaid`` (0, 1) as
        event, 300 rows right-censored, and 19 covariates. The duration is the term of the loan, not a time that was
        observed, so this is survival by convention. ``None`` is a word of some columns and not a missing value, and
        some words end in a blank, as in "real_estate ".
    ``flchain``
        Free light chains and survival of 7874 people, 2169 deaths: ``time`` (days; 0 in 3 rows), ``event``, ``age``
        (years), ``sex`` (F, M), ``sample_yr``, ``kappa`` and ``lambda`` (mg/dL), ``flc_grp`` (1 to 10), ``creatinine``
        (mg/dL, 1350 missing), ``mgus`` (0, 1), ``chapter`` (cause of death, so never a covariate).
    ``gbsg``
        Node-positive breast cancer, the split of DeepSurv: 1546 women of Rotterdam to train, 686 of the German study to
        test. ``time`` (months, cut at 84 in the training part), ``event`` (recurrence or death), ``hormon`` (0, 1),
        ``size_cat`` (0 up to 20 mm, 1 up to 50, 2 above), ``meno`` (0, 1), ``age`` (years), ``nodes``, ``pgr`` and
        ``er`` (fmol/L). `load` has the German study alone as ``gbsg2``, in days.
    ``housing``
        506 census tracts around Boston: ``medv`` (median value of homes, thousand dollars), right-censored at 50 in 16
        rows, and 13 covariates, of which ``b`` is a contested transform of the share of Black residents.
    ``metabric``
        Breast cancer, 1523 women to train and 381 to test, 1103 deaths: ``time`` (months; 0 in one test row),
        ``event``, ``mki67``, ``egfr``, ``pgr``, ``erbb2`` (gene expression, logarithms), ``hormone_treatment``,
        ``radiotherapy``, ``chemotherapy``, ``er_positive`` (0, 1), ``age_at_diagnosis`` (years).
    ``pce``
        Tetrachloroethylene (PCE) in groundwater of the United States, 24,701 samples of 2000 to 2022, in the split of
        Cao and Katzfuss: 19,761 to train and 4940 to test. ``site`` (of USGS), ``day`` (days since 1 January 1970),
        ``lon``, ``lat`` (degrees), ``well_depth`` (feet, 1063 missing), ``county``, ``state``, ``pce`` (micrograms per
        litre; the limit where not detected), ``limit`` (of detection or reporting, missing in 483 rows with a value),
        ``censored`` (1 = not detected). Left-censored in 20,730 rows: ``censor(nondetect=censored)``, since 839 values
        are below the limit stated for them.
    ``support``
        Seriously ill patients, 7098 to train and 1775 to test, 6036 deaths: ``time`` (days), ``event``, ``age``
        (years), ``sex``, ``race``, ``cancer`` (codes that the source does not explain), ``num_comorbidity``,
        ``diabetes``, ``dementia`` (0, 1), ``meanbp`` (mmHg), ``hrt`` and ``resp`` (per minute), ``temp`` (degrees
        Celsius), ``sod`` (mmol/L), ``wbc`` (thousands per cubic millimetre), ``crea`` (mg/dL). Zeros of ``meanbp``,
        ``hrt``, ``resp`` and ``wbc`` are probably missing values.

    Sources, licences and citations are in ``datasets/README.md`` of the repository.

    Examples
    --------
    >>> affairs = fetch("affairs")
    >>> len(affairs), int((affairs["affairs"] == 0).sum())
    (601, 451)
    >>> gbsg = fetch("gbsg")  # doctest: +SKIP
    >>> train = gbsg[gbsg["split"] == "train"]  # doctest: +SKIP
    """
    if not isinstance(name, str) or name not in SOURCES:
        if isinstance(name, str) and name in available():
            raise DataError(f"Data set {name!r} is bundled with the package. Load it by tg.datasets.load({name!r}).")
        raise unknown(name, SOURCES, "fetch knows", {other: f"load({other!r})" for other in available()})
    frames = [read_table(table) for table in read_tables(name, SOURCES[name])]
    if len(frames) == 1:
        return frames[0]
    parts = [frame.assign(split=split) for frame, split in zip(frames, ("train", "test"), strict=True)]
    return pd.concat(parts, ignore_index=True)
