"""Random samples with non-detects, and random questions to the functions for them."""

import numpy as np
import pandas as pd

from tobitgp import nondetects as nd

FAMILIES = ("lognormal", "normal", "weibull", "gamma")


def random_sample(rng):
    """Columns of a sample: values, flags, groups, another series, seasons."""
    n = int(rng.integers(5, 61))
    y = np.exp(rng.normal(size=n) * rng.choice([0.05, 1.0, 2.5]))
    limit = rng.choice(np.quantile(y, rng.uniform(0, 1, int(rng.integers(1, 4)))), n)
    if rng.random() < 0.2:
        limit = np.full(n, some(rng, [0.5 * y.min(), 2.0 * y.max()]))
    if rng.random() < 0.3:
        y = y.round(1) + 0.05
    flag = y < limit
    x = rng.uniform(0, 10, n)
    if rng.random() < 0.2:
        x = x.round()
    data = pd.DataFrame({"y": np.maximum(y, limit), "flag": flag, "x": x})
    data["other"] = np.maximum(y * np.exp(rng.normal(size=n)), limit)
    data["other_flag"] = data["other"] <= limit
    data["g"] = rng.choice(list("abc")[: int(rng.integers(1, 4))], n)
    data["season"] = np.arange(n) % 4
    data["year"] = np.arange(n) // 4
    data["text"] = [f"<{v:.4g}" if f else f"{v:.4g}" for v, f in zip(data["y"], flag, strict=True)]
    if rng.random() < 0.1:
        data.loc[0, "y"] = np.nan
    return data


def some(rng, values):
    return values[int(rng.integers(len(values)))]


def ask_nondetects(rng, number=5):
    """Pairs of the name of a function and a call of it."""
    data = random_sample(rng)
    y, flag, x, family = data["y"], data["flag"], data["x"], some(rng, FAMILIES)
    other, other_flag, column = data["other"], data["other_flag"], some(rng, [("y", "flag"), ("text", None)])
    method = some(rng, [None, "bca", "profile", "cox", "delta", "land", "km-t", "km-chebyshev"])
    groups = some(rng, ["peto", "gehan", "permutation", "mle"])
    quick = {"n_permutations": 199, "rng": 1}
    level = float(data["y"].quantile(0.8))
    calls = {
        "summary": lambda: nd.summary(data, *column, by=some(rng, [None, "g"]), family=family, bootstrap=200, rng=1),
        "ros": lambda: nd.ros(y, flag, force=True),
        "upper_confidence_limit": lambda: nd.upper_confidence_limit(
            y, flag, method, family=family, bootstrap=200, rng=1
        ),
        "tolerance_limit": lambda: nd.tolerance_limit(y, flag, family=family),
        "prediction_limit": lambda: nd.prediction_limit(y, flag, family=family, bootstrap=200, rng=1),
        "exceedance": lambda: nd.exceedance(y, level, flag, family=family),
        "kendall": lambda: nd.kendall(y, x, flag, **quick),
        "kendall of two": lambda: nd.kendall(y, other, flag, other_flag, **quick),
        "seasonal_kendall": lambda: nd.seasonal_kendall(y, data["year"], data["season"], flag, **quick),
        "theil_sen": lambda: nd.theil_sen(y, x, flag, bootstrap=some(rng, [None, 200]), rng=1),
        "test_groups": lambda: nd.test_groups("y ~ g | censor(nondetect=flag)", data, method=groups, **quick),
        "test_paired": lambda: nd.test_paired(y, other, flag, other_flag, method=some(rng, ["signed_rank", "sign"])),
        "gehan_scores": lambda: nd.gehan_scores(y, flag),
        "read": lambda: nd.read(data, *column),
        "plot_ecdf": lambda: draw(nd.plot_ecdf(data, *column, by=some(rng, [None, "g"]))),
        "plot_box": lambda: draw(nd.plot_box(data, *column, by=some(rng, [None, "g"]))),
        "plot_probability": lambda: draw(nd.plot_probability(data, *column, family=family)),
        "plot_trend": lambda: draw(nd.plot_trend(y, x, flag)),
    }
    return [(str(name), shown(calls[name])) for name in rng.choice(list(calls), number, replace=False)]


def shown(call):
    """The call, whose answer is printed as well."""

    def ask():
        answer = call()
        str(answer)
        return getattr(answer, "table", answer)

    return ask


def draw(axes):
    from matplotlib import pyplot

    np.ravel(np.array(axes, dtype=object))[0].figure.canvas.draw()
    pyplot.close("all")
