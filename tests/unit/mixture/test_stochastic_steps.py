"""Steps by batches: settings, how batches are drawn, the path of the bound, and when it has levelled off."""

import numpy as np
import pytest
from support.mixtures import NORMAL_GAMMA, problem

import tobitgp as tg
from tobitgp.errors import ConvergenceWarning, SpecError
from tobitgp.mixture import SVBCM, VBCM, fit_mixture
from tobitgp.mixture.coordinate_ascent import Stop, chunks_of, climb, evaluate
from tobitgp.mixture.mixture_priors import Dirichlet
from tobitgp.mixture.starts import starts
from tobitgp.mixture.stochastic_steps import batches, has_levelled_off, path_steps, run, step_along

FORMULA = "y ~ mixture(2) | censor(lower, upper)"


def two_groups(n, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.concatenate([rng.normal(-3, 1, n // 2), rng.normal(3, 1, n - n // 2)]))
    return np.where(y < -4, -np.inf, np.minimum(y, 4.0)), np.where(y > 4, np.inf, np.maximum(y, -4.0))


@pytest.mark.parametrize("delay", [0, 0.0, 10])
@pytest.mark.parametrize("forgetting", [0.51, 1, 1.0])
def test_the_conditions_of_robbins_and_monro_are_allowed(delay, forgetting):
    assert SVBCM(delay=delay, forgetting=forgetting).delay == delay


@pytest.mark.parametrize(
    "setting",
    [
        {"delay": -1},
        {"delay": np.nan},
        {"delay": np.inf},
        {"delay": "1"},
        {"forgetting": 0.5},
        {"forgetting": 1.1},
        {"forgetting": np.nan},
        {"order": "sorted"},
        {"order": None},
    ],
)
def test_other_settings_are_one_clear_error(setting):
    ((name, value),) = setting.items()
    with pytest.raises(SpecError, match=rf"^{name}={value!r}: "):
        SVBCM(**setting)


def test_the_first_step_without_delay_over_all_rows_is_an_update_of_vbcm():
    options = {"weights": Dirichlet(), "prior": NORMAL_GAMMA, "collapse": False}
    model, working = problem("gaussian", *two_groups(60), **options)
    settings, rng = SVBCM(delay=0, batch_size=60, n_steps=1), np.random.default_rng(0)
    state = starts(model, working, 2, 1, rng)[0]
    ((batch, size),) = batches(working, settings, rng)
    assert size == 1.0
    found = step_along(model, state, batch, size, 1, settings, rng)
    value, sums = evaluate(model, chunks_of(working, 2), state)
    np.testing.assert_allclose(found.state.flat(), model.improve(state, sums).flat(), rtol=1e-10)
    assert found.estimate == pytest.approx(value, rel=1e-12)


def test_steps_that_forget_nothing_end_at_the_posterior_of_the_average_batch():
    """Without delay and with forgetting=1 the steps are 1/t; a gamma posterior of one rate, in closed form."""
    y = np.random.default_rng(3).poisson(4.0, 60).astype(float)
    model, working = problem("poisson", y, y, k=1, weights=Dirichlet(), prior={"a": 2.0, "b": 0.5})
    settings, rng = SVBCM(delay=0, forgetting=1, order="random", batch_size=7, n_steps=25), np.random.default_rng(4)
    state, means = starts(model, working, 1, 1, rng)[0], []
    for t, (batch, size) in enumerate(batches(working, settings, rng), start=1):
        state = step_along(model, state, batch, size, t, settings, rng).state
        means.append(np.concatenate([rows.lower for rows in batch]).mean())
        posterior = 2.0 + 60 * np.mean(means), 0.5 + 60
        np.testing.assert_allclose(sorted(state.components[:, 0]), sorted(posterior), rtol=1e-10)
    assert np.std(means) > 0.3


@pytest.mark.parametrize("order", ["spread", "random"])
def test_rows_are_drawn_in_proportion_to_their_weights(order):
    y, weight = np.arange(6.0), np.array([1.0, 2.0, 3.0, 1.0, 4.0, 1.0])
    _, working = problem("gaussian", y, y, weight, weights=Dirichlet(), prior=NORMAL_GAMMA)
    settings = SVBCM(order=order, batch_size=3, n_steps=2000)
    values = working.parts[0].lower
    drawn = np.concatenate([b[0].lower for b, _ in batches(working, settings, np.random.default_rng(1))])
    share = np.array([(drawn == value).mean() for value in values])
    np.testing.assert_allclose(share, working.parts[0].weight / 12.0, atol=4 * np.sqrt(0.25 / len(drawn)))


def test_random_batches_are_independent_draws_and_spread_ones_are_not():
    y = np.arange(20.0)
    _, working = problem("gaussian", y, y, weights=Dirichlet(), prior=NORMAL_GAMMA)
    means = {}
    for order in ("spread", "random"):
        settings = SVBCM(order=order, batch_size=5, n_steps=2000)
        found = [b[0].lower.mean() for b, _ in batches(working, settings, np.random.default_rng(2))]
        means[order] = np.var(found) * 5 / working.parts[0].lower.var()
    assert means["random"] == pytest.approx(1.0, abs=0.1)
    assert means["spread"] < 0.1


@pytest.mark.slow
@pytest.mark.parametrize("order", ["spread", "random"])
@pytest.mark.parametrize("seed", [0, 1])
def test_both_orders_come_near_to_the_batch_optimum(order, seed):
    rows = two_groups(200, seed)
    whole = fit_mixture(*rows, method=VBCM(n_init=2))
    near = fit_mixture(*rows, method=SVBCM(order=order, polish=False, n_steps=800), rng=seed)
    again = fit_mixture(*rows, method=SVBCM(order=order, polish=False, n_steps=800), rng=seed)
    assert whole.elbo - 1.0 < near.elbo < whole.elbo + 1e-6
    assert near.elbo == again.elbo


def test_the_path_is_the_bound_at_the_states_on_the_way():
    model, working = problem("gaussian", *two_groups(80), weights=Dirichlet(), prior=NORMAL_GAMMA)
    state = starts(model, working, 2, 1, np.random.default_rng(0))[0]
    whole = run(model, working, state, SVBCM(n_steps=60), np.random.default_rng(3))
    part = run(model, working, state, SVBCM(n_steps=30), np.random.default_rng(3))
    chunks = chunks_of(working, 2)
    assert whole.path[-1] == evaluate(model, chunks, whole.state)[0]
    np.testing.assert_array_equal(whole.path[path_steps(60) <= 30], part.path)
    assert path_steps(2000).tolist() == list(range(0, 2001, 20))


@pytest.mark.slow
def test_estimates_from_batches_have_the_mean_of_the_bound():
    model, working = problem("gaussian", *two_groups(80), weights=Dirichlet(), prior=NORMAL_GAMMA)
    settings, rng = SVBCM(order="random", n_steps=1500), np.random.default_rng(0)
    state = starts(model, working, 2, 1, rng)[0]
    drawn = batches(working, settings, rng)
    found = [step_along(model, state, batch, size, 1, settings, rng).estimate for batch, size in drawn]
    error = np.std(found) / np.sqrt(len(found))
    assert np.mean(found) == pytest.approx(evaluate(model, chunks_of(working, 2), state)[0], abs=4 * error)


@pytest.mark.parametrize("n_steps", [10, 20, 50, 100])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_what_levelled_off_is_near_the_optimum(n_steps, seed):
    model, working = problem("gaussian", *two_groups(150, seed), weights=Dirichlet(), prior=NORMAL_GAMMA)
    rng, chunks = np.random.default_rng(seed), chunks_of(working, 2)
    state = starts(model, working, 2, 1, rng)[0]
    for order in ("spread", "random"):
        settings = SVBCM(order=order, n_steps=n_steps)
        end = run(model, working, state, settings, rng)
        trace = climb(model, chunks, end.state, Stop(1e-7)).trace
        assert not has_levelled_off(end.path, settings, working.total) or trace[-1] - trace[0] < 1.0


def test_a_path_that_rises_or_shakes_has_not_levelled_off():
    settings = SVBCM(n_steps=100)
    share, rng = path_steps(100) / 100, np.random.default_rng(0)
    flat = -50.0 - np.exp(-20.0 * share)
    assert has_levelled_off(flat, settings, 100.0)
    assert not has_levelled_off(flat + share, settings, 100.0)
    assert has_levelled_off(flat + share, settings, 10_000.0)
    assert not has_levelled_off(flat + 0.3 * rng.normal(size=len(share)), settings, 100.0)
    assert not has_levelled_off(flat[:11], SVBCM(n_steps=10), 100.0)


@pytest.mark.slow
def test_a_run_cut_short_says_so_and_a_long_one_has_converged():
    data = tg.datasets.simulate_kohjima("gmm", seed=4)
    with pytest.warns(ConvergenceWarning, match=r"No convergence after 20 stochastic steps\. Raise n_steps"):
        short = tg.fit(FORMULA, data, method=tg.SVBCM(n_steps=20, polish=False))
    assert not short.converged
    long = tg.fit(FORMULA, data, method=tg.SVBCM(polish=False))
    assert long.converged


def test_the_history_of_a_stochastic_fit_has_its_steps_and_passes():
    data = tg.datasets.simulate_kohjima("gmm", seed=4)
    res = tg.fit(FORMULA, data, method=tg.SVBCM(n_steps=300))
    history = res.fit_history
    assert list(history.columns) == ["stage", "step", "pass", "elbo"]
    steps, passes = (history[history["stage"] == stage] for stage in ("steps", "passes"))
    assert steps["step"].tolist() == list(range(0, 301, 3))
    assert (steps["pass"] == 0).all()
    assert passes["pass"].tolist() == list(range(1, len(passes) + 1))
    assert passes["elbo"].iloc[-1] == res.elbo
    assert steps["elbo"].iloc[-1] == pytest.approx(passes["elbo"].iloc[0], rel=1e-12)
    assert steps["elbo"].iloc[0] < steps["elbo"].iloc[-1] < res.elbo + 1e-9
    ax = res.plot_history()
    np.testing.assert_allclose(ax.lines[0].get_ydata(), steps["elbo"])
    assert ax.get_ylabel() == "ELBO"
    batch = tg.fit(FORMULA, data, method="em")
    np.testing.assert_allclose(batch.plot_history().lines[0].get_ydata(), batch.fit_history["log_likelihood"])
