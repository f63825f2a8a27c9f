"""What stands in files, and what files are called."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable

import pytest
import regex

from overstory import facts
from overstory.adapters.tokenizers import OpenAITokenizer
from tests import llm_behaviors as behaviors
from tests.llm_server import LLMServer
from tests.scenarios.corpora import corpus, document
from tests.scenarios.workbench import Workbench

ODD_NAMES = [
    "with space.md",
    "quote'.md",
    'double "quote".md',
    "comma,comma.md",
    "dots..in..it.md",
    "...md.md",
    "percent%20.md",
    "hash#tag.md",
    "line\nbreak.md",
    "tab\there.md",
    "emoji 🦜.md",
    "pipe|[x].md",
    "v1.0.md",
    "v1.1.md",
    "Case.md",
    "case.md",
    "back\\slash.md",
    unicodedata.normalize("NFC", "é.md"),
    unicodedata.normalize("NFD", "é.md"),
    "/".join(["deep" * 12] * 6) + ".md",
    "deep/" + "x" * 240 + ".md",
    "$HOME;rm -rf.md",
]


def test_case_59_names_of_any_kind_are_documents_of_their_own(bench: Workbench) -> None:
    names = [name for name in ODD_NAMES if not name.startswith(".")]
    texts = {name: f"Document number {number} costs ${number}.\n" for number, name in enumerate(names)}
    bench.fill(texts)
    bench.build()
    assert sorted(bench.paths()) == sorted(names)
    assert len({bench.id_of(name) for name in names}) == len(names)
    assert {name: bench.summary(name).text + "\n" for name in names} == texts


def test_case_59_source_bytes_are_unchanged_after_a_build(bench: Workbench) -> None:
    names = [name for name in ODD_NAMES if not name.startswith(".")]
    bench.fill({name: f"Text of {name!r}\r\n\x00" for name in names})
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in bench.folder.rglob("*") if path.is_file()}
    bench.build()
    after = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in bench.folder.rglob("*") if path.is_file()}
    assert after == before


def test_case_59_name_that_is_no_unicode_is_spelled_out(bench: Workbench) -> None:
    (bench.folder / b"latin-\xe9.md".decode("utf-8", "surrogateescape")).write_text("It costs $5.\n")
    bench.build()
    assert bench.paths() == ["latin-%E9.md"]


def test_case_59_name_that_looks_like_a_spelled_out_one_is_another_document(bench: Workbench) -> None:
    (bench.folder / b"latin-\xe9.md".decode("utf-8", "surrogateescape")).write_text("It costs $5.\n")
    bench.write("latin-%E9.md", "Another costs $6.\n")
    bench.build()
    assert len(bench.paths()) == 2


def test_case_59_two_odd_documents_are_brought_up_to_date_alone(bench: Workbench) -> None:
    bench.fill({name: f"Text of {name!r}.\n" for name in ODD_NAMES if not name.startswith(".")})
    bench.build()
    bench.write("v1.0.md", "The first changed.\n")
    bench.write("v1.1.md", "The second changed.\n")
    bench.write("case.md", "The third changed.\n")
    rows = {row.path: row.id for row in bench.record.documents.rows("docs")}
    bench.build(only=frozenset({rows["v1.0.md"], rows["v1.1.md"]}))
    assert bench.summary("v1.0.md").text == "The first changed."
    assert bench.summary("case.md").text == "Text of 'case.md'."
    bench.build()


def test_case_49_nul_bytes_are_cleaned_away(bench: Workbench) -> None:
    bench.settings["chunking"] = {"leaf_tokens": 64}
    bench.write("a.md", document("network", 1, paragraphs=30).replace("router", "rou\x00ter"))
    bench.write("ti\x01tle.md", "# A \x00 title\n\nA text.\n")
    built = bench.build()
    assert built.problems == []
    assert bench.value("select count(*) from leaf") >= 30
    assert "router" in bench.texts()


def test_case_49_nul_bytes_of_a_model_are_cleaned_away(llm_bench: Workbench, llm_server: LLMServer) -> None:
    llm_bench.settings["chunking"] = {"leaf_tokens": 64}
    llm_bench.write("a.md", document("network", 1, paragraphs=8))
    llm_server.default = behaviors.says("The network team reviewed the router\x00 of unit 1 and raised its limits.")
    built = llm_bench.build()
    assert built.problems == []
    assert llm_bench.summary("a.md").text == "The network team reviewed the router of unit 1 and raised its limits."


def test_case_49_lone_surrogates_of_a_model_are_stored_as_text(llm_bench: Workbench, llm_server: LLMServer) -> None:
    llm_bench.settings["chunking"] = {"leaf_tokens": 64}
    llm_bench.write("a.md", document("network", 1, paragraphs=8))
    llm_server.default = behaviors.says("The network team reviewed the router \ud83d of unit 1 and raised its limits.")
    built = llm_bench.build()
    assert built.problems == []
    assert "\ud83d" not in llm_bench.summary("a.md").text


def test_case_51_special_tokens_are_text(bench: Workbench) -> None:
    text = "A tokenizer ends texts with <|endoftext|> and chats with <|im_start|>user<|im_sep|>.\n"
    bench.write("tokenizers.md", text * 40)
    built = bench.build()
    assert built.problems == []
    assert "<|endoftext|>" in bench.summary("tokenizers.md").text


SCRIPTS = {
    "han": "".join(chr(0x4E00 + n * 7 % 8000) for n in range(8000)),
    "thai": "ภาษาไทยไม่มีช่องว่างระหว่างคำ" * 120,
    "arabic": "السعر ٤٩ دولارا \u202bمن اليمين إلى اليسار\u202c " * 120,
    "hebrew": "\u200fהמחיר הוא 49 דולר\u200e " * 120,
    "emoji": "👩‍👩‍👧‍👦🏳️‍🌈👍🏽" * 300,
}


@pytest.mark.parametrize("script", SCRIPTS)
def test_case_52_every_script_is_cut_within_the_limit_and_nothing_is_lost(bench: Workbench, script: str) -> None:
    bench.settings["chunking"] = {"leaf_tokens": 64}
    bench.write("a.txt", SCRIPTS[script])
    bench.build()
    text = SCRIPTS[script].rstrip()
    count = OpenAITokenizer().count
    leaves = [leaf for (leaf,) in bench.sql("select text from leaf join version_leaf on id = leaf_id order by ordinal")]
    borders = {match.end() for match in regex.finditer(r"\X", text)}
    ends = [end for (end,) in bench.sql("select end_char from version_leaf")]
    assert "".join(leaves) == text
    assert max(map(count, leaves)) <= 64
    assert set(ends) <= borders


@pytest.mark.parametrize(
    ("stated", "same"),
    [("2025年7月1日", "2025-07-01"), ("４９ドル", "$49"), ("٤٩%", "49%")],
    ids=["date", "yen", "arabic"],
)
def test_case_52_facts_of_other_scripts_are_found(stated: str, same: str) -> None:
    check = facts.check(facts.extract(f"It says {stated} there."), facts.extract(f"It says {same} there."))
    assert (check.facts, check.kept, check.unsupported) == (1, 1, ())


CODE = "# Title\n\nSome words.\n\n{fence}python\n# a comment, no heading\nx = 1\n\n# another\n{end}\n\nThe end.\n"


@pytest.mark.parametrize(
    "text",
    [CODE.format(fence="```", end="```"), CODE.format(fence="~~~", end="~~~"), CODE.format(fence="```", end="")],
    ids=["backticks", "tildes", "unclosed"],
)
def test_case_53_comments_in_code_are_no_headings(bench: Workbench, text: str) -> None:
    bench.write("a.md", text)
    bench.build()
    headings = {heading for (found,) in bench.sql("select headings from version_leaf") for heading in found}
    assert headings <= {"Title"}
    assert _rebuilt(bench) == text.rstrip()


@pytest.mark.parametrize("before", ["# Prices\n\n", ""], ids=["in a document", "alone"])
def test_case_53_every_piece_of_a_table_has_its_header(bench: Workbench, before: str) -> None:
    bench.settings["chunking"] = {"leaf_tokens": 128}
    header = "| Product | Price |\n| --- | --- |\n"
    table = header + "".join(f"| Item {n} | ${n}.00 |\n" for n in range(80))
    bench.write("a.md", before + table)
    bench.build()
    pieces = [text for (text,) in bench.sql("select context || text from leaf where text like '%Item%'")]
    assert len(pieces) > 3
    assert all("| Product | Price |" in piece for piece in pieces)
    assert _rebuilt(bench) == (before + table).rstrip()


def _rebuilt(bench: Workbench) -> str:
    version = bench.value("select current_version::text from document")
    return bench.record.documents.texts([version])[version]


SPELLINGS: dict[str, Callable[[str], bytes]] = {
    "utf-8": lambda text: text.encode(),
    "utf-8-sig": lambda text: text.encode("utf-8-sig"),
    "utf-16-le": lambda text: b"\xff\xfe" + text.encode("utf-16-le"),
    "utf-16-be": lambda text: b"\xfe\xff" + text.encode("utf-16-be"),
    "latin-1": lambda text: text.encode("latin-1"),
    "crlf": lambda text: text.replace("\n", "\r\n").encode(),
    "cr": lambda text: text.replace("\n", "\r").encode(),
}


def test_case_54_encodings_and_line_ends_make_no_difference(bench: Workbench) -> None:
    text = "# Gebühren\n\nDer Preis für das Übermaß beträgt 49 EUR je Stück.\nDie Prüfung läuft über fünf Tage.\n"
    bench.fill({f"{name}.md": encode(text) for name, encode in SPELLINGS.items()})
    bench.write("garbage.md", bytes(range(256)) * 30)
    built = bench.build()
    hashes = bench.sql("select distinct content_hash from document where failure is null")
    leaves = bench.sql("select distinct content_hash from leaf")
    assert len(built.problems) == 1
    assert (len(hashes), len(leaves)) == (1, 1)


def test_documents_of_one_text_in_two_formats_stay_two_documents(bench: Workbench) -> None:
    bench.fill({"a.md": "The price is $5.\n", "a.txt": "The price is $5.\n", "a.html": "<p>The price is $5.</p>\n"})
    bench.build()
    assert len(bench.summaries("document_summary")) == 3


def test_case_62_many_documents_are_registered_in_bounded_batches(bench: Workbench) -> None:
    bench.fill({f"{n % 40}/{n}.md": f"Note {n} costs ${n}.\n" for n in range(2000)})
    batches: list[int] = []
    bench.build(progress=lambda stage, done, total: batches.append(done) if stage == "documents" else None)
    steps = [after - before for before, after in zip([0, *batches], batches, strict=False)]
    assert bench.value("select count(*) from document") == 2000
    assert bench.value("select count(distinct shard) from document") == 64
    assert max(steps) <= 64
    assert len(bench.summaries("document_summary")) == 2000


def test_hidden_and_foreign_files_are_no_documents(bench: Workbench) -> None:
    bench.fill(corpus(2))
    bench.fill({".hidden.md": "no", ".git/config": "no", "overstory.toml": "[datasets.a]\n"})
    (bench.folder / "outside.md").symlink_to("/etc/hostname")
    (bench.folder / "nowhere.md").symlink_to(bench.folder / "missing.md")
    bench.build()
    assert bench.paths() == sorted(corpus(2))
