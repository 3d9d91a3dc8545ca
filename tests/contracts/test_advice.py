"""Every remedy that check() proposes, for every kind of fit, can be carried out as its words write it."""

import ast
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import tobitgp
import tobitgp as tg
from tests.support.advice import remedies_in
from tests.support.kinds import KINDS, rows
from tobitgp.diagnostics import check
from tobitgp.errors import ApproximationWarning, BoundaryWarning

DATA = rows().iloc[:48]
# The helper carries out no remedy of the others.
CHECKED = [name for name in KINDS if name not in ("latent", "measured", "vectors")]


def _raw_tests(name):
    """Tests of a fit, each with its remedy, whether or not it found something, and the fits they are of."""
    res, raw = KINDS[name].fit(DATA), []
    with pytest.MonkeyPatch.context() as patch:
        judge = check.judge
        patch.setattr(check, "judge", lambda found: judge(raw.extend(found := list(found)) or found))
        res.check()
    return [one for one in raw if isinstance(one, check.RawTest)]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CHECKED)
def test_remedies_of_check_run(name):
    """On the same rows, and give another model."""
    kind, tried = KINDS[name], set()
    for one in _raw_tests(name):
        for code, carry_out in remedies_in(one.remedy):
            form = re.sub(r"\b[bgkxz]\b", "", code)
            if form not in tried:
                tried.add(form)
                res = carry_out(kind.formula, DATA, dict(kind.options))
                assert res.nobs > 0, (one.name, code)
    assert tried


def _names(call):
    """What a finding is called, as it is written: text, or the formatted pieces of it."""
    name = call.args[0]
    if isinstance(name, ast.IfExp):
        return [*_pieces(name.body), *_pieces(name.orelse)]
    return _pieces(name)


def _pieces(node):
    if isinstance(node, ast.JoinedStr):
        return [node.values[0].value.strip()]
    return [node.value] if isinstance(node, ast.Constant) else []


REMEDIED = {  # by the file that carries out what they propose
    "here": {"inducing inputs", "neighbours", "bounds"},
    "test_advice_of_posteriors.py": {"structure", "starts", "posterior", "leave-one-out", "components"}
    | {"influence", "convergence"},
    "test_remedies.py": {"calibration", "symmetry", "tails", "spread", "spread in", "pattern in", "survival"}
    | {"proportional hazards"},
}


@pytest.mark.slow
def test_every_finding_is_in_the_contract():
    """A new diagnostic comes with a test that carries out what it proposes, and is named here."""
    found = set()
    for path in Path(tobitgp.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("plain", "RawTest", "Finding"):
                found |= set(_names(node))
    assert found == set().union(*REMEDIED.values())


def _smooth(n=300, seed=1):
    rng = np.random.default_rng(seed)
    x = rng.uniform(0.0, 10.0, n)
    return pd.DataFrame({"x": x, "y": np.sin(6.0 * x) + 0.3 * np.cos(0.5 * x) + 0.1 * rng.normal(size=n)})


@pytest.mark.slow
def test_more_inducing_inputs():
    """All three ways that the finding names close the gap."""
    data, fixed = _smooth(), {"sd(gp(x))": 1.0, "lengthscale(gp(x))": 0.3, "sigma": 0.1}
    with pytest.warns(ApproximationWarning, match="more inducing inputs"):
        coarse = tg.fit("y ~ gp(x)", data, fixed=fixed, method=tg.EP(inducing=8))
    found = coarse.check().table.loc["inducing inputs"]
    assert found["verdict"] == "bad"
    words = "Use more inducing inputs, method=tg.EP(inducing=None), or approximation='vecchia' in gp() (of one input "
    assert f"{words}'markov')" in found["words"]
    ways = [("y ~ gp(x)", {"method": tg.EP(inducing=120)}), ("y ~ gp(x)", {"method": tg.EP(inducing=None)})]
    ways += [("y ~ gp(x, approximation='vecchia')", {}), ("y ~ gp(x, kernel='matern32', approximation='markov')", {})]
    for formula, options in ways:
        given = {name.replace("gp(x)", formula[4:]): value for name, value in fixed.items()}
        finer = tg.fit(formula, data, fixed=given if "gp(x)" in formula else None, **options)
        table = finer.check().table
        assert "inducing inputs" not in table.index or table.loc["inducing inputs", "verdict"] == "good"


@pytest.mark.slow
def test_more_neighbours():
    """More of them, or another approximation, as the finding names them."""
    rng = np.random.default_rng(2)
    data = pd.DataFrame({"x": rng.uniform(size=120), "z": rng.uniform(size=120)})
    data["y"] = np.sin(3.0 * data["x"]) * np.cos(2.0 * data["z"]) + 0.05 * rng.normal(size=120)
    method = tg.EP(hyper="maximize", n_starts=1)

    def found(options):
        return tg.fit(f"y ~ gp(x, z, ard=False, {options})", data, method=method).check().table

    with pytest.warns(ApproximationWarning, match="twice the neighbours"):
        few = found("approximation='vecchia', neighbours=2").loc["neighbours"]
    assert few["verdict"] != "good"
    assert "raise neighbours=, or use approximation='low_rank' or 'dense'" in few["words"]
    assert found("approximation='vecchia', neighbours=20").loc["neighbours", "verdict"] == "good"
    for other in ("low_rank", "dense"):
        table = found(f"approximation='{other}'")
        assert "neighbours" not in table.index
        assert "inducing inputs" not in table.index or table.loc["inducing inputs", "verdict"] == "good"


@pytest.mark.slow
def test_a_parameter_at_a_bound():
    """Fixed, or with a prior, it is at no bound: sigma of a curve without noise."""
    x = np.random.default_rng(0).uniform(size=40)
    data, method = pd.DataFrame({"x": x, "y": np.sin(6.0 * x)}), tg.EP(hyper="maximize")
    with pytest.warns(BoundaryWarning, match="Fix it by fixed=, or set priors="):
        found = tg.fit("y ~ gp(x)", data, method=method).check().table.loc["bounds"]
    assert found["verdict"] != "good"
    assert "Fix it by fixed=, or set priors=" in found["words"]
    for option in ({"fixed": {"sigma": 0.01}}, {"priors": {"sigma": tg.LogNormal(0.01, 0.1)}}):
        again = tg.fit("y ~ gp(x)", data, method=method, **option).check().table
        assert again.loc["bounds", "verdict"] == "good"
