"""Steps by batches: their means are the bound and its gradient, their end the optimum of a bound written here."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.polynomial.hermite_e import hermegauss
from scipy.optimize import minimize
from scipy.stats import norm, t
from support.fits import fit, parameters
from support.oracles import covariance
from support.problems import GAUSSIAN, Data, gp, make_problem, see, simulate

import tobitgp as tg
from tobitgp.distributions.symmetric_noise import StudentNoise
from tobitgp.errors import SpecError
from tobitgp.inference import search, stochastic
from tobitgp.inference.batches import Batches, batches
from tobitgp.inference.frozen import Frozen
from tobitgp.inference.natural_steps import BatchModel, RowSums, StepState
from tobitgp.inference.partitioned import cut
from tobitgp.inference.vi import VIUpdates
from tobitgp.likelihoods.noise import NoiseLikelihood

NODES, MASS = hermegauss(100)
MASS = MASS / MASS.sum()
THERE, NOW = np.log([1.2, 0.6]), np.log([1.0, 0.8])  # sd and length-scale of features that stay, and of the prior
SIGMA, DF = 0.5, 4.0
THETA = np.append(NOW, np.log(SIGMA))
PLACES = np.linspace(-2.0, 2.0, 8)[:, None]  # of all rows, so that features leave nothing
SCIPY = {"gaussian": norm, "student": t(DF)}
FORMULA = "y ~ gp(x) | censor(-0.6, 0.9)"


@pytest.fixture(autouse=True)
def small_pilot(monkeypatch):
    """Leave something to the steps, on few rows."""
    monkeypatch.setattr(stochastic, "PILOT_ROWS", 300)


def log_rows(f, data, of, sigma):
    """Log likelihood of rows (n,) at values (n, k)."""
    lower, upper = ((end[:, None] - f) / sigma for end in (data.lower, data.upper))
    exact, left = data.lower == data.upper, np.isneginf(data.lower)
    with np.errstate(all="ignore"):
        value = np.where(left[:, None], of.logcdf(upper), of.logsf(lower))
        inside = np.log(np.where(lower > 0.0, of.sf(lower) - of.sf(upper), of.cdf(upper) - of.cdf(lower)))
    value = np.where((np.isfinite(data.lower) & np.isfinite(data.upper))[:, None], inside, value)
    return np.where(exact[:, None], of.logpdf(lower) - np.log(sigma), value)


class OwnBound:
    """The bound with features that stay and its site parameters, by quadrature, at the q that given sites lead to."""

    def __init__(self, data, Z, of, precision, r):
        self.data, self.Z, self.of = data, Z, of
        self.L0 = np.linalg.cholesky(covariance("rbf", Z, Z, THERE))
        self.A = np.linalg.solve(self.L0, covariance("rbf", Z, data.X, THERE)).T
        self.G, self.r = self.A.T @ (precision[:, None] * self.A), self.A.T @ r
        self.S = np.linalg.inv(np.linalg.inv(self.prior(THETA)) + self.G)
        self.m = self.S @ self.r
        self.mean, self.sd = self.A @ self.m, np.sqrt(np.einsum("nm,mk,nk->n", self.A, self.S, self.A))

    def prior(self, theta):
        """Covariance of the weights."""
        return np.linalg.solve(self.L0, np.linalg.solve(self.L0, covariance("rbf", self.Z, self.Z, theta[:2])).T)

    def expected(self, theta):
        """Means over q of the log likelihood, and of its products with Hermite polynomials, (n,) each."""
        f = self.mean[:, None] + self.sd[:, None] * NODES
        value = log_rows(f, self.data, self.of, np.exp(theta[2]))
        return [value @ (MASS * p) for p in (1.0, NODES, NODES**2 - 1.0)]

    def bound(self, theta):
        prior = self.prior(theta)
        trace = np.trace(np.linalg.solve(prior, self.S + np.outer(self.m, self.m)))
        kl = 0.5 * (trace - len(self.m) - np.linalg.slogdet(np.linalg.solve(prior, self.S))[1])
        return self.data.weight @ self.expected(theta)[0] - kl

    def gradient(self):
        """In the hyper-parameters, q held."""
        return [(self.bound(THETA + h) - self.bound(THETA - h)) / 2e-5 for h in 1e-5 * np.eye(3)]

    def goal(self):
        """Sums that the natural gradient leads to."""
        _, first, second = self.expected(THETA)
        lambda2 = -self.data.weight * second / self.sd**2
        lambda1 = self.data.weight * first / self.sd + lambda2 * self.mean
        return self.A.T @ (lambda2[:, None] * self.A), self.A.T @ lambda1


@pytest.mark.parametrize("noise", SCIPY)
@pytest.mark.parametrize("censoring", ["mixed", "two-sided", "none"])
def test_means_over_batches_are_the_bound_and_its_gradients(censoring, noise):
    rng, X = np.random.default_rng(0), np.repeat(PLACES, 5, axis=0)
    weight, precision, r = rng.uniform(0.5, 3.0, 40), rng.uniform(0.5, 3.0, 40), rng.normal(size=40)
    data = Data(X, *see(np.sin(2.0 * X[:, 0]) + 0.5 * rng.normal(size=40), censoring), weight)
    problem = data.problem()
    whole = cut(problem, [gp(problem).inputs])
    likelihood = GAUSSIAN if noise == "gaussian" else NoiseLikelihood(StudentNoise(DF))
    frozen = Frozen.without_rows([replace(gp(problem), Z=PLACES)], np.append(THERE, np.log(SIGMA)))
    own = OwnBound(data, frozen.at[0].Z, SCIPY[noise], precision, r)
    model = BatchModel(frozen, VIUpdates(), likelihood.over(whole.kinds), 0)
    state = StepState.of(model, RowSums(frozen.known, (own.G,), own.r), THETA)
    found = [model.visit(part, state, 10) for part in batches(whole.partitions, Batches(4, 1, 0, 1), rng)]
    assert len(found) == 10
    assert np.mean([each.bound for each in found]) == pytest.approx(own.bound(THETA), abs=1e-5)
    assert np.std([each.bound for each in found]) > 1.0
    sums = found[0].sums
    for seen, each in enumerate(found, start=1):
        sums = sums.towards(each.sums, 1.0 / seen)
    G, r = own.goal()
    np.testing.assert_allclose(np.tril(sums.known.G[0] / SIGMA**2 + sums.G[0]), np.tril(G), atol=1e-5)
    np.testing.assert_allclose(sums.known.r / SIGMA**2 + sums.r, r, atol=1e-5)
    there = state._replace(there=replace(state.there, known=sums.known))
    slopes = np.mean([there.gradient(each.slopes) for each in found], axis=0)
    np.testing.assert_allclose(slopes, own.gradient(), atol=1e-4)


def test_each_row_is_in_one_batch_of_an_epoch_and_every_kind_in_all():
    data = simulate("mixed", n=230, seed=1)
    problem = make_problem(data.X, data.lower, data.upper, np.arange(1.0, 231.0))
    whole, rng = cut(problem, [gp(problem).inputs]), np.random.default_rng(0)
    place = np.argsort(np.concatenate([rows.weight for rows in problem.rows]))
    orders = []
    for _ in range(2):
        drawn = list(batches(whole.partitions, Batches(23, 1, 0, 1), rng))
        weights = [np.concatenate([rows.weight for rows in part.rows]) for part in drawn]
        np.testing.assert_array_equal(np.sort(np.concatenate(weights)), np.arange(1.0, 231.0))
        for part, weight in zip(drawn, weights, strict=True):
            np.testing.assert_array_equal(part.inputs[0].X, problem.X[0][place[weight.astype(int) - 1]])
        for kind, rows in enumerate(problem.rows):
            sizes = [len(part.rows[kind]) for part in drawn]
            assert set(sizes) <= {len(rows) // 10, len(rows) // 10 + 1}
        orders.append(np.concatenate(weights))
    assert (orders[0] != orders[1]).any()


class OwnOptimum:
    """The bound of one process, maximised over q by the fixed point of its site parameters, with log-normal priors."""

    def __init__(self, data, weight):
        self.data, self.weight, self.Z = data, weight, np.linspace(data.X.min(), data.X.max(), 25)[:, None]
        self.sites, self.chosen = (np.zeros(len(weight)), np.ones(len(weight))), parameters()

    def value(self, theta):
        data, sigma = self.data, np.exp(theta[2])
        K = covariance("rbf", self.Z, self.Z, theta[:2]) + 1e-9 * np.eye(25)
        A = np.linalg.solve(np.linalg.cholesky(K), covariance("rbf", self.Z, data.X, theta[:2])).T
        d = np.maximum(np.exp(2.0 * theta[0]) - np.square(A).sum(axis=1), 0.0)
        l1, l2 = self.sites
        for _ in range(200):
            S = np.linalg.inv(np.eye(25) + A.T @ (l2[:, None] * A))
            m = S @ (A.T @ l1)
            mean, sd = A @ m, np.sqrt(np.einsum("nm,mk,nk->n", A, S, A) + d)
            E = self.expected(mean, sd, sigma)
            new = self.weight * E[1] - self.weight * E[2] * mean, -self.weight * E[2]
            change = np.abs(new[0] - l1).max() + np.abs(new[1] - l2).max()
            l1, l2 = 0.5 * (l1 + new[0]), 0.5 * (l2 + new[1])
            if change < 1e-6:
                break
        self.sites = l1, l2
        kl = 0.5 * (np.trace(S) + m @ m - 25 - np.linalg.slogdet(S)[1])
        prior = norm.logpdf(theta, self.chosen.prior_mean, self.chosen.prior_sd).sum()
        return self.weight @ E[0] - kl + prior

    def expected(self, mean, sd, sigma):
        """E l, E l' and E l'' of rows (n,)."""
        data, exact = self.data, self.data.lower == self.data.upper
        left = np.isneginf(data.lower)
        limit, sign = np.where(left, data.upper, data.lower), np.where(left, -1.0, 1.0)
        u = sign[:, None] * (mean[:, None] + sd[:, None] * NODES - limit[:, None]) / sigma
        hazard = np.exp(norm.logpdf(u) - norm.logcdf(u))
        found = [norm.logcdf(u) @ MASS, sign * (hazard @ MASS) / sigma, -(hazard * (hazard + u)) @ MASS / sigma**2]
        z = (limit - mean) / sigma
        known = [norm.logpdf(z) - np.log(sigma) - 0.5 * sd**2 / sigma**2, z / sigma, np.full_like(z, -1 / sigma**2)]
        return [np.where(exact, a, b) for a, b in zip(known, found, strict=True)]

    def best(self):
        found = minimize(lambda theta: -self.value(theta), np.log([1.0, 1.0, 0.5]), options={"gtol": 1e-3})
        return -found.fun, found.x


