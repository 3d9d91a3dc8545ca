"""The front door: what a formula and a frame become."""

import warnings

import numpy as np
import pandas as pd
import pytest
from support.reference import load

import tobitgp as tg
from tobitgp.errors import ApproximationWarning, BoundaryWarning, ConvergenceWarning, NumericalError, SpecError
from tobitgp.inference.evidence_ascent import EPFailure
from tobitgp.inference.search import Search


@pytest.fixture(scope="module")
def clipped():
    return tg.datasets.simulate_groot_lucas(rng=1)


def test_linear_tobit_at_the_reference_scale_gives_the_maximum_likelihood_coefficients():
    # survreg's coefficients of tobin; at fixed sigma and without priors the Laplace mode is the maximum
    reference = load("tobin_tobit.json")["survreg_gaussian"]
    res = tg.fit(
        "durable ~ age + quant | censor(0)",
        tg.datasets.load("tobin"),
        method="laplace",
        priors={},
        fixed={"sigma": reference["scale"]},
    )
    for name, value in reference["coef"].items():
        assert res.params[name.strip("()")] == pytest.approx(value, rel=1e-5)


def test_all_fixed_evaluates_the_zero_mean_gp_of_the_papers(clipped):
    data = clipped.assign(m=0.5)
    fixed = {"sigma": 0.3, "sd(gp(x))": 5.0, "lengthscale(gp(x))": 0.15}
    res = tg.fit("y ~ 0 + offset(m) + gp(x) | censor(lower)", data, fixed=fixed, method=tg.EP(inducing=None))
    shifted = data.assign(y=data["y"] - 0.5, lower=data["lower"] - 0.5)
    other = tg.fit("y ~ 0 + gp(x) | censor(lower)", shifted, fixed=fixed, method=tg.EP(inducing=None))
    assert res.log_evidence == pytest.approx(other.log_evidence, abs=1e-8)
    assert res.hyperparameters == pytest.approx(fixed)
    assert res.converged
    again = tg.fit(
        "y ~ 0 + offset(m) + gp(x) | censor(lower)", data, fixed=res.hyperparameters, method=tg.EP(inducing=None)
    )
    assert again.log_evidence == pytest.approx(res.log_evidence, abs=1e-10)


@pytest.mark.parametrize(
    ("a", "b", "c", "d"), [(1e3, 0.0, 1.0, 0.0), (1e-9, 0.0, 1e9, 5e9), (2.0, 1e4, 1e-12, 0.0), (1e12, -7e12, 3.0, 1e6)]
)
def test_units_do_not_matter(clipped, a, b, c, d):
    base = tg.fit("y ~ gp(x) | censor(lower)", clipped)
    other = pd.DataFrame({"x": c * clipped["x"] + d, "y": a * clipped["y"] + b, "lower": a * clipped["lower"] + b})
    res = tg.fit("y ~ gp(x) | censor(lower)", other)
    shift = -base.counts["exact"] * np.log(a)
    assert res.log_evidence == pytest.approx(base.log_evidence + shift, abs=1e-4)
    assert res.params["sigma"] / a == pytest.approx(base.params["sigma"], rel=1e-3)
    assert res.params["lengthscale(gp(x))"] / c == pytest.approx(base.params["lengthscale(gp(x))"], rel=1e-3)
    mine = (res.predict() - b) / a
    np.testing.assert_allclose(mine, base.predict(), atol=2e-4 * clipped["y"].std())


def test_mirrored_data_give_the_mirrored_fit(clipped):
    base = tg.fit("y ~ gp(x) | censor(lower)", clipped)
    mirrored = clipped.assign(y=-clipped["y"], lower=-clipped["lower"])
    res = tg.fit("y ~ gp(x) | censor(upper=lower)", mirrored)
    assert res.log_evidence == pytest.approx(base.log_evidence, abs=1e-6)
    np.testing.assert_allclose(res.predict(), -base.predict(), atol=1e-4)


