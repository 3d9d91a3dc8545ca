"""Fits on arrays: where the search ends, what is integrated, what happens when something does not settle."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import logsumexp
from support.differences import gradient
from support.fits import fit, parameters
from support.oracles import covariance, gp_regression
from support.problems import VARIANTS, gp, predict, simulate, solve

import tobitgp as tg
from tobitgp.errors import BoundaryWarning, ConvergenceWarning, NumericalError
from tobitgp.inference import METHODS, EPUpdates, VIUpdates
from tobitgp.inference.partition_fit import named_suspects

pytestmark = pytest.mark.diagonal

OPTIMUM = 1e-5  # nats: the search may stop 1e-6 short, and sites settle to 1e-7
PLACE = 5e-3  # log units: where the density is flat to 1e-5
NEW = np.linspace(-2.0, 2.0, 9)[:, None]


@pytest.fixture(params=VARIANTS)
def method(request):
    return VARIANTS[request.param]


@pytest.fixture
def data():
    return simulate("two-sided", n=30, seed=2)


def density(problem, chosen, method, kernel="rbf"):
    """Log evidence plus log prior of theta."""
    blocks = [gp(problem, kernel)]
    return lambda theta: solve(problem, blocks, theta, method).evidence + chosen.log_prior(theta)[0]


def peak(fitted):
    """Log posterior density at the maximum: what the search maximises."""
    return fitted.evidence + fitted.parameters.log_prior(fitted.points[0].theta)[0]


def mixture(fitted, X):
    """Mean and sd of f under the weighted posteriors."""
    means, sds = np.array([predict(p, X) for p in fitted.points]).transpose(1, 0, 2)
    mean = fitted.weights @ means
    return mean, np.sqrt(fitted.weights @ (sds**2 + means**2) - mean**2)


def test_all_fixed_is_the_posterior_there(data, method):
    values = {"sd": 1.2, "lengthscale": 0.6, "sigma": 0.3}
    problem = data.problem()
    fitted = fit(problem, parameters(fixed=values), method, inducing=None)
    direct = solve(problem, [gp(problem)], np.log(list(values.values())), method)
    assert fitted.evidence == pytest.approx(direct.evidence, abs=1e-9)
    assert len(fitted.points) == 1
    assert np.isnan(fitted.log_evidence_integrated)
    np.testing.assert_array_equal(fitted.log_covariance, 0.0)
    for got, want in zip(predict(fitted.points[0], NEW), predict(direct, NEW), strict=True):
        np.testing.assert_allclose(got, want, rtol=0, atol=1e-7)


def test_ends_at_a_maximum(data, method):
    problem, chosen = data.problem(), parameters()
    fitted = fit(problem, chosen, method, inducing=None, integrate=False)
    slope = gradient(
        density(problem, chosen, replace(method, tol=1e-10, max_iterations=1000)), fitted.points[0].theta, 2e-3
    )
    assert fitted.trace.converged
    assert fitted.trace.gain_left < 1e-6
    # half the gradient's square over the curvature is the gain left; curvatures here are 1 to 100
    np.testing.assert_allclose(slope, 0.0, atol=0.02)


@pytest.mark.quick_cases("laplace")
def test_covariance_is_the_inverse_curvature(data, method):
    problem, chosen = data.problem(), parameters()
    fitted = fit(problem, chosen, method, inducing=None, integrate=False)
    value, theta = density(problem, chosen, replace(method, tol=1e-10, max_iterations=1000)), fitted.points[0].theta
    curvature = np.array(
        [-(gradient(value, theta + 0.02 * e, 5e-3) - gradient(value, theta - 0.02 * e, 5e-3)) / 0.04 for e in np.eye(3)]
    )
    np.testing.assert_allclose(fitted.log_covariance, np.linalg.inv(curvature), rtol=0.05, atol=2e-3)


@pytest.mark.parametrize(
    "start", [{"lengthscale": 0.2}, {"lengthscale": 2.0, "sigma": 1.0}, {"sd": 5.0, "sigma": 0.02}]
)
def test_starts_lead_to_the_same_maximum(data, method, start):
    here = fit(data.problem(), method=method, integrate=False)
    there = fit(data.problem(), parameters(start=start), method, integrate=False)
    assert peak(there) == pytest.approx(peak(here), abs=OPTIMUM)
    np.testing.assert_allclose(there.points[0].theta, here.points[0].theta, rtol=0, atol=PLACE)


@pytest.mark.quick_cases("laplace")
def test_more_starts_are_no_worse(method):
    problem = simulate("mixed", n=20, seed=5).problem()
    few, many = (fit(problem, method=method, n_starts=n, integrate=False) for n in (1, 6))
    assert peak(many) >= peak(few) - OPTIMUM


def test_order_of_rows_does_not_matter(data, method, rng):
    here, there = fit(data.problem(), method=method), fit(data.take(rng.permutation(30)).problem(), method=method)
    assert there.evidence == pytest.approx(here.evidence, abs=OPTIMUM)
    assert there.log_evidence_integrated == pytest.approx(here.log_evidence_integrated, abs=1e-3)
    for got, want in zip(mixture(there, NEW), mixture(here, NEW), strict=True):
        np.testing.assert_allclose(got, want, rtol=0, atol=PLACE)


def test_same_call_same_numbers(data, method):
    here, there = fit(data.problem(), method=method), fit(data.problem(), method=method)
    assert here.evidence == there.evidence
    np.testing.assert_array_equal(here.weights, there.weights)


def test_fixed_parameters_stay(data, method):
    fitted = fit(data.problem(), parameters(fixed={"sigma": 0.25}), method)
    assert all(p.sigma == pytest.approx(0.25, rel=1e-14) for p in fitted.points)
    assert (fitted.log_covariance[2] == 0.0).all()
    assert (np.diag(fitted.log_covariance)[:2] > 0.0).all()
    assert len(fitted.points) == 17  # the centre, and twice two pairs on the axes and four corners


def test_integration_surrounds_the_maximum(data, method):
    fitted = fit(data.problem(), method=method)
    assert len(fitted.points) == 29
    assert fitted.weights.sum() == pytest.approx(1.0, abs=1e-12)
    assert (fitted.weights > 0.0).all()
    assert all(p.states is None for p in fitted.points)
    centre = fitted.points[0]
    assert fitted.evidence == centre.evidence
    spread = np.array([p.theta - centre.theta for p in fitted.points])
    second = (spread.T * fitted.weights) @ spread
    # a rough match: the posterior is not normal
    assert 0.3 < np.trace(second) / np.trace(fitted.log_covariance) < 3.0
    sd_plain, sd_mixed = predict(centre, NEW)[1], mixture(fitted, NEW)[1]
    assert sd_mixed.mean() > sd_plain.mean()


def test_points_that_fail_are_told_with_a_remedy(data, monkeypatch):
    every = "tobitgp.inference.partition_fit.map_independent"
    monkeypatch.setattr(every, lambda at, points, heavy: [None, None, *map(at, points[2:])])
    with pytest.warns(ConvergenceWarning, match=r"2 of \d+ points .* failed\..*method=tg\.EP\(hyper='maximize'\)"):
        fitted = fit(data.problem(), parameters(), integrate=True)
    assert sum(fitted.weights) == pytest.approx(1.0)
    assert len(fit(data.problem(), parameters(), integrate=False).points) == 1  # without a warning


def test_maximising_gives_one_posterior(data):
    fitted = fit(data.problem(), integrate=False)
    assert (len(fitted.points), fitted.weights.tolist()) == (1, [1.0])
    assert np.isnan(fitted.log_evidence_integrated)


@pytest.mark.parametrize("free", ["sigma", "lengthscale", "sd"])
def test_log_evidence_integrated_against_quadrature(free):
    """One free parameter, no censoring: integrate evidence times prior over it."""
    problem = simulate("none", n=30, seed=1).problem()
    values = {"sd": 1.0, "lengthscale": 0.7, "sigma": 0.3}
    chosen = parameters(fixed={k: v for k, v in values.items() if k != free})
    fitted = fit(problem, chosen, inducing=None)
    at = ["sd", "lengthscale", "sigma"].index(free)
    centre, y = fitted.points[0].theta, problem.rows[0].limit

    def log_density(t):
        theta = np.where(np.arange(3) == at, t, centre)
        K = covariance("rbf", problem.X[0], problem.X[0], theta[:2])
        return gp_regression(K, y, np.exp(2.0 * theta[2]), K, np.diag(K))[0] + chosen.log_prior(theta)[0]

    top = log_density(centre[at])
    total = quad(lambda t: np.exp(log_density(t) - top), centre[at] - 3.0, centre[at] + 3.0, limit=200)[0]
    assert fitted.log_evidence_integrated == pytest.approx(top + np.log(total), abs=0.05)


def test_integrated_moments_against_a_dense_grid():
    """All three parameters free: the design's predictions against a sum over 11^3 points."""
    problem, chosen = simulate("none", n=40, seed=1).problem(), parameters()
    fitted = fit(problem, chosen, inducing=None)
    y, X = problem.rows[0].limit, problem.X[0]
    centre, root = fitted.points[0].theta, np.linalg.cholesky(fitted.log_covariance)
    grid = np.stack(np.meshgrid(*[np.linspace(-4.0, 4.0, 11)] * 3), axis=-1).reshape(-1, 3)
    logs, means, seconds = [], [], []
    for theta in centre + grid @ root.T:
        K, K_new = (covariance("rbf", Z, X, theta[:2]) for Z in (X, NEW))
        evidence, mean, sd = gp_regression(K, y, np.exp(2.0 * theta[2]), K_new, np.exp(2.0 * theta[0]))
        logs.append(evidence + chosen.log_prior(theta)[0])
        means.append(mean)
        seconds.append(sd**2 + mean**2)
    weight = np.exp(logs - logsumexp(logs))
    mean = weight @ means
    sd = np.sqrt(weight @ seconds - mean**2)
    got_mean, got_sd = mixture(fitted, NEW)
    np.testing.assert_allclose((got_mean - mean) / sd, 0.0, atol=0.05)
    np.testing.assert_allclose(got_sd / sd, 1.0, atol=0.1)
    volume = np.linalg.slogdet(root)[1] + 3.0 * np.log(0.8)
    assert fitted.log_evidence_integrated == pytest.approx(logsumexp(logs) + volume, abs=0.2)


