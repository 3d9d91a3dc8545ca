"""What a kind of fit says of itself in a summary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Group:
    """Parameters of one table, and those whose exponentials have a table of their own."""

    heading: str
    names: Sequence[str]
    ratio: str = ""  # heading of the exponentials; none without
    ratios: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Words:
    """A title, facts about the model, groups of parameters and notes."""

    title: str
    facts: Sequence[tuple[str, str]]
    groups: Sequence[Group]
    notes: Sequence[str]
    formulas: Mapping[str, str] = field(default_factory=dict)
    errors: str = "from the observed information"
    numbers: Sequence[tuple[str, Sequence[tuple[str, Sequence[float]]]]] = ()  # a table of estimate, error and ends
