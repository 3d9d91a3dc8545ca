"""Default fits beside long runs of the No-U-Turn sampler, hyper-parameters averaged over by both."""

import json

import pytest

from benchmarks.posteriors import PROBLEMS, REFERENCE, compare

pytestmark = pytest.mark.study
LONG = json.loads(REFERENCE.read_text())


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem.name)
def test_posterior(problem):
    long = LONG[problem.name]
    assert long["rhat"] < 1.01
    assert min(long["ess_bulk"], long["ess_tail"]) > 1000.0
    table = compare(problem, long).set_index("quantity")
    f, parameters = table.loc["f"], table.loc[list(problem.priors)]
    assert f["error"] < 0.12
    assert 0.83 < f["least_sd"] < f["most_sd"] < 1.06
    assert 0.935 < f["held_95"] < 0.955
    assert f["least_95"] > 0.92
    assert 0.45 < f["held_50"] < 0.52  # the exact posterior is skew where most rows are censored
    assert parameters["held_95"].between(0.925, 0.97).all()
    assert parameters["held_50"].between(0.45, 0.55).all()
