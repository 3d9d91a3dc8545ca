"""Models of rows in memory refuse files in whatever way they are named."""

from pathlib import Path

import pytest

import tobitgp as tg

MODELS = {
    "hazards": ("Surv(time, event) ~ x", {"family": "ph"}),
    "pieces": ("Surv(time, event) ~ x", {"family": tg.PH("piecewise"), "id": "subject"}),
    "several": ("mvbind(y, z) ~ x", {}),
}


@pytest.mark.parametrize("kind", [str, Path])
@pytest.mark.parametrize("model", MODELS)
def test_files_are_refused_in_words(model, kind):
    formula, options = MODELS[model]
    with pytest.raises(tg.errors.SpecError, match="fitted in memory: give a DataFrame"):
        tg.fit(formula, kind("rows.parquet"), **options)
