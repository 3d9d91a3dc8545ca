"""Saved fits on the command line: fit --save, predict and compare."""

import io
import re
import shutil
from contextlib import redirect_stdout
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import tobitgp as tg
from tobitgp.cli import main

FORMULA = "y ~ x + gp(x) | censor(lower)"


@pytest.fixture(scope="module")
def once(tmp_path_factory):
    """The file of a fit, and the fit."""
    folder = tmp_path_factory.mktemp("saved")
    table, path, out = folder / "toy.csv", folder / "toy.tgp", io.StringIO()
    tg.datasets.simulate_groot_lucas(rng=1).to_csv(table, index=False)
    with redirect_stdout(out):
        assert main(["fit", FORMULA, str(table), "--hyper", "maximize", "--save", str(path), "--quiet"]) == 0
    assert f"Saved fit to {path}" in out.getvalue()
    return path, tg.fit(FORMULA, pd.read_csv(table), method=tg.EP(hyper="maximize"))


@pytest.fixture
def saved(once, tmp_path):
    return Path(shutil.copy(once[0], tmp_path))


@pytest.fixture
def res(once):
    return once[1]


@pytest.fixture
def new(tmp_path):
    frame = pd.DataFrame({"x": [0.1, np.nan, 0.7], "lower": -0.1})
    frame.to_csv(tmp_path / "new.csv", index=False)
    frame.to_parquet(tmp_path / "new.parquet")
    return frame


ASKED = {
    "latent": ([], {}),
    "band": (["--interval", "0.9"], {"interval": 0.9}),
    "observed": (["--what", "observed", "--se"], {"what": "observed", "se": True}),
    "one quantile": (["--what", "quantile", "--q", "0.5"], {"what": "quantile", "q": 0.5}),
    "quantiles": (
        ["--what", "quantile", "--q", "0.1", "0.9", "--se"],
        {"what": "quantile", "q": [0.1, 0.9], "se": True},
    ),
    "below": (["--what", "prob", "--below", "-0.5"], {"what": "prob", "below": -0.5}),
    "above": (["--what", "prob", "--above", "0", "--above", "1"], {"what": "prob", "above": [0.0, 1.0]}),
    "terms": (["--what", "terms"], {"what": "terms"}),
    "exclude": (["--exclude", "gp(x)"], {"exclude": ["gp(x)"]}),
}


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize("case", ASKED)
def test_predictions_are_those_of_the_fit(case, suffix, saved, res, new, tmp_path, capsys):
    words, options = ASKED[case]
    out = tmp_path / f"out.{suffix}"
    assert main(["predict", str(saved), str(tmp_path / f"new.{suffix}"), *words, "--out", str(out)]) == 0
    assert capsys.readouterr().out == ""
    written = pd.read_csv(out) if suffix == "csv" else pd.read_parquet(out)
    expected = res.predict(new, **options)
    assert np.allclose(written.to_numpy(), expected.to_numpy().reshape(3, -1), rtol=1e-12, equal_nan=True)
    names = [expected.name] if expected.ndim == 1 else expected.columns
    flat = ["_".join(map(str, name)) if isinstance(name, tuple) else str(name) for name in names]
    assert list(written.columns) == flat


def test_ids_of_rows_are_kept_beside_predictions(saved, res, new, tmp_path, capsys):
    data = tmp_path / "named.csv"
    new.assign(well=["a", "b", "c"], estimate=1.0).to_csv(data, index=False)
    assert main(["predict", str(saved), str(data), "--interval", "0.95", "--keep", "well"]) == 0
    printed = pd.read_csv(io.StringIO(capsys.readouterr().out))
    assert list(printed.columns) == ["well", "estimate", "se", "lower", "upper"]
    assert printed["well"].to_list() == ["a", "b", "c"]
    np.testing.assert_allclose(printed["estimate"], res.predict(new, interval=0.95)["estimate"])
    for name, words in (("shaft", "no such column"), ("estimate", "have a column of this name")):
        assert main(["predict", str(saved), str(data), "--interval", "0.95", "--keep", name]) == 2
        assert words in capsys.readouterr().err


