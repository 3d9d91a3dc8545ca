"""Draw the figure of the README again: ``python docs/images/make.py``."""

from __future__ import annotations

import re
from pathlib import Path

import matplotlib.pyplot as plt

FOLDER = Path(__file__).parent
README = FOLDER.parents[1] / "README.md"


def main() -> None:
    """Run the first example of the README and write its figure."""
    plt.switch_backend("Agg")
    (first, *_) = re.findall(r"^```python\n(.*?)^```$", README.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    exec(first, {})
    plt.gcf().savefig(FOLDER / "nh4.png", dpi=225, bbox_inches="tight")


if __name__ == "__main__":
    main()