def test_weights_equal_repeated_rows(clipped):
    times = np.arange(len(clipped)) % 3 + 1
    fixed = {"sigma": 0.3, "sd(gp(x))": 5.0, "lengthscale(gp(x))": 0.15}
    options = {"fixed": fixed, "method": tg.EP(inducing=None)}
    weighted = tg.fit("y ~ 0 + gp(x) | censor(lower)", clipped.assign(w=times), weights="w", **options)
    repeated = tg.fit("y ~ 0 + gp(x) | censor(lower)", clipped.loc[clipped.index.repeat(times)], **options)
    assert weighted.log_evidence == pytest.approx(repeated.log_evidence, abs=1e-6)
    assert weighted.nobs == repeated.nobs == times.sum()


def test_lognormal_is_gaussian_on_log_time_with_its_jacobian():
    lung = tg.datasets.load("lung").dropna(subset=["ph_ecog"])
    time = tg.fit("Surv(time, event) ~ gp(age) + ph_ecog", lung, family="lognormal", method=tg.EP(hyper="maximize"))
    logged = lung.assign(log_time=np.log(lung["time"]))
    log = tg.fit("Surv(log_time, event) ~ gp(age) + ph_ecog", logged, family="gaussian", method=tg.EP(hyper="maximize"))
    jacobian = -np.log(lung.loc[lung["event"] == 1, "time"]).sum()
    assert time.log_evidence == pytest.approx(log.log_evidence + jacobian, abs=1e-6)
    np.testing.assert_allclose(time.params, log.params, rtol=1e-5)


@pytest.mark.parametrize("method", ["ep", "vi", "laplace"])
def test_censored_drop_and_ignore_are_the_papers_baselines(clipped, method):
    dropped = tg.fit("y ~ gp(x) | censor(lower)", clipped, censored="drop", method=method)
    plain = tg.fit("y ~ gp(x)", clipped[clipped["y"] > clipped["lower"]], method=method)
    assert dropped.log_evidence == pytest.approx(plain.log_evidence, abs=1e-5)
    ignored = tg.fit("y ~ gp(x) | censor(lower)", clipped, censored="ignore", method=method)
    assert ignored.log_evidence == pytest.approx(tg.fit("y ~ gp(x)", clipped, method=method).log_evidence, abs=1e-5)
    assert ignored.evidence_kind == "exact"


def test_user_data_are_left_alone(clipped):
    before = clipped.copy(deep=True)
    tg.fit("y ~ gp(x) | censor(lower)", clipped, method=tg.EP(hyper="maximize")).predict(clipped)
    pd.testing.assert_frame_equal(clipped, before)


def test_priors_and_start_take_effect(clipped):
    tight = tg.fit("y ~ gp(x) | censor(lower)", clipped, priors={"sigma": tg.LogNormal(2.0, 0.01)})
    assert tight.params["sigma"] == pytest.approx(2.0, rel=0.02)
    steep = tg.fit("y ~ x + gp(x) | censor(lower)", clipped, priors={"x": tg.Normal(100.0, 0.01)})
    assert steep.params["x"] == pytest.approx(100.0, abs=0.05)
    held = tg.fit("y ~ x + gp(x) | censor(lower)", clipped, fixed={"x": 3.0})
    assert held.params["x"] == pytest.approx(3.0)
    assert held.bse["x"] == 0.0
    priors = {"sd(gp(x))": _prior(held, "sd(gp(x))")}
    offset = tg.fit("y ~ offset(3 * x) + gp(x, line=False) | censor(lower)", clipped, priors=priors)
    assert held.log_evidence == pytest.approx(offset.log_evidence, abs=1e-5)
    start = {"lengthscale(gp(x))": 0.2, "sigma": 0.3, "sd(gp(x))": 5.0}
    assert tg.fit("y ~ gp(x) | censor(lower)", clipped, start=start).converged


def _prior(res, name):
    """Prior of a hyper-parameter of a fit."""
    known, i = res.parts.fitted.parameters, res.parts.fitted.parameters.names.index(name)
    return tg.LogNormal(np.exp(known.prior_mean[i]) * known.units[i], known.prior_sd[i])


