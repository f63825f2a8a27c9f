from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from overstory.errors import SettingsError
from overstory.settings import (
    FILE_NAME,
    ExtractiveSummarizer,
    OpenAISummarizer,
    Settings,
    find_file,
    for_folder,
    load,
    parse,
)


def parsed(**table: Any) -> Settings:
    return parse({"datasets": {"docs": {"source": "/docs", **table}}}, folder=None)


def test_defaults_are_those_of_the_chapter() -> None:
    dataset = parsed().datasets[0]
    assert dataset.chunking.leaf_tokens == 256
    assert dataset.chunking.overlap_tokens == 0
    assert (dataset.summaries.document_tokens, dataset.summaries.cluster_tokens) == (220, 380)
    assert dataset.clusters.target_size == 20
    assert (dataset.retrieval.leaves, dataset.retrieval.summaries) == (6, 2)
    assert dataset.summarizer == ExtractiveSummarizer()


@pytest.mark.parametrize(
    "section", ["chunking", "summaries", "clusters", "prices", "budget", "retrieval", "summarizer"]
)
def test_case_57_empty_section_is_the_default(section: str) -> None:
    assert parsed(**{section: {}}) == parsed()


@pytest.mark.parametrize(
    ("table", "path"),
    [
        ({"chunking": None}, "datasets.docs.chunking"),
        ({"chunking": {"leaf_tokens": None}}, "datasets.docs.chunking.leaf_tokens"),
        ({"budget": {"usd": None}}, "datasets.docs.budget.usd"),
        ({"summaries": {"chunk": None}}, "datasets.docs.summaries.chunk"),
        ({"summarizer": {"kind": None}}, "datasets.docs.summarizer.kind"),
    ],
)
def test_case_57_null_is_refused_by_name(table: dict[str, Any], path: str) -> None:
    with pytest.raises(SettingsError, match=rf"^Setting '{path}' is null\. Give it a value or leave it out$"):
        parsed(**table)


@pytest.mark.parametrize(
    ("table", "path"),
    [
        ({"chunkin": {}}, "datasets.docs.chunkin"),
        ({"chunking": {"leaf_tokns": 256}}, "datasets.docs.chunking.leaf_tokns"),
        ({"summarizer": {"kind": "openai", "model": "m", "key": "s"}}, "datasets.docs.summarizer.key"),
        ({"name": "other"}, "datasets.docs.name"),
    ],
)
def test_case_57_unknown_key_is_refused_by_name(table: dict[str, Any], path: str) -> None:
    with pytest.raises(SettingsError, match=f"^Unknown setting '{path}'"):
        parsed(**table)


@pytest.mark.parametrize(
    ("table", "path"),
    [
        ({"chunking": {"leaf_tokens": 31}}, "chunking.leaf_tokens"),
        ({"chunking": {"leaf_tokens": "256"}}, "chunking.leaf_tokens"),
        ({"chunking": {"leaf_tokens": True}}, "chunking.leaf_tokens"),
        ({"chunking": {"leaf_tokens": 64, "overlap_tokens": 33}}, "chunking.overlap_tokens"),
        ({"budget": {"usd": -1}}, "budget.usd"),
        ({"clusters": {"target_size": 2}}, "clusters.target_size"),
        ({"retrieval": {"language": "English!"}}, "retrieval.language"),
        ({"embedding": {"name": "nothing"}}, "embedding.name"),
        ({"summarizer": {"kind": "openai"}}, "summarizer.model"),
        ({"summarizer": {"kind": "openai", "model": "m", "base_url": "ftp://x"}}, "summarizer.base_url"),
        ({"summarizer": {"kind": "openai", "model": "m", "prompt": "{nothing}"}}, "summarizer.prompt"),
        ({"summarizer": {"kind": "parrot"}}, "summarizer"),
        ({"chunking": 5}, "chunking"),
        ({"source": ""}, "source"),
        ({"source": "a\0b"}, "source"),
        ({"source": " "}, "source"),
        ({"source": "~nobody-of-that-name/x"}, "source"),
        ({"source": "s3://bucket/docs"}, "source"),
        ({"prices": {"usd_per_mtok_in": float("inf")}}, "prices.usd_per_mtok_in"),
        ({"budget": {"usd": float("nan")}}, "budget.usd"),
        ({"summarizer": {"kind": "openai", "model": " "}}, "summarizer.model"),
        ({"summarizer": {"kind": "openai", "model": "m", "base_url": "http://x:99999/v1"}}, "summarizer.base_url"),
        ({"summarizer": {"kind": "openai", "model": "m", "base_url": "http://[::1/v1"}}, "summarizer.base_url"),
        ({"embedding": {"base_url": "http://"}}, "embedding.base_url"),
        ({"include": []}, "include"),
        ({"include": [""]}, "include"),
        ({"include": ["*.md", " "]}, "include"),
        ({"exclude": ["../private/**"]}, "exclude"),
        ({"exclude": ["private["]}, "exclude"),
    ],
)
def test_wrong_value_is_refused_by_name(table: dict[str, Any], path: str) -> None:
    with pytest.raises(SettingsError, match=f"^Setting 'datasets.docs.{path}' is wrong: "):
        parsed(**table)


