"""Whether a node says what its children say: a pure function of stored and desired state."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from overstory.identity import recipe_change
from overstory.nodes import NodeState
from overstory.record import StoredSummary


class Cause(StrEnum):
    """Why a node has to be made."""

    NEW = "new"
    EDITED = "edited"
    UNREAD = "cannot be read"
    """The source has it, but its bytes cannot be had: what stands for it is the last that could be read."""
    NEW_EXTRACTOR = "new extractor"
    """The same bytes came out as another text."""
    NEW_MODEL = "new model"
    NEW_PROMPT = "new prompt"
    NEW_PARAMETERS = "new parameters"
    NEW_EMBEDDER = "new embedder"
    RETRY = "failed before"
    CHILDREN = "children changed"
    """Of a summary over other summaries: one of them came out different."""


RECIPE_CAUSES = frozenset({Cause.NEW_MODEL, Cause.NEW_PROMPT, Cause.NEW_PARAMETERS})
"""Of a summary that says what its children say, by another recipe."""


@dataclass(frozen=True, slots=True)
class Desired:
    """What a node ought to be made from, and how."""

    child_hash: str | None
    """None while a child has no usable text: the node cannot be made yet."""
    recipe_hash: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """A node's state and, where it is not fresh, the cause."""

    state: NodeState
    cause: Cause | None = None


def judge(stored: StoredSummary | None, desired: Desired | None, *, edited: Cause | None = None) -> Verdict:
    """The state of a node.

    Args:
        stored: What the record holds, None if nothing.
        desired: What ought to be held, None if nothing (its source is gone).
        edited: Why its document has another version than at first, if it has.
    """
    if desired is None:
        return Verdict(NodeState.ORPHANED)
    if stored is None:
        return Verdict(NodeState.MISSING, edited or Cause.NEW)
    if desired.child_hash is None or stored.child_hash != desired.child_hash:
        return Verdict(NodeState.STALE, edited or Cause.CHILDREN)
    if stored.failure is not None:
        return Verdict(NodeState.FAILED, Cause.RETRY)
    if stored.recipe_hash != desired.recipe_hash:
        return Verdict(NodeState.STALE, Cause(f"new {recipe_change(stored.recipe_hash, desired.recipe_hash)}"))
    return Verdict(NodeState.FRESH)