def test_inducing_choices_agree(clipped):
    formula = "y ~ gp(x) | censor(lower)"
    exact = tg.fit(formula, clipped, method=tg.EP(inducing=None)).log_evidence
    assert tg.fit(formula, clipped).log_evidence == pytest.approx(exact, abs=0.02)
    assert tg.fit(formula, clipped, method=tg.EP(inducing=25)).log_evidence == pytest.approx(exact, abs=0.02)
    places = np.linspace(0, 1, 25)
    assert tg.fit(formula, clipped, method=tg.EP(inducing=places)).log_evidence == pytest.approx(exact, abs=0.02)
    by_name = tg.fit(formula, clipped, method=tg.EP(inducing={"gp(x)": places[:, None]})).log_evidence
    assert by_name == pytest.approx(exact, abs=0.02)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"family": "weibul"}, "family='weibul'"),
        ({"method": "mcmc"}, "method='mcmc'"),
        ({"censored": "forget"}, "censored="),
        ({"missing": "keep"}, "missing="),
        ({"method": tg.EP(inducing=np.zeros((3, 2)))}, r"\(M, 1\)"),
        ({"method": tg.EP(inducing={"gp(z)": 3})}, r"gp\(z\)"),
        ({"fixed": {"sigm": 1.0}}, "Did you mean 'sigma'"),
        ({"fixed": {"sigma": -1.0}}, "positive number"),
        ({"start": {"Intercept": 1.0}}, "start="),
        ({"priors": {"sigma": 3.0}}, "tg.LogNormal"),
        ({"priors": {"Intercept": tg.LogNormal(1.0, 1.0)}}, "tg.Normal"),
    ],
)
def test_wrong_options_are_refused_by_name(clipped, options, words):
    with pytest.raises(SpecError, match=words):
        tg.fit("y ~ gp(x) | censor(lower)", clipped, **options)


def test_priors_refuse_nonsense():
    with pytest.raises(SpecError, match="median and spread must be positive"):
        tg.LogNormal(0.0, 1.0)
    with pytest.raises(SpecError, match="sd positive"):
        tg.Normal(0.0, 0.0)


UNIDENTIFIED = {
    "every row left-censored": ({"x": np.arange(20.0), "y": np.zeros(20)}, "No row is exact"),
    "one exact row": ({"x": np.arange(20.0), "y": np.r_[np.zeros(19), 1.0]}, "Only one row is exact"),
    "few exact rows": ({"x": np.arange(40.0), "y": np.r_[np.zeros(37), 1.0, 1.4, 0.8]}, "Only 3 of 40 rows are exact"),
    "constant response": ({"x": np.arange(20.0), "y": np.full(20, 3.0)}, "response is constant"),
    "constant input": ({"x": np.ones(20), "y": np.linspace(1, 2, 20)}, "input x of"),
    "all rows alike": ({"x": np.ones(5), "y": np.ones(5)}, "constant"),
}


@pytest.mark.parametrize("case", UNIDENTIFIED)
def test_what_is_not_identified_warns_and_still_fits(case):
    data, words = UNIDENTIFIED[case]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.warns(BoundaryWarning, match=words):
            res = tg.fit("y ~ gp(x) | censor(0)", data)
    predicted = res.predict({"x": [0.0, 3.5, 100.0]}, interval=0.95)
    assert np.isfinite(predicted.to_numpy()).all()
    assert np.isfinite(res.log_evidence)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_tiny_data_fit(n):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BoundaryWarning)
        res = tg.fit("y ~ gp(x)", {"x": np.arange(float(n)), "y": np.arange(1.0, n + 1)})
    assert np.isfinite(res.predict()).all()


def test_ep_gives_way_to_vi_and_says_so(clipped):
    with pytest.warns(ConvergenceWarning, match="variational inference took over"):
        res = tg.fit("y ~ gp(x) | censor(lower)", clipped, method=tg.EP(site_iterations=1))
    assert res.method == "vi"
    assert res.evidence_kind == "elbo"
    assert res.converged


