import numpy as np
import pandas as pd
import pytest

from tobitgp.data.prepare import prepare
from tobitgp.data.restore import plain_linear, restore_linear
from tobitgp.data.training_summary import constant_column
from tobitgp.errors import DataError
from tobitgp.formula import parse_formula


def training(formula, data, weights=None, functions=None):
    return prepare(parse_formula(formula, list(data), functions), data, weights=weights)


DATA = pd.DataFrame(
    {
        "y": [0.0, 1.0, 2.0, 5.0, 6.0],
        "x": [1.0, 2.0, 4.0, 8.0, 16.0],
        "k": [3, 1, 1, 2, 2],
        "u": [True, False, False, True, False],
        "g": ["b", "a", "b", "c", "c"],
        "day": pd.to_datetime(["2020-01-01", "2020-02-01", "2021-01-01", "2022-01-01", "2023-01-01"]),
        "w": [1.0, 2.0, 1.0, 1.0, 5.0],
    }
)
FORMULA = "y ~ x + C(k) + u + gp(decimal_year(day)) + offset(where(g == 'a', 1, 0)) | censor(0)"
NAMES = ["x", "k", "u", "day", "g"]


def facts_of(formula=FORMULA):
    data = pd.concat([DATA] * 3, ignore_index=True)
    found = training(formula, data, "w")
    return found.state, found.facts(["y"], data[NAMES])


def test_facts_of_columns():
    _, facts = facts_of()
    x, k, u, day, g = (facts.columns[name] for name in NAMES)
    assert (x.kind, x.minimum, x.maximum, x.typical, x.example) == ("number", 1.0, 16.0, 9.7, 4.0)
    assert x.sd == pytest.approx(DATA["x"].std(ddof=0))
    assert (k.kind, k.typical) == ("number", 2.0)
    assert (u.kind, u.typical) == ("boolean", False)
    assert (g.kind, g.typical) == ("factor", "c")
    assert np.isnan(g.minimum)
    assert (day.kind, day.typical, day.example[:10]) == ("date", None, "2020-01-01")
    assert (facts.n, facts.nobs, facts.any_censored, facts.limits_known) == (15, 30.0, True, True)
    assert facts.mean_limits == (0.0, np.inf)


def test_columns_of_one_expression_take_their_examples_from_one_row():
    _, facts = facts_of(FORMULA.replace("(g == 'a', 1, 0)", "(g == 'a', x, k)"))
    row = tuple(facts.columns[name].example for name in ("x", "k", "g"))
    assert row in set(DATA[["x", "k", "g"]].itertuples(index=False, name=None))


def test_constant_columns_are_read_as_the_training_columns_were():
    state, facts = facts_of()
    columns = {name: constant_column(state, item, name, item.example, 3) for name, item in facts.columns.items()}
    design, usable = state.replay(pd.DataFrame(columns))
    assert usable.all()
    assert len(design.H) == 3


def test_unknown_limits():
    found = training("Surv(y, u) ~ x", DATA)
    facts = found.facts([], None)
    assert not facts.limits_known
    assert facts.columns == {}


@pytest.mark.parametrize("linear", ["x + g:x", "bs(x, df=3) + C(k, Sum)", "poly(f(x), 2) + C(f(k))", "I(`w` - x) + u"])
def test_the_linear_part_comes_back(linear):
    rng = np.random.default_rng(0)
    data = pd.concat([DATA] * 4, ignore_index=True).assign(x=rng.normal(size=20), y=rng.normal(size=20))
    data["u"] = rng.random(20) > 0.5
    state = training(f"y ~ {linear}", data, functions={"f": np.abs}).state
    plain = plain_linear(state.linear, state.spec, state.levels)
    other = restore_linear(plain, state.spec)
    assert other.columns == state.linear.columns
    assert other.aliases == state.linear.aliases
    assert other.model_spec.term_indices == state.linear.model_spec.term_indices
    again = plain_linear(other, state.spec, state.levels)
    np.testing.assert_equal([again.learned, again.encodings], [plain.learned, plain.encodings])


def test_state_of_another_formula_is_refused():
    plains = {}
    for linear in ("bs(x, df=3)", "bs(x, df=4)", "x", "x + u", "center(x)"):
        state = training(f"y ~ {linear}", DATA).state
        plains[linear] = (plain_linear(state.linear, state.spec, state.levels), state.spec)
    for ours, (_, spec) in plains.items():
        for theirs, (plain, _) in plains.items():
            if ours != theirs:
                with pytest.raises(Exception, match=r"formula|complete|formulaic|knots|bs|index|center|dictionary"):
                    restore_linear(plain, spec)
    with pytest.raises(DataError, match="not those of the formula"):
        restore_linear(plains["x"][0], plains["x + u"][1])