def test_errors_are_clustered_by_a_column(table, tmp_path, capsys):
    data = pd.read_csv(table).assign(batch=lambda d: np.arange(len(d)) // 4)
    data.to_csv(tmp_path / "batches.csv", index=False)
    fit = ["fit", "y ~ x | censor(lower)", str(tmp_path / "batches.csv"), "--quiet", "--cluster", "batch"]
    assert main([*fit, "--save", str(tmp_path / "fit.tgp")]) == 0
    want = tg.fit("y ~ x | censor(lower)", data, cov_type="cluster", cov_kwds={"groups": "batch"})
    np.testing.assert_allclose(tg.load(tmp_path / "fit.tgp").bse, want.bse, rtol=1e-9)
    data.assign(half=np.arange(len(data)) % 8).to_csv(tmp_path / "batches.csv", index=False)
    assert main([*fit, "--cluster", "half", "--save", str(tmp_path / "fit.tgp")]) == 0
    both = {"groups": ["batch", "half"]}
    want = tg.fit("y ~ x | censor(lower)", pd.read_csv(tmp_path / "batches.csv"), cov_type="cluster", cov_kwds=both)
    np.testing.assert_allclose(tg.load(tmp_path / "fit.tgp").bse, want.bse, rtol=1e-9)
    capsys.readouterr()
    assert main([*fit, "--cluster", "nothing"]) == 2
    assert "no column 'nothing' for the groups" in capsys.readouterr().err
    assert main([*fit, "--cov-type", "HC0"]) == 2
    assert "--cov-type HC0 cannot be combined with --cluster" in capsys.readouterr().err


def test_without_out_the_table_is_printed(saved, res, new, tmp_path, capsys):
    assert main(["predict", str(saved), str(tmp_path / "new.csv"), "--interval", "0.95"]) == 0
    printed = pd.read_csv(io.StringIO(capsys.readouterr().out))
    assert list(printed.columns) == ["estimate", "se", "lower", "upper"]
    assert np.allclose(printed, res.predict(new, interval=0.95), equal_nan=True)


def test_labels_of_rows_are_kept(saved, new, tmp_path):
    new.set_axis(["a", "b", "c"]).to_parquet(tmp_path / "named.parquet")
    out = tmp_path / "out.csv"
    assert main(["predict", str(saved), str(tmp_path / "named.parquet"), "--out", str(out)]) == 0
    assert pd.read_csv(out, index_col=0).index.tolist() == ["a", "b", "c"]


def test_compare_prints_the_table_of_compare(saved, res, table, tmp_path, capsys):
    other = tmp_path / "line.tgp"
    assert main(["fit", "y ~ x | censor(lower)", str(table), "--hyper", "maximize", "--save", str(other)]) == 0
    capsys.readouterr()
    assert main(["compare", str(other), str(saved), "--by", "elbo"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["value", "diff", "se_diff", "weight", "kind", "n", "converged"]
    assert lines[1].split()[:2] == ["toy", f"{res.elbo:.3f}"]
    assert lines[2].split()[0] == "line"


def test_report_is_the_page_of_the_saved_fit(saved, tmp_path, capsys):
    assert main(["report", str(saved), "--out", str(tmp_path / "page.html"), "--title", "A toy"]) == 0
    tg.load(saved).report(tmp_path / "other.html", title="A toy")
    pages = [re.sub("Written .*|id=.*|#.*", "", (tmp_path / name).read_text()) for name in ("page.html", "other.html")]
    assert pages[0] == pages[1]
    assert "<h1>A toy</h1>" in pages[0]
    assert capsys.readouterr().out == ""


def test_files_of_one_name_go_by_their_paths(saved, tmp_path, capsys):
    folder = tmp_path / "again"
    folder.mkdir()
    (folder / saved.name).write_bytes(saved.read_bytes())
    assert main(["compare", str(saved), str(folder / saved.name)]) == 0
    assert str(folder / saved.name) in capsys.readouterr().out


REFUSED = {
    "no model": (["predict", "missing.tgp", "new.csv"], "There is no file 'missing.tgp'"),
    "a folder": (["predict", "toy.tgp", "."], "'.' is a folder or a pattern. Give the name of one file"),
    "a pattern": (["predict", "toy.tgp", "*.csv"], "'*.csv' is a folder or a pattern"),
    "no data": (["predict", "toy.tgp", "missing.csv"], "There is no file 'missing.csv'"),
    "no column": (["predict", "toy.tgp", "other.csv"], "'x'"),
    "no order": (["predict", "toy.tgp", "new.csv", "--what", "quantile"], "q="),
    "no term": (["predict", "toy.tgp", "new.csv", "--exclude", "gp(z)"], "gp(z)"),
    "interval": (["predict", "toy.tgp", "new.csv", "--interval", "95"], "interval=95"),
    "suffix": (["predict", "toy.tgp", "new.csv", "--out", "out.xlsx"], "--out out.xlsx"),
    "no folder": (["predict", "toy.tgp", "new.csv", "--out", "nowhere/out.csv"], "there is no folder 'nowhere'"),
    "not to be had": (["compare", "toy.tgp", "--by", "log_evidence_integrated"], "tg.EP(hyper='integrate')"),
    "report suffix": (["report", "toy.tgp", "--out", "page.pdf"], "must end in one of .html, .htm"),
    "report no model": (["report", "missing.tgp", "--out", "page.html"], "There is no file 'missing.tgp'"),
    "compare no model": (["compare", "toy.tgp", "missing.tgp"], "There is no file 'missing.tgp'"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_bad_input_is_one_clear_message_and_writes_nothing(case, saved, new, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    pd.DataFrame({"other": [1.0]}).to_csv("other.csv")
    before = set(tmp_path.iterdir())
    arguments, words = REFUSED[case]
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert error.startswith("tobitgp: ")
    assert words in error
    assert set(tmp_path.iterdir()) == before


def test_a_file_is_replaced_as_a_whole_or_not_at_all(saved, tmp_path, new, monkeypatch, capsys):
    out = tmp_path / "out.csv"
    out.write_text("old")

    def breaks(self, file, **_):
        file.write(b"half")
        raise OSError("the disk is full")

    before = set(tmp_path.iterdir())
    with monkeypatch.context() as patch:
        patch.setattr(pd.DataFrame, "to_csv", breaks)
        assert main(["predict", str(saved), str(tmp_path / "new.csv"), "--out", str(out)]) == 2
    assert "--out" in capsys.readouterr().err
    assert out.read_text() == "old"
    assert set(tmp_path.iterdir()) == before
    assert main(["predict", str(saved), str(tmp_path / "new.csv"), "--out", str(out)]) == 0
    assert len(pd.read_csv(out)) == 3


LINEAR = "y ~ x | censor(lower)"


@pytest.fixture
def regressions(table, tmp_path):
    paths = {"plain": tmp_path / "plain.tgp", "scaled": tmp_path / "scaled.tgp"}
    assert main(["fit", LINEAR, str(table), "--method", "mle", "--save", str(paths["plain"]), "--quiet"]) == 0
    assert main(["fit", LINEAR, str(table), "--sigma", "~ x", "--save", str(paths["scaled"]), "--quiet"]) == 0
    return paths


def test_regressions_predict(regressions, table, new, tmp_path, capsys):
    capsys.readouterr()
    res = tg.fit(LINEAR, pd.read_csv(table), sigma="~ x")
    words = ["--what", "observed", "--interval", "0.9"]
    assert main(["predict", str(regressions["scaled"]), str(tmp_path / "new.csv"), *words]) == 0
    printed = pd.read_csv(io.StringIO(capsys.readouterr().out))
    assert np.allclose(printed, res.predict(new, "observed", interval=0.9), rtol=1e-12, equal_nan=True)


def test_regressions_are_compared_by_likelihood(regressions, table, capsys):
    capsys.readouterr()
    paths = [str(path) for path in regressions.values()]
    assert main(["compare", *paths, "--by", "aic"]) == 0
    shown = capsys.readouterr().out
    fits = {"plain": tg.fit(LINEAR, pd.read_csv(table)), "scaled": tg.fit(LINEAR, pd.read_csv(table), sigma="~ x")}
    assert shown.strip() == tg.compare(fits, by="aic").to_string(float_format="{:.3f}".format).strip()
    assert main(["compare", *paths]) == 0  # no evidence, so AIC
    assert capsys.readouterr().out == shown


def test_a_regression_is_not_compared_with_a_process(regressions, saved, capsys):
    assert main(["compare", str(regressions["plain"]), str(saved), "--by", "aic"]) == 2
    assert "not available for 'toy'" in capsys.readouterr().err


@pytest.mark.parametrize("formula", ["y ~ x + g", "y ~ x + re(g)"])
def test_levels_that_look_like_numbers_are_text_where_the_model_knows_them_as_text(formula, tmp_path, capsys):
    rng = np.random.default_rng(0)
    data = pd.DataFrame({"x": rng.normal(size=30), "g": ["01", "2", "a"] * 10, "y": rng.normal(size=30)})
    res = tg.fit(formula, data, method=tg.EP(hyper="maximize"))
    res.save(tmp_path / "fit.tgp")
    new = data[data["g"] != "a"].reset_index(drop=True)
    new.to_csv(tmp_path / "new.csv", index=False)
    assert main(["predict", str(tmp_path / "fit.tgp"), str(tmp_path / "new.csv")]) == 0
    printed = pd.read_csv(io.StringIO(capsys.readouterr().out)).iloc[:, 0]
    np.testing.assert_allclose(printed, res.predict(new), rtol=1e-12)


def test_mixtures_of_regressions_are_fitted_and_predicted(tmp_path, capsys):
    rng = np.random.default_rng(4)
    x, first = rng.uniform(0.0, 10.0, 80), rng.random(80) < 0.5
    data = pd.DataFrame({"x": x, "y": np.where(first, x, 9.0 - x) + 0.4 * rng.normal(size=80)})
    rows, model, formula = str(tmp_path / "rows.csv"), str(tmp_path / "fit.tgp"), "y ~ mixture(2, x)"
    data.to_csv(rows, index=False)
    assert main(["fit", formula, rows, "--save", model, "--quiet"]) == 0
    assert "location_2[x]" in capsys.readouterr().out
    assert main(["predict", model, rows, "--what", "component"]) == 0
    found = pd.read_csv(io.StringIO(capsys.readouterr().out))
    expected = tg.fit(formula, data).predict(what="component")
    np.testing.assert_allclose(found.iloc[:, -2:], expected, rtol=1e-6, atol=1e-12)


def test_cure_models_are_fitted_and_predicted(tmp_path, capsys):
    data, model, picture = tg.datasets.simulate_cure(n=200, rng=1), tmp_path / "fit.tgp", tmp_path / "fit.png"
    data.to_csv(tmp_path / "rows.csv", index=False)
    formula, rows = "Surv(time, event) ~ treated", str(tmp_path / "rows.csv")
    options = ["--family", "weibull", "--cure", "~ treated", "--save", str(model), "--plot", str(picture), "--quiet"]
    assert main(["fit", formula, rows, *options]) == 0
    assert "cured[treated]" in capsys.readouterr().out
    assert picture.stat().st_size > 1000
    assert main(["predict", str(model), rows, "--what", "cured"]) == 0
    found = pd.read_csv(io.StringIO(capsys.readouterr().out))["cured"]
    expected = tg.fit(formula, data, family="weibull", cure="~ treated").predict_cured()
    np.testing.assert_allclose(found, expected, rtol=1e-9)
