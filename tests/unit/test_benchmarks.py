"""The benchmarks run: what they time is tested elsewhere."""

import pytest

from benchmarks import rates
from benchmarks.__main__ import main
from benchmarks.problems import PROBLEMS


def test_rates_are_reported(monkeypatch):
    monkeypatch.setattr(rates, "FEATURES", (5,))
    monkeypatch.setattr(rates, "_rate", lambda function, operations: (function(), 1.0)[1])
    assert "| 5 | 100% | 100% |" in rates.report()


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem.name)
def test_problems_are_told_once(problem):
    assert [other.name for other in PROBLEMS].count(problem.name) == 1


@pytest.mark.slow
def test_a_problem_is_run(capsys):
    main(["P1", "--peers", "tobitgp (mle)"])
    main(["P6", "--peers", "tobitgp (mle)"])
    assert "| P6 (5 seeds) | tobitgp (mle) |" in capsys.readouterr().out