def test_ep_that_does_not_settle_gives_way_to_vi(data):
    with pytest.warns(ConvergenceWarning, match="variational inference took over"):
        fitted = fit(data.problem(), method=EPUpdates(max_iterations=1), integrate=False)
    assert fitted.trace.fell_back
    assert isinstance(fitted.method, VIUpdates)
    assert fitted.method.evidence_kind == "elbo"
    assert fitted.evidence == pytest.approx(fitted.elbo, abs=1e-6)
    direct = fit(data.problem(), method=VIUpdates(), integrate=False)
    assert peak(fitted) == pytest.approx(peak(direct), abs=OPTIMUM)


def test_a_method_that_does_not_settle_says_so(data):
    values = {"sd": 1.2, "lengthscale": 0.6, "sigma": 0.3}
    with pytest.warns(ConvergenceWarning, match="did not converge"):
        fitted = fit(data.problem(), parameters(fixed=values), METHODS["laplace"](max_iterations=1))
    assert not fitted.trace.converged


def test_elbo_is_below_the_evidence_of_ep(data):
    fitted = fit(data.problem(), integrate=False)
    assert fitted.elbo < fitted.evidence
    assert fitted.elbo > fitted.evidence - 1.0


def test_everything_censored(method):
    fitted = fit(simulate("all", n=20, seed=1).problem(), method=method)
    assert np.isfinite([fitted.evidence, fitted.elbo, fitted.log_evidence_integrated]).all()
    assert fitted.trace.converged


