"""Figures on the site have alternative texts."""

import importlib.util
from pathlib import Path

import pytest

EXTENSION = Path(__file__).parents[2] / "docs" / "_extensions" / "pictures.py"


def test_a_figure_without_alternative_text_has_its_heading():
    nodes = pytest.importorskip("docutils.nodes")
    pytest.importorskip("sphinx")
    found = importlib.util.spec_from_file_location("pictures", EXTENSION)
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)

    drawn, told, first = (nodes.image(uri=f"{k}.png") for k in range(3))
    told["alt"] = "A curve"
    inner = nodes.section("", nodes.title("", "How many"), nodes.container("", drawn), told)
    page = nodes.section("", nodes.title("", "Mixtures"), nodes.container("", first), inner)
    doctree = nodes.document("", "")
    doctree += page
    module.describe_pictures(None, doctree)
    assert [image["alt"] for image in (drawn, told, first)] == ["Figure: How many", "A curve", "Figure: Mixtures"]
