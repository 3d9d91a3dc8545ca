"""The progress line."""

import re

import pytest

from tobitgp.errors import SpecError
from tobitgp.inference.search_settings import Step
from tobitgp.kinds import progress
from tobitgp.kinds.progress import progress_bar


@pytest.fixture
def clock(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


def test_line_says_where_a_long_fit_is(clock, capsys):
    with progress_bar(True) as on_step:
        on_step(Step("search", 1, -9.0, 3, 300))
        assert capsys.readouterr().err == ""  # a short fit says nothing
        clock[0] = 10.0
        on_step(Step("search", 2, -8.5, 6, 300))
        clock[0] = 20.0
        on_step(Step("run 1", 1, -123456.7891, 7, 1_000_000, 3))
    lines = re.findall(r"\r([^\r]+)", capsys.readouterr().err)
    assert lines[0] == "search: 2 evaluations, 6 passes over 300 rows, log density -8.500, 10 s"
    want = "run 1: 1 evaluations, 7 passes over 1,000,000 rows, log density -123456.789, 20 s, about 30 s left"
    assert lines[1].rstrip() == want
    assert lines[-1].strip() == ""


def test_callable_gets_stage_count_and_value():
    seen = []
    with progress_bar(lambda *step: seen.append(step)) as on_step:
        on_step(Step("run 1", 2, -1.5, 7, 100, 3))
    assert seen == [("run 1", 2, -1.5)]


def test_other_things_are_refused():
    with pytest.raises(SpecError, match="progress='yes'"), progress_bar("yes"):
        pass


def test_no_time_left_is_promised_once_the_usual_evaluations_are_done(clock, capsys):
    with progress_bar(True) as on_step:
        clock[0] = 10.0
        on_step(Step("run 1", 5, -8.5, 6, 1_000_000, 0))
    assert "left" not in capsys.readouterr().err
