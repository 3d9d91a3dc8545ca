"""Table 2: the German credit data, and Rotterdam breast cancer patients predicting German ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from synthetic import MAXIMISED, maximised, weak

import tobitgp as tg

PER_ROW = "Surv(time, event)"
OF_TIMES = {"family": "gaussian"}  # as in the paper; survival times are log-normal elsewhere
EACH = {"mae": "error of each row", "nlpd": "loss of each row"}


def scores(res: Any, test: pd.DataFrame, upper: float = np.inf) -> dict[str, Any]:
    """Return measures of new rows with the standard errors of their means; predictions are clipped at ``upper``."""
    f = res.predict(test, "latent", se=True)
    time, event = test["time"], test["event"].to_numpy(bool)
    sd = np.hypot(f["se"], res.params["sigma"])
    error = (f["estimate"].clip(upper=upper) - time).abs()
    each = np.arange(len(test))  # a stratum a row
    as_seen = tg.metrics.nlpd(time, f["estimate"], sd, event=event, stratify=each).drop("all")
    return _summary(error, as_seen, event, time, f["estimate"]) | {
        "nlpd_values": float(tg.metrics.nlpd(time, f["estimate"], sd)),
        "sd_of_mean": float(f["estimate"].std()),
        "sigma": float(res.params["sigma"]),
    }


def scores_of_logs(res: Any, test: pd.DataFrame) -> dict[str, Any]:
    """Return the measures of a log-normal model, with medians as predictions and densities of the times themselves."""
    f = res.predict(test, "latent", se=True)
    time, event = test["time"], test["event"].to_numpy(bool)
    sd, each = np.hypot(f["se"], res.params["sigma"]), np.arange(len(test))
    as_seen = tg.metrics.nlpd(np.log(time), f["estimate"], sd, event=event, stratify=each).drop("all")
    as_seen = as_seen.to_numpy() + np.where(event, np.log(time), 0.0)
    median = np.exp(f["estimate"])
    return _summary((median - time).abs(), as_seen, event, time, median)


def _summary(error: Any, nlpd: Any, event: Any, time: Any, predicted: Any) -> dict[str, Any]:
    root = np.sqrt(len(error))
    missing = np.where(event, error, np.maximum(time - predicted, 0.0))  # a censored row counts what is short of it
    return {
        "mae": error.mean(),
        "mae_se": error.std() / root,
        "mae_events": error[event].mean(),
        "mae_short": missing.mean(),
        "nlpd": float(np.mean(nlpd)),
        "nlpd_se": float(np.std(nlpd, ddof=1)) / root,
        EACH["mae"]: np.asarray(error),
        EACH["nlpd"]: np.asarray(nlpd),
    }


def paired(lines: list[dict[str, Any]], base: str) -> Iterator[dict[str, Any]]:
    """The lines, each measure less that of a model on the same rows, with the standard error of this difference."""
    of_base = next(line for line in lines if line["model"] == base)
    for line in lines:
        for measure, name in EACH.items():
            less = line[name] - of_base[name]
            line |= {f"{measure}_less": less.mean(), f"{measure}_less_se": less.std(ddof=1) / np.sqrt(len(less))}
        yield without_rows(line)


def without_rows(line: dict[str, Any]) -> dict[str, Any]:
    """A line of the table."""
    return {name: value for name, value in line.items() if name not in EACH.values()}


def standardised(inputs: pd.DataFrame, train: Any) -> pd.DataFrame:
    """Columns x0, x1, ... with mean 0 and sd 1 over the training rows; constant ones become 0."""
    names = [f"x{j}" for j in range(inputs.shape[1])]
    centred = inputs - inputs[train].mean()
    return (centred / inputs[train].std().replace(0.0, 1.0)).set_axis(names, axis=1)


def process(inputs: pd.DataFrame, ard: bool = False) -> str:
    """Return the formula of one Gaussian process over all inputs."""
    return f"gp({', '.join(inputs.columns)}, ard={ard}, name='f')"


def gbsg() -> Iterator[dict[str, Any]]:
    """Train on the Rotterdam rows, test on the German ones; a line for each model, beside "EP" on the same rows."""
    return paired(list(gbsg_models()), "EP")


def gbsg_models() -> Iterator[dict[str, Any]]:
    """The lines, with what each row contributes."""
    data = tg.datasets.fetch("gbsg")
    in_train = data["split"] == "train"
    inputs = standardised(data.drop(columns=["time", "event", "split"]), in_train)
    data = inputs.assign(time=data["time"], event=data["event"], split=data["split"])
    data["limit"] = data["time"].where(data["event"] == 0, np.inf)  # what a row could have shown, where it is known
    train, test = data[in_train], data[~in_train]
    f, ards = process(inputs), process(inputs, ard=True)

    def line(model: str, reading: str, res: Any, found: dict[str, Any] | None = None) -> dict[str, Any]:
        return {"model": model, "reading": reading, **(found or scores(res, test))}

    ignore = {"censored": "ignore", **MAXIMISED, **OF_TIMES}
    yield line("constant", "values", tg.fit(f"{PER_ROW} ~ 1", train, censored="ignore", **OF_TIMES))
    yield line("constant, censored", "each row", tg.fit(f"{PER_ROW} ~ 1", train, **OF_TIMES))
    yield line("uncensored", "values", tg.fit(f"{PER_ROW} ~ {f}", train, **ignore))
    yield line("uncensored, ARD", "values", tg.fit(f"{PER_ROW} ~ {ards}", train, **ignore))
    ep = tg.fit(f"{PER_ROW} ~ {f}", train, **MAXIMISED, **OF_TIMES)
    yield line("EP", "each row", ep)
    yield line("EP, ARD", "each row", tg.fit(f"{PER_ROW} ~ {ards}", train, **MAXIMISED, **OF_TIMES))
    yield line(
        "EP, averaged",
        "each row",
        tg.fit(f"{PER_ROW} ~ {f}", train, **OF_TIMES, **weak(f"{PER_ROW} ~ {f}", train, **OF_TIMES)),
    )
    for reading, limit in {"each row": "limit", "84 months": "84"}.items():
        formula = f"time ~ {f} | censor(upper={limit})"
        vi = tg.fit(formula, train, start=ep.hyperparameters, **maximised(tg.VI(n_starts=1)))
        closed = tg.fit(formula, train, method=tg.VI(bound="karlova"), fixed=vi.hyperparameters)
        yield line("VI", reading, vi)
        yield line("closed form", reading, closed)
        yield line("closed form, clipped at 84", reading, closed, scores(closed, test, 84.0))
    of_logs = {"family": "lognormal"}
    logs = tg.fit(f"{PER_ROW} ~ {f}", train, **of_logs, **weak(f"{PER_ROW} ~ {f}", train, **of_logs))
    yield line("log-normal, averaged", "each row", logs, scores_of_logs(logs, test))


def credit(splits: int) -> Iterator[dict[str, Any]]:
    """Random splits, 60% to train; a line for each split and model."""
    data = tg.datasets.fetch("credit_risk").rename(columns={"duration": "time", "full_repaid": "event"})
    columns = pd.get_dummies(data.drop(columns=["time", "event"]), dtype=float)
    for split in range(splits):
        order = np.random.default_rng(split).permutation(len(data))
        in_train = np.isin(np.arange(len(data)), order[: int(0.6 * len(data))])
        inputs = standardised(columns, in_train)
        rows = inputs.assign(time=data["time"], event=data["event"])
        rows["limit"] = rows["time"].where(rows["event"] == 0, np.inf)
        for model, res in credit_models(rows[in_train], process(inputs)):
            yield {"split": split, "model": model, **without_rows(scores(res, rows[~in_train]))}


def credit_models(train: pd.DataFrame, f: str) -> Iterator[tuple[str, Any]]:
    """Fits to one training set; "held" keeps the length-scale at 1, where many programs start."""
    ignore = {"censored": "ignore", **MAXIMISED, **OF_TIMES}
    formula = f"{PER_ROW} ~ {f}"
    yield "constant", tg.fit(f"{PER_ROW} ~ 1", train, censored="ignore", **OF_TIMES)
    yield "uncensored, held", tg.fit(formula, train, **ignore, fixed={"lengthscale(f)": 1.0})
    yield "uncensored", tg.fit(formula, train, **ignore)
    ep = tg.fit(formula, train, **MAXIMISED, **OF_TIMES)
    yield "EP", ep
    limited = f"time ~ {f} | censor(upper=limit)"
    vi = tg.fit(limited, train, start=ep.hyperparameters, **maximised(tg.VI(n_starts=1)))
    yield "VI", vi
    yield "closed form", tg.fit(limited, train, method=tg.VI(bound="karlova"), fixed=vi.hyperparameters)
    yield "EP, averaged", tg.fit(formula, train, **OF_TIMES, **weak(formula, train, **OF_TIMES))
