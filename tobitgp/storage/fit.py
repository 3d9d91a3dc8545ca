"""A fit without its training rows; its formulas are read again, never trusted."""

from __future__ import annotations

import os
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from tobitgp.errors import DataError, SpecError, TobitGPError
from tobitgp.formula import parse_formula
from tobitgp.formula.parse import parse_scale_formula
from tobitgp.formula.spec import ModelSpec, ResponseSpec, ScaleSpec
from tobitgp.results.mixture.parts import MixtureParts
from tobitgp.results.mixture.results import MixtureResults
from tobitgp.results.process.results import GPResults
from tobitgp.results.regression.parts import RegressionParts
from tobitgp.results.regression.results import RegressionResults
from tobitgp.results.views import Parts, columns_of
from tobitgp.storage.archive import (
    MalformedError,
    describe_type,
    field_types,
    fits,
    read_arrays,
    read_document,
    write_archive,
)
from tobitgp.storage.check import check_mixture, check_process, check_regression, try_results
from tobitgp.storage.classes import fit_codec

Functions = Mapping[str, Callable[..., Any]]

# Fields that the data, not the text, decide: **a new one is a line here**.
LEARNED: dict[type, tuple[str, ...]] = {ResponseSpec: ("kind", "duration")}


def plain_spec(spec: ModelSpec, columns: Sequence[str]) -> dict[str, Any]:
    """Specification as JSON."""
    scale = spec.scale
    called = _called(spec) + ([] if scale is None else _called(scale))
    document: dict[str, Any] = {
        "formula": spec.formula,
        "columns": columns_of(spec, columns),
        "functions": list(dict.fromkeys(called)),
        "learned": _learned(spec),
        "reads": _reading(spec),
        "scale": None,
    }
    if scale is not None:
        written, reads = columns_of(scale, columns), _reading(scale)
        document["scale"] = {"formula": scale.formula, "columns": written, "reads": reads}
    try:
        known = restore_spec(document, dict(spec.functions)) == spec
    except (MalformedError, TobitGPError):
        known = False
    if not known:
        raise SpecError(f"The formula {spec.written} cannot be stored: it would not be read again as it was.")
    return document


def restore_spec(document: Any, functions: Functions | None) -> ModelSpec:
    """Specification from its document."""
    _check_names(document, ("columns", "formula", "functions", "learned", "reads", "scale"), "specification")
    lists = ("columns", "functions", "reads")
    sound = all(_are_texts(document[name]) for name in lists) and isinstance(document["learned"], list)
    if not sound or not isinstance(document["formula"], str):
        raise MalformedError("its specification is not made of text")
    _check_functions(document, functions)
    spec = parse_formula(document["formula"], document["columns"], functions)
    values = iter(document["learned"])
    spec = _relearn(spec, values)
    if list(values) or _reading(spec) != document["reads"]:
        raise MalformedError("its formula is read otherwise by this version of tobitgp")
    if document["scale"] is None:
        return spec
    return replace(spec, scale=_restore_scale(document["scale"], spec, functions))


def _restore_scale(document: Any, spec: ModelSpec, functions: Functions | None) -> ScaleSpec:
    """Formula of the noise scale, read again."""
    _check_names(document, ("columns", "formula", "reads"), "noise scale")
    if not isinstance(document["formula"], str) or not all(_are_texts(document[name]) for name in ("columns", "reads")):
        raise MalformedError("its noise scale is not made of text")
    try:
        scale = parse_scale_formula(document["formula"], document["columns"], functions, beside=spec)
    except SpecError as error:
        raise MalformedError(str(error)) from error
    if _reading(scale) != document["reads"]:
        raise MalformedError("the formula of its noise scale is read otherwise by this version of tobitgp")
    return scale


def _check_names(document: Any, names: tuple[str, ...], what: str) -> None:
    if not isinstance(document, dict) or set(document) != set(names):
        raise MalformedError(f"its {what} has not exactly the fields {', '.join(names)}")


def _check_functions(document: dict[str, Any], functions: Functions | None) -> None:
    """Ask for the functions of the user that the formulas call."""
    if functions is not None and not isinstance(functions, Mapping):
        raise SpecError(f"functions= is a dict of functions by name, as {{'f': f}}, not {type(functions).__name__}.")
    lacking = [name for name in document["functions"] if name not in (functions or {})]
    if lacking:
        listed = ", ".join(f"{name!r}: {name}" for name in lacking)
        raise SpecError(
            f"The formula {document['formula'].strip()!r:.200} calls functions of the user, which files do not hold; "
            f"load it with functions={{{listed}}}."
        )


def _called(spec: ModelSpec | ScaleSpec) -> list[str]:
    """A user's own functions that a formula calls."""
    text = re.sub(r"`[^`]*`", "", spec.formula)
    return [name for name, _ in spec.functions if re.search(rf"(?<![\w.]){name}\s*\(", text)]


def _reading(spec: ModelSpec | ScaleSpec) -> list[str]:
    """What later numbers rest on: the linear part written out, the processes, the columns and their roles."""
    mixture = spec.mixture if isinstance(spec, ModelSpec) else None
    reads = [spec.linear, *(term.name for term in spec.gps), *(f"{v.role} {v.name}" for v in spec.variables)]
    return [*reads, f"mixture {mixture.process:d} {mixture.numbers}"] if mixture is not None else reads


