"""Rows and designs of the regressions whose results lie in tests/reference."""

import numpy as np

from support.reference import load
from support.responses import response
from tobitgp import datasets
from tobitgp.distributions.gumbel import Gumbel
from tobitgp.distributions.symmetric_noise import Logistic, NormalNoise, StudentNoise

TOBIN, AFFAIRS, LUNG, INTERVAL = map(
    load, ("tobin_tobit.json", "affairs_tobit.json", "lung_aft.json", "lung_interval.json")
)
LIFELINES = load("lung_lifelines.json")

# dist of survreg: distribution, log time, fixed log scale
DIST = {
    "gaussian": (NormalNoise(), False, None),
    "logistic": (Logistic(), False, None),
    "t": (StudentNoise(4.0), False, None),
    "extreme": (Gumbel(), False, None),
    "lognormal": (NormalNoise(), True, None),
    "loglogistic": (Logistic(), True, None),
    "weibull": (Gumbel(), True, None),
    "exponential": (Gumbel(), True, 0.0),
    "rayleigh": (Gumbel(), True, float(np.log(0.5))),
}


def left_at_zero(y):
    return response(np.where(y > 0, y, -np.inf), y)


def tobin(weight=None):
    data = datasets.load("tobin")
    H = np.column_stack([np.ones(20), data[["age", "quant"]]])
    y = data["durable"].to_numpy(float)
    return response(np.where(y > 0, y, -np.inf), y, weight=weight), H


def affairs(*columns):
    data = datasets.fetch("affairs")
    data = data.assign(gendermale=1.0 * (data.gender == "male"), childrenyes=1.0 * (data.children == "yes"))
    H = np.column_stack([np.ones(len(data)), data[list(columns)]]).astype(float)
    return left_at_zero(data["affairs"].to_numpy(float)), H, data


def lung_frame():
    data = datasets.load("lung")[["time", "event", "age", "sex", "ph_ecog"]].dropna().astype(float)
    return data.reset_index(drop=True)


def lung(intercept_only=False):
    data = lung_frame()
    H = np.column_stack([np.ones(len(data)), data[["age", "sex", "ph_ecog"]]])
    y, event = data["time"].to_numpy(), data["event"].to_numpy() == 1
    return response(y, np.where(event, y, np.inf)), H[:, :1] if intercept_only else H


def lung_windows():
    data = lung_frame()
    up = 30.0 * np.ceil(data["time"] / 30.0)
    event = data["event"] == 1
    lower = np.where(event, np.where(up > 30.0, up - 30.0, -np.inf), data["time"])
    return response(lower, np.where(event, up, np.inf)), lung()[1]