@pytest.mark.slow
@pytest.mark.parametrize("kernel", ["rbf", "matern32"])
def test_inducing_inputs_leave_little(kernel):
    problem = simulate("two-sided", n=120, seed=3).problem()
    sparse = fit(problem, kernel=kernel, integrate=False)
    full = fit(problem, kernel=kernel, inducing=None, integrate=False)
    assert sparse.nats_left < 0.05
    assert sparse.n_features <= full.n_features
    assert sparse.evidence == pytest.approx(full.evidence, abs=0.05)


@pytest.mark.slow
def test_many_rows_are_searched_on_a_subset():
    problem = simulate("left", n=1500, seed=3).problem()
    stages = []
    fitted = fit(problem, integrate=False, on_step=lambda step: stages.append(step.stage))
    names = [name for name, *_ in fitted.trace.stages]
    assert names[0] == "search"
    assert {name for name in names if not name.startswith("screening")} == set(stages)
    assert fitted.trace.converged
    other = fit(problem, integrate=False, rng=7)
    assert other.evidence == pytest.approx(fitted.evidence, abs=0.05)
    np.testing.assert_allclose(other.points[0].theta, fitted.points[0].theta, rtol=0, atol=0.02)


@pytest.mark.slow
@pytest.mark.parametrize("sample", [1000, 150])
def test_a_sample_foretells_the_curvature(sample, monkeypatch):
    """Where curvature and inducing inputs come from some of the rows, the maximum is still that of all of them."""
    rng = np.random.default_rng(2)
    x = rng.uniform(size=3000)
    y = np.maximum(np.sin(6.0 * x) + 0.4 * rng.standard_normal(3000), -0.3)
    model = tg.Model("y ~ gp(x) | censor(-0.3)", {"x": x, "y": y})
    whole = model.fit(method=tg.EP(hyper="maximize"))
    monkeypatch.setattr("tobitgp.inference.search.SAMPLE_ROWS", sample)
    some = model.fit(method=tg.EP(hyper="maximize", tol=1e-6))
    stages = list(some.fit_history["stage"])
    assert f"run 1, {sample} rows" in stages
    assert "fixed features, 3000 rows" in stages
    assert some.converged
    assert some.log_evidence == pytest.approx(whole.log_evidence, abs=2e-3)
    assert ((some.params - whole.params).abs() < 0.05 * whole.bse).all()
    np.testing.assert_allclose(some.bse, whole.bse, rtol=0.15)


