"""A fit of any kind in a file: what it was made of and found, without its training rows."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from tobitgp.errors import DataError, SpecError
from tobitgp.files import ordinary
from tobitgp.results.competing.competing_results import CompetingRisksResults
from tobitgp.results.latent.latent_results import LatentResults
from tobitgp.results.multivariate.multivariate_results import MultivariateResults
from tobitgp.results.results import Results
from tobitgp.storage.archive import MalformedError, read_arrays, read_document, write_archive
from tobitgp.storage.classes import fit_codec, results_of
from tobitgp.storage.codec import Functions, Surroundings, check_used

Loaded = Results | MultivariateResults | CompetingRisksResults | LatentResults
FORMAT, VERSION = "tobitgp fit", 3
MAX_CAUSE = 400
_NAMES = {"format", "version", "written_by", "fit"}


def save(parts: Any, path: str | os.PathLike[str]) -> None:
    """Write what a fit of any kind was made of and found; see :meth:`tobitgp.GPResults.save`."""
    place = _path(path)
    arrays = list[np.ndarray[Any, Any]]()
    fit = fit_codec().encode(parts.without_rows(), arrays, Surroundings())
    document = {"format": FORMAT, "version": VERSION, "written_by": f"tobitgp {_version()}", "fit": fit}
    try:
        if place.is_dir():
            raise DataError(f"{place} is a folder; give the name of a file in it, as fit.tgp.")
        if not place.absolute().parent.is_dir():
            raise DataError(f"{place} cannot be written: there is no folder {place.parent}.")
        write_archive(place, document, arrays)
    except OSError as error:
        raise DataError(f"{place} cannot be written: {error.strerror or error}.") from error


def load(path: str | os.PathLike[str], functions: Functions = None) -> Loaded:
    """Read a fit that ``save`` of its results wrote.

    The file is data, never code: it is checked from end to end, and anything unknown in it is refused.

    Parameters
    ----------
    path : str or path
        The file.
    functions : mapping of str to callable, optional
        The functions of one's own that the formula calls, which files do not hold.

    Returns
    -------
    GPResults, RegressionResults or results of another kind
        What was saved, without training rows: predictions need ``new=``.

    Raises
    ------
    DataError
        If there is no such file, or it is not one that this version of tobitgp can read.
    SpecError
        If the formula calls functions that are not given.

    Examples
    --------
    >>> import tempfile
    >>> import tobitgp as tg
    >>> res = tg.fit("durable ~ age | censor(0)", tg.datasets.load("tobin"))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     res.save(f"{folder}/durable.tgp")
    ...     again = tg.load(f"{folder}/durable.tgp")
    >>> again
    RegressionResults: durable ~ age | censor(0)
      gaussian, method mle: 7 rows exact, 13 left-censored, 0 dropped
      log likelihood -29.23, converged
    """
    place = _path(path)
    try:
        if not ordinary(place):
            raise OSError("it is a device or a pipe; give the name of a file")
        with place.open("rb") as file, zipfile.ZipFile(file) as archive:
            document = read_document(archive, os.fstat(file.fileno()).st_size)
            _check_head(document)
            arrays, used = read_arrays(archive), set[int]()
        parts = fit_codec().decode(document["fit"], arrays, used, Surroundings(functions=functions))
        check_used(arrays, used)
        results: Loaded = results_of(parts)
    except SpecError as error:
        raise SpecError(f"{place}: {error}") from error
    except OSError as error:
        raise DataError(f"{place} cannot be read: {error.strerror or error}.") from error
    except zipfile.BadZipFile as error:
        raise DataError(f"{place} is no fit that tobitgp saved, or it is damaged: {_cause(error)}.") from error
    except Exception as error:
        raise DataError(f"{place} cannot be loaded: {_cause(error)}.") from error
    return results


def _cause(error: Exception) -> str:
    """Words of an error, cut short: some quote what they found, which may be the whole file."""
    return (str(error) or type(error).__name__)[:MAX_CAUSE].rstrip(".")


def _path(path: Any) -> Path:
    if not isinstance(path, (str, os.PathLike)) or isinstance(os.fspath(path), bytes) or not os.fspath(path):
        raise SpecError(f"{path!r:.200} is no name of a file.")
    if "\0" in os.fspath(path):
        raise SpecError(f"{os.fspath(path)!r:.200}: a name of a file must not contain a null character.")
    return Path(path)


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("tobitgp")
    except PackageNotFoundError:
        return "(not installed)"


def _check_head(document: Any) -> None:
    """Refuse what is no fit, and what another version wrote."""
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise MalformedError("it is no fit that tobitgp saved")
    version, writer = document.get("version"), document.get("written_by")
    if type(version) is not int or version < 1 or not isinstance(writer, str):
        raise MalformedError("it does not say in which version of the format it is written")
    if version > VERSION:
        raise MalformedError(
            f"it was written by a newer tobitgp ({writer!r:.40}, format {version}); "
            f"this one, {_version()}, reads format {VERSION}: install a newer one"
        )
    if version < VERSION:
        raise MalformedError(
            f"it was written by an earlier tobitgp ({writer!r:.40}, format {version}), and this one, {_version()}, "
            f"reads format {VERSION}: fit the model again and save it, or load the file with the version that wrote it"
        )
    if set(document) != _NAMES:
        raise MalformedError(f"it has not exactly the fields {', '.join(sorted(_NAMES))}")
