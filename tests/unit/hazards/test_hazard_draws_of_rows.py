"""Averages over draws of hazards, by blocks of rows, beside their definition; and what strata and frailties leave."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.integrate import quad

import tobitgp as tg
from tobitgp.distributions.baselines import GompertzBaseline
from tobitgp.results.hazards.bands import Hazards


def _hazards(least: float) -> Hazards:
    rng = np.random.default_rng(3)
    cuts, level = np.array([0.0, 0.5, 1.2, 3.0]), least * np.exp(rng.normal(size=(7, 5)))
    rate = np.exp(rng.normal(size=(2, 3, 5)))
    steps = np.cumsum(rate * np.diff(cuts)[:, None], axis=1)
    at_cuts = np.concatenate([np.zeros((2, 1, 5)), steps], axis=1)
    return Hazards(cuts, level, rate, np.array([0, 1, 1, 0, 0, 1, 0]), at_cuts, np.zeros(2))


@pytest.mark.parametrize("least", [1.0, 1e-7])
def test_survival_and_restricted_means_are_those_of_the_definition(
    least: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tobitgp.results.hazards.bands._BLOCK", 10)
    hazards, times = _hazards(least), np.array([[0.3, 1.0, 2.9]] * 7) * np.linspace(0.5, 1.0, 7)[:, None]
    S = np.exp(-hazards.cumulative(times))
    log_S, rate = hazards.survived(times, rates=True)
    np.testing.assert_allclose(log_S, np.log(S.mean(axis=2)), rtol=1e-9, atol=1e-15)
    np.testing.assert_allclose(rate, (S * hazards.hazard(times)).sum(axis=2) / S.sum(axis=2), rtol=1e-12)
    for t in (0.4, 1.2, 2.0):
        found = hazards.restricted_mean(t)
        for i, s in ((0, 0), (1, 3), (6, 4)):
            at = lambda u, i=i, s=s: float(np.exp(-hazards.cumulative(np.full((7, 1), u))[i, 0, s]))  # noqa: E731
            right = quad(at, 0.0, t, points=[c for c in (0.5, 1.2) if c < t], epsabs=1e-13)[0]
            assert found[i, s] == pytest.approx(right, rel=1e-9)


@pytest.mark.parametrize("spread", [0.0, 0.5, 20.0])
def test_restricted_means_of_many_rows_are_interpolated(spread: float) -> None:
    """To the digits of the definition, and not at all where levels differ by a factor of e^80."""
    few = _hazards(1.0)
    level = np.exp(spread * np.linspace(-2.0, 2.0, 60)[:, None] + few.level[:1])
    many = replace(few, level=level, group=np.zeros(60, dtype=np.intp))
    for t, after in ((0.4, 0.0), (2.0, 0.3)):
        alone = [
            replace(few, level=level[i : i + 1], group=many.group[:1]).restricted_mean(t, after)[0] for i in range(60)
        ]
        np.testing.assert_allclose(many.restricted_mean(t, after), alone, rtol=1e-9, atol=1e-9 * t)


@pytest.mark.slow
def test_proportionality_is_tested_beside_a_stratum_without_events() -> None:
    rng = np.random.default_rng(0)
    d = pd.DataFrame({"x": rng.normal(size=40), "h": rng.choice(list("pq"), 40), "t": rng.exponential(size=40) + 0.01})
    d["e"] = (d.h == "p") * 1
    res = tg.fit("Surv(t, e) ~ x + strata(h)", d, family="ph", hyper="maximize")
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
        res = tg.fit(f"Surv(t, e) ~ {terms}", d, family="ph", hyper="maximize")
        axes = res.plot()[1:]
        assert [ax.get_xlabel() for ax in axes] == panels
    assert axes[0].get_legend_handles_labels()[1] == ["g = u", "g = v"]
