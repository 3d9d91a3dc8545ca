"""Names that are offered for a misspelt one: what a user can have meant, and nothing else."""

import re

import pytest

from tobitgp.formula.functions import nearest

COLUMNS = [
    "age",
    "sex",
    "Temp_C",
    "log_dose",
    "dose",
    "x1",
    "x2",
    "x10",
    "income_2019",
    "treatment",
    "y",
    "id",
    "body mass",
]
MEANT = {
    "agee": ["age"],
    "AGE": ["age"],
    "sx": ["sex"],
    "tempc": ["Temp_C"],
    "logdose": ["log_dose"],
    "log_doze": ["log_dose"],
    "X_1": ["x1"],
    "income": ["income_2019"],
    "treatmnt": ["treatment"],
    "treat": ["treatment"],
    "body_mass": ["body mass"],
    "mass": ["body mass"],
}
FAR = ["wind", "weight", "pressure", "height", "race", "gender", "days", "year", "edu", "q", "x3", "_", ""]


@pytest.mark.parametrize("name", MEANT)
def test_the_name_that_was_meant_is_offered(name):
    assert re.findall("'(.*?)'", nearest(name, COLUMNS)) == MEANT[name]


@pytest.mark.parametrize("name", FAR)
def test_nothing_is_offered_for_another_name(name):
    assert nearest(name, COLUMNS) == ""


def test_names_that_differ_by_case_alone_are_all_offered():
    assert re.findall("'(.*?)'", nearest("dose", ["Dose", "DOSE", "close"])) == ["Dose", "DOSE"]
