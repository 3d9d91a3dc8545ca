"""From formula and data frame to a problem: units, names, equivariance of whole fits."""

import numpy as np
import pandas as pd
import pytest
from support.problems import GAUSSIAN

from tobitgp.data.prepare import prepare
from tobitgp.errors import SpecError
from tobitgp.formula import parse_formula
from tobitgp.inference import METHODS, EPUpdates
from tobitgp.inference.assembly import plan_rows
from tobitgp.inference.fitted import Task
from tobitgp.inference.given_parameters import GivenParameters
from tobitgp.inference.partition_fit import fit_gp
from tobitgp.likelihoods import FAMILIES
from tobitgp.priors.hyperpriors import LogNormal, Normal

SHIFT, STRETCH, SLIDE, ZOOM = 40.0, 7.0, -3.0, 0.2
SAME = 1e-6


@pytest.fixture
def frame(rng):
    x, z = np.sort(rng.uniform(0.0, 5.0, 30)), rng.normal(size=30)
    y = np.sin(x) + 0.5 * z + 0.2 * rng.normal(size=30)
    return pd.DataFrame({"y": y, "x": x, "z": z, "low": -0.4, "high": 0.9}).assign(y=np.clip(y, -0.4, 0.9))


def model_of(frame, formula="y ~ z + gp(x) | censor(low, high)", family="gaussian", **options):
    training = prepare(parse_formula(formula, list(frame)), frame)
    spec, given = training.state.spec, GivenParameters.read(**options)
    plan, rows = plan_rows(spec, training.response, training.design, FAMILIES[family], given, training.labels)
    return plan.build(rows), training


def fitted_by(frame, method, formula="y ~ z + gp(x) | censor(low, high)", **options):
    model, training = model_of(frame, formula, **options)
    fitted = fit_gp(Task(model.problem, model.prior, model.parameters, GAUSSIAN), method)
    return model, training, fitted


def predictions(model, training, fitted):
    """Mean and sd of f at the training rows in the user's units, at the maximum."""
    posterior = fitted.points[0]
    A, d = posterior.features(model.inputs(training.design))
    m, v_p = A.times(posterior.w), posterior.factor.variance(A)
    scale = model.problem.units.scale
    return model.known_mean(training.design) + scale * m, scale * np.sqrt(v_p + d)


def other_units(frame):
    ends = {c: STRETCH * frame[c] + SHIFT for c in ("y", "low", "high")}
    return frame.assign(**ends, x=ZOOM * frame["x"] + SLIDE)


@pytest.mark.parametrize("name", METHODS)
def test_fits_do_not_depend_on_units(frame, name):
    here, there = fitted_by(frame, METHODS[name]()), fitted_by(other_units(frame), METHODS[name]())
    exact = here[1].counts["exact"]
    assert 0 < exact < 30
    assert there[2].evidence == pytest.approx(here[2].evidence - exact * np.log(STRETCH), abs=SAME)
    assert there[2].log_evidence_integrated == pytest.approx(
        here[2].log_evidence_integrated - exact * np.log(STRETCH), abs=SAME
    )
    sizes = [m.parameters.values(f.points[0].theta) for m, _, f in (here, there)]
    np.testing.assert_allclose(sizes[1] / sizes[0], [STRETCH, ZOOM, STRETCH], rtol=SAME)
    np.testing.assert_allclose(there[2].weights, here[2].weights, rtol=0, atol=SAME)
    (mean, sd), (far_mean, far_sd) = predictions(*here), predictions(*there)
    np.testing.assert_allclose(far_mean, STRETCH * mean + SHIFT, rtol=0, atol=STRETCH * SAME)
    np.testing.assert_allclose(far_sd, STRETCH * sd, rtol=0, atol=STRETCH * SAME)


@pytest.mark.slow
def test_a_column_in_other_units_changes_its_coefficient_only(frame):
    here, there = fitted_by(frame, EPUpdates()), fitted_by(frame.assign(z=50.0 * frame["z"] + 9.0), EPUpdates())
    assert there[2].evidence == pytest.approx(here[2].evidence, abs=SAME)
    beta = [m.linear.coefficients(f.points[0].w[:2], m.problem.units.centre) for m, _, f in (here, there)]
    assert beta[1][1] * 50.0 == pytest.approx(beta[0][1], abs=1e-5)


