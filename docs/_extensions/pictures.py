"""Alternative text for figures that cells draw: the heading of their section."""

from __future__ import annotations

from docutils import nodes
from sphinx.application import Sphinx


def describe_pictures(app: Sphinx | None, doctree: nodes.document) -> None:
    """Give every image without alternative text the heading of its section."""
    for section in doctree.findall(nodes.section):
        heading = section.next_node(nodes.title)
        for child in section.children:
            figures = [] if isinstance(child, nodes.section) else child.findall(nodes.image)
            for figure in figures:
                if not figure.get("alt") and heading is not None:
                    figure["alt"] = f"Figure: {heading.astext()}"


def setup(app: Sphinx) -> dict[str, bool]:
    """Describe the figures of a page once it is read."""
    app.connect("doctree-read", describe_pictures)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
