"""Draw the picture of the README again, as the quickstart does: ``python docs/images/make.py``."""

from __future__ import annotations

from pathlib import Path

import jupytext
import matplotlib.pyplot as plt

FOLDER = Path(__file__).parent
QUICKSTART = FOLDER.parents[1] / "vignettes" / "quickstart.md"


def main() -> None:
    """Run the vignette's cells up to its first picture and write that."""
    plt.switch_backend("Agg")
    names: dict[str, object] = {}
    for cell in jupytext.read(QUICKSTART).cells:
        if cell.cell_type != "code":
            continue
        exec(cell.source, names)
        if figures := plt.get_fignums():
            plt.figure(figures[0]).savefig(FOLDER / "nh4.png", dpi=150, bbox_inches="tight")
            return


if __name__ == "__main__":
    main()
