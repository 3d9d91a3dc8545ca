import io
import json
import zipfile

import numpy as np
import pandas as pd
import pytest
from support.hostile_files import zipped

import tobitgp as tg


@pytest.fixture(scope="session")
def rich():
    """Columns of every type, few rows; 59 of them, a number no other length of a fit has."""
    rng = np.random.default_rng(11)
    n = 59
    data = pd.DataFrame(
        {
            "x": rng.uniform(1, 4, n),
            "t": rng.uniform(0, 2, n),
            "z": rng.normal(size=n),
            "g": rng.choice(["a", "b", "c"], n),
            "k": rng.integers(1, 4, n),
            "u": rng.random(n) > 0.5,
            "a b": rng.normal(size=n),
            "o": pd.Categorical.from_codes(rng.integers(0, 3, n), categories=[10, 20, 30]),
            "v": pd.Categorical.from_codes(rng.integers(0, 2, n), categories=[True, False]),
            "w": rng.integers(1, 4, n).astype(float),
            "day": pd.Timestamp("2020-03-01") + pd.to_timedelta(rng.integers(0, 900, n), unit="D"),
        }
    )
    data["cut"] = pd.cut(data["z"], [-9.0, -0.4, 0.4, 9.0])
    data["y"] = np.exp(0.4 * np.sin(2 * data["x"]) + 0.2 * data["z"] + 0.1 * rng.normal(size=n))
    data["low"] = np.where(data["u"], 0.7, 0.8)
    data["y"] = data["y"].clip(data["low"], 1.6)
    data["seen"] = (data["y"] < 1.6).astype(int)
    data["text"] = [f"<{0.8}" if y <= 0.8 else f"{y}" for y in data["y"]]
    return data


@pytest.fixture(scope="session")
def stored(rich, tmp_path_factory):
    """A fit with linear columns, a spline and a process, and the bytes of its file."""
    res = tg.fit("y ~ bs(z, df=4) + g + gp(x) | censor(low, 1.6)", rich, method=tg.EP(hyper="maximize"))
    path = tmp_path_factory.mktemp("stored") / "fit.tgp"
    res.save(path)
    return res, path.read_bytes()


@pytest.fixture(scope="session")
def stored_regression(rich, tmp_path_factory):
    """A regression with splines, factors and a formula of its noise scale, and the bytes of its file."""
    options = {"method": "mle", "sigma": "~ t + C(k)", "family": tg.Student(df=4)}
    res = tg.fit("y ~ bs(z, df=4) + g | censor(low, 1.6)", rich, **options)
    path = tmp_path_factory.mktemp("stored") / "fit.tgp"
    res.save(path)
    return res, path.read_bytes()


@pytest.fixture(scope="session")
def stored_scale(rich, tmp_path_factory):
    """A fit with a process and a formula of its noise scale, and the bytes of its file."""
    res = tg.fit("y ~ z + gp(x) | censor(low, 1.6)", rich, sigma="~ t", method=tg.EP(hyper="maximize", n_starts=1))
    path = tmp_path_factory.mktemp("stored") / "fit.tgp"
    res.save(path)
    return res, path.read_bytes()


@pytest.fixture
def rewrite(stored, tmp_path):
    """Make a file whose document or arrays were changed, and give its path."""
    return rewriter(stored[1], tmp_path)


@pytest.fixture
def rewrite_regression(stored_regression, tmp_path):
    """``rewrite`` of a regression's file."""
    return rewriter(stored_regression[1], tmp_path)


@pytest.fixture
def rewrite_scale(stored_scale, tmp_path):
    """``rewrite`` of the file of a process whose noise has a formula."""
    return rewriter(stored_scale[1], tmp_path)


@pytest.fixture
def rewrite_curve(rich, tmp_path):
    """A fit with a process without a line, and ``rewrite`` of its file."""
    res = tg.fit("y ~ z + gp(x, line=False) | censor(low, 1.6)", rich, method=tg.EP(hyper="maximize", n_starts=1))
    res.save(tmp_path / "fit.tgp")
    return res, rewriter((tmp_path / "fit.tgp").read_bytes(), tmp_path)


def rewriter(data, folder):
    def make(document=None, entries=None, compression=zipfile.ZIP_STORED):
        old = zipfile.ZipFile(io.BytesIO(data))
        parts = {name: old.read(name) for name in old.namelist()}
        if document is not None:
            changed = document(json.loads(parts["fit.json"]))
            parts["fit.json"] = changed if isinstance(changed, bytes) else json.dumps(changed).encode()
        parts = entries(parts) if entries else parts
        path = folder / "changed.tgp"
        path.write_bytes(zipped(parts.items(), compression=compression))
        return path

    return make
