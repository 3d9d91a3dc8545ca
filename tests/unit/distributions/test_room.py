import pytest
from support.processes import printed_by

import tobitgp as tg


def test_is_loaded_at_its_first_use():
    code = "import sys, tobitgp as tg; n = 'tobitgp.metrics'; print(n in sys.modules, tg.metrics.__name__)"
    assert printed_by("-c", code).split() == ["False", "tobitgp.metrics"]


def test_other_names_are_refused():
    with pytest.raises(AttributeError, match="no attribute 'distribution'"):
        _ = tg.distribution
