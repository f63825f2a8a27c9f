from __future__ import annotations

from overstory.adapters.tokenizers import OpenAITokenizer
from overstory.chunking import Chunk, chunk, leaves, sections
from overstory.identity import DocumentId, content_hash, leaf_id

DOCUMENT = DocumentId("00000000-0000-5000-8000-000000000001")


def chunks_of(*sizes: int, headings: dict[int, tuple[tuple[str, ...], str]] | None = None) -> list[Chunk]:
    """Chunks of these sizes; ``headings`` says what is above a chunk and with which heading it begins."""
    made = []
    for number, size in enumerate(sizes):
        above, heading = (headings or {}).get(number, ((), ""))
        made.append(Chunk(number * 100, number * 100 + 100, "", above, size, heading))
    return made


def test_a_document_of_at_most_the_limit_has_no_sections() -> None:
    assert sections(chunks_of(*[200] * 20), max_tokens=4000) == []


def test_one_token_more_makes_sections() -> None:
    assert len(sections(chunks_of(*[200] * 20, 1), max_tokens=4000)) == 2


def test_no_section_is_above_its_largest_size() -> None:
    chunks = chunks_of(*[250, 120, 180] * 40)
    found = sections(chunks, max_tokens=1000)
    assert max(sum(each.tokens for each in chunks[part.first : part.last + 1]) for part in found) <= 1000


def test_sections_without_headings_are_balanced() -> None:
    found = sections(chunks_of(*[250] * 33), max_tokens=4000)
    assert [part.last - part.first + 1 for part in found] in ([11, 11, 11], [12, 11, 10])


def test_sections_begin_at_the_outermost_headings() -> None:
    headings = {
        0: ((), "Guide"),
        4: (("Guide",), "Setup"),
        7: (("Guide", "Setup"), "Details"),
        9: (("Guide",), "Usage"),
        13: (("Guide", "Usage"), "More"),
    }
    found = sections(chunks_of(*[250] * 18, headings=headings), max_tokens=2300)
    assert [(part.first, part.heading) for part in found] == [(0, "Guide"), (9, "Usage")]


def test_a_section_within_a_heading_is_named_after_it() -> None:
    headings: dict[int, tuple[tuple[str, ...], str]] = {number: (("Guide", "Setup"), "") for number in range(1, 30)}
    found = sections(chunks_of(*[250] * 30, headings=headings), max_tokens=4000)
    assert [part.heading for part in found[1:]] == ["Setup"] * (len(found) - 1)


def test_sections_of_a_real_text_keep_their_texts_when_another_is_edited() -> None:
    tokenizer = OpenAITokenizer()
    parts = [
        f"# Part {n}\n\n" + f"Part {n} holds rule {n} about topic {n * 7}. " * (150 + n * 11 % 60) for n in range(12)
    ]
    text = "\n\n".join(parts)
    edited = text.replace("holds rule 5 about", "holds the new rule 5 about", 1)

    def section_texts(source: str) -> set[str]:
        chunks = chunk(source, tokenizer)
        return {source[chunks[part.first].start : chunks[part.last].end] for part in sections(chunks)}

    assert len(section_texts(edited) - section_texts(text)) == 1


def test_leaves_are_hashed_with_their_context_and_carry_their_offsets() -> None:
    text = "abcdefgh"
    (leaf,) = leaves(DOCUMENT, text, [Chunk(2, 5, "head\n", ("A", "B"), 3)])
    expected = content_hash("head\ncde")
    assert (leaf.text, leaf.context, leaf.content_hash) == ("cde", "head\n", expected)
    assert (leaf.start, leaf.end, leaf.ordinal, leaf.tokens, leaf.headings) == (2, 5, 0, 3, ("A", "B"))
    assert leaf.id == leaf_id(DOCUMENT, expected, 0)


def test_equal_texts_in_one_document_are_leaves_of_their_own() -> None:
    text = "samesameother"
    made = leaves(DOCUMENT, text, [Chunk(0, 4, "", (), 1), Chunk(4, 8, "", (), 1), Chunk(8, 13, "", (), 1)])
    same = content_hash("same")
    assert [leaf.id for leaf in made[:2]] == [leaf_id(DOCUMENT, same, 0), leaf_id(DOCUMENT, same, 1)]
    assert len({leaf.id for leaf in made}) == 3


def test_an_unchanged_passage_keeps_its_leaf_when_text_is_inserted_before_it() -> None:
    old = leaves(DOCUMENT, "onetwo", [Chunk(0, 3, "", (), 1), Chunk(3, 6, "", (), 1)])
    new = leaves(DOCUMENT, "zeroonetwo", [Chunk(0, 4, "", (), 1), Chunk(4, 7, "", (), 1), Chunk(7, 10, "", (), 1)])
    assert [leaf.id for leaf in old] == [leaf.id for leaf in new[1:]]