def test_a_search_cut_short_says_so(clipped):
    with pytest.warns(ConvergenceWarning, match="did not converge"):
        res = tg.fit("y ~ gp(x) | censor(lower)", clipped, method=tg.Laplace(site_iterations=1, hyper="maximize"))
    assert not res.converged
    assert "not" in str(res.summary()).lower()


def test_progress_reaches_the_caller(clipped):
    seen = []
    tg.fit("y ~ gp(x) | censor(lower)", clipped, progress=lambda *step: seen.append(step))
    assert {stage for stage, _, _ in seen} >= {"search", "run 1", "integrate"}


@pytest.mark.slow
def test_same_seed_same_result_and_global_state_untouched():
    data = tg.datasets.simulate_groot_lucas(rng=3, n=1500)
    np.random.seed(0)  # noqa: NPY002
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    first, second = (tg.fit("y ~ gp(x) | censor(lower)", data, method=tg.EP(hyper="maximize")) for _ in range(2))
    assert (np.random.get_state()[1] == state).all()  # noqa: NPY002
    assert first.log_evidence == pytest.approx(second.log_evidence, abs=1e-10)
    other = tg.fit("y ~ gp(x) | censor(lower)", data, method=tg.EP(hyper="maximize"), rng=99)
    assert other.log_evidence == pytest.approx(first.log_evidence, abs=1e-2)


@pytest.mark.slow
@pytest.mark.parametrize("years", [20, 40])
@pytest.mark.parametrize("limit", ["", " | censor(-1)"])
def test_a_signal_of_many_periods_is_no_noise(years, limit):
    rng = np.random.default_rng(0)
    t = np.linspace(0, years, 52 * years)
    y = np.sin(2 * np.pi * t) + 0.3 * rng.normal(size=len(t))
    res = tg.fit("y ~ gp(t)" + limit, {"t": t, "y": np.maximum(y, -1) if limit else y}, method=tg.EP(hyper="maximize"))
    assert res.converged
    assert res.params["sigma"] == pytest.approx(0.3, rel=0.1)
    assert np.sqrt(np.mean((res.predict() - np.sin(2 * np.pi * t)) ** 2)) < 0.15


@pytest.mark.parametrize(("inducing", "share"), [(None, 1e-5), ("auto", 1e-3)])
def test_weights_equal_repeated_rows_in_a_whole_fit(inducing, share):
    """Features are chosen at the maximum, of the rows as they are given; nodes with short length-scales differ."""
    rng = np.random.default_rng(4)
    x = np.repeat(np.linspace(0, 5, 12), 5)
    rows = pd.DataFrame({"x": x, "y": (np.sin(x) + 0.3 * rng.normal(size=60)).round(1).clip(-0.5)})
    counted = rows.groupby(["x", "y"]).size().rename("w").reset_index()
    assert len(counted) < len(rows)
    weighted = tg.fit("y ~ gp(x) | censor(-0.5)", counted, weights="w", method=tg.EP(inducing=inducing))
    repeated = tg.fit("y ~ gp(x) | censor(-0.5)", rows, method=tg.EP(inducing=inducing))
    assert weighted.log_evidence == pytest.approx(repeated.log_evidence, abs=1e-5)
    assert weighted.log_evidence_integrated == pytest.approx(repeated.log_evidence_integrated, abs=share)
    np.testing.assert_array_less(np.abs(weighted.params - repeated.params), share * repeated.bse)


@pytest.mark.parametrize("formula", ["y ~ 1", "y ~ x", "y ~ x | censor(2)"])
def test_a_linear_model_without_noise_fits_at_the_bound(formula):
    x = np.linspace(0, 3, 40)
    y = np.ones(40) if formula == "y ~ 1" else np.maximum(x, 2.0) if "censor" in formula else 2 * x + 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.warns(BoundaryWarning, match="bound for sigma"):
            res = tg.fit(formula, {"x": x, "y": y}, method="ep")
    assert np.isfinite(res.predict()).all()
    assert "(at bound)" in str(res.summary())
    assert np.isnan(res.bse["sigma"])
    if "censor" not in formula:
        np.testing.assert_allclose(res.predict(), y, atol=1e-3)


