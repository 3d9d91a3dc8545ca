"""The command line: what it prints, writes and refuses."""

import pytest
from support.processes import printed_by

import tobitgp as tg
from tobitgp.cli import main

FORMULA = "y ~ gp(x) | censor(lower)"


@pytest.mark.slow
def test_fit_writes_a_report(table, tmp_path, capsys):
    assert main(["fit", FORMULA, str(table), "--report", str(tmp_path / "fit.html"), "--quiet"]) == 0
    assert f"Saved report to {tmp_path / 'fit.html'}" in capsys.readouterr().out
    assert "<h2>Diagnostics</h2>" in (tmp_path / "fit.html").read_text(encoding="utf-8")


def test_fit_prints_the_summary_of_the_same_fit(table, capsys):
    import pandas as pd

    assert main(["fit", FORMULA, str(table)]) == 0
    printed = capsys.readouterr().out.strip()
    assert printed == str(tg.fit(FORMULA, pd.read_csv(table)).summary()).strip()


def test_options_reach_the_fit(table, tmp_path, capsys):
    picture = tmp_path / "fit.png"
    options = ["--method", "laplace", "--hyper", "maximize", "--fixed", "sigma=0.4", "--inducing", "none"]
    assert main(["fit", FORMULA, str(table), *options, "--plot", str(picture)]) == 0
    printed = capsys.readouterr().out
    assert "laplace" in printed
    assert "0.4000" in printed
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_a_bound_reaches_the_fit(table, capsys):
    assert main(["fit", FORMULA, str(table), "--method", "vi", "--bound", "local", "--hyper", "maximize"]) == 0
    assert "sigma_lower" in capsys.readouterr().out


@pytest.mark.slow
def test_demo_fits_and_draws(tmp_path, capsys):
    picture = tmp_path / "demo.png"
    assert main(["demo", "--plot", str(picture)]) == 0
    assert "left-censored:" in capsys.readouterr().out
    assert picture.stat().st_size > 10_000


REFUSALS = {
    "no file": (["y ~ gp(x)", "missing.csv"], "There is no file"),
    "unknown column": (["y ~ gp(z)"], "'z'"),
    "broken formula": (["y ~ gp(x"], "^"),
    "code": (["y ~ gp(x.real)"], "^"),
    "bound of another method": ([FORMULA, "--method", "ep", "--bound", "local"], "--method ep does not use --bound"),
    "bad inducing": ([FORMULA, "--inducing", "some"], "--inducing some"),
    "bad fixed": ([FORMULA, "--fixed", "sigma"], "--fixed sigma"),
    "fixed twice": ([FORMULA, "--fixed", "sigma=1", "--fixed", "sigma=2"], "--fixed sigma=2: sigma is given twice"),
    "start twice": ([FORMULA, "--start", "sigma=1", "--start", "sigma=1"], "--start sigma=1: sigma is given twice"),
    "bad start": ([FORMULA, "--start", "sigma=x"], "--start sigma=x"),
    "unknown start": ([FORMULA, "--start", "sigmo=1"], "Did you mean 'sigma'"),
    "no folder for the fit": ([FORMULA, "--save", "nowhere/fit.tgp"], "--save nowhere/fit.tgp: there is no folder"),
    "a folder for the fit": ([FORMULA, "--save", "."], "--save .: this is a folder"),
    "unknown parameter": ([FORMULA, "--fixed", "sigmo=1"], "Did you mean 'sigma'"),
    "bad picture": ([FORMULA, "--plot", "fit.nonsense"], "--plot fit.nonsense"),
    "bad report": ([FORMULA, "--report", "fit.pdf"], "--report fit.pdf"),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_bad_input_is_one_clear_message_and_exit_code_2(case, table, capsys):
    (formula, *rest), words = REFUSALS[case]
    arguments = [formula, *rest] if rest and rest[0].endswith(".csv") else [formula, str(table), *rest]
    assert main(["fit", *arguments]) == 2
    error = capsys.readouterr().err
    assert error.startswith("tobitgp: ")
    assert words in error
    assert "Traceback" not in error


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00bad\x00", b"a,b\n1,2\n1,2,3,4\n"])
def test_what_is_no_table_is_refused(content, tmp_path, capsys):
    path = tmp_path / "broken.csv"
    path.write_bytes(content)
    assert main(["fit", FORMULA, str(path)]) == 2
    assert capsys.readouterr().err.startswith("tobitgp: ")


def test_unknown_commands_exit_with_2(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["fly"])
    assert stop.value.code == 2
    capsys.readouterr()


@pytest.mark.slow
def test_an_interrupt_ends_with_130(table, monkeypatch, capsys):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("tobitgp.cli.fit_command.read_data", interrupted)
    assert main(["fit", "y ~ x", str(table)]) == 130
    assert capsys.readouterr().err == "tobitgp: interrupted\n"


def test_module_is_the_command_line():
    assert "demo" in printed_by("-m", "tobitgp", "--help")


def test_maximum_likelihood(table, tmp_path, capsys):
    picture = tmp_path / "fit.png"
    options = ["--method", "mle", "--family", "logistic", "--cov-type", "HC0", "--plot", str(picture), "--quiet"]
    formula = FORMULA.replace("gp(x)", "x")
    assert main(["fit", formula, str(table), *options, "--sigma", "~ x"]) == 0
    shown = capsys.readouterr().out
    assert "Censored regression" in shown
    assert "log(sigma)[x]" in shown
    assert picture.stat().st_size > 1000
