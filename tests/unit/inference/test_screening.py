"""Screening with frozen sites: exact where rows are Gaussian and nothing is binned, and what it finds on all rows."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import multivariate_normal
from support.fits import parameters
from support.methods import with_settings
from support.oracles import covariance
from support.problems import make_problem, product, tight

import tobitgp as tg
from tobitgp.inference import search
from tobitgp.inference.fixed_point import find_posterior
from tobitgp.inference.partitioned import cut
from tobitgp.inference.screening import System, pairs, screen
from tobitgp.inference.screening_cells import Cells, cut_cells, join_cells
from tobitgp.likelihoods import FAMILIES
from tobitgp.priors.choice import choose_blocks
from tobitgp.priors.kernel_block import GPPrior
from tobitgp.priors.prior import Prior
from tobitgp.priors.structure import Grouping, Inputs

SD, SCALE, SIGMA = 1.2, 4.0, 0.5
THETA = np.log([SD, SCALE, SIGMA])


def settled(x, y, lower=None, code=None):
    """Prior on all inputs, and the posterior at THETA."""
    lower = y if lower is None else lower
    problem = make_problem(x[:, None], lower, y, code=None if code is None else (code,))
    grouping = None if code is None else Grouping("g", int(code.max()) + 1)
    prior = Prior(None, (GPPrior(Inputs(problem.X[0], problem.code[0]), product(("rbf", 1)), None, grouping),))
    whole = cut(problem, prior.inputs)
    blocks = choose_blocks(prior, THETA, np.ones(problem.n), whole.inputs, nats=0.0, cap=problem.n)
    return problem, prior, find_posterior(whole, blocks, THETA, tight("ep"), FAMILIES["gaussian"].likelihood)


def wave(n, seed, spacing=0.55):
    rng = np.random.default_rng(seed)
    x = spacing * np.arange(n) + 0.01 * rng.uniform(size=n)
    return x, np.sin(0.3 * x) + 0.8 * np.sin(1.5 * x) + 0.5 * rng.normal(size=n)


def correlation(x, scale):
    return covariance("rbf", x[:, None], x[:, None], np.log([1.0, scale]))


def dense(x, y, *components):
    """Log evidence of exact rows with the sd and length-scale of each component."""
    K = sum(sd**2 * correlation(x, scale) for sd, scale in components)
    return multivariate_normal(np.zeros(len(y)), K + SIGMA**2 * np.eye(len(y))).logpdf(y)


def test_a_gain_is_that_of_the_evidence():
    """One block, a cell a row: the candidate found gains what dense algebra says (HYP10)."""
    x, y = wave(60, 1)
    _, prior, posterior = settled(x, y)
    chosen = parameters()
    best = screen(posterior, prior, chosen, "replace").best
    sd, scale = np.exp(best.theta[:2])
    exact = dense(x, y, (sd, scale)) - dense(x, y, (SD, SCALE))
    exact += chosen.log_prior(best.theta)[0] - chosen.log_prior(THETA)[0]
    assert best.gain > 1.0
    np.testing.assert_allclose(best.gain, exact, atol=1e-6)


def test_a_component_gains_what_the_evidence_says():
    """(HYP11), and its score is the slope of the dense evidence in the component's variance."""
    x, y = wave(60, 2)
    _, prior, posterior = settled(x, y)
    best = screen(posterior, prior, parameters(), "add").best
    sd, scale = np.exp(best.sd), np.exp(best.theta[1])
    before = dense(x, y, (SD, SCALE))
    np.testing.assert_allclose(best.gain, dense(x, y, (SD, SCALE), (sd, scale)) - before, atol=1e-5)
    K, h = correlation(x, scale), 1e-6
    slope = (dense(x, y, (SD, SCALE), (np.sqrt(h), scale)) - before) / h
    R = np.linalg.inv(SD**2 * correlation(x, SCALE) + SIGMA**2 * np.eye(60))
    np.testing.assert_allclose(best.z, 2.0 * slope / np.sqrt(2.0 * np.sum((R @ K) * (R @ K).T)), rtol=1e-3)


def test_groups_are_screened_apart():
    """What a component gains curves by group is the sum over groups."""
    x, y = wave(40, 3)
    code = np.repeat([0, 1], 40)
    both = screen(*settled(np.tile(x, 2), np.concatenate([y, y[::-1]]), code=code)[2:0:-1], parameters(), "add").best
    added = np.exp([both.sd, both.theta[1]])
    exact = [dense(x, at, (SD, SCALE), added) - dense(x, at, (SD, SCALE)) for at in (y, y[::-1])]
    np.testing.assert_allclose(both.gain, sum(exact), atol=1e-5)


