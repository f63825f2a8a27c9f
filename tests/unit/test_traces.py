"""What only one document says."""

from __future__ import annotations

from pathlib import Path

from overstory.traces import OVERLAP_BYTES, READ_BYTES, Store, Traces, files, prove, traces_of

LINE = "The office in Zanzibar keeps its invoices."


def test_line_that_another_document_has_is_left_out() -> None:
    assert traces_of([LINE], [f"Elsewhere: {LINE}"]).lines == frozenset()


def test_line_is_found_whatever_its_case_and_blanks() -> None:
    traces = traces_of([LINE], [])
    assert traces.found_in("THE OFFICE  in\nzanzibar keeps its invoices.") == set(traces.lines)


def test_short_line_is_not_looked_for() -> None:
    assert len(traces_of(["Too short to tell."], [])) == 0


def test_long_line_is_looked_for_in_pieces() -> None:
    long = " ".join(f"word{'abcdefgh'[n % 8]}" for n in range(60))
    traces = traces_of([long], [])
    assert len(traces.lines) > 1
    assert traces.found_in(long[:150])


def test_word_of_letters_and_digits_is_looked_for() -> None:
    assert traces_of(["See QX-7341 there"], []).words == frozenset({"qx-7341"})


def test_ordinary_words_numbers_and_hashes_are_not_looked_for() -> None:
    assert traces_of(["serialization 1764556800 0a5e2d3f"], []).words == frozenset()


def test_word_within_another_is_not_found() -> None:
    traces = Traces(frozenset(), frozenset({"qx7341"}))
    assert traces.found_in("aqx73412") == set()
    assert traces.found_in('{"qx7341"}') == {"qx7341"}


def test_word_of_another_document_is_left_out() -> None:
    assert traces_of(["QX-7341"], ["also qx-7341"]).words == frozenset()


def test_proof_counts_passages_by_place() -> None:
    proof = prove(traces_of([LINE], []), [Store("a", ["nothing"]), Store("b", [LINE, LINE])])
    assert [(finding.store, finding.found) for finding in proof.findings] == [("a", 0), ("b", 1)]
    assert not proof.clean


def test_line_across_two_reads_of_a_file_is_found(tmp_path: Path) -> None:
    raw = b"\n" * (READ_BYTES - 10) + LINE.encode() + b"\n" * OVERLAP_BYTES
    (tmp_path / "a.log").write_bytes(raw)
    assert not prove(traces_of([LINE], []), [files(tmp_path, "logs")]).clean


def test_folder_that_is_not_there_holds_nothing(tmp_path: Path) -> None:
    assert prove(traces_of([LINE], []), [files(tmp_path / "none", "logs")]).clean
