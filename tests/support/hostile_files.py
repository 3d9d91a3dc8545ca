"""Saved fits of each kind, and files made from them that were tampered with."""

import copy
import inspect
import io
import json
import re
import struct
import sys
import warnings
import zipfile
from contextlib import contextmanager

import formulaic  # noqa: F401  # the first load would import it
import numpy as np
import pandas as pd

import tobitgp as tg
from support.audit import watched
from tobitgp.errors import DataError, SpecError
from tobitgp.storage import codec
from tobitgp.storage.classes import fit_codec

RNG = np.random.default_rng(3)
DATA = pd.DataFrame({"x": RNG.uniform(0, 5, 31), "z": RNG.normal(size=31), "g": RNG.choice(list("ab"), 31)})
DATA["y"] = np.maximum(np.sin(DATA["x"]) + 0.3 * RNG.normal(size=31), -0.5)
DATA["t"] = np.exp(DATA["y"])
DATA["k"] = np.arange(31) % 3 + 1
DATA["low"] = np.where(DATA["y"] > -0.5, -0.6, -0.5)
DATA["u"] = np.arange(31) % 3 > 0
DATA["clipped"] = DATA["y"].clip(upper=1.0)
FITS = {
    "process": ("y ~ z + C(g) + gp(x) + re(g) | censor(-0.5)", {"method": tg.EP(hyper="maximize")}),
    "regression": ("y ~ bs(x, df=4) + g | censor(-0.5)", {"sigma": "~ z"}),
    "mixture": ("t ~ mixture(2)", {"family": "lognormal"}),
}
# Files with more in them: what was learned of splines, two limits, a family by its number, factors of the scale.
RICH = {
    "rich process": ("clipped ~ bs(z, df=4) + g + gp(x) + re(g) | censor(low, 1)", {"method": tg.EP(hyper="maximize")}),
    "rich regression": (
        "clipped ~ bs(z, df=4) + g | censor(low, 1)",
        {"method": "mle", "sigma": "~ x + C(k)", "family": tg.Student(df=4)},
    ),
}
MADE = {
    "hazards": (
        "Surv(t, u) ~ gp(x) + bs(z, df=4) + tv(low) + strata(g)",
        {"family": "ph", "method": tg.EP(hyper="maximize")},
    ),
    "parametric": ("Surv(t, u) ~ bs(z, df=4) + x + strata(g)", {"family": tg.PH("spline", df=2)}),
    "several responses": (
        "mvbind(clipped, k) ~ gp(x) + bs(z, df=4) + (1 + z | g) | censor((low, 1), None)",
        {"rescor": True, "sigma": "~ z"},
    ),
}
# Fits that stand in a structure.
STRUCTURED = {
    "markov": (
        'y ~ z + gp(x, kernel="matern32", approximation="markov") | censor(-0.5)',
        {"method": tg.EP(hyper="maximize"), "fixed": {"sigma": 0.3}},
    ),
    "vecchia": (
        'y ~ gp(x, z, kernel="matern32", approximation="vecchia", neighbours=4) | censor(-0.5)',
        {"method": tg.EP(hyper="maximize"), "fixed": {"sigma": 0.3}},
    ),
}
# Hyper-parameters beside those of the processes.
NOISES = {
    "side noises": ("clipped ~ gp(x) | censor(low, 1)", {"method": tg.VI(bound="local", hyper="maximize")}),
    "degrees of freedom": ("y ~ gp(x) | censor(-0.5)", {"family": "student", "method": tg.EP(hyper="maximize")}),
}


class Saved:
    """A fit of one kind: the bytes of its file, and what is in it."""

    def __init__(self, kind, folder):
        formula, options = (FITS | RICH | MADE | STRUCTURED | NOISES)[kind]
        self.kind, self.path = kind, folder / f"{kind}.tgp"
        self.results = tg.fit(formula, DATA, **options)
        self.results.save(self.path)
        self.data = self.path.read_bytes()
        with zipfile.ZipFile(self.path) as archive:
            self.parts = {name: archive.read(name) for name in archive.namelist()}
        self.document = json.loads(self.parts["fit.json"])
        _, *self.routes = (route for route, _ in places(self.document))
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


