"""What every function of samples with non-detects is asked: all methods, sides and families."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

import tobitgp as tg

RESAMPLES = 200
FAMILIES = ("lognormal", "normal", "weibull", "gamma")
METHODS = ("bca", "profile", "cox", "delta", "km-t", "km-chebyshev")
Answer = Callable[[], Any]


def limit_answers(y: Any, nd: Any, complete: Any) -> dict[str, Answer]:
    """Limits of means and percentiles, predictions and probabilities."""
    nondetects = tg.nondetects
    out: dict[str, Answer] = {}
    for method in METHODS:
        for of in ("km", "ros", "mle"):
            out[f"mean {method} {of}"] = lambda m=method, o=of: nondetects.upper_confidence_limit(
                y, nd, m, of=o, bootstrap=RESAMPLES
            )
    for method in ("land", "cox"):
        out[f"mean complete {method}"] = lambda m=method: nondetects.upper_confidence_limit(complete, method=m)
    for family in FAMILIES:
        for method in ("profile", "delta", "bca"):
            out[f"mean {family} {method}"] = lambda m=method, f=family: nondetects.upper_confidence_limit(
                y, nd, m, of="mle", family=f, bootstrap=RESAMPLES
            )
        for side in ("upper", "lower"):
            for method in ("profile", "delta", "exact_complete"):
                out[f"tolerance {family} {side} {method}"] = lambda s=side, m=method, f=family: (
                    nondetects.tolerance_limit(y, nd, 0.8, side=s, method=m, family=f)
                )
        out[f"exceedance {family}"] = lambda f=family: nondetects.exceedance(y, 2.0, nd, family=f)
        for side, k, mean_of in (("upper", 1, 1), ("lower", 3, 1), ("two-sided", 2, 2)):
            for method in ("predictive", "exact_complete"):
                out[f"prediction {family} {side} {method}"] = lambda f=family, s=side, k=k, n=mean_of, m=method: (
                    nondetects.prediction_limit(y, nd, k, n, side=s, family=f, method=m, bootstrap=RESAMPLES)
                )
    out["tolerance nonparametric"] = lambda: nondetects.tolerance_limit(y, nd, 0.8, method="nonparametric")
    out["exceedance binomial"] = lambda: nondetects.exceedance(y, 2.0, nd, method="binomial")
    return {f"limit {name}": lambda a=answer: a().summary_frame() for name, answer in out.items()}


def summary_answers(data: pd.DataFrame) -> dict[str, Answer]:
    """Summaries of samples, of groups, and of samples with next to no detects."""
    nondetects = tg.nondetects
    options: dict[str, Any] = {"bootstrap": RESAMPLES, "percentiles": (0.25, 0.5, 0.9)}
    out: dict[str, Answer] = {
        "flags": lambda: nondetects.summary(data, "conc", "nd", **options),
        "groups": lambda: nondetects.summary(data, "conc", "nd", by="g", **options),
        "text": lambda: nondetects.summary(data, "text", **options),
        "most": lambda: nondetects.summary(data.assign(conc=data.conc.clip(lower=3.0)), "conc | censor(3)", **options),
    }
    for tail in ("smallest_detect", "bounds"):
        out[tail] = lambda t=tail: nondetects.summary(data, "conc", "nd", methods="km", km_tail=t, **options)
    for family in FAMILIES:
        out[family] = lambda f=family: nondetects.summary(data, "conc", "nd", methods="mle", family=f, **options)
    answers: dict[str, Answer] = {}
    for name, answer in out.items():
        answers[f"summary {name}"] = lambda a=answer: a().summary_frame()
        answers[f"summary {name} in words"] = lambda a=answer: str(a())
    answers["ros"] = lambda: nondetects.ros(data.conc, data.nd).summary_frame()
    answers["ros in words"] = lambda: str(nondetects.ros(data.conc, data.nd))
    answers["read"] = lambda: nondetects.read(data, "text")
    return answers


def test_answers(data: pd.DataFrame) -> dict[str, Answer]:
    """Tests of groups and pairs, correlations and trends."""
    nondetects, y = tg.nondetects, (data.conc, data.nd)
    other = np.exp(data.z)
    x = other.clip(lower=0.7), other < 0.7
    draws: dict[str, Any] = {"n_permutations": 500}
    out: dict[str, Answer] = {}
    for method in ("peto", "peto-prentice", "gehan", "tarone-ware", "logrank", "mle", "permutation"):
        out[f"groups {method}"] = lambda m=method: nondetects.test_groups(
            "conc ~ g | censor(nondetect=nd)", data, method=m, **draws
        )
    out["groups recensored"] = lambda: nondetects.test_groups(
        "conc ~ g | censor(nondetect=nd)", data, recensor=True, adjust="hommel"
    )
    for method in ("signed_rank", "sign", "mle"):
        for log in (False, True):
            out[f"paired {method} log={log}"] = lambda m=method, log=log: nondetects.test_paired(
                y[0], x[0], y[1], x[1], method=m, log=log
            )
    for method in ("permutation", "normal"):
        out[f"kendall {method}"] = lambda m=method: nondetects.kendall(y[0], x[0], y[1], x[1], method=m, **draws)
    out["line"] = lambda: nondetects.theil_sen(y[0], data.x, y[1])
    out["line of resamples"] = lambda: nondetects.theil_sen(
        y[0][:40], x[0][:40], y[1][:40], x[1][:40], bootstrap=RESAMPLES
    )
    out["seasons"] = lambda: nondetects.seasonal_kendall(y[0], data.x, data.h, y[1], **draws)
    years = pd.Series(np.arange(len(data)) // 3 + 1990.0)
    seasons = pd.Series(np.arange(len(data)) % 3)
    out["seasons, serial"] = lambda: nondetects.seasonal_kendall(y[0], years, seasons, y[1], serial=True)
    answers: dict[str, Answer] = {}
    for name, answer in out.items():
        answers[name] = lambda a=answer: a().summary_frame()
        answers[f"{name}: statistic, p"] = lambda a=answer: [a().statistic, a().pvalue]
        answers[f"{name} in words"] = lambda a=answer: str(a())
    answers["scores"] = lambda: nondetects.gehan_scores(*y)
    return answers


def nondetect_answers(train: pd.DataFrame, test: pd.DataFrame) -> dict[str, Answer]:
    """Every answer by its name, not yet asked."""
    conc = np.exp(0.7 * train.reported)
    data = train.assign(conc=conc).reset_index(drop=True)
    y, nd = data.conc, data.nd
    return limit_answers(y, nd, data.t) | summary_answers(data) | test_answers(data)
