"""Reference numbers that lie in tests/reference."""

import json
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "reference"


def load(name):
    return json.loads((FOLDER / name).read_text(encoding="utf-8"))
