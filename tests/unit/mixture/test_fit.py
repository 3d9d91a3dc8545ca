import numpy as np
import pytest

from tobitgp.errors import SpecError
from tobitgp.mixture import EMCM, SVBCM, VBCM, Dirichlet, DirichletProcess, array_fit, fit_mixture
from tobitgp.mixture.array_fit import resolve_mixture_family

INF = np.inf


def two_groups(n, seed=0, limit=4.0):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.concatenate([rng.normal(-3, 1, n // 2), rng.normal(3, 1, n - n // 2)]))
    return np.where(y < -limit, -INF, np.minimum(y, limit)), np.where(y > limit, INF, np.maximum(y, -limit))


@pytest.mark.slow
def test_the_bound_peaks_at_the_true_number_of_components():
    rows = two_groups(100)
    elbo = [fit_mixture(*rows, k=k, method=VBCM(n_init=4)).elbo for k in range(1, 5)]
    assert int(np.argmax(elbo)) == 1


def test_censored_components_lie_where_they_are_and_not_where_they_were_seen():
    fit = fit_mixture(*two_groups(2000, limit=3.0))
    np.testing.assert_allclose(fit.parameters["mean"], [-3.0, 3.0], atol=0.15)
    np.testing.assert_allclose(fit.parameters["sd"], 1.0, atol=0.12)
    np.testing.assert_allclose(fit.weights, 0.5, atol=0.03)
    assert fit.exact == pytest.approx(1000, abs=80)
    assert fit.names == ("weight[1]", "weight[2]", "mean[1]", "mean[2]", "sd[1]", "sd[2]")
    assert np.isnan(fit.log_likelihood)


def test_what_a_fit_says_of_itself():
    fit = fit_mixture(*two_groups(100), k=2, method=VBCM(check=True))
    assert fit.converged
    assert fit.notes == ()
    assert 5 < len(fit.ends) <= 10
    assert fit.ends.max() <= fit.objective + 1e-9
    assert (np.diff(fit.trace) > -1e-9).all()
    assert fit.trace[-1] == fit.objective
    assert fit.n_effective == 2
    short = fit_mixture(*two_groups(100), k=2, method=VBCM(max_iter=3, n_init=1))
    assert not short.converged
    assert "max_iter" in short.notes[0]


def test_rows_without_a_value_are_noted():
    fit = fit_mixture(np.array([1.0, 2.0, -INF]), np.array([INF, INF, 3.0]), k=1)
    assert "Every row is censored" in fit.notes[0]


@pytest.mark.slow
def test_a_component_beyond_the_data_is_noted():
    rng = np.random.default_rng(3)
    life = np.concatenate([rng.normal(2.0, 0.5, 100), rng.normal(30.0, 2.0, 60)])
    fit = fit_mixture(np.minimum(life, 10.0), np.where(life > 10.0, INF, life), k=2)
    assert any("Component 2" in note or "component 2" in note for note in fit.notes)


@pytest.mark.slow
def test_a_process_empties_what_it_does_not_need():
    rows = two_groups(300)
    fit = fit_mixture(*rows, k=8, weights=DirichletProcess(), method=VBCM(n_init=3))
    assert fit.n_effective == 2
    assert fit_mixture(*two_groups(10), k=20, weights=DirichletProcess()).k == 10
    even = fit_mixture(*rows, k=8, weights=Dirichlet(0.05), method=VBCM(n_init=3))
    assert even.n_effective <= 3


@pytest.mark.slow
def test_stages_lead_to_the_same_optimum(monkeypatch):
    rows = two_groups(6000, seed=1)
    whole = fit_mixture(*rows, k=2)
    monkeypatch.setattr(array_fit, "STAGED_ABOVE", 2000)
    monkeypatch.setattr(array_fit, "STAGE_ROWS", 1000)
    staged = fit_mixture(*rows, k=2)
    assert staged.objective == pytest.approx(whole.objective, rel=1e-7)
    np.testing.assert_allclose(staged.values, whole.values, rtol=2e-3, atol=2e-3)


@pytest.mark.slow
def test_likelihood_of_em_is_that_of_its_own_distribution():
    rows = two_groups(150)
    fit = fit_mixture(*rows, k=2, method=EMCM())
    assert fit.log_likelihood == pytest.approx(fit.predictive().log_mass(*rows).sum(), rel=1e-9)
    assert np.isnan(fit.elbo)
    np.testing.assert_allclose(fit.responsibilities(*rows), fit.predictive().components(*rows), atol=1e-9)


@pytest.mark.slow
def test_the_default_prior_does_not_widen_narrow_components():
    """A prior at the spread of all rows in place of a component's made these standard deviations 1.4."""
    sd = [fit_mixture(*two_groups(200, seed, limit=3.0)).parameters["sd"] for seed in range(10)]
    assert np.abs(np.mean(sd, axis=0) - 1.0).max() < 0.12


@pytest.mark.parametrize(
    ("method", "settings"),
    [
        (VBCM, {"n_init": 0}),
        (VBCM, {"max_iter": 1.5}),
        (VBCM, {"tol": 0.0}),
        (SVBCM, {"batch_size": 0}),
        (SVBCM, {"forgetting": 0.5}),
        (SVBCM, {"statistics": "both"}),
        (EMCM, {"floor": -1.0}),
    ],
)
def test_settings_are_checked(method, settings):
    with pytest.raises(SpecError, match=f"^{next(iter(settings))}="):
        method(**settings)


def test_families_and_priors_are_checked():
    y = np.arange(1.0, 9.0)
    with pytest.raises(SpecError, match="'weibull'"):
        resolve_mixture_family("cauchy")
    with pytest.raises(SpecError, match="positive"):
        fit_mixture(y, y, family="exponential", prior={"a": 2.0, "b": 0.0})


def test_two_weibull_shapes_are_found():
    rng = np.random.default_rng(4)
    life = np.concatenate([rng.weibull(0.7, 400), 6.0 * rng.weibull(4.0, 600)])
    fit = fit_mixture(np.minimum(life, 8.0), np.where(life > 8.0, INF, life), family="weibull", method=VBCM(n_init=3))
    np.testing.assert_allclose(fit.parameters["shape"], [0.7, 4.0], rtol=0.2)
    np.testing.assert_allclose(fit.parameters["scale"], [1.0, 6.0], rtol=0.35)
    assert fit.converged


def test_one_weibull_component_has_the_likelihood_of_a_regression():
    rng = np.random.default_rng(5)
    life = 2.0 * rng.weibull(1.6, 300)
    rows = np.minimum(life, 2.5), np.where(life > 2.5, INF, life)
    fit = fit_mixture(*rows, family="weibull", k=1, method=EMCM(tol=1e-12))
    scale, shape = fit.parameters["scale"][0], fit.parameters["shape"][0]
    event = life <= 2.5
    time = rows[0]
    score = event.sum() / shape + np.log(time[event] / scale).sum()
    score -= ((time / scale) ** shape * np.log(time / scale)).sum()
    assert abs(score) < 1e-4
    assert scale**shape == pytest.approx((time**shape).sum() / event.sum(), rel=1e-6)


def test_rows_between_two_ends_place_components(rng):
    y = np.concatenate([rng.normal(-3.0, 1.0, 50), rng.normal(3.0, 1.0, 50)])
    grouped = fit_mixture(np.floor(y), np.floor(y) + 1.0, k=2)
    assert grouped.exact == 0.0
    assert grouped.notes == ()
    assert fit_mixture(np.full(5, -np.inf), np.arange(5.0), k=1).notes[0].startswith("Every row is censored")


@pytest.mark.parametrize("method", [VBCM(), EMCM()], ids=["vbcm", "em"])
def test_a_median_of_counts_is_a_count(method):
    rng = np.random.default_rng(6)
    y = rng.poisson(13.3, 500).astype(float)
    rows = np.minimum(y, 13.0), np.where(y > 13.0, INF, y)
    fit = fit_mixture(*rows, family="poisson", k=1, method=method)
    assert fit.parameters["rate"][0] > 13.0
    assert fit.notes == ()
    far = fit_mixture(np.minimum(y, 9.0), np.where(y > 9.0, INF, y), family="poisson", k=1, method=method)
    assert far.notes[0].startswith("The median of component 1, 13, lies beyond the data")
