"""What holds of a fitted mixture in every family."""

import numpy as np
import pytest
from support.differences import derivative
from support.mixtures import GIVEN, NAMES, problem, random_rows

from tobitgp.mixture import EMCM, VBCM, Dirichlet, DirichletProcess, fit_mixture
from tobitgp.mixture.arranged_rows import arrange, read_rows
from tobitgp.mixture.coordinate_ascent import Stop, chunks_of, climb, evaluate
from tobitgp.mixture.fitted_mixture import linear_response, posterior_covariance
from tobitgp.mixture.starts import starts

families = pytest.mark.parametrize("name", NAMES)
QUICK = VBCM(n_init=2, max_iter=400, check=True)
# exact and censored rows in one order: numbers of the fits to compare differ by where their ascents stop
SAME = {"rtol": 1e-4, "atol": 1e-6}


def settled(name, *, em=False, weights=None, k=2, n=80, seed=0):
    """A state at which a sweep changes nothing any more."""
    lower, upper, weight = random_rows(np.random.default_rng(seed), name, n)
    model, working = problem(name, lower, upper, weight, k=k, weights=weights or Dirichlet(), em=em)
    chunks = chunks_of(working, k)
    start = starts(model, working, k, 1, np.random.default_rng(1))[0]
    return model, chunks, climb(model, chunks, start, Stop(1e-14, 20_000))


def objective(model, chunks, x, like):
    return evaluate(model, chunks, like.moved(x))[0]


@families
@pytest.mark.parametrize("weights", [Dirichlet(0.7), DirichletProcess(), DirichletProcess(concentration=0.5)])
def test_gradient_is_that_of_the_bound_anywhere(name, weights):
    lower, upper, weight = random_rows(np.random.default_rng(4), name, 40)
    model, working = problem(name, lower, upper, weight, k=3, weights=weights)
    chunks = chunks_of(working, 3)
    state = starts(model, working, 3, 1, np.random.default_rng(1))[0]
    for _ in range(3):
        state = model.improve(state, evaluate(model, chunks, state)[1], cautious=True)
    if name == "weibull":  # its gradient holds where a = a0 + count, which every sweep sees to
        sums = evaluate(model, chunks, state)[1]
        state.components[0] = model.prior.values[0] + sums.counts
    got = model.gradient(state, evaluate(model, chunks, state)[1])
    x = state.flat()
    want = [
        derivative(lambda s, e=e: objective(model, chunks, x + s * e, state), 0.0, 1e-3 * abs(x @ e))
        for e in np.eye(len(x))
    ]
    free = np.ones(len(x), dtype=bool)
    if isinstance(weights, DirichletProcess) and weights.concentration is not None:
        free[len(state.weights) - 1] = False
    np.testing.assert_allclose(got[free], np.array(want)[free], rtol=2e-5, atol=2e-6)


@families
@pytest.mark.slow_cases("lognormal")
def test_gradient_of_the_likelihood_is_zero_where_em_stands_still(name):
    model, _, end = settled(name, em=True)
    assert end.converged
    gradient = model.gradient(end.state, end.sums)[2:].reshape(end.state.components.shape)
    inside = end.state.components[-1] > np.log(1e-3) / 2 + 1e-6 if name in ("gaussian", "lognormal") else True
    assert (np.abs(gradient / np.maximum(end.sums.counts, 1.0))[:, np.broadcast_to(inside, 2)] < 1e-5).all()


@families
def test_gradient_of_the_bound_is_zero_where_sweeps_stand_still(name):
    model, _, end = settled(name)
    x = end.state.flat()
    assert end.converged
    assert (np.abs(model.gradient(end.state, end.sums) * x) < 1e-4).all()


@families
def test_weights_are_replicated_rows(name):
    lower, upper, _ = random_rows(np.random.default_rng(8), name, 40)
    weight = np.random.default_rng(2).integers(1, 4, 40)
    once = fit_mixture(lower, upper, weight.astype(float), family=name, method=QUICK, rng=1)
    again = fit_mixture(np.repeat(lower, weight), np.repeat(upper, weight), family=name, method=QUICK, rng=1)
    assert once.objective == pytest.approx(again.objective, rel=1e-7)
    np.testing.assert_allclose(once.values, again.values, rtol=2e-3)


@families
def test_rows_that_say_nothing_change_nothing(name):
    lower, upper, weight = random_rows(np.random.default_rng(8), name, 40)
    none = -np.inf if name == "gaussian" else 0.0 if name != "poisson" else -1.0
    more = np.append(lower, [-np.inf, none]), np.append(upper, [np.inf, np.inf]), np.append(weight, [5.0, 2.0])
    a = fit_mixture(lower, upper, weight, family=name, method=QUICK)
    b = fit_mixture(*more, family=name, method=QUICK)
    assert a.objective == b.objective
    np.testing.assert_array_equal(a.values, b.values)
    np.testing.assert_allclose(b.responsibilities(*more[:2])[-1], b.weights)


