"""Memory stays flat over a thousand fits, and what is done with is let go."""

import contextlib
import gc
import inspect
import json
import weakref
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest
from support import tally
from support.hostile_files import DATA, FITS
from support.processes import environment, printed_by

import tobitgp as tg
from tobitgp.cli import main
from tobitgp.errors import SpecError, TobitGPError

# Rows, their number and the formula's text differ from fit to fit: no cache meets the same thing twice.
MANY = """
import gc, json, os, sys, warnings
import numpy as np, pandas as pd, tobitgp as tg
warnings.simplefilter("ignore")
formula, options, counts = json.loads(sys.argv[1])
for i in range(max(counts)):
    rng = np.random.default_rng(i)
    data = pd.DataFrame({"x": rng.uniform(0, 5, 30 + i % 9), "z": rng.normal(size=30 + i % 9)})
    data["y"] = np.maximum(np.sin(data["x"]) + 0.3 * rng.normal(size=len(data)), -0.5)
    data["t"] = np.exp(data["y"])
    res = tg.fit(formula.replace("LIMIT", f"{-0.5 - 1e-6 * i}"), data, **options)
    res.predict(data.head(3), se=True)
    str(res.summary())
    if i + 1 in counts:
        gc.collect()
        with open("/proc/self/statm") as file:
            print(int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20)
"""
REPEATED = {
    "process": ("y ~ z + gp(x) | censor(LIMIT)", {"method": tg.EP(hyper="maximize")}),
    "regression": ("y ~ z + x | censor(LIMIT)", {}),
    "mixture": ("t ~ mixture(2)", {"family": "lognormal"}),
}


@pytest.mark.study
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="the memory of a process as Linux tells it")
@pytest.mark.parametrize("kind", REPEATED)
def test_memory_is_flat_over_a_thousand_fits(kind):
    asked = json.dumps([*REPEATED[kind], [200, 1000]])
    printed = printed_by("-c", MANY, asked, env=environment(OPENBLAS_NUM_THREADS="1"))
    tally.add(1000)
    early, late = map(float, printed.split())
    assert late - early < 3, f"{early} MB after 200 fits, {late} after 1000"


def ask(results, data):
    results.predict(data.head(3), se=True)
    results.predict()
    results.residuals()
    str(results.summary())
    repr(results)
    results.loo(draws=200, rng=1)
    results.check()
    results.plot()
    plt.close("all")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", FITS)
def test_what_is_done_with_is_let_go(kind):
    formula, options = FITS[kind]
    ask(tg.fit(formula, DATA, **options), DATA)  # what is made once for the process
    data = DATA.copy()
    model = tg.Model(formula, data)
    results = tg.fit(formula, data, **options)
    ask(results, data)
    held = {"data": weakref.ref(data), "model": weakref.ref(model), "results": weakref.ref(results)}
    del data, model, results
    gc.collect()
    assert [name for name, reference in held.items() if reference() is not None] == []


@pytest.mark.filterwarnings("ignore")
def test_an_error_lets_its_data_go():
    data = DATA.copy()
    held = weakref.ref(data)
    for formula in ("y ~ nothing", "y ~ gp(g)", "y ~ x | censor(1, upper=0)"):
        with pytest.raises(TobitGPError):
            tg.fit(formula, data)
    del data
    gc.collect()
    assert held() is None


@pytest.fixture(params=FITS)
def fitted(request):
    formula, options = FITS[request.param]
    return tg.fit(formula, DATA, **options)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_what_writes_files_leaves_no_figure_open(fitted, tmp_path):
    fitted.report(tmp_path / "a.html")
    assert plt.get_fignums() == []
    fitted.save(tmp_path / "a.tgp")
    tg.load(tmp_path / "a.tgp").report(tmp_path / "b.html")
    assert plt.get_fignums() == []


@pytest.mark.slow
def test_the_command_line_leaves_no_figure_open(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    DATA.to_csv("d.csv")
    words = ["fit", "y ~ x", "d.csv", "--plot", "a.png", "--report", "a.html"]
    assert main(words) == 0
    assert plt.get_fignums() == []
    (tmp_path / "a.png").unlink()
    monkeypatch.setattr("matplotlib.figure.Figure.savefig", lambda *_, **__: np.zeros(3)[3])
    with pytest.raises(IndexError):
        main(words)
    assert plt.get_fignums() == []
    assert not (tmp_path / "a.png").exists()


def plots(results):
    """Names of the methods that draw, and whether they take axes."""
    names = [name for name in dir(results) if name.startswith("plot")]
    return {name: "ax" in inspect.signature(getattr(results, name)).parameters for name in names}


@pytest.mark.filterwarnings("ignore")
def test_pictures_on_given_axes_open_no_figure(fitted):
    for name in (name for name, takes_axes in plots(fitted).items() if takes_axes):
        figure, ax = plt.subplots()
        with contextlib.suppress(SpecError):  # some want one input, and this fit has several
            getattr(fitted, name)(ax=ax)
        assert plt.get_fignums() == [figure.number], name
        plt.close(figure)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_pictures_open_one_figure_or_none_where_they_fail(fitted, tmp_path):
    fitted.save(tmp_path / "a.tgp")
    failed = 0
    for results in (fitted, tg.load(tmp_path / "a.tgp")):
        for name in plots(results):
            try:
                getattr(results, name)()
                assert len(plt.get_fignums()) == 1, name
            except SpecError:
                failed += 1
                assert plt.get_fignums() == [], name
            plt.close("all")
    assert failed


@pytest.mark.parametrize("name", ["plot_survival", "plot_hazard"])
def test_rows_that_cannot_be_drawn_open_no_figure(name):
    results = tg.fit("y ~ x", DATA)
    for rows in (DATA, {"z": [1.0]}):
        with pytest.raises(TobitGPError):
            getattr(results, name)(df=rows)
        assert plt.get_fignums() == []
