"""Fits as files and as pages, as users ask for them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from tobitgp.errors import DataError, SpecError

if TYPE_CHECKING:
    from tobitgp.results.results import Results

PAGES = (".html", ".htm")


def save(results: Results, path: str | os.PathLike[str]) -> None:
    """Write the fit to one file, without its training rows; :func:`tobitgp.load` reads it.

    What new rows are asked works on the loaded fit as on this one: every number is kept bit for bit. What needs the
    training rows themselves, as ``residuals()`` or ``predict()`` without new data, does not. The same fit always
    gives the same bytes.

    Parameters
    ----------
    path : str or path
        Conventionally ending in ``.tgp``. An existing file is replaced, at once and as a whole.

    Raises
    ------
    DataError
        If the file cannot be written.
    SpecError
        If the fit holds something that has no place in the format.

    Examples
    --------
    >>> import tempfile
    >>> import tobitgp as tg
    >>> res = tg.fit("durable ~ age | censor(0)", tg.datasets.load("tobin"))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     res.save(f"{folder}/durable.tgp")
    ...     again = tg.load(f"{folder}/durable.tgp")
    >>> bool((again.predict({"age": [30.0]}) == res.predict({"age": [30.0]})).all())
    True
    """
    from tobitgp.storage import save

    save(results.parts, path)


def report(results: Results, path: str | os.PathLike[str], *, title: str | None = None) -> None:
    """Write one page of HTML: what was modelled, tables, pictures, diagnostics, versions.

    The page needs no other file and no network, and reads well on a phone. Names from the data are escaped. Of a
    fit without training rows it says what it cannot show.

    Parameters
    ----------
    path : str or path
        Ends in ``.html`` or ``.htm``. An existing file is replaced, at once and as a whole.
    title : str, optional
        The formula without.

    Raises
    ------
    SpecError
        If the name ends otherwise.
    DataError
        If the file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import tobitgp as tg
    >>> res = tg.fit("durable ~ age | censor(0)", tg.datasets.load("tobin"))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     res.report(f"{folder}/durable.html", title="Durable goods")
    ...     "<h1>Durable goods</h1>" in Path(folder, "durable.html").read_text(encoding="utf-8")
    True
    """
    from tobitgp.files import whole_file
    from tobitgp.report.page import make_page

    try:
        target = Path(path).expanduser()
    except TypeError:
        raise SpecError(f"report() writes a file, and {path!r} names none.") from None
    if title is not None and not isinstance(title, str):
        raise SpecError(f"title={title!r}: text is needed.")
    if target.suffix.lower() not in PAGES:
        raise SpecError(f"report() writes HTML, and {str(target)!r} ends otherwise; name a file that ends in .html.")
    if "\0" in str(target):
        raise DataError(f"{str(target)!r} cannot be written: a name holds no null character.")
    try:
        with whole_file(target) as file:
            file.write(make_page(cast(Any, results), title).encode("utf-8"))
    except OSError as error:
        raise DataError(f"{str(target)!r} cannot be written: {error.strerror or error}.") from error
