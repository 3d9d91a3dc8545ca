"""The benchmarks run: what they time is tested elsewhere."""

import json
import re
import runpy
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from support.rivers import normalise

import benchmarks
from benchmarks import (
    batches,
    choices,
    cluster,
    commands,
    flow,
    growth,
    intervals,
    levels,
    metrics,
    rates,
    scores,
    uneven,
    worker,
)
from benchmarks.__main__ import main
from benchmarks.aims import __main__ as aims
from benchmarks.aims.clocks import Clock, Measured, of_code
from benchmarks.aims.draws import AIMED
from benchmarks.aims.table import AIMS
from benchmarks.aims.table import PROBLEMS as AIMED_AT
from benchmarks.axes import AXES, GROWTH
from benchmarks.mixtures import __main__ as mixtures
from benchmarks.mixtures import speed
from benchmarks.neutral import __main__ as neutral
from benchmarks.peers import PEERS
from benchmarks.peers import mixtures as normals
from benchmarks.problems import PROBLEMS, matern32, surface
from benchmarks.processes import Outcome

README = Path(benchmarks.__file__).with_name("README.md").read_text()
COMMANDS = sorted(set(re.findall(r"^\| (?:`make bench` or )?`python -m (benchmarks[.\w]*)`", README, re.M)))


@pytest.mark.filterwarnings("ignore:.*found in sys.modules:RuntimeWarning")
@pytest.mark.parametrize("command", COMMANDS)
def test_commands_of_the_readme_show_their_help_and_name_wrong_arguments(command, monkeypatch, capsys):
    def run(argument):
        monkeypatch.setattr(sys, "argv", [command, argument])
        with pytest.raises(SystemExit) as end:
            runpy.run_module(command, run_name="__main__")
        return end.value.code, *capsys.readouterr()

    code, shown, errors = run("--help")
    assert (code, errors) == (0, "")
    assert shown.startswith(f"usage: python -m {command} ")
    assert f"``python -m {command}" in shown
    code, shown, errors = run("nonsense")
    assert (code, shown) == (2, "")
    assert "nonsense" in errors.splitlines()[-1]


def test_the_readme_has_the_commands():
    assert len(COMMANDS) == 14


def test_numbers_of_rows_are_read(capsys):
    assert commands.rows_given("benchmarks.cluster", "", 500, []) == 500
    assert commands.rows_given("benchmarks.cluster", "", 500, ["2e4"]) == 20_000
    for wrong in ("99", "nan", "inf", "-1000", "many"):
        with pytest.raises(SystemExit):
            commands.rows_given("benchmarks.cluster", "", 500, ["--", wrong])
        assert f"{wrong}: must be a number of at least 100" in capsys.readouterr().err


def test_rates_are_reported(monkeypatch):
    monkeypatch.setattr(rates, "FEATURES", (5,))
    monkeypatch.setattr(rates, "_rate", lambda function, operations: (function(), 1.0)[1])
    assert "| 5 | 100% | 100% |" in rates.report()


@pytest.mark.parametrize("problem", [*PROBLEMS, *GROWTH, *AIMED], ids=lambda problem: problem.name)
def test_problems_are_told_once(problem):
    assert [other.name for other in [*PROBLEMS, *GROWTH, *AIMED]].count(problem.name) == 1
    assert any(peer.name.startswith("tobitgp") and problem.name in peer.problems.split() for peer in PEERS)


@pytest.mark.parametrize("axis", [axis for axis in AXES.values() if axis.name != "groups"], ids=lambda axis: axis.name)
def test_axes_are_drawn(axis):
    for size in axis.sizes[:4]:
        draw = axis.draw(size)(3)
        left, right = (np.mean(draw.status == side) for side in (-1, 1))
        assert 0.1 < right < 0.5 if axis.name == "components" else left == pytest.approx(0.4, abs=0.01)
        assert len(draw.truth) == len(draw.test)
        assert {"terms": draw.formula.count("gp("), "components": size}.get(axis.name, len(draw.inputs)) == (
            2 if axis.name == "rows" else size
        )


def test_groups_all_have_rows():
    axis = AXES["groups"]
    draw = axis.draw(axis.sizes[-1])(0)
    assert draw.train["g"].nunique() == axis.sizes[-1]


