"""From rows in pieces to what a fit works on: a sample in memory, and all rows where they are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tobitgp.data.joined import join
from tobitgp.data.outcome import outcome
from tobitgp.data.piece import RowPiece, naming
from tobitgp.data.pieces import PiecesData, split_positions
from tobitgp.data.problem import Rows, draw_rows
from tobitgp.data.units import KnownRows, Standard, row_kinds
from tobitgp.engines import Pieces, Store
from tobitgp.errors import SpecError
from tobitgp.formula.spec import ModelSpec
from tobitgp.inference.given import Given
from tobitgp.inference.model import GPModel, Plan, block_inputs, make_plan, scale_problem
from tobitgp.inference.parts import Part, Whole, examples
from tobitgp.likelihoods import Family
from tobitgp.prior.linear import LinearPrior
from tobitgp.typing import IntArray

SAMPLE_ROWS = 20_000


def assemble_pieces(
    spec: ModelSpec,
    data: PiecesData,
    family: Family,
    given: Given,
    *,
    limits: bool = False,
    size: int = SAMPLE_ROWS,
    rng: int | np.random.Generator | None = None,
) -> tuple[Plan, GPModel, Whole]:
    """Standardise rows where they are; see :func:`tobitgp.inference.model.assemble`.

    Parameters
    ----------
    spec : ModelSpec
    data : PiecesData
    family : Family
    given : Given
    limits : bool
        Whether rows carry the limits of the instrument.
    size : int
        Rows of the sample, about; all where there are no more.
    rng : int, Generator or None
        Chooses them; it is not used where all are the sample.

    Returns
    -------
    plan : Plan
    model : GPModel
        On the sample, in the units of all rows. It holds the rows that ``Problem.subset`` would choose, in their order.
    whole : Whole
        The same rows, sites and order within each piece aside, as data in memory give.

    Raises
    ------
    DataError
        If rows cannot be used, naming their piece.
    SpecError
        As data in memory, and where a parameter would belong to a single row.
    """
    if given.side_noises == "row":
        raise SpecError(
            "tg.VI(side_noise='row') has a parameter for each censored row, which data in pieces do not name; "
            "side_noise='shared' has one for each side."
        )
    pieces = data.pieces.map(know_rows, family.log_time, data.store)
    plan = make_plan(spec, data.columns, pieces, family, given)
    model = plan.build(take_sample(pieces, plan, size, rng), limits=limits)
    parts = pieces.map(make_part, plan.standard, plan.linear, limits, data.store)
    kinds = examples([join(rows) for rows in zip(*parts.collect(example_rows), strict=True)])
    whole = Whole(parts, kinds, plan.measured.n, plan.measured.weight)
    if data.store is not None:
        data.store.forget("known")
    return plan, model, whole


def know_rows(piece: RowPiece, log_time: bool, store: Store | None) -> KnownRows:
    """What is known of a piece's rows on the scale that is modelled."""
    with naming(piece.place):
        known = outcome(piece.response, log_time=log_time, labels=piece.labels.to_numpy())
    rows = KnownRows(piece.response, known, piece.design, piece.number)
    return rows if store is None else store.keep("known", rows)


def make_part(
    rows: KnownRows, standard: Standard, linear: LinearPrior | None, limits: bool, store: Store | None
) -> Part:
    """A piece's rows standardised and sorted by kind."""
    problem = scale_problem(rows, standard, limits)
    part = Part(problem.rows, block_inputs(problem, linear))
    return part if store is None else store.keep("parts", part)


def example_rows(part: Part) -> tuple[Rows, ...]:
    """A row of every kind, or none where there is none."""
    return tuple(examples([rows])[0] if len(rows) else rows for rows in part.rows)


def take_sample(
    pieces: Pieces, plan: Plan, size: int = SAMPLE_ROWS, rng: int | np.random.Generator | None = None
) -> KnownRows:
    """Rows of all pieces, every kind in proportion, in the order of the data.

    Parameters
    ----------
    pieces : Pieces of KnownRows
    plan : Plan
        Of these pieces.
    size, rng
        As in :func:`assemble_pieces`.
    """
    kinds, totals = plan.standard.kinds, [int(plan.measured.counts[k]) for k in plan.standard.kinds]
    drawn = [np.arange(n) for n in totals] if sum(totals) <= size else draw_rows(totals, size, rng)
    split = [
        split_positions(at, [int(counts[k]) for counts in plan.counts]) for k, at in zip(kinds, drawn, strict=True)
    ]
    chosen = [dict(zip(kinds, at, strict=True)) for at in zip(*split, strict=True)]
    return join(pieces.collect(take_rows, chosen))


def take_rows(rows: KnownRows, chosen: Sequence[dict[int, IntArray]]) -> KnownRows:
    """Rows of a piece at positions among those of each kind, given for every piece."""
    kind = row_kinds(rows.known)
    at = [np.flatnonzero(kind == k)[positions] for k, positions in chosen[rows.number].items()]
    return rows.rows(np.sort(np.concatenate(at)))
