"""What Kohjima et al. (2019) show of VBCM, on data sets of our own, with the standard errors that go with them."""

import numpy as np
import pandas as pd
import pytest
from support.vignettes import FOLDER, module_of

experiments = module_of("kohjima-vbcm", "experiments")
bounds, mean_and_error = experiments.bounds, experiments.mean_and_error
survival_scores, synthetic_scores = experiments.survival_scores, experiments.synthetic_scores
GMM, EMM, PMM = experiments.TRUTHS
truths = pytest.mark.parametrize("truth", experiments.TRUTHS, ids=lambda truth: truth.name)


def clearly(values, errors=2.0):
    """Mean of replicates at least some standard errors above 0."""
    mean, error = mean_and_error(values)
    return mean > errors * error


def not_clearly_below(values, errors=2.5):
    mean, error = mean_and_error(values)
    return mean > -errors * error


@pytest.mark.study
@truths
def test_the_bound_peaks_at_two_components(truth):
    assert (bounds(truth, 10, largest=3).argmax(axis=1) == 1).sum() >= 9


@pytest.mark.slow
def test_vbcm_is_ahead_of_em_on_few_gaussian_rows():
    assert clearly(synthetic_scores(GMM, 25, 2, 20, ("EMCM", "VBCM")).difference("VBCM", "EMCM"))


@pytest.mark.slow
def test_the_true_distribution_is_the_best():
    found = synthetic_scores(PMM, 100, 2, 10, ("EMCM", "VBCM"))
    for method in ("EMCM", "VBCM"):
        assert clearly(found.truth - found.methods[method])


@pytest.mark.parametrize("name", experiments.SURVIVAL)
def test_folds_are_apart_and_cover_the_rows(name):
    rows = experiments.survival(name)
    pairs = list(experiments.folds(rows, 0.5))
    assert sum(len(test[0]) for _, test in pairs) == len(rows[0])
    assert {len(train[0]) for train, _ in pairs} <= {round(0.4 * len(rows[0])) + i for i in (-1, 0, 1)}
    for once, again in zip(pairs, experiments.folds(rows, 0.5), strict=True):
        np.testing.assert_array_equal(once[0][0], again[0][0])


@pytest.mark.slow
def test_vb_pulls_components_to_the_origin():
    """Columns and counts of the table that the vignette shows, and what it shows."""
    index = ["n", "method", "parameter"]
    made = pd.DataFrame(module_of("kohjima-vbcm", "run").components(4)).set_index(index)
    kept = pd.read_csv(FOLDER / "kohjima-vbcm" / "components.csv", index_col=index)
    assert list(made.columns) == list(kept.columns)
    assert (made.index == kept.index).all()
    for frame in (made, kept):
        assert (frame.loc[(400, "VB"), "mean"].abs() < frame.loc[(400, "VB"), "truth"].abs()).all()


@pytest.mark.study
@truths
def test_the_bound_peaks_at_two_of_six_components(truth):
    found = bounds(truth, 10)
    assert (found.argmax(axis=1) == 1).sum() >= 9
    assert (np.diff(found.mean(axis=0)[1:]) < 0.0).all()


@pytest.mark.study
@pytest.mark.parametrize("k", [2, 5])
@pytest.mark.parametrize("n", [25, 100, 400])
@truths
def test_what_censored_rows_add(truth, n, k):
    """They add more than all else, and the posterior never costs, but for the noise of twenty sets."""
    found = synthetic_scores(truth, n, k, 20)
    assert clearly(found.difference("EMCM", "EM"), 1.0)
    assert clearly(found.difference("VBCM", "VB")) or (truth is GMM and k == 5 and n == 25)
    assert not_clearly_below(found.difference("VBCM", "EMCM"))
    if truth is GMM and k == 5:
        assert clearly(found.difference("VBCM", "EMCM"), 3.0)


@pytest.mark.study
@pytest.mark.parametrize("k", [2, 5])
def test_rossi_needs_its_censored_rows(k):
    for share in (0.2, 1.0):
        found = survival_scores("rossi", share, k)
        assert clearly(found.difference("VBCM", "VB"), 8.0)
        assert clearly(found.difference("EMCM", "EM"), 2.0)
        assert abs(found.difference("VBCM", "EMCM").mean()) < 0.05 or (share, k) == (0.2, 5)


@pytest.mark.study
def test_differences_on_ncctg_are_small():
    """With five components and few rows maximum likelihood falls behind; with all rows it is a little ahead."""
    few, all_rows = (survival_scores("ncctg", share, 5) for share in (0.2, 1.0))
    assert clearly(few.difference("VBCM", "EMCM"), 3.0)
    assert abs(few.difference("VBCM", "VB").mean()) < 0.05
    assert abs(all_rows.difference("VBCM", "EMCM").mean()) < 0.05
    assert clearly(all_rows.difference("VBCM", "VB"), 1.0)
