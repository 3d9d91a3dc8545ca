"""The three small tables that the fits of the matrix use."""

from __future__ import annotations

import numpy as np
import pandas as pd

N, NEW = 90, 6
SUBJECTS = 70


def rows(n: int = N + NEW, seed: int = 7) -> pd.DataFrame:
    """One latent response written in many ways: censored, as a time, in bands, with a second one, with causes."""
    rng = np.random.default_rng(seed)
    x, x2, z = rng.uniform(0, 6, n), rng.uniform(0, 6, n), rng.normal(size=n)
    arm, g = rng.choice(["A", "B"], n), rng.choice(list("pqrstu"), n)
    effect = dict(zip("pqrstu", rng.normal(0, 0.5, 6), strict=True))
    y = 0.5 + 0.5 * np.sin(x) + 0.4 * z + 0.5 * (arm == "B") + [effect[k] for k in g] + 0.4 * rng.normal(size=n)
    y2 = 0.3 + 0.4 * np.cos(x) - 0.2 * z + 0.3 * rng.normal(size=n)
    t, end = np.exp(0.8 * y), rng.exponential(6.0, n)
    t2 = np.exp(0.8 * y2 + 0.5)
    cured_time = np.where(rng.random(n) < 0.3, np.inf, t)
    stop = rng.uniform(4, 9, n)
    first = np.minimum(np.minimum(t, t2), end)
    two = np.where(rng.random(n) < 0.5, -2.0, 1.5) + 0.6 * rng.normal(size=n)
    frame = pd.DataFrame({"x": x, "x2": x2, "z": z, "arm": arm, "g": g, "y": y, "y2": y2, "two": two})
    return frame.assign(
        left=np.maximum(y, 0.0),
        limit=0.0,
        least=-2.0,
        low2=np.maximum(two, -2.0),
        r1=np.maximum(y, 0.0),
        r2=np.maximum(y2, 0.0),
        lo=np.where(rng.random(n) < 0.5, t, 0.8 * t),
        hi=np.where(rng.random(n) < 0.5, t, 1.3 * t),
        pos=t,
        zero=np.where(t < 0.8, 0.0, t),
        time=np.minimum(t, end),
        event=(t <= end).astype(int),
        entry=0.2 * np.minimum(t, end) * (rng.random(n) < 0.5),
        ctime=np.minimum(cured_time, stop),
        cevent=(cured_time <= stop).astype(int),
        first=first,
        cause=np.where(first == end, 0, np.where(t <= t2, 1, 2)),
        count=rng.poisson(np.where(two > 0, 8.0, 1.5)),
        w=rng.integers(1, 3, n),
        sx=np.where(z > 0, 0.3, 0.1),
    )


def window() -> pd.DataFrame:
    """Only rows above 0.2: a truncated sample."""
    frame = rows(160, 8)
    return frame[frame["y"] > 0.2].iloc[: N + NEW].reset_index(drop=True)


def subjects(seed: int = 9) -> pd.DataFrame:
    """Two rows a subject: `z` changes half-way."""
    rng = np.random.default_rng(seed)
    out = []
    for who in range(SUBJECTS):
        arm, before, after = rng.choice(["A", "B"]), rng.normal(), rng.normal()
        t = np.exp(0.5 + 0.4 * before + 0.5 * (arm == "B") + 0.5 * rng.gumbel())
        end = rng.exponential(6.0)
        last, event = min(t, end), int(t <= end)
        out.append((who, 0.0, 0.5 * last, 0, arm, before, "p"))
        out.append((who, 0.5 * last, last, event, arm, after, "p"))
    return pd.DataFrame(out, columns=["who", "start", "stop", "event", "arm", "z", "g"])


DATA = {"rows": rows, "window": window, "subjects": subjects}
