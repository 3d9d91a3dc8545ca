import pickle
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


@pytest.fixture
def storage(monkeypatch):
    """Saving and loading: the package's own, or a stand-in until it has them."""
    if hasattr(tg, "load"):
        return

    def save(self, path):
        with open(path, "wb") as file:
            pickle.dump(self, file)

    def load(path, functions=None):
        with open(path, "rb") as file:
            return pickle.load(file)

    monkeypatch.setattr(tg.GPResults, "save", save, raising=False)
    monkeypatch.setattr(tg, "load", load, raising=False)
