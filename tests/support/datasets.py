"""Published files made anew from the tables that TOBITGP_DATA keeps, and a server on this machine that gives them."""

import csv
import gzip
import io
import os
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tobitgp.datasets.downloads import BEIJING_FIRST_HOUR, BEIJING_STATIONS, SOURCES, TO_THE_LAST_DIGIT

KEPT = Path(os.environ.get("TOBITGP_DATA", "no such folder"))


def table_of(file):
    """A table as it is kept, unpacked; the test is skipped where it is not."""
    if not (KEPT / file).is_file():
        pytest.skip(f"{file} is not in the folder that TOBITGP_DATA names")
    content = (KEPT / file).read_bytes()
    return gzip.decompress(content) if file.endswith(".gz") else content


def published_by(package):
    """The file that a package ships; the test is skipped where it is not installed."""
    path = SOURCES[{"statsmodels": "affairs", "sksurv": "flchain"}[package]].installed
    spec = find_spec(package)
    if spec is None:
        pytest.skip(f"{package} is not installed")
    return (Path(spec.submodule_search_locations[0]).parent / path).read_bytes()


def publish_housing():
    """Whole numbers have no point, names and the 0 and 1 of chas are quoted, and an empty line ends the file."""
    table = pd.read_csv(io.BytesIO(table_of("boston_housing.csv")), dtype=str)
    lines = [",".join(f'"{name}"' for name in table)]
    for row in table.to_dict("records"):
        row["chas"] = f'"{row["chas"]}"'
        lines.append(",".join(value.removesuffix(".0") for value in row.values()))
    return [("\n".join(lines) + "\n\n").encode()]


def publish_deepsurv(name):
    """Three arrays a part, covariates in single precision and without names."""
    h5py = pytest.importorskip("h5py")
    buffer = io.BytesIO()
    with h5py.File(buffer, "w") as file:
        for split, table in zip(("train", "test"), SOURCES[name].tables, strict=True):
            frame = pd.read_csv(io.BytesIO(table_of(table)), **TO_THE_LAST_DIGIT)
            group = file.create_group(split)
            group["x"] = frame.iloc[:, :-2].to_numpy("float32")
            group["t"] = frame["time"].to_numpy("float32")
            group["e"] = frame["event"].to_numpy("int32")
    return [buffer.getvalue()]


def publish_beijing():
    """Some early hours of each station, and every later one: those that the table leaves out lack a value."""
    table = pd.read_csv(io.BytesIO(table_of("beijing_so2.csv.gz")))
    hours = pd.date_range("2013-03-01 00:00", "2017-02-28 23:00", freq="h")
    index = np.r_[:50, BEIJING_FIRST_HOUR - 50 : len(hours)]
    files = []
    for code, station in enumerate(BEIJING_STATIONS):
        kept = table[table["station"] == code].set_index("hour_index").reindex(index)
        kept.loc[: BEIJING_FIRST_HOUR - 1] = 7.0
        frame = pd.DataFrame({"No": index + 1, "year": hours.year[index], "month": hours.month[index]})
        frame["day"], frame["hour"] = hours.day[index], hours.hour[index]
        for name, column in {"SO2": "so2", "TEMP": "temp_c", "WSPM": "wspm"}.items():
            frame[name] = kept[column].to_numpy()
        frame["wd"], frame["station"] = '"NNW"', f'"{station}"'
        frame.loc[frame["SO2"].isna() & (frame["No"] % 2 == 0), ["TEMP", "WSPM"]] = 1.5
        files.append(frame.to_csv(index=False, na_rep="NA", quoting=csv.QUOTE_NONE).encode())
    return files


def save_as_r(name, columns):
    """A file of R's ``save``, with one data frame; a column is a list, None where a text is missing."""
    symbols = []

    def whole(*numbers):
        return b"".join(number.to_bytes(4, "big", signed=True) for number in numbers)

    def text(value):
        return whole(9, -1) if value is None else whole(9 | 64 << 12, len(value.encode())) + value.encode()

    def symbol(value):
        if value not in symbols:
            symbols.append(value)
            return whole(1) + text(value)
        return whole(255 | symbols.index(value) + 1 << 8)

    def pairs(**values):
        return b"".join(whole(2 | 1024) + symbol(key) + value() for key, value in values.items()) + whole(254)

    def vector(values):
        if isinstance(values[0], str):
            return whole(16, len(values)) + b"".join(map(text, values))
        if isinstance(values[0], bool):
            return whole(10, len(values), *map(int, values))
        # As of a date, or of any other class.
        return (
            whole(14 | 768, len(values))
            + np.array(values, ">f8").tobytes()
            + pairs(**{"class": lambda: vector(["Date"])})
        )

    def frame():
        parts = b"".join(map(vector, columns.values()))
        return whole(19 | 768, len(columns)) + parts + pairs(names=lambda: vector([*columns]))

    head = b"RDX3\nX\n" + whole(3, 4 << 16 | 2 << 8, 3 << 16 | 5 << 8, 5) + b"UTF-8"
    return gzip.compress(head + pairs(**{name: frame}))


@contextmanager
def serve(answers, gate=None):
    """Give the address of a server of ``answers`` (bytes, or the status of an error, by path) and what it was asked."""
    asked = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            if gate is not None:
                gate.wait()
            answer = answers[self.path]
            if isinstance(answer, int):
                self.send_error(answer)
                return
            self.send_response(200)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