@pytest.mark.slow
def test_decreasing_steps_end_at_the_optimum_of_a_bound_written_here():
    data, rng = simulate("two-sided", n=600, seed=5, noise=0.4), np.random.default_rng(1)
    weight = rng.integers(1, 4, 600).astype(float)
    value, theta = OwnOptimum(data, weight).best()
    lost = []
    for epochs in (2, 30):
        res = fit(
            make_problem(data.X, data.lower, data.upper, weight),
            method=VIUpdates(),
            integrate=False,
            batches=Batches(30, epochs, None, 1.0),
        )
        found = res.points[0].theta
        lost.append(value - res.evidence - res.parameters.log_prior(found)[0])
    assert res.trace.converged
    assert abs(lost[1]) < 0.02
    assert abs(lost[0]) < 1.0
    np.testing.assert_allclose(found, theta, atol=0.02)


def table(n, digits=12):
    """A wave with limits; weights count rows that are rounded to the same values."""
    rng = np.random.default_rng(2)
    x, e = rng.uniform(0, 10, n), rng.normal(size=n)
    y = np.clip(np.sin(x) + 0.4 * e, -0.6, 0.9)
    (x, y), w = np.unique(np.round([x, y], digits), axis=1, return_counts=True)
    order = rng.permutation(len(x))
    return {"x": x[order], "y": y[order], "w": w[order], "z": rng.normal(size=len(x))}


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"weights": "w"},
        {"family": "student"},
        {"family": "logistic"},
        {"family": "gumbel"},
        {"sigma": "~ z"},
        {"fixed": {"sigma": 0.4, "sd(gp(x))": 1.0, "lengthscale(gp(x))": 1.5}},
    ],
)
def test_every_likelihood_comes_near_the_bound_of_all_rows(options):
    data = table(30_000, digits=1) if "weights" in options else table(1000)
    full = tg.fit(FORMULA, data, method=tg.VI(hyper="maximize"), **options)
    res = tg.fit(FORMULA, data, method=tg.VI(batch=50, epochs=10), **options)
    assert res.converged
    assert res.evidence_kind == "elbo"
    assert res.log_evidence == pytest.approx(full.log_evidence, abs=0.2)
    np.testing.assert_allclose(res.params, full.params, rtol=0.15, atol=0.03)
    np.testing.assert_allclose(
        res.predict({"x": [2.0, 7.0], "z": 0.0}), full.predict({"x": [2.0, 7.0], "z": 0.0}), atol=0.01
    )


