"""Which document stands at a path after files were renamed, exchanged, copied and edited."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from overstory.identity import DocumentId
from overstory.moves import owners

KNOWN = {path: (DocumentId(path.upper()), f"bytes of {path}") for path in "abcd"}
BYTES = {path: raw for path, (_, raw) in KNOWN.items()}


def found(present: dict[str, str]) -> dict[str, str]:
    return dict(owners(KNOWN, present))


def test_unchanged_source_changes_no_owner() -> None:
    assert found(BYTES) == {"a": "A", "b": "B", "c": "C", "d": "D"}


def test_edit_keeps_the_owner() -> None:
    assert found(BYTES | {"a": "edited"})["a"] == "A"


def test_renamed_file_takes_its_document_along() -> None:
    present = {path: raw for path, raw in BYTES.items() if path != "a"} | {"new": BYTES["a"]}
    assert found(present) == {"b": "B", "c": "C", "d": "D", "new": "A"}


def test_copy_is_a_new_document() -> None:
    assert "copy" not in found(BYTES | {"copy": BYTES["a"]})


def test_text_put_aside_before_an_edit_is_a_new_document() -> None:
    assert found(BYTES | {"a": "edited", "aside": BYTES["a"]}) == found(BYTES)


def test_two_files_that_exchange_names_exchange_documents() -> None:
    assert found(BYTES | {"a": BYTES["b"], "b": BYTES["a"]}) == {"a": "B", "b": "A", "c": "C", "d": "D"}


def test_three_files_that_exchange_names_exchange_documents() -> None:
    assert found(BYTES | {"a": BYTES["b"], "b": BYTES["c"], "c": BYTES["a"]}) == {
        "a": "B",
        "b": "C",
        "c": "A",
        "d": "D",
    }


def test_file_written_over_another_keeps_the_other_owner() -> None:
    assert found(BYTES | {"a": BYTES["b"]}) == found(BYTES)


def test_chain_that_does_not_close_is_edits() -> None:
    assert found(BYTES | {"a": BYTES["b"], "b": BYTES["c"], "c": "edited"}) == found(BYTES)


def test_path_beside_a_ring_keeps_its_owner() -> None:
    assert found(BYTES | {"a": BYTES["b"], "b": BYTES["a"], "c": BYTES["a"]})["c"] == "C"


def test_twins_are_no_ring() -> None:
    known = {"a": (DocumentId("A"), "same"), "b": (DocumentId("B"), "same"), "c": (DocumentId("C"), "other")}
    assert owners(known, {"a": "other", "b": "same", "c": "same"}) == {"a": "C", "b": "B", "c": "A"}


def test_unreadable_files_follow_nobody() -> None:
    known = {"a": (DocumentId("A"), "")}
    assert owners(known, {"b": ""}) == {}


PATHS = st.sampled_from("abcdefgh")
HASHES = st.sampled_from(["", "1", "2", "3", "4", "5"])


@given(hashes=st.dictionaries(PATHS, HASHES), present=st.dictionaries(PATHS, HASHES))
def test_no_document_stands_at_two_paths(hashes: dict[str, str], present: dict[str, str]) -> None:
    known = {path: (DocumentId(path.upper()), raw) for path, raw in hashes.items()}
    placed = owners(known, present)
    assert len(set(placed.values())) == len(placed)
    assert placed.keys() >= known.keys() & present.keys()


@given(hashes=st.dictionaries(PATHS, HASHES), present=st.dictionaries(PATHS, HASHES))
def test_document_that_moves_takes_its_bytes_along(hashes: dict[str, str], present: dict[str, str]) -> None:
    known = {path: (DocumentId(path.upper()), raw) for path, raw in hashes.items()}
    former = {document: (path, raw) for path, (document, raw) in known.items()}
    for path, document in owners(known, present).items():
        assert path == former[document][0] or present[path] == former[document][1] != ""
