"""Commands that ask questions of fits: ``predict`` and ``compare``.

``tobitgp compare``.

``tobitgp predict``.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tobitgp.cli.files import check_targets, date_columns, load_model, read_data, read_dates, write_table
from tobitgp.results.compare import CRITERIA, compare, distinct
from tobitgp.results.mixture.predict import WHATS as MIXTURE_WHATS
from tobitgp.results.predict import whats

if TYPE_CHECKING:
    import pandas as pd


def add_compare(commands: Any) -> None:
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


_NUMBERS = {"type": float, "nargs": "+", "action": "extend", "metavar": "NUMBER"}


def add_predict(commands: Any) -> None:
    """Add the command to the parser."""
    one = commands.add_parser("predict", help="predict at the rows of a file from a saved fit")
    one.add_argument("model", type=Path, help="fit that `tobitgp fit --save` wrote")
    one.add_argument("data", type=Path, help="CSV file with a header line, or Parquet")
    one.add_argument(
        "--what",
        choices=list(dict.fromkeys((*whats(), *MIXTURE_WHATS))),
        help="latent by default, uncensored of a mixture",
    )
    one.add_argument("--q", help="orders of quantiles, with --what quantile", **_NUMBERS)
    one.add_argument("--below", help="with --what prob", **_NUMBERS)
    one.add_argument("--above", help="with --what prob", **_NUMBERS)
    one.add_argument("--interval", type=float, metavar="PROBABILITY", help="as 0.95: add lower and upper")
    one.add_argument("--se", action="store_true", help="add standard deviations")
    one.add_argument("--exclude", nargs="+", action="extend", default=[], metavar="TERM", help="set a term to zero")
    one.add_argument("--out", type=Path, metavar="FILE", help="CSV or Parquet by its suffix; CSV to stdout without")
    one.set_defaults(run=_predict)


def _predict(options: argparse.Namespace) -> None:
    check_targets({"--out": options.out}, read=[options.model, options.data])
    model = load_model(options.model)
    state = model.parts.state
    # Levels 1, 2 and a are text, and a file that holds 1 and 2 alone looks like numbers.
    text = [name for name, levels in state.levels.items() if any(isinstance(level, str) for level in levels or ())]
    data = read_dates(read_data(options.data, text), date_columns(part.spec for part in state.parts))
    table = model.predict(
        data,
        options.what,
        interval=options.interval,
        se=options.se,
        q=_one_or_several(options.q),
        below=_one_or_several(options.below),
        above=_one_or_several(options.above),
        exclude=options.exclude,
    )
    write_table(flat(table), options.out)


def _one_or_several(numbers: list[float] | None) -> float | list[float] | None:
    return numbers[0] if numbers is not None and len(numbers) == 1 else numbers


def flat(table: pd.Series[float] | pd.DataFrame) -> pd.DataFrame:
    """Predictions with one line of column names, which are text."""
    import pandas as pd

    frame = table if isinstance(table, pd.DataFrame) else table.to_frame()
    names = ["_".join(map(str, name)) if isinstance(name, tuple) else str(name) for name in frame.columns]
    return frame.set_axis(names, axis=1)
