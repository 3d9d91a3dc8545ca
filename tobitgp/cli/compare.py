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
    one.add_argument("--by", choices=CRITERIA, default="log_evidence")
    one.set_defaults(run=_compare)


def _compare(options: argparse.Namespace) -> None:
    same = len({path.stem for path in options.models}) < len(options.models)
    names = distinct(str(path) if same else path.stem for path in options.models)
    fits = {name: load_model(path) for name, path in zip(names, options.models, strict=True)}
    print(compare(fits, options.by).to_string(float_format="{:.3f}".format))
