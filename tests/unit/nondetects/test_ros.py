"""Regression on order statistics beside NADA, and the quick form of it beside statsmodels."""

import numpy as np
import pytest

import tobitgp as tg
from tobitgp.errors import DataError, SpecError
from tobitgp.nondetects.ros import ros_means, ros_of
from tobitgp.nondetects.sample import read_values


def test_everything_of_nada(case):
    reference, y, censored = case
    found, of_r = tg.nondetects.ros(y, censored), reference["ros"]
    np.testing.assert_allclose(np.sort(found.values), of_r["values_sorted"], rtol=1e-12)
    np.testing.assert_allclose(found.quantile(of_r["probs"]), of_r["quantiles_type7"], rtol=1e-12)
    ours = [found.mean, found.sd, found.intercept, found.slope]
    np.testing.assert_allclose(ours, [of_r[k] for k in ("mean", "sd", "ols_intercept", "ols_slope")], rtol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_means_of_many_samples_at_once(case, seed):
    _, y, censored = case
    sample = read_values(y, censored)
    rows = np.random.default_rng(seed).integers(len(sample), size=(12, len(sample)))
    rows = [r for r in rows if len(np.unique(sample.values[r][~sample.censored[r]])) > 1]
    slow = [ros_of(read_values(sample.values[r], sample.censored[r]), force=True).mean for r in rows]
    np.testing.assert_allclose(ros_means(sample.values, sample.censored, np.array(rows)), slow, rtol=1e-12)


def test_nondetects_above_the_largest_detect_are_left_out_and_counted():
    with pytest.warns(UserWarning, match="2 non-detects above the largest detect are left out"):
        found = tg.nondetects.ros(["1", "2", "<1.5", "4", "<9", "<5"])
    assert found.dropped == 2
    assert len(found.values) == 4
    assert "2 non-detects above the largest detect are left out." in str(found)
    assert found.summary_frame().loc["y", "dropped"] == 2


def test_a_complete_sample_is_left_as_it_is():
    found = tg.nondetects.ros([1.0, 4.0, 2.0, 8.0])
    assert found.mean == 3.75
    assert found.positions.tolist() == [0.2, 0.4, 0.6, 0.8]
    assert found.correlation == pytest.approx(0.99957, abs=1e-5)


def test_what_it_refuses():
    most = ["<1"] * 9 + ["2", "3"]
    with pytest.raises(DataError, match=r"82% of 'y' are non-detects.*force=True"):
        tg.nondetects.ros(most)
    assert len(tg.nondetects.ros(most, force=True).values) == 11
    with pytest.raises(DataError, match=r"positive values and limits, but 'y' is 0 or below in rows 0, 2\."):
        tg.nondetects.ros([0.0, 1.0, -1.0, 2.0, 3.0], [1, 0, 0, 0, 0])
    with pytest.raises(DataError, match=r"one distinct detected value.*that 2 non-detects lie below 2.*between 0.0676"):
        tg.nondetects.ros(["<1", "3", "3", "<2"])
    with pytest.raises(
        DataError, match=r"no detected value in 2 rows.*a share of 1 lies below, between 0.158 and 1 with"
    ):
        tg.nondetects.ros(["<1", "<2"])
    with pytest.raises(SpecError, match="right-censored"):
        tg.nondetects.ros(["1", "2", ">3"])