@pytest.mark.slow
def test_cells_and_blocks_keep_the_gain_of_many_rows():
    """2,000 rows in cells and blocks, each of which pays for its own level: within a quarter of the dense gain."""
    x, y = wave(2000, 4, spacing=0.05)
    _, prior, posterior = settled(x, y)
    best = screen(posterior, prior, parameters(), "replace").best
    sd, scale = np.exp(best.theta[:2])
    exact = dense(x, y, (sd, scale)) - dense(x, y, (SD, SCALE))
    assert best.gain == pytest.approx(exact, rel=0.25)


def test_blocks_are_small_and_hold_each_cell_once():
    class Places:
        x = np.random.default_rng(1).uniform(size=(1000, 2))
        code = np.arange(1000) % 3

    blocks, n = cut_cells(Places, np.ones(2), 1000)
    assert sorted(np.concatenate(blocks)) == list(range(1000))
    assert len(blocks) == n
    assert max(map(len, blocks)) <= 96
    assert all(len(set(Places.code[block])) == 1 for block in blocks)
    some, same = cut_cells(Places, np.ones(2), 5)
    assert same == n
    chosen = np.linspace(0, n - 1, 5).round().astype(int)
    assert all(np.array_equal(one, blocks[i]) for one, i in zip(some, chosen, strict=True))


def survival(n, seed):
    """A weak wave on a trend of log times, about two fifths of them censored."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(0, 100, n)
    f = 3.0 + 0.03 * x + 0.5 * np.sin(2.0 * np.pi * x / 8.0)
    time, end = np.exp(f + rng.normal(size=n)), rng.exponential(400, n)
    return pd.DataFrame({"x": x, "time": np.minimum(time, end), "event": time <= end}), f


def fit(data, **kwargs):
    return tg.fit(
        "Surv(time, event) ~ gp(x, line=False)", data, family="lognormal", **with_settings(kwargs, hyper="maximize")
    )


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_the_default_finds_a_weak_short_signal(seed):
    """Not to be seen in 300 rows; the maximum is that of a search started at the truth, and bands cover the curve."""
    data, f = survival(1000, seed)
    res, started = fit(data), fit(data, start={"lengthscale(gp(x))": 2.8})
    assert res.log_evidence > started.log_evidence - 0.5
    assert 2.0 < res.params["lengthscale(gp(x))"] < 4.0
    band = res.predict(None, "latent", interval=0.95)
    assert np.mean((band["lower"] < f) & (f < band["upper"])) > 0.8
    stages = res.fit_history["stage"]
    assert stages.str.startswith("screening: lengthscale(gp(x))").any()
    assert "structure" in res.check().table.index


@pytest.mark.slow
def test_the_default_finds_a_short_season():
    """Waves within a period, all cycles laid over one another; every length-scale of a grid ends lower or there."""
    rng = np.random.default_rng(1)
    x = rng.uniform(0, 100, 2000)
    data = pd.DataFrame({"x": x, "y": np.maximum(1.0 + 0.3 * np.sin(2.0 * np.pi * x / 4.0) + rng.normal(size=2000), 0)})
    formula, name = "y ~ gp(x, period=20) | censor(0)", "lengthscale(gp(x, period=20))"
    res = tg.fit(formula, data, method=tg.EP(hyper="maximize"))
    held = [
        tg.fit(formula, data, method=tg.EP(hyper="maximize"), fixed={name: value}).log_evidence
        for value in (0.15, 0.3, 0.6, 2)
    ]
    assert res.log_evidence > max(held) - 0.5
    assert res.params[name] < 0.5
    assert res.check().table.loc["structure", "verdict"] == "good"


@pytest.mark.slow
def test_a_start_is_followed_on_all_rows(monkeypatch):
    monkeypatch.setattr(search, "WORTH", {})
    data, _ = survival(1000, 1)
    missed, started = fit(data), fit(data, start={"lengthscale(gp(x))": 2.8})
    assert missed.params["lengthscale(gp(x))"] > 20.0
    assert started.params["lengthscale(gp(x))"] < 4.0
    assert started.log_evidence > missed.log_evidence + 10.0


def test_check_tells_of_a_short_component():
    """Beside a curve held smooth, and not where the curve is right; power is in docs/trust."""
    data, _ = survival(1000, 1)
    smooth = fit(data, fixed={"lengthscale(gp(x))": 69.0}).check().table.loc["structure"]
    assert smooth["verdict"] == "doubtful"
    assert smooth["value"] > 3.0
    assert "One length-scale does not fit both" in smooth["words"]


@pytest.mark.slow
def test_a_rough_curve_gets_as_many_inducing_inputs_as_it_takes():
    """Without them the exponential kernel's range came out half as long again."""
    rng = np.random.default_rng(1)
    X = rng.uniform(size=(800, 2))
    K = np.exp(-np.linalg.norm(X[:, None] - X, axis=2) / 0.05)
    y = np.linalg.cholesky(K + 1e-9 * np.eye(800)) @ rng.normal(size=800) + 0.3 * rng.normal(size=800)
    data = pd.DataFrame({"x": X[:, 0], "z": X[:, 1], "y": y})
    formula = 'y ~ gp(x, z, kernel="matern12", ard=False)'
    res = tg.fit(formula, data, method=tg.EP(hyper="maximize"))
    exact = tg.fit(formula, data, method=tg.EP(hyper="maximize", inducing=None))
    assert res.log_evidence == pytest.approx(exact.log_evidence, abs=0.5)