def test_zero_is_not_the_same_as_unset() -> None:
    assert parsed(budget={"usd": 0}).datasets[0].budget.usd == 0
    assert parsed().datasets[0].budget.usd is None


def test_arrays_become_tuples() -> None:
    assert parsed(include=["*.md"], exclude=["drafts/*"]).datasets[0].include == ("*.md",)


def test_summarizer_is_chosen_by_its_kind() -> None:
    chosen = parsed(summarizer={"kind": "openai", "model": "m"}).datasets[0].summarizer
    assert isinstance(chosen, OpenAISummarizer)
    assert (chosen.concurrency, chosen.api_key_env) == (64, "OPENAI_API_KEY")


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ({}, "name no dataset"),
        ({"datasets": {}}, "name no dataset"),
        ({"datasets": 5}, "name no dataset"),
        ({"datasets": {"docs": 5}}, "'datasets.docs' must be a table"),
        ({"dataset": {}}, "Unknown setting 'dataset'"),
        ({"datasets": {"Not OK": {"source": "x"}}}, "datasets.Not OK.name"),
    ],
)
def test_document_of_another_form_is_refused(document: dict[str, Any], words: str) -> None:
    with pytest.raises(SettingsError, match=words):
        parse(document, folder=None)


def test_source_is_found_from_the_settings_file(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_text('[datasets.docs]\nsource = "sub/../docs"\n')
    loaded = load(tmp_path / FILE_NAME)
    assert loaded.datasets[0].source == str(tmp_path / "docs")
    assert loaded.folder == tmp_path


def test_home_of_the_user_may_be_spelled_with_a_tilde(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / FILE_NAME).write_text('[datasets.docs]\nsource = "~/docs"\n')
    assert load(tmp_path / FILE_NAME).datasets[0].source == str(tmp_path / "docs")


@pytest.mark.parametrize(
    ("raw", "words"),
    [(b"[datasets.docs\n", "is not TOML"), (b"\xff\xfe\x00", "is not TOML"), (b"a = 1\na = 2\n", "is not TOML")],
)
def test_file_that_is_no_toml_is_refused_in_one_line(tmp_path: Path, raw: bytes, words: str) -> None:
    (tmp_path / FILE_NAME).write_bytes(raw)
    with pytest.raises(SettingsError, match=words):
        load(tmp_path / FILE_NAME)


def test_byte_order_mark_before_settings_is_no_fault(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_bytes(b'\xef\xbb\xbf[datasets.docs]\nsource = "docs"\n')
    assert load(tmp_path / FILE_NAME).datasets[0].name == "docs"


def test_settings_nested_without_end_are_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_text("a = " + "[" * 5000 + "]" * 5000)
    with pytest.raises(SettingsError, match="is nested too deeply"):
        load(tmp_path / FILE_NAME)


def test_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="cannot be read: No such file"):
        load(tmp_path / FILE_NAME)


def test_file_is_found_upward(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_text("")
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    assert find_file(below) == tmp_path / FILE_NAME


def test_no_file_is_no_error(tmp_path: Path) -> None:
    assert find_file(tmp_path) is None


@pytest.mark.parametrize(
    ("folder", "name"),
    [
        ("docs", "docs"),
        ("My Docs (2025)", "my_docs_2025"),
        ("2025", "d_2025"),
        ("文書", "documents"),
        ("x" * 200, "x" * 40),
    ],
)
def test_folder_without_settings_gives_the_dataset_its_name(tmp_path: Path, folder: str, name: str) -> None:
    found = for_folder(tmp_path / folder)
    assert found.datasets[0].name == name
    assert found.datasets[0].source == str(tmp_path / folder)
    assert found.folder is None


def test_root_folder_has_a_name_too() -> None:
    assert for_folder(Path("/")).datasets[0].name == "documents"


def test_only_dataset_needs_no_name() -> None:
    assert parsed().dataset(None).name == "docs"


def test_unknown_dataset_is_refused_with_the_known_ones() -> None:
    with pytest.raises(SettingsError, match=r"There is no dataset 'nope'\. Known datasets: docs"):
        parsed().dataset("nope")


def test_several_datasets_ask_for_a_choice() -> None:
    both = parse({"datasets": {"a": {"source": "/a"}, "b": {"source": "/b"}}}, folder=None)
    with pytest.raises(SettingsError, match="Choose one with --dataset: a, b"):
        both.dataset(None)
    assert both.dataset("b").source == "/b"


def test_settings_cannot_be_changed() -> None:
    with pytest.raises(Exception, match="frozen"):
        parsed().datasets[0].chunking.leaf_tokens = 5  # type: ignore[misc]
