"""Processes in the formula of log sigma by variational inference and Laplace's method."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import multivariate_normal

import tobitgp as tg
from tobitgp.errors import NumericalError, SpecError

CURVE = "y ~ 0 + gp(x, line=False) | censor(limit)"
AT = {
    "sd(gp(x))": 1.0,
    "lengthscale(gp(x))": 0.3,
    "sd(sigma: gp(x))": 0.6,
    "lengthscale(sigma: gp(x))": 0.35,
    "sigma": 0.25,
}
METHODS = {"ep": tg.EP, "vi": tg.VI, "laplace": tg.Laplace}
OTHERS = ["vi", "laplace"]


def made(n=150, seed=6, share=0.3):
    rng = np.random.default_rng(seed)
    x, z = np.sort(rng.uniform(size=n)), rng.normal(size=n)
    scale = 0.1 + 0.7 * x
    full = np.sin(6.0 * x) + scale * rng.normal(size=n)
    data = pd.DataFrame({"x": x, "z": z, "full": full, "scale": scale, "limit": np.quantile(full, share)})
    return data.assign(y=np.maximum(full, data["limit"]), t=np.exp(full), event=rng.uniform(size=n) < 0.8)


@pytest.fixture(scope="module")
def data():
    return made()


@pytest.fixture(scope="module")
def fits(data):
    return {
        name: tg.fit("y ~ gp(x) | censor(limit)", data, sigma="~ gp(x)", method=method(hyper="maximize"))
        for name, method in METHODS.items()
    }


@pytest.mark.slow
def test_all_methods_find_the_noise_scale_and_the_curve(data, fits):
    truth = np.log(data["scale"])
    for name, res in fits.items():
        assert res.converged, name
        assert res.method == name
        scale = res.predict(data, what="sigma", interval=0.95)
        gap = np.log(scale["estimate"]) - truth
        assert np.sqrt(np.mean(np.square(gap))) < 0.2, name
        assert ((scale["lower"] < data["scale"]) & (data["scale"] < scale["upper"])).mean() > 0.85, name
        curve = res.predict(data, what="latent", interval=0.95)
        assert np.sqrt(np.mean(np.square(curve["estimate"] - np.sin(6.0 * data["x"])))) < 0.1, name
    by_ep = fits["ep"].predict(data, what="sigma").to_numpy()
    for name, apart in {"vi": 0.01, "laplace": 0.12}.items():
        assert fits[name].predict(data, what="sigma").to_numpy() == pytest.approx(by_ep, rel=apart)
    assert fits["vi"].evidence_kind == "elbo"
    assert fits["vi"].log_evidence == pytest.approx(fits["vi"].elbo, abs=1e-6)
    assert fits["laplace"].evidence_kind == "laplace"


@pytest.mark.slow
@pytest.mark.parametrize("name", OTHERS)
def test_questions_after_a_file_have_the_same_answers(name, data, fits, tmp_path):
    res, new = fits[name], data.iloc[::30]
    res.save(tmp_path / "fit.tgp")
    again = tg.load(tmp_path / "fit.tgp")
    for asked in ({"what": "sigma", "interval": 0.9}, {"what": "quantile", "q": 0.1, "se": True}):
        pd.testing.assert_frame_equal(again.predict(new, **asked), res.predict(new, **asked))
    assert f"Log evidence by: {res.evidence_kind}" in " ".join(str(res.summary(details=True)).split())
    assert np.isfinite(res.loo().elpd)
    assert res.check().table.loc["convergence", "verdict"] == "good"
    draws = res.sample(new, draws=20_000, rng=1)
    found = np.quantile(draws.to_numpy(), [0.1, 0.5, 0.9], axis=1).T
    assert found == pytest.approx(res.predict(new, what="quantile", q=[0.1, 0.5, 0.9]).to_numpy(), abs=0.05)


@pytest.mark.parametrize("name", OTHERS)
def test_a_scale_that_hardly_moves_has_the_density_of_a_known_one(name):
    """Values alone under columns and offsets of both formulas: the evidence is a normal density."""
    data = made(40)
    at = AT | {"sd(sigma: gp(x, z))": 1e-6, "lengthscale(sigma: gp(x, z))[x]": 0.4, "log(sigma)[z]": 0.3}
    at |= {"lengthscale(sigma: gp(x, z))[z]": 1.0}
    at = {key: value for key, value in at.items() if "sigma: gp(x))" not in key}
    model = tg.Model("full ~ 0 + gp(x, line=False) + offset(0.5 * z)", data, sigma="~ z + gp(x, z) + offset(0.2 * x)")
    found = model.evidence(at, gradient=False, method=METHODS[name](inducing=None)).value
    scale = 0.25 * np.exp(0.3 * (data["z"] - data["z"].mean()) + 0.2 * data["x"])
    x = data["x"].to_numpy()
    K = np.exp(-0.5 * np.square(np.subtract.outer(x, x) / 0.3)) + np.diag(np.square(scale))
    expected = multivariate_normal(np.zeros(40), K).logpdf(data["full"] - 0.5 * data["z"])
    assert found == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("name", OTHERS)
def test_weights_are_copies_of_rows(name):
    data = made(30)
    counted = data.assign(w=np.where(data["y"] > data["limit"], 1.0, 2.0))
    how = {"sigma": "~ gp(x)", "method": METHODS[name](inducing=None)}
    rows = counted.loc[counted.index.repeat(counted["w"].astype(int))]
    found = tg.Model(CURVE, counted, weights="w", **{"sigma": how["sigma"]})
    copies = tg.Model(CURVE, rows, **{"sigma": how["sigma"]})
    values = [each.evidence(AT, gradient=False, method=how["method"]).value for each in (found, copies)]
    assert values[0] == pytest.approx(values[1], abs=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "formula", "sigma", "options"),
    [
        *((name, CURVE, "~ z + gp(x)", {}) for name in OTHERS),
        *((name, "y ~ x | truncate(-1.2)", "~ gp(x)", {}) for name in OTHERS),
        ("laplace", "Surv(t, event) ~ gp(x)", "~ gp(x)", {"family": "weibull"}),
    ],
)
def test_gradients_of_the_evidence_are_those_of_differences(name, formula, sigma, options):
    data = made(24, share=0.3)
    data = data[data["y"] > -1.2]
    model = tg.Model(formula, data, sigma=sigma, **options)
    # At parameters that are no optimum.
    at = {
        key: value * 1.1 for key, value in model.fit(method=tg.EP(hyper="maximize", max_iter=2)).hyperparameters.items()
    }
    method = METHODS[name](inducing=None, site_tol=1e-9)
    found = model.evidence(at, method=method).gradient
    for key, value in at.items():
        step = 5e-4 * abs(value)
        ends = [
            model.evidence({**at, key: value + side * step}, method=method, gradient=False).value for side in (1, -1)
        ]
        slope = (ends[0] - ends[1]) / (2.0 * step)
        assert found[key] == pytest.approx(slope, rel=5e-4, abs=5e-4 / max(abs(value), 1e-3)), key


@pytest.mark.slow
@pytest.mark.parametrize("name", OTHERS)
def test_averages_over_hyper_parameters_are_wider(name):
    data = made(40, seed=5, share=0.4)
    fits = [
        tg.fit("y ~ gp(x) | censor(limit)", data, sigma="~ gp(x)", method=METHODS[name](hyper=hyper))
        for hyper in ("maximize", "integrate")
    ]
    se = [np.log(res.predict(data, what="sigma", interval=0.95)[["lower", "upper"]]) for res in fits]
    width = [each["upper"] - each["lower"] for each in se]
    assert (width[1] > width[0]).mean() > 0.9
    assert np.isfinite(fits[1].log_evidence_integrated)


@pytest.mark.slow
@pytest.mark.parametrize("name", OTHERS)
def test_a_noise_scale_in_two_covariates(name):
    rng = np.random.default_rng(8)
    data = pd.DataFrame(rng.uniform(size=(150, 2)), columns=["x", "z"])
    data["scale"] = 0.15 * np.exp(1.5 * data["z"])
    full = np.sin(5.0 * data["x"]) + data["scale"] * rng.normal(size=150)
    data["limit"] = np.quantile(full, 0.2)
    data["y"] = np.maximum(full, data["limit"])
    how = {"sigma": "~ gp(x, z)", "method": METHODS[name](hyper="maximize")}
    res = tg.fit("y ~ gp(x) + offset(0 * z) | censor(limit)", data, **how)
    assert res.converged
    gap = np.log(res.predict(data, what="sigma")) - np.log(data["scale"])
    assert np.sqrt(np.mean(np.square(gap))) < 0.25


@pytest.mark.parametrize(
    ("formula", "options", "words"),
    [
        (CURVE, {"method": tg.VI(bound="local")}, "bound='local': .* not supported with sigma: gp\\(x\\). Use tg.VI"),
        (CURVE, {"method": tg.VI(bound="monte_carlo")}, "bound='monte_carlo': .* not supported with sigma: gp\\(x\\)"),
        ("t ~ x", {"method": "vi", "family": "weibull"}, "minus infinity with sigma: gp\\(x\\) and family='weibull'"),
        ("t ~ x", {"method": "vi", "family": tg.GenGamma(Q=0.1)}, "minus infinity .* family='gengamma'"),
    ],
)
def test_what_has_no_rule_is_refused(data, formula, options, words):
    with pytest.raises(SpecError, match=words):
        tg.fit(formula, data, sigma="~ gp(x)", **options)


@pytest.mark.slow
@pytest.mark.parametrize("name", OTHERS)
def test_limits_taken_for_values_are_named(name):
    with pytest.raises(NumericalError, match=f"method='{name}' does not converge .* many rows share"):
        tg.fit("y ~ gp(x)", made(40, seed=3, share=0.5), sigma="~ gp(x)", method=METHODS[name](hyper="maximize"))


@pytest.mark.parametrize("name", OTHERS)
def test_units_and_the_order_of_rows_change_no_answer(name):
    data = made(30)
    other = data.sample(frac=1.0, random_state=1).assign(
        x=lambda d: 1000.0 * d["x"], y=lambda d: 10.0 * d["y"], limit=lambda d: 10.0 * d["limit"]
    )
    scaled = {key: value * (1000.0 if key.startswith("lengthscale") else 1.0) for key, value in AT.items()}
    scaled |= {"sd(gp(x))": 10.0, "sigma": 2.5}
    values = [
        tg.Model(CURVE, rows, sigma="~ gp(x)").evidence(at, gradient=False, method=METHODS[name](inducing=None)).value
        for rows, at in ((data, AT), (other, scaled))
    ]
    seen = (data["y"] > data["limit"]).sum()
    assert values[1] == pytest.approx(values[0] - seen * np.log(10.0), abs=1e-6)
