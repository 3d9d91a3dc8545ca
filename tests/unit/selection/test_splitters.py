"""Splitters of scikit-learn that cross-validation cannot follow."""

import numpy as np
import pytest
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold, TimeSeriesSplit

import tobitgp as tg
from tobitgp.errors import SpecError

LUNG = tg.datasets.load("lung")


def validate(folds):
    return tg.cross_validate("Surv(time, event) ~ age", LUNG, folds=folds, family="weibull")


@pytest.mark.parametrize("folds", [GroupKFold(3), StratifiedKFold(3)])
def test_what_needs_more_than_rows_is_refused(folds):
    with pytest.raises(SpecError, match=r"does not split 228 rows .*give labels"):
        validate(folds)


def test_what_trains_on_some_rows_only_is_refused():
    with pytest.raises(SpecError, match="trains on some of the other rows only"):
        validate(TimeSeriesSplit(3))


def test_pairs_of_indices_are_refused():
    with pytest.raises(SpecError, match="folds= takes a number, a column, an array of 228 labels"):
        validate(list(KFold(3).split(np.zeros((228, 1)))))
