"""Fits as files, as users ask for them."""

from __future__ import annotations

import os
from typing import Any


class Saving:
    """``save`` of every kind of results."""

    _parts: Any

    def save(self, path: str | os.PathLike[str]) -> None:
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
        from tobitgp.results.storage import save

        save(self._parts, path)
