"""Default priors of linear coefficients: nothing changes with the origin, unit or coding of columns, of any fit.

The same model is fitted twice, as a formula of other columns that span the same space. Evidence, predictions and their
standard errors stay as they are; those of a response in another unit are moved along.
"""

import numpy as np
import pandas as pd
import pytest

import tobitgp as tg

pytestmark = pytest.mark.diagonal

LEVELS, SUBJECTS = 3, 10


@pytest.fixture(scope="module")
def frame():
    rng, n = np.random.default_rng(45), 80
    g, s = rng.choice(list("abc"), n, p=[0.5, 0.3, 0.2]), rng.integers(0, SUBJECTS, n)
    d = pd.DataFrame({"x": rng.normal(size=n), "u": rng.uniform(0.0, 3.0, n), "g": g, "s": [f"s{i}" for i in s]})
    eta = 0.5 * d["x"] + 0.7 * (g == "b") * (d["x"] + 1.0) + 0.5 * rng.normal(size=SUBJECTS)[s]
    d["y"] = eta + 0.5 * np.sin(2.0 * d["u"]) + np.exp(0.3 * d["x"] - 0.7) * rng.normal(size=n)
    d["y2"] = 1.0 - eta + 0.5 * rng.normal(size=n)
    d["low"], d["limit"] = d["y"].clip(lower=-0.3), -0.3
    d["positive"] = np.exp(0.4 * d["y"])
    life, stop = np.exp(0.6 * eta) * rng.exponential(size=n), rng.uniform(0.5, 3.0, n)
    d["time"], d["event"] = np.minimum(life, stop), (life <= stop).astype(int)
    d["cause"] = np.where(d["event"] == 1, rng.choice(["k", "m"], n), "censored")
    d["far"], d["h"] = 7.0 * (d["x"] + 2000.0), d["g"].map({"a": "z", "b": "b", "c": "c"})
    return d


POSTERIOR = {"method": tg.EP(hyper="maximize")}
# Formula, of the linear terms that come in the place of {}, and what the fit is asked for.
KINDS = {
    "linear": ("y ~ {}", {}),
    "process": ("y ~ {} + gp(u)", {}),
    "random intercepts": ("y ~ {} + (1 | s)", {}),
    "censored": ("low ~ {} + (1 | s) | censor(limit)", {}),
    "times": ("Surv(time, event) ~ {} + (1 | s)", {"family": "weibull"}),
    "t noise": ("y ~ {}", {"family": "student"}),
    "Box-Cox": ("positive ~ {}", {"family": tg.BoxCox(power=0.3)}),
    "hazards": ("Surv(time, event) ~ {}", {"family": tg.PH(bands=8)}),
    "hazards with groups": ("Surv(time, event) ~ {} + (1 | s)", {"family": tg.PH("piecewise", bands=3)}),
    "several responses": ("mvbind(y, y2) ~ {}", {}),
    "sigma": ("y ~ {}", {"sigma": "~ {}"}),
    "sigma with a process": ("y ~ {}", {"sigma": "~ {} + gp(u)"}),
}
SPELLINGS = {
    "origin and unit": ("x*g", "far*g"),
    "reference level": ("x*g", "x*h"),
    "cell means": ("x*g", "0 + g + far:g"),
    "sums": ("x*g", "far*C(g, Sum)"),
    "polynomial": ("x + I(x**2)", "far + I(far**2)"),
}


def fitted(formula, options, terms, data):
    options = {name: value.format(terms) if name == "sigma" else value for name, value in options.items()}
    return tg.fit(formula.format(terms), data, **{**POSTERIOR, **options})


def answers(res, data):
    """Values and standard errors in some rows, (m, 2 J)."""
    if isinstance(res, tg.HazardResults):  # its own answers are from draws
        band = (res.cells.parts.state.levels.get("cell_band") or (0,))[0]
        res, data = res.cells, data.assign(cell_time=0.5, cell_band=band)
    several = isinstance(res, tg.MultivariateResults)
    return (res.predict(data.head(4)) if several else res.predict(data.head(4), se=True)).to_numpy(dtype=float)


@pytest.mark.slow
@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("kind", KINDS)
def test_other_columns_of_the_same_space(frame, kind, spelling):
    formula, options = KINDS[kind]
    one, other = SPELLINGS[spelling]
    if kind.startswith("sigma") and other.startswith("0 +"):
        pytest.skip("log(sigma) has an intercept under priors")
    here, there = fitted(formula, options, one, frame), fitted(formula, options, other, frame)
    tolerance = 2e-3 if kind.startswith("sigma") else 1e-5  # of a search in other coordinates
    assert there.log_evidence == pytest.approx(here.log_evidence, abs=tolerance)
    np.testing.assert_allclose(answers(there, frame), answers(here, frame), rtol=tolerance, atol=tolerance)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["linear", "process", "random intercepts", "t noise", "several responses", "sigma"])
