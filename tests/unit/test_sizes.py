from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overstory.nodes import NodeKind
from overstory.settings import Summaries
from overstory.sizes import Size, base_tokens, parameters, size

SUMMARIZED = [kind for kind in NodeKind if kind is not NodeKind.LEAF]


@pytest.mark.parametrize(
    ("kind", "tokens"),
    [
        (NodeKind.CHUNK_SUMMARY, 60),
        (NodeKind.SECTION_SUMMARY, 220),
        (NodeKind.DOCUMENT_SUMMARY, 220),
        (NodeKind.CLUSTER_SUMMARY, 380),
    ],
)
def test_plain_targets_are_those_of_the_chapter(kind: NodeKind, tokens: int) -> None:
    assert base_tokens(kind, Summaries()) == tokens
    assert size(kind, 0, Summaries()) == Size(tokens, 2 * tokens)


def test_target_grows_by_the_facts_that_the_plain_one_has_no_room_for() -> None:
    assert size(NodeKind.DOCUMENT_SUMMARY, 20, Summaries()).target_tokens == 220
    assert size(NodeKind.DOCUMENT_SUMMARY, 21, Summaries()).target_tokens == 226
    assert size(NodeKind.DOCUMENT_SUMMARY, 10_000, Summaries()).target_tokens == 440


@given(st.sampled_from(SUMMARIZED), st.integers(0, 500), st.integers(0, 500))
def test_more_facts_never_ask_for_less(kind: NodeKind, some: int, more: int) -> None:
    smaller, larger = (size(kind, number, Summaries()) for number in sorted((some, some + more)))
    assert smaller.target_tokens <= larger.target_tokens <= larger.max_tokens == smaller.max_tokens


@pytest.mark.parametrize(
    "change", [{"document_tokens": 221}, {"growth": 1.5}, {"facts_per_target": 21}, {"tokens_per_fact": 7}]
)
def test_every_setting_of_length_enters_the_recipe(change: dict[str, float]) -> None:
    changed = Summaries.model_validate(change)
    assert parameters(NodeKind.DOCUMENT_SUMMARY, changed) != parameters(NodeKind.DOCUMENT_SUMMARY, Summaries())


def test_length_of_one_kind_does_not_enter_the_recipe_of_another() -> None:
    changed = Summaries(cluster_tokens=400)
    assert parameters(NodeKind.DOCUMENT_SUMMARY, changed) == parameters(NodeKind.DOCUMENT_SUMMARY, Summaries())