@families
def test_a_far_end_is_no_end(name):
    lower, upper, _ = random_rows(np.random.default_rng(9), name, 60)
    says = name != "poisson"  # a count of at least 0 is left out, one between 0 and a large number is not
    far = 1e6 * np.abs(lower[np.isfinite(lower)]).max()
    model, one_sided = problem(name, lower, upper, k=2, weights=Dirichlet())
    raw = read_rows(model.family, lower, np.where(np.isinf(upper) & (says | (lower >= 0.0)), np.ceil(far), upper))
    two_sided = arrange(model.family, raw, one_sided.units)
    state = starts(model, one_sided, 2, 1, np.random.default_rng(1))[0]
    first, second = (evaluate(model, chunks_of(working, 2), state) for working in (one_sided, two_sided))
    rel = 1e-12 if name != "lognormal" else 1e-5  # whose tail is long
    assert first[0] == pytest.approx(second[0], rel=rel)
    np.testing.assert_allclose(first[1].counts, second[1].counts, rtol=rel)
    np.testing.assert_allclose(first[1].statistics, second[1].statistics, rtol=1e3 * rel, atol=1e3 * rel)


@families
def test_units_do_not_matter(name):
    if name == "poisson":
        pytest.skip("counts have one unit")
    lower, upper, weight = random_rows(np.random.default_rng(10), name, 60)
    a = fit_mixture(lower, upper, weight, family=name, method=QUICK)
    b = fit_mixture(1000.0 * lower, 1000.0 * upper, weight, family=name, method=QUICK)
    assert a.objective - a.exact * np.log(1000.0) == pytest.approx(b.objective, rel=1e-9)
    np.testing.assert_allclose(a.weights, b.weights, rtol=1e-5)
    x = np.array([0.7, 1.9])
    np.testing.assert_allclose(a.predictive().logcdf(x), b.predictive().logcdf(1000.0 * x), **SAME)


@families
def test_equal_rows_may_be_put_together(name):
    rng = np.random.default_rng(11)
    lower, upper, weight = random_rows(rng, name, 20)
    at = rng.integers(0, 20, 300)
    apart, together = (
        problem(name, lower[at], upper[at], weight[at], k=2, weights=Dirichlet(), collapse=c) for c in (False, True)
    )
    assert sum(map(len, together[1].parts)) <= 20
    state = starts(apart[0], apart[1], 2, 1, rng)[0]
    first, second = (evaluate(model, chunks_of(working, 2), state) for model, working in (apart, together))
    assert first[0] == pytest.approx(second[0], rel=1e-12)
    np.testing.assert_allclose(first[1].statistics, second[1].statistics, rtol=1e-9, atol=1e-9)


@families
def test_without_censoring_linear_response_of_one_component_is_the_posterior(name):
    y = np.random.default_rng(12).gamma(2.0, 2.0, 50)
    y = np.round(y) if name == "poisson" else y
    fit = fit_mixture(y, y, family=name, k=1, prior=GIVEN[name])
    V, plain = linear_response(fit, y, y), posterior_covariance(fit)
    np.testing.assert_allclose(V, V.T, atol=1e-12)
    if name != "weibull":  # its scale and shape go together, and the shape has no posterior
        np.testing.assert_allclose(V, plain, rtol=1e-5, atol=1e-12)
    assert (np.diag(V) >= 0.99 * np.diag(plain)).all()


@families
@pytest.mark.parametrize("method", [VBCM(n_init=2), EMCM(n_init=2)], ids=["vbcm", "em"])
def test_censoring_widens_what_linear_response_gives(name, method):
    rng = np.random.default_rng(13)
    y = rng.gamma(2.0, 2.0, 400)
    y = np.round(y) + 1.0 if name == "poisson" else y
    c = np.quantile(y, 0.5)
    exact = fit_mixture(y, y, family=name, k=1, method=method)
    lower, upper = np.minimum(y, c), np.where(y > c, np.inf, y)
    cut = fit_mixture(lower, upper, family=name, k=1, method=method)
    for fit, rows in ((exact, (y, y)), (cut, (lower, upper))):
        V = linear_response(fit, *rows)
        assert np.isfinite(V).all()
        assert (np.diag(V)[1:] > 0).all()
    relative = [
        np.sqrt(np.diag(linear_response(f, *r))[-1]) / f.values[-1] for f, r in ((exact, (y, y)), (cut, (lower, upper)))
    ]
    assert relative[1] > 1.15 * relative[0]


@families
def test_components_are_ordered_and_everything_follows(name):
    lower, upper, weight = random_rows(np.random.default_rng(14), name, 90)
    for weights in (Dirichlet(), DirichletProcess()):
        fit = fit_mixture(lower, upper, weight, family=name, k=3, weights=weights, prior=GIVEN[name], method=QUICK)
        distribution = fit.model.distribution(fit.state.ordered(fit.state.weights, fit.order), fit.units)
        held = fit.counts > 1.0
        centre = distribution.loc if hasattr(distribution, "loc") else distribution.mean()
        location = fit.model.family.location(fit.model.view(fit.state).theta)[fit.order]
        assert (np.diff(location[fit.shown]) >= 0).all()
        assert (np.diff(fit.shown.astype(int)) <= 0).all()
        assert fit.shown.all() or isinstance(weights, DirichletProcess)
        assert np.isfinite(centre[held]).any()
        r = fit.responsibilities(lower, upper)
        np.testing.assert_allclose(r.sum(axis=1), 1.0, rtol=1e-12)
        says = (lower >= 0.0) | (upper < np.inf) | (name != "poisson")
        np.testing.assert_allclose(weight[says] @ r[says], fit.counts, rtol=1e-8, atol=1e-9)
        assert fit.exact_counts.sum() == pytest.approx(weight[lower == upper].sum())
        assert fit.weights.sum() == pytest.approx(1.0)
        assert len(fit.names) == len(fit.values)