def _learned(part: Any) -> list[Any]:
    if isinstance(part, tuple):
        return [value for item in part for value in _learned(item)]
    if not is_dataclass(part):
        return []
    own = LEARNED.get(type(part), ())
    values = [getattr(part, name) for name in own]
    return values + [v for f in fields(part) if f.name not in own for v in _learned(getattr(part, f.name))]


def _relearn(part: Any, values: Iterator[Any]) -> Any:
    """Put learned values back, in the order in which ``_learned`` took them."""
    if isinstance(part, tuple):
        return tuple(_relearn(item, values) for item in part)
    if not is_dataclass(part) or isinstance(part, type):
        return part
    own = LEARNED.get(type(part), ())
    changes = {name: next(values, None) for name in own}
    for name, value in changes.items():
        if not fits(value, field_types(type(part))[name]):
            raise MalformedError(f"its specification has the value {value!r:.60} for {name}")
    changes |= {f.name: _relearn(getattr(part, f.name), values) for f in fields(part) if f.name not in own}
    return replace(part, **changes)


def _are_texts(items: Any) -> bool:
    return isinstance(items, list) and all(isinstance(item, str) for item in items)


_NOT_STORED = ("spec", "training", "covariates")


@dataclass(frozen=True, slots=True)
class Kind:
    """How fits of one kind are stored."""

    name: str
    parts: type  # dataclass of what such a fit was made from and what it found
    check: Callable[[Any], None]  # parts -> None; raises where they do not belong together
    results: Callable[[Any], Any]  # parts -> results

    @property
    def fields(self) -> dict[str, Any]:
        """Declared types of the parts that are stored, by name."""
        return {name: hint for name, hint in field_types(self.parts).items() if name not in _NOT_STORED}


KINDS = {
    kind.name: kind
    for kind in (
        Kind("process", Parts, check_process, GPResults.from_parts),
        Kind("regression", RegressionParts, check_regression, RegressionResults),
        Kind("mixture", MixtureParts, check_mixture, MixtureResults),
    )
}


FORMAT, VERSION = "tobitgp fit", 1
MAX_CAUSE = 400
_NAMES = ("format", "version", "written_by", "kind", "specification", "parts")


def save(parts: Any, path: str | os.PathLike[str]) -> None:
    """Write the parts of a fit, of any kind in ``KINDS``; see :meth:`tobitgp.GPResults.save`."""
    place = _path(path)
    kind = next(kind for kind in KINDS.values() if type(parts) is kind.parts)
    rowless, arrays = parts.without_rows(), list[np.ndarray[Any, Any]]()
    specification = plain_spec(parts.spec, parts.facts.names)
    codec = fit_codec(parts.spec, parts.state.levels)
    document = {
        "format": FORMAT,
        "version": VERSION,
        "written_by": f"tobitgp {_version()}",
        "kind": kind.name,
        "specification": specification,
        "parts": codec.encode({name: getattr(rowless, name) for name in kind.fields}, arrays),
    }
    if place.is_dir():
        raise DataError(f"{place} is a folder; give the name of a file in it, as fit.tgp.")
    if not place.absolute().parent.is_dir():
        raise DataError(f"{place} cannot be written: there is no folder {place.parent}.")
    try:
        write_archive(place, document, arrays)
    except OSError as error:
        raise DataError(f"{place} cannot be written: {error.strerror or error}.") from error


def load(
    path: str | os.PathLike[str], functions: Functions | None = None
) -> GPResults | RegressionResults | MixtureResults:
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
    GPResults, RegressionResults or MixtureResults
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
        with place.open("rb") as file, zipfile.ZipFile(file) as archive:
            document = read_document(archive, os.fstat(file.fileno()).st_size)
            kind = _read_head(document)
            spec = restore_spec(document["specification"], functions)
            values = fit_codec(spec, {}).decode(document["parts"], read_arrays(archive))
        results: GPResults | RegressionResults | MixtureResults = kind.results(_assemble(kind, spec, values))
        try_results(results)
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
        raise SpecError(f"{path!r} is no name of a file.")
    return Path(path)


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("tobitgp")
    except PackageNotFoundError:
        return "(not installed)"


def _read_head(document: Any) -> Kind:
    """The kind of a fit; what is none is refused, and what only a newer version can read."""
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
    _check_names(document, _NAMES, "document")
    name = document["kind"]
    if not isinstance(name, str) or name not in KINDS:
        raise MalformedError(f"it is of the unknown kind {name!r:.60}")
    return KINDS[name]


def _assemble(kind: Kind, spec: ModelSpec, values: Any) -> Any:
    if not isinstance(values, dict) or set(values) != set(kind.fields):
        raise MalformedError(f"it has not exactly the parts {', '.join(kind.fields)}")
    for name, hint in kind.fields.items():
        if not fits(values[name], hint):
            raise MalformedError(f"its part {name!r} is no {describe_type(hint)}")
    parts = kind.parts(spec=spec, **values)
    if (parts.state.scale is None) != (spec.scale is None):
        raise MalformedError("its noise scale is not that of the formula")
    kind.check(parts)
    return parts
