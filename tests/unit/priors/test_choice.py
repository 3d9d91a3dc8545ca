"""What stands for each process."""

import numpy as np
import pandas as pd
import pytest

import tobitgp as tg
from tobitgp.errors import ApproximationWarning, DataError, FormulaError, SpecError
from tobitgp.priors.choice import default_neighbours

FIXED = {"sd(gp(x))": 1.0, "sigma": 0.3}


def data(n=400, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(size=n)
    y = np.sin(20.0 * x) + 0.3 * rng.normal(size=n)
    z, g = rng.uniform(size=n), rng.integers(0, 40, n).astype(str)
    return pd.DataFrame({"x": x, "z": z, "y": np.maximum(y, -0.5), "g": g})


def standing(formula, df=None, lengthscale=0.1, **more):
    fixed = {"lengthscale(gp(x))": lengthscale, **FIXED} if "gp(x" in formula else {}
    res = tg.fit(formula, data() if df is None else df, fixed=fixed | more.pop("fixed", {}), **more)
    field = res.parts.fitted.points[0].field
    return None if field is None else field.structure.label


def term(options):
    return f"y ~ gp(x, {options}) | censor(-0.5)"


@pytest.mark.parametrize(
    ("options", "lengthscale", "expected"),
    [
        ('kernel="matern32"', 0.005, "Markov"),
        ('kernel="matern32"', 20.0, None),
        ('kernel="rbf"', 0.005, None),
        ('kernel="matern32", approximation="low_rank"', 0.005, None),
        ('kernel="matern32", approximation="dense"', 0.005, None),
        ('kernel="matern32", approximation="markov"', 20.0, "Markov"),
        ('kernel="matern32", approximation="vecchia", neighbours=5', 0.1, "Vecchia"),
    ],
)
def test_one_input(options, lengthscale, expected):
    assert standing(term(options), lengthscale=lengthscale) == expected


def plane(options, lengthscale, rows=900, **asked):
    fixed = {"lengthscale(gp(x, z))": lengthscale, "sd(gp(x, z))": 1.0, "sigma": 0.3}
    return tg.fit(f"y ~ gp(x, z, {options}, ard=False) | censor(-0.5)", data(rows), fixed=fixed, **asked).parts.fitted


def label(fitted):
    field = fitted.points[0].field
    return None if field is None else field.structure.label


@pytest.mark.parametrize("options", ['kernel="rbf"', 'kernel="matern52"'])
@pytest.mark.slow_cases('kernel="matern52"')
def test_few_rows_of_a_smooth_process_are_all_features(options):
    """Where 500 leave more than a nat; the evidence is that of the prior in full."""
    fitted = plane(options, 0.05)
    assert label(fitted) is None
    assert fitted.n_features > 500
    assert fitted.nats_left < 1.0
    full = plane(f'{options}, approximation="dense"', 0.05)
    assert fitted.evidence == pytest.approx(full.evidence, abs=0.1)


@pytest.mark.parametrize("kernel", ["matern12", "matern32"])
@pytest.mark.filterwarnings("ignore:twice the neighbours")
@pytest.mark.slow_cases("matern32")
def test_rough_fields_take_neighbours_from_some_hundred_rows(kernel):
    """These have the evidence of the prior in full to a nat, and few rows are all features."""
    chosen, full = (plane(f'kernel="{kernel}"{how}', 0.05) for how in ("", ', approximation="dense"'))
    assert label(chosen) == "Vecchia"
    assert chosen.evidence == pytest.approx(full.evidence, abs=1.0)
    assert label(plane(f'kernel="{kernel}"', 0.05, rows=450)) is None


@pytest.mark.parametrize(
    ("options", "lengthscale", "expected"),
    [
        ('kernel="matern12"', 0.1, "Vecchia"),
        ('kernel="matern32"', 2.0, None),
        ('kernel="matern12", approximation="low_rank"', 0.1, None),
    ],
)
@pytest.mark.filterwarnings("ignore:The inducing inputs are too few", "ignore:twice the neighbours")
def test_many_rows_of_two_inputs(options, lengthscale, expected, monkeypatch):
    few_are_many(monkeypatch)
    assert label(plane(options, lengthscale)) == expected


@pytest.mark.parametrize(("kernel", "lengthscale"), [("rbf", 0.03), ("rbf", 0.2), ("matern52", 0.05)])
@pytest.mark.filterwarnings("ignore:The inducing inputs are too few", "ignore:twice the neighbours")
@pytest.mark.slow_cases("rbf-0.03", "matern52-0.05")
def test_smooth_fields_take_neighbours_where_these_lose_less(kernel, lengthscale, monkeypatch):
    few_are_many(monkeypatch)
    chosen = plane(f"kernel={kernel!r}", lengthscale)
    features = plane(f"kernel={kernel!r}, approximation='low_rank'", lengthscale)
    near = plane(f"kernel={kernel!r}, approximation='vecchia'", lengthscale)
    better = features.nats_left > 1.0 and abs(near.neighbours_gain) < features.nats_left
    assert (label(chosen) == "Vecchia") == better


def few_are_many(monkeypatch):
    """A few hundred rows are chosen for as thousands are."""
    for module in ("priors.choice", "inference.search"):
        monkeypatch.setattr(f"tobitgp.{module}.DENSE_PLACES", 500)
    monkeypatch.setattr("tobitgp.inference.search.DENSE_WORK", 0.0)


@pytest.mark.filterwarnings("ignore:The inducing inputs are too few")
def test_more_than_a_nat_is_told_whatever_the_way():
    with pytest.warns(ApproximationWarning, match="approximation gap"):
        plane('kernel="matern12"', 0.05, method=tg.EP(inducing=100))
    with pytest.warns(ApproximationWarning, match="twice the neighbours"):
        fitted = plane('kernel="matern32", approximation="vecchia", neighbours=6', 0.3)
    assert abs(fitted.neighbours_gain) > 1.0


def test_neighbours_by_the_number_of_inputs():
    assert [default_neighbours(inputs) for inputs in (1, 2, 3, 6)] == [20, 20, 40, 40]


@pytest.mark.filterwarnings("ignore:The inducing inputs are too few")
def test_given_inducing_inputs_are_features():
    assert standing(term('kernel="matern32"'), lengthscale=0.005, method=tg.EP(inducing=50)) is None


@pytest.mark.filterwarnings("ignore:The inducing inputs are too few")
def test_many_columns_beside_it_keep_low_rank(monkeypatch):
    monkeypatch.setattr("tobitgp.priors.choice.MOST_NUMBERS", 0)  # as of many rows
    df = data()
    df["g"] = (np.arange(len(df)) // 2).astype(str)
    sd = {"sd(re(g))": 0.3}
    formula = 'y ~ gp(x, kernel="matern32") + re(g) | censor(-0.5)'
    assert standing(formula, df, 0.005, fixed=sd) is None
    assert standing(formula, data(), 0.005, fixed=sd) == "Markov"


def test_many_columns_may_stand_beside_what_features_do_not_follow():
    """Of 600 rows, where 500 features leave more than a nat."""
    df = data(1200)
    df["g"] = (np.arange(len(df)) // 4).astype(str)
    sd = {"sd(re(g))": 0.3}
    formula = 'y ~ gp(x, kernel="matern12") + re(g) | censor(-0.5)'
    assert standing(formula, df, 0.005, fixed=sd, method="laplace") == "Markov"
    assert standing(formula, df, 20.0, fixed=sd, method="laplace") is None


def test_few_neighbours_are_told():
    formula = 'y ~ gp(x, z, kernel="matern52", ard=False, approximation="vecchia", neighbours=2) | censor(-0.5)'
    fixed = {"lengthscale(gp(x, z))": 0.3, "sd(gp(x, z))": 1.0, "sigma": 0.3}
    with pytest.warns(ApproximationWarning, match=r"twice the neighbours would change .* raise neighbours="):
        res = tg.fit(formula, data(), fixed=fixed)
    assert "Approximation gap" not in str(res.summary())
    table = res.check().table
    assert table.loc["neighbours", "verdict"] == "doubtful"
    assert "inducing inputs" not in table.index


def test_terms_of_one_input_share_a_chain():
    formula = 'y ~ gp(x, kernel="matern32") + gp(x, kernel="matern12", name="b") | censor(-0.5)'
    more = {"sd(b)": 0.5, "lengthscale(b)": 0.004}
    res = tg.fit(formula, data(), fixed=FIXED | {"lengthscale(gp(x))": 0.005} | more, method=tg.EP(tol=1e-10))
    whole = tg.fit(formula, data(), fixed=FIXED | {"lengthscale(gp(x))": 0.005} | more, method=tg.EP(inducing=None))
    assert res.parts.fitted.points[0].field.blocks.tolist() == [1, 2]
    assert res.log_evidence == pytest.approx(whole.log_evidence, abs=1e-4)
    new = data(5, seed=1)
    for what in ("latent", "terms"):
        a, b = (fit.predict(new, what=what, se=True) for fit in (res, whole))
        if what == "latent":
            np.testing.assert_allclose(a, b, rtol=0, atol=1e-3)
    np.testing.assert_allclose(
        res.predict(new, what="latent", exclude="b"), whole.predict(new, what="latent", exclude="b"), rtol=0, atol=0.1
    )
    with pytest.raises(SpecError, match="drawn as one sum"):
        res.sample(new, 3, exclude="b")


@pytest.mark.parametrize("terms", ["{} + re(g)", "re(g) + {}"])
def test_random_intercepts_of_the_same_groups_stand_in_the_chain(terms):
    term = 'gp(x, kernel="matern32", by=g, approximation="markov", name="f")'
    formula = f"y ~ {terms.format(term)} | censor(-0.5)"
    fixed = {"sd(f)": 1.0, "lengthscale(f)": 0.05, "sigma": 0.3, "sd(re(g))": 0.4}
    res, whole = (
        tg.fit(text, data(120), fixed=fixed, method=tg.EP(tol=1e-10))
        for text in (formula, formula.replace('"markov"', '"dense"'))
    )
    assert res.parts.fitted.n_features == 1
    assert res.log_evidence == pytest.approx(whole.log_evidence, abs=1e-4)
    new = data(6, seed=1)
    for options in ({}, {"exclude": "f"}, {"exclude": "re(g)"}):
        a, b = (fit.predict(new, what="latent", se=True, **options) for fit in (res, whole))
        np.testing.assert_allclose(a, b, rtol=0, atol=0.02 if options.get("exclude") == "f" else 1e-3)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ('approximation="sparse"', "is one of 'auto', 'low_rank', 'dense', 'markov', 'vecchia'"),
        ('kernel="rbf", approximation="markov"', "one input and one of the kernels matern12, matern32, matern52"),
        ("neighbours=5", 'neighbours= needs approximation="vecchia"'),
        ('approximation="vecchia", neighbours=0', "a whole number from 1 to 200"),
        ('kernel="periodic", approximation="vecchia"', "do not stand for a periodic kernel"),
    ],
)
def test_bad_options(options, words):
    with pytest.raises(FormulaError, match=words):
        tg.Model(term(options), data())


def test_one_structure_at_most():
    formula = 'y ~ gp(x, kernel="matern32", approximation="markov") + gp(z, kernel="matern32", approximation="markov")'
    with pytest.raises(SpecError, match="one process can be Markov or"):
        tg.fit(formula, data())
    for how in ("markov", "dense"):
        with pytest.raises(SpecError, match="Leave out one of the two"):
            tg.fit(term(f'kernel="matern32", approximation="{how}"'), data(), method=tg.EP(inducing=20))


@pytest.mark.filterwarnings("ignore:The inducing inputs are too few")
def test_many_rows_of_several_inputs_keep_low_rank(monkeypatch):
    monkeypatch.setattr("tobitgp.inference.process_choices.MOST_PLACES", 500)
    fixed = {"lengthscale(gp(x, z))": 0.05, "sd(gp(x, z))": 1.0, "sigma": 0.3}
    formula = 'y ~ gp(x, z, kernel="matern12", ard=False{}) | censor(-0.5)'
    for more, expected in (("", None), (', approximation="vecchia"', "Vecchia")):
        field = tg.fit(formula.format(more), data(600), fixed=fixed).parts.fitted.points[0].field
        assert (None if field is None else field.structure.label) == expected


@pytest.mark.parametrize(
    ("options", "memory", "gathered"),
    [(', approximation="markov"', 1e9, True), ("", 1e9, True), ("", 1e6, False)],
)
@pytest.mark.filterwarnings("ignore:The inducing inputs are too few")
def test_partitions_are_gathered(tmp_path, monkeypatch, options, memory, gathered):
    """Where that was asked for, or leaves half of the memory free."""
    monkeypatch.setattr("tobitgp.inference.search.SAMPLE_ROWS", 300)
    monkeypatch.setattr("tobitgp.inference.partition_fit.memory", lambda: memory)
    df = data(900)
    for i in range(3):
        df.iloc[300 * i : 300 * (i + 1)].to_parquet(tmp_path / f"{i}.parquet")
    formula, fixed = term(f'kernel="matern32"{options}'), {"lengthscale(gp(x))": 0.004, **FIXED}
    one, other = (tg.fit(formula, rows, method=tg.EP(hyper="maximize"), fixed=fixed) for rows in (df, str(tmp_path)))
    assert (other.parts.fitted.points[0].field is not None) == gathered
    if gathered:
        assert other.log_evidence == pytest.approx(one.log_evidence, abs=1e-8)


def test_more_rows_than_memory_holds_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("tobitgp.inference.partition_fit.memory", lambda: 1e6)
    data(900).to_parquet(tmp_path / "0.parquet")
    with pytest.raises(DataError, match=r"900 take some .* GB, and this machine has"):
        tg.fit(term('kernel="matern32", approximation="markov"'), str(tmp_path), method=tg.EP(hyper="maximize"))