@pytest.mark.parametrize("terms", ["far*g", "0 + g + far"])
def test_response_in_another_unit(frame, kind, terms):
    formula, options = KINDS[kind]
    if kind == "sigma":
        options = {"sigma": "~ far*g"}
    moved = frame.assign(y=1e4 + 30.0 * frame["y"], y2=-5e3 - 0.2 * frame["y2"])
    here, there = fitted(formula, options, terms, frame), fitted(formula, options, terms, moved)
    units = {"y": (1e4, 30.0), "y2": (-5e3, -0.2)} if kind == "several responses" else {"y": (1e4, 30.0)}
    known = here.log_evidence - sum(len(frame) * np.log(abs(unit)) for _, unit in units.values())
    assert there.log_evidence == pytest.approx(known, abs=1e-4)
    origin, unit = np.transpose([*units.values()])
    origin, unit = (origin, unit) if kind == "several responses" else ([origin[0], 0.0], unit[0])
    np.testing.assert_allclose(answers(there, moved), answers(here, frame) * unit + origin, rtol=1e-5)


@pytest.mark.slow
def test_causes(frame):
    here, there = (
        tg.fit(f"Surv(time, cause) ~ {x}*g + (1 | s)", frame, family="weibull", **POSTERIOR) for x in ("x", "far")
    )
    assert there.log_evidence == pytest.approx(here.log_evidence, abs=1e-5)


@pytest.mark.slow
def test_partitioned_rows(frame, tmp_path):
    """Whether the rows are here or in files."""
    whole = tg.fit("y ~ far*g + (1 | s)", frame, **POSTERIOR)
    for i, rows in enumerate((slice(0, 30), slice(30, 31), slice(31, None))):
        frame.iloc[rows].to_parquet(tmp_path / f"{i}.parquet")
    cut = tg.fit("y ~ x*h + (1 | s)", tmp_path, **POSTERIOR)
    assert cut.log_evidence == pytest.approx(whole.log_evidence, abs=1e-5)


@pytest.mark.parametrize("options", [{}, {"family": tg.PH(bands=6)}], ids=["process", "hazards"])
@pytest.mark.slow
def test_rows_of_weight_zero_do_not_count(frame, options):
    left = "Surv(time, event)" if options else "y"
    wild = frame.head(10).assign(x=1e6, y=-1e7, y2=1e8, time=1e5, far=-1e9)
    both = pd.concat([frame.assign(w=1.0), wild.assign(w=0.0)], ignore_index=True)
    here = tg.fit(f"{left} ~ x*g", frame, **POSTERIOR, **options)
    there = tg.fit(f"{left} ~ x*g", both, weights="w", **POSTERIOR, **options)
    assert there.log_evidence == pytest.approx(here.log_evidence, abs=1e-6)


@pytest.mark.slow
def test_rows_of_weight_zero_do_not_count_of_several_responses(frame):
    wild = frame.head(10).assign(x=1e6, y=-1e7, y2=1e8)
    both = pd.concat([frame.assign(w=1.0), wild.assign(w=0.0)], ignore_index=True)
    here = tg.fit("mvbind(y, y2) ~ x*g", frame, **POSTERIOR)
    there = tg.fit("mvbind(y, y2) ~ x*g", both, weights="w", **POSTERIOR)
    assert there.log_evidence == pytest.approx(here.log_evidence, abs=1e-6)


@pytest.mark.slow
def test_what_multiplies_a_process_may_lie_anywhere(frame):
    """Beside a process of the same input the varying coefficient is that of the centred covariate."""
    here, there = (tg.fit(f"y ~ {x} + gp(u) + {x}:gp(u)", frame, **POSTERIOR) for x in ("x", "far"))
    assert there.log_evidence == pytest.approx(here.log_evidence, abs=1e-4)
    alone, moved = (tg.fit(f"y ~ {x} + {x}:gp(u)", frame, **POSTERIOR) for x in ("x", "far"))
    assert abs(alone.log_evidence - moved.log_evidence) > 0.1, "without it the model is another"


@pytest.mark.slow
def test_effects_that_change_over_time(frame):
    here, there = (
        tg.fit(f"Surv(time, event) ~ tv({x}) + g", frame, family=tg.PH(bands=8), **POSTERIOR) for x in ("x", "far")
    )
    assert there.log_evidence == pytest.approx(here.log_evidence, abs=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("bar", ["(1 + {} | s)", "({} | s)"])
def test_random_slopes(frame, bar):
    here, there = (tg.fit(f"y ~ {x}*g + {bar.format(x)}", frame, **POSTERIOR) for x in ("x", "far"))
    assert there.log_evidence == pytest.approx(here.log_evidence, abs=1e-4)
    np.testing.assert_allclose(answers(there, frame), answers(here, frame), rtol=1e-3)