@pytest.mark.slow
def test_neighbours_of_a_long_series_foretell_its_maximum(monkeypatch):
    """Where the search goes from a sample to neighbours to all rows, it ends where one on all rows ends."""
    rng = np.random.default_rng(3)
    x = np.sort(rng.uniform(size=12_000))
    f = [rng.normal()]
    for decay in np.exp(-np.diff(x) / 0.004):
        f.append(decay * f[-1] + np.sqrt(1.0 - decay**2) * rng.normal())
    y = np.array(f) + 0.3 * rng.normal(size=len(x))
    model = tg.Model('y ~ gp(x, kernel="matern12") | censor(-0.2)', {"x": x, "y": np.maximum(y, -0.2)})
    whole = model.fit(method=tg.EP(hyper="maximize"))
    monkeypatch.setattr("tobitgp.inference.search.SAMPLE_ROWS", 1000)
    some = model.fit(method=tg.EP(hyper="maximize"))
    assert some.fit_history["stage"].str.startswith("neighbours").any()
    assert some.converged
    assert some.log_evidence == pytest.approx(whole.log_evidence, abs=0.01)
    assert ((some.params - whole.params).abs() < 0.05 * whole.bse).all()
    np.testing.assert_allclose(some.bse, whole.bse, rtol=0.05)


@pytest.mark.slow
def test_a_sample_whose_maximum_is_at_a_bound(monkeypatch):
    """The curvature predicted leaves a parameter out there, and has no inverse."""
    rng = np.random.default_rng(2)
    x, z = rng.uniform(size=(2, 3000))
    y = np.maximum(np.sin(6.0 * x) + 0.4 * rng.standard_normal(3000), -0.3)
    name = "lengthscale(gp(x, z))[z]"
    monkeypatch.setattr("tobitgp.inference.search.SAMPLE_ROWS", 150)
    with pytest.warns(BoundaryWarning, match="bound for lengthscale"):
        res = tg.fit(
            "y ~ gp(x, z) | censor(-0.3)",
            {"x": x, "z": z, "y": y},
            method=tg.EP(hyper="maximize"),
            priors={},
            start={name: 1e5},
        )
    assert "fixed features, 3000 rows" in set(res.fit_history["stage"])
    assert res.converged
    assert np.isnan(res.bse[name])
    assert np.isfinite(res.bse.drop(name)).all()


@pytest.mark.slow
def test_standard_errors_of_groups_do_not_shrink_with_their_rows(monkeypatch):
    """From 3 rows in each of 40 groups to 10 the sd of groups is told much better, from 10 to 100 hardly."""
    rng = np.random.default_rng(0)
    g, x = rng.integers(0, 40, 4000), rng.uniform(size=4000)
    y = np.sin(6.0 * x) + 0.7 * rng.standard_normal(40)[g] + 0.5 * rng.standard_normal(4000)
    model = tg.Model("y ~ gp(x) + re(g) | censor(-0.3)", {"x": x, "y": np.maximum(y, -0.3), "g": g})
    whole = model.fit(method=tg.EP(hyper="maximize"))
    monkeypatch.setattr("tobitgp.inference.search.GROWN_ROWS", 100)
    monkeypatch.setattr("tobitgp.inference.search.SAMPLE_ROWS", 400)
    some = model.fit(method=tg.EP(hyper="maximize"))
    assert "rough search, 100 rows" in set(some.fit_history["stage"])
    np.testing.assert_allclose(some.bse, whole.bse, rtol=0.15)


@pytest.mark.slow
def test_a_sample_can_be_integrated_over(monkeypatch):
    x = np.random.default_rng(2).uniform(size=600)
    y = np.maximum(np.sin(6.0 * x) + 0.4 * np.random.default_rng(3).standard_normal(600), -0.3)
    model = tg.Model("y ~ gp(x) | censor(-0.3)", {"x": x, "y": y})
    whole = model.fit(method=tg.EP(hyper="integrate"))
    monkeypatch.setattr("tobitgp.inference.search.SAMPLE_ROWS", 300)
    some = model.fit(method=tg.EP(hyper="integrate"))
    assert some.log_evidence_integrated == pytest.approx(whole.log_evidence_integrated, abs=0.1)
    new = {"x": np.linspace(0, 1, 7)}
    np.testing.assert_allclose(some.predict(new), whole.predict(new), atol=0.02)


def test_a_breakdown_advises_another_method():
    with pytest.raises(NumericalError, match="another method="), named_suspects(parameters(), np.ones(6), 6.0):
        raise NumericalError("The sites of the rows leave no posterior.")