@pytest.mark.slow
@pytest.mark.parametrize("kernel", ["rbf", "matern32"])
def test_check_doubts_a_fit_whose_search_was_switched_off(kernel, monkeypatch):
    """Hourly rows of 20 days of a year: without a scan of dense places the curve is a flat line."""
    rng = np.random.default_rng(1)
    x = (24.0 * np.sort(rng.choice(365, 20, replace=False))[:, None] + np.arange(24)).ravel()
    data = {"x": x, "y": np.sin(2 * np.pi * x / 24) + 0.3 * rng.normal(size=len(x))}
    formula = f"y ~ gp(x, kernel={kernel!r})"
    table = tg.fit(formula, data, method=tg.EP(hyper="maximize")).check().table
    assert table["verdict"].get("structure", "good") == "good"
    monkeypatch.setattr(search.Search, "_screen", lambda self, maximum: maximum)
    monkeypatch.setattr(search, "log_scales", lambda *given: [])
    missed = tg.fit(formula, data, method=tg.EP(hyper="maximize"))
    assert missed.params["sigma"] > 0.6
    found = missed.check()
    assert found.table.loc["structure", "verdict"] == "doubtful"
    assert "would raise the log evidence" in str(found)


def test_pairs_are_products_of_scores_of_different_rows():
    """Row by row: the slope of every pair, over the variance of its product between cells, else that under the fit."""
    rng = np.random.default_rng(5)
    x, score = np.repeat(np.arange(12.0), [1, 2, 3] * 4), 1.5 * rng.normal(size=24)
    r, code = rng.uniform(0.5, 2.0, 24), np.zeros(24, dtype=np.intp)
    alone = Cells(x[:, None], code, r, score, score, score**2 - r, r**2, np.empty((24, 0)))
    cells = join_cells([alone], np.array([0.5]))
    root, K = np.sqrt(cells.precision), correlation(np.arange(12.0), 1.3)
    system = System(cells.score / root, (np.outer(root, root) * K,))
    nats, share = pairs([system], [system.r], cells)
    slope, variance = 0.0, 0.0
    for i in range(24):
        for j in set(range(24)) - {i}:
            slope += score[i] * score[j] * K[int(x[i]), int(x[j])]
            variance += 2.0 * r[i] * r[j] * (x[i] == x[j])
    for c in range(12):
        for d in set(range(12)) - {c}:
            variance += 2.0 * (K[c, d] * score[x == c].sum() * score[x == d].sum()) ** 2
    np.testing.assert_allclose(nats, 0.5 * slope * abs(slope) / variance, rtol=1e-10)
    np.testing.assert_allclose(share, np.sum(r**2) / (r @ correlation(x, 1.3) ** 2 @ r))


def times(n, wave, seed):
    """Log-normal times on a curve with a short wave, some censored."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(0.0, 100.0, n)
    f = np.sin(x / 30.0) + wave * np.sin(2.0 * np.pi * x / 5.0)
    time, end = np.exp(f + 0.8 * rng.normal(size=n)), rng.exponential(8.0, n)
    return pd.DataFrame({"x": x, "time": np.minimum(time, end), "event": time <= end})


@pytest.mark.slow
@pytest.mark.parametrize("family", ["weibull", "loglogistic"])
def test_noise_of_another_shape_promises_no_component(family):
    res = tg.fit("Surv(time, event) ~ gp(x)", times(3000, 0.0, 1), family=family, method=tg.EP(hyper="maximize"))
    assert "climb" not in set(res.fit_history["stage"])
    assert res.params["lengthscale(gp(x))"] > 10.0


@pytest.mark.slow
def test_noise_of_another_shape_hides_no_wave():
    res = tg.fit("Surv(time, event) ~ gp(x)", times(2000, 0.35, 2), family="weibull", method=tg.EP(hyper="maximize"))
    assert 0.5 < res.params["lengthscale(gp(x))"] < 2.5
