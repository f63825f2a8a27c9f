from __future__ import annotations

import re
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overstory.nodes import NodeKind
from overstory.ports import SummaryRequest
from overstory.prompts import PromptTemplate
from overstory.replies import Verdict
from overstory.summarizing import Ask, Overflow, Window, advance, expected, halve, write

TEMPLATE = PromptTemplate("About {target_tokens} tokens: {material}")


def words(text: str) -> int:
    return len(text.split())


def request(*parts: str, target: int = 10) -> SummaryRequest:
    return SummaryRequest("key", NodeKind.DOCUMENT_SUMMARY, parts, target, 2 * target)


@dataclass
class Model:
    """Answers with a numbered summary; overflows above ``window`` words of material."""

    window: int = 1_000_000
    verdicts: list[Verdict] = field(default_factory=list)
    length: int = 2
    """Words of an answer."""
    asked: list[Ask] = field(default_factory=list)

    def answer(self, ask: Ask) -> Verdict | Overflow:
        self.asked.append(ask)
        if words(ask.question.material) > self.window:
            return Overflow()
        if self.verdicts:
            return self.verdicts.pop(0)
        return Verdict(" ".join(["summary"] * (self.length - 1) + [str(len(self.asked))]))

    def write(self, to_write: SummaryRequest, window: Window | None = None) -> Verdict:
        writing = write(to_write, TEMPLATE, window or Window(), words)
        step = advance(writing, None)
        while isinstance(step, Ask):
            step = advance(writing, self.answer(step))
        return step


def test_material_that_fits_is_asked_for_once() -> None:
    model = Model()

    assert model.write(request("one", "two")) == Verdict("summary 1")
    assert [ask.question.material for ask in model.asked] == ["one\n\ntwo"]


def test_request_without_text_fails_without_a_call() -> None:
    model = Model()

    assert model.write(request("", " \n")).failure == "empty material"
    assert model.asked == []


def test_unusable_answer_is_asked_for_once_more_with_the_same_prompt() -> None:
    model = Model(verdicts=[Verdict("", "refusal")])

    assert model.write(request("one")).text == "summary 2"
    assert model.asked[0] == model.asked[1]


def test_case_40_second_unusable_answer_is_a_failure() -> None:
    model = Model(verdicts=[Verdict("", "refusal"), Verdict("", "echo"), Verdict("too late")])

    assert model.write(request("one")) == Verdict("", "echo")
    assert len(model.asked) == 2


def test_case_43_truncated_answer_is_asked_for_again_with_twice_the_room() -> None:
    model = Model(verdicts=[Verdict("", "truncated")])

    assert model.write(request("one", target=10)).failure == ""
    assert [ask.max_tokens for ask in model.asked] == [20, 40]


def test_case_43_answer_truncated_twice_is_a_failure() -> None:
    model = Model(verdicts=[Verdict("", "truncated")] * 2)

    assert model.write(request("one")) == Verdict("", "truncated")


def test_case_43_overflow_is_halved_and_the_summaries_are_summarized() -> None:
    model = Model(window=4)

    verdict = model.write(request("a b", "c d", "e f"))

    assert verdict.text == "summary 4"
    assert [ask.question.material for ask in model.asked] == [
        "a b\n\nc d\n\ne f",
        "a b",
        "c d\n\ne f",
        "summary 2\n\nsummary 3",
    ]


def test_case_43_marker_at_the_end_of_the_longest_part_reaches_a_prompt() -> None:
    model = Model(window=50)
    longest = " ".join(f"w{i}." for i in range(400)) + " MARKER-7"

    verdict = model.write(request("short", longest, "short too"))

    assert verdict.failure == ""
    assert any("MARKER-7" in ask.question.material for ask in model.asked[1:] if words(ask.question.material) <= 50)


@given(st.lists(st.text("ab .\n中", min_size=1, max_size=60), min_size=1, max_size=6), st.integers(1, 12))
def test_case_43_no_character_of_the_material_is_left_out(parts: list[str], window: int) -> None:
    model = Model(window=window)
    material = [part for part in parts if part.strip()]

    model.write(request(*parts), Window())

    answered = [a.question.material for a in model.asked if words(a.question.material) <= window]
    seen = "".join(text for text in answered if not text.startswith("summary"))
    assert re.sub(r"\s", "", seen) == re.sub(r"\s", "", "".join(material))


