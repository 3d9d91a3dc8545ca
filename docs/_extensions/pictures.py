"""Words in place of a picture that a cell draws, for who does not see it: the heading that it stands under."""

from __future__ import annotations

from docutils import nodes
from sphinx.application import Sphinx


def describe_pictures(app: Sphinx | None, doctree: nodes.document) -> None:
    """Give every image that has no text in its place that of its section's heading."""
    for section in doctree.findall(nodes.section):
        heading = section.next_node(nodes.title)
        for child in section.children:
            pictures = [] if isinstance(child, nodes.section) else child.findall(nodes.image)
            for picture in pictures:
                if not picture.get("alt") and heading is not None:
                    picture["alt"] = f"Picture: {heading.astext()}"


def setup(app: Sphinx) -> dict[str, bool]:
    """Describe the pictures of a page once it is read."""
    app.connect("doctree-read", describe_pictures)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