def test_offset_is_taken_away_and_given_back(frame):
    moved = frame.assign(o=3.0 * frame["x"])
    ends = {c: moved[c] + moved["o"] for c in ("y", "low", "high")}
    plain = fitted_by(frame, EPUpdates())
    offset = fitted_by(moved.assign(**ends), EPUpdates(), "y ~ z + offset(o) + gp(x) | censor(low, high)")
    assert offset[2].evidence == pytest.approx(plain[2].evidence, abs=SAME)
    np.testing.assert_allclose(predictions(*offset)[0], predictions(*plain)[0] + moved["o"], rtol=0, atol=SAME)


def test_fixed_coefficient_is_an_offset(frame):
    fixed = fitted_by(frame, EPUpdates(), fixed={"z": 0.5})
    moved = fitted_by(frame.assign(o=0.5 * frame["z"]), EPUpdates(), "y ~ offset(o) + gp(x) | censor(low, high)")
    assert fixed[2].evidence == pytest.approx(moved[2].evidence, abs=SAME)
    np.testing.assert_allclose(predictions(*fixed)[0], predictions(*moved)[0], rtol=0, atol=1e-5)


def test_lognormal_is_gaussian_on_logs_with_its_jacobian(frame):
    times = frame.assign(t=np.exp(frame["y"]), lo=np.exp(frame["low"]), up=np.exp(frame["high"]))
    gaussian = fitted_by(frame, EPUpdates())
    lognormal = fitted_by(times, EPUpdates(), "t ~ z + gp(x) | censor(lo, up)", family="lognormal")
    inside = (frame["y"] > frame["low"]) & (frame["y"] < frame["high"])
    assert lognormal[2].evidence == pytest.approx(gaussian[2].evidence - frame["y"][inside].sum(), abs=SAME)


def test_names_units_and_priors(frame):
    model, _ = model_of(
        frame,
        fixed={"sigma": 0.3},
        start={"sd(gp(x))": 2.0},
        priors={"lengthscale(gp(x))": LogNormal(1.5, 0.4), "z": Normal(1.0, 0.1), "sd(gp(x))": None},
    )
    parameters, units = model.parameters, model.problem.units
    assert parameters.names == ("sd(gp(x))", "lengthscale(gp(x))", "sigma")
    assert parameters.free.tolist() == [True, True, False]
    theta = np.where(np.isnan(parameters.start), parameters.prior_mean, parameters.start)
    np.testing.assert_allclose(parameters.values(theta), [2.0, 1.5, 0.3])
    assert parameters.prior_sd[:2].tolist() == [np.inf, 0.4]
    assert parameters.units[1] == pytest.approx(frame["x"].std(ddof=0))
    assert (model.linear.mean[1], model.linear.sd[1]) == (1.0, 0.1)
    assert units.scale == pytest.approx(parameters.units[0])


def test_empty_priors_mean_none(frame):
    model, _ = model_of(frame, priors={})
    assert np.isinf(model.parameters.prior_sd).all()
    weak, _ = model_of(frame)
    np.testing.assert_allclose(model.linear.sd / weak.linear.sd, [1e3, 4e3])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"fixed": {"sgma": 1.0}}, "Did you mean 'sigma'"),
        ({"fixed": {"sigma": -1.0}}, "positive"),
        ({"fixed": {"sigma": "1"}}, "positive"),
        ({"start": {"z": 1.0}}, "start= is for hyper-parameters"),
        ({"priors": {"sigma": Normal(0, 1)}}, "LogNormal"),
        ({"priors": {"z": LogNormal(1, 1)}}, "Normal"),
        ({"fixed": {"z": np.nan}}, "finite"),
        ({"inducing": 0}, "inducing"),
        ({"inducing": "many"}, "inducing"),
        ({"inducing": np.zeros((3, 2))}, r"\(M, 1\)"),
        ({"inducing": {"gp(y)": 3}}, "gp"),
    ],
)
def test_refusals(frame, options, words):
    with pytest.raises(SpecError, match=words):
        model_of(frame, **options)


@pytest.mark.parametrize("Z", [[0.0, 1.0, 2.0], [[0.0], [1.0], [2.0]]])
def test_inducing_locations_are_in_the_users_units(frame, Z):
    model, _ = model_of(frame, inducing=np.array(Z))
    want = (np.array([0.0, 1.0, 2.0]) - frame["x"].mean()) / frame["x"].std(ddof=0)
    np.testing.assert_allclose(model.prior.gps[0].inducing[:, 0], want)
