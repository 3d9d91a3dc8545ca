"""A fit without its training rows in a file."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np

from tobitgp.errors import DataError, SpecError
from tobitgp.files import ordinary
from tobitgp.formula.spec import CureSpec, ModelSpec, ScaleSpec
from tobitgp.kinds.boxcox import BoxCoxParts
from tobitgp.kinds.cure import CureParts
from tobitgp.kinds.mixture import MixtureParts
from tobitgp.kinds.parametric import ParametricParts
from tobitgp.kinds.power_process import PowerProcessParts
from tobitgp.kinds.process import ProcessParts
from tobitgp.kinds.regression import RegressionParts
from tobitgp.kinds.start_stop import StartStopParts
from tobitgp.results.competing.competing_parts import CompetingParts
from tobitgp.results.competing.competing_results import CompetingRisksResults
from tobitgp.results.hazards.hazard_parts import HazardParts
from tobitgp.results.hazards.hazard_results import HazardResults
from tobitgp.results.likelihood.boxcox_results import BoxCoxResults
from tobitgp.results.likelihood.cure_results import CureResults
from tobitgp.results.likelihood.parametric_results import ParametricHazardResults
from tobitgp.results.likelihood.regression_results import RegressionResults
from tobitgp.results.likelihood.start_stop_results import StartStopResults
from tobitgp.results.mixture.mixture_results import MixtureResults
from tobitgp.results.multivariate.multivariate_parts import MultivariateParts
from tobitgp.results.multivariate.multivariate_results import MultivariateResults
from tobitgp.results.process.boxcox_process_results import BoxCoxGPResults
from tobitgp.results.process.process_results import GPResults
from tobitgp.storage.archive import (
    MalformedError,
    check_fields,
    check_used,
    field_types,
    read_arrays,
    read_document,
    write_archive,
)
from tobitgp.storage.classes import fit_codec
from tobitgp.storage.consistency import (
    check_boxcox,
    check_cure,
    check_mixture,
    check_parametric,
    check_process,
    check_regression,
    check_start_stop,
    try_results,
)
from tobitgp.storage.powers import POWERS, plain_powers, powers_results
from tobitgp.storage.specification import Functions, check_names, plain_spec, restore_spec
from tobitgp.storage.stack import plain_stack, restore_stack, stacked_results
from tobitgp.storage.stored_causes import CAUSES, causes_results, plain_causes, read_fits
from tobitgp.storage.stored_cells import hazard_results, plain_hazards, restore_hazards

Loaded = (
    GPResults
    | RegressionResults
    | CureResults
    | BoxCoxResults
    | BoxCoxGPResults
    | MixtureResults
    | MultivariateResults
    | HazardResults
    | ParametricHazardResults
    | CompetingRisksResults
)
_NOT_STORED = ("spec", "training", "covariates")


@dataclass(frozen=True, slots=True)
class Kind:
    """How fits of one kind are stored."""

    name: str
    parts: type  # dataclass of what such a fit was made from and what it found
    check: Callable[[Any], None]  # parts -> None; raises where they do not belong together
    results: Callable[[Any], Any]  # parts -> results
    scale: type[ScaleSpec] = ScaleSpec  # of the formula beside that of the model

    @property
    def fields(self) -> dict[str, Any]:
        """Declared types of the parts that are stored, by name."""
        return {name: hint for name, hint in field_types(self.parts).items() if name not in _NOT_STORED}


KINDS = {
    kind.name: kind
    for kind in (
        Kind("process", ProcessParts, check_process, GPResults.from_parts),
        Kind("regression", RegressionParts, check_regression, RegressionResults),
        Kind("start_stop", StartStopParts, check_start_stop, StartStopResults),
        Kind("boxcox", BoxCoxParts, check_boxcox, BoxCoxResults),
        Kind("cure", CureParts, check_cure, CureResults, CureSpec),
        Kind("parametric", ParametricParts, check_parametric, ParametricHazardResults),
        Kind("mixture", MixtureParts, check_mixture, MixtureResults),
    )
}


@dataclass(frozen=True, slots=True)
class Made:
    """How rows were made from those of the user, for fits that are fits of other rows."""

    name: str
    parts: type
    inner: Callable[[Any], Any]  # parts -> parts of the fit of the rows that were made
    plain: Callable[[Any, list[np.ndarray[Any, Any]]], dict[str, Any]]  # parts, arrays -> document
    restore: Callable[..., Any]  # document, functions, arrays, used -> what is beside the inner parts
    results: Callable[[Any, Any], Any]  # that, inner parts -> results


MADE = {
    made.name: made
    for made in (
        Made("stack", MultivariateParts, attrgetter("stacked"), plain_stack, restore_stack, stacked_results),
        Made("cells", HazardParts, attrgetter("cells"), plain_hazards, restore_hazards, hazard_results),
    )
}


FORMAT, VERSION = "tobitgp fit", 2
MAX_CAUSE = 400
_NAMES = ("format", "version", "written_by", "kind", "specification", "parts", "rows")


def save(parts: Any, path: str | os.PathLike[str]) -> None:
    """Write the parts of a fit, of a kind in ``KINDS``, causes or powers; see :meth:`tobitgp.GPResults.save`."""
    place = _path(path)
    arrays = list[np.ndarray[Any, Any]]()
    document: dict[str, Any] = {"format": FORMAT, "version": VERSION, "written_by": f"tobitgp {_version()}"}
    if isinstance(parts, CompetingParts):
        rows = [_plain(fit.parts, arrays) for fit in parts.fits.values()]
        document |= {"kind": CAUSES, "specification": None, "parts": plain_causes(parts), "rows": rows}
    elif isinstance(parts, PowerProcessParts):
        rows = [_plain(fit, arrays) for fit in parts.fits]
        document |= {"kind": POWERS, "specification": None, "parts": plain_powers(parts), "rows": rows}
    else:
        document |= _plain(parts, arrays)
    try:
        if place.is_dir():
            raise DataError(f"{place} is a folder; give the name of a file in it, as fit.tgp.")
        if not place.absolute().parent.is_dir():
            raise DataError(f"{place} cannot be written: there is no folder {place.parent}.")
        write_archive(place, document, arrays)
    except OSError as error:
        raise DataError(f"{place} cannot be written: {error.strerror or error}.") from error


def _plain(parts: Any, arrays: list[np.ndarray[Any, Any]]) -> dict[str, Any]:
    """Document of one fit."""
    made = next((made for made in MADE.values() if type(parts) is made.parts), None)
    inner = parts if made is None else made.inner(parts)
    kind = next(kind for kind in KINDS.values() if type(inner) is kind.parts)
    rowless, codec = inner.without_rows(), fit_codec(inner.spec, inner.state.levels)
    return {
        "kind": kind.name,
        "specification": plain_spec(inner.spec, inner.facts.names),
        "parts": codec.encode({name: getattr(rowless, name) for name in kind.fields}, arrays),
        "rows": None if made is None else {"made": made.name, **made.plain(parts, arrays)},
    }


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
    place, earlier = _path(path), False
    try:
        if not ordinary(place):
            raise OSError("it is a device or a pipe; give the name of a file")
        with place.open("rb") as file, zipfile.ZipFile(file) as archive:
            document = read_document(archive, os.fstat(file.fileno()).st_size)
            _check_head(document)
            earlier = document["version"] < VERSION
            arrays, used = read_arrays(archive), set[int]()
        several = document["kind"] in (CAUSES, POWERS)
        documents = read_fits(document, _NAMES[3:]) if several else [document]
        held = [_decode(one, functions, arrays, used, earlier=earlier) for one in documents]
        check_used(arrays, used)
        fits = [_build(*one) for one in held]
        together = powers_results if document["kind"] == POWERS else causes_results
        results: Loaded = together(document["parts"], fits) if several else fits[0]
    except SpecError as error:
        raise SpecError(f"{place}: {error}") from error
    except OSError as error:
        raise DataError(f"{place} cannot be read: {error.strerror or error}.") from error
    except zipfile.BadZipFile as error:
        raise DataError(f"{place} is no fit that tobitgp saved, or it is damaged: {_cause(error)}.") from error
    except Exception as error:
        remedy = (
            " It was written by an earlier tobitgp: load it with that one, or fit the model again." if earlier else ""
        )
        raise DataError(f"{place} cannot be loaded: {_cause(error)}.{remedy}") from error
    return results


def _decode(
    document: Any, functions: Functions, arrays: Sequence[np.ndarray[Any, Any]], used: set[int], *, earlier: bool
) -> tuple[Kind, ModelSpec, Any, Made | None, Any]:
    """What the document of one fit holds."""
    name, rows = document["kind"], document["rows"]
    if not isinstance(name, str) or name not in KINDS:
        raise MalformedError(f"it is of the unknown kind {name!r:.60}")
    kind = KINDS[name]
    spec = restore_spec(document["specification"], functions, kind.scale)
    values = fit_codec(spec, {}, earlier=earlier).decode(document["parts"], arrays, used)
    made = None if rows is None else _read_made(rows)
    return kind, spec, values, made, None if made is None else made.restore(rows, functions, arrays, used)


def _build(kind: Kind, spec: ModelSpec, values: Any, made: Made | None, outer: Any) -> Any:
    """Results of one fit."""
    found = kind.results(_assemble(kind, spec, values))
    try_results(found)
    return found if made is None else made.results(outer, found.parts)


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
    """Refuse what is no fit, and what only a newer version can read."""
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise MalformedError("it is no fit that tobitgp saved")
    version, writer = document.get("version"), document.get("written_by")
    if type(version) is not int or version < 1 or not isinstance(writer, str):
        raise MalformedError("it does not say in which version of the format it is written")
    if version > VERSION:
        raise MalformedError(
            f"it was written by a newer tobitgp ({writer!r:.40}, format {version}); "
            f"this one, {_version()}, reads up to format {VERSION}: install a newer one"
        )
    check_names(document, _NAMES, "document")


def _read_made(rows: Any) -> Made:
    name = rows.get("made") if isinstance(rows, dict) else None
    if not isinstance(name, str) or name not in MADE:
        raise MalformedError(f"its rows were made in the unknown way {name!r:.60}")
    return MADE[name]


def _assemble(kind: Kind, spec: ModelSpec, values: Any) -> Any:
    check_fields(values, kind.fields)
    parts = kind.parts(spec=spec, **values)
    if (parts.state.scale is None) != (spec.scale is None):
        raise MalformedError("its noise scale is not that of the formula")
    kind.check(parts)
    return parts
