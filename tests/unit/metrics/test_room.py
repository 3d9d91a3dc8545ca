import inspect

from support.processes import printed_by

import tobitgp as tg


def test_is_loaded_at_its_first_use():
    code = "import sys, tobitgp as tg; n = 'tobitgp.metrics'; print(n in sys.modules, tg.metrics.__name__)"
    assert printed_by("-c", code).split() == ["False", "tobitgp.metrics"]


def test_every_name_has_an_example_or_fields():
    for name in tg.metrics.__all__:
        words = inspect.getdoc(getattr(tg.metrics, name))
        assert "Examples" in words or "Attributes" in words, name
