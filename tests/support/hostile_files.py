"""Saved fits of each kind, and files made from them that were tampered with."""

import copy
import io
import json
import sys
import warnings
import zipfile
from contextlib import contextmanager

import numpy as np
import pandas as pd

import tobitgp as tg
from support.audit import watched
from tobitgp.errors import TobitGPError

RNG = np.random.default_rng(3)
DATA = pd.DataFrame({"x": RNG.uniform(0, 5, 31), "z": RNG.normal(size=31), "g": RNG.choice(list("ab"), 31)})
DATA["y"] = np.maximum(np.sin(DATA["x"]) + 0.3 * RNG.normal(size=31), -0.5)
DATA["t"] = np.exp(DATA["y"])
FITS = {
    "process": ("y ~ z + C(g) + gp(x) + re(g) | censor(-0.5)", {"hyper": "maximize"}),
    "regression": ("y ~ bs(x, df=4) + g | censor(-0.5)", {"sigma": "~ z"}),
    "mixture": ("t ~ mixture(2)", {"family": "lognormal"}),
}


class Saved:
    """A fit of one kind: the bytes of its file, and what is in it."""

    def __init__(self, kind, folder):
        formula, options = FITS[kind]
        self.kind, self.path = kind, folder / f"{kind}.tgp"
        self.results = tg.fit(formula, DATA, **options)
        self.results.save(self.path)
        self.data = self.path.read_bytes()
        with zipfile.ZipFile(self.path) as archive:
            self.parts = {name: archive.read(name) for name in archive.namelist()}
        self.document = json.loads(self.parts["fit.json"])
        load(self.path)

    def rewrite(self, document=None, **arrays):
        """Bytes of a file with another document, or other arrays by their numbers."""
        parts = dict(self.parts)
        if document is not None:
            parts["fit.json"] = document if isinstance(document, bytes) else json.dumps(document).encode()
        parts |= {f"arrays/{name[1:]}.npy": content for name, content in arrays.items()}
        return zipped(parts.items())


def zipped(entries, **options):
    out = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(out, "w", **options) as archive:
        warnings.simplefilter("ignore")  # zipfile minds names that come twice
        for name, content in entries:
            archive.writestr(name, content)
    return out.getvalue()


@contextmanager
def nothing_else(path):
    """Fail where anything is written, run, imported or read that is neither the file nor the package's own."""
    own = (".py", ".pyc", ".so", ".dist-info/METADATA")  # the last is the version of the package itself
    known = {name.partition(".")[0] for name in sys.modules}
    with watched("read", "import") as seen, warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield
        found = list(seen)
    for event, *what in found:
        if event == "import":
            assert what[0].partition(".")[0] in known
        else:
            assert event == "read", (event, what)
            # Python 3.13 looks for the text behind an error of its parser under the name it gave it.
            assert what[0] in (str(path), "<string>", *sys.path) or what[0].endswith(own), what


def load(path):
    """The fit of a file, or None where it is refused in words that name the file."""
    with nothing_else(path):
        try:
            return tg.load(path)
        except TobitGPError as error:
            said = str(error)
    assert str(path) in said
    assert len(said) < 1000 + len(str(path))
    return None


def answers(results):
    """Ask a fit that was loaded: it answers, or complains in our words."""
    asked = (results.summary, lambda: results.predict(DATA.head(3), se=True), results.conf_int, results.loo)
    for ask in asked:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                ask()
            except TobitGPError:
                continue


def tried(data, saved):
    """Load bytes: refused, or a fit that answers."""
    path = saved.path.with_name("tried.tgp")
    path.write_bytes(data)
    results = load(path)
    if results is not None:
        answers(results)
    return results


def is_same(results, saved):
    again = saved.path.with_name("again.tgp")
    results.save(again)
    return again.read_bytes() == saved.data


def replaced(document, route, value):
    changed = copy.deepcopy(document)
    at = changed
    for step in route[:-1]:
        at = at[step]
    at[route[-1]] = value
    return changed
