"""Columns that are Series with labels: rows are those of one label, in whatever order they stand."""

import numpy as np
import pandas as pd
import pytest

import tobitgp as tg

nd = tg.nondetects
N = 48


def table():
    rng = np.random.default_rng(0)
    d = pd.DataFrame({"x": np.arange(N) / 12, "month": np.arange(N) % 12 + 1}, index=[f"s{i}" for i in range(N)])
    d["y"] = np.exp(0.3 * d.x + 0.2 * np.sin(d.month) + 0.3 * rng.normal(size=N)).round(3)
    d["before"] = (d.y * np.exp(0.4 + 0.3 * rng.normal(size=N))).round(3)
    return d.assign(nd=(d.y < 0.9) * 1)


FUNCTIONS = {
    "kendall": lambda d, o: nd.kendall(d.y, o.x, o.nd, n_permutations=99).statistic,
    "theil_sen": lambda d, o: nd.theil_sen(d.y, o.x, o.nd).params,
    "seasonal_kendall": lambda d, o: nd.seasonal_kendall(d.y, o.x, o.month, o.nd, n_permutations=99).params,
    "test_paired": lambda d, o: nd.test_paired(d.y, o.before, o.nd, o.nd * 0).statistic,
    "gehan_scores": lambda d, o: nd.gehan_scores(d.y, o.nd),
    "ros": lambda d, o: nd.ros(d.y, o.nd).mean,
    "upper_confidence_limit": lambda d, o: nd.upper_confidence_limit(d.y, o.nd, "cox").upper,
    "tolerance_limit": lambda d, o: nd.tolerance_limit(d.y, o.nd).upper,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_order_of_labels_does_not_matter(name):
    d, call = table(), FUNCTIONS[name]
    np.testing.assert_allclose(call(d, d.sample(frac=1, random_state=1)), call(d, d))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_labels_of_other_rows_are_refused(name):
    d = table()
    with pytest.raises(tg.errors.DataError, match=r"labels that are not in the data, e.g. r0.*to_numpy"):
        FUNCTIONS[name](d, d.set_axis([f"r{i}" for i in range(N)]))


def test_arrays_beside_series_in_another_order_are_refused():
    d = table()
    shuffled = d.sample(frac=1, random_state=1)
    with pytest.raises(tg.errors.DataError, match="labels differ in their order, and x has no labels"):
        nd.theil_sen(d.y, d.x.to_numpy(), shuffled.nd)
    res = nd.theil_sen(d.y.to_numpy(), shuffled.x.to_numpy())  # arrays are rows in their order
    assert res.params["slope"] == nd.theil_sen(list(d.y), list(shuffled.x)).params["slope"]
    assert nd.theil_sen(d.y, d.x.to_numpy(), d.nd).params.equals(nd.theil_sen(d.y, d.x, d.nd).params)


def test_weights_of_a_dict_of_series_find_their_rows():
    d = table().assign(w=lambda d: np.arange(N) % 3 + 1)
    wanted = tg.fit("y ~ x", d, weights="w").params
    series = {name: d[name] for name in d}
    assert tg.fit("y ~ x", series, weights=d["w"][::-1]).params.equals(wanted)
