"""What strata, frailties and several processes leave of draws of hazards."""

import numpy as np
import pandas as pd
import pytest

import tobitgp as tg
from tobitgp.distributions.baselines import GompertzBaseline


@pytest.mark.slow
def test_proportionality_is_tested_beside_a_stratum_without_events() -> None:
    rng = np.random.default_rng(0)
    d = pd.DataFrame({"x": rng.normal(size=40), "h": rng.choice(list("pq"), 40), "t": rng.exponential(size=40) + 0.01})
    d["e"] = (d.h == "p") * 1
    res = tg.fit("Surv(t, e) ~ x + strata(h)", d, family="ph", method=tg.EP(hyper="maximize"))
    found = res.proportionality()
    assert found["p"].between(0.0, 1.0).all()
    assert "proportional hazards" in res.check().table.index


@pytest.mark.parametrize("slope", [0.0, 1e-12, 0.2, 3.0, -0.1])
def test_gompertz_times_are_found_however_large_the_hazard(slope: float) -> None:
    v, c = np.array([-5.0, 0.0, 1.0, 2.0]), [np.full(4, slope)]
    np.testing.assert_allclose(GompertzBaseline().inverse(GompertzBaseline().at(v, c)[0], c), v, atol=1e-9)
    assert not np.isnan(GompertzBaseline().inverse(np.array([np.inf, 800.0, -np.inf, -800.0]), c)).any()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Some draws are infinite")  # of hazards that fall, Gompertz's have a limit
def test_draws_of_a_frailty_at_its_boundary_survive_as_predicted() -> None:
    rng = np.random.default_rng(115)
    g = rng.integers(0, 8, 80)
    d = pd.DataFrame({"g": g.astype(str), "t": rng.weibull(1.2, 80) * np.exp(0.12 * rng.normal(size=8)[g]) + 1e-3})
    d["e"] = (rng.random(80) < 0.8) * 1
    for baseline in ("gompertz", "weibull"):
        res = tg.fit("Surv(t, e) ~ (1 | g)", d, family=tg.PH(baseline, frailty="gamma"))
        draws = res.sample(d[["g"]].head(1), 4000, rng=1).to_numpy(dtype=float).ravel()
        survival = float(res.predict_survival_function(d[["g"]].head(1), times=[1.0]).to_numpy().item())
        assert not np.isnan(draws).any()
        assert (draws > 1.0).mean() == pytest.approx(survival, abs=0.03)


@pytest.mark.slow
def test_every_process_of_a_hazard_is_drawn() -> None:
    rng = np.random.default_rng(0)
    d = pd.DataFrame({"a": rng.uniform(1, 9, 120), "b": rng.uniform(0, 1, 120), "g": rng.choice(list("uv"), 120)})
    d = d.assign(e=1, t=rng.exponential(np.exp(np.sin(d.a))))
    for terms, panels in (("gp(log(a)) + gp(b)", ["a", "b"]), ("gp(a, b)", ["a"]), ("gp(log(a), by=g)", ["a"])):
        res = tg.fit(f"Surv(t, e) ~ {terms}", d, family="ph", method=tg.EP(hyper="maximize"))
        axes = res.plot()[1:]
        assert [ax.get_xlabel() for ax in axes] == panels
    assert axes[0].get_legend_handles_labels()[1] == ["g = u", "g = v"]
