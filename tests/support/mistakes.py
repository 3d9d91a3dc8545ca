"""Calls that are mistakes, the words of the remedy in what they say, and the calls that follow these words."""

import warnings
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

import tobitgp as tg
from support.methods import with_settings

N = 60


def rows():
    """Small data with columns for every mistake."""
    rng = np.random.default_rng(0)
    x, k = rng.normal(size=N), np.arange(N)
    data = pd.DataFrame({"x": x, "z": rng.uniform(0, 4, N), "g": np.repeat(list("abc"), 20), "firm": k % 15})
    data["y"], data["w"] = x + 0.5 * rng.normal(size=N), rng.uniform(0.5, 2.0, N)
    data["far"], data["same"] = np.where(k == 3, 1e4, data["y"]), np.where(k > 0, 1.0, 2.0)
    data["t"], data["e"] = np.exp(0.5 * x + 0.4 * rng.normal(size=N)), (k % 3 > 0) * 1
    data["low"], data["c"], data["nd"] = -1.0, np.maximum(data["y"], -1.0), (data["y"] < -1.0) * 1
    data["q"] = np.where(data["y"] < -1.0, np.where(k % 2, "U", "UJ"), "")
    data["seven"], data["twice"], data["row"], data["solo"] = 7.0, 2.0 * x, [f"r{i}" for i in k], k == 0
    data["day"] = pd.date_range("2020-01-01", periods=N)
    data["month"] = data["day"].dt.to_period("D")
    data["text"] = data["x"].astype(object)
    data.loc[0, "text"] = "?"
    data["id"], data["start"], data["died"] = k // 2, np.tile([0.0, 1.0], N // 2), np.tile([0, 1], N // 2) * (k % 4 > 1)
    data["stop"] = np.where(k % 2, data["start"] + 0.5 + data["t"], 1.0)
    return data


D = rows()


class Mistake(NamedTuple):
    """A call, words of the remedy in what it says, and calls that follow them."""

    call: Any
    words: str
    remedies: tuple[Any, ...]


def fit(formula, data=D, **options):
    return tg.fit(formula, data, **options)


def at_maximum(formula, data=D, **options):
    return tg.fit(formula, data, **with_settings(options, hyper="maximize", n_starts=1))


def heard(call):
    """What a call answers, and all that it says."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            answer = call()
        except (tg.errors.TobitGPError, TypeError) as error:
            return None, [str(error)]
    return answer, [str(one.message) for one in caught]


def assert_numbers(answer):
    """Estimates, or a table, are finite."""
    if hasattr(answer, "bse"):
        assert np.isfinite(answer.params).all()
        assert np.isfinite(answer.bse).all()
    elif isinstance(answer, pd.Series | pd.DataFrame):
        assert np.isfinite(answer.to_numpy(dtype=float)).all()


def follow(mistake):
    """Carry out the remedies: the same is not said again, and there are numbers."""
    _, said = heard(mistake.call)
    assert any(mistake.words in text for text in said), said
    for remedy in mistake.remedies:
        answer, now = heard(remedy)
        assert answer is not None, now
        assert not [text for text in now if mistake.words in text]
        assert_numbers(answer)