def test_names_that_cannot_be_told_apart_are_refused(clipped):
    with pytest.raises(tg.errors.DataError, match="'sigma' has the name of a hyper-parameter"):
        tg.fit("y ~ sigma + gp(x) | censor(lower)", clipped.assign(sigma=clipped["x"] ** 2))
    named, plain = clipped.assign(Intercept=clipped["f"]), clipped.assign(z=clipped["f"])
    same = tg.fit("y ~ 0 + Intercept + gp(x)", named).log_evidence
    assert same == pytest.approx(tg.fit("y ~ 0 + z + gp(x)", plain).log_evidence, abs=1e-8)


def test_no_marginal_evidence_without_proper_priors(clipped):
    assert np.isnan(tg.fit("y ~ gp(x) | censor(lower)", clipped, priors={}).log_evidence_integrated)
    assert np.isnan(tg.fit("y ~ gp(x) | censor(lower)", clipped, priors={"sigma": None}).log_evidence_integrated)


@pytest.mark.parametrize("make", [tg.EP, tg.VI, tg.Laplace])
@pytest.mark.parametrize(
    "options",
    [
        {"site_iterations": 0},
        {"site_iterations": 1.5},
        {"damping": 0},
        {"damping": 5.0},
        {"site_tol": -1},
        {"site_tol": "a"},
        {"tol": -1},
        {"tol": "x"},
        {"tol": float("nan")},
        {"n_starts": 0},
        {"max_iter": 2.5},
        {"hyper": ["x"]},
        {"inducing": "all"},
        {"inducing": 0},
    ],
    ids=str,
)
def test_methods_refuse_settings_that_cannot_work(make, options):
    with pytest.raises(SpecError, match=f"^{next(iter(options))}="):
        make(**options)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"rng": "a"}, "rng='a'"),
        ({"progress": "x"}, "progress='x'"),
        ({"fixed": ["sigma"]}, "fixed="),
        ({"fixed": {"Intercept": "a"}}, "finite number"),
        ({"fixed": {"sigma": None}}, "positive number"),
        ({"family": ["gaussian"]}, "family="),
        ({"method": ["ep"]}, "method="),
        ({"priors": "none"}, "priors='none'"),
    ],
)
def test_options_of_the_wrong_kind_are_refused(clipped, options, words):
    with pytest.raises(SpecError, match=words):
        tg.fit("y ~ gp(x) | censor(lower)", clipped, **options)


@pytest.mark.parametrize("factor", [1e-300, 1e200])
def test_scales_beyond_floating_point_are_refused(clipped, factor):
    with pytest.raises(tg.errors.DataError, match="units"):
        tg.fit("y ~ gp(x)", clipped.assign(y=clipped["y"] * factor))
    with pytest.raises(tg.errors.DataError, match="units"):
        tg.fit("y ~ gp(x)", clipped.assign(x=clipped["x"] * factor))


def test_a_large_offset_is_not_constant(clipped):
    near, far = (tg.fit("y ~ gp(x)", clipped.assign(y=clipped["y"] + shift)) for shift in (0.0, 1e10))
    np.testing.assert_allclose(far.predict() - 1e10, near.predict(), atol=1e-3)


