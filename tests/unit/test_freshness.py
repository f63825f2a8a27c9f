from __future__ import annotations

import pytest

from overstory.freshness import Cause, Desired, Verdict, judge
from overstory.identity import NodeId, recipe_hash
from overstory.nodes import NodeKind, NodeState
from overstory.record import StoredSummary

RECIPE = recipe_hash("model", "prompt", "parameters")


def stored(child_hash: str = "children", recipe: str = RECIPE, failure: str | None = None) -> StoredSummary:
    return StoredSummary(NodeId("node"), NodeKind.DOCUMENT_SUMMARY, 0, child_hash, recipe, "text", failure)


WANTED = Desired("children", RECIPE)


@pytest.mark.parametrize(
    ("held", "wanted", "edited", "expected"),
    [
        (stored(), WANTED, False, Verdict(NodeState.FRESH)),
        (stored(), WANTED, True, Verdict(NodeState.FRESH)),
        (None, WANTED, False, Verdict(NodeState.MISSING, Cause.NEW)),
        (None, WANTED, True, Verdict(NodeState.MISSING, Cause.EDITED)),
        (None, Desired(None, RECIPE), False, Verdict(NodeState.MISSING, Cause.NEW)),
        (stored(), None, False, Verdict(NodeState.ORPHANED)),
        (None, None, False, Verdict(NodeState.ORPHANED)),
        (stored("others"), WANTED, False, Verdict(NodeState.STALE, Cause.CHILDREN)),
        (stored("others"), WANTED, True, Verdict(NodeState.STALE, Cause.EDITED)),
        (stored(), Desired(None, RECIPE), False, Verdict(NodeState.STALE, Cause.CHILDREN)),
        (stored(failure="refusal"), WANTED, False, Verdict(NodeState.FAILED, Cause.RETRY)),
        (stored("others", failure="refusal"), WANTED, False, Verdict(NodeState.STALE, Cause.CHILDREN)),
    ],
)
def test_state_follows_from_what_is_held_and_wanted(
    held: StoredSummary | None, wanted: Desired | None, edited: bool, expected: Verdict
) -> None:
    assert judge(held, wanted, edited=edited) == expected


@pytest.mark.parametrize(
    ("recipe", "cause"),
    [
        (recipe_hash("another", "prompt", "parameters"), Cause.NEW_MODEL),
        (recipe_hash("model", "another", "parameters"), Cause.NEW_PROMPT),
        (recipe_hash("model", "prompt", "others"), Cause.NEW_PARAMETERS),
    ],
)
def test_new_recipe_is_told_by_what_changed(recipe: str, cause: Cause) -> None:
    assert judge(stored(), Desired("children", recipe)) == Verdict(NodeState.STALE, cause)
