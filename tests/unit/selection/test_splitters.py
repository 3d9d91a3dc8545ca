"""Splitters of scikit-learn that cross-validation cannot follow."""

import numpy as np
import pytest
from sklearn.model_selection import GroupKFold, KFold

import tobitgp as tg
from tobitgp.errors import SpecError

LUNG = tg.datasets.load("lung")


def validate(folds):
    return tg.cross_validate("Surv(time, event) ~ age", LUNG, folds=folds, family="weibull")


def test_what_needs_groups_is_refused():
    with pytest.raises(SpecError, match=r"cannot split 228 rows.*Give labels of groups directly as folds="):
        validate(GroupKFold(3))


def test_pairs_of_indices_are_refused():
    with pytest.raises(SpecError, match="folds= must be a number, a column, 228 labels"):
        validate(list(KFold(3).split(np.zeros((228, 1)))))
