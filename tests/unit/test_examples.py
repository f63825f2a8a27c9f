"""The sample corpus under examples/: its size, its gold answers and its second revision."""

import json
import re
from itertools import product
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
CORPUS = EXAMPLES / "corpus"
REVISION = EXAMPLES / "revision"
REACH = 400
PLAIN = str.maketrans({"‘": "'", "’": "'", "“": '"', "”": '"', "–": "-", "—": "-", "\u2011": "-", "\u2212": "-"})


def paths_under(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def read(path: Path) -> str:
    return path.read_bytes().decode("utf-8")


def collapsed(text: str) -> str:
    return " ".join(text.split())


def plain(text: str) -> str:
    return collapsed(text.translate(PLAIN)).lower()


def spans(item: str, text: str) -> list[tuple[int, int]]:
    """Where `item` stands in `text` without starting or ending inside a word or a number."""
    before = r"(?<!\w)(?<!\d[.,])" if item[0].isalnum() else ""
    after = r"(?!\w)(?![.,]\d)" if item[-1].isalnum() else ""
    return [match.span() for match in re.finditer(before + re.escape(item) + after, text)]


def states(text: str, must_state: list[str | list[str]], around: tuple[int, int]) -> bool:
    """Whether all items stand within REACH characters of one another, in a stretch that touches `around`."""
    start = max(0, around[0] - REACH)
    window = text[start : around[1] + REACH]
    found: list[list[tuple[int, int]]] = []
    for item in must_state:
        alternatives = [item] if isinstance(item, str) else item
        found.append([span for alternative in alternatives for span in spans(alternative, window)])
    quote_start, quote_end = around[0] - start, around[1] - start
    for chosen in product(*found):
        first, last = min(span[0] for span in chosen), max(span[1] for span in chosen)
        if last - first <= REACH and first < quote_end and last > quote_start:
            return True
    return False


GOLD: dict[str, Any] = json.loads(read(EXAMPLES / "gold.json"))
QUESTIONS: dict[str, dict[str, Any]] = {question["id"]: question for question in GOLD["questions"]}
NUGGETS: list[dict[str, Any]] = [nugget for question in QUESTIONS.values() for nugget in question["nuggets"]]
DOCUMENTS = paths_under(CORPUS)
Q3 = QUESTIONS["changes-q3-2025"]["nuggets"]

every_nugget = pytest.mark.parametrize("nugget", NUGGETS, ids=[nugget["id"] for nugget in NUGGETS])


def revision_list() -> dict[str, list[str]]:
    text = read(EXAMPLES / "revision.md")
    block = re.search(r"^## revision\.json\n+```json\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    assert block is not None
    listed: dict[str, list[str]] = json.loads(block.group(1))
    return listed


def test_the_corpus_holds_about_forty_documents_in_five_folders() -> None:
    assert 38 <= len(DOCUMENTS) <= 44
    assert {path.split("/")[0] for path in DOCUMENTS} == {"incidents", "policies", "pricing", "releases", "security"}


def test_most_documents_are_markdown_and_two_each_are_text_and_html() -> None:
    suffixes = [Path(path).suffix for path in DOCUMENTS]
    assert suffixes.count(".txt") == 2
    assert suffixes.count(".html") == 2
    assert suffixes.count(".md") == len(suffixes) - 4


def test_two_documents_are_very_long_four_long_and_the_rest_short() -> None:
    words = {path: len(read(CORPUS / path).split()) for path in DOCUMENTS}
    very_long = {path for path, count in words.items() if count > 4500}
    long = {path for path, count in words.items() if 1500 <= count <= 2500}
    assert very_long == {"policies/admin-handbook.md", "releases/changelog-2025.md"}
    assert len(long) == 4
    assert all(200 <= count <= 900 for path, count in words.items() if path not in very_long | long)


@pytest.mark.parametrize("path", ["policies/admin-handbook.md", "releases/changelog-2025.md"])
def test_a_very_long_document_repeats_no_paragraph_and_holds_hundreds_of_figures(path: str) -> None:
    text = read(CORPUS / path)
    paragraphs = [collapsed(part) for part in re.split(r"\n\s*\n", text) if len(part) > 80]
    assert len(paragraphs) == len(set(paragraphs))
    figures_with_their_unit = set(re.findall(r"\$?\d+(?:[.,:]\d+)*(?: (?:%|\w+))?", text))
    assert len(figures_with_their_unit) > 250


def test_the_corpus_holds_tables_nested_lists_and_fences_with_comment_lines() -> None:
    texts = [read(CORPUS / path) for path in DOCUMENTS]
    assert sum(re.search(r"^\|[ :-]*-{3}", text, re.MULTILINE) is not None for text in texts) >= 10
    assert sum(re.search(r"^- .+\n  - .+", text, re.MULTILINE) is not None for text in texts) >= 2
    fences = [body for text in texts for body in re.findall(r"^```\w*\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)]
    assert sum(re.search(r"^\s*# ", body, re.MULTILINE) is not None for body in fences) >= 5


def test_every_markdown_fence_is_closed() -> None:
    for path in DOCUMENTS:
        assert len(re.findall(r"^```", read(CORPUS / path), re.MULTILINE)) % 2 == 0, path


def test_the_gold_file_asks_one_question_of_each_kind() -> None:
    assert GOLD["schema_version"] == 1
    assert [question["kind"] for question in GOLD["questions"]] == ["fact", "topic", "aggregative"]
    ids = [nugget["id"] for nugget in NUGGETS]
    assert len(ids) == len(set(ids))


def test_the_fact_is_one_nugget_and_stands_in_one_document_with_its_words() -> None:
    (nugget,) = QUESTIONS["agent-offline"]["nuggets"]
    assert [path for path in DOCUMENTS if spans("135 seconds", plain(read(CORPUS / path)))] == [nugget["document"]]


def test_the_topic_spans_at_least_four_documents() -> None:
    nuggets = QUESTIONS["how-long-kept"]["nuggets"]
    assert 6 <= len(nuggets) <= 10
    assert len({nugget["document"] for nugget in nuggets}) >= 4


def test_the_third_quarter_spans_at_least_ten_documents_and_four_topics() -> None:
    assert QUESTIONS["changes-q3-2025"]["text"] == "What changed in Q3 2025?"
    assert 18 <= len(Q3) <= 28
    assert len({nugget["document"] for nugget in Q3}) >= 10
    assert len({nugget["topic"] for nugget in Q3}) >= 4


def test_some_documents_of_the_third_quarter_are_labelled_and_more_give_only_dates() -> None:
    documents = {nugget["document"] for nugget in Q3}
    labelled = {path for path in documents if "Q3 2025" in read(CORPUS / path)}
    assert len(labelled) >= 3
    assert len(documents - labelled) >= 6


@pytest.mark.parametrize("quarter", ["Q1 2025", "Q2 2025", "Q4 2025"])
def test_other_quarters_are_there_to_distract(quarter: str) -> None:
    assert sum(quarter in read(CORPUS / path) for path in DOCUMENTS) >= 2


@every_nugget
def test_a_quote_is_in_its_document(nugget: dict[str, Any]) -> None:
    assert collapsed(nugget["quote"]) == nugget["quote"]
    assert nugget["quote"] in collapsed(read(CORPUS / nugget["document"]))


@every_nugget
def test_what_must_be_stated_holds_around_the_quote(nugget: dict[str, Any]) -> None:
    text, quote = plain(read(CORPUS / nugget["document"])), plain(nugget["quote"])
    start = text.index(quote)
    assert states(text, nugget["must_state"], (start, start + len(quote)))


@every_nugget
def test_an_item_is_written_as_the_rule_compares_it(nugget: dict[str, Any]) -> None:
    for item in nugget["must_state"]:
        for alternative in [item] if isinstance(item, str) else item:
            assert alternative == plain(alternative) != ""


def test_an_item_does_not_match_inside_a_word_or_a_number() -> None:
    assert spans("30 days", "130 days") == []
    assert spans("$500", "$500,000") == []
    assert spans("99.9 %", "199.9 %") == []
    assert spans("agent", "agents") == []
    assert spans("30 days", "at least 30 days.") == [(9, 16)]


def test_items_farther_apart_than_the_rule_allows_do_not_count() -> None:
    text = "hearth " + "x" * REACH + " $32"
    assert not states(text, ["hearth", "$32"], (0, len(text)))


def test_the_revision_changes_twelve_documents_adds_one_and_deletes_one() -> None:
    listed = revision_list()
    assert {key: len(paths) for key, paths in listed.items()} == {"changed": 12, "added": 1, "deleted": 1}
    assert paths_under(REVISION) == sorted(listed["changed"] + listed["added"])
    assert set(listed["changed"]) | set(listed["deleted"]) <= set(DOCUMENTS)
    assert not set(listed["added"]) & set(DOCUMENTS)
    assert not set(listed["changed"]) & set(listed["deleted"])


def test_every_changed_document_differs_and_is_explained() -> None:
    explained = read(EXAMPLES / "revision.md").split("## revision.json")[0]
    listed = revision_list()
    for path in listed["changed"]:
        assert (REVISION / path).read_bytes() != (CORPUS / path).read_bytes()
    for paths in listed.values():
        for path in paths:
            assert f"`{path}`" in explained


def test_exactly_one_changed_document_differs_in_white_space_and_line_endings_alone() -> None:
    changed = revision_list()["changed"]
    same = [path for path in changed if read(REVISION / path).split() == read(CORPUS / path).split()]
    assert same == ["releases/4.2.1.md"]
    assert b"\r\n" in (REVISION / same[0]).read_bytes()


def test_one_changed_document_is_cut_to_about_a_quarter() -> None:
    path = "incidents/2025-05-28-dispatch-retry-storm.md"
    share = len(read(REVISION / path).split()) / len(read(CORPUS / path).split())
    assert 0.15 <= share <= 0.33


def test_the_long_changed_document_keeps_all_sections_but_one() -> None:
    path = "policies/admin-handbook.md"
    old, new = (re.split(r"^(?=## )", read(root / path), flags=re.MULTILINE) for root in (CORPUS, REVISION))
    assert len(old) == len(new)
    edited = [before.splitlines()[0] for before, after in zip(old, new, strict=True) if before != after]
    assert edited == ["## 10. Gatehouse"]


def test_the_revision_makes_only_the_fact_untrue() -> None:
    listed = revision_list()
    gone = set()
    for nugget in NUGGETS:
        path = nugget["document"]
        assert path not in listed["deleted"]
        root = REVISION if path in listed["changed"] else CORPUS
        if nugget["quote"] not in collapsed(read(root / path)):
            gone.add(nugget["id"])
    assert gone == {"agent-offline-n01"}
    assert spans("135 seconds", plain(read(REVISION / "policies/admin-handbook.md"))) == []


def test_one_changed_document_lost_a_section() -> None:
    path = "policies/data-deletion-policy.md"
    old, new = (set(re.findall(r"^## .+", read(root / path), re.MULTILINE)) for root in (CORPUS, REVISION))
    assert old - new == {"## 7. Disks"}
    assert new <= old
