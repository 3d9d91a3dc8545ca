"""Results of fits to data in pieces: they hold no rows, as those loaded from files do not."""

from __future__ import annotations

from collections.abc import Sequence

from tobitgp.data.facts import make_facts
from tobitgp.data.pieces import PiecesData
from tobitgp.formula.spec import ModelSpec
from tobitgp.inference.fitted import FittedGP
from tobitgp.inference.model import GPModel
from tobitgp.results.groups import with_typical_groups
from tobitgp.results.process.results import GPResults
from tobitgp.results.storage.rowless import process_without_rows
from tobitgp.results.terms import columns_together
from tobitgp.results.views import Parts, named_columns


def process_results(
    spec: ModelSpec, data: PiecesData, model: GPModel, fitted: FittedGP, columns: Sequence[str]
) -> GPResults:
    """Results of a process."""
    names = named_columns([spec], dict.fromkeys(columns))
    facts = make_facts(data.state, data.found, data.counts, names, data.examples, columns_together(data.state))
    facts = with_typical_groups(facts, data.state, data.found.groups)
    return GPResults.from_parts(process_without_rows(Parts(spec, data.state, facts, model, fitted)))
