"""Command line: ``tobitgp fit``, ``predict``, ``compare`` and ``demo``."""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

from tobitgp.cli import commands
from tobitgp.errors import TobitGPError
from tobitgp.report.axes import printable_lines

BAD_INPUT = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line."""
    options = _parser().parse_args(arguments)
    warnings.showwarning = _one_line
    try:
        options.run(options)
        sys.stdout.flush()
    except BrokenPipeError:
        _mute_what_breaks()  # whoever read the output has seen enough
    except TobitGPError as error:
        print(f"tobitgp: {printable_lines(error)}", file=sys.stderr)
        return BAD_INPUT
    except OSError as error:
        place = "" if error.filename is None else f"{error.filename}: "
        print(f"tobitgp: {printable_lines(place + (error.strerror or str(error)))}", file=sys.stderr)
        _mute_what_breaks()
        return BAD_INPUT
    return 0


def _mute_what_breaks() -> None:
    """Let output that cannot be written go nowhere: Python would complain again when it closes the stream."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tobitgp", description="Gaussian-process regression for censored and truncated data."
    )
    parser.add_argument("--version", action="version", version=f"tobitgp {version('tobitgp')}")
    subparsers = parser.add_subparsers(required=True, metavar="command")
    for add_command in (commands.add_to, commands.add_predict, commands.add_compare):
        add_command(subparsers)
    return parser


def _one_line(message: Warning | str, category: type[Warning], *rest: Any, **more: Any) -> None:
    print(f"{category.__name__}: {printable_lines(message)}", file=sys.stderr)
