"""Mixtures on the command line."""

import io
from contextlib import redirect_stdout

import numpy as np
import pandas as pd
import pytest

import tobitgp as tg
from tobitgp.cli import main

FORMULA = "Surv(time, event) ~ mixture(2)"


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "lung.csv"
    tg.datasets.load("lung").to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder, out = tmp_path_factory.mktemp("saved"), io.StringIO()
    table, path = folder / "lung.csv", folder / "two.tgp"
    tg.datasets.load("lung").to_csv(table, index=False)
    words = ["fit", FORMULA, str(table), "--family", "weibull", "--method", "vbcm", "--save", str(path)]
    with redirect_stdout(out):
        assert main([*words, "--plot", str(folder / "two.png"), "--quiet"]) == 0
    assert "Weibull mixture survival model" in out.getvalue()
    assert "shape[2]" in out.getvalue()
    assert (folder / "two.png").read_bytes().startswith(b"\x89PNG")
    return path


@pytest.fixture(scope="module")
def res():
    return tg.fit(FORMULA, tg.datasets.load("lung"), family="weibull")


@pytest.mark.parametrize(
    ("words", "options"),
    [
        ([], {}),
        (["--what", "component"], {"what": "component"}),
        (["--what", "conditional", "--se"], {"what": "conditional", "se": True}),
        (["--what", "prob", "--above", "365", "--interval", "0.9"], {"what": "prob", "above": 365.0, "interval": 0.9}),
    ],
)
def test_predictions_are_those_of_the_fit(words, options, saved, table, res, capsys):
    assert main(["predict", str(saved), str(table), *words]) == 0
    written = pd.read_csv(io.StringIO(capsys.readouterr().out))
    expected = res.predict(pd.read_csv(table), **options)
    frame = expected.to_frame() if isinstance(expected, pd.Series) else expected
    assert list(written.columns) == list(map(str, frame.columns))
    np.testing.assert_allclose(written, frame, rtol=1e-10)


def test_saved_mixtures_are_compared(saved, table, tmp_path, capsys):
    one = tmp_path / "one.tgp"
    assert (
        main(["fit", FORMULA.replace("2", "1"), str(table), "--family", "weibull", "--save", str(one), "--quiet"]) == 0
    )
    capsys.readouterr()
    assert main(["compare", str(saved), str(one)]) == 0
    rows = capsys.readouterr().out.splitlines()
    assert rows[1].startswith("one")
    assert rows[2].startswith("two")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["y ~ mixture(0)"], "whole number of at least 1"),
        (["time ~ mixture(2) + age"], "write mixture(2, age)"),
        (["time ~ mixture(2)", "--hyper", "maximize"], "does not fit mixtures"),
        (["time ~ mixture(2)", "--family", "student"], "not supported for mixtures"),
        (["time ~ age", "--method", "em"], "Write y ~ mixture(2)"),
        (["time ~ age", "--family", "poisson"], "Write y ~ mixture(1)"),
    ],
)
def test_bad_input_is_one_line(words, message, table, capsys):
    assert main(["fit", words[0], str(table), *words[1:], "--quiet"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("tobitgp: ")
    assert message in error


def test_questions_a_mixture_does_not_answer(saved, table, capsys):
    assert main(["predict", str(saved), str(table), "--what", "latent"]) == 2
    assert "not supported for a mixture" in capsys.readouterr().err