def test_components_are_scored_by_the_density_of_new_responses():
    draw = AXES["components"].draw(2)(0)
    known = -np.log(0.5 * (norm.pdf(draw.truth) + norm.pdf(draw.truth, 6.0))).mean()
    ours, theirs = (
        scores.scores(*fit(draw)[:3], draw.truth)["mnll"] for fit in (normals.tobitgp, normals.censored_rows_dropped)
    )
    assert known < ours < known + 0.02 < theirs


def test_the_figure_of_growth_has_the_axes_of_the_table(tmp_path, monkeypatch):
    drawn = []
    monkeypatch.setattr(plt, "close", drawn.append)
    sizes = pd.DataFrame({"axis": "columns", "program": "tobitgp", "size": [1, 10], "cpu": [1.0, 2.0], "peak": 100.0})
    growth.draw(sizes, tmp_path / "growth.png")
    monkeypatch.undo()
    (figure,) = drawn
    assert [ax.get_xlabel() for ax in figure.axes if ax.get_visible()] == 2 * [AXES["columns"].label]
    plt.close(figure)


def test_tables_of_survival_models_name_the_methods_that_they_require(tmp_path, capsys):
    files = ["--scores", str(tmp_path / "folds.csv"), "--out", str(tmp_path / "means.csv")]
    with pytest.raises(SystemExit) as end:
        neutral.main(["rossi", "--methods", "Kaplan-Meier", "--folds", "1", *files])
    assert end.value.code == 0
    assert "has no rows of lifelines Cox" in capsys.readouterr().err


@pytest.mark.slow
def test_growth_keeps_what_it_did_not_measure(tmp_path, monkeypatch):
    monkeypatch.setattr(growth, "PROGRAMS", ("tobitgp", "scikit-learn"))
    monkeypatch.setattr(growth, "run", lambda *_: Outcome([dict.fromkeys(growth.FIGURES, 1.0)]))
    pd.DataFrame(
        {"axis": ["rows", "components"], "program": "tobitgp", "size": [7, 3], **dict.fromkeys(growth.FIGURES, 5.0)}
    ).to_csv(tmp_path / "growth.csv", index=False)
    growth.main(["components", "--out", str(tmp_path)])
    table = pd.read_csv(tmp_path / "growth.csv")
    assert table[table["cpu"] == 5.0]["size"].tolist() == [7]
    sizes = list(AXES["components"].sizes)
    assert table[table["axis"] == "components"].groupby("program")["size"].apply(list).to_dict() == {
        "scikit-learn": sizes,
        "tobitgp": sizes,
    }
    assert table.loc[table["axis"] == "components", "rmse"].isna().all()
    assert (tmp_path / "growth.png").exists()


@pytest.mark.slow
def test_aims_are_measured_and_printed(capsys, monkeypatch):
    monkeypatch.setattr(aims, "AIMS", [aim for aim in AIMS if aim.name == "late"])
    aims.main([])
    cells = [cell.strip() for cell in capsys.readouterr().out.splitlines()[-1].split("|")[1:-1]]
    assert cells[:3] == ["gengamma, late entry, 26 rows", "4 to 14 s", "0.1 s"]
    assert float(cells[3].split(" ")[0]) > 0.0
    assert "log likelihood" in cells[5]
    with pytest.raises(SystemExit):
        aims.main(["P9"])
    assert "P9: must be among late" in capsys.readouterr().err


def test_times_of_aims_are_written_with_what_they_are_relative_to():
    first, problem = AIMS[0], "| P1: curve, 30 rows | 20 ms | 6 ms |"
    assert aims.row(first, Measured(Clock(0.0123, 12.3), 200.4, "RMSE 0.5", 2.04)) == (
        f"{problem} 0.012 (x 2.0) | 12 | RMSE 0.5 | 200 |"
    )
    assert aims.figures(168.2) == "168"
    assert aims.row(first, Measured(None, accuracy="over 600 s")) == f"{problem}  |  | over 600 s |  |"


@pytest.mark.slow
def test_choices_are_compared_with_their_defaults(capsys, monkeypatch):
    monkeypatch.setattr(choices, "clock", lambda call: (call(), Clock(1.0, 1.0))[1])
    choices.main(60)
    rows = [line.split(" | ") for line in capsys.readouterr().out.splitlines()[2:]]
    assert {row[3].strip(" |") for row in rows} == {"1"}
    assert len(rows) == len(choices.fits(60))


