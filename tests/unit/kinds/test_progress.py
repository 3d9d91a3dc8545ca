"""Progress bars."""

import re

import pytest

from tobitgp.errors import SpecError
from tobitgp.inference.fitted import Step
from tobitgp.kinds import progress
from tobitgp.kinds.progress import progress_bar


@pytest.fixture
def clock(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


def lines(capsys):
    return [text.strip() for text in re.split(r"[\r\n]+", capsys.readouterr().err) if text.strip()]


def test_a_bar_for_each_stage_after_the_first_second(clock, capsys):
    with progress_bar(True) as on_step:
        on_step(Step("search", 1, -9.0, 3, 300))
        assert lines(capsys) == []
        clock[0] = 10.0
        on_step(Step("search", 2, -8.5, 6, 300))
        (line,) = lines(capsys)[-1:]
        assert line.startswith("search: 2 evaluations")
        on_step(Step("run 1", 1, -123456.7891, 7, 1_000_000, 3))
        line = lines(capsys)[-1]
        assert re.match(r"run 1: +25%\|.*\| 1/4 ", line)
        assert "7 passes over 1,000,000 rows, log density -123456.789" in line
    assert lines(capsys) == []  # nothing stays


def test_one_bar_counts_models(clock, capsys):
    with progress_bar(True, "aic", "models", 2) as on_step:
        clock[0] = 2.0
        on_step(Step("linear", 1, 12.5))
        line = lines(capsys)[-1]
        assert re.match(r"linear: +50%\|.*\| 1/2 ", line)
        assert line.endswith("aic 12.500]")
        assert "passes" not in line


def test_callable_gets_stage_count_and_value():
    seen = []
    with progress_bar(lambda *step: seen.append(step)) as on_step:
        on_step(Step("run 1", 2, -1.5, 7, 100, 3))
    assert seen == [("run 1", 2, -1.5)]


def test_other_things_are_refused():
    with pytest.raises(SpecError, match="progress='yes'"), progress_bar("yes"):
        pass


def test_no_total_is_promised_once_the_usual_evaluations_are_done(clock, capsys):
    with progress_bar(True) as on_step:
        clock[0] = 10.0
        on_step(Step("run 1", 5, -8.5, 6, 1_000_000, 0))
        assert "%" not in lines(capsys)[-1]
