"""Tables and models in files: read by suffix, written as a whole or not at all."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from glob import has_magic
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from tobitgp.errors import DataError, SpecError
from tobitgp.files import whole_file
from tobitgp.formula.spec import LinearPart
from tobitgp.results.output import PAGES
from tobitgp.storage.loading import load

if TYPE_CHECKING:
    import pandas as pd

PARQUET = (".parquet", ".pq")
_SEPARATORS = {";": "semicolons", "\t": "tabs"}
_FIGURES = (".png", ".pdf", ".svg")
SUFFIXES = {
    "--plot": _FIGURES,
    "curves --out": _FIGURES,
    "--report": PAGES,
    "report --out": PAGES,
    "--out": (".csv", *PARQUET),
}
_NO_PYARROW = "Parquet files require the package pyarrow. Run: pip install 'tobitgp[parquet]'"


def names_many(path: Path) -> bool:
    """Whether a path is a folder or a pattern of Parquet files, which are never in memory as a whole."""
    return path.is_dir() or (has_magic(str(path)) and not path.exists())


def read_data(path: Path, text: Iterable[str] = ()) -> pd.DataFrame:
    """Read a CSV or Parquet file."""
    import pandas as pd

    if names_many(path):
        raise DataError(f"{str(path)!r} is a folder or a pattern. Give the name of one file.")
    parquet = path.suffix.lower() in PARQUET
    if not path.exists():
        raise DataError(f"There is no file {str(path)!r}.")
    try:
        return pd.read_parquet(path, engine="pyarrow") if parquet else _read_csv(path, text)
    except ImportError:
        raise DataError(f"{str(path)!r} cannot be read: {_NO_PYARROW}.") from None
    except Exception as error:  # of pandas, pyarrow, or whatever unpacks a compressed file
        raise DataError(
            f"{str(path)!r} cannot be read as {'Parquet' if parquet else 'CSV'}: {str(error).strip()}"
        ) from None


def _read_csv(path: Path, text: Iterable[str]) -> pd.DataFrame:
    """Read a table with the column names of the file; pandas would rename repeated names, y and y to y and y.1."""
    import pandas as pd

    file = path if path.is_file() else BytesIO(path.read_bytes())  # a pipe can be read only once

    def read(**options: Any) -> pd.DataFrame:
        if isinstance(file, BytesIO):
            file.seek(0)
        return pd.read_csv(file, **options)

    _refuse_separator(read(nrows=0).columns, path)
    _refuse_nameless(read)
    data = read(dtype=dict.fromkeys(text, str))
    head = read(header=None, nrows=1, dtype=str).iloc[0].tolist()
    if len(head) == len(data.columns) and len(set(head)) < len(head):
        data.columns = pd.Index([old if pd.isna(name) else name for old, name in zip(data.columns, head, strict=True)])
    return data


def _refuse_separator(names: Iterable[str], path: Path) -> None:
    """Raise an error if the header is one name that contains another separator."""
    header = ",".join(names)
    found = next((sep for sep in _SEPARATORS if sep in header and "," not in header), None)
    if found is not None:
        raise ValueError(
            f"its fields are separated by {_SEPARATORS[found]}, not by commas. Write it with commas, in Python by "
            f"pd.read_csv({str(path)!r}, sep={found!r}).to_csv('commas.csv', index=False). If numbers are "
            "written as 1,5, add decimal=',' to read_csv()."
        )


def _refuse_nameless(read: Callable[..., pd.DataFrame]) -> None:
    """Raise an error for rows with more fields than names in the header, which pandas would read as row labels."""
    first = read(nrows=1)
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        unlabelled = read(nrows=1, index_col=False)
    if heard or not first.equals(unlabelled):
        names, fields = len(first.columns), len(first.columns) + first.index.nlevels
        raise ValueError(
            f"its header has {names} name{'s' * (names != 1)}, its first row {fields} fields. Give every field a name, "
            "also that of row names. A comma at the end of a row begins one more field."
        )


def date_columns(parts: Iterable[LinearPart]) -> list[str]:
    """Columns that the formulas of the model and of its noise scale may treat as dates."""
    variables = [variable for part in parts for variable in part.variables]
    return list(dict.fromkeys(variable.name for variable in variables if variable.date or variable.beside))


def read_dates(data: pd.DataFrame, names: Iterable[str]) -> pd.DataFrame:
    """Convert text to dates in some columns."""
    import pandas as pd

    read = {}
    for name in names:
        if list(data.columns).count(name) == 1 and pd.api.types.infer_dtype(data[name], skipna=True) == "string":
            dates = pd.to_datetime(data[name], format="ISO8601", utc=True, errors="coerce").dt.tz_localize(None)
            wrong = data[name][dates.isna() & data[name].notna()]
            if len(wrong):
                raise DataError(
                    f"Column {name!r} holds {wrong.iloc[0]!r} in row {wrong.index[0]}, which is not a date. "
                    "Write dates by ISO 8601, e.g. 2024-03-31 or 2024-03-31T12:00."
                )
            read[name] = dates
    return data.assign(**read) if read else data


def write_table(table: pd.DataFrame, target: Path | None) -> None:
    """Write a table as CSV or Parquet, or print it as CSV, with row labels that say more than 0, 1, 2, ..."""
    import pandas as pd

    plain = isinstance(table.index, pd.RangeIndex) and table.index.name is None
    if target is None:
        print(table.to_csv(index=not plain), end="")
        return
    with replacing(target, "--out") as file:
        if target.suffix.lower() in PARQUET:
            table.to_parquet(file, engine="pyarrow", index=None if plain else True)
        else:
            table.to_csv(file, index=not plain, mode="wb")


def check_targets(targets: Mapping[str, Path | None], read: Iterable[Path] = ()) -> None:
    """Raise an error for targets that cannot or must not be written to, before any work is done."""
    taken = {os.path.realpath(path): str(path) for path in read}
    for option, target in targets.items():
        if target is None:
            continue
        place, folder = os.path.realpath(target), str(target.parent)
        allowed = SUFFIXES.get(option, (target.suffix.lower(),))
        problems = {
            f"there is no folder {folder!r}.": not target.parent.is_dir(),
            "this is a folder.": target.is_dir(),
            "this is not an ordinary file.": target.exists() and not target.is_file(),
            f"the name must end in one of {', '.join(allowed)}.": target.suffix.lower() not in allowed,
            f"this would replace {taken.get(place)}. Name another file.": place in taken,
            f"the folder {folder!r} cannot be written to.": not os.access(os.path.dirname(place), os.W_OK),
        }
        for words, wrong in problems.items():
            if wrong:
                raise SpecError(f"{option} {target}: {words}")
        taken[place] = f"what {option} writes"


@contextmanager
def replacing(target: Path, option: str) -> Iterator[BinaryIO]:
    """Open a file to write to, which replaces the target once everything is written."""
    try:
        with whole_file(target) as file:
            yield file
    except ImportError:
        raise SpecError(f"{option} {target}: {_NO_PYARROW}.") from None
    except OSError as error:
        raise SpecError(f"{option} {target}: {error.strerror or error}.") from None
    except ValueError as error:
        raise SpecError(f"{option} {target}: {error}") from None


def load_model(path: Path) -> Any:
    """Read a fit that ``tobitgp fit --save`` wrote."""
    if not path.exists():
        raise DataError(f"There is no file {str(path)!r}.")
    return load(path)