@pytest.mark.parametrize("sigma", [1e-9, 1.1e-9, 1e-8])
def test_a_computation_that_breaks_down_names_what_is_fixed(clipped, sigma):
    with pytest.raises(
        tg.errors.NumericalError, match=r"Look at sigma, whose square is lost to rounding: fixed=\{.sigma.: "
    ):
        tg.fit("y ~ gp(x) | censor(lower)", clipped, fixed={"sigma": sigma})


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [{"weights": np.arange(1.0, 41.0)}, {"fixed": {"sigma": 1e-4}}, {"fixed": {"sigma": 1e-4}, "method": "laplace"}],
)
def test_a_hard_search_never_ends_in_nan(options):
    rng = np.random.default_rng(0)
    x, z = np.sort(rng.uniform(0, 10, 40)), rng.normal(size=40)
    y = np.maximum(np.sin(x) + 0.5 * z + 0.2 * rng.normal(size=40), -0.3)
    with warnings.catch_warnings():
        for ours in (BoundaryWarning, ConvergenceWarning, ApproximationWarning):
            warnings.simplefilter("ignore", ours)
        res = tg.fit("y ~ z + gp(x) | censor(-0.3)", {"x": x, "z": z, "y": y}, **options)
    assert np.isfinite(res.predict(interval=0.9)).all().all()
    assert np.isfinite(res.params).all()
    assert np.isfinite(res.log_evidence_integrated) or not res.converged


def test_a_search_that_fails_is_not_integrated(clipped, monkeypatch):
    from dataclasses import replace

    from tobitgp.inference import search as room

    found = room.polish
    monkeypatch.setattr(room, "polish", lambda *args, **options: replace(found(*args, **options), gain_left=5.0))
    with pytest.warns(ConvergenceWarning, match="5 nats before a maximum"):
        res = tg.fit("y ~ gp(x) | censor(lower)", clipped)
    assert not res.converged
    assert np.isnan(res.log_evidence_integrated)
    assert np.isfinite(res.predict()).all()


@pytest.mark.slow
def test_too_many_hyper_parameters_to_integrate_are_refused():
    rng = np.random.default_rng(0)
    data = {f"x{i}": rng.uniform(size=30) for i in range(18)} | {"y": rng.normal(size=30)}
    formula = "y ~ gp(" + ", ".join(f"x{i}" for i in range(18)) + ")"
    with pytest.raises(SpecError, match="at most 18 hyper-parameters, and 20 are free"):
        tg.fit(formula, data, method=tg.EP(hyper="integrate", n_starts=1))
    assert np.isnan(tg.fit(formula, data, method=tg.EP(n_starts=1)).log_evidence_integrated)


def test_few_iterations_are_called_converged_only_at_the_maximum(clipped):
    far = {"sigma": 50.0, "sd(gp(x))": 0.1, "lengthscale(gp(x))": 5.0}
    full = tg.fit("y ~ gp(x) | censor(lower)", clipped)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        res = tg.fit("y ~ gp(x) | censor(lower)", clipped, method=tg.EP(max_iter=1), start=far)
    at_maximum = np.allclose(res.params, full.params, rtol=0.05)
    assert res.converged == at_maximum


@pytest.mark.slow_cases("vi")
@pytest.mark.parametrize("name", ["ep", "vi", "laplace"])
def test_a_fit_of_nearly_the_same_rows_is_climbed_on_from(clipped, name):
    formula, how = "y ~ gp(x, line=False) | censor(lower)", {"method": name}
    full = tg.fit(formula, clipped, **how)
    res = tg.fit(formula, clipped, start=tg.fit(formula, clipped.iloc[3:], **how), **how)
    assert res.converged
    assert "search" not in res.fit_history["stage"].to_list()
    assert res.log_evidence == pytest.approx(full.log_evidence, abs=1e-3)
    np.testing.assert_array_less((res.params - full.params).abs(), 0.02 * full.bse)
    np.testing.assert_allclose(res.bse, full.bse, rtol=0.02)
    assert res.log_evidence_integrated == pytest.approx(full.log_evidence_integrated, abs=0.01)


@pytest.mark.study
def test_so_it_is_on_rows_that_a_sample_stands_for():
    rng = np.random.default_rng(3)
    x = rng.uniform(0.0, 10.0, 25_000)
    y = np.sin(x) + rng.gumbel(0.0, 0.5, len(x))
    data = pd.DataFrame({"x": x, "y": np.minimum(y, 0.5), "event": y < 0.5})
    formula, how = (
        "y ~ gp(x) | censor(event=event)",
        {"family": "gumbel", "method": tg.EP(hyper="maximize", inducing=30)},
    )
    full = tg.fit(formula, data, **how)
    res = tg.fit(formula, data, start=tg.fit(formula, data.iloc[:24_000], **how), **how)
    assert res.fit_history["evaluations"].sum() < full.fit_history["evaluations"].sum() / 2
    assert res.log_evidence > full.log_evidence - 0.01
    np.testing.assert_array_less((res.params - full.params).abs(), 0.05 * full.bse)


