import subprocess
import sys

import pytest

import tobitgp as tg


def test_is_loaded_at_its_first_use():
    code = "import sys, tobitgp as tg; n = 'tobitgp.distributions'; print(n in sys.modules, tg.distributions.__name__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "tobitgp.distributions"]


def test_other_names_are_refused():
    with pytest.raises(AttributeError, match="no attribute 'distribution'"):
        _ = tg.distribution