def test_what_is_known_to_exceed_the_window_costs_no_call() -> None:
    model = Model(window=4)
    window = Window(turned_away=None, tokens=20 + 7 + 6 + 4)

    model.write(request("a b", "c d", "e f", target=10), window)

    assert all(words(ask.question.material) <= 4 for ask in model.asked)


def test_size_that_was_turned_away_is_not_tried_again() -> None:
    model, window = Model(window=4), Window()
    model.write(request("a b c d e f"), window)
    before = len(model.asked)

    model.write(request("g h i j k l"), window)

    assert len(model.asked) - before == before - 1


def test_split_does_not_depend_on_what_was_turned_away_before() -> None:
    fresh, used = Model(window=4), Model(window=4)
    window = Window()
    used.write(request("x x x x x x x x"), window)
    used.asked.clear()

    fresh.write(request("a b", "c d", "e f g h i"))
    used.write(request("a b", "c d", "e f g h i"), window)

    fitting = [ask.prompt for ask in fresh.asked if words(ask.question.material) <= 4]
    assert [ask.prompt.split() for ask in used.asked if words(ask.question.material) <= 4][0:3] == [
        prompt.split() for prompt in fitting
    ][0:3]


def test_window_too_small_for_any_text_is_a_failure_after_bounded_calls() -> None:
    model = Model(window=0)

    assert model.write(request("one two three four")).failure == "context overflow"
    assert len(model.asked) <= 17


def test_summaries_that_cannot_be_merged_are_a_failure() -> None:
    model = Model(window=2)

    assert model.write(request("a b c d")).failure == "context overflow"


def test_room_for_a_longer_answer_that_is_turned_away_splits_no_other_request() -> None:
    window = Window()
    first = advance(write(request("one", target=10), TEMPLATE, window, words), None)
    assert isinstance(first, Ask)
    writing = write(request("one", target=10), TEMPLATE, window, words)
    advance(writing, None)
    doubled = advance(writing, Verdict("", "truncated"))
    assert isinstance(doubled, Ask)

    advance(writing, Overflow())

    assert not window.fits(doubled)
    assert window.fits(first)


def test_failed_piece_ends_the_request() -> None:
    model = Model(window=2, verdicts=[Verdict("", "refusal")] * 2)

    assert model.write(request("a b", "c d", "e f")) == Verdict("", "refusal")


def test_expected_counts_one_call_and_its_prompt() -> None:
    model = Model()
    model.write(request("one two"))

    assert expected(request("one two"), TEMPLATE, Window(), words) == (1, model.asked[0].tokens)


@pytest.mark.parametrize("size", [20, 100, 500])
def test_case_48_expected_calls_of_a_split_request_are_those_of_the_build(size: int) -> None:
    to_write = request(*(f"word{i} " * 5 for i in range(size // 5)))
    model = Model(length=to_write.target_tokens)

    model.write(to_write, Window(tokens=80))

    calls, _ = expected(to_write, TEMPLATE, Window(tokens=80), words)
    assert calls == len(model.asked)


@given(st.text(min_size=0, max_size=200))
def test_halves_of_a_text_rebuild_it(text: str) -> None:
    halves = halve([text], len)

    if halves is not None:
        assert halves[0][0] + halves[1][0] == text
        assert all(half[0].strip() for half in halves)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("One. Two.\n\nThree. Four.", "One. Two.\n\n"),
        ("One. Two.\nThree. Four.", "One. Two.\n"),
        ("Version 3.1 is out. It costs $49.", "Version 3.1 is out. "),
        ("これは文です。これも文です。", "これは文です。"),
        ("alpha beta gamma", "alpha "),
        ("abcdef", "abc"),
    ],
)
def test_text_is_cut_at_the_best_border_near_its_middle(text: str, left: str) -> None:
    halves = halve([text], words)

    assert halves is not None
    assert halves[0] == [left]


def test_single_character_cannot_be_halved() -> None:
    assert halve(["x"], words) is None


def test_parts_are_halved_by_tokens_not_by_number() -> None:
    assert halve(["a " * 10, "b", "c", "d"], words) == (["a " * 10], ["b", "c", "d"])
