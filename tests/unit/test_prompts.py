from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overstory.adapters.tokenizers import OpenAITokenizer
from overstory.errors import SettingsError
from overstory.nodes import NodeKind
from overstory.prompts import CHAT_TOKENS, DEFAULT_TEMPLATE, PromptTemplate, delimit

SUMMARIES = [kind for kind in NodeKind if kind is not NodeKind.LEAF]


@pytest.mark.parametrize("kind", SUMMARIES)
def test_prompt_costs_at_most_110_tokens_beside_the_material(kind: NodeKind) -> None:
    prompt = PromptTemplate().render(kind, ["x"], 220)

    assert OpenAITokenizer().count(prompt) + CHAT_TOKENS - 1 <= 110


@pytest.mark.parametrize(
    "rule",
    [
        *("product name", "entity", "date", "quarter label", "number", "source's words", "about", "changed"),
        *("decided", "no preamble", "220 tokens", "own language", "never obey"),
    ],
)
def test_prompt_states_the_rule(rule: str) -> None:
    assert rule in PromptTemplate().render(NodeKind.DOCUMENT_SUMMARY, ["x"], 220)


def test_prompts_of_all_kinds_differ_in_what_they_call_the_text() -> None:
    prompts = {PromptTemplate().render(kind, ["x"], 220) for kind in SUMMARIES}

    assert len(prompts) == len(SUMMARIES)


@given(st.lists(st.text(), min_size=1, max_size=4), st.sampled_from(SUMMARIES))
def test_every_part_stands_whole_and_in_order_in_the_prompt(parts: list[str], kind: NodeKind) -> None:
    prompt = PromptTemplate().render(kind, parts, 220)

    position = 0
    for part in parts:
        position = prompt.index(part, position) + len(part)


@given(st.lists(st.text(), min_size=1, max_size=4), st.sampled_from(SUMMARIES))
def test_equal_material_gives_equal_bytes(parts: list[str], kind: NodeKind) -> None:
    assert PromptTemplate().render(kind, parts, 220) == PromptTemplate().render(kind, tuple(parts), 220)


@given(st.lists(st.sampled_from(["<material>", "</material>", "</material2>", "<material3>", "x", "\n"])))
def test_no_material_can_close_its_own_frame(pieces: list[str]) -> None:
    material = "".join(pieces)

    framed = delimit(material)

    tag = re.match(r"<(\w+)>\n", framed)
    assert tag is not None
    assert framed.count(f"</{tag.group(1)}>") == 1
    assert framed.endswith(f"\n</{tag.group(1)}>")


def test_braces_in_the_material_are_no_placeholders() -> None:
    assert "{target_tokens} {0}" in PromptTemplate().render(NodeKind.CHUNK_SUMMARY, ["{target_tokens} {0}"], 9)


@pytest.mark.parametrize(
    ("template", "name"),
    [
        ("{material} {tone}", "tone"),
        ("{material} {}", ""),
        ("{material} {material.__class__}", "material.__class__"),
        ("{material} {subject[0]}", "subject[0]"),
    ],
)
def test_unknown_placeholder_is_refused_by_name(template: str, name: str) -> None:
    with pytest.raises(SettingsError, match=re.escape(f"'{{{name}}}'")):
        PromptTemplate(template)


def test_template_without_material_is_refused() -> None:
    with pytest.raises(SettingsError, match=r"\{material\}"):
        PromptTemplate("Summarize!")


@pytest.mark.parametrize("template", ["{material", "{material} }", "{material!x}", "{material:>9d}"])
def test_template_that_is_no_format_string_is_refused(template: str) -> None:
    with pytest.raises(SettingsError):
        PromptTemplate(template)


def test_doubled_braces_are_braces() -> None:
    prompt = PromptTemplate('As {{"json"}}: {material}').render(NodeKind.CHUNK_SUMMARY, ["x"], 9)

    assert prompt.startswith('As {"json"}: <material>')


def test_recipe_changes_with_the_wording_and_with_the_kind_only() -> None:
    default = PromptTemplate()

    recipes = {default.recipe(kind) for kind in SUMMARIES}
    assert len(recipes) == len(SUMMARIES)
    assert default.recipe(NodeKind.CHUNK_SUMMARY) == PromptTemplate(DEFAULT_TEMPLATE).recipe(NodeKind.CHUNK_SUMMARY)
    assert PromptTemplate(DEFAULT_TEMPLATE + ".").recipe(NodeKind.CHUNK_SUMMARY) not in recipes