def test_the_path_is_in_the_history():
    res = tg.fit(FORMULA, table(1000), method=tg.VI(batch=50, epochs=4))
    path = res.fit_history[res.fit_history["stage"] == "batches"]
    assert path["evaluations"].tolist() == list(range(2, 82, 2))
    assert path["passes"].cumsum().tolist() == (np.arange(1, 41) // 10).tolist()
    last = res.fit_history.iloc[-1]
    assert last["stage"] == "all rows"
    assert path["log_posterior"].iloc[-1] == pytest.approx(last["log_posterior"], abs=3.0)


def test_partitions_are_fitted_by_the_same_batches(tmp_path, monkeypatch):
    data = pd.DataFrame(table(3000, digits=2)).head(2000)
    for i, rows in enumerate(np.split(np.arange(2000), [300, 900, 930])):
        data.iloc[rows].to_parquet(tmp_path / f"{i}.parquet")
    stepped, parts = stochastic.StochasticSearch._stepped, []

    def noted(search, *args):
        parts.append(len(search.data.partitions))
        return stepped(search, *args)

    monkeypatch.setattr(stochastic.StochasticSearch, "_stepped", noted)
    for module in (search, stochastic):
        monkeypatch.setattr(module, "SAMPLE_ROWS", 500)
    method = tg.VI(batch=100, epochs=3)
    here, there = (tg.fit(FORMULA, source, method=method, weights="w") for source in (data, str(tmp_path)))
    assert parts == [1, 4]
    np.testing.assert_allclose(there.params, here.params, rtol=1e-10)
    np.testing.assert_allclose(there.fit_history["log_posterior"], here.fit_history["log_posterior"], rtol=1e-10)
    assert there.log_evidence == pytest.approx(here.log_evidence, rel=1e-12)


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ({"batch": 0}, "batch=0"),
        ({"batch": 2.5}, "batch=2.5"),
        ({"batch": True}, "batch=True"),
        ({"batch": 100, "epochs": 0}, "epochs=0"),
        ({"batch": 100, "epochs": 0.5}, "epochs=0.5"),
        ({"batch": 100, "delay": -1}, "delay=-1"),
        ({"batch": 100, "forgetting": 0.5}, "forgetting=0.5"),
        ({"epochs": 3}, "epochs=3"),
        ({"batch": 100, "bound": "local"}, "batch=100"),
        ({"batch": 100, "hyper": "integrate"}, "batch=100"),
    ],
)
def test_settings_that_make_no_sense_are_one_clear_error(settings, name):
    with pytest.raises(SpecError, match=rf"^{name}: "):
        tg.VI(**settings)


