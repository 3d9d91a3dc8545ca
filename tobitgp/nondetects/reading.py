"""A laboratory's column as values and flags, for functions of arrays."""

from __future__ import annotations

import pandas as pd

from tobitgp.data.frames import reads_frames
from tobitgp.nondetects.sample import read_sample
from tobitgp.typing import Frame


@reads_frames
def read(data: Frame, response: str, censored: str | None = None) -> pd.DataFrame:
    """Read a laboratory's column into values and flags of non-detects, as a formula reads it.

    Parameters
    ----------
    data : DataFrame or dict of columns
        A row for each result; never modified.
    response : str
        Column of results, in any units: numbers, or text such as ``<0.5``, ``0.5 U``, ``0.7 J``; with
        ``| censor(limit)`` behind it where ``ND`` has its limit in another column.
    censored : str, optional
        Column that is 1 or True for non-detects.

    Returns
    -------
    DataFrame
        Columns ``value``, detects and the limits of non-detects in the units of the response, and ``nondetect``, with
        the index of the data; rows without a result are left out, with a warning.

    Raises
    ------
    DataError
        For columns that are missing, text that is no result, or non-detects without their limit.
    SpecError
        If results are right-censored or lie in intervals.

    Examples
    --------
    >>> import tobitgp as tg
    >>> lab = {"result": ["0.8", "<0.5", "ND", "0.2 U", "0.7 J"], "limit": [0.5, 0.5, 0.2, 0.2, 0.5]}
    >>> tg.nondetects.read(lab, "result | censor(limit)")
       value  nondetect
    0    0.8      False
    1    0.5       True
    2    0.2       True
    3    0.2       True
    4    0.7      False
    """
    sample = read_sample(data, response, censored)
    sample.check_left("read()")
    return pd.DataFrame({"value": sample.values, "nondetect": sample.censored}, index=sample.labels)
