"""Covariances by `vcov=`, and in statsmodels' words."""

import numpy as np
import pandas as pd
import pytest

import tobitgp as tg
from tobitgp.errors import SpecError


@pytest.fixture(scope="module")
def data():
    return tg.datasets.load("tobin").assign(firm=lambda rows: np.arange(len(rows)) // 3)


SAME = [
    ("HC1", {"cov_type": "HC1"}),
    ("nonrobust", {}),
    ({"cluster": "firm"}, {"cov_type": "cluster", "cov_kwds": {"groups": "firm"}}),
    (
        {"cluster": ["firm"], "use_correction": True},
        {"cov_type": "cluster", "cov_kwds": {"groups": ["firm"], "use_correction": True}},
    ),
]


@pytest.mark.parametrize(("vcov", "words"), SAME)
def test_both_ways_are_the_same(data, vcov, words):
    formula = "durable ~ age + quant | censor(0)"
    one, other = tg.fit(formula, data, vcov=vcov), tg.fit(formula, data, **words)
    pd.testing.assert_frame_equal(one.cov_params(), other.cov_params())
    assert one.cov_type == other.cov_type


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"vcov": "HC1", "cov_type": "HC1"}, "Give one of the two"),
        ({"vcov": {"groups": "firm"}}, "must be a kind such as 'HC1'"),
        ({"vcov": "HC7"}, "'HC7' is not supported"),
        ({"vcov": "HC1", "method": "ep"}, "maximum likelihood"),
    ],
)
def test_what_cannot_be_read(data, options, words):
    with pytest.raises(SpecError, match=words):
        tg.fit("durable ~ age | censor(0)", data, **options)
