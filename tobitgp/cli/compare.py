"""``tobitgp compare``."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from tobitgp.cli.files import load_model
from tobitgp.results.compare import CRITERIA, compare, distinct


def add_to(commands: Any) -> None:
    """Add the command to the parser."""
    one = commands.add_parser("compare", help="rank saved fits of the same response and rows")
    one.add_argument("models", type=Path, nargs="+", metavar="model", help="fit that `tobitgp fit --save` wrote")
    # Saved fits hold no rows, and what is a sum over rows cannot be asked of them.
    choices = [name for name, criterion in CRITERIA.items() if not criterion.by_row]
    one.add_argument("--by", choices=choices, default="log_evidence")
    one.set_defaults(run=_compare)


def _compare(options: argparse.Namespace) -> None:
    same = len({path.stem for path in options.models}) < len(options.models)
    names = distinct(str(path) if same else path.stem for path in options.models)
    fits = {name: load_model(path) for name, path in zip(names, options.models, strict=True)}
    print(compare(fits, options.by).to_string(float_format="{:.3f}".format))
