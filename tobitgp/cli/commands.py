"""Subcommands of the command line: each has a description and examples in its help."""

from __future__ import annotations

import argparse
from typing import Any


def add_command(commands: Any, name: str, description: str, *examples: str) -> argparse.ArgumentParser:
    """Add a subcommand; the description begins with a small letter and has no full stop, as in the list of commands."""
    listed = "\n".join(f"  tobitgp {name} {example}".rstrip() for example in examples)
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=description,
        description=f"{description[0].upper()}{description[1:]}.",
        epilog=f"example{'s' * (len(examples) > 1)}:\n{listed}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    return parser
