"""Hazards do not depend on how follow-up is cut into rows, nor their bands on digits."""

import numpy as np
import pandas as pd
import pytest

import tobitgp as tg
from tobitgp.results.hazards.cells import AtRisk, band_labels, choose_bands


@pytest.fixture(scope="module")
def whole():
    rng = np.random.default_rng(4)
    n = 80
    z = rng.normal(size=n)
    life, seen = rng.weibull(1.3, n) * np.exp(0.3 * z), rng.uniform(0.3, 2.0, n)
    time, event = np.minimum(life, seen), (life <= seen).astype(int)
    return pd.DataFrame({"z": z, "time": time, "event": event, "who": range(n), "sigma": z})


def cut(whole, share):
    """Each row in two pieces."""
    first = whole.assign(start=0.0, stop=share * whole["time"], event=0)
    return pd.concat([first, whole.assign(start=share * whole["time"], stop=whole["time"])], ignore_index=True)


@pytest.mark.parametrize("even", [True, False])
def test_bands_end_at_events(whole, even):
    pieces = cut(whole, 0.7)
    one = AtRisk(np.zeros(len(whole)), whole["time"].to_numpy(), whole["event"].to_numpy() == 1, np.ones(len(whole)))
    two = AtRisk(
        *(pieces[name].to_numpy() for name in ("start", "stop")), pieces["event"].to_numpy() == 1, np.ones(160)
    )
    np.testing.assert_array_equal(choose_bands(one, 8, even=even), choose_bands(two, 8, even=even))
    inner = choose_bands(one, 8, even=even)[1:-1]
    assert np.isin(inner, whole["time"][whole["event"] == 1]).all()


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.3, 0.7])
def test_rows_cut_in_two_have_the_same_fit(whole, share):
    options = {"family": tg.PH(bands=8), "method": tg.EP(hyper="maximize")}
    one = tg.fit("Surv(time, event) ~ z", whole, **options)
    two = tg.fit("Surv(start, stop, event) ~ z", cut(whole, share), id="who", **options)
    assert two.log_evidence == pytest.approx(one.log_evidence, abs=1e-5)
    np.testing.assert_allclose(two.params["z"], one.params["z"], rtol=1e-5)


@pytest.mark.parametrize("cuts", [[0.0, 1.0, 2.5], [0.0, 2015.123, 2015.124], [0.0, 1e5, np.nextafter(1e5, 2e5)]])
def test_names_of_bands_differ(cuts):
    names = band_labels(np.array(cuts))
    assert len(set(names)) == len(names)
    for name, low, high in zip(names, cuts[:-1], cuts[1:], strict=True):
        assert [float(end) for end in name.strip("(]").split(", ")] == pytest.approx([low, high], rel=1e-4)


def test_a_covariate_called_sigma(whole):
    options = {"family": tg.PH("piecewise", bands=4), "method": "mle"}
    named, plain = (tg.fit(f"Surv(time, event) ~ {name}", whole, **options) for name in ("sigma", "z"))
    np.testing.assert_allclose(named.params.to_numpy(), plain.params.to_numpy(), rtol=1e-10)
    np.testing.assert_allclose(named.bse.to_numpy(), plain.bse.to_numpy(), rtol=1e-10)
    assert "sigma" in named.params.index


@pytest.mark.parametrize("origin", [1e4, 1e6])
def test_draws_keep_their_variance_far_from_zero(whole, origin):
    """Standard errors of averages, by draws, where a covariate is moved."""
    options = {"family": tg.PH("piecewise", bands=3), "method": "mle"}
    near = tg.fit("Surv(time, event) ~ z", whole, **options)
    far = tg.fit("Surv(time, event) ~ z", whole.assign(z=whole["z"] + origin), **options)
    found, wanted = (
        res.standardise({"z": [float(res.parts.covariates["z"].iloc[0])]}, "survival", [0.5])["se"].iloc[0]
        for res in (far, near)
    )
    assert found == pytest.approx(wanted, rel=0.05)
