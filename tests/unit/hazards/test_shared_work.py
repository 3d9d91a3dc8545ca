"""What rows and times share is computed once, whatever their number."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

import tobitgp as tg
from tobitgp.distributions.piecewise import Piecewise
from tobitgp.results.competing import first_times
from tobitgp.results.hazards.cells import alike_rows


@pytest.fixture(scope="module")
def data() -> pd.DataFrame:
    rng = np.random.default_rng(5)
    x, z = rng.normal(size=(2, 60))
    time = rng.exponential(size=60) * np.exp(-0.4 * x) + 0.01
    cause = (rng.random(60) < 0.8) * (1 + (rng.random(60) < 0.4))
    return pd.DataFrame({"t": time, "e": (cause > 0) * 1, "c": cause, "x": x, "z": z})


@pytest.fixture(scope="module")
def one(data: pd.DataFrame) -> Any:
    return tg.fit("Surv(t, e) ~ x + z", data, family=tg.PH(bands=8), method=tg.EP(hyper="maximize"))


@pytest.fixture(scope="module")
def several(data: pd.DataFrame) -> Any:
    return tg.fit("Surv(t, c) ~ x + z", data, family=tg.PH(bands=8), method=tg.EP(hyper="maximize"))


@pytest.fixture
def looked_up(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Numbers of hazards that were computed, a product of rows, times and draws in each call."""
    sizes, plain = [], Piecewise.hazards_at

    def counted(self: Piecewise, times: np.ndarray) -> Any:
        found = plain(self, times)
        sizes.append(int(np.prod(np.broadcast_shapes(self.level.shape, found.cumulative.shape))))
        return found

    monkeypatch.setattr(Piecewise, "hazards_at", counted)
    return sizes


def test_curves_at_many_times_take_the_sums_of_a_few(one: Any, data: pd.DataFrame, looked_up: list[int]) -> None:
    totals = []
    for m in (1000, 2000):
        looked_up.clear()
        one.predict_survival_function(data, np.linspace(0.01, 1.0, m))
        totals.append(sum(looked_up))
    assert 0 < totals[0] == totals[1]


@pytest.mark.slow
def test_curves_at_many_times_are_those_at_few(one: Any, data: pd.DataFrame) -> None:
    times = np.linspace(0.01, data["t"].max() - 1.0, 300)
    for name in ("survival_function", "cumulative_hazard", "hazard"):
        for after in (None, np.linspace(0.0, 1.0, 60)):
            ask = getattr(one, f"predict_{name}")
            found = ask(data, times, conditional_after=after)
            some = [ask(data, times[[i]], conditional_after=after).to_numpy() for i in (0, 7, 150, 299)]
            np.testing.assert_allclose(found.to_numpy()[[0, 7, 150, 299]], np.concatenate(some), rtol=1e-10)


def test_restricted_means_of_survivors_take_no_times(one: Any, data: pd.DataFrame, looked_up: list[int]) -> None:
    for after in (0.2, np.linspace(0.1, 0.3, 60)):
        looked_up.clear()
        found = one.predict_restricted_mean(data, t=1.0, conditional_after=after)
        assert sum(looked_up) <= 5 * 60 * 1000
        start = np.broadcast_to(after, 60)
        steps = np.linspace(0.0, 1.0, 4001)
        curve = one.predict_survival_function(data, steps, conditional_after=start).to_numpy()
        area = ((curve[1:] + curve[:-1]) * 0.5 * np.diff(steps)[:, None]).sum(axis=0)
        np.testing.assert_allclose(found, area, rtol=2e-6)


@pytest.mark.parametrize("question", ["predict_cumulative_incidence", "predict_restricted_mean"])
def test_rows_share_a_rule(several: Any, data: pd.DataFrame, monkeypatch: pytest.MonkeyPatch, question: str) -> None:
    rules, plain = [], first_times.find_rule
    monkeypatch.setattr(first_times, "find_rule", lambda *given: rules.append(1) or plain(*given))
    at = {"times": [0.5, 1.0]} if "incidence" in question else {"t": 1.0}
    for n in (3, 30):
        rules.clear()
        getattr(several, question)(data.head(n), **at, interval=0.9)
        assert len(rules) == 1


def test_averages_over_rows_draw_all_of_them_at_once(several: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    kind, draws = type(several), []
    plain = kind._first
    monkeypatch.setattr(kind, "_first", lambda *given, **more: draws.append(given[3]) or plain(*given, **more))
    several.standardise({"z": [0.0, 1.0]}, what="rmst", times=[0.5, 1.0], draws=500, rng=1)
    assert draws == [500]


def test_labels_of_rows_may_have_the_name_of_a_covariate() -> None:
    rows = pd.DataFrame({"x": [1.0, 2.0, 1.0], "z": [0.0, 0.0, 0.0]})
    assert alike_rows(rows.set_index(pd.Index([5, 6, 7], name="x"))).tolist() == [0, 1, 0]
