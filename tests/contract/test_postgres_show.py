from __future__ import annotations

from itertools import pairwise

import pytest

from overstory.adapters.postgres.search import PostgresSearch
from overstory.errors import SettingsError
from overstory.identity import summary_id
from overstory.nodes import NodeKind, NodeState
from overstory.retrieval.view import NodeView, Viewer
from tests.contract.postgres_corpus import CHUNK_RECIPE, Corpus, recipes, summary_row


def view(corpus: Corpus, name: str) -> NodeView | None:
    with PostgresSearch(corpus.record.db).snapshot() as store:
        return Viewer(store, corpus.name, recipes, CHUNK_RECIPE).view(name)


def shown(corpus: Corpus, name: str) -> NodeView:
    found = view(corpus, name)
    if found is None:
        pytest.fail(f"{name} is not found")
    return found


@pytest.fixture
def guide(corpus: Corpus) -> Corpus:
    """A document with sections and all summaries, another without, and a cluster over both."""
    corpus.add("long.md", ["One. ", "Two. ", "Three. ", "Four."], sections=[(0, 1), (2, 3)])
    for ordinal in range(2):
        corpus.summarize("long.md", f"Section {ordinal}.", NodeKind.SECTION_SUMMARY, ordinal)
    corpus.summarize("long.md", "Whole document.")
    corpus.add("short.md", ["Five. ", "Six."])
    corpus.summarize("short.md", "Short document.")
    corpus.cluster(["long.md", "short.md"], "Both documents.")
    return corpus


def leaf_of(corpus: Corpus, path: str, ordinal: int) -> str:
    document = corpus.id_of(path)
    return PostgresSearch(corpus.record.db).leaves_of(corpus.name, [document])[document][ordinal]


def test_a_leaf_tells_its_characters_and_its_section(guide: Corpus) -> None:
    leaf = shown(guide, leaf_of(guide, "long.md", 2))

    assert (leaf.kind, leaf.text, leaf.path, leaf.start, leaf.end) == (NodeKind.LEAF, "Three. ", "long.md", 10, 17)
    assert [parent.label for parent in leaf.parents] == ["Section 1"]
    assert leaf.state is NodeState.FRESH


def test_a_leaf_of_a_short_document_belongs_to_the_document(guide: Corpus) -> None:
    leaf = shown(guide, leaf_of(guide, "short.md", 0))

    assert [(parent.kind, parent.label) for parent in leaf.parents] == [(NodeKind.DOCUMENT_SUMMARY, "short.md")]


def test_a_section_stands_between_its_leaves_and_its_document(guide: Corpus) -> None:
    node = summary_id(NodeKind.SECTION_SUMMARY, guide.id_of("long.md"), "1")
    section = shown(guide, node)

    assert [child.node_id for child in section.children] == [leaf_of(guide, "long.md", n) for n in (2, 3)]
    assert [parent.kind for parent in section.parents] == [NodeKind.DOCUMENT_SUMMARY]
    assert [(place.start, place.end) for place in section.leaves] == [(10, 17), (17, 22)]


def test_a_path_shows_the_summary_of_the_document(guide: Corpus) -> None:
    document = shown(guide, "long.md")

    assert (document.kind, document.text) == (NodeKind.DOCUMENT_SUMMARY, "Whole document.")
    assert [child.label for child in document.children] == ["Section 0", "Section 1"]
    assert [parent.kind for parent in document.parents] == [NodeKind.CLUSTER_SUMMARY]
    assert len(document.leaves) == 4


def test_case_32_a_cluster_reaches_down_to_the_characters_of_every_document(guide: Corpus) -> None:
    (parent,) = shown(guide, "long.md").parents
    cluster = shown(guide, parent.node_id)

    assert (cluster.level, cluster.text, cluster.parents) == (2, "Both documents.", ())
    assert {child.label for child in cluster.children} == {"long.md", "short.md"}
    assert [(place.path, place.start, place.end) for place in cluster.leaves] == [
        ("long.md", 0, 5),
        ("long.md", 5, 10),
        ("long.md", 10, 17),
        ("long.md", 17, 22),
        ("short.md", 0, 6),
        ("short.md", 6, 10),
    ]


def test_a_summary_tells_how_many_facts_it_kept_and_which_it_lost(guide: Corpus) -> None:
    facts = shown(guide, "long.md").facts

    assert facts is not None
    assert (facts.facts, facts.kept, facts.lost) == (2, 1, ("$49",))


def test_the_beginning_of_an_id_is_enough(guide: Corpus) -> None:
    node = summary_id(NodeKind.DOCUMENT_SUMMARY, guide.id_of("long.md"))

    assert shown(guide, node[:13]).node_id == shown(guide, node.replace("-", "").upper()).node_id == node


def test_the_beginning_of_several_ids_is_refused_with_their_names(guide: Corpus) -> None:
    for number in range(200):
        guide.scan(f"{number}.md", [f"Text {number}"])
    ids = sorted(guide.id_of(f"{number}.md") for number in range(200))
    prefix = next((a[:4] for a, b in pairwise(ids) if a[:4] == b[:4]), None)
    if prefix is None:
        # 200 derived ids always fall the same way, so this says that the derivation has changed.
        pytest.fail("no two ids share four digits; use more documents")

    with pytest.raises(SettingsError, match="beginning of"):
        view(guide, prefix)


@pytest.mark.parametrize("name", ["unknown.md", "ffffffff-ffff", "zz", "", "abc", "\0", "%", "'"])
def test_what_is_not_there_is_none(guide: Corpus, name: str) -> None:
    assert view(guide, name) is None


def test_a_missing_summary_is_shown_as_missing(corpus: Corpus) -> None:
    corpus.add("a.md", ["One. ", "Two."])
    missing = shown(corpus, "a.md")

    assert (missing.state, missing.text, missing.reason) == (NodeState.MISSING, "", "new")
    assert len(missing.children) == 2


def test_a_failed_summary_says_what_was_wrong_with_it(corpus: Corpus) -> None:
    corpus.add("a.md", ["One. ", "Two."])
    corpus.save([summary_row(corpus.target("a.md"), "", failure="refusal")])

    assert (shown(corpus, "a.md").state, shown(corpus, "a.md").reason) == (NodeState.FAILED, "refusal")


def test_a_document_over_a_missing_section_says_so(corpus: Corpus) -> None:
    corpus.add("a.md", ["One. ", "Two. ", "Three. ", "Four."], sections=[(0, 1), (2, 3)])
    corpus.summarize("a.md", "Section 0.", NodeKind.SECTION_SUMMARY, 0)

    assert shown(corpus, "a.md").reason == "section 2 has no summary"


def test_i2_a_leaf_of_a_former_version_is_not_shown(guide: Corpus) -> None:
    former = leaf_of(guide, "short.md", 0)
    guide.add("short.md", ["Seven. ", "Six."])

    assert view(guide, former) is None


def test_nodes_of_another_dataset_are_not_shown(guide: Corpus) -> None:
    other = Corpus(guide.record, "another")

    assert view(other, leaf_of(guide, "long.md", 0)) is None
    assert view(other, "long.md") is None
