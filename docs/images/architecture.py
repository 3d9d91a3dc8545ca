"""Draw the subpackages and their imports, from the code: ``python docs/images/architecture.py``.

Writes architecture.svg next to this file. Layers are those of the import contract in pyproject.toml. An arrow points
from a subpackage to one that it imports. The figure omits imports that a chain of other imports implies, and the
modules that all subpackages share.
"""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "tobitgp"
SHARED = {"errors", "files", "imports", "typing", "options", "method_settings", "method_spelling", "method_value"}
CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
ARRAYS = {
    name.removeprefix("tobitgp.")
    for contract in CONTRACTS
    if contract["name"].startswith("arrays only")
    for name in contract["source_modules"]
}


def read_layers() -> list[list[str]]:
    """Subpackages by layer, the highest layer first."""
    named = [[name for name in layer.split(" : ") if name not in SHARED] for layer in CONTRACTS[0]["layers"]]
    return [layer for layer in named if layer]


def files(name: str) -> list[Path]:
    """Modules of a subpackage."""
    return sorted((PACKAGE / name).rglob("*.py")) or [PACKAGE / f"{name}.py"]


def imported(name: str) -> set[str]:
    """Subpackages that a subpackage imports."""
    found = set()
    for path in files(name):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tobitgp"):
                names = [node.module or ""] if node.module != "tobitgp" else [f"tobitgp.{n.name}" for n in node.names]
                found |= {name.split(".")[1] for name in names}
    return found


def direct(graph: dict[str, set[str]]) -> set[tuple[str, str]]:
    """Imports that a chain of other imports does not imply."""

    def reached(name: str) -> set[str]:
        return graph[name].union(*map(reached, graph[name]))

    return {(a, b) for a in graph for b in graph[a] if not any(b in reached(c) for c in graph[a] - {b})}


def draw(layers: list[list[str]], edges: set[tuple[str, str]]) -> plt.Figure:
    """Boxes in rows, the highest layer first."""
    figure, ax = plt.subplots(figsize=(8, 0.72 * len(layers)), layout="constrained")
    at = {
        name: ((i + 1) / (len(layer) + 1) * 3 + 0.35 * (k % 2) - 0.17, -k)
        for k, layer in enumerate(layers)
        for i, name in enumerate(layer)
    }
    boxes = {}
    for name, place in at.items():
        lines = sum(len(path.read_text().splitlines()) for path in files(name))
        colour = "#dbe9f6" if name in ARRAYS else "#f3f3f3"
        label = (
            f"{name}\n{len(files(name))} files, {lines:,} lines" if len(files(name)) > 1 else f"{name}\n{lines:,} lines"
        )
        box = {"boxstyle": "round,pad=0.4", "facecolor": colour, "edgecolor": "#777777", "linewidth": 0.7}
        boxes[name] = ax.text(*place, label, ha="center", va="center", fontsize=7.5, bbox=box, zorder=3)
    ax.set(xlim=(0.25, 2.75), ylim=(0.6 - len(layers), 0.6))
    ax.axis("off")
    figure.canvas.draw()  # gives the boxes their sizes
    for a, b in sorted(edges):
        ends = {"patchA": boxes[a].get_bbox_patch(), "patchB": boxes[b].get_bbox_patch()}
        look = {"arrowstyle": "-|>", "color": "#4d7ea8", "linewidth": 0.8, "connectionstyle": "arc3,rad=0.12"}
        ax.annotate("", at[b], at[a], arrowprops=look | ends, zorder=2)
    return figure


def main() -> None:
    """Read, reduce, draw, write."""
    layers = read_layers()
    depth = {name: k for k, layer in enumerate(layers) for name in layer}
    # Methods of results import plots, tables and storage when they are called: upward imports, not drawn.
    graph = {name: {other for other in imported(name) if depth.get(other, 0) > depth[name]} for name in depth}
    plt.rcParams["svg.hashsalt"] = "tobitgp"
    target = Path(__file__).with_suffix(".svg")
    draw(layers, direct(graph)).savefig(target, metadata={"Date": None})
    print(target.relative_to(ROOT))


if __name__ == "__main__":
    main()
