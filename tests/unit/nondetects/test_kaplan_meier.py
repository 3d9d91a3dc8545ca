"""Moments and quantiles of the Kaplan-Meier estimate beside NADA, EnvStats, lifelines and the definition."""

import numpy as np
import pytest

from tobitgp.errors import DataError, SpecError
from tobitgp.nondetects.means import kaplan_meier_of, km_means
from tobitgp.nondetects.sample import read_values


def test_moments_and_limits_of_r(case):
    reference, y, censored = case
    sample, of_r = read_values(y, censored), reference["km"]
    assert (len(sample), sample.censored.sum()) == (reference["n"], reference["n_censored"])
    efron, r = kaplan_meier_of(sample), kaplan_meier_of(sample, "smallest_detect")
    found = [efron.mean, efron.sd, efron.mass_below]
    wanted = [of_r["mean_efron"], of_r["sd_efron"], of_r["mass_below_smallest_detect"]]
    np.testing.assert_allclose(found, wanted, rtol=1e-12)
    found = [r.mean, r.sd, r.se, r.t_limit(0.95), r.t_limit(0.025), r.t_limit(0.975)]
    wanted = [of_r["mean"], of_r["sd"], of_r["se_mean"], of_r["ucl95_t"], *of_r["ci95_t"]]
    np.testing.assert_allclose(found, wanted, rtol=1e-12)
    nada = of_r["nada_mean"]
    limits = [r.mean - 1.959963984540054 * r.se, r.mean + 1.959963984540054 * r.se]
    np.testing.assert_allclose(
        [r.mean, r.se, *limits], [nada[k] for k in ("mean", "se", "0.95LCL", "0.95UCL")], rtol=1e-12
    )


def test_the_standard_error_of_efrons_tail(columns):
    pyrene = columns["she_pyrene"]
    assert kaplan_meier_of(read_values(pyrene["pyrene"], pyrene["censored"])).se == pytest.approx(52.6494, abs=5e-5)


def test_quantiles_of_nada(case):
    reference, y, censored = case
    found = kaplan_meier_of(read_values(y, censored))
    ours = [found.quantile(p) for p in reference["km"]["nada_quantile_probs"]]
    wanted = [np.nan if q is None else q for q in reference["km"]["nada_quantiles"]]
    np.testing.assert_array_equal(ours, wanted)


def test_the_distribution_function_of_lifelines(case):
    lifelines = pytest.importorskip("lifelines")
    _, y, censored = case
    found = kaplan_meier_of(read_values(y, censored))
    fitter = lifelines.KaplanMeierFitter().fit_left_censoring(y, 1 - np.asarray(censored))
    np.testing.assert_allclose(found.cdf, fitter.cumulative_density_at_times(found.values), rtol=1e-12)


def test_a_nondetect_at_the_value_of_a_detect_counts_as_below_it():
    found = kaplan_meier_of(read_values(["<2", "2", "3"]))
    np.testing.assert_allclose(found.cdf, [2 / 3, 1.0])
    assert found.mass_below == pytest.approx(1 / 3)
    assert np.isnan(found.quantile(1 / 3))
    assert found.quantile(0.34) == 2.0
    assert found.smallest == 2.0


def test_bounds_of_the_mean():
    sample = read_values(["<1", "2", "3"])
    found = kaplan_meier_of(sample, "bounds")
    assert np.isnan(found.mean)
    np.testing.assert_allclose(found.bounds, [5 / 3, 7 / 3])
    assert kaplan_meier_of(sample).mean == pytest.approx(2.0)
    with pytest.raises(DataError, match="'y' is 0 or below in row "):
        kaplan_meier_of(read_values([-1.0, 2.0, 3.0], [1, 0, 0]), "bounds")


@pytest.mark.parametrize("tail", ["efron", "smallest_detect"])
def test_means_of_many_samples_at_once(case, tail):
    _, y, censored = case
    sample = read_values(y, censored)
    rows = np.random.default_rng(1).integers(len(sample), size=(20, len(sample)))
    rows = rows[(~sample.censored[rows]).any(axis=1)]
    one_by_one = [kaplan_meier_of(read_values(sample.values[r], sample.censored[r]), tail).mean for r in rows]
    np.testing.assert_allclose(km_means(sample.values, sample.censored, rows, tail), one_by_one, rtol=1e-13)


def test_what_it_cannot_use():
    with pytest.raises(SpecError, match="km_tail='zero': must be one of 'efron', 'smallest_detect', 'bounds'"):
        kaplan_meier_of(read_values(["<1", "2"]), "zero")
    with pytest.raises(SpecError, match="right-censored"):
        kaplan_meier_of(read_values(["<1", "2", ">3"]))
