"""What ``check`` and the pictures of calibration say of fits that lack something."""

import pytest

import tobitgp as tg
from tobitgp.errors import ConvergenceWarning, SpecError


def test_check_says_that_a_fit_did_not_settle():
    rows = tg.datasets.load("lung").assign(event=0)
    with pytest.warns(ConvergenceWarning, match="no maximum"):
        res = tg.fit("Surv(time, event) ~ age", rows, family="weibull")
    table = res.check().table
    assert table.loc["convergence", "verdict"] == "bad"
    assert table.loc["leave-one-out", "words"].startswith("not available: The fit has not converged")
    assert {"calibration", "posterior"} <= set(table.index)


@pytest.mark.slow
def test_check_of_side_noises_looks_at_the_residuals():
    rows = tg.datasets.simulate_groot_lucas()
    res = tg.fit("y ~ gp(x) | censor(lower)", rows, method=tg.VI(bound="local", hyper="maximize"))
    table = res.check().table
    assert table.loc["posterior", "verdict"] == "doubtful"
    assert "censoring noises" in table.loc["posterior", "words"]
    assert "pattern in x" in table.index


@pytest.mark.parametrize("question", ["check", "plot_calibration", "plot_cox_snell", "plot_predictive_check"])
def test_without_rows_the_message_offers_nothing_that_there_is_not(tmp_path, question):
    tg.fit("durable ~ age | censor(0)", tg.datasets.load("tobin")).save(tmp_path / "fit.tgp")
    with pytest.raises(SpecError, match=rf"holds no training rows .*{question}\(\) requires them"):
        getattr(tg.load(tmp_path / "fit.tgp"), question)()