def test_code_is_clocked_in_a_new_process():
    found = of_code("import time", "time.sleep(0.1)", repeats=1)
    assert found.clock.cpu < 0.1 <= found.clock.wall
    assert found.peak > 5.0


def test_aims_name_problems():
    assert {name for name, *_ in AIMED_AT} <= {problem.name for problem in [*PROBLEMS, *GROWTH, *AIMED]}


@pytest.mark.slow
def test_batches_are_compared_with_all_rows(tmp_path):
    draw = surface(4000)(1)
    draw.train.to_parquet(tmp_path / "0.parquet", index=False)
    full, some = (batches.fit(str(tmp_path), draw.formula, settings) for settings in ({}, {"batch": 200}))
    assert min(some) < 0.0 < some[0]
    assert full[-1] == pytest.approx(some[-1], abs=0.4)


def simulated_cost(waits, seconds):
    """A fit of 1000 rows with so many rounds, which take so many seconds of one worker together."""
    rounds = {"visit": cluster.Round(waits=True, calls=waits, received=[100] * waits * cluster.PARTS, cpu=seconds)}
    return cluster.Cost(1000, rounds, caller=3.0, task=0.0, held=0.0, features=1, share=0.0)


def test_a_cluster_without_trouble_takes_its_share_and_the_time_of_the_caller():
    cost, rng = simulated_cost(waits=7, seconds=5.0), np.random.default_rng(0)
    there = cluster.simulate(cost, 10_000, 4, rng, slow=False, lost=False)
    sent = 7 * 100 * 4 * cluster.PARTS / cluster.NETWORK
    assert there == pytest.approx(3.0 + 5.0 * 10 / 4 + sent, rel=1e-12)


def test_slow_and_lost_workers_cost_what_their_chances_say(monkeypatch):
    """Of two workers: the rounds last as long as the slower one, and a lost one is replaced by the other."""
    cost, rng, draws = simulated_cost(waits=1, seconds=2.0), np.random.default_rng(1), 20_000
    monkeypatch.setattr(cluster, "PAUSE", 0.0)
    monkeypatch.setattr(cluster, "SLOW", 0.3)
    slow = [cluster.simulate(cost, 1000, 2, rng, slow=True, lost=False) for _ in range(draws)]
    assert np.mean(slow) == pytest.approx(3.0 + 1.0 + (1.0 - 0.7**2), abs=0.02)
    monkeypatch.setattr(cluster, "LIFE", 20.0)
    lost = [cluster.simulate(cost, 1000, 2, rng, slow=False, lost=True) for _ in range(draws)]
    assert np.mean(lost) == pytest.approx(4.0 + 2 * 4.0 / 20.0 * (cluster.RESTART + 1.0), rel=0.03)


