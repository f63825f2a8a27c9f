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
        (stored(), WANTED, None, Verdict(NodeState.FRESH)),
        (stored(), WANTED, Cause.EDITED, Verdict(NodeState.FRESH)),
        (None, WANTED, None, Verdict(NodeState.MISSING, Cause.NEW)),
        (None, WANTED, Cause.EDITED, Verdict(NodeState.MISSING, Cause.EDITED)),
        (None, WANTED, Cause.NEW_EXTRACTOR, Verdict(NodeState.MISSING, Cause.NEW_EXTRACTOR)),
        (None, Desired(None, RECIPE), None, Verdict(NodeState.MISSING, Cause.NEW)),
        (stored(), None, None, Verdict(NodeState.ORPHANED)),
        (None, None, None, Verdict(NodeState.ORPHANED)),
        (stored("others"), WANTED, None, Verdict(NodeState.STALE, Cause.CHILDREN)),
        (stored("others"), WANTED, Cause.EDITED, Verdict(NodeState.STALE, Cause.EDITED)),
        (stored(), Desired(None, RECIPE), None, Verdict(NodeState.STALE, Cause.CHILDREN)),
        (stored(failure="refusal"), WANTED, None, Verdict(NodeState.FAILED, Cause.RETRY)),
        (stored("others", failure="refusal"), WANTED, None, Verdict(NodeState.STALE, Cause.CHILDREN)),
    ],
)
def test_state_follows_from_what_is_held_and_wanted(
    held: StoredSummary | None, wanted: Desired | None, edited: Cause | None, expected: Verdict
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
