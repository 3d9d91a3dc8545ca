"""Every vignette runs from top to bottom and shows the pictures it shows in the repository."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "vignettes"
EXECUTE = """
import sys
import nbformat
from nbclient import NotebookClient

notebook = nbformat.read(sys.argv[1], as_version=4)
NotebookClient(notebook, timeout=600, kernel_name="python3").execute()
nbformat.write(notebook, sys.argv[2])
"""


def pictures(notebook):
    outputs = [o for cell in notebook["cells"] if cell["cell_type"] == "code" for o in cell["outputs"]]
    return sum("image/png" in o.get("data", {}) for o in outputs)


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.ipynb")), ids=lambda path: path.stem)
def test_vignette_runs(path, tmp_path):
    # A process of its own: the notebook machinery has deprecation warnings that are not ours to turn into errors.
    copy = tmp_path / path.name
    done = subprocess.run([sys.executable, "-c", EXECUTE, path, copy], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    stored, made = (json.loads(p.read_text(encoding="utf-8")) for p in (path, copy))
    assert pictures(made) == pictures(stored) > 0
