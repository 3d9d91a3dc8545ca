import warnings

import pytest

import tobitgp as tg


@pytest.fixture(autouse=True)
def _own_warnings(monkeypatch):
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "toy.csv"
    tg.datasets.simulate_groot_lucas(rng=1).to_csv(path, index=False)
    return path