@pytest.mark.parametrize(
    ("formula", "options"),
    [
        (FORMULA, {"method": tg.VI(batch=500)}),
        ("y ~ gp(x, kernel='matern32', approximation='markov') | censor(-0.6, 0.9)", {}),
        (FORMULA, {"sigma": "~ gp(x)"}),
        (FORMULA, {"method": tg.VI(batch=100, inducing=tg.Inducing(9))}),
    ],
)
def test_what_takes_all_rows_at_once_is_one_clear_error(formula, options):
    with pytest.raises(SpecError, match=r"^batch=\d+: .* Leave batch= out"):
        tg.fit(formula, table(400), **{"method": tg.VI(batch=100), **options})


def test_all_rows_make_up_for_too_few_steps():
    data = table(4000)
    few = tg.fit(FORMULA, data, method=tg.VI(batch=200, epochs=1, delay=1000))
    assert few.converged
    assert few.log_evidence == pytest.approx(
        tg.fit(FORMULA, data, method=tg.VI(hyper="maximize")).log_evidence, abs=0.4
    )


@pytest.mark.slow
@pytest.mark.parametrize("batch", [200, 1000])
def test_an_outlier_leads_no_steps_away(batch):
    """Steps alone ended 46 and 90,000 nats below the maximum of the full bound."""
    rng = np.random.default_rng(0)
    x = rng.uniform(0.0, 10.0, 3000)
    y = np.maximum(np.sin(x) + 0.5 * rng.normal(size=3000), -1.0)
    y[0] = 1000.0
    data, how = {"x": x, "y": y}, {"family": "student"}
    full = tg.fit("y ~ gp(x) | censor(-1)", data, method=tg.VI(hyper="maximize"), **how)
    steps = tg.fit("y ~ gp(x) | censor(-1)", data, method=tg.VI(batch=batch, epochs=2), **how)
    assert steps.converged
    assert steps.log_evidence == pytest.approx(full.log_evidence, abs=0.1)


def test_one_approximation_takes_all_rows():
    formula = "y ~ gp(x, approximation='vecchia') | censor(-0.6, 0.9)"
    with pytest.raises(SpecError, match=r"approximation='vecchia' takes all rows at once"):
        tg.fit(formula, table(400), method=tg.VI(batch=100))