def test_a_fit_of_other_terms_is_no_start_and_one_with_fixed_parameters_is_searched_from(clipped):
    other = tg.fit("y ~ gp(x, kernel='matern32', name='f') | censor(lower)", clipped, method=tg.EP(hyper="maximize"))
    with pytest.raises(SpecError, match="start= names"):
        tg.fit("y ~ gp(x) | censor(lower)", clipped, start=other)
    held = tg.fit("y ~ gp(x) | censor(lower)", clipped, fixed={"sigma": 0.3}, method=tg.EP(hyper="maximize"))
    res = tg.fit("y ~ gp(x) | censor(lower)", clipped, start=held, method=tg.EP(hyper="maximize"))
    assert "search" in res.fit_history["stage"].to_list()
    assert res.log_evidence > held.log_evidence


def test_a_fit_to_start_from_is_searched_from_where_starts_are_asked_for(clipped):
    formula = "y ~ gp(x) | censor(lower)"
    near = tg.fit(formula, clipped, method=tg.EP(hyper="maximize"))
    res = tg.fit(formula, clipped, start=near, method=tg.EP(n_starts=3, hyper="maximize"))
    assert "search" in res.fit_history["stage"].to_list()
    assert res.log_evidence == pytest.approx(near.log_evidence, abs=1e-3)


@pytest.mark.parametrize("error", [EPFailure(None), NumericalError("")])
def test_where_the_way_from_another_fit_breaks_down_a_search_begins(clipped, error, monkeypatch):
    formula = "y ~ gp(x) | censor(lower)"
    full = tg.fit(formula, clipped, method=tg.EP(hyper="maximize"))

    def fail(*_):
        raise error

    monkeypatch.setattr(Search, "_near", fail)
    res = tg.fit(formula, clipped, start=full, method=tg.EP(hyper="maximize"))
    assert res.method == "ep"
    assert "search" in res.fit_history["stage"].to_list()
    assert res.log_evidence == pytest.approx(full.log_evidence, abs=1e-3)


def test_a_fit_without_a_posterior_is_no_start(clipped):
    linear = tg.fit("y ~ x | censor(lower)", clipped)
    with pytest.raises(SpecError, match=r"start= is a RegressionResults: must be a dict .*, or a fit by a posterior"):
        tg.fit("y ~ gp(x) | censor(lower)", clipped, start=linear)


def test_the_history_counts_the_screening(clipped):
    res = tg.fit("y ~ gp(x) | censor(lower)", clipped, method=tg.EP(hyper="maximize"))
    seen = []
    tg.fit(
        "y ~ gp(x) | censor(lower)",
        clipped,
        method=tg.EP(hyper="maximize"),
        progress=lambda stage, *_: seen.append(stage),
    )
    assert res.fit_history.set_index("stage").loc["search", "evaluations"] == seen.count("search")


@pytest.mark.slow
def test_a_level_that_is_all_censored_in_a_subset_does_not_end_expectation_propagation():
    rng = np.random.default_rng(5)
    data = pd.DataFrame({"x": rng.uniform(0.0, 3.0, 2000), "g": rng.integers(0, 60, 2000)})
    level = rng.normal(0.0, 0.5, 60)[data["g"]]
    data["y"] = (np.sin(3.0 * data["x"]) + level + rng.normal(0.0, 0.5, 2000)).clip(0.2, 2.0)
    res = tg.fit("y ~ gp(x) + C(g) | censor(0.2, 2)", data, method=tg.EP(hyper="maximize"), priors={})
    assert (res.method, res.converged) == ("ep", True)