def npy(values):
    """Bytes of an array, of one that pickles too."""
    out = io.BytesIO()
    np.lib.format.write_array(out, values, version=(1, 0), allow_pickle=True)
    return out.getvalue()


def header(text, version=b"\x01\x00"):
    """What stands before the numbers of an array."""
    size = struct.pack("<H" if version[0] == 1 else "<I", len(text))
    return b"\x93NUMPY" + version + size + text.encode("latin1")


def tags():
    """All tags that a document may hold: those of the hooks, and those that the codec reads itself."""
    own = re.findall(r'"(\$\w+)"', inspect.getsource(codec))
    return sorted({*own, *fit_codec().hooks})


def places(document, route=()):
    """Routes to a value and all within it, and what stands there."""
    yield route, document
    if isinstance(document, dict | list):
        for key, item in document.items() if isinstance(document, dict) else enumerate(document):
            yield from places(item, (*route, key))


def find(document, name):
    """Fields of the first object of a class, or the texts of the first specification by ``$spec``, as they stand."""
    if isinstance(document, dict):
        if document.get("$class") == name:
            return document["fields"]
        if name in document and document[name] is not None:
            return document[name]["$dict"]
        document = list(document.values())
    if isinstance(document, list):
        return next((found for item in document if (found := find(item, name)) is not None), None)
    return None


def in_class(name, **values):
    """A change of a document: other values of fields of the first object of a class."""

    def change(document):
        document = copy.deepcopy(document)
        find(document, name).update(values)
        return document

    return change


def in_spec(**values):
    """A change of a document: other texts of its specification."""

    def change(document):
        document = copy.deepcopy(document)
        for pair in find(document, "$spec"):
            pair[1] = values.get(pair[0], pair[1])
        return document

    return change


def leaves(document):
    """Routes to what holds nothing else."""
    return [route for route, value in places(document) if not (isinstance(value, dict | list) and value)]


@contextmanager
def nothing_else(path):
    """Fail where anything is written, run, imported or read that is neither the file nor the package's own."""
    own = (".py", ".pyc", ".so", ".dist-info/METADATA")  # the last is the version of the package itself
    known = {name.partition(".")[0] for name in sys.modules}
    with watched("read", "import") as seen:
        yield
        found = list(seen)
    for event, *what in found:
        if event == "import":
            assert what[0].partition(".")[0] in known, what
        else:
            assert event == "read", (event, what)
            # Python 3.13 looks for the text behind an error of its parser under the name it gave it.
            assert what[0] in (str(path), "<string>", *sys.path) or what[0].endswith(own), what


def load(path):
    """The fit of a file, or None where it is refused in words that name the file."""
    with nothing_else(path):
        try:
            return tg.load(path)
        except (DataError, SpecError) as error:
            said = str(error)
    assert str(path) in said
    assert len(said) < 1000 + len(str(path))
    return None


def answers(results):
    """Ask a fit that was loaded: it answers, or complains in our words."""
    asked = [results.summary, results.conf_int]
    if isinstance(results, tg.MultivariateResults):
        asked += [results.group_effects, lambda: results.predict(DATA.head(3), "sigma", interval=0.9)]
    elif isinstance(results, tg.HazardResults):
        asked += [lambda: results.predict_survival_function(DATA.head(3), [1.0, 9.0], interval=0.9)]
    else:
        asked += [results.loo, lambda: results.predict(DATA.head(3), se=True)]
        asked += [lambda: results.predict(DATA, "terms", se=True)]
    if hasattr(results, "marginal_effects"):
        asked.append(lambda: results.marginal_effects(at="mean"))
    for ask in asked:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                ask()
            except (DataError, SpecError):
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
    """The document with another value at a route; all beside the route is the same object."""
    changed, (step, *rest) = copy.copy(document), route
    changed[step] = replaced(document[step], rest, value) if rest else value
    return changed
