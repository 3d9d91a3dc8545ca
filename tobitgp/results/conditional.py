"""What was seen of rows, and the posterior of a process in them without themselves."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tobitgp.data.detects import spell_numbers
from tobitgp.data.outcome import Outcome, outcome
from tobitgp.data.response import build_response, unknown_rows
from tobitgp.data.shapes import CensoredResponse
from tobitgp.data.table import Table, column_names, read_table
from tobitgp.engines import row_chunks
from tobitgp.errors import SpecError
from tobitgp.inference.site_updates import CHUNK_ROWS
from tobitgp.posterior.nodes import Nodes
from tobitgp.posterior.seen import Seen, log_predictive
from tobitgp.results.process.nodes import nodes_of, noise_sds, noises
from tobitgp.results.rows import Asked, ask
from tobitgp.results.views import Parts, Source
from tobitgp.typing import Frame

SEEN_ROLES = ("response", "event", "bound", "limit", "window")


def seen_in_training(parts: Parts) -> Seen:
    """Training rows: the cavity of each."""
    fitted, gp, response = parts.fitted, parts.gp, parts.rows.response
    design, units, order = parts.rows.design, gp.problem.units, gp.problem.order
    inputs, base = gp.inputs(design), gp.known_mean(design)
    J, n = len(fitted.points), len(base)
    mean, sd = np.empty((J, n)), np.empty((J, n))
    for j, point in enumerate(fitted.points):
        lambda1, lambda2 = np.empty(n), np.empty(n)
        lambda1[order] = point.sites.lambda1
        lambda2[order] = point.sites.lambda2
        for rows in row_chunks(0, n, CHUNK_ROWS):
            A, d = point.features([at.rows(rows) for at in inputs])
            m, v_p = A.times(point.w), point.factor.variance(A)
            copies = np.maximum(response.weight[rows], 1.0)  # a site of less than a copy goes as a whole
            v_c = v_p / np.maximum(1.0 - lambda2[rows] / copies * v_p, 1e-12)
            mean[j, rows] = base[rows] + units.scale * (m - v_c * (lambda1[rows] - lambda2[rows] * m) / copies)
            sd[j, rows] = units.scale * np.sqrt(v_c + d)
    nodes = Nodes(fitted.weights, mean, sd, noise_sds(parts, design), gp.family.log_time, noises(parts))
    return _seen(nodes, outcome(response, log_time=gp.family.log_time))


def with_response(parts: Source, new: Frame, asked: Asked) -> Asked:
    """Rows of new data in which something is known of the response."""
    table = what_was_seen(parts, new)
    return asked.among(~unknown_rows(parts.spec, table)[asked.usable])


def what_was_seen(parts: Source, new: Frame, asked: str = "what='conditional'") -> Table:
    """Columns of the response, the censoring and the window, which what is ``asked`` needs."""
    names = parts.spec.names(*SEEN_ROLES)
    lacking = [name for name in names if name not in set(column_names(new))]
    if lacking:
        raise SpecError(f"{asked} needs what was seen of each row; the new data lack {', '.join(map(repr, lacking))}.")
    spelled = spell_numbers(new, parts.spec.names("response")) if parts.spec.response.kind == "text" else new
    return read_table(spelled, names)


def response_of_rows(parts: Source, new: Frame | None, asked: Asked) -> tuple[Asked, CensoredResponse]:
    """Rows of whose response something is known, those of the training data by default, and what that is."""
    if new is None:
        return asked, parts.rows.response
    asked = with_response(parts, new, asked)
    table = what_was_seen(parts, new).take(asked.usable)
    return asked, build_response(parts.spec, table, np.ones(table.n))


def seen_in_rows(parts: Parts, new: Frame | None) -> tuple[Asked, Seen]:
    """Rows without themselves: cavities of training rows, the predictive distribution of new ones.

    Components are weighted by what they say of a new row inside its window.
    """
    asked = ask(parts, new)
    if new is None:
        return asked, seen_in_training(parts)
    asked, response = response_of_rows(parts, new, asked)
    seen = predicted_rows(parts, response, asked)
    log_weight = log_predictive(seen)
    weight = np.exp(log_weight - log_weight.max(axis=0))
    return asked, replace(seen, weight=weight / weight.sum(axis=0))


def predicted_rows(parts: Parts, response: CensoredResponse, asked: Asked) -> Seen:
    """New rows under the posterior as it stands, and what was seen of them."""
    known = outcome(response, log_time=parts.gp.family.log_time, labels=asked.labels.to_numpy())
    return _seen(nodes_of(parts, asked.design), known)


def _seen(nodes: Nodes, known: Outcome) -> Seen:
    weight = np.repeat(nodes.weight[:, None], nodes.mean.shape[1], axis=1)
    ends = known.lower, known.upper, nodes.log, nodes.noises, known.entry, known.exit
    return Seen(weight, nodes.mean, nodes.sd, nodes.sigma, *ends)
