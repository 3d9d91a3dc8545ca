"""Files that R saved, and the rows that its ``sample`` draws."""

from __future__ import annotations

import gzip
import io
import lzma
from typing import Any

import numpy as np

# Kinds of objects, by their codes in R's serialisation.
PAIRS, NOTHING, SYMBOL, SEEN_SYMBOL, TEXT = 2, 254, 1, 255, 9
LISTS = (16, 19)
NUMBERS = {10: ">i4", 13: ">i4", 14: ">f8"}


def read_saved(content: bytes) -> dict[str, Any]:
    """Read the objects of an ``.RData`` file, packed with gzip or xz: data frames are dictionaries of columns."""
    file = io.BytesIO(lzma.decompress(content) if content.startswith(b"\xfd7zXZ") else gzip.decompress(content))
    version = file.read(7)
    if version not in (b"RDX2\nX\n", b"RDX3\nX\n"):
        raise ValueError("not a binary file of R's save(), version 2 or 3")
    file.seek(12, io.SEEK_CUR)
    if version.startswith(b"RDX3"):
        file.seek(_whole(file), io.SEEK_CUR)
    return dict(_read(file, []))


def _whole(file: io.BytesIO) -> int:
    return int.from_bytes(file.read(4), "big", signed=True)


def _read(file: io.BytesIO, symbols: list[str]) -> Any:
    """Read one object; of the attributes of a vector only its names are kept."""
    flags = _whole(file)
    kind, attributed = flags & 255, flags & 512
    if kind == NOTHING:
        return {}
    if kind == SEEN_SYMBOL:
        return symbols[(flags >> 8) - 1]
    if kind == SYMBOL:
        symbols.append(_read(file, symbols))
        return symbols[-1]
    if kind == PAIRS:
        if attributed:
            _read(file, symbols)
        return {_read(file, symbols): _read(file, symbols)} | _read(file, symbols)
    size = _whole(file)
    values: Any
    if kind == TEXT:
        return None if size < 0 else file.read(size).decode("utf-8")
    if kind in LISTS:
        values = [_read(file, symbols) for _ in range(size)]
    elif kind in NUMBERS:
        kept = np.dtype(NUMBERS[kind])
        values = np.frombuffer(file.read(size * kept.itemsize), kept).astype(kept.newbyteorder("="))
    else:
        raise ValueError(f"an object of R's type {kind} has no reader here")
    names = _read(file, symbols).get("names") if attributed else None
    return values if names is None else dict(zip(names, values, strict=True))


def sample(seed: int, rows: int, size: int) -> list[int]:
    """Rows, from 0, that R since 3.6 draws with ``set.seed(seed); sample(rows, size)``; at most 65,536 rows."""
    words = []
    for _ in range(675):
        seed = (69069 * seed + 1) % 2**32
        words.append(seed)
    twister = np.random.MT19937()
    twister.state = {"bit_generator": "MT19937", "state": {"key": np.array(words[51:], "uint32"), "pos": 624}}
    left, drawn = list(range(rows)), list[int]()
    while len(drawn) < size:
        place = int(twister.random_raw()) >> 16 & (1 << (len(left) - 1).bit_length()) - 1
        if place < len(left):
            drawn.append(left[place])
            left[place] = left[-1]
            left.pop()
    return drawn
