"""Scripts of vignettes, which are no package."""

import importlib
import sys
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "vignettes"


def module_of(vignette, name):
    """A module beside a vignette, imported as its own script would; others of that name stay out of its way."""
    before, path = set(sys.modules), sys.path[:]
    sys.path.insert(0, str(FOLDER / vignette))
    try:
        return importlib.import_module(name)
    finally:
        sys.path[:] = path
        for other in set(sys.modules) - before:
            file = getattr(sys.modules[other], "__file__", None) or ""
            if Path(file).parent == FOLDER / vignette:
                del sys.modules[other]
