"""What the reference needs beside autosummary: help of the commands, and no strangers among the members of a class."""

from __future__ import annotations

import argparse
from types import MemberDescriptorType
from typing import Any

from docutils import nodes
from numpydoc.xref import DEFAULT_LINKS
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

import tobitgp
from tobitgp.cli import _parser
from tobitgp.metrics import DynamicAUC

_FIELDS = (MemberDescriptorType, type(DynamicAUC.auc))  # of a class with slots, of a named tuple
WIDTH = 88

# Where a type of these names is explained, beside the classes at the top of the package.
_ELSEWHERE = {
    "Check": "tobitgp.diagnostics.residual_tests.Check",
    "Concordance": "tobitgp.metrics.Concordance",
    "ContrastResults": "tobitgp.results.hypotheses.ContrastResults",
    "DCalibration": "tobitgp.metrics.DCalibration",
    "DynamicAUC": "tobitgp.metrics.DynamicAUC",
    "Evidence": "tobitgp.kinds.process.Evidence",
    "Finding": "tobitgp.diagnostics.residual_tests.Finding",
    "InfluenceMeasures": "tobitgp.results.interfaces.leverage.InfluenceMeasures",
    "KHat": "tobitgp.diagnostics.k_hat.KHat",
    "LOO": "tobitgp.diagnostics.elpd.LOO",
    "ModelView": "tobitgp.results.views.ModelView",
    "Posterior": "tobitgp.results.joint.Posterior",
    "PredictionResults": "tobitgp.results.prediction.PredictionResults",
    "Predictive": "tobitgp.mixture.predictive.Predictive",
    "WAIC": "tobitgp.diagnostics.elpd.WAIC",
    "WaldResults": "tobitgp.results.hypotheses.WaldResults",
}


def type_links() -> dict[str, str]:
    """Names in the types of parameters that are links, and what to."""
    DEFAULT_LINKS.clear()  # numpydoc's go to Python's and numpy's own pages
    top = {name: f"tobitgp.{name}" for name in tobitgp.__all__ if isinstance(getattr(tobitgp, name), type)}
    errors = {name: f"tobitgp.errors.{name}" for name, kind in vars(tobitgp.errors).items() if isinstance(kind, type)}
    return {**top, **errors, **_ELSEWHERE}


class CommandHelp(SphinxDirective):
    """``{command-help} fit``: what ``tobitgp fit --help`` prints."""

    optional_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Make a block of the help."""
        parser = _parser()
        if self.arguments:
            (commands,) = (a for a in parser._actions if isinstance(a, argparse._SubParsersAction))
            parser = commands.choices[self.arguments[0]]
        parser.color = False  # type: ignore[attr-defined]  # read from Python 3.14 on
        parser.formatter_class = lambda prog: argparse.RawDescriptionHelpFormatter(prog, width=WIDTH)
        text = parser.format_help().rstrip()
        return [nodes.literal_block(text, text, language="none")]


def skip_others(app: Sphinx, what: str, name: str, value: Any, skip: bool, options: Any) -> bool | None:
    """Fields are in the docstring of their class; what scikit-learn defines is documented there."""
    elsewhere = str(getattr(value, "__module__", "")).startswith("sklearn")
    return True if elsewhere or isinstance(value, _FIELDS) else None


def setup(app: Sphinx) -> dict[str, bool]:
    """Add both to Sphinx."""
    app.setup_extension("sphinx.ext.autodoc")
    app.add_directive("command-help", CommandHelp)
    app.connect("autodoc-skip-member", skip_others)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
