"""Ranking mixtures."""

import numpy as np
import pytest

import tobitgp as tg
from tobitgp.errors import SpecError


@pytest.fixture
def data(rng):
    y = np.concatenate([rng.normal(-3.0, 1.0, 50), rng.normal(3.0, 1.0, 50)])
    return {"y": y.clip(max=4.0), "x": rng.normal(size=100)}


@pytest.mark.slow
def test_a_range_is_one_model_for_each_number(data):
    found = tg.select("y ~ mixture(range(1, 4)) | censor(upper=4)", data)
    one = tg.fit("y ~ mixture(range(1, 4)) | censor(upper=4)", data)
    assert sorted(found.results) == ["mixture(1)", "mixture(2)", "mixture(3)"]
    assert found.best.n_components == one.n_components == 2
    np.testing.assert_allclose(found.table["value"].to_numpy(), one.selection["value"].to_numpy())
    assert found.table["kind"].eq("elbo").all()


@pytest.mark.slow
def test_ranges_beside_other_arguments(data):
    found = tg.select({"method": ["vbcm", "svbcm"]}, data, formula="y ~ mixture(range(1, 3)) | censor(upper=4)")
    assert sorted(found.results) == [f"method={m}: mixture({k})" for m in ("svbcm", "vbcm") for k in (1, 2)]


@pytest.mark.slow
def test_likelihood_ranks_mixtures_beside_regressions(data):
    found = tg.select(["y ~ mixture(1)", "y ~ mixture(2)", "y ~ 1", "y ~ x"], data, by="bic")
    assert found.results["y ~ mixture(2)"].method == "em"
    assert found.results["y ~ x"].method == "mle"
    assert found.best.formula == "y ~ mixture(2)"
    np.testing.assert_allclose(found.table.loc["y ~ mixture(1)", "value"], found.table.loc["y ~ 1", "value"], rtol=1e-6)


def test_methods_and_criteria_must_go_together(data):
    with pytest.raises(SpecError, match="'em'"):
        tg.select(["y ~ mixture(1)"], data, by="aic", method="vbcm")
    with pytest.raises(SpecError, match="'em'"):
        tg.select(["y ~ mixture(1)"], data, method="em")
    with pytest.raises(SpecError, match="does not fit mixtures"):
        tg.select(["y ~ mixture(1)"], data, method="ep")
    with pytest.raises(SpecError, match="list or dict"):
        tg.select("y ~ mixture(2)", data)


def test_a_number_too_large_fails_alone(data):
    few = {"y": data["y"][:2]}
    with pytest.warns(UserWarning, match=r"'mixture\(3\)' failed"):
        found = tg.select("y ~ mixture(range(1, 4))", few)
    assert np.isnan(found.table.loc["mixture(3)", "value"])


def test_evidence_of_mixtures_and_processes_by_the_bound(data):
    mixture = tg.fit("y ~ mixture(1) | censor(upper=4)", data)
    process = tg.fit("y ~ 1 | censor(upper=4)", data, method="ep")
    with pytest.warns(UserWarning, match="linear columns differ"):
        table = tg.compare({"mixture": mixture, "process": process}, by="elbo")
    np.testing.assert_allclose(table.loc["mixture", "value"], mixture.elbo)
    with pytest.raises(SpecError, match="evidence of one kind"):
        tg.compare({"mixture": mixture, "process": process})