def test_rough_curves_have_their_covariance():
    x, lengthscale = np.array([0.3, 0.1, 0.11, 0.1, 0.9, 0.32]), 0.2
    L = np.column_stack([matern32(x, lengthscale, e.reshape(-1, 2)) for e in np.eye(2 * len(x))])
    r = np.sqrt(3) / lengthscale * np.abs(x[:, None] - x)
    np.testing.assert_allclose(L @ L.T, (1 + r) * np.exp(-r), atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(("peer", "problem"), [("tobitgp (ep, maximum)", "P1"), ("tobitgp (mle)", "P6")])
def test_own_fits_are_scored(capsys, peer, problem):
    worker.main(peer, problem)
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert len(lines) == next(p for p in PROBLEMS if p.name == problem).seeds
    assert sum(line["cover"] for line in lines) > 0.8 * len(lines)


def test_tables_of_mixtures_are_shown_and_kept(capsys, tmp_path):
    mixtures.main(["passes", "--rows", "2000", "--repeats", "1", "--out", str(tmp_path)])
    assert "| 1 | tobitgp, no censoring |" in capsys.readouterr().out
    columns, *rows = (tmp_path / "passes.csv").read_text().splitlines()
    assert columns.startswith("BLAS threads,a pass over,CPU s")
    assert len(rows) in (3, 6)


def test_metrics_are_timed_and_agree(capsys, tmp_path):
    metrics.main(["--rows", "300", "--repeats", "1", "--out", str(tmp_path)])
    assert "| 300 | concordance_index | tobitgp |" in capsys.readouterr().out
    rows = pd.read_csv(tmp_path / "metrics.csv")
    assert rows["apart"].max() < 1e-12


def test_models_of_intervals_are_judged_on_the_same_folds(capsys, tmp_path):
    intervals.main(["diabetes", "--folds", "2", "--out", str(tmp_path)])
    assert "| tobitgp mixture, lognormal |" in capsys.readouterr().out
    rows = pd.read_csv(tmp_path / "intervals.csv", index_col="model")
    ours, theirs = (rows.loc[name, "log density"] for name in ("tobitgp linear, weibull", intervals.REFERENCE))
    assert ours == theirs
    assert "731 rows, 19% interval-censored" in rows["data"].iloc[0]
    with pytest.raises(SystemExit):
        intervals.main(["veteran"])
    assert "veteran: must be among nh4, diabetes" in capsys.readouterr().err


@pytest.mark.parametrize("problem", intervals.PROBLEMS, ids=lambda problem: problem.name)
def test_sets_of_intervals_are_read_whole(problem):
    frame = problem.frame()
    lower, upper = problem.bounds(frame)
    assert frame.notna().all(axis=None)
    assert (lower <= upper).all()
    assert len(frame) == {"nh4": 102, "diabetes": 731}[problem.name]
    assert len(list(intervals.candidates(problem))) == 4


def test_survival_models_are_judged_on_the_same_rows():
    (problem,) = (problem for problem in neutral.PROBLEMS if problem.name == "rossi")
    names = {"Kaplan-Meier", "lifelines Cox", "lifelines Weibull AFT", "tobitgp weibull, lines"}
    found = {m.name: neutral.measured(problem, m, 0) for m in neutral.methods() if m.name in names}
    assert found["tobitgp weibull, lines"]["log_loss"] == pytest.approx(
        found["lifelines Weibull AFT"]["log_loss"], abs=1e-5
    )
    assert found["lifelines Cox"]["log_loss"] < found["Kaplan-Meier"]["log_loss"]
    assert found["lifelines Cox"]["concordance"] > found["Kaplan-Meier"]["concordance"] == 0.5


@pytest.mark.slow
def test_whole_fits_reach_the_same_density():
    densities = [float(row["log density of new rows"]) for row in speed.fits(5000, 1)]
    assert max(densities) - min(densities) < 0.02


def test_unknown_tables_of_mixtures_are_refused(capsys):
    with pytest.raises(SystemExit):
        mixtures.main(["passes", "fit"])
    assert f"fit: must be among {', '.join(mixtures.TABLES)}" in capsys.readouterr().err


@pytest.mark.slow
def test_a_problem_is_run(capsys):
    main(["P1", "--peers", "tobitgp (mle)"])
    main(["P6", "--peers", "tobitgp (mle)"])
    assert "| P6 (5 seeds) | tobitgp (mle) |" in capsys.readouterr().out


def test_flow_normalised_truth_is_that_of_the_definition():
    rng = np.random.default_rng(2)
    daily, f = flow.draw_daily(rng).head(900), flow.draw_surface(rng)
    known = normalise(daily, lambda t, log_q: np.exp(f(t, log_q) + flow.SIGMA**2 / 2))
    np.testing.assert_allclose(flow.truth(daily, f), known, rtol=1e-12)


@pytest.mark.slow
def test_a_simulated_river_is_scored():
    table = flow.simulate(0)
    assert len(table) == 20
    assert (np.abs(table["flow_normalised"] / table["truth"] - 1) < 0.1).all()


@pytest.mark.slow
def test_levels_are_timed(capsys):
    levels.main(["--fixed", "120", "--random", "200", "--rows", "2000"])
    name, size, rows, seconds, memory, slope = (cell.strip() for cell in capsys.readouterr().out.split("|")[1:-1])
    assert (name, size, rows) == ("tobitgp", "120 + 200", "2000")
    assert float(seconds) > 0.0
    assert float(memory) > 0.0
    estimate, error = map(float, slope.rstrip(")").split(" ("))
    assert abs(estimate - levels.SLOPE) < 4.0 * error


def test_uneven_sets():
    every = list(uneven.sets())
    assert len({each.name for each in every}) == len(every) >= 40
    frames = [uneven.draw(each) for each in every]
    assert all(np.isfinite(frame.to_numpy(dtype=float)).all() for frame, _ in frames)
    (small,) = (each for each in every if each.name == "three rows far out")
    row = uneven.run(small, default_only=True)
    _, off = uneven.switched_off(*uneven.draw(small))
    assert row["value"] > off + 10.0
